package clients

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	junctor "github.com/junctor-mcp/junctor"
)

// yamlFormat is a YAML file whose servers are a map (Goose) or a list of maps with names
// (Continue). Like the other formats it edits lines and leaves comments as they are.
type yamlFormat struct {
	container string
	list      bool
	// makeEntry returns the lines of the entry for Junctor, without indentation. The
	// first one is the key or the name.
	makeEntry func(Target) []string
}

// errNotYAML is returned for a file that cannot be decoded.
var errNotYAML = errors.New("it is not valid YAML, or not a map")

// gooseEntry is the entry in the file of Goose.
func gooseEntry(t Target) []string {
	return []string{
		EntryName + ":", "  enabled: true", "  type: streamable_http", "  name: " + EntryName, "  description: Junctor", "  uri: " + quoteJSON(t.URL), "  timeout: 300",
		"  headers:", "    Authorization: " + quoteJSON("Bearer "+t.Key),
	}
}

// continueEntry is the entry in the file of Continue.
func continueEntry(t Target) []string {
	return []string{
		"name: " + EntryName, "type: streamable-http", "url: " + quoteJSON(t.URL), "requestOptions:", "  headers:", "    Authorization: " + quoteJSON("Bearer "+t.Key),
	}
}

// readYAML decodes the servers of Goose (extensions) and Continue (mcpServers, a list).
func readYAML(text []byte) ([]rawEntry, error) {
	var found []rawEntry
	root, err := parseYAML(text)
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "the file is not valid YAML")
	}
	for _, f := range []yamlFormat{{container: "extensions"}, {container: "mcpServers", list: true}} {
		for _, e := range f.findEntries(root, 0) {
			raw := rawEntry{name: e.name, container: []string{f.container}, seconds: !f.list}
			raw.notObject = e.value.Decode(&raw.members) != nil || raw.members == nil
			if f.list {
				delete(raw.members, "name")
				flattenRequestOptions(raw.members)
			} else if isGooseBuiltin(&raw) {
				continue
			}
			found = append(found, raw)
		}
	}
	slices.SortStableFunc(found, func(a, b rawEntry) int { return strings.Compare(a.name, b.name) })
	return found, nil
}

// isGooseBuiltin reports whether an entry of Goose is one of its own extensions, which
// are no MCP servers. The members that only describe an extension are removed.
func isGooseBuiltin(e *rawEntry) bool {
	for _, name := range []string{"name", "description", "display_name", "bundled", "available_tools"} {
		delete(e.members, name)
	}
	switch e.members["type"] {
	case "builtin", "platform", "frontend", "inline_python":
		return true
	}
	return false
}

// flattenRequestOptions moves the headers of an entry of Continue to where the other
// clients have them.
func flattenRequestOptions(members map[string]any) {
	options, ok := members["requestOptions"].(map[string]any)
	if !ok || options["headers"] == nil {
		return
	}
	members["headers"] = options["headers"]
	if delete(options, "headers"); len(options) == 0 {
		delete(members, "requestOptions")
	}
}

// parseYAML returns the map of a file; nil if the file is empty.
func parseYAML(text []byte) (*yaml.Node, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, errNotYAML
	}
	if len(doc.Content) == 0 || doc.Content[0].Tag == "!!null" {
		return nil, nil
	}
	if doc.Content[0].Kind != yaml.MappingNode {
		return nil, errNotYAML
	}
	return doc.Content[0], nil
}

// yamlEntry is one server of a file, with the lines that it takes: from the first one up
// to, and without, the line to. Lines count from zero.
type yamlEntry struct {
	name     string
	value    *yaml.Node
	from, to int
	indent   int
}

// findContainer returns the key and the value of the container, and the line after it; nil
// if the file has none. lines is the number of lines of the file.
func (f yamlFormat) findContainer(root *yaml.Node, lines int) (key, value *yaml.Node, end int) {
	if root == nil {
		return nil, nil, 0
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value != f.container {
			continue
		}
		end = lines
		if i+2 < len(root.Content) {
			end = root.Content[i+2].Line - 1
		}
		return root.Content[i], root.Content[i+1], end
	}
	return nil, nil, 0
}

// findEntries returns the servers of the container, in their order.
func (f yamlFormat) findEntries(root *yaml.Node, lines int) (out []yamlEntry) {
	_, value, end := f.findContainer(root, lines)
	switch {
	case value == nil:
	case f.list && value.Kind == yaml.SequenceNode:
		for _, item := range value.Content {
			e := yamlEntry{value: item, from: item.Line - 1, indent: value.Column - 1}
			var named struct {
				Name string `yaml:"name"`
			}
			if item.Decode(&named) == nil {
				e.name = named.Name
			}
			out = append(out, e)
		}
	case !f.list && value.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(value.Content); i += 2 {
			key := value.Content[i]
			out = append(out, yamlEntry{name: key.Value, value: value.Content[i+1], from: key.Line - 1, indent: key.Column - 1})
		}
	}
	for i := range out {
		out[i].to = end
		if i+1 < len(out) {
			out[i].to = out[i+1].from
		}
	}
	return out
}

