package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/egress"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// everyone is what a client declares that can be asked anything.
const everyone = `{"elicitation":{},"sampling":{},"roots":{"listChanged":true}}`

// newServer makes a Server for an address on this machine.
func newServer(t testing.TB, at string, edit ...func(*Options)) *Server {
	t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	out, err := egress.New(egress.Options{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	o := Options{
		ID: "peer", Transport: TransportHTTP, URL: u, Logger: slog.New(slog.DiscardHandler), Version: "1.2.3",
		Client: out.Client(egress.ClientOptions{}), StreamClient: out.Client(egress.ClientOptions{Timeout: -1, MaxBytes: -1}),
	}
	for _, e := range edit {
		e(&o)
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		o.Client.CloseIdleConnections()
		o.StreamClient.CloseIdleConnections()
	})
	return s
}

// peerServer is an official server with tools that do all a server can.
type peerServer struct {
	*mcp.Server
	cancelled chan struct{} // a call of wait was cancelled
	running   chan struct{} // a call of wait runs
}

func text(format string, args ...any) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}}
}

func newPeer() *peerServer {
	p := &peerServer{cancelled: make(chan struct{}, 16), running: make(chan struct{}, 16)}
	p.Server = mcp.NewServer(&mcp.Implementation{Name: "peer", Version: "7"}, &mcp.ServerOptions{
		Instructions: "be kind", PageSize: 3,
		Capabilities: &mcp.ServerCapabilities{Logging: &mcp.LoggingCapabilities{}}, //nolint:staticcheck // deprecated, and in use
		CompletionHandler: func(_ context.Context, r *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{r.Params.Ref.Name + r.Params.Ref.URI + ":" + r.Params.Argument.Value}}}, nil
		},
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	tool := func(name string, h mcp.ToolHandler) {
		p.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, h)
	}
	tool("echo", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return text("%s", r.Params.Arguments), nil
	})
	tool("fail", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		res := text("no")
		res.IsError = true
		return res, nil
	})
	tool("progress", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := 1; i <= 3; i++ {
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i), Total: 3})
		}
		return text("done"), nil
	})
	tool("log", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		_ = r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: "quiet"}) //nolint:staticcheck // deprecated, and in use
		_ = r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "error", Data: "loud"}) //nolint:staticcheck // deprecated, and in use
		return text("done"), nil
	})
	tool("wait", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		p.running <- struct{}{}
		select {
		case <-ctx.Done():
			p.cancelled <- struct{}{}
			return nil, ctx.Err()
		case <-time.After(30 * time.Second): // the test has failed
			return nil, context.DeadlineExceeded
		}
	})
	tool("elicit", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		res, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "name?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"string"}}}`)})
		if err != nil {
			return nil, err
		}
		return text("%s %v", res.Action, res.Content["n"]), nil
	})
	tool("rounds", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		all := ""
		for i := range 3 {
			res, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: fmt.Sprint("round ", i), RequestedSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"string"}}}`)})
			if err != nil {
				return nil, err
			}
			all += fmt.Sprint(res.Content["n"])
		}
		return text("%s", all), nil
	})
	tool("everything", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var wg sync.WaitGroup
		var said, rooted string
		wg.Go(func() {
			res, err := r.Session.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 5, Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "hi"}}}}) //nolint:staticcheck // deprecated, and in use
			if err == nil {
				said = res.Content.(*mcp.TextContent).Text
			}
		})
		wg.Go(func() {
			res, err := r.Session.ListRoots(ctx, nil) //nolint:staticcheck // deprecated, and in use
			if err == nil && len(res.Roots) == 1 {
				rooted = res.Roots[0].URI
			}
		})
		wg.Wait()
		return text("%s %s", said, rooted), nil
	})
	p.AddResource(&mcp.Resource{URI: "test://one", Name: "one"}, func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Text: "content"}}}, nil
	})
	p.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "test://t/{id}", Name: "t"}, func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		if r.Params.URI == "test://t/none" {
			return nil, mcp.ResourceNotFoundError(r.Params.URI)
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Text: "templated"}}}, nil
	})
	p.AddPrompt(&mcp.Prompt{Name: "greet"}, func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Description: "hello " + r.Params.Arguments["who"]}, nil
	})
	return p
}

// addMRTR gives a modern server a tool that asks by its results.
func (p *peerServer) addMRTR() {
	p.AddTool(&mcp.Tool{Name: "mrtr", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		switch r.Params.RequestState {
		case "":
			return &mcp.CallToolResult{RequestState: "one", InputRequests: mcp.InputRequestMap{"first-key": &mcp.ElicitParams{Message: "a?", RequestedSchema: json.RawMessage(`{"type":"object"}`)}}}, nil
		case "one":
			if _, ok := r.Params.InputResponses["first-key"]; !ok {
				return nil, fmt.Errorf("no answer under the first key")
			}
			return &mcp.CallToolResult{RequestState: "two", InputRequests: mcp.InputRequestMap{"second-key": &mcp.ElicitParams{Message: "b?", RequestedSchema: json.RawMessage(`{"type":"object"}`)}}}, nil
		}
		return text("state %s, %d answers", r.Params.RequestState, len(r.Params.InputResponses)), nil
	})
}

// legacy, modern and sse serve a peer over each transport.
func (p *peerServer) legacy(t testing.TB, o *mcp.StreamableHTTPOptions) string {
	t.Helper()
	p.endAfter(t)
	return serve(t, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return p.Server }, o))
}

func (p *peerServer) modern(t testing.TB) string {
	t.Helper()
	return p.legacy(t, &mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true})
}

func (p *peerServer) sse(t testing.TB) string {
	t.Helper()
	p.endAfter(t)
	return serve(t, mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return p.Server }, nil))
}

// endAfter ends what sessions are left after the test: those whose end did not
// reach the server.
func (p *peerServer) endAfter(t testing.TB) {
	t.Helper()
	t.Cleanup(func() {
		for ss := range p.Sessions() {
			_ = ss.Close()
		}
	})
}

func serve(t testing.TB, h http.Handler) string {
	t.Helper()
	hs := httptest.NewServer(h)
	t.Cleanup(func() {
		hs.CloseClientConnections()
		hs.Close()
	})
	return hs.URL
}

// notes is a sink that remembers.
type notes struct {
	mu       sync.Mutex
	progress []string
	logs     []string
}

func (n *notes) Progress(params []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.progress = append(n.progress, string(params))
}

func (n *notes) Log(_ string, params []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.logs = append(n.logs, string(params))
}

func ctxFor(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// toolCall is a request as the pipeline makes it.
func toolCall(name, arguments string) *catalog.Request {
	params := []byte(`{"name":"shown__` + name + `","arguments":` + arguments + `}`)
	return &catalog.Request{
		CallID: "c", Kind: junctor.KindTool, Name: name, Params: params, Arguments: wire.Get(params, "arguments"),
		Principal: &junctor.Principal{Tenant: "default", Issuer: "key", Subject: "k1"}, Caller: catalog.Caller{Protocol: wire.ModernVersion},
	}
}

func do(t testing.TB, s *Server, req *catalog.Request) catalog.Result {
	t.Helper()
	res, err := s.Do(ctxFor(t), req, &notes{})
	if err != nil {
		t.Fatalf("%s: %v", req.Name, err)
	}
	return res
}

// textOf is the text of a tool's result.
func textOf(t testing.TB, res catalog.Result) string {
	t.Helper()
	for item := range wire.Elements(wire.Get(res.Body, "content")) {
		s, _ := wire.String(wire.Get(item, "text"))
		return s
	}
	t.Fatalf("no text in %s", res.Body)
	return ""
}

// retry answers all questions of a result, as a modern client does.
func retry(req *catalog.Request, res catalog.Result, answer func(key, method string) string) *catalog.Request {
	next := *req
	out := []byte{'{'}
	for key, q := range wire.Members(wire.Get(res.Body, "inputRequests")) {
		method, _ := wire.String(wire.Get(q, "method"))
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = fmt.Appendf(out, `"%s":%s`, key, answer(string(key), method))
	}
	out = append(out, '}')
	next.Input.Responses = out
	next.Input.State, _ = wire.String(wire.Get(res.Body, "requestState"))
	return &next
}

// callerOf is a call of one party, in a session of its own.
func callerOf(party, session string) *catalog.Request {
	req := toolCall("echo", `{}`)
	req.Principal = &junctor.Principal{Tenant: "default", Issuer: "key", Subject: party}
	req.Caller.Session = session
	return req
}
