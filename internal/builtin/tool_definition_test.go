package builtin

import (
	"encoding/json"
	"testing"
)

func TestToolToMCP(t *testing.T) {
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
			}},
			`{"name":"a","inputSchema":{"type":"object"},"annotations":{"title":"A","readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}`,
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
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := tt.tool.MCP()
			must(t, err)
			if string(got) != tt.want {
				t.Errorf("MCP\n got %s\nwant %s", got, tt.want)
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
