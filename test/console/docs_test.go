package console

import "testing"

// TestDocs reads the documentation that the binary serves, in a browser without a login.
func TestDocs(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.run(t, "docs_console.mjs", "pages", r.Link(t, "ada"))
}

// TestShortcuts uses the links to the documentation, and the keyboard shortcuts.
func TestShortcuts(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.run(t, "docs_console.mjs", "shortcuts", r.Link(t, "ada"))
}
