package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// The bounds of a value that may be anything: aliases make much of little.
const (
	maxValueDepth = 64
	maxValueBytes = 1 << 20
)

// value reads any value as the JSON that says the same.
func (d *document) value(to *[]byte) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		before := len(d.l.problems)
		text := d.appendValue(nil, n, path, 0)
		if len(d.l.problems) == before {
			*to = text
		}
	}
}

func (d *document) appendValue(out []byte, n *yaml.Node, path string, depth int) []byte {
	n = resolved(n)
	if depth > maxValueDepth || len(out) > maxValueBytes {
		d.fault(n, "%s holds more than a value of a file may: %d levels, and %d bytes", path, maxValueDepth, maxValueBytes)
		return out
	}
	switch n.Kind {
	case yaml.MappingNode:
		out = append(out, '{')
		before := len(d.l.problems)
		for i, m := range d.members(n, path) {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(appendText(out, m.key.Value), ':')
			if out = d.appendValue(out, m.value, path+"."+short(m.key.Value), depth+1); len(d.l.problems) > before {
				return out // one is enough: there may be as many as aliases make
			}
		}
		return append(out, '}')
	case yaml.SequenceNode:
		out = append(out, '[')
		before := len(d.l.problems)
		for i, item := range n.Content {
			if i > 0 {
				out = append(out, ',')
			}
			if out = d.appendValue(out, item, fmt.Sprintf("%s[%d]", path, i), depth+1); len(d.l.problems) > before {
				return out
			}
		}
		return append(out, ']')
	default:
		return d.appendScalar(out, n, path)
	}
}

// appendScalar keeps a number as it is written where JSON writes numbers so.
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
		d.fault(n, "%s is no value that JSON has: put it in quotes", path)
		return out
	default: // texts, and what looks like a date
		return appendText(out, n.Value)
	}
}

func appendText(out []byte, text string) []byte {
	quoted, _ := json.Marshal(text) // a text always can
	return append(out, quoted...)
}

// asYAML gives the nodes that say in YAML what v says in JSON.
func asYAML(v any) (*yaml.Node, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(escaped(b.Bytes()), &doc); err != nil {
		return nil, err
	}
	unquote(doc.Content[0])
	return doc.Content[0], nil
}

// unquote has nodes written in the style of a file that people write. A text of
// several lines, or with what cannot be seen, stays in quotes: there it can be
// read in one way only.
func unquote(n *yaml.Node) {
	if n.Kind != yaml.ScalarNode || !strings.ContainsFunc(n.Value, func(r rune) bool { return !unicode.IsPrint(r) }) {
		n.Style = 0
	}
	for _, one := range n.Content {
		unquote(one)
	}
}
