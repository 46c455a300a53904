package policy

import (
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/junctor-mcp/junctor/internal/wire"
)

// schemaNode is what a JSON Schema says of a value, as far as conditions are
// concerned. A nil node is a value of any type.
type schemaNode struct {
	kind       string // the one type of the value; "" if there may be several
	members    map[string]*schemaNode
	required   []string
	open       bool        // members that are not in members are possible, and declared so
	additional *schemaNode // their type, if open
	items      *schemaNode
	typeName   string // name of its CEL type, if kind is object and members is not nil
}

// Bounds of the part of a schema that is read. Beyond them values have any type.
const (
	maxSchemaDepth = 12
	maxSchemaNodes = 4000
)

// schemaReader turns JSON Schema into nodes.
type schemaReader struct {
	root  []byte
	left  int
	nodes map[string]*schemaNode // by type name
}

// readSchema reads the schema of a tool's arguments. The map has all object
// types in it by name; the first one is typeArguments. Without members the
// arguments have any form.
func readSchema(schema []byte) (*schemaNode, map[string]*schemaNode) {
	r := &schemaReader{root: schema, left: maxSchemaNodes, nodes: map[string]*schemaNode{}}
	node := r.read(schema, typeArguments, 0)
	if node == nil || node.kind != "object" {
		return nil, nil
	}
	return node, r.nodes
}

// read reads one schema; nil if the value can be anything.
func (r *schemaReader) read(schema []byte, name string, depth int) *schemaNode {
	if depth > maxSchemaDepth || r.left <= 0 || len(schema) == 0 || schema[0] != '{' {
		return nil
	}
	r.left--
	var kind, reference string
	var properties, required, additional, items []byte
	mixed := false
	for raw, value := range wire.Members(schema) {
		switch wire.Unescape(raw) {
		case "type":
			kind, _ = wire.String(value) // a list of types leaves it empty
		case "$ref":
			reference, _ = wire.String(value)
		case "properties":
			properties = value
		case "required":
			required = value
		case "additionalProperties":
			additional = value
		case "items":
			items = value
		case "anyOf", "oneOf", "allOf", "if", "patternProperties", "dependentSchemas":
			mixed = true // other members are possible, or other types
		}
	}
	if reference != "" {
		return r.read(r.resolve(reference), name, depth+1)
	}
	if kind == "" && properties != nil && !mixed {
		kind = "object"
	}
	node := &schemaNode{kind: kind}
	switch kind {
	case "object":
		r.readMembers(node, properties, required, name, depth)
		switch {
		case len(additional) > 0 && additional[0] == '{':
			node.open, node.additional = true, r.read(additional, name+".*", depth+1)
		case string(additional) == "true", mixed, node.members == nil && string(additional) != "false":
			node.open = true
		}
		if node.members != nil {
			node.typeName = name
			r.nodes[name] = node
		}
	case "array":
		node.items = r.read(items, name+"[]", depth+1)
	case "":
		return nil
	}
	return node
}

// readMembers reads the properties of an object.
func (r *schemaReader) readMembers(node *schemaNode, properties, required []byte, name string, depth int) {
	if len(properties) > 0 && properties[0] == '{' {
		node.members = map[string]*schemaNode{}
		for raw, value := range wire.Members(properties) {
			key := wire.Unescape(raw)
			node.members[key] = r.read(value, name+"."+key, depth+1)
		}
	}
	if len(required) > 0 && required[0] == '[' {
		for raw := range wire.Elements(required) {
			if key, ok := wire.String(raw); ok {
				node.required = append(node.required, key)
			}
		}
	}
}

// resolve returns the part of the schema that a local reference names; nil if
// there is none.
func (r *schemaReader) resolve(reference string) []byte {
	path, ok := strings.CutPrefix(reference, "#/")
	if !ok {
		return nil
	}
	at := r.root
	for segment := range strings.SplitSeq(path, "/") {
		if len(at) == 0 || at[0] != '{' {
			return nil
		}
		at = wire.Get(at, strings.NewReplacer("~1", "/", "~0", "~").Replace(segment))
	}
	return at
}

// celType returns the type of values with the schema.
func (n *schemaNode) celType() *types.Type {
	if n == nil {
		return types.DynType
	}
	switch n.kind {
	case "string":
		return types.StringType
	case "integer":
		return types.IntType
	case "number":
		return types.DoubleType
	case "boolean":
		return types.BoolType
	case "null":
		return types.NullType
	case "array":
		return types.NewListType(n.items.celType())
	case "object":
		if n.members != nil {
			return types.NewObjectType(n.typeName)
		}
		return types.NewMapType(types.StringType, n.additional.celType())
	}
	return types.DynType
}

// member returns the schema of a member. ok is false if the schema does not
// allow for it.
func (n *schemaNode) member(name string) (node *schemaNode, ok bool) {
	if n == nil {
		return nil, true
	}
	if m, declared := n.members[name]; declared {
		return m, true
	}
	return n.additional, n.open
}

// requires reports whether every value of the schema has the member.
func (n *schemaNode) requires(name string) bool { return n != nil && slices.Contains(n.required, name) }

// typeProvider knows the types of conditions: the fixed ones, and those of the
// arguments of one tool. Members in lenient are possible although the schema does
// not have them: the condition asks with has() whether they are there.
type typeProvider struct {
	types.Provider
	fixed   map[string]map[string]*types.Type
	objects map[string]*schemaNode
	lenient map[string]bool // type name and member, joined by a dot
}

func newTypeProvider(objects map[string]*schemaNode) *typeProvider {
	return &typeProvider{Provider: types.NewEmptyRegistry(), fixed: fixedTypes(), objects: objects}
}

// FindStructType implements types.Provider.
func (p *typeProvider) FindStructType(name string) (*types.Type, bool) {
	if p.fixed[name] == nil && p.objects[name] == nil {
		return p.Provider.FindStructType(name)
	}
	return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
}

// FindStructFieldNames implements types.Provider.
func (p *typeProvider) FindStructFieldNames(name string) ([]string, bool) {
	names := memberNames(p.fixed[name], p.objects[name])
	return names, names != nil
}

// memberNames lists the members of a type in order.
func memberNames(fixed map[string]*types.Type, object *schemaNode) (names []string) {
	for name := range fixed {
		names = append(names, name)
	}
	if object != nil {
		for name := range object.members {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// FindStructFieldType implements types.Provider.
func (p *typeProvider) FindStructFieldType(name, member string) (*types.FieldType, bool) {
	if fixed := p.fixed[name]; fixed != nil {
		t := fixed[member]
		return &types.FieldType{Type: t}, t != nil
	}
	object := p.objects[name]
	if object == nil {
		return p.Provider.FindStructFieldType(name, member)
	}
	node, ok := object.member(member)
	if !ok && p.lenient[name+"."+member] {
		return &types.FieldType{Type: types.DynType}, true
	}
	return &types.FieldType{Type: node.celType()}, ok
}

// NewValue implements types.Provider: conditions make no objects.
func (p *typeProvider) NewValue(name string, _ map[string]ref.Val) ref.Val {
	return types.NewErr("conditions cannot make values of the type %s", strconv.Quote(name))
}
