// Package clients lets real MCP clients of both eras walk through everything the
// demo server offers, by every transport: over the network to a running
// instance, and over the pipes of `junctor stdio`.
package clients

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/junctor-mcp/junctor/test/program"
)

// limit is for one walk; it takes about a second.
const limit = 3 * time.Minute

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

// seen is what a walk reports, whatever the client.
type seen struct {
	Protocol   string    `json:"protocol"`
	Server     string    `json:"server"`
	Tools      []string  `json:"tools"`
	Echo       result    `json:"echo"`
	Add        result    `json:"add"`
	Slow       result    `json:"slow"`
	Progress   []float64 `json:"progress"`
	Ask        result    `json:"ask"`
	Asked      int       `json:"asked"`
	Fail       result    `json:"fail"`
	Unknown    string    `json:"unknown"`
	Resources  []string  `json:"resources"`
	Read       contents  `json:"read"`
	Templates  []string  `json:"templates"`
	Prompts    []string  `json:"prompts"`
	Prompt     prompt    `json:"prompt"`
	Completion []string  `json:"completion"`
}

type result struct {
	Content    []text          `json:"content"`
	Structured json.RawMessage `json:"structuredContent"`
	IsError    bool            `json:"isError"`
}

type text struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type contents struct {
	Contents []struct {
		URI  string `json:"uri"`
		Text string `json:"text"`
	} `json:"contents"`
}

type prompt struct {
	Messages []struct {
		Role    string `json:"role"`
		Content text   `json:"content"`
	} `json:"messages"`
}

func (r result) text() string {
	var b strings.Builder
	for _, c := range r.Content {
		b.WriteString(c.Text)
	}
	return b.String()
}

// checkSeen judges a walk.
func checkSeen(t *testing.T, got seen, protocol string) {
	t.Helper()
	if got.Protocol != protocol {
		t.Errorf("protocol %q, want %q", got.Protocol, protocol)
	}
	for _, name := range []string{"demo__echo", "demo__add", "demo__slow", "demo__ask", "demo__fail"} {
		if !slices.Contains(got.Tools, name) {
			t.Errorf("no tool %s in %q", name, got.Tools)
		}
	}
	if s := got.Echo.text(); !strings.Contains(s, "hello, world") || got.Echo.IsError {
		t.Errorf("echo answers %+v", got.Echo)
	}
	var sum struct {
		Sum float64 `json:"sum"`
	}
	if err := json.Unmarshal(got.Add.Structured, &sum); err != nil || sum.Sum != 42 {
		t.Errorf("add answers %s (%v)", got.Add.Structured, err)
	}
	if diff := cmp.Diff([]float64{1, 2, 3}, got.Progress); diff != "" || got.Slow.IsError {
		t.Errorf("progress of slow (-want +got):\n%s", diff)
	}
	if got.Asked != 1 || !strings.Contains(got.Ask.text(), "Hello, Ada! green") {
		t.Errorf("ask asked %d times and answers %+v", got.Asked, got.Ask)
	}
	if !got.Fail.IsError {
		t.Errorf("fail answers %+v, want isError", got.Fail)
	}
	if !strings.Contains(got.Unknown, "demo__echo") {
		t.Errorf("an unknown tool does not name the closest one: %q", got.Unknown)
	}
	const readme = "demo+demo://readme"
	if !slices.Contains(got.Resources, readme) || !slices.Contains(got.Templates, "demo+demo://greeting/{name}") {
		t.Errorf("resources %q, templates %q", got.Resources, got.Templates)
	}
	if c := got.Read.Contents; len(c) != 1 || c[0].URI != readme || !strings.Contains(c[0].Text, "demo server") {
		t.Errorf("%s holds %+v", readme, c)
	}
	if !slices.Contains(got.Prompts, "demo__greet") || len(got.Prompt.Messages) == 0 || !strings.Contains(got.Prompt.Messages[0].Content.Text, "Ada") {
		t.Errorf("prompts %q, greet %+v", got.Prompts, got.Prompt)
	}
	if diff := cmp.Diff([]string{"Ada", "Alan"}, got.Completion); diff != "" {
		t.Errorf("completion of A (-want +got):\n%s", diff)
	}
}

// TestNode runs both generations of the official TypeScript client.
func TestNode(t *testing.T) {
	t.Parallel()
	node := program.FindNode(t)
	in := program.Start(t, program.FreeAddr(t), t.TempDir())
	stdio := []string{program.Binary(t), "stdio", "--builtin", "demo,ocr", "--data-dir", t.TempDir()}
	tests := []struct {
		name, script, mode, transport string
		args                          []string
		protocol                      string
	}{
		{"sdk 1.32, Streamable HTTP", "sdk.mjs", "legacy", "http", []string{in.URL + "/mcp", program.AdminKey}, "2025-11-25"},
		{"sdk 1.32, HTTP+SSE", "sdk.mjs", "legacy", "sse", []string{in.URL + "/sse", program.AdminKey}, "2025-11-25"},
		{"sdk 1.32, stdio", "sdk.mjs", "legacy", "stdio", stdio, "2025-11-25"},
		{"client 2.4, modern, Streamable HTTP", "client.mjs", "modern", "http", []string{in.URL + "/mcp", program.AdminKey}, "2026-07-28"},
		{"client 2.4, negotiating, Streamable HTTP", "client.mjs", "auto", "http", []string{in.URL + "/mcp", program.AdminKey}, "2026-07-28"},
		{"client 2.4, legacy, Streamable HTTP", "client.mjs", "legacy", "http", []string{in.URL + "/mcp", program.AdminKey}, "2025-11-25"},
		{"client 2.4, modern, stdio", "client.mjs", "modern", "stdio", stdio, "2026-07-28"},
		{"client 2.4, negotiating, stdio", "client.mjs", "auto", "stdio", stdio, "2026-07-28"},
		{"client 2.4, legacy, stdio", "client.mjs", "legacy", "stdio", stdio, "2025-11-25"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, err := node.Run(t, limit, tt.script, append([]string{tt.mode, tt.transport}, tt.args...)...)
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			var got seen
			if err := json.Unmarshal(out, &got); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			checkSeen(t, got, tt.protocol)
			t.Logf("figure: %s speaks %s: %d tools, progress, elicitation, resource, prompt, completion", tt.name, got.Protocol, len(got.Tools))
		})
	}
}
