package cli

import (
	"encoding/json"
	"errors"
	"testing"

	"pgregory.net/rapid"
)

const everyType = `{"properties":{
	"s":{"type":"string"},"n":{"type":"number"},"i":{"type":"integer"},"b":{"type":"boolean"},
	"o":{"type":"object"},"l":{"type":"array","items":{"type":"string"}},"m":{"type":"array","items":{"type":"integer"}},
	"any":{},"e":{"enum":["1","a"]},"ns":{"type":["string","null"]},"ni":{"type":["null","integer"]},"odd":{"type":7}}}`

func TestBuildArguments(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		pairs []string
		want  string // "" for a usage error
	}{
		{"text stays text", []string{"s=42"}, `{"s":"42"}`},
		{"text with equals signs", []string{"s=a=b=c"}, `{"s":"a=b=c"}`},
		{"empty text", []string{"s="}, `{"s":""}`},
		{"text that reads like null", []string{"s=null"}, `{"s":"null"}`},
		{"nullable text", []string{"ns=null"}, `{"ns":null}`},
		{"number", []string{"n=1.5e3"}, `{"n":1.5e3}`},
		{"a big integer keeps its digits", []string{"i=12345678901234567890"}, `{"i":12345678901234567890}`},
		{"boolean", []string{"b=true"}, `{"b":true}`},
		{"object", []string{`o={"a":[1]}`}, `{"o":{"a":[1]}}`},
		{"list by repetition", []string{"l=x", "l=2"}, `{"l":["x","2"]}`},
		{"list of one", []string{"l=x"}, `{"l":["x"]}`},
		{"list as JSON", []string{`l=["x","y"]`}, `{"l":["x","y"]}`},
		{"list of integers", []string{"m=1", "m=2"}, `{"m":[1,2]}`},
		{"untyped JSON", []string{"any=[1]"}, `{"any":[1]}`},
		{"untyped text", []string{"any=hello"}, `{"any":"hello"}`},
		{"word of an enumeration", []string{"e=1"}, `{"e":"1"}`},
		{"nullable integer", []string{"ni=null"}, `{"ni":null}`},
		{"a type nobody knows", []string{"odd=x"}, `{"odd":"x"}`},
		{"an argument the schema does not have", []string{"other=1"}, `{"other":1}`},
		{"no integer", []string{"i=many"}, ``},
		{"no number in a list", []string{"m=1", "m=x"}, ``},
		{"twice", []string{"s=a", "s=b"}, ``},
		{"no equals sign", []string{"s"}, ``},
		{"no name", []string{"=s"}, ``},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := buildArguments(json.RawMessage(everyType), tt.pairs)
			var usage *usageError
			if (tt.want == "") != errors.As(err, &usage) {
				t.Fatalf("error %v", err)
			}
			if string(got) != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// Whatever is typed behind a text argument arrives as it was typed.
func TestTextArrives(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		got, err := buildArguments(json.RawMessage(everyType), []string{"s=" + text})
		if err != nil {
			t.Fatal(err)
		}
		var back struct{ S string }
		if err := json.Unmarshal(got, &back); err != nil || back.S != text {
			t.Fatalf("%q came back as %q (%v)", text, back.S, err)
		}
	})
}

func FuzzBuildArguments(f *testing.F) {
	f.Add(everyType, "l=[1")
	f.Add(`{"properties":{"a":null}}`, "a=1")
	f.Add(`{"properties":{"a":{"type":"array"}}}`, "a=")
	f.Add(`[]`, "=")
	f.Fuzz(func(t *testing.T, schema, pair string) {
		got, err := buildArguments(json.RawMessage(schema), []string{pair})
		if err == nil && !json.Valid(got) {
			t.Errorf("schema %s, --arg %s: not JSON: %s", schema, pair, got)
		}
	})
}
