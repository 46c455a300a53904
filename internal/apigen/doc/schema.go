package doc

import (
	"fmt"
	"slices"

	junctor "github.com/junctor-mcp/junctor"
)

// translateSchema translates a schema and everything inside it to JSON Schema
// 2020-12, in place and once, and reports problems. It returns n. Schemas that
// references lead to are queued for translatePending, so that recursion stays
// shallow.
func (b *bundle) translateSchema(n *Node, w *pointerPath) *Node {
	b.translateNode(n, w, nil)
	return n
}

// translatePending translates the schemas that references led to, until none is
// left.
func (b *bundle) translatePending() {
	for len(b.pendingSchemas) > 0 {
		q := b.pendingSchemas[len(b.pendingSchemas)-1]
		b.pendingSchemas = b.pendingSchemas[:len(b.pendingSchemas)-1]
		b.translateNode(q.schema, &pointerPath{segment: q.pointer}, nil)
	}
}

// translateNode translates n in place. around is the schema that a
// $recursiveRef inside n means; nil makes it n itself.
func (b *bundle) translateNode(n *Node, w *pointerPath, around *Node) {
	if n == nil || n.translated {
		return
	}
	n.translated = true
	b.meter.Spend(1 + len(n.Members)/4)
	if n.Kind != Object {
		if n.Kind != Bool {
			b.reportProblem(n.At, w, Warning, WrongType, "A schema is expected here; any value is accepted.", "Write a schema, such as {type: string}.")
			*n = Node{Kind: Object, translated: true, At: n.At}
		}
		return
	}
	if around == nil || n.Get("$recursiveAnchor").IsTrue() {
		around = n
	}
	b.translateRefs(n, w, around)
	b.translateTypes(n, w)
	b.translateLimits(n)
	b.translateSubschemas(n, w, around)
	b.translateNullable(n)
}

// translateRefs turns $recursiveRef and $dynamicRef into $ref, and queues the
// target. A reference that leads nowhere is removed, and n is marked as
// unresolved.
func (b *bundle) translateRefs(n *Node, w *pointerPath, around *Node) {
	if n.Get("$recursiveRef") != nil && n.Get("$ref") == nil {
		b.recursiveTargets[n] = around
		n.setMember("$ref", NewString("#", n.At))
		return
	}
	if d := n.Get("$dynamicRef"); d != nil && n.Get("$ref") == nil {
		n.setMember("$ref", d)
	}
	ref := n.Get("$ref")
	if ref == nil {
		return
	}
	if ref.Kind != String {
		n.removeMember("$ref") // a property of that name, in the place of an object
		return
	}
	to, err := b.Resolve(ref.ScalarText(), n)
	if err != nil {
		b.reportUnresolved(ref, w.childPath("$ref"), err)
		n.removeMember("$ref")
		n.unresolved = true
		return
	}
	if !to.translated {
		b.pendingSchemas = append(b.pendingSchemas, pendingSchema{to, refFragment(ref.ScalarText())})
	}
}

// refFragment returns the part of a reference behind "#".
func refFragment(ref string) string {
	for i := range len(ref) {
		if ref[i] == '#' {
			return ref[i+1:]
		}
	}
	return ""
}

// translateTypes replaces type: file and removes unknown types, for which any
// value is then accepted.
func (b *bundle) translateTypes(n *Node, w *pointerPath) {
	t := n.Get("type")
	if t == nil {
		return
	}
	list := []*Node{t}
	if t.Kind == Array {
		list = t.Items
	}
	var kept []*Node
	for _, one := range list {
		switch one.ScalarText() {
		case "string", "number", "integer", "boolean", "array", "object":
			kept = append(kept, one)
		case "null", "":
			kept = append(kept, NewString("null", one.At))
		case "file":
			kept = append(kept, NewString("string", one.At))
			n.setMember("format", NewString("binary", one.At))
		case "any":
		default:
			if one.Kind == Null {
				kept = append(kept, NewString("null", one.At))
				continue
			}
			b.reportProblem(one.At, w.childPath("type"), Warning, UnknownValue, fmt.Sprintf("%q is not a type; any value is accepted.", junctor.ShortenText(one.ScalarText(), 40)), "Write string, number, integer, boolean, array or object.")
		}
	}
	switch len(kept) {
	case 0:
		n.removeMember("type")
	case 1:
		n.setMember("type", kept[0])
	default:
		n.setMember("type", &Node{Kind: Array, Items: kept, At: t.At})
	}
}

// translateLimits turns the boolean exclusiveMinimum and exclusiveMaximum of
// OpenAPI 3.0 into numbers.
func (b *bundle) translateLimits(n *Node) {
	for limit, exclusive := range map[string]string{"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"} {
		x := n.Get(exclusive)
		if x == nil || x.Kind != Bool {
			continue
		}
		n.removeMember(exclusive)
		if value := n.Get(limit); x.IsTrue() && value != nil && value.Kind == Number {
			n.removeMember(limit)
			n.setMember(exclusive, value)
		}
	}
}

