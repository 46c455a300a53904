//go:build !race

package catalog

import (
	"runtime"
	"strings"
	"testing"
)

// compileFamilies are ways to make compiling expensive, each for a size n.
func compileFamilies() map[string]func(n int) string {
	object := func(inner string) string { return `{"properties":{"a":{"x":1}` + inner + `}}` }
	nested := func(open, inner, closing string) string {
		return strings.Repeat(open, 58) + inner + strings.Repeat(closing, 58)
	}
	return map[string]func(n int) string{
		"objects": func(n int) string { return object(numbered(n, `,"p%06d":{"type":"string"}`)) },
		"keywords": func(n int) string {
			return object(numbered(n, `,"p%06d":{"type":"string","minLength":1,"maxLength":2,"title":"x","enum":["a","b"]}`))
		},
		"booleans": func(n int) string { return object(numbered(n, `,"p%06d":true`)) },
		"long names": func(n int) string {
			return `{"properties":{"` + strings.Repeat("n", 1500) + `":` + object(numbered(n, `,"p%06d":{"type":"string"}`)) + `}}`
		},
		"deep": func(n int) string {
			return nested(`{"properties":{"a":`, object(numbered(n, `,"p%06d":{"type":"string"}`)), `}}`)
		},
		"patterns":       func(n int) string { return object(numbered(n, `,"p%06d":{"pattern":"^[a-z]+$"}`)) },
		"large patterns": func(n int) string { return object(numbered(n, `,"p%06d":{"pattern":"^([a-z]|b){900}$"}`)) },
		"classes":        func(n int) string { return object(numbered(n, `,"p%06d":{"pattern":"(?i)^\\pL\\PL$"}`)) },
		"pattern properties": func(n int) string {
			return `{"patternProperties":{"a":{"x":1}` + numbered(n, `,"^p%06d$":{"type":"string"}`) + `}}`
		},
		"enum": func(n int) string { return `{"enum":["a"` + numbered(n, `,"p%06d"`) + `]}` },
		"old enum": func(n int) string {
			return `{"$schema":"http://json-schema.org/draft-07/schema#","enum":["a"` + numbered(n, `,"p%06d"`) + `]}`
		},
		"enum of objects": func(n int) string { return `{"enum":["a"` + numbered(n, `,{"a":{"b":%d}}`) + `]}` },
		"required":        func(n int) string { return `{"required":["a"` + numbered(n, `,"p%06d"`) + `]}` },
		"dependent":       func(n int) string { return `{"dependentRequired":{"a":["a"]` + numbered(n, `,"p%06d":["x"]`) + `}}` },
		"references": func(n int) string {
			return `{"$defs":{"z":{"type":"string"}},"properties":{"a":{"x":1}` + numbered(n, `,"p%06d":{"$ref":"#/$defs/z"}`) + `}}`
		},
		"long id": func(n int) string {
			return `{"$id":"https://example.com/` + strings.Repeat("i", 100_000) + `","$defs":{"z":{"type":"string"}},"properties":{"a":{"x":1}` + numbered(n, `,"p%06d":{"$ref":"#/$defs/z"}`) + `}}`
		},
		"foreign": func(n int) string {
			return `{"properties":{"a":{"x":1}` + numbered(n, `,"p%06d":{"type":"string"}`) + numbered(60, `,"q%05d":{"$ref":"#/x/a%[1]d"}`) + `},"x":{"a":1` + numbered(60, `,"a%d":{"type":"string"}`) + `}}`
		},
		"anchors": func(n int) string {
			return `{"$defs":{"z":{"type":"string"}` + numbered(n, `,"a%06d":{"$anchor":"b%[1]d"}`) + `},"properties":{"a":{"x":1}` + numbered(n, `,"p%06d":{"$ref":"#b%[1]d"}`) + `}}`
		},
		"dynamic anchors": func(n int) string {
			return `{"$defs":{"z":{"type":"string"}` + numbered(n, `,"a%06d":{"$dynamicAnchor":"b%[1]d"}`) + `},"properties":{"a":{"x":1}` + numbered(n, `,"p%06d":{"$dynamicRef":"#b%[1]d"}`) + `}}`
		},
		"numbers": func(n int) string {
			return object(numbered(n, `,"p%06d":{"maximum":1e300,"minimum":1e-300,"multipleOf":1e99}`))
		},
		"combinators": func(n int) string { return `{"allOf":[{"x":1}` + numbered(n, `,{"minimum":%d}`) + `]}` },
		"descriptions": func(n int) string {
			return object(numbered(n, `,"p%06d":{"type":"string","description":"`+strings.Repeat("d", 300)+`"}`))
		},
	}
}

// Compiling cannot be interrupted: the most expensive schema of each kind that is
// listed has to compile within the budget. Not parallel, since it counts all
// allocations.
func TestCompileAllocations(t *testing.T) { //nolint:paralleltest // see above
	const most = 40_000
	for name, family := range compileFamilies() {
		accepted := findLargest(most, func(n int) bool { return CheckSchemaCost([]byte(family(n))) == nil })
		if accepted < 10 {
			t.Errorf("%s: only %d are accepted: %v", name, accepted, CheckSchemaCost([]byte(family(10))))
			continue
		}
		schema := []byte(family(accepted))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		c, err := compileSchema(schema)
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		taken := after.TotalAlloc - before.TotalAlloc
		if taken > maxCompileAllocations {
			t.Errorf("%s: %d are accepted, in %d KiB of text; compiling them allocates %d MiB", name, accepted, len(schema)>>10, taken>>20)
		}
		var kept runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&kept)
		t.Logf("figure: %s: %d in %d KiB take %d MiB", name, accepted, len(schema)>>10, taken>>20)
		runtime.KeepAlive(c)
	}
}

// findLargest gives a size that is accepted, at most a fiftieth below the largest one
// up to most. It begins with small sizes, since the text of a large one takes longest.
func findLargest(most int, accepts func(n int) bool) int {
	low, high := 0, 16
	for high < most && accepts(high) {
		low, high = high, 2*high
	}
	high = min(high, most)
	for high-low > 1+low/50 {
		if middle := (low + high) / 2; accepts(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// maxCompileAllocations is the budget, and the text and its values beside it.
const maxCompileAllocations = 40 << 20
