package mcpapps

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Server adds Apps to an SDK server. It is safe for concurrent use.
type Server struct {
	mcp *mcp.Server

	mu    sync.Mutex
	views map[string]*View
	tools map[string]bool // names of the tools that were added here
}

// New makes s announce the extension to clients with and without sessions. It also
// hides tools that only pages may call from clients that cannot show pages, because
// such a client would offer them to its model. Such a client cannot call them
// either.
func New(s *mcp.Server) (*Server, error) {
	if s == nil {
		return nil, errors.New("mcpapps: New needs a server")
	}
	s.AddReceivingMiddleware(announceExtension, hideAppTools)
	return &Server{mcp: s, views: map[string]*View{}, tools: map[string]bool{}}, nil
}

// AddView adds a View without a tool; [AddTool] adds the View that it binds. It reads
// the page once: a page that is missing, empty or not HTML is an error.
func (s *Server) AddView(v *View) error {
	if err := checkPage(v); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkUniqueURI(v); err != nil {
		return err
	}
	s.addView(v)
	return nil
}

// pageReadTimeout bounds the time to read a page when it is added.
const pageReadTimeout = 10 * time.Second

// checkPage checks a View and reads its page once.
func checkPage(v *View) error {
	if v == nil {
		return errors.New("mcpapps: there is no View to add")
	}
	if err := v.Validate(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), pageReadTimeout)
	defer cancel()
	_, err := v.ReadResource(ctx)
	return err
}

// checkUniqueURI rejects a View whose URI another View has. The caller holds s.mu.
func (s *Server) checkUniqueURI(v *View) error {
	if known := s.views[v.URI]; known != nil && known != v {
		return fmt.Errorf("mcpapps: two Views have the address %s", v.URI)
	}
	return nil
}

// addView adds a checked View, unless it was added before. The caller holds s.mu.
func (s *Server) addView(v *View) {
	if s.views[v.URI] == v {
		return
	}
	s.mcp.AddResource(v.Resource(), func(ctx context.Context, _ *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return v.ReadResource(ctx)
	})
	s.views[v.URI] = v
}

// Reply is the answer of a tool, for the model and for the page.
type Reply[Out any] struct {
	// Text is for the model, and for people whose client shows no pages. It should
	// say what the page shows. If Text and Content are empty, Data is sent as JSON.
	Text    string
	Content []mcp.Content // content beside Text, for the same readers

	Data Out      // for the page: the result's structuredContent
	Meta mcp.Meta // more for the page, outside the tool's output schema

	// IsError means that the tool failed. Unlike an error of the handler, such a
	// result has Data for the page.
	IsError bool

	// InputRequests asks the client for information that the tool needs. The call is then
	// answered with input_required, and only Meta is sent beside it. The client
	// calls again with the answers (req.Params.InputResponses) and RequestState
	// (req.Params.RequestState). The client can change RequestState, so sign it if
	// that matters.
	InputRequests mcp.InputRequestMap
	RequestState  string
}

// Handler runs a tool. The model reads an error as the result of the call; use
// [Reply.IsError] for failures that have data.
type Handler[In, Out any] func(ctx context.Context, req *mcp.CallToolRequest, in In) (Reply[Out], error)

// AddTool adds a tool and the View v that shows its results. It derives schemas from
// In and Out like [mcp.AddTool], and keeps a visibility in t's metadata. It does
// not change t. If it fails, it adds neither.
//
// It is an error if a tool of that name was added here, or if Out is not an object:
// clients of protocol versions before 2026-07-28 cannot read the tool list of a
// server that has such a tool.
func AddTool[In, Out any](s *Server, v *View, t *mcp.Tool, h Handler[In, Out]) error {
	if err := checkPage(v); err != nil {
		return err
	}
	meta := ToolMetaOf(t)
	meta.ResourceURI = v.URI
	return addTool(s, v, t, meta, h)
}

// AddAppOnlyTool adds a tool that only the server's pages may call, for example to fetch
// the next page of a table. No model sees it.
func AddAppOnlyTool[In, Out any](s *Server, t *mcp.Tool, h Handler[In, Out]) error {
	return addTool(s, nil, t, ToolMeta{Visibility: []Visibility{VisibleToApp}}, h)
}

// addTool adds a tool, and a checked View unless it is nil: both or neither.
func addTool[In, Out any](s *Server, v *View, t *mcp.Tool, meta ToolMeta, h Handler[In, Out]) error {
	if t == nil || h == nil {
		return errors.New("mcpapps: a tool needs a definition and a handler")
	}
	if err := checkOutput[Out](t); err != nil {
		return err
	}
	bound := *t
	bound.Meta = maps.Clone(t.Meta)
	if bound.Meta == nil {
		bound.Meta = mcp.Meta{}
	}
	maps.Copy(bound.Meta, meta.Meta())
	run := func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		r, err := h(ctx, req, in)
		if err != nil {
			return nil, r.Data, err
		}
		return r.toResult(), r.Data, nil
	}
	// The SDK panics if it cannot derive a schema. On a trial server that does no harm.
	trial := mcp.NewServer(&mcp.Implementation{Name: "trial", Version: "1"}, nil)
	if err := tryTool(trial, &bound, run); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tools[t.Name] {
		return fmt.Errorf("mcpapps: two tools have the name %q", t.Name)
	}
	if v != nil {
		if err := s.checkUniqueURI(v); err != nil {
			return err
		}
		s.addView(v)
	}
	s.tools[t.Name] = true
	mcp.AddTool(s.mcp, &bound, run)
	return nil
}

