package builtin

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	junctor "github.com/junctor-mcp/junctor"
)

func TestToolToMCPAndBack(t *testing.T) {
	t.Parallel()
	object := json.RawMessage(`{"type":"object"}`)
	tests := []struct {
		name string
		tool Tool
		want string // exact: nothing may be reordered or respelled
	}{
		{"least", Tool{Name: "a", InputSchema: object}, `{"name":"a","inputSchema":{"type":"object"}}`},
		{
			"texts",
			Tool{Name: "a.b-c_D1", Title: "T", Description: "D <&> \"q\" é", InputSchema: object},
			`{"name":"a.b-c_D1","title":"T","description":"D <&> \"q\" é","inputSchema":{"type":"object"}}`,
		},
		{
			"default null, key order, numbers and escapes stay",
			Tool{Name: "ocr", InputSchema: json.RawMessage(`{"type":"object","properties":{"z":{"type":"string","default":null},"a":{"const":1.10,"x":1e400,"y":"\u00e9"}},"required":["z"]}`)},
			`{"name":"ocr","inputSchema":{"type":"object","properties":{"z":{"type":"string","default":null},"a":{"const":1.10,"x":1e400,"y":"\u00e9"}},"required":["z"]}}`,
		},
		{
			"output schema",
			Tool{Name: "a", InputSchema: object, OutputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)},
			`{"name":"a","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"n":{"type":"integer"}}}}`,
		},
		{
			"annotations, false is not unsaid",
			Tool{Name: "a", InputSchema: object, Annotations: &Annotations{
				Title: "A", ReadOnly: new(true), Destructive: new(false), Idempotent: new(true), OpenWorld: new(false),
				Other: json.RawMessage(`{"vendorHint":[1]}`),
			}},
			`{"name":"a","inputSchema":{"type":"object"},"annotations":{"title":"A","readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false,"vendorHint":[1]}}`,
		},
		{"no annotations said", Tool{Name: "a", InputSchema: object, Annotations: &Annotations{}}, `{"name":"a","inputSchema":{"type":"object"},"annotations":{}}`},
		{
			"version alone",
			Tool{Name: "a", InputSchema: object, Version: "2"},
			`{"name":"a","inputSchema":{"type":"object"},"_meta":{"junctor/version":"2"}}`,
		},
		{
			"version beside other meta",
			Tool{Name: "a", InputSchema: object, Version: "2", Meta: json.RawMessage(`{"x/y":1.0}`)},
			`{"name":"a","inputSchema":{"type":"object"},"_meta":{"junctor/version":"2","x/y":1.0}}`,
		},
		{
			"unknown members",
			Tool{Name: "a", InputSchema: object, Other: json.RawMessage(`{"icons":[{"src":"x"}],"execution":{"taskSupport":"optional"},"future":null}`)},
			`{"name":"a","inputSchema":{"type":"object"},"icons":[{"src":"x"}],"execution":{"taskSupport":"optional"},"future":null}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := tt.tool.MCP()
			must(t, err)
			if string(got) != tt.want {
				t.Errorf("MCP\n got %s\nwant %s", got, tt.want)
			}
			back, err := ParseTool(got)
			must(t, err)
			if diff := cmp.Diff(tt.tool, back); diff != "" {
				t.Errorf("back (-want +got):\n%s", diff)
			}
		})
	}
}

func TestToolDefinitionIsOneLine(t *testing.T) {
	t.Parallel()
	tool := Tool{Name: "a", InputSchema: json.RawMessage("{\n\t\"type\": \"object\",\n\t\"title\": \"a\\nb\"\n}")}
	got, err := tool.MCP()
	must(t, err)
	if want := `{"name":"a","inputSchema":{"type":"object","title":"a\nb"}}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestParseToolRefuses(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		``, `null`, `[]`, `{}`,
		`{"name":"a"}`,
		`{"name":"a","inputSchema":null}`,
		`{"name":"a","inputSchema":{"type":"array"}}`,
		`{"name":"a","inputSchema":{"type":["object","null"]}}`,
		`{"name":"","inputSchema":{"type":"object"}}`,
		`{"name":"a b","inputSchema":{"type":"object"}}`,
		`{"name":"` + strings.Repeat("a", 129) + `","inputSchema":{"type":"object"}}`,
		`{"name":"a","name":"b","inputSchema":{"type":"object"}}`,
		`{"Name":"a","inputSchema":{"type":"object"}}`,
		`{"name":"a","inputSchema":{"type":"object"},"outputSchema":true}`,
		`{"name":"a","inputSchema":{"type":"object"},"_meta":1}`,
		`{"name":"a","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":"yes"}}`,
	} {
		if _, err := ParseTool([]byte(in)); junctor.CodeOf(err) != junctor.CodeInvalid {
			t.Errorf("ParseTool(%s) = %v, want invalid", in, err)
		}
	}
}

func FuzzParseTool(f *testing.F) {
	f.Add([]byte(`{"name":"a","inputSchema":{"type":"object","x":{"default":null}},"_meta":{"junctor/version":"1","a":2},"icons":[]}`))
	f.Add([]byte(`{"name":"a","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":null,"x":1}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		tool, err := ParseTool(data)
		if err != nil {
			return
		}
		again, err := tool.MCP()
		if err != nil {
			t.Fatalf("a tool that was read cannot be written: %v", err)
		}
		back, err := ParseTool(again)
		if err != nil {
			t.Fatalf("a tool that was written cannot be read: %v\n%s", err, again)
		}
		if diff := cmp.Diff(tool, back); diff != "" {
			t.Errorf("back (-want +got):\n%s", diff)
		}
	})
}
