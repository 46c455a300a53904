package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// agree holds the shortcut against the library. The shortcut may ask where it
// is not sure, never accept what the library refuses; with complete it must
// also know every value that fits.
func agree(t interface {
	Helper()
	Fatalf(string, ...any)
}, schema, value string, complete bool,
) (valid bool) {
	t.Helper()
	c, err := compileSchema([]byte(schema))
	if err != nil {
		if complete {
			t.Fatalf("schema %s: %v", schema, err)
		}
		return false
	}
	return agreeCompiled(t, c, schema, value, complete)
}

func agreeCompiled(t interface {
	Helper()
	Fatalf(string, ...any)
}, c *compiledSchema, schema, value string, complete bool,
) (valid bool) {
	t.Helper()
	v, err := wire.DecodeValue([]byte(value))
	if err != nil {
		if complete {
			t.Fatalf("value %s: %v", value, err)
		}
		return false
	}
	if c.fast == nil {
		if complete {
			t.Fatalf("schema %s has only common keywords, and no shape", schema)
		}
		return false
	}
	fast := c.fast.acceptsText([]byte(value))
	if _, found := findOversizedNumber([]byte(value)); found {
		return fast // the library never sees it
	}
	valid = c.library.Validate(v) == nil
	if fast && !valid {
		t.Fatalf("the shortcut accepts what the library refuses\nschema %s\nvalue  %s", schema, value)
	}
	if complete && valid && !fast {
		t.Fatalf("the shortcut does not know a value that fits\nschema %s\nvalue  %s", schema, value)
	}
	return valid
}

const valuesPerSchema = 250

// agrees draws one schema and many values. It gives how many of them fit.
func agrees(t *rapid.T) (fit, all int) {
	d := draw{t}
	schema := d.schema(3)
	text, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	c, err := compileSchema(text)
	if err != nil {
		t.Fatalf("schema %s: %v", text, err)
	}
	if c.fast == nil {
		return 0, 0 // two bounds on one side, or a number too long for the shortcut
	}
	for range valuesPerSchema {
		value := d.value(schema, 3)
		if agreeCompiled(t, c, string(text), value, decimals([]byte(value))) {
			fit++
		}
		all++
	}
	return fit, all
}

// decimals says whether all numbers in a JSON text are short enough for the
// shortcut; the library knows the others.
func decimals(raw []byte) bool {
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == '"':
			i = wire.SkipString(raw, i)
		case c == '-' || c >= '0' && c <= '9':
			end := findNumberEnd(raw, i)
			if _, ok := parseDecimal(raw[i:end]); !ok {
				return false
			}
			i = end
		default:
			i++
		}
	}
	return true
}

func compileShape(text []byte) *fastSchema {
	doc, err := wire.DecodeValue(text)
	if err != nil {
		return nil
	}
	return newFastSchema(doc)
}

func TestShortcutAgreesWithTheLibrary(t *testing.T) {
	t.Parallel()
	fit, all, schemas := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		f, a := agrees(t)
		fit, all = fit+f, all+a
		if a > 0 {
			schemas++
		}
	})
	t.Logf("%d schemas, %d values, %d fit", schemas, all, fit)
	if fit < all/10 || fit > all*9/10 {
		t.Errorf("%d of %d values fit: the generator tests one side only", fit, all)
	}
}

func FuzzSchema(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) { agrees(t) }))
}

func FuzzSchemaText(f *testing.F) {
	for _, c := range schemaCases() {
		f.Add(c.schema, c.value)
	}
	f.Fuzz(func(t *testing.T, schema, value string) { agree(t, schema, value, false) })
}

type schemaCase struct {
	schema, value string
	valid         bool
}

