package mcpapps_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/tools/txtar"

	"github.com/junctor-mcp/junctor/mcpapps"
)

type frame struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
}

// TestTranscripts reads every message as it goes over the wire and writes it
// again: each is known in its direction alone, and nothing of it is lost.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/messages.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, file := range txtar.Parse(data).Files {
		told = append(told, file.Name)
		t.Run(file.Name, func(t *testing.T) {
			t.Parallel()
			transcript(t, file)
		})
	}
	var known []string
	for _, m := range mcpapps.Methods() {
		known = append(known, string(m.From)+" "+m.Name)
	}
	slices.Sort(told)
	slices.Sort(known)
	if d := cmp.Diff(known, told); d != "" {
		t.Errorf("messages without a transcript, or the other way round (-known +told):\n%s", d)
	}
}

func transcript(t *testing.T, file txtar.File) {
	t.Helper()
	from, name, _ := strings.Cut(file.Name, " ")
	m, ok := mcpapps.FindMethod(mcpapps.Party(from), name)
	if !ok {
		t.Fatal("it is not known")
	}
	answered := false
	for line := range strings.Lines(string(file.Data)) {
		kind, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		var f frame
		if err := json.Unmarshal([]byte(text), &f); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		switch kind {
		case ">":
			v, err := m.DecodeParams(f.Params)
			same(t, f.Params, v, err)
			if f.Method != name {
				t.Errorf("the message is called %s", f.Method)
			}
		case "<":
			answered = true
			v, err := m.DecodeResult(f.Result)
			same(t, f.Result, v, err)
		case "!":
			if v, err := m.DecodeParams(f.Params); err == nil {
				t.Errorf("%s was read as %+v", text, v)
			}
		default:
			t.Errorf("a line begins with %q", kind)
		}
	}
	if answered != m.IsRequest {
		t.Errorf("a request is %t, an answer is there %t", m.IsRequest, answered)
	}
	if _, err := m.DecodeResult([]byte("{}")); !m.IsRequest && err == nil {
		t.Error("a notification was answered")
	}
}

// same holds that a value that was read is written as it came.
func same(t *testing.T, want json.RawMessage, v any, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
		return
	}
	got, err := json.Marshal(v)
	if err != nil {
		t.Error(err)
		return
	}
	var a, b any
	if json.Unmarshal(want, &a) != nil || json.Unmarshal(got, &b) != nil {
		t.Fatalf("no JSON: %s, %s", want, got)
	}
	if d := cmp.Diff(a, b); d != "" {
		t.Errorf("%T loses something (-wire +type):\n%s", v, d)
	}
}

func TestDirections(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from mcpapps.Party
		name string
		want bool
	}{
		{mcpapps.PartyView, mcpapps.NotificationInitialized, true},
		{mcpapps.PartyHost, mcpapps.NotificationInitialized, false},
		{mcpapps.PartyView, mcpapps.NotificationToolResult, false},
		{mcpapps.PartyView, mcpapps.NotificationSandboxProxyReady, false},
		{mcpapps.PartyView, mcpapps.NotificationSandboxResourceReady, false},
		{mcpapps.PartyView, "Tools/Call", false},
		{mcpapps.PartyView, "resources/subscribe", false},
		{"", "ping", false},
	} {
		if _, ok := mcpapps.FindMethod(c.from, c.name); ok != c.want {
			t.Errorf("%s from %q: %t", c.name, c.from, ok)
		}
	}
}

func TestOneBlockInPlaceOfAList(t *testing.T) {
	t.Parallel()
	m, _ := mcpapps.FindMethod(mcpapps.PartyView, mcpapps.MethodMessage)
	v, err := m.DecodeParams([]byte(`{"role":"user","content":{"type":"text","text":"hi"}}`))
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(v)
	if err != nil || string(got) != `{"role":"user","content":[{"type":"text","text":"hi"}]}` {
		t.Errorf("%s, %v", got, err)
	}
	c, err := v.(*mcpapps.MessageParams).Content[0].Decode()
	if text, ok := c.(*mcp.TextContent); err != nil || !ok || text.Text != "hi" {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestCoreValuesKeepWhatTheSDKDoesNotKnow(t *testing.T) {
	t.Parallel()
	const in = `{"tool":{"name":"a","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}}`
	var info mcpapps.ToolInfo
	if err := json.Unmarshal([]byte(in), &info); err != nil {
		t.Fatal(err)
	}
	tool, err := info.Tool.Decode()
	if err != nil || tool.Name != "a" {
		t.Errorf("%+v, %v", tool, err)
	}
	if out, err := json.Marshal(info); err != nil || string(out) != in {
		t.Errorf("%s, %v", out, err)
	}
}

// FuzzParams holds that no params are read in two ways: what was read and
// written reads and writes as the same again.
func FuzzParams(f *testing.F) {
	data, err := os.ReadFile("testdata/messages.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range txtar.Parse(data).Files {
		from, name, _ := strings.Cut(file.Name, " ")
		for line := range strings.Lines(string(file.Data)) {
			var m frame
			if _, text, _ := strings.Cut(line, " "); json.Unmarshal([]byte(text), &m) == nil && m.Method != "" {
				f.Add(from, name, []byte(m.Params))
			}
		}
	}
	f.Fuzz(func(t *testing.T, from, name string, params []byte) {
		m, ok := mcpapps.FindMethod(mcpapps.Party(from), name)
		if !ok {
			return
		}
		v, err := m.DecodeParams(params)
		if err != nil {
			return
		}
		once, err := json.Marshal(v)
		if err != nil {
			t.Fatalf("%s was read and cannot be written: %v", params, err)
		}
		again, err := m.DecodeParams(once)
		if err != nil {
			t.Fatalf("%s became %s, which cannot be read: %v", params, once, err)
		}
		if twice, err := json.Marshal(again); err != nil || string(twice) != string(once) {
			t.Fatalf("%s became %s, then %s (%v)", params, once, twice, err)
		}
	})
}
