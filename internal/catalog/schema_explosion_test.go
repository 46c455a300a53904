package catalog

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// doubling is a schema whose definitions each name the next one twice.
func doubling(keyword string, levels int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"type":"object","properties":{"x":{"$ref":"#/$defs/a0"}},"$defs":{`)
	for i := range levels {
		next := fmt.Sprintf(`{"$ref":"#/$defs/a%d"}`, i+1)
		fmt.Fprintf(&b, `"a%d":`, i)
		switch keyword {
		case "allOf", "anyOf", "oneOf":
			fmt.Fprintf(&b, `{%q:[%s,%s]}`, keyword, next, next)
		case "if":
			fmt.Fprintf(&b, `{"if":%s,"then":%s,"else":%s}`, next, next, next)
		case "not":
			fmt.Fprintf(&b, `{"not":%s,"allOf":[%s]}`, next, next)
		case "dependentSchemas":
			fmt.Fprintf(&b, `{"dependentSchemas":{"p":%s,"q":%s}}`, next, next)
		case "properties": // it doubles with every level of the value
			fmt.Fprintf(&b, `{"allOf":[{"properties":{"x":%s}},{"properties":{"x":%s}}]}`, next, next)
		}
		b.WriteByte(',')
	}
	fmt.Fprintf(&b, `"a%d":{"type":"string"}}}`, levels)
	return b.String()
}

func TestDoublingSchemasAreRefused(t *testing.T) {
	t.Parallel()
	for name, schema := range map[string]string{
		"allOf":            doubling("allOf", 40),
		"anyOf":            doubling("anyOf", 40),
		"oneOf":            doubling("oneOf", 40),
		"if":               doubling("if", 40),
		"not":              doubling("not", 40),
		"dependentSchemas": doubling("dependentSchemas", 40),
		"cycle":            `{"$defs":{"a":{"allOf":[{"$ref":"#/$defs/b"}]},"b":{"anyOf":[{"$ref":"#/$defs/a"},true]}},"$ref":"#/$defs/a"}`,
		"self":             `{"$ref":"#"}`,
		"anchors":          `{"$ref":"#a","$defs":{"a":{"$anchor":"a","allOf":[{"$ref":"#b"}]},"b":{"$anchor":"b","allOf":[{"$ref":"#a"}]}}}`,
		"ids":              `{"$id":"https://example.com/a","$ref":"b","$defs":{"b":{"$id":"b","allOf":[{"$ref":"a"}]}}}`,
		"escaped":          strings.ReplaceAll(doubling("allOf", 40), "$ref", `\u0024ref`),
		"dynamic":          `{"$dynamicAnchor":"n","allOf":[{"$dynamicRef":"#n"},{"$dynamicRef":"#n"}]}`,
		"foreign":          `{"$ref":"#/x-a","x-a":{"allOf":[{"$ref":"#/x-b"}]},"x-b":{"anyOf":[{"$ref":"#/x-a"}]}}`,
		"pattern":          `{"pattern":"` + strings.Repeat(`[ab]{1000}`, 100) + `"}`,
		"patternProperty":  `{"patternProperties":{"` + strings.Repeat(`(a|b){900}`, 100) + `":true}}`,
		"long chain":       chain(5000),
		"wide":             `{"properties":{"a":{"x":1}` + numbered(20_000, `,"p%d":{"type":"string"}`) + `}}`,
		"long names":       `{"properties":{"` + strings.Repeat("n", 1<<20) + `":{"properties":{"z":{}` + numbered(100, `,"p%d":{}`) + `}}}}`,
	} {
		begun := time.Now()
		if err := CheckSchemaCost([]byte(schema)); junctor.CodeOf(err) != junctor.CodeTooLarge {
			t.Errorf("%s: %v", name, err)
		} else {
			t.Log(name, err)
		}
		err := CheckArguments(t.Context(), []byte(schema), []byte(`{"x":{"p":1,"q":2}}`))
		if junctor.CodeOf(err) != junctor.CodeUpstream {
			t.Errorf("%s: a value is checked: %v", name, err)
		}
		if took := time.Since(begun); took > 2*time.Minute {
			t.Errorf("%s took %v", name, took)
		}
	}
}

func chain(length int) string {
	return `{"$ref":"#/$defs/a0","$defs":{"z":{}` + func() string {
		var b strings.Builder
		for i := range length {
			fmt.Fprintf(&b, `,"a%d":{"$ref":"#/$defs/a%d"}`, i, i+1)
		}
		return b.String()
	}() + fmt.Sprintf(`,"a%d":{"type":"string"}}}`, length)
}

func numbered(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// Schemas that are large or recursive and cost little pass.
func TestUsualSchemasPass(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ schema, good, bad string }{
		"tree":         {`{"$ref":"#/$defs/n","$defs":{"n":{"type":"object","properties":{"v":{"type":"integer"},"kids":{"type":"array","items":{"$ref":"#/$defs/n"}}},"required":["v"]}}}`, `{"v":1,"kids":[{"v":2},{"v":3,"kids":[]}]}`, `{"v":1,"kids":[{"v":2},{"v":"3"}]}`},
		"shared":       {doubling("allOf", 5), `{"x":"a"}`, `{"x":1}`},
		"metaschema":   {`{"properties":{"s":{"$ref":"https://json-schema.org/draft/2020-12/schema"}}}`, `{"s":{"properties":{"a":{"type":"string"}}}}`, `{"s":{"properties":{"a":{"type":"text"}}}}`},
		"old dialect":  {`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"s":{"$ref":"http://json-schema.org/draft-07/schema#"}}}`, `{"s":{"items":{"minLength":1}}}`, `{"s":{"items":{"minLength":-1}}}`},
		"recursive":    {`{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,"type":"object","additionalProperties":{"$recursiveRef":"#"}}`, `{"a":{"b":{}}}`, `{"a":{"b":1}}`},
		"dynamic":      {`{"$dynamicAnchor":"n","type":"object","additionalProperties":{"$dynamicRef":"#n"}}`, `{"a":{"b":{}}}`, `{"a":{"b":1}}`},
		"many of one":  {`{"properties":{"k":{"anyOf":[{"const":0}` + numbered(300, `,{"type":"object","properties":{"t":{"const":"t%d"}},"required":["t"]}`) + `]}}}`, `{"k":{"t":"t299"}}`, `{"k":{"t":"t300"}}`},
		"large enum":   {`{"properties":{"k":{"enum":["z"` + numbered(20_000, `,"v%d"`) + `]}}}`, `{"k":"v19999"}`, `{"k":"v20000"}`},
		"unevaluated":  {`{"allOf":[{"properties":{"a":true}}],"unevaluatedProperties":false}`, `{"a":1}`, `{"b":1}`},
		"a long match": {`{"properties":{"k":{"pattern":"^(a|b|ab)*$"}}}`, `{"k":"` + strings.Repeat("ab", 1<<17) + `"}`, `{"k":"` + strings.Repeat("ab", 1<<17) + `c"}`},
	} {
		if err := CheckSchemaCost([]byte(c.schema)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := CheckArguments(t.Context(), []byte(c.schema), []byte(c.good)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := CheckArguments(t.Context(), []byte(c.schema), []byte(c.bad)); junctor.CodeOf(err) != junctor.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		} else if len(err.Error()) > 4<<10 {
			t.Errorf("%s: the error is %d bytes long", name, len(err.Error()))
		}
	}
}

// A value may multiply what a schema of modest size costs.
func TestLargeValuesHaveABudget(t *testing.T) {
	t.Parallel()
	expression := `{"$ref":"#/$defs/e","$defs":{"e":{"anyOf":[{"type":"number"}` + numbered(20, `,{"type":"object","properties":{"op":{"const":"o%d"},"l":{"$ref":"#/$defs/e"},"r":{"$ref":"#/$defs/e"}},"required":["op","l"]}`) + `]}}}`
	nested := strings.Repeat(`{"op":"o19","l":`, 60) + "1" + strings.Repeat("}", 60)
	wrong := strings.Repeat(`{"op":"o19","l":`, 60) + `"1"` + strings.Repeat("}", 60)
	rows := `{"type":"array","items":{"$ref":"#/$defs/r"},"$defs":{"r":{"type":"object","properties":{"a":{"anyOf":[{"type":"integer"},{"type":"null"}]}}}}}`
	for name, c := range map[string]struct {
		schema, value string
		code          junctor.Code
	}{
		"nested":     {expression, nested, ""},
		"wrong":      {expression, wrong, junctor.CodeInvalid},
		"properties": {doubling("properties", 40), strings.Repeat(`{"x":`, 42) + `"s"` + strings.Repeat("}", 42), junctor.CodeInvalid},
		"rows":       {rows, `[{"a":0}` + numbered(8_000, `,{"a":%d}`) + `]`, ""},
		"wrong row":  {rows, `[{"a":0}` + numbered(8_000, `,{"a":%d}`) + `,{"a":"x"}]`, junctor.CodeInvalid},
		"names":      {`{"patternProperties":{"^(a|b)*[0-9]{1,200}$":{"$ref":"#/$defs/z"}},"$defs":{"z":{"type":"integer"}}}`, `{"a":1` + numbered(8_000, `,"b%d":1`) + `}`, ""},
		"unseen":     {`{"items":{"unevaluatedProperties":false,"allOf":[{"properties":{"a":true}}]}}`, `[{"a":0}` + numbered(60_000, `,{"a":%d}`) + `]`, junctor.CodeTooLarge},
	} {
		begun := time.Now()
		err := CheckArguments(t.Context(), []byte(c.schema), []byte(c.value))
		if got := junctor.CodeOf(err); got != c.code {
			t.Errorf("%s: %v", name, err)
		}
		t.Log(name, time.Since(begun), clipText(fmt.Sprint(err)))
	}
}

// A caller who leaves is not worked for.
func TestCheckEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	rows := `{"type":"array","items":{"$ref":"#/$defs/r"},"$defs":{"r":{"type":"object","properties":{"a":{"anyOf":[{"type":"integer"},{"type":"null"}]}}}}}`
	for schema, value := range map[string]string{
		rows: `[{"a":0}` + numbered(60_000, `,{"a":%d}`) + `]`,
		`{"pattern":"` + strings.Repeat(`(a|b|c)?`, 500) + `z$"}`: `"` + strings.Repeat("abc", 1<<20) + `"`,
	} {
		c, err := compileSchema([]byte(schema))
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		if err := c.checkFully(ctx, []byte(value)); junctor.CodeOf(err) != junctor.CodeCanceled {
			t.Errorf("%v", err)
		}
		t.Log(time.Since(begun))
	}
}

// evaluationAgrees holds the evaluation against the library, within ceilings of
// steps and memory.
func evaluationAgrees(t *testing.T, schema, value string) {
	t.Helper()
	if len(schema)+len(value) > 1<<16 {
		return
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begun := time.Now()
	c, err := compileSchema([]byte(schema))
	if err != nil {
		return
	}
	v, err := wire.DecodeValue([]byte(value))
	if err != nil {
		return
	}
	if _, large := findOversizedNumber([]byte(value)); large {
		return
	}
	small := c.fitsLibrary(v)
	found, err := c.evaluateValue(t.Context(), v)
	if small && err == nil {
		if valid := c.library.Validate(v) == nil; valid != (len(found) == 0) {
			t.Fatalf("the library says %v, the evaluation %v\nschema %s\nvalue %s", valid, found, schema, value)
		}
	}
	_ = c.checkFully(t.Context(), []byte(value))
	runtime.ReadMemStats(&after)
	if took, taken := time.Since(begun), after.TotalAlloc-before.TotalAlloc; took > 2*time.Minute || taken > 1<<30 {
		t.Fatalf("it took %v and %d MiB\nschema %s\nvalue %s", took, taken>>20, schema, value)
	}
}

func evaluationSeeds() [][2]string {
	var seeds [][2]string
	for _, c := range schemaCases() {
		seeds = append(seeds, [2]string{c.schema, c.value})
	}
	for _, schema := range []string{
		`{"anyOf":[{"type":"integer"},{"type":"object","properties":{"a":{"minimum":2}},"required":["a"]}]}`,
		`{"oneOf":[{"type":"integer"},{"multipleOf":2},{"required":["a"]}]}`,
		`{"not":{"anyOf":[{"type":"null"},{"properties":{"a":{"const":1}},"required":["a"]}]}}`,
		`{"if":{"properties":{"a":{"const":1}}},"then":{"required":["b"]},"else":{"required":["c"]}}`,
		`{"patternProperties":{"^a":{"type":"integer"},"b$":{"type":"string"}},"additionalProperties":false}`,
		`{"patternProperties":{"^a":{"type":"integer"}},"additionalProperties":{"type":"string"}}`,
		`{"propertyNames":{"maxLength":1}}`, `{"dependentSchemas":{"a":{"required":["b"]}}}`, `{"dependentRequired":{"a":["b"]}}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"a":["b"],"b":{"required":["c"]}}}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"integer"},true],"additionalItems":false}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"a":{"type":"integer"}},"properties":{"a":{"$ref":"#/definitions/a","type":"string"}}}`,
		`{"$schema":"http://json-schema.org/draft-04/schema#","id":"http://x/y","definitions":{"a":{"type":"integer"}},"properties":{"a":{"$ref":"#/definitions/a"}}}`,
		`{"prefixItems":[{"type":"integer"}],"items":{"type":"string"}}`, `{"contains":{"type":"integer"},"minContains":2,"maxContains":3}`,
		`{"contains":{"type":"integer"},"minContains":0}`, `{"uniqueItems":true,"items":{"enum":[1,1.0,"a",[1],{"a":1}]}}`,
		`{"$defs":{"n":{"type":["object","integer"],"additionalProperties":{"$ref":"#/$defs/n"}}},"$ref":"#/$defs/n"}`,
		`{"$dynamicAnchor":"n","type":["object","integer"],"additionalProperties":{"$dynamicRef":"#n"}}`,
		`{"$ref":"https://json-schema.org/draft/2020-12/schema"}`, `{"$schema":"https://json-schema.org/draft/2019-09/schema","$ref":"https://json-schema.org/draft/2019-09/schema"}`,
		doubling("properties", 3), doubling("anyOf", 6), doubling("oneOf", 4), doubling("if", 6), doubling("dependentSchemas", 6),
	} {
		for _, value := range []string{
			`1`, `2`, `null`, `"a"`, `[]`, `[1]`, `[1,"a"]`, `[1,2,3,4]`, `[1,1.0]`, `[{"a":1},{"a":1.0}]`, `{}`, `{"a":1}`, `{"a":1,"b":2}`, `{"a":1,"b":"2","c":3}`, `{"a":3}`, `{"ab":1}`, `{"b":"x"}`,
			`{"a":{"b":{"c":1}}}`, `{"a":{"b":{"c":"x"}}}`, `{"x":{"x":{"x":{"x":"s"}}}}`, `{"x":"s"}`, `{"x":{"p":1,"q":2}}`, `{"type":"string"}`, `{"properties":{"a":{"type":"none"}}}`,
		} {
			seeds = append(seeds, [2]string{schema, value})
		}
	}
	return seeds
}

func TestEvaluationAgreesWithTheLibrary(t *testing.T) {
	t.Parallel()
	for _, seed := range evaluationSeeds() {
		evaluationAgrees(t, seed[0], seed[1])
	}
}

func FuzzSchemaBudget(f *testing.F) {
	for i, seed := range evaluationSeeds() {
		if i%5 == 0 {
			f.Add(seed[0], seed[1])
		}
	}
	for _, keyword := range []string{"allOf", "anyOf", "oneOf", "if", "not", "dependentSchemas", "properties"} {
		f.Add(doubling(keyword, 12), strings.Repeat(`{"p":1,"q":1,"x":`, 14)+`"s"`+strings.Repeat("}", 14))
		f.Add(doubling(keyword, 40), `{"x":{"p":1,"q":1}}`)
	}
	f.Fuzz(evaluationAgrees)
}
