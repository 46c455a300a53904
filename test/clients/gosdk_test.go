package clients

import (
	"context"
	"encoding/json"
	"net/http"
	"os/exec"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junctor-mcp/junctor/test/program"
)

// TestGoSDK runs the official Go client, in both eras, by each transport.
func TestGoSDK(t *testing.T) {
	t.Parallel()
	in := program.Start(t, program.FreeAddr(t), t.TempDir())
	client := &http.Client{Transport: withKey{}}
	transports := map[string]func(*testing.T) mcp.Transport{
		"Streamable HTTP": func(*testing.T) mcp.Transport {
			return &mcp.StreamableClientTransport{Endpoint: in.URL + "/mcp", HTTPClient: client}
		},
		"HTTP+SSE": func(*testing.T) mcp.Transport {
			return &mcp.SSEClientTransport{Endpoint: in.URL + "/sse", HTTPClient: client}
		},
		"stdio": func(t *testing.T) mcp.Transport {
			t.Helper()
			cmd := exec.Command(program.Binary(t), "stdio", "--data-dir", t.TempDir())
			cmd.Env = program.Env()
			return &mcp.CommandTransport{Command: cmd}
		},
	}
	for _, tt := range []struct{ transport, protocol string }{
		{"Streamable HTTP", "2026-07-28"},
		{"Streamable HTTP", "2025-11-25"},
		{"Streamable HTTP", "2025-06-18"},
		{"Streamable HTTP", "2025-03-26"},
		{"HTTP+SSE", "2024-11-05"},
		{"stdio", "2026-07-28"},
		{"stdio", "2025-11-25"},
	} {
		t.Run(tt.transport+", "+tt.protocol, func(t *testing.T) {
			got := walkServer(t, transports[tt.transport](t), tt.protocol)
			checkSeen(t, got, tt.protocol)
			t.Logf("figure: go-sdk v1.8.0, %s, speaks %s: %d tools, progress, elicitation, resource, prompt, completion", tt.transport, got.Protocol, len(got.Tools))
		})
	}
}

// withKey adds the key to every request.
type withKey struct{}

func (withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+program.AdminKey)
	return http.DefaultTransport.RoundTrip(r)
}

// walkServer is the Go twin of test/node/tour.mjs.
func walkServer(t *testing.T, tr mcp.Transport, protocol string) seen {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	var (
		mu       sync.Mutex
		asked    int
		progress = make(chan float64, 16)
	)
	client := mcp.NewClient(&mcp.Implementation{Name: "go-sdk", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			mu.Lock()
			defer mu.Unlock()
			asked++
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada", "colour": "green"}}, nil
		},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			progress <- r.Params.Progress
		},
	})
	s, err := client.Connect(ctx, tr, &mcp.ClientSessionOptions{ProtocolVersion: protocol})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()

	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	call := func(name string, args map[string]any, token string) (r result) {
		t.Helper()
		p := &mcp.CallToolParams{Name: name, Arguments: args}
		if token != "" {
			p.SetProgressToken(token)
		}
		res, err := s.CallTool(ctx, p)
		must(err)
		text, err := json.Marshal(res)
		must(err)
		must(json.Unmarshal(text, &r))
		return r
	}
	got := seen{Protocol: s.InitializeResult().ProtocolVersion}
	tools, err := s.ListTools(ctx, nil)
	must(err)
	for _, tool := range tools.Tools {
		got.Tools = append(got.Tools, tool.Name)
	}
	got.Echo = call("demo__echo", map[string]any{"text": "hello, world"}, "")
	got.Add = call("demo__add", map[string]any{"a": 2, "b": 40}, "")
	got.Slow = call("demo__slow", map[string]any{"steps": 3, "delay_ms": 5}, "slow-1")
	// The library hands out notifications beside answers, so they may come later.
	for range 3 {
		select {
		case p := <-progress:
			got.Progress = append(got.Progress, p)
		case <-ctx.Done():
			t.Fatal("progress is missing")
		}
	}
	got.Ask = call("demo__ask", map[string]any{}, "")
	got.Fail = call("demo__fail", map[string]any{}, "")
	if _, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "demo__ecko"}); err != nil {
		got.Unknown = err.Error()
	}
	resources, err := s.ListResources(ctx, nil)
	must(err)
	for _, r := range resources.Resources {
		got.Resources = append(got.Resources, r.URI)
	}
	read, err := s.ReadResource(ctx, &mcp.ReadResourceParams{URI: "demo+demo://readme"})
	must(err)
	convertJSON(t, read, &got.Read)
	templates, err := s.ListResourceTemplates(ctx, nil)
	must(err)
	for _, r := range templates.ResourceTemplates {
		got.Templates = append(got.Templates, r.URITemplate)
	}
	prompts, err := s.ListPrompts(ctx, nil)
	must(err)
	for _, p := range prompts.Prompts {
		got.Prompts = append(got.Prompts, p.Name)
	}
	greet, err := s.GetPrompt(ctx, &mcp.GetPromptParams{Name: "demo__greet", Arguments: map[string]string{"name": "Ada"}})
	must(err)
	convertJSON(t, greet, &got.Prompt)
	completion, err := s.Complete(ctx, &mcp.CompleteParams{
		Ref:      &mcp.CompleteReference{Type: "ref/prompt", Name: "demo__greet"},
		Argument: mcp.CompleteParamsArgument{Name: "name", Value: "A"},
	})
	must(err)
	got.Completion = completion.Completion.Values
	mu.Lock()
	defer mu.Unlock()
	got.Asked = asked
	return got
}

// convertJSON carries a value over by its JSON form.
func convertJSON(t *testing.T, from, to any) {
	t.Helper()
	text, err := json.Marshal(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, to); err != nil {
		t.Fatal(err)
	}
}
