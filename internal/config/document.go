package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	junctor "github.com/junctor-mcp/junctor"
)

// document reads the nodes of one file and notes the problems with their
// positions. It works on nodes instead of structs, so that each value keeps its
// position and nothing is converted silently. A problem never repeats a value
// that may be a credential.
//
// Methods whose names end in Field return the reader of one member: a function
// that checks the member's type and stores its value in a variable. readObject
// calls it.
type document struct {
	loader *loader
	path   string
}

// nodePosition returns the position of a node as file:line:column.
func (d *document) nodePosition(n *yaml.Node) string {
	return fmt.Sprintf("%s:%d:%d", d.path, n.Line, n.Column)
}

// addProblem notes a problem at a node.
func (d *document) addProblem(n *yaml.Node, format string, args ...any) {
	d.loader.addProblem(d.nodePosition(n), "", clipMessage(fmt.Sprintf(format, args...)))
}

// clipMessage cuts a message that a long name of the file would otherwise make
// arbitrarily long.
func clipMessage(message string) string { return junctor.ShortenText(message, 600) }

// member is one key of a map and its value.
type member struct{ key, value *yaml.Node }

// followAlias returns the node that an alias refers to, and any other node as
// it is.
func followAlias(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// listMembers returns the members of a map in the order of the file. A repeated
// key, a merge key and a key that is no scalar are problems and are left out.
// path names the map in problems.
func (d *document) listMembers(n *yaml.Node, path string) []member {
	n = followAlias(n)
	if n.Kind != yaml.MappingNode {
		d.addProblem(n, "%s must be a map of `name: value` lines", path)
		return nil
	}
	out := make([]member, 0, len(n.Content)/2)
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch line := seen[key.Value]; {
		case key.Kind != yaml.ScalarNode || key.ShortTag() == "!!merge":
			d.addProblem(key, "%s has a key that is not a plain name: write each key as text", path)
		case line != 0:
			d.addProblem(key, "%s already has %q on line %d: remove one of the two", path, shortenText(key.Value), line)
		default:
			seen[key.Value] = key.Line
			out = append(out, member{key, n.Content[i+1]})
		}
	}
	return out
}

// readText returns a scalar as it is written. A number counts as text; true and
// null do not, because they are often meant as something else. The mask that
// stands for a hidden credential in output is refused: a user may have copied
// it from there.
func (d *document) readText(n *yaml.Node, path string) (string, bool) {
	n = followAlias(n)
	if !isScalar(n, "!!str", "!!int", "!!float") {
		d.addProblem(n, "%s must be a text; put it in quotes", path)
		return "", false
	}
	if n.Value == junctor.Masked || strings.HasSuffix(n.Value, "?"+junctor.Masked) {
		d.addProblem(n, "%s is %s, the mask that output shows instead of a credential: write the credential, or a reference (env:NAME, file:/path or cmd:program)", path, junctor.Masked)
		return "", false
	}
	return n.Value, true
}

// textField reads a text.
func (d *document) textField(to *string) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) { *to, _ = d.readText(n, path) }
}

// boolField reads true or false.
func (d *document) boolField(to *bool) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		if !isScalar(n, "!!bool") {
			d.addProblem(n, "%s must be true or false, without quotes", path)
			return
		}
		*to = n.Value == "true" || n.Value == "True" || n.Value == "TRUE"
	}
}

// intField reads a whole number.
func (d *document) intField(to *int) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		v, err := strconv.Atoi(n.Value)
		if !isScalar(n, "!!int") || err != nil {
			d.addProblem(n, "%s must be a whole number, without quotes", path)
			return
		}
		*to = v
	}
}

// floatField reads a number.
func (d *document) floatField(to *float64) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		v, err := strconv.ParseFloat(n.Value, 64)
		if !isScalar(n, "!!int", "!!float") || err != nil {
			d.addProblem(n, "%s must be a number, without quotes", path)
			return
		}
		*to = v
	}
}

// choiceField reads one of a few words. For any other word the problem suggests
// the nearest one.
func (d *document) choiceField(to *string, words ...string) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		text, ok := d.readText(n, path)
		if ok && !slices.Contains(words, text) {
			d.addProblem(n, "%s must be one of %s%s", path, strings.Join(words, ", "), didYouMean(text, words))
			return
		}
		*to = text
	}
}

// urlField reads the URL of a server or of an OAuth endpoint.
func (d *document) urlField(to *string) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		text, ok := d.readText(n, path)
		if !ok {
			return
		}
		if err := junctor.CheckServerURL(text); err != nil {
			d.addProblem(n, "%s: %s", path, junctor.AsError(err).Message)
			return
		}
		*to = text
	}
}

// textMapField reads a map of texts. check judges each key.
func (d *document) textMapField(to *map[string]string, check func(name string) error) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		*to = map[string]string{}
		for _, m := range d.listMembers(n, path) {
			if err := check(m.key.Value); err != nil {
				d.addProblem(m.key, "%s: %s", path, junctor.AsError(err).Message)
				continue
			}
			if text, ok := d.readText(m.value, path+"."+m.key.Value); ok {
				(*to)[m.key.Value] = text
			}
		}
	}
}
