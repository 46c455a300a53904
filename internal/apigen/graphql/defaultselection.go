package graphql

import (
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// Bounds of a selection that nobody wrote: enough to be of use, and no more
// than a reader wants to see.
const (
	maxSelectionDepth  = 2
	maxSelectionLeaves = 60
	maxFragments       = 8
)

// defaultSelection chooses fields of a type: leaves, and those of objects within, that
// need no argument. It has its braces, and is "" for a leaf.
func (s *Schema) defaultSelection(t *ast.Type) string {
	def := s.types[t.Name()]
	if def == nil || def.IsLeafType() {
		return ""
	}
	visits := maxVisits
	c := fieldChooser{schema: s, leavesLeft: maxSelectionLeaves, visitsLeft: &visits}
	return c.chooseObject(def, maxSelectionDepth, nil)
}

type fieldChooser struct {
	schema     *Schema
	leavesLeft int // leaves that may still be chosen

	// visits is how many types may still be looked at, by all choosers of one
	// selection: types without leaves use up none of the leaves.
	visitsLeft *int
}

// maxVisits bounds the types that one selection looks at.
const maxVisits = 2000

// chooseObject chooses from one type. path holds the types around it: none is chosen
// within itself.
func (c *fieldChooser) chooseObject(def *ast.Definition, depth int, path []*ast.Definition) string {
	if *c.visitsLeft--; *c.visitsLeft < 0 || slices.Contains(path, def) {
		return ""
	}
	c.schema.meter.Spend(1 + len(def.Fields))
	path = append(slices.Clip(path), def)
	var parts []string
	switch {
	case def.IsAbstractType():
		parts = c.chooseAbstract(def, depth, path)
	case isConnection(c.schema, def):
		parts = c.chooseConnection(def, depth, path)
	default:
		parts = c.chooseFields(def, depth, path)
	}
	if len(parts) == 0 {
		if len(path) > 1 {
			return ""
		}
		parts = []string{"__typename"}
	}
	return "{ " + strings.Join(parts, " ") + " }"
}

// chooseFields chooses leaves first: where room ends, it is objects that are left out.
func (c *fieldChooser) chooseFields(def *ast.Definition, depth int, path []*ast.Definition) []string {
	parts := c.chooseLeaves(def)
	if depth <= 1 {
		return parts
	}
	for _, f := range def.Fields {
		of := c.schema.types[f.Type.Name()]
		if c.leavesLeft == 0 || !c.isReadable(f) || of.IsLeafType() || len(f.Arguments) > 0 && isConnection(c.schema, of) { // many refuse a page whose size is not said
			continue
		}
		if inner := c.chooseObject(of, depth-1, path); inner != "" {
			parts = append(parts, f.Name+" "+inner)
		}
	}
	return parts
}

// chooseLeaves chooses leaves in the order of the document. Where there are more than
// there is room for, those stay that say what a thing is.
func (c *fieldChooser) chooseLeaves(def *ast.Definition) []string {
	var all, some []string
	for _, f := range def.Fields {
		if c.isReadable(f) && c.schema.isLeaf(f.Type) {
			all = append(all, f.Name)
		}
	}
	if len(all) <= c.leavesLeft {
		c.leavesLeft -= len(all)
		return all
	}
	for _, telling := range []bool{true, false} {
		for _, name := range all {
			if c.leavesLeft > 0 && identifiesObject(name) == telling {
				c.leavesLeft--
				some = append(some, name)
			}
		}
	}
	return slices.DeleteFunc(all, func(name string) bool { return !slices.Contains(some, name) })
}

// identifiesObject says whether a field of the name mostly tells what a thing is.
func identifiesObject(name string) bool {
	switch name {
	case "id", "name", "title", "key", "slug", "login", "email", "number", "code", "url", "state", "status", "type", "description", "body", "createdAt", "updatedAt", "created_at", "updated_at":
		return true
	}
	return false
}

// isReadable says whether a field can be read by its name alone, and reading it does
// nothing else.
func (c *fieldChooser) isReadable(f *ast.FieldDefinition) bool {
	return !isDeprecated(f.Directives) && !slices.ContainsFunc(f.Arguments, isRequired) && !strings.HasPrefix(f.Name, "__") &&
		!c.schema.isNamespace(c.schema.types[f.Type.Name()])
}

// chooseAbstract chooses what an interface has itself, and what its types have beside
// that. Two types may have a field of one name with different types, which no
// answer could hold: the second gets a name of its own.
func (c *fieldChooser) chooseAbstract(def *ast.Definition, depth int, path []*ast.Definition) []string {
	parts := []string{"__typename"}
	shape := map[string]string{} // name in the answer -> what it holds
	own := map[string]bool{}
	for _, text := range c.chooseFields(def, depth, path) {
		name, _, _ := strings.Cut(text, " ")
		own[name] = true
		shape[name] = fieldShape(def, name, text)
		parts = append(parts, text)
	}
	possible := c.schema.possibleTypes[def.Name]
	possible = possible[:min(len(possible), maxFragments)]
	for n, member := range possible {
		if slices.Contains(path, member) || c.schema.isNamespace(member) {
			continue
		}
		part := c.leavesLeft / (len(possible) - n) // no type takes what the others need
		share := fieldChooser{c.schema, part, c.visitsLeft}
		chosen := share.chooseFields(member, depth, append(slices.Clip(path), member))
		c.leavesLeft -= part - share.leavesLeft
		var inner []string
		for _, text := range chosen {
			name, _, _ := strings.Cut(text, " ")
			switch was, taken := shape[name]; {
			case own[name]:
				continue
			case !taken:
				shape[name] = fieldShape(member, name, text)
			case was != fieldShape(member, name, text):
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

func fieldShape(def *ast.Definition, name, text string) string {
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
		if f.Type.Elem != nil && !s.isLeaf(f.Type) && !slices.ContainsFunc(f.Arguments, isRequired) {
			return f
		}
	}
	return nil
}

// chooseConnection chooses the items of a page and how to get the next. The page
// itself is no depth.
func (c *fieldChooser) chooseConnection(def *ast.Definition, depth int, path []*ast.Definition) []string {
	var parts []string
	for _, f := range def.Fields {
		if c.isReadable(f) && c.schema.isLeaf(f.Type) && f.Type.Elem == nil && c.leavesLeft > 0 { // such as totalCount
			c.leavesLeft--
			parts = append(parts, f.Name)
		}
	}
	items := pageField(c.schema, def)
	inner := c.schema.types[items.Type.Name()]
	var text string
	if node := inner.Fields.ForName("node"); items.Name == "edges" && node != nil {
		if text = c.chooseObject(c.schema.types[node.Type.Name()], depth, path); text != "" {
			text = "{ node " + text + " }"
		} else if c.schema.isLeaf(node.Type) {
			text = "{ node }"
		}
	} else {
		text = c.chooseObject(inner, depth, path)
	}
	if text == "" && !c.schema.isLeaf(items.Type) {
		return parts
	}
	parts = append(parts, strings.TrimSpace(items.Name+" "+text))
	var page []string
	info := c.schema.types[def.Fields.ForName("pageInfo").Type.Name()]
	for _, f := range info.Fields {
		if c.isReadable(f) && c.schema.isLeaf(f.Type) && !slices.Contains([]string{"startCursor", "hasPreviousPage"}, f.Name) {
			page = append(page, f.Name)
		}
	}
	if len(page) > 0 {
		parts = append(parts, "pageInfo { "+strings.Join(page, " ")+" }")
	}
	return parts
}