// tryTool adds a tool to a server without clients, and turns a panic into an error.
func tryTool[In, Out any](trial *mcp.Server, t *mcp.Tool, run mcp.ToolHandlerFor[In, Out]) (err error) {
	if t.Name == "" {
		return errors.New("mcpapps: a tool needs a name")
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("mcpapps: tool %q: %v", t.Name, r)
		}
	}()
	mcp.AddTool(trial, t, run)
	return nil
}

// checkOutput rejects a tool whose output is not an object.
func checkOutput[Out any](t *mcp.Tool) error {
	schema := t.OutputSchema
	if schema == nil {
		of := reflect.TypeFor[Out]()
		if of == reflect.TypeFor[any]() {
			return nil // no output schema
		}
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		made, err := jsonschema.ForType(of, &jsonschema.ForOptions{})
		if err != nil {
			return fmt.Errorf("mcpapps: tool %q: its output: %w", t.Name, err)
		}
		schema = made
	}
	data, err := json.Marshal(schema)
	if err != nil {
		return fmt.Errorf("mcpapps: tool %q: its output schema: %w", t.Name, err)
	}
	var root struct {
		Type any `json:"type"`
	}
	if json.Unmarshal(data, &root) != nil || root.Type != "object" {
		return fmt.Errorf("mcpapps: tool %q: its output is no object; put it into a member of a struct", t.Name)
	}
	return nil
}

// toResult converts the reply to the SDK's result. The SDK adds the data.
func (r Reply[Out]) toResult() *mcp.CallToolResult {
	if r.InputRequests != nil || r.RequestState != "" {
		asked := r.InputRequests
		if asked == nil {
			asked = mcp.InputRequestMap{}
		}
		return &mcp.CallToolResult{Meta: r.Meta, InputRequests: asked, RequestState: r.RequestState}
	}
	res := &mcp.CallToolResult{Meta: r.Meta, Content: r.Content, IsError: r.IsError}
	if r.Text != "" {
		res.Content = append([]mcp.Content{&mcp.TextContent{Text: r.Text}}, r.Content...)
	}
	return res
}

// announceExtension adds the extension to the capabilities that the server
// announces, in the answers to initialize and server/discover.
func announceExtension(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		switch r := res.(type) {
		case *mcp.InitializeResult:
			if err == nil && r.Capabilities != nil {
				DeclareServer(r.Capabilities)
			}
		case *mcp.DiscoverResult:
			if err == nil && r.Capabilities != nil {
				DeclareServer(r.Capabilities)
			}
		}
		return res, err
	}
}

// hideAppTools removes tools for pages from the lists of clients that show none.
// For such clients, a call of one fails like a call of a tool that does not exist.
func hideAppTools(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if call, ok := req.(*mcp.CallToolRequest); ok && call.Params != nil && !ClientSupportsApps(call.ClientCapabilities()) {
			if t := findTool(ctx, next, call); t != nil && !ToolMetaOf(t).IsVisibleTo(VisibleToModel) {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown tool %q", call.Params.Name)}
			}
		}
		res, err := next(ctx, method, req)
		list, ok := res.(*mcp.ListToolsResult)
		if err != nil || !ok {
			return res, err
		}
		asked, ok := req.(*mcp.ListToolsRequest)
		shows := ok && ClientSupportsApps(asked.ClientCapabilities())
		shown := *list
		shown.Tools = make([]*mcp.Tool, 0, len(list.Tools))
		shown.CacheScope = "private" // the list depends on the client
		for _, t := range list.Tools {
			if shows || ToolMetaOf(t).IsVisibleTo(VisibleToModel) {
				shown.Tools = append(shown.Tools, t)
			}
		}
		return &shown, nil
	}
}

// findTool returns the tool that a call names, from the server's own list; nil if
// there is none.
func findTool(ctx context.Context, next mcp.MethodHandler, call *mcp.CallToolRequest) *mcp.Tool {
	params := &mcp.ListToolsParams{}
	for {
		res, err := next(ctx, "tools/list", &mcp.ListToolsRequest{Session: call.Session, Params: params, Extra: call.Extra})
		list, ok := res.(*mcp.ListToolsResult)
		if err != nil || !ok {
			return nil
		}
		for _, t := range list.Tools {
			if t.Name == call.Params.Name {
				return t
			}
		}
		if list.NextCursor == "" {
			return nil
		}
		params = &mcp.ListToolsParams{Cursor: list.NextCursor}
	}
}
