package catalog

import (
	"encoding/json"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxLibrarySteps bounds what the library is given. It cannot be interrupted and
// keeps every violation in memory, so this is about a tenth of a second and some
// 20 MiB. Whatever takes more goes to evaluation.
const maxLibrarySteps = 100_000

// stepCounter finds out whether the library would check a value within a number
// of steps, by going the ways that the library goes. It knows no shortcut and
// keeps nothing: the budget is also the bound of the counting.
type stepCounter struct {
	c    *compiled
	left int
}

// fitsLibrary says whether the library may be asked.
func (c *compiled) fitsLibrary(v any) bool {
	k := stepCounter{c: c, left: maxLibrarySteps}
	return k.count(c.full, v, 0, 0)
}

func (k *stepCounter) spend(n int) bool {
	k.left -= n
	return k.left >= 0
}

// count goes through one subschema for one value. depth is how deep the value
// stands, which every violation repeats, and same how many subschemas for this
// value led here, which the library searches for cycles.
func (k *stepCounter) count(s *jsonschema.Schema, v any, depth, same int) bool {
	if s == nil {
		return true
	}
	if same > maxReferenceDepth || !k.spend(1+depth/8+same/8) {
		return false
	}
	if s.Bool != nil {
		return true
	}
	if !k.countLeaf(s, v) {
		return false
	}
	for one := range k.c.forSameValue(s) {
		if !k.count(one, v, depth, same+1) {
			return false
		}
	}
	for one := range k.c.forInnerValues(s, v, nil) {
		if one.regexp != nil && !k.spend(1+one.regexp.size*len(one.name)/128) {
			return false
		}
		if !k.count(one.schema, one.value, depth+1, 0) {
			return false
		}
	}
	return true
}

// countLeaf counts the keywords that have no subschemas.
func (k *stepCounter) countLeaf(s *jsonschema.Schema, v any) bool {
	n := len(s.Required)/8 + len(s.DependentRequired) + innerCount(s, v)/16
	if s.Enum != nil {
		n += len(s.Enum.Values)
	}
	switch v := v.(type) {
	case string:
		n += len(v) / 512
		if p, ok := s.Pattern.(*pattern); ok {
			n += p.size * len(v) / 128
		}
	case json.Number:
		n += len(v) / 64
	case map[string]any:
		if k.c.unevaluated {
			n += len(v) / 2
		}
	case []any:
		if k.c.unevaluated {
			n += len(v) / 2
		}
	}
	if !k.spend(n) {
		return false
	}
	compares := 0
	if s.Enum != nil {
		compares += len(s.Enum.Values)
	}
	if s.Const != nil {
		compares++
	}
	if list, ok := v.([]any); ok && s.UniqueItems {
		compares += min(len(list), 20)
	}
	return compares == 0 || k.countSize(v, compares)
}

// countSize counts that a value is gone through some times.
func (k *stepCounter) countSize(v any, times int) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, one := range v {
			if !k.spend(times) || !k.countSize(one, times) {
				return false
			}
		}
	case []any:
		for _, one := range v {
			if !k.spend(times) || !k.countSize(one, times) {
				return false
			}
		}
	}
	return true
}
