package clients

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/test/program"
)

// oddTool is a tool whose definition is legal in 2026-07-28, and which clients of
// older versions cannot read as it is, or not easily.
type oddTool struct {
	Why   string          `json:"why"`
	Tool  json.RawMessage `json:"tool"`
	Value json.RawMessage `json:"value"` // of structuredContent
}

func (o oddTool) name() string {
	var named struct{ Name string }
	_ = json.Unmarshal(o.Tool, &named)
	return named.Name
}

// brokenTools break the specification. The others must be listed all the same.
func brokenTools() map[string]string {
	return map[string]string{
		"no_input":          `{"name":"no_input"}`,
		"null_input":        `{"name":"null_input","inputSchema":null}`,
		"typeless_input":    `{"name":"typeless_input","inputSchema":{"properties":{}}}`,
		"null_texts":        `{"name":"null_texts","title":null,"description":null,"inputSchema":{"type":"object"}}`,
		"text_hints":        `{"name":"text_hints","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":"yes"}}`,
		"list_meta":         `{"name":"list_meta","inputSchema":{"type":"object"},"_meta":[]}`,
		"text_icons":        `{"name":"text_icons","inputSchema":{"type":"object"},"icons":"x.png"}`,
		"blue_icons":        `{"name":"blue_icons","inputSchema":{"type":"object"},"icons":[{"src":"x","theme":"blue"}]}`,
		"boolean_output":    `{"name":"boolean_output","inputSchema":{"type":"object"},"outputSchema":true}`,
		"unresolved_output": `{"name":"unresolved_output","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"a":{"$ref":"#/$defs/none"}}}}`,
		"unknown_type":      `{"name":"unknown_type","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"a":{"type":"int"}}}}`,
		"old_bound":         `{"name":"old_bound","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"a":{"type":"integer","minimum":1,"exclusiveMinimum":true}}}}`,
		"required_flag":     `{"name":"required_flag","inputSchema":{"type":"object","required":true}}`,
		"task_support":      `{"name":"task_support","inputSchema":{"type":"object"},"execution":{"taskSupport":"maybe"}}`,
	}
}

// leftOutTools cannot be called at all.
func leftOutTools() map[string]string {
	return map[string]string{
		"array_input": `{"name":"array_input","inputSchema":{"type":"array"}}`,
		"text_input":  `{"name":"text_input","inputSchema":"none"}`,
	}
}

// oddServer serves definitions as they are, in 2026-07-28.
func oddServer(t *testing.T, odd []oddTool) string {
	t.Helper()
	var definitions []string
	values := map[string]json.RawMessage{}
	for _, o := range odd {
		definitions = append(definitions, string(o.Tool))
		values[o.name()] = o.Value
	}
	for _, broken := range []map[string]string{brokenTools(), leftOutTools()} {
		for _, definition := range broken {
			definitions = append(definitions, definition)
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name string }
		}
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		switch req.Method {
		case "server/discover":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}}`, req.ID)
		case "tools/list":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[%s]}}`, req.ID, strings.Join(definitions, ","))
		case "tools/call":
			value, ok := values[req.Params.Name]
			if !ok {
				value = json.RawMessage(`{}`)
			}
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","content":[],"structuredContent":%s}}`, req.ID, value)
		default:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown method"}}`, req.ID)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// oddSeen is what a client saw of them.
type oddSeen struct {
	Tools []string `json:"tools"`
	Calls map[string]struct {
		Structured json.RawMessage `json:"structured"`
		Content    []text          `json:"content"`
		Error      string          `json:"error"`
	} `json:"calls"`
}

// TestOddTools lets the official JavaScript clients of both eras list and call
// tools whose definitions are odd, and some that are broken: the list never fails
// as a whole, and every call gives the tool's own value.
func TestOddTools(t *testing.T) {
	t.Parallel()
	node := program.FindNode(t)
	data, err := os.ReadFile("testdata/odd_tools.json")
	if err != nil {
		t.Fatal(err)
	}
	var odd []oddTool
	if err := json.Unmarshal(data, &odd); err != nil {
		t.Fatal(err)
	}
	if len(odd) < 40 {
		t.Fatalf("%d odd tools; 40 are wanted", len(odd))
	}
	in := testkit.Start(t, testkit.Settings{"egress-allow": "127.0.0.0/8"})
	if a := in.Do(t, "POST", "/api/v1/servers", fmt.Sprintf(`{"id":"odd","url":%q}`, oddServer(t, odd))); a.Status != http.StatusCreated {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	for _, mode := range []string{"sdk1", "legacy", "modern"} {
		t.Run(mode, func(t *testing.T) {
			out, err := node.Run(t, limit, "odd_tools.mjs", mode, in.URL+"/mcp/s/odd", testkit.AdminKey)
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			var got oddSeen
			if err := json.Unmarshal(out, &got); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for name := range brokenTools() {
				if !slices.Contains(got.Tools, name) {
					t.Errorf("%s is not listed", name)
				}
			}
			for name := range leftOutTools() {
				if slices.Contains(got.Tools, name) {
					t.Errorf("%s is listed", name)
				}
			}
			for _, o := range odd {
				if !slices.Contains(got.Tools, o.name()) {
					t.Errorf("%s (%s) is not listed", o.name(), o.Why)
					continue
				}
				checkOddCall(t, mode, o, got)
			}
			t.Logf("figure: %s lists %d unusual tools and calls each", mode, len(odd))
		})
	}
	var detail struct {
		Problems []struct{ Tool, Effect, Reason string }
	}
	if err := json.Unmarshal([]byte(in.Do(t, "GET", "/api/v1/servers/odd", "").Body), &detail); err != nil {
		t.Fatal(err)
	}
	effects := map[string]string{}
	for _, p := range detail.Problems {
		effects[p.Tool] += p.Effect + " "
	}
	for tool, want := range map[string]string{
		"array": "older_clients ", "pattern_flags": "older_clients ", "pattern_good": "", "dialect": "", "null_texts": "changed ", "array_input": "left_out ",
	} {
		if effects[tool] != want {
			t.Errorf("the problems of %s are %q, want %q", tool, effects[tool], want)
		}
	}
}

// checkOddCall holds what a call gave to the tool's value: older clients may find
// it under "result".
func checkOddCall(t *testing.T, mode string, o oddTool, got oddSeen) {
	t.Helper()
	call := got.Calls[o.name()]
	// A modern client is shown a definition as it is. What its validator makes of
	// it concerns that tool alone.
	if strings.Contains(strings.ToLower(call.Error), "output") && mode == "modern" {
		return
	}
	var want, value any
	if err := json.Unmarshal(o.Value, &want); err != nil {
		t.Fatal(err)
	}
	if call.Error != "" {
		t.Errorf("%s (%s): %s", o.name(), o.Why, call.Error)
		return
	}
	_ = json.Unmarshal(call.Structured, &value)
	if cmp.Equal(want, value) {
		return
	}
	wrapped, _ := value.(map[string]any)
	if len(wrapped) != 1 || !cmp.Equal(want, wrapped["result"]) || mode == "modern" {
		t.Errorf("%s (%s): %s, want %s", o.name(), o.Why, call.Structured, o.Value)
	}
	if _, object := want.(map[string]any); !object && len(call.Content) != 1 {
		t.Errorf("%s (%s): there is no text beside it", o.name(), o.Why)
	}
}
