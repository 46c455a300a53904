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

// Server adds Apps to a server of the SDK. It is safe for concurrent use.
type Server struct {
	mcp *mcp.Server

	mu    sync.Mutex
	views map[string]*View
	tools map[string]bool // by name
}

// New makes s announce the extension, to clients of both eras. Tools that are
// for pages alone are left out of the lists of clients that cannot show pages,
// whose models would see them; such clients cannot call them either.
func New(s *mcp.Server) (*Server, error) {
	if s == nil {
		return nil, errors.New("mcpapps: New needs a server")
	}
	s.AddReceivingMiddleware(announceExtension, hideAppTools)
	return &Server{mcp: s, views: map[string]*View{}, tools: map[string]bool{}}, nil
}

// AddView adds a View that no tool is bound to. [Tool] adds those it binds. The
// page is read once: one that is missing, empty or no HTML is an error.
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

// pageReadTimeout bounds how long a page may take to be read when it is added.
const pageReadTimeout = 10 * time.Second

// checkPage says what is wrong with a View and its page.
func checkPage(v *View) error {
	if v == nil {
		return errors.New("mcpapps: there is no View to add")
	}
	if err := v.Check(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), pageReadTimeout)
	defer cancel()
	_, err := v.Read(ctx)
	return err
}

// checkUniqueURI refuses a View whose address another has.
func (s *Server) checkUniqueURI(v *View) error {
	if known := s.views[v.URI]; known != nil && known != v {
		return fmt.Errorf("mcpapps: two Views have the address %s", v.URI)
	}
	return nil
}

// addView adds a View that was checked, once.
func (s *Server) addView(v *View) {
	if s.views[v.URI] == v {
		return
	}
	s.mcp.AddResource(v.Resource(), func(ctx context.Context, _ *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return v.Read(ctx)
	})
	s.views[v.URI] = v
}

// Reply is a tool's answer, for its two readers.
type Reply[Out any] struct {
	// Text is what the model reads, and the person whose client shows no pages.
	// Say what the page shows. Left empty, with no Content, it is Data as JSON.
	Text    string
	Content []mcp.Content // more than text, for the same readers

	Data Out      // what the page draws: the result's structuredContent
	Meta mcp.Meta // what else the page is told, outside the tool's schema

	// IsError says that the tool failed. Unlike an error of the handler, such a
	// result has Data for the page.
	IsError bool

	// Input asks the client for what the tool needs to go on: the call is
	// answered with input_required, and nothing else of the Reply but Meta is sent.
	// The client calls again with the answers (req.Params.InputResponses) and State
	// (req.Params.RequestState). A State that must not be changed has to be signed.
	Input mcp.InputRequestMap
	State string
}

// Handler runs a tool. An error is told to the model as the result of the call;
// [Reply.IsError] is for failures that have data.
type Handler[In, Out any] func(ctx context.Context, req *mcp.CallToolRequest, in In) (Reply[Out], error)

// Tool adds a tool that v shows, and v. Schemas are made from In and Out as
// [mcp.AddTool] makes them. A visibility in t's metadata is kept; t itself is
// not changed. After an error neither is added. It is an error when another tool
// that was added here has the name, or when Out is no object: clients of protocol
// versions before 2026-07-28 cannot read the lists of a server that has such a tool.
func Tool[In, Out any](s *Server, v *View, t *mcp.Tool, h Handler[In, Out]) error {
	if err := checkPage(v); err != nil {
		return err
	}
	meta := ToolMetaOf(t)
	meta.ResourceURI = v.URI
	return addTool(s, v, t, meta, h)
}

// AppOnly adds a tool that only the server's pages may call: the next page of a
// table, a refresh, a click. No model sees it.
func AppOnly[In, Out any](s *Server, t *mcp.Tool, h Handler[In, Out]) error {
	return addTool(s, nil, t, ToolMeta{Visibility: []Visibility{App}}, h)
}

// addTool adds a tool, and a View that was checked unless it is nil: both or
// neither.
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
	// The SDK panics over what it cannot describe: here that costs nothing.
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

// tryTool adds a tool to a server that nobody uses.
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

// checkOutput refuses a tool whose output is no object.
func checkOutput[Out any](t *mcp.Tool) error {
	schema := t.OutputSchema
	if schema == nil {
		of := reflect.TypeFor[Out]()
		if of == reflect.TypeFor[any]() {
			return nil // it says nothing of its output
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

func (r Reply[Out]) toResult() *mcp.CallToolResult {
	if r.Input != nil || r.State != "" {
		asked := r.Input
		if asked == nil {
			asked = mcp.InputRequestMap{}
		}
		return &mcp.CallToolResult{Meta: r.Meta, InputRequests: asked, RequestState: r.State}
	}
	res := &mcp.CallToolResult{Meta: r.Meta, Content: r.Content, IsError: r.IsError}
	if r.Text != "" {
		res.Content = append([]mcp.Content{&mcp.TextContent{Text: r.Text}}, r.Content...)
	}
	return res
}

// announceExtension adds the extension to what the server says of itself.
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

// hideAppTools leaves tools for pages out of the lists of clients that show none, and
// lets such clients call them no more than tools that do not exist.
func hideAppTools(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if call, ok := req.(*mcp.CallToolRequest); ok && call.Params != nil && !Supported(call.ClientCapabilities()) {
			if t := findTool(ctx, next, call); t != nil && !ToolMetaOf(t).Visible(Model) {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown tool %q", call.Params.Name)}
			}
		}
		res, err := next(ctx, method, req)
		list, ok := res.(*mcp.ListToolsResult)
		if err != nil || !ok {
			return res, err
		}
		asked, ok := req.(*mcp.ListToolsRequest)
		shows := ok && Supported(asked.ClientCapabilities())
		shown := *list
		shown.Tools = make([]*mcp.Tool, 0, len(list.Tools))
		shown.CacheScope = "private" // it depends on who asks
		for _, t := range list.Tools {
			if shows || ToolMetaOf(t).Visible(Model) {
				shown.Tools = append(shown.Tools, t)
			}
		}
		return &shown, nil
	}
}

// findTool gives the tool that a call names, as the server lists it; nil for none.
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
