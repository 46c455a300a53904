package graphql

import (
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// Bounds of a selection that nobody wrote: enough to be of use, and no more
// than a reader wants to see.
const (
	maxDepth     = 2
	maxLeaves    = 60
	maxFragments = 8
)

// selection chooses fields of a type: leaves, and those of objects within, that
// need no argument. It has its braces, and is "" for a leaf.
func (s *Schema) selection(t *ast.Type) string {
	def := s.types[t.Name()]
	if def == nil || def.IsLeafType() {
		return ""
	}
	c := chooser{s: s, left: maxLeaves}
	return c.object(def, maxDepth, nil)
}

type chooser struct {
	s    *Schema
	left int // leaves that may still be chosen
}

// object chooses from one type. path holds the types around it: none is chosen
// within itself.
func (c *chooser) object(def *ast.Definition, depth int, path []*ast.Definition) string {
	if slices.Contains(path, def) {
		return ""
	}
	path = append(slices.Clip(path), def)
	var parts []string
	switch {
	case def.IsAbstractType():
		parts = c.abstract(def, depth, path)
	case isConnection(c.s, def):
		parts = c.connection(def, depth, path)
	default:
		parts = c.fields(def, depth, path)
	}
	if len(parts) == 0 {
		if len(path) > 1 {
			return ""
		}
		parts = []string{"__typename"}
	}
	return "{ " + strings.Join(parts, " ") + " }"
}

// fields chooses leaves first: where room ends, it is objects that are left out.
func (c *chooser) fields(def *ast.Definition, depth int, path []*ast.Definition) []string {
	var leaves, objects []string
	for _, f := range def.Fields {
		if c.left > 0 && c.plain(f) && c.s.leaf(f.Type) {
			c.left--
			leaves = append(leaves, f.Name)
		}
	}
	if depth <= 1 {
		return leaves
	}
	for _, f := range def.Fields {
		if c.left == 0 || !c.plain(f) || c.s.leaf(f.Type) {
			continue
		}
		if inner := c.object(c.s.types[f.Type.Name()], depth-1, path); inner != "" {
			objects = append(objects, f.Name+" "+inner)
		}
	}
	return append(leaves, objects...)
}

// plain says whether a field can be read by its name alone, and reading it does
// nothing else.
func (c *chooser) plain(f *ast.FieldDefinition) bool {
	return !deprecated(f.Directives) && !slices.ContainsFunc(f.Arguments, needs) && !strings.HasPrefix(f.Name, "__") &&
		!c.s.namespace(c.s.types[f.Type.Name()])
}

// abstract chooses what an interface has itself, and what its types have beside
// that. Two types may have a field of one name with different types, which no
// answer could hold: the second gets a name of its own.
func (c *chooser) abstract(def *ast.Definition, depth int, path []*ast.Definition) []string {
	parts := []string{"__typename"}
	shape := map[string]string{} // name in the answer -> what it holds
	own := map[string]bool{}
	for _, text := range c.fields(def, depth, path) {
		name, _, _ := strings.Cut(text, " ")
		own[name] = true
		shape[name] = shapeOf(def, name, text)
		parts = append(parts, text)
	}
	possible := c.s.possible[def.Name]
	for _, member := range possible[:min(len(possible), maxFragments)] {
		if slices.Contains(path, member) || c.s.namespace(member) {
			continue
		}
		var inner []string
		for _, text := range c.fields(member, depth, append(slices.Clip(path), member)) {
			name, _, _ := strings.Cut(text, " ")
			switch was, taken := shape[name]; {
			case own[name]:
				c.left++
				continue
			case !taken:
				shape[name] = shapeOf(member, name, text)
			case was != shapeOf(member, name, text):
				text = member.Name + "_" + name + ": " + text
			}
			inner = append(inner, text)
		}
		if len(inner) > 0 {
			parts = append(parts, "... on "+member.Name+" { "+strings.Join(inner, " ")+" }")
		}
	}
	return parts
}

func shapeOf(def *ast.Definition, name, text string) string {
	if f := def.Fields.ForName(name); f != nil {
		return f.Type.String() + " " + text
	}
	return text
}

// isConnection says whether a type is a page of others.
func isConnection(s *Schema, def *ast.Definition) bool {
	return def.Fields.ForName("pageInfo") != nil && pageField(s, def) != nil
}

// pageField is the field of a connection that holds its items.
func pageField(s *Schema, def *ast.Definition) *ast.FieldDefinition {
	for _, name := range []string{"nodes", "edges"} {
		if f := def.Fields.ForName(name); f != nil && f.Type.Elem != nil {
			return f
		}
	}
	for _, f := range def.Fields {
		if f.Type.Elem != nil && !s.leaf(f.Type) && !slices.ContainsFunc(f.Arguments, needs) {
			return f
		}
	}
	return nil
}

// connection chooses the items of a page and how to get the next. The page
// itself is no depth.
func (c *chooser) connection(def *ast.Definition, depth int, path []*ast.Definition) []string {
	var parts []string
	for _, f := range def.Fields {
		if c.plain(f) && c.s.leaf(f.Type) && f.Type.Elem == nil && c.left > 0 { // such as totalCount
			c.left--
			parts = append(parts, f.Name)
		}
	}
	items := pageField(c.s, def)
	inner := c.s.types[items.Type.Name()]
	var text string
	if node := inner.Fields.ForName("node"); items.Name == "edges" && node != nil {
		if text = c.object(c.s.types[node.Type.Name()], depth, path); text != "" {
			text = "{ node " + text + " }"
		} else if c.s.leaf(node.Type) {
			text = "{ node }"
		}
	} else {
		text = c.object(inner, depth, path)
	}
	if text == "" && !c.s.leaf(items.Type) {
		return parts
	}
	parts = append(parts, strings.TrimSpace(items.Name+" "+text))
	var page []string
	info := c.s.types[def.Fields.ForName("pageInfo").Type.Name()]
	for _, f := range info.Fields {
		if c.plain(f) && c.s.leaf(f.Type) && !slices.Contains([]string{"startCursor", "hasPreviousPage"}, f.Name) {
			page = append(page, f.Name)
		}
	}
	if len(page) > 0 {
		parts = append(parts, "pageInfo { "+strings.Join(page, " ")+" }")
	}
	return parts
}
