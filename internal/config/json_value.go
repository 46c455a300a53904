package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// The bounds of a value that may be any JSON. A small file with aliases can
// otherwise grow to any size.
const (
	maxValueDepth = 64
	maxValueBytes = 1 << 20
)

// jsonField reads any value, and stores the JSON of it.
func (d *document) jsonField(to *[]byte) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		before := len(d.loader.problems)
		text := d.appendValue(nil, n, path, 0)
		if len(d.loader.problems) == before {
			*to = text
		}
	}
}

// appendValue appends the JSON of a node to out. It stops at the first problem:
// with aliases, there could be any number of them.
func (d *document) appendValue(out []byte, n *yaml.Node, path string, depth int) []byte {
	n = followAlias(n)
	if depth > maxValueDepth || len(out) > maxValueBytes {
		d.addProblem(n, "%s is too large: a value may have at most %d levels and %d bytes", path, maxValueDepth, maxValueBytes)
		return out
	}
	switch n.Kind {
	case yaml.MappingNode:
		out = append(out, '{')
		before := len(d.loader.problems)
		for i, m := range d.listMembers(n, path) {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(appendText(out, m.key.Value), ':')
			if out = d.appendValue(out, m.value, path+"."+shortenText(m.key.Value), depth+1); len(d.loader.problems) > before {
				return out
			}
		}
		return append(out, '}')
	case yaml.SequenceNode:
		out = append(out, '[')
		before := len(d.loader.problems)
		for i, item := range n.Content {
			if i > 0 {
				out = append(out, ',')
			}
			if out = d.appendValue(out, item, fmt.Sprintf("%s[%d]", path, i), depth+1); len(d.loader.problems) > before {
				return out
			}
		}
		return append(out, ']')
	default:
		return d.appendScalar(out, n, path)
	}
}

// appendScalar appends the JSON of a scalar. A number keeps its digits if JSON
// allows them, so that no precision is lost.
func (d *document) appendScalar(out []byte, n *yaml.Node, path string) []byte {
	switch n.ShortTag() {
	case "!!null":
		return append(out, "null"...)
	case "!!bool", "!!int", "!!float":
		if json.Valid([]byte(n.Value)) && n.Value[0] != '"' {
			return append(out, n.Value...)
		}
		var v any
		if err := n.Decode(&v); err == nil {
			if text, err := json.Marshal(v); err == nil {
				return append(out, text...)
			}
		}
		d.addProblem(n, "%s is not a JSON value: put it in quotes", path)
		return out
	default: // texts and dates
		return appendText(out, n.Value)
	}
}

// appendText appends a JSON string.
func appendText(out []byte, text string) []byte {
	quoted, _ := json.Marshal(text) // a string can always be encoded
	return append(out, quoted...)
}

// jsonToYAML returns the YAML nodes of v's JSON form.
func jsonToYAML(v any) (*yaml.Node, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(escapeForYAML(b.Bytes()), &doc); err != nil {
		return nil, err
	}
	usePlainStyle(doc.Content[0])
	return doc.Content[0], nil
}

// usePlainStyle removes the quotes that JSON requires and YAML does not. A text with
// invisible characters keeps them: in quotes it can be read in only one way. A value of
// several lines, such as a document or rules, becomes a block; a key keeps its quotes.
func usePlainStyle(n *yaml.Node) { setPlainStyle(n, "\n") }

// setPlainStyle is usePlainStyle. blocks are the invisible characters that a text may have
// without quotes.
func setPlainStyle(n *yaml.Node, blocks string) {
	hidden := func(r rune) bool { return !unicode.IsPrint(r) && !strings.ContainsRune(blocks, r) }
	if n.Kind != yaml.ScalarNode || !strings.ContainsFunc(n.Value, hidden) {
		n.Style = 0
	}
	for i, one := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			setPlainStyle(one, "")
			continue
		}
		setPlainStyle(one, "\n")
	}
}
