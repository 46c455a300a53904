package rest

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// valueShape is the type of all values that were seen in one place.
type valueShape struct {
	// types are JSON Schema types in the order of their first occurrence.
	types []string
	// names are the members of objects in the order of their first occurrence.
	names []string
	// fields are the shapes of members; nil until memberShape is called.
	fields map[string]*valueShape
	// descriptions and required are by member. memberShape creates both maps
	// together with fields.
	descriptions map[string]string
	required     map[string]bool
	// items is the shape of all elements of arrays.
	items *valueShape
}

// maxShapeDepth bounds how deep values are inspected.
const maxShapeDepth = 12

// shapeOfType returns a shape of one JSON Schema type.
func shapeOfType(name string) *valueShape {
	s := &valueShape{}
	s.addType(name)
	return s
}

// addType adds a type, once.
func (s *valueShape) addType(kind string) {
	if !slices.Contains(s.types, kind) {
		s.types = append(s.types, kind)
	}
}

// shapeOfJSON returns the shape of a JSON text, or nil if it is no JSON.
func shapeOfJSON(text string) *valueShape {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil || dec.More() {
		return nil
	}
	s := &valueShape{}
	s.addValue(v, 0)
	return s
}

// addValue adds the type of a value, and of everything inside it.
func (s *valueShape) addValue(v any, depth int) {
	if depth > maxShapeDepth {
		return
	}
	switch v := v.(type) {
	case nil:
		s.addType("null")
	case bool:
		s.addType("boolean")
	case json.Number:
		if _, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			s.addType("integer")
		} else {
			s.addType("number")
		}
	case string:
		s.addType("string")
	case []any:
		s.addType("array")
		if s.items == nil {
			s.items = &valueShape{}
		}
		for _, item := range v {
			s.items.addValue(item, depth+1)
		}
	case map[string]any:
		s.addType("object")
		for _, name := range slices.Sorted(maps.Keys(v)) {
			s.memberShape(name).addValue(v[name], depth+1)
		}
	}
}

// memberShape returns the shape of a member, which it adds if it is new.
func (s *valueShape) memberShape(name string) *valueShape {
	if s.fields == nil {
		s.fields, s.descriptions, s.required = map[string]*valueShape{}, map[string]string{}, map[string]bool{}
	}
	f := s.fields[name]
	if f == nil {
		f = &valueShape{}
		s.fields[name] = f
		s.names = append(s.names, name)
	}
	return f
}

// mergeShape adds everything that another shape has seen. o may be nil.
func (s *valueShape) mergeShape(o *valueShape) {
	if o == nil {
		return
	}
	for _, k := range o.types {
		s.addType(k)
	}
	for _, name := range o.names {
		s.memberShape(name).mergeShape(o.fields[name])
		if s.descriptions[name] == "" {
			s.descriptions[name] = o.descriptions[name]
		}
		s.required[name] = s.required[name] || o.required[name]
	}
	if o.items != nil {
		if s.items == nil {
			s.items = &valueShape{}
		}
		s.items.mergeShape(o.items)
	}
}

// toSchema returns the shape as JSON Schema. Members are required only if the
// document says so: examples that all have a member prove little.
func (s *valueShape) toSchema(at doc.Position) *doc.Node {
	n := doc.NewObject(at)
	if s == nil {
		return n
	}
	kinds := s.types
	// number includes integer.
	if slices.Contains(kinds, "number") {
		kinds = slices.DeleteFunc(slices.Clone(kinds), func(k string) bool { return k == "integer" })
	}
	switch {
	case len(kinds) == 1 && kinds[0] != "null":
		n.Members = append(n.Members, doc.NewMember("type", doc.NewString(kinds[0], at)))
	case len(kinds) > 1:
		list := &doc.Node{Kind: doc.Array, At: at}
		for _, k := range kinds {
			list.Items = append(list.Items, doc.NewString(k, at))
		}
		n.Members = append(n.Members, doc.NewMember("type", list))
	}
	if slices.Contains(kinds, "object") && len(s.names) > 0 {
		fields, required := doc.NewObject(at), &doc.Node{Kind: doc.Array, At: at}
		for _, name := range s.names {
			f := s.fields[name].toSchema(at)
			if about := s.descriptions[name]; about != "" {
				f.Members = append(f.Members, doc.NewMember("description", doc.NewString(about, at)))
			}
			fields.Members = append(fields.Members, doc.NewMember(name, f))
			if s.required[name] {
				required.Items = append(required.Items, doc.NewString(name, at))
			}
		}
		n.Members = append(n.Members, doc.NewMember("properties", fields))
		if len(required.Items) > 0 {
			n.Members = append(n.Members, doc.NewMember("required", required))
		}
	}
	if slices.Contains(kinds, "array") && s.items != nil {
		n.Members = append(n.Members, doc.NewMember("items", s.items.toSchema(at)))
	}
	return n
}
