package console

import "testing"

// TestMenu is the frame around all screens: the menu, the titles of tabs, and unknown paths.
func TestMenu(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.run(t, "operator_console.mjs", "menu", r.Link(t, "ada"))
}

// TestAttention is the list of what needs attention, from "All is well" to a notification.
func TestAttention(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.run(t, "operator_console.mjs", "attention", r.Link(t, "ada"))
}

// TestHistory is who changed what, on the pages of the objects and in the audit log.
func TestHistory(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.run(t, "operator_console.mjs", "history", r.Link(t, "ada"))
}
