package graphql

import (
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// Bounds of a default selection: enough to be useful, and no more than a model
// wants to read.
const (
	maxSelectionDepth  = 2
	maxSelectionLeaves = 60
	maxFragments       = 8
)

// defaultSelection chooses fields of a type: leaves, and leaves of objects
// inside, that require no argument. The result has braces; it is "" for a leaf.
func (s *Schema) defaultSelection(t *ast.Type) string {
	def := s.types[t.Name()]
	if def == nil || def.IsLeafType() {
		return ""
	}
	visits := maxVisits
	c := fieldChooser{schema: s, leavesLeft: maxSelectionLeaves, visitsLeft: &visits}
	return c.chooseObject(def, maxSelectionDepth, nil)
}

// fieldChooser chooses the fields of one selection, or of a part of it.
type fieldChooser struct {
	schema *Schema
	// leavesLeft is the number of leaves that may still be chosen.
	leavesLeft int

	// visitsLeft is the number of types that may still be visited. All choosers
	// of one selection share it: types without leaves use up no leaves, and
	// could multiply without end.
	visitsLeft *int
}

// maxVisits bounds the types that one selection visits.
const maxVisits = 2000

// chooseObject returns the selection of one type, or "" if nothing can be
// chosen. path are the types around it: a type is never chosen within itself.
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
	// A selection set cannot be empty. Inside another one the field is left out
	// instead.
	if len(parts) == 0 {
		if len(path) > 1 {
			return ""
		}
		parts = []string{"__typename"}
	}
	return "{ " + strings.Join(parts, " ") + " }"
}

// chooseFields chooses leaves first, so that objects are left out when the
// number of leaves is used up.
func (c *fieldChooser) chooseFields(def *ast.Definition, depth int, path []*ast.Definition) []string {
	parts := c.chooseLeaves(def)
	if depth <= 1 {
		return parts
	}
	for _, f := range def.Fields {
		of := c.schema.types[f.Type.Name()]
		// Many servers refuse a page without its size, so a connection with
		// arguments is not chosen.
		if c.leavesLeft == 0 || !c.isReadable(f) || of.IsLeafType() || len(f.Arguments) > 0 && isConnection(c.schema, of) {
			continue
		}
		if inner := c.chooseObject(of, depth-1, path); inner != "" {
			parts = append(parts, f.Name+" "+inner)
		}
	}
	return parts
}

// chooseLeaves chooses leaves in the order of the document. If there are too
// many, it prefers those that identify an object.
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
	// The first pass takes the fields that identify an object, the second the
	// others.
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

// identifiesObject reports whether a field of this name usually tells what an
// object is.
func identifiesObject(name string) bool {
	switch name {
	case "id", "name", "title", "key", "slug", "login", "email", "number", "code", "url", "state", "status", "type", "description", "body", "createdAt", "updatedAt", "created_at", "updated_at":
		return true
	}
	return false
}

// isReadable reports whether a field can be read without arguments, and reading
// it has no effect.
func (c *fieldChooser) isReadable(f *ast.FieldDefinition) bool {
	return !isDeprecated(f.Directives) && !slices.ContainsFunc(f.Arguments, isRequired) && !strings.HasPrefix(f.Name, "__") &&
		!c.schema.isNamespace(c.schema.types[f.Type.Name()])
}

// chooseAbstract chooses the fields of an interface or union itself, and
// further fields of its types in fragments. Two types may have a field of one
// name with different types, which GraphQL refuses in one answer: the second
// one gets an alias.
func (c *fieldChooser) chooseAbstract(def *ast.Definition, depth int, path []*ast.Definition) []string {
	parts := []string{"__typename"}
	// shape maps a name in the answer to its type and selection.
	shape := map[string]string{}
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
		// Each type gets its share of leaves, so that the first does not use up
		// those of the others.
		part := c.leavesLeft / (len(possible) - n)
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

// fieldShape returns the type and selection of a field, to compare fields of
// one name.
func fieldShape(def *ast.Definition, name, text string) string {
	if f := def.Fields.ForName(name); f != nil {
		return f.Type.String() + " " + text
	}
	return text
}

// isConnection reports whether a type is a page of other objects (Relay
// connections and the like).
func isConnection(s *Schema, def *ast.Definition) bool {
	return def.Fields.ForName("pageInfo") != nil && pageField(s, def) != nil
}

// pageField returns the field of a connection that holds its items, or nil.
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

// chooseConnection chooses the items of a page and the information on the next
// one. The page itself does not count as a level of depth.
func (c *fieldChooser) chooseConnection(def *ast.Definition, depth int, path []*ast.Definition) []string {
	var parts []string
	for _, f := range def.Fields {
		// A connection has leaves of its own, such as totalCount.
		if c.isReadable(f) && c.schema.isLeaf(f.Type) && f.Type.Elem == nil && c.leavesLeft > 0 {
			c.leavesLeft--
			parts = append(parts, f.Name)
		}
	}
	items := pageField(c.schema, def)
	inner := c.schema.types[items.Type.Name()]
	var text string
	// An edge wraps the item in a field node; its cursor is of no use to
	// callers.
	if node := inner.Fields.ForName("node"); items.Name == "edges" && node != nil {
		if text = c.chooseObject(c.schema.types[node.Type.Name()], depth, path); text != "" {
			text = "{ node " + text + " }"
		} else if c.schema.isLeaf(node.Type) {
			text = "{ node }"
		}
	} else {
		text = c.chooseObject(inner, depth, path)
	}
	// Without a selection the field could not be sent.
	if text == "" && !c.schema.isLeaf(items.Type) {
		return parts
	}
	parts = append(parts, strings.TrimSpace(items.Name+" "+text))
	var page []string
	// Callers go forwards: they need endCursor and hasNextPage.
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
