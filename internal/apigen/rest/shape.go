package rest

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// shape is what values looked like, over all that were seen.
type shape struct {
	kinds  []string // JSON Schema types, in order of first sight
	names  []string // members of objects, in order of first sight
	fields map[string]*shape
	about  map[string]string
	seen   map[string]int // in how many objects a member was
	needed map[string]bool
	whole  int // how many objects there were
	items  *shape
	enum   []string
}

// maxShapeDepth bounds how deep values are looked into.
const maxShapeDepth = 12

// kind is a shape of one type.
func kind(name string) *shape {
	s := &shape{}
	s.add(name)
	return s
}

func (s *shape) add(kind string) {
	if !slices.Contains(s.kinds, kind) {
		s.kinds = append(s.kinds, kind)
	}
}

// shapeOf reads JSON; nil where it is none.
func shapeOf(text string) *shape {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil || dec.More() {
		return nil
	}
	s := &shape{}
	s.see(v, 0)
	return s
}

// see notes a value.
func (s *shape) see(v any, depth int) {
	if depth > maxShapeDepth {
		return
	}
	switch v := v.(type) {
	case nil:
		s.add("null")
	case bool:
		s.add("boolean")
	case json.Number:
		if _, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			s.add("integer")
		} else {
			s.add("number")
		}
	case string:
		s.add("string")
	case []any:
		s.add("array")
		if s.items == nil {
			s.items = &shape{}
		}
		for _, item := range v {
			s.items.see(item, depth+1)
		}
	case map[string]any:
		s.add("object")
		s.whole++
		for _, name := range sortedKeys(v) {
			s.field(name).see(v[name], depth+1)
			s.seen[name]++
		}
	}
}

// field is the shape of a member, made when first asked for.
func (s *shape) field(name string) *shape {
	if s.fields == nil {
		s.fields, s.seen, s.about, s.needed = map[string]*shape{}, map[string]int{}, map[string]string{}, map[string]bool{}
	}
	f := s.fields[name]
	if f == nil {
		f = &shape{}
		s.fields[name] = f
		s.names = append(s.names, name)
	}
	return f
}

// join adds what another shape saw.
func (s *shape) join(o *shape) {
	if o == nil {
		return
	}
	for _, k := range o.kinds {
		s.add(k)
	}
	s.whole += o.whole
	for _, name := range o.names {
		s.field(name).join(o.fields[name])
		s.seen[name] += o.seen[name]
		if s.about[name] == "" {
			s.about[name] = o.about[name]
		}
		s.needed[name] = s.needed[name] || o.needed[name]
	}
	if o.items != nil {
		if s.items == nil {
			s.items = &shape{}
		}
		s.items.join(o.items)
	}
}

// node is the shape as JSON Schema. Members are required where somebody says
// so: that all examples have one means little.
func (s *shape) node(at doc.Position) *doc.Node {
	n := doc.NewObject(at)
	if s == nil {
		return n
	}
	kinds := s.kinds
	if slices.Contains(kinds, "number") { // which integers are too
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
			f := s.fields[name].node(at)
			if about := s.about[name]; about != "" {
				f.Members = append(f.Members, doc.NewMember("description", doc.NewString(about, at)))
			}
			fields.Members = append(fields.Members, doc.NewMember(name, f))
			if s.needed[name] {
				required.Items = append(required.Items, doc.NewString(name, at))
			}
		}
		n.Members = append(n.Members, doc.NewMember("properties", fields))
		if len(required.Items) > 0 {
			n.Members = append(n.Members, doc.NewMember("required", required))
		}
	}
	if slices.Contains(kinds, "array") && s.items != nil {
		n.Members = append(n.Members, doc.NewMember("items", s.items.node(at)))
	}
	if len(s.enum) > 0 {
		list := &doc.Node{Kind: doc.Array, At: at}
		for _, v := range s.enum {
			list.Items = append(list.Items, doc.NewString(v, at))
		}
		n.Members = append(n.Members, doc.NewMember("enum", list))
	}
	return n
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
