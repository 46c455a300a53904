package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	junctor "github.com/junctor-mcp/junctor"
)

// document reads the nodes of one file and notes what is wrong where. It works
// on nodes instead of structs, so that each value has its place and nothing is
// converted silently. No problem repeats a value that may be a credential.
type document struct {
	l    *loader
	path string
}

// at is the place of a node, file:line:column.
func (d *document) at(n *yaml.Node) string { return fmt.Sprintf("%s:%d:%d", d.path, n.Line, n.Column) }

func (d *document) fault(n *yaml.Node, format string, args ...any) {
	d.l.problem(d.at(n), "", clip(fmt.Sprintf(format, args...)))
}

// clip keeps a name out of a file from making a message of any length.
func clip(message string) string {
	if len(message) > 600 {
		return strings.ToValidUTF8(message[:600], "") + "…"
	}
	return message
}

// member is one key of a map with its value.
type member struct{ key, value *yaml.Node }

// resolved follows an alias to its anchor.
func resolved(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// members gives what is in a map, each key once.
func (d *document) members(n *yaml.Node, path string) []member {
	n = resolved(n)
	if n.Kind != yaml.MappingNode {
		d.fault(n, "%s must be a map, `name: value` lines", path)
		return nil
	}
	out := make([]member, 0, len(n.Content)/2)
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch line := seen[key.Value]; {
		case key.Kind != yaml.ScalarNode || key.ShortTag() == "!!merge":
			d.fault(key, "%s has a key that is no plain name", path)
		case line != 0:
			d.fault(key, "%s has %q on line %d already", path, short(key.Value), line)
		default:
			seen[key.Value] = key.Line
			out = append(out, member{key, n.Content[i+1]})
		}
	}
	return out
}

// verbatim gives a scalar as it is written. A number is text too where text is
// wanted; true and null are too easily meant as something else.
func (d *document) verbatim(n *yaml.Node, path string) (string, bool) {
	n = resolved(n)
	if !isScalar(n, "!!str", "!!int", "!!float") {
		d.fault(n, "%s must be a text; put it in quotes", path)
		return "", false
	}
	if n.Value == junctor.Masked || strings.HasSuffix(n.Value, "?"+junctor.Masked) {
		d.fault(n, "%s is %s, which stands where a credential is not shown: write the credential, or env:NAME, file:/path or cmd:program to read it from", path, junctor.Masked)
		return "", false
	}
	return n.Value, true
}

func (d *document) text(to *string) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) { *to, _ = d.verbatim(n, path) }
}

func (d *document) truth(to *bool) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		if !isScalar(n, "!!bool") {
			d.fault(n, "%s must be true or false, without quotes", path)
			return
		}
		*to = n.Value == "true" || n.Value == "True" || n.Value == "TRUE"
	}
}

func (d *document) number(to *int) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		v, err := strconv.Atoi(n.Value)
		if !isScalar(n, "!!int") || err != nil {
			d.fault(n, "%s must be a whole number, without quotes", path)
			return
		}
		*to = v
	}
}

func (d *document) decimal(to *float64) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		v, err := strconv.ParseFloat(n.Value, 64)
		if !isScalar(n, "!!int", "!!float") || err != nil {
			d.fault(n, "%s must be a number, without quotes", path)
			return
		}
		*to = v
	}
}

// choice takes one of a few words.
func (d *document) choice(to *string, words ...string) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		text, ok := d.verbatim(n, path)
		if ok && !slices.Contains(words, text) {
			d.fault(n, "%s must be one of %s%s", path, strings.Join(words, ", "), didYouMean(text, words))
			return
		}
		*to = text
	}
}

func (d *document) address(to *string) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		text, ok := d.verbatim(n, path)
		if !ok {
			return
		}
		if err := junctor.CheckServerURL(text); err != nil {
			d.fault(n, "%s: %s", path, junctor.AsError(err).Message)
			return
		}
		*to = text
	}
}

// words reads a command.
func (d *document) words(to *[]string) func(*yaml.Node, string) {
	return d.list(to, "the program and its arguments, such as [npx, -y, some-server]: no shell reads it")
}

// names reads a map of texts whose keys check allows.
func (d *document) names(to *map[string]string, check func(name string) error) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		*to = map[string]string{}
		for _, m := range d.members(n, path) {
			if err := check(m.key.Value); err != nil {
				d.fault(m.key, "%s: %s", path, junctor.AsError(err).Message)
				continue
			}
			if text, ok := d.verbatim(m.value, path+"."+m.key.Value); ok {
				(*to)[m.key.Value] = text
			}
		}
	}
}
