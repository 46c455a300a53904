package catalog

import (
	"encoding/json"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxLibrarySteps bounds the work that the library gets. It cannot be
// interrupted and keeps every violation in memory; the limit corresponds to
// about a tenth of a second and 20 MiB. Checks that take more go to evaluation.
const maxLibrarySteps = 100_000

// stepCounter finds out whether the library would check a value within a number
// of steps, by visiting what the library visits. It has no shortcut and
// remembers nothing, so the limit also bounds the counting. Its methods return
// false once the steps are used up.
type stepCounter struct {
	schema    *compiledSchema
	stepsLeft int
}

// fitsLibrary reports whether the library may check a value.
func (c *compiledSchema) fitsLibrary(v any) bool {
	k := stepCounter{schema: c, stepsLeft: maxLibrarySteps}
	return k.countSchema(c.library, v, 0, 0)
}

// spendSteps uses n steps.
func (k *stepCounter) spendSteps(n int) bool {
	k.stepsLeft -= n
	return k.stepsLeft >= 0
}

// countSchema counts one subschema for one value. depth is the depth of the
// value, which every violation repeats in its path. same is the number of
// subschemas for this value that led here, which the library searches for
// cycles.
func (k *stepCounter) countSchema(s *jsonschema.Schema, v any, depth, same int) bool {
	if s == nil {
		return true
	}
	if same > maxReferenceDepth || !k.spendSteps(1+depth/8+same/8) {
		return false
	}
	if s.Bool != nil {
		return true
	}
	if !k.countLeaf(s, v) {
		return false
	}
	for one := range k.schema.subschemasForSameValue(s) {
		if !k.countSchema(one, v, depth, same+1) {
			return false
		}
	}
	for one := range k.schema.innerValues(s, v, nil) {
		if one.namePattern != nil && !k.spendSteps(1+one.namePattern.size*len(one.name)/128) {
			return false
		}
		if !k.countSchema(one.schema, one.value, depth+1, 0) {
			return false
		}
	}
	return true
}

// countLeaf counts the keywords that have no subschemas.
func (k *stepCounter) countLeaf(s *jsonschema.Schema, v any) bool {
	n := len(s.Required)/8 + len(s.DependentRequired) + countInnerValues(s, v)/16
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
		if k.schema.hasUnevaluated {
			n += len(v) / 2
		}
	case []any:
		if k.schema.hasUnevaluated {
			n += len(v) / 2
		}
	}
	if !k.spendSteps(n) {
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

// countSize counts that a value is walked through a number of times, as for a
// comparison.
func (k *stepCounter) countSize(v any, times int) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, one := range v {
			if !k.spendSteps(times) || !k.countSize(one, times) {
				return false
			}
		}
	case []any:
		for _, one := range v {
			if !k.spendSteps(times) || !k.countSize(one, times) {
				return false
			}
		}
	}
	return true
}