// translateSubschemas translates the schemas directly inside n. It also moves a
// boolean required of a property, a common mistake, to the list of the object,
// and turns a list of items into prefixItems.
func (b *bundle) translateSubschemas(n *Node, w *pointerPath, around *Node) {
	if items := n.Get("items"); items != nil && items.Kind == Array {
		n.removeMember("items")
		if rest := n.Get("additionalItems"); rest != nil {
			n.setMember("items", rest)
			n.removeMember("additionalItems")
		}
		n.setMember("prefixItems", items)
	}
	var required []*Node
	for _, m := range n.Members {
		at := &pointerPath{w, m.Key}
		switch m.Key {
		case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
			if m.Value.Kind != Object {
				b.reportProblem(m.Value.At, at, Warning, WrongType, fmt.Sprintf("%s must be an object; it is ignored.", m.Key), "Write a schema for each name.")
				continue
			}
			for _, p := range m.Value.Members {
				if r := p.Value.Get("required"); r != nil && r.Kind == Bool {
					p.Value.removeMember("required")
					if m.Key == "properties" && r.IsTrue() {
						required = append(required, NewString(p.Key, r.At))
					}
				}
				b.translateNode(p.Value, at.childPath(p.Key), around)
			}
		case "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedItems", "unevaluatedProperties":
			b.translateNode(m.Value, at, around)
		case "allOf", "anyOf", "oneOf", "prefixItems":
			if m.Value.Kind != Array {
				b.reportProblem(m.Value.At, at, Warning, WrongType, fmt.Sprintf("%s must be a list; it is ignored.", m.Key), "Write a list of schemas.")
				continue
			}
			for i, c := range m.Value.Items {
				b.translateNode(c, at.childPath(fmt.Sprint(i)), around)
			}
		case "discriminator":
			b.checkDiscriminator(m.Value, n, at)
		}
	}
	b.dropWrongKinds(n)
	if len(required) > 0 {
		if r := n.Get("required"); r != nil && r.Kind == Array {
			required = slices.Concat(r.Items, required)
		}
		n.setMember("required", &Node{Kind: Array, Items: required, At: required[0].At})
	}
}

// dropWrongKinds removes keywords of the wrong kind, which are already
// reported. Code behind it relies on their kinds.
func (b *bundle) dropWrongKinds(n *Node) {
	for _, key := range []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"} {
		if v := n.Get(key); v != nil && v.Kind != Object {
			n.removeMember(key)
		}
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf", "prefixItems", "enum", "required"} {
		if v := n.Get(key); v != nil && v.Kind != Array {
			n.removeMember(key)
		}
	}
}

// checkDiscriminator reports mappings that lead nowhere. Mappings are not used
// otherwise.
func (b *bundle) checkDiscriminator(d, schema *Node, w *pointerPath) {
	mapping := d.Get("mapping")
	if mapping == nil {
		return
	}
	for _, m := range mapping.Members {
		if m.Value.Kind != String || b.findByName(m.Value.ScalarText()) != nil {
			continue
		}
		if _, err := b.Resolve(m.Value.ScalarText(), schema); err != nil {
			b.reportProblem(m.Value.At, w.childPath("mapping").childPath(m.Key), Warning, UnresolvedRef, fmt.Sprintf("The mapping names %q, which does not exist; it is ignored.", junctor.ShortenText(m.Value.ScalarText(), 200)), "Correct the name, or remove the mapping.")
		}
	}
}

// translateNullable replaces nullable of OpenAPI 3.0 by a type or anyOf with
// null.
func (b *bundle) translateNullable(n *Node) {
	null := n.Get("nullable")
	if null == nil {
		null = n.Get("x-nullable")
	}
	if null == nil || null.Kind != Bool {
		return
	}
	n.removeMember("nullable")
	n.removeMember("x-nullable")
	if !null.IsTrue() {
		return
	}
	none := NewString("null", null.At)
	t := n.Get("type")
	switch {
	case t != nil && t.Kind == Array:
		if !slices.ContainsFunc(t.Items, func(c *Node) bool { return c.Text == "null" }) {
			n.setMember("type", &Node{Kind: Array, Items: append(slices.Clone(t.Items), none), At: t.At})
		}
	case t != nil && t.Text != "null":
		n.setMember("type", &Node{Kind: Array, Items: []*Node{t, none}, At: t.At})
	case n.Get("$ref") != nil || n.Get("allOf") != nil || n.Get("anyOf") != nil || n.Get("oneOf") != nil:
		b.wrapInNullChoice(n, null.At)
		return
	}
	if enum := n.Get("enum"); enum != nil && t != nil && !slices.ContainsFunc(enum.Items, func(c *Node) bool { return c.Kind == Null }) {
		n.setMember("enum", &Node{Kind: Array, Items: append(slices.Clone(enum.Items), &Node{Kind: Null, Text: "null", At: null.At}), At: enum.At})
	}
}

// wrapInNullChoice turns n into an anyOf of itself and null. Keywords that
// describe the value and not its type, such as description and default, stay
// outside.
func (b *bundle) wrapInNullChoice(n *Node, at Position) {
	inner := &Node{Kind: Object, translated: true, At: n.At}
	var outer []Member
	for _, m := range n.Members {
		switch m.Key {
		case "description", "title", "default", "deprecated", "readOnly", "writeOnly", "example", "examples":
			outer = append(outer, m)
		default:
			inner.Members = append(inner.Members, m)
		}
	}
	if around := b.recursiveTargets[n]; around != nil {
		b.recursiveTargets[inner] = around
		delete(b.recursiveTargets, n)
	}
	null := &Node{Kind: Object, translated: true, At: at, Members: []Member{{Key: "type", At: at, Value: NewString("null", at)}}}
	choice := &Node{Kind: Array, Items: []*Node{inner, null}, At: at}
	n.Members = slices.Concat(outer, []Member{{Key: "anyOf", At: at, Value: choice}})
}