func schemaCases() []schemaCase {
	return []schemaCase{
		{`{"type":"integer"}`, `1.0`, true},
		{`{"type":"integer"}`, `1e2`, true},
		{`{"type":"integer"}`, `120e-1`, true},
		{`{"type":"integer"}`, `125e-1`, false},
		{`{"type":"integer"}`, `1.5`, false},
		{`{"type":"integer"}`, `123456789012345678901234567890`, true},
		{`{"type":["integer","null"]}`, `null`, true},
		{`{"type":["integer","null"]}`, `"1"`, false},
		{`{"type":"number"}`, `1.5`, true},
		{`{"type":"string","maxLength":1}`, `"é"`, true},
		{`{"type":"string","maxLength":1}`, `"\ud83d\ude00"`, true},
		{`{"type":"string","maxLength":1}`, `"\u00e9\n"`, false},
		{`{"type":"string","minLength":2}`, `"é"`, false},
		{`{"type":"string","minLength":2}`, `"\u0061\t"`, true},
		{`{"enum":["a",1,null,true]}`, `"\u0061"`, true},
		{`{"enum":["a",1,null,true]}`, `1.0`, true},
		{`{"enum":["a",1,null,true]}`, `false`, false},
		{`{"enum":["a",1,null,true]}`, `[]`, false},
		{`{"const":null}`, `null`, true},
		{`{"const":null}`, `{}`, false},
		{`{"minimum":0.1}`, `1e-1`, true},
		{`{"exclusiveMinimum":0.1}`, `1e-1`, false},
		{`{"maximum":9007199254740992}`, `9007199254740993`, false},
		{`{"minimum":-5,"maximum":-1}`, `-3`, true},
		{`{"minimum":-5,"maximum":-1}`, `-5.1`, false},
		{`{"minimum":0}`, `-0.0`, true},
		{`{"exclusiveMinimum":0}`, `1e-999`, true},
		{`{"minimum":1}`, `"not a number"`, true},
		{`{"items":{"type":"string"},"maxItems":2}`, `["a","b"]`, true},
		{`{"items":{"type":"string"},"maxItems":2}`, `["a","b","c"]`, false},
		{`{"items":false}`, `[]`, true},
		{`{"items":false}`, `[1]`, false},
		{`{"required":["a","b"]}`, `{"b":1,"\u0061":2}`, true},
		{`{"required":["a","b"]}`, `{"a":1}`, false},
		{`{"required":["a"],"additionalProperties":false}`, `{"a":1}`, false},
		{`{"properties":{"a":true},"additionalProperties":false}`, `{"\u0061":1}`, true},
		{`{"properties":{"a":{"type":"string"}},"additionalProperties":{"type":"number"}}`, `{"a":"x","b":1}`, true},
		{`{"properties":{"a":{"type":"string"}},"additionalProperties":{"type":"number"}}`, `{"a":"x","b":"1"}`, false},
		{`{"maxProperties":1}`, `{"a":1,"b":2}`, false},
		{`{"pattern":"^a"}`, `"\u0061b"`, true},
		{`{"pattern":"^a"}`, `"ba"`, false},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"type":"string"}}}`, ` { "a" : "}]" } `, true},
		{`{"type":"string","format":"email"}`, `"none"`, true},
		{`{}`, `{"a":[{"b":"]"}]}`, true},
		{`true`, `1`, true},
		{`false`, `1`, false},
		{`{"$defs":{"x":{"type":"string"}},"type":"object","$comment":"c","x-y":{"type":1}}`, `{}`, true},
	}
}

func TestSchemaCases(t *testing.T) {
	t.Parallel()
	for _, c := range schemaCases() {
		if valid := agree(t, c.schema, c.value, true); valid != c.valid {
			t.Errorf("schema %s, value %s: valid is %t", c.schema, c.value, valid)
		}
		if err := newSchema([]byte(c.schema), nil).Check(t.Context(), []byte(c.value)); (err == nil) != c.valid {
			t.Errorf("schema %s, value %s: %v", c.schema, c.value, err)
		}
	}
}

// Schemas with other keywords go to the library whole.
func TestLibraryKeywords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ schema, good, bad string }{
		{`{"$ref":"#/$defs/a","$defs":{"a":{"type":"string"}}}`, `"x"`, `1`},
		{`{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, `{"a":null}`, `{"a":1}`},
		{`{"oneOf":[{"type":"string"},{"minLength":2}]}`, `"x"`, `"xx"`},
		{`{"allOf":[{"type":"string"}]}`, `""`, `1`},
		{`{"not":{"type":"string"}}`, `1`, `""`},
		{`{"if":{"type":"string"},"then":{"minLength":1}}`, `"a"`, `""`},
		{`{"multipleOf":0.5}`, `1.5`, `1.2`},
		{`{"uniqueItems":true}`, `[1,2]`, `[1,1.0]`},
		{`{"prefixItems":[{"type":"string"}]}`, `["a"]`, `[1]`},
		{`{"contains":{"const":1}}`, `[1]`, `[2]`},
		{`{"patternProperties":{"^a":{"type":"string"}}}`, `{"ab":""}`, `{"ab":1}`},
		{`{"propertyNames":{"maxLength":1}}`, `{"a":1}`, `{"ab":1}`},
		{`{"dependentRequired":{"a":["b"]}}`, `{"b":1}`, `{"a":1}`},
		{`{"dependentSchemas":{"a":{"required":["b"]}}}`, `{"b":1}`, `{"a":1}`},
		{`{"unevaluatedProperties":false}`, `{}`, `{"a":1}`},
		{`{"enum":[[1]]}`, `[1]`, `[2]`},
		{`{"minimum":1,"exclusiveMinimum":3}`, `4`, `2`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","format":"ipv4"}`, `"1.2.3.4"`, `"x"`},
		{`{"$schema":"http://json-schema.org/draft-04/schema#","minimum":1,"exclusiveMinimum":true}`, `2`, `1`},
		{`{"properties":{"a":{"$id":"https://example.org/a","type":"string"}}}`, `{"a":""}`, `{"a":1}`},
	} {
		if compileShape([]byte(tt.schema)) != nil {
			t.Errorf("schema %s has a shape", tt.schema)
		}
		s := newSchema([]byte(tt.schema), nil)
		if err := s.Check(t.Context(), []byte(tt.good)); err != nil {
			t.Errorf("schema %s, value %s: %v", tt.schema, tt.good, err)
		}
		if err := s.Check(t.Context(), []byte(tt.bad)); junctor.CodeOf(err) != junctor.CodeInvalid {
			t.Errorf("schema %s, value %s: %v", tt.schema, tt.bad, err)
		}
	}
}

