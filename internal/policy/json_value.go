package policy

import (
	"math"
	"reflect"
	"strconv"
	"strings"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/junctor-mcp/junctor/internal/wire"
)

// jsonValue returns a JSON value for a condition. Objects and arrays stay bytes
// until the condition reads their members, so that an evaluation costs what it
// reads and not what the call carries. The schema says whether a number is an
// integer: 5 is one, unless the schema says number. The bytes must be valid JSON.
func jsonValue(raw []byte, node *schemaNode) ref.Val {
	if len(raw) == 0 {
		return types.NullValue
	}
	switch raw[0] {
	case '{':
		return &jsonObject{raw: raw, node: node}
	case '[':
		return &jsonArray{raw: raw, node: node}
	case '"':
		text, _ := wire.String(raw)
		return types.String(text)
	case 't':
		return types.True
	case 'f':
		return types.False
	case 'n':
		return types.NullValue
	}
	return jsonNumber(raw, node)
}

// jsonNumber returns a number as the type that its schema states, or that its
// form suggests.
func jsonNumber(raw []byte, node *schemaNode) ref.Val {
	text := string(raw)
	if node == nil || node.kind != "number" {
		if !strings.ContainsAny(text, ".eE") {
			if i, err := strconv.ParseInt(text, 10, 64); err == nil {
				return types.Int(i)
			}
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return types.NewErr("the number %s is out of range", text)
	}
	if node != nil && node.kind == "integer" && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return types.Int(int64(f))
	}
	return types.Double(f)
}

// jsonObject is an object as a CEL map.
type jsonObject struct {
	raw  []byte
	node *schemaNode
	full traits.Mapper // the decoded form, made when something needs all of it
}

// FindStringKey is what the evaluator calls for a member that the condition
// names.
func (o *jsonObject) FindStringKey(name string) (any, bool) {
	value := wire.Get(o.raw, name)
	if value == nil {
		return nil, false
	}
	node, _ := o.node.member(name)
	return jsonValue(value, node), true
}

// Find implements traits.Mapper.
func (o *jsonObject) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.(types.String)
	if !ok {
		return nil, false
	}
	v, found := o.FindStringKey(string(name))
	if !found {
		return nil, false
	}
	return v.(ref.Val), true //nolint:forcetypeassert // jsonValue makes ref.Val only
}

// Get implements traits.Indexer.
func (o *jsonObject) Get(key ref.Val) ref.Val {
	if v, ok := o.Find(key); ok {
		return v
	}
	return types.NewErr("no such key: %v", key.Value())
}

// Contains implements traits.Container.
func (o *jsonObject) Contains(key ref.Val) ref.Val {
	_, ok := o.Find(key)
	return types.Bool(ok)
}

// IsZeroValue implements traits.Zeroer.
func (o *jsonObject) IsZeroValue() bool { return o.Size() == types.IntZero }

// Size implements traits.Sizer.
func (o *jsonObject) Size() ref.Val {
	n := 0
	for range wire.Members(o.raw) {
		n++
	}
	return types.Int(n)
}

// whole returns the decoded object.
func (o *jsonObject) whole() traits.Mapper {
	if o.full == nil {
		all := map[ref.Val]ref.Val{}
		for raw, value := range wire.Members(o.raw) {
			name := wire.Unescape(raw)
			node, _ := o.node.member(name)
			all[types.String(name)] = jsonValue(value, node)
		}
		o.full = types.NewRefValMap(types.DefaultTypeAdapter, all)
	}
	return o.full
}

// Iterator implements traits.Iterable.
func (o *jsonObject) Iterator() traits.Iterator { return o.whole().Iterator() }

// Equal implements ref.Val.
func (o *jsonObject) Equal(other ref.Val) ref.Val {
	if b, ok := other.(*jsonObject); ok {
		other = b.whole()
	}
	return o.whole().Equal(other)
}

// ConvertToNative implements ref.Val.
func (o *jsonObject) ConvertToNative(t reflect.Type) (any, error) {
	return o.whole().ConvertToNative(t)
}

// ConvertToType implements ref.Val.
func (o *jsonObject) ConvertToType(t ref.Type) ref.Val { return o.whole().ConvertToType(t) }

// Type implements ref.Val.
func (o *jsonObject) Type() ref.Type { return types.MapType }

// Value implements ref.Val.
func (o *jsonObject) Value() any { return o.whole().Value() }

// jsonArray is an array as a CEL list.
type jsonArray struct {
	raw  []byte
	node *schemaNode
	full traits.Lister
}

// whole returns the list of its elements, which stay undecoded themselves.
func (a *jsonArray) whole() traits.Lister {
	if a.full == nil {
		var items *schemaNode
		if a.node != nil {
			items = a.node.items
		}
		all := []ref.Val{}
		for raw := range wire.Elements(a.raw) {
			all = append(all, jsonValue(raw, items))
		}
		a.full = types.NewRefValList(types.DefaultTypeAdapter, all)
	}
	return a.full
}

// Add implements traits.Adder.
func (a *jsonArray) Add(other ref.Val) ref.Val {
	if b, ok := other.(*jsonArray); ok {
		other = b.whole()
	}
	return a.whole().Add(other)
}

// Contains implements traits.Container.
func (a *jsonArray) Contains(value ref.Val) ref.Val { return a.whole().Contains(value) }

// Get implements traits.Indexer.
func (a *jsonArray) Get(index ref.Val) ref.Val { return a.whole().Get(index) }

// Iterator implements traits.Iterable.
func (a *jsonArray) Iterator() traits.Iterator { return a.whole().Iterator() }

// Size implements traits.Sizer.
func (a *jsonArray) Size() ref.Val { return a.whole().Size() }

// Equal implements ref.Val.
func (a *jsonArray) Equal(other ref.Val) ref.Val {
	if b, ok := other.(*jsonArray); ok {
		other = b.whole()
	}
	return a.whole().Equal(other)
}

// ConvertToNative implements ref.Val.
func (a *jsonArray) ConvertToNative(t reflect.Type) (any, error) { return a.whole().ConvertToNative(t) }

// ConvertToType implements ref.Val.
func (a *jsonArray) ConvertToType(t ref.Type) ref.Val { return a.whole().ConvertToType(t) }

// Type implements ref.Val.
func (a *jsonArray) Type() ref.Type { return types.ListType }

// Value implements ref.Val.
func (a *jsonArray) Value() any { return a.whole().Value() }