// place implements fileFormat.
func (f yamlFormat) place([]byte) Place { return Place{[]string{f.container}, EntryName} }

// setEntry implements fileFormat. The entry becomes the first one of the container.
func (f yamlFormat) setEntry(text []byte, t Target) ([]byte, error) {
	if t.Shared {
		return nil, errors.New("an entry without a key is not supported in this format")
	}
	text, _, err := f.cutEntry(text, f.place(text))
	if err != nil {
		return nil, err
	}
	return f.insertLines(text, EntryName, f.makeEntry(t))
}

// insertLines inserts an entry, given as lines without indentation, at the beginning of
// the container.
func (f yamlFormat) insertLines(text []byte, name string, entry []string) ([]byte, error) {
	root, err := parseYAML(text)
	if err != nil {
		return nil, err
	}
	if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		text = append(bytes.Clone(text), '\n')
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	key, value, _ := f.findContainer(root, len(lines))
	at, indent := len(lines)-1, 2
	var head string
	switch {
	case key == nil:
		head = f.container + ":\n"
	case value.Tag != "!!null" && (value.Style&yaml.FlowStyle != 0 || len(value.Content) == 0):
		return nil, fmt.Errorf("its %s is written on one line; write each entry on separate lines", f.container)
	default:
		at = key.Line
		if entries := f.findEntries(root, len(lines)); len(entries) > 0 {
			indent = entries[0].indent
		}
	}
	var b strings.Builder
	b.WriteString(head)
	for i, line := range entry {
		b.WriteString(strings.Repeat(" ", indent))
		switch {
		case f.list && i == 0:
			b.WriteString("- ")
		case f.list:
			b.WriteString("  ")
		}
		b.WriteString(line + "\n")
	}
	next := append(append(bytes.Join(lines[:at], nil), b.String()...), bytes.Join(lines[at:], nil)...)
	after, err := parseYAML(next)
	if err != nil || len(f.findEntries(after, 0)) != len(f.findEntries(root, 0))+1 || !f.keepsOthers(root, after, name) {
		return nil, fmt.Errorf("an entry cannot be added to its %s", f.container)
	}
	return next, nil
}

// cutEntry implements fileFormat. The piece is the lines of the entry without their
// indentation, so that it can be pasted at another depth.
func (f yamlFormat) cutEntry(text []byte, at Place) (next, piece []byte, err error) {
	root, err := parseYAML(text)
	if err != nil {
		return nil, nil, err
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	for _, e := range f.findEntries(root, len(lines)) {
		if e.name != at.Name {
			continue
		}
		next = append(bytes.Join(lines[:e.from], nil), bytes.Join(lines[e.to:], nil)...)
		after, err := parseYAML(next)
		if err != nil || !f.keepsOthers(root, after, at.Name) {
			return nil, nil, fmt.Errorf("the server %s is not written on separate lines; remove it by hand", at.Name)
		}
		depth := e.indent
		if f.list {
			depth += 2 // the dash and a blank
		}
		for _, line := range lines[e.from:e.to] {
			piece = append(piece, line[min(depth, max(len(line)-1, 0)):]...)
		}
		return next, piece, nil
	}
	return text, nil, nil
}

// keepsOthers reports whether two versions of a file have the same content, apart from one
// server and from a container that became empty.
func (f yamlFormat) keepsOthers(before, after *yaml.Node, except string) bool {
	content := func(root *yaml.Node) map[string]any {
		out := map[string]any{}
		if root == nil || root.Decode(&out) != nil {
			return map[string]any{}
		}
		delete(out, f.container)
		for i, e := range f.findEntries(root, 0) {
			var value any
			if e.name != except && e.value.Decode(&value) == nil {
				out[fmt.Sprintf("%s/%s", f.container, e.name)] = value
			} else if e.name != except {
				out[fmt.Sprintf("%s/%d", f.container, i)] = nil
			}
		}
		return out
	}
	return reflect.DeepEqual(content(before), content(after))
}

// pasteEntry implements fileFormat.
func (f yamlFormat) pasteEntry(text []byte, at Place, piece []byte) ([]byte, error) {
	return f.insertLines(text, at.Name, strings.Split(strings.TrimRight(string(piece), "\r\n"), "\n"))
}
