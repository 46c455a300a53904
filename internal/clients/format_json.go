package clients

import (
	"encoding/json"
	"slices"
	"strings"
)

// jsonFormat is a JSON file, with comments allowed, that has a map from names to servers.
type jsonFormat struct {
	// container has the names of the members down to the map of servers.
	container []string
	// makeEntry returns the entry for Junctor, to be encoded as JSON.
	makeEntry func(Target) any
}

// setEntry implements fileFormat. It checks that the file is still valid afterwards, so
// that an editing mistake cannot destroy a client's configuration.
func (f jsonFormat) setEntry(text []byte, t Target) ([]byte, error) {
	make := f.makeEntry
	if t.Shared {
		make = commandEntry
	}
	value, err := json.MarshalIndent(make(t), strings.Repeat("  ", len(f.container)+1), "  ")
	if err != nil {
		return nil, err
	}
	next, err := setMember(text, f.place(text).path(), value)
	if err == nil && !json.Valid(blankComments(next)) {
		err = errNotJSON
	}
	return next, err
}

// place implements fileFormat.
func (f jsonFormat) place([]byte) Place { return Place{f.container, EntryName} }

// cutEntry implements fileFormat.
func (f jsonFormat) cutEntry(text []byte, at Place) (next, piece []byte, err error) {
	return removeMember(text, at.path())
}

// pasteEntry implements fileFormat.
func (f jsonFormat) pasteEntry(text []byte, at Place, piece []byte) ([]byte, error) {
	next, err := setMember(text, at.path(), piece)
	if err == nil && !json.Valid(blankComments(next)) {
		err = errNotJSON
	}
	return next, err
}

// opencodeFormat is the file of opencode. Its servers are members of mcp in version 1,
// and of mcp.servers in version 2. A file with servers keeps its form.
type opencodeFormat struct{}

// form returns the format that a file has.
func (opencodeFormat) form(text []byte) jsonFormat {
	f := jsonFormat{[]string{"mcp", "servers"}, func(t Target) any {
		return map[string]any{"type": "remote", "url": t.URL, "headers": bearerHeader(t)}
	}}
	found, err := readJSON(text)
	if err == nil && slices.ContainsFunc(found, func(e rawEntry) bool { return slices.Equal(e.container, []string{"mcp"}) }) {
		f.container = f.container[:1]
	}
	return f
}

// setEntry implements fileFormat. The command of a local server is a list in opencode.
func (o opencodeFormat) setEntry(text []byte, t Target) ([]byte, error) {
	f := o.form(text)
	if t.Shared {
		t.Shared = false
		f.makeEntry = func(t Target) any { return map[string]any{"type": "local", "command": t.Command} }
	}
	return f.setEntry(text, t)
}

// place implements fileFormat.
func (o opencodeFormat) place(text []byte) Place { return o.form(text).place(text) }

// cutEntry implements fileFormat.
func (o opencodeFormat) cutEntry(text []byte, at Place) (next, piece []byte, err error) {
	return o.form(text).cutEntry(text, at)
}

// pasteEntry implements fileFormat.
func (o opencodeFormat) pasteEntry(text []byte, at Place, piece []byte) ([]byte, error) {
	return o.form(text).pasteEntry(text, at, piece)
}