func TestEveryViolation(t *testing.T) {
	t.Parallel()
	s := newSchema([]byte(`{"type":"object","properties":{"a/b":{"type":"string"},"n":{"type":"array","items":{"minimum":1}}},"required":["x","y"],"additionalProperties":false}`), nil)
	err := s.Check(t.Context(), []byte(`{"a/b":1,"n":[1,0,2,-1],"z":1}`))
	var e *junctor.Error
	if !errors.As(err, &e) || e.Code != junctor.CodeInvalid {
		t.Fatal(err)
	}
	at := map[string]int{}
	for _, v := range e.Violations {
		at[v.Pointer]++
		if !strings.Contains(e.Message, v.Message) {
			t.Errorf("the message leaves out %q: %s", v.Message, e.Message)
		}
	}
	want := map[string]int{"": 2, "/a~1b": 1, "/n/1": 1, "/n/3": 1}
	if fmt.Sprint(at) != fmt.Sprint(want) {
		t.Errorf("violations at %v, want %v: %s", at, want, e.Message)
	}
}

func TestViolationsAreBounded(t *testing.T) {
	t.Parallel()
	err := newSchema([]byte(`{"items":{"type":"string"}}`), nil).Check(t.Context(), []byte("[1"+strings.Repeat(",1", 999)+"]"))
	if e := junctor.AsError(err); len(e.Violations) != maxViolations || len(e.Message) > 4096 {
		t.Errorf("%d violations, %d bytes", len(e.Violations), len(e.Message))
	}
	err = newSchema([]byte(`{"pattern":"^a"}`), nil).Check(t.Context(), []byte(`"`+strings.Repeat("b", 1<<20)+`"`))
	if e := junctor.AsError(err); len(e.Message) > 2*maxViolationBytes {
		t.Errorf("a message of %d bytes", len(e.Message))
	}
}

func TestNilArgumentsAreAnEmptyObject(t *testing.T) {
	t.Parallel()
	if err := newSchema([]byte(`{"type":"object"}`), nil).Check(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if err := newSchema([]byte(`{"type":"object","required":["a"]}`), nil).Check(t.Context(), nil); junctor.CodeOf(err) != junctor.CodeInvalid {
		t.Error(err)
	}
}

func TestBrokenSchemaIsTheServersFault(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{`{"type":"nothing"}`, `{"type":`, `{"minLength":-1}`, `{"pattern":"("}`, `{"$ref":"#/$defs/none"}`, `{"minimum":1e999999}`} {
		if err := newSchema([]byte(schema), nil).Check(t.Context(), []byte(`{}`)); junctor.CodeOf(err) != junctor.CodeUpstream {
			t.Errorf("%s: %v", schema, err)
		}
	}
}

// A $ref that leads out of the schema is never followed: not to the network,
// and not to a file.
func TestRefsStayInside(t *testing.T) {
	t.Parallel()
	for _, ref := range []string{
		"http://127.0.0.1:1/x.json", "https://example.org/schema.json", "file:///etc/passwd", "other.json", "//example.org/x",
		"https://json-schema.org/draft/2020-12/other",
	} {
		err := newSchema([]byte(`{"type":"object","properties":{"a":{"$ref":"`+ref+`"}}}`), nil).Check(t.Context(), []byte(`{"a":1}`))
		if junctor.CodeOf(err) != junctor.CodeUpstream {
			t.Errorf("%s: %v", ref, err)
		}
	}
}

// Numbers that take arithmetic of any length seconds, or make it give up, cost
// nothing here.
func TestHugeNumbers(t *testing.T) {
	t.Parallel()
	digits := strings.Repeat("7", 1<<20)
	started := time.Now()
	for _, schema := range []string{`{"type":"integer"}`, `{"minimum":0}`, `{"multipleOf":3}`, `{"enum":[1]}`} {
		for _, number := range []string{"1e1000000", "1e1000001", "-1e-99999999999999999999", digits, digits + ".0", "0." + digits} {
			err := newSchema([]byte(schema), nil).Check(t.Context(), []byte(number))
			if junctor.CodeOf(err) != junctor.CodeInvalid || len(err.Error()) > 500 {
				t.Errorf("%s, %.20s: %.200v", schema, number, err)
			}
		}
	}
	if took := time.Since(started); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestShortcutNeverPanics(t *testing.T) {
	t.Parallel()
	c, err := compileSchema([]byte(`{"type":["object","array","string","number","boolean","null"],"properties":{"a":{"items":{"maxLength":3}}},"additionalProperties":{"minimum":1},"required":["a"]}`))
	if err != nil || c.fast == nil {
		t.Fatal(err)
	}
	whole := `{"a":["x","\u0061\\",true,null,-1.5e3,{"b":[]}],"b": 2 , "c\"":3}`
	for i := range whole {
		c.fast.acceptsText([]byte(whole[:i]))
		c.fast.acceptsText([]byte(whole[i:]))
		findValueEnd([]byte(whole), i)
	}
}

func TestDecimals(t *testing.T) {
	t.Parallel()
	ordered := []string{
		"-1.5e300", "-9999999999999999999", "-10", "-9.99", "-1", "-1e-300", "0", "1e-999", "0.1", "0.10000000000000001", "1", "1.5", "9", "10",
		"9999999999999999999", "1e19", "1e20", "1e999",
	}
	for i, a := range ordered {
		for j, b := range ordered {
			x, ok1 := parseDecimal([]byte(a))
			y, ok2 := parseDecimal([]byte(b))
			if !ok1 || !ok2 {
				t.Fatal(a, b)
			}
			if got := x.compareTo(y); got != sign(i-j) {
				t.Errorf("compare(%s, %s) = %d", a, b, got)
			}
		}
	}
	for _, none := range []string{"18446744073709551616", "1e1001", "1x", "1e", "1e+", "1.2.3"} {
		if d, ok := parseDecimal([]byte(none)); ok {
			t.Errorf("%s is %v", none, d)
		}
	}
}

func sign(n int) int { return min(1, max(-1, n)) }
