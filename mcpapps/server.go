package mcpapps

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Server adds Apps to a server of the SDK. It is safe for concurrent use.
type Server struct {
	mcp *mcp.Server

	mu    sync.Mutex
	views map[string]*View
}

// New makes s announce the extension, to clients of both eras. Tools that are
// for pages alone are left out of the lists of clients that cannot show pages,
// whose models would see them.
func New(s *mcp.Server) (*Server, error) {
	if s == nil {
		return nil, errors.New("mcpapps: New needs a server")
	}
	s.AddReceivingMiddleware(announce, hide)
	return &Server{mcp: s, views: map[string]*View{}}, nil
}

// AddView adds a View that no tool is bound to. [Tool] adds those it binds.
func (s *Server) AddView(v *View) error {
	if v == nil {
		return errors.New("mcpapps: there is no View to add")
	}
	if err := v.Check(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.views[v.URI] {
	case v:
		return nil
	case nil:
	default:
		return fmt.Errorf("mcpapps: two Views have the address %s", v.URI)
	}
	s.mcp.AddResource(v.Resource(), func(ctx context.Context, _ *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return v.Read(ctx)
	})
	s.views[v.URI] = v
	return nil
}

// Reply is a tool's answer, for its two readers.
type Reply[Out any] struct {
	// Text is what the model reads, and the person whose client shows no pages.
	// Say what the page shows. Left empty, with no Content, it is Data as JSON.
	Text    string
	Content []mcp.Content // more than text, for the same readers

	Data Out      // what the page draws: the result's structuredContent
	Meta mcp.Meta // what else the page is told, outside the tool's schema
}

// Handler runs a tool. An error is told to the model as the result of the call.
type Handler[In, Out any] func(ctx context.Context, req *mcp.CallToolRequest, in In) (Reply[Out], error)

// Tool adds a tool that v shows, and v. Schemas are made from In and Out as
// [mcp.AddTool] makes them. A visibility in t's metadata is kept; t itself is
// not changed.
func Tool[In, Out any](s *Server, v *View, t *mcp.Tool, h Handler[In, Out]) error {
	if err := s.AddView(v); err != nil {
		return err
	}
	meta := ToolMetaOf(t)
	meta.ResourceURI = v.URI
	return addTool(s, t, meta, h)
}

// AppOnly adds a tool that only the server's pages may call: the next page of a
// table, a refresh, a click. No model sees it.
func AppOnly[In, Out any](s *Server, t *mcp.Tool, h Handler[In, Out]) error {
	return addTool(s, t, ToolMeta{Visibility: []Visibility{App}}, h)
}

func addTool[In, Out any](s *Server, t *mcp.Tool, meta ToolMeta, h Handler[In, Out]) (err error) {
	if t == nil || h == nil {
		return errors.New("mcpapps: a tool needs a definition and a handler")
	}
	// The SDK panics over types that it cannot describe.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("mcpapps: tool %q: %v", t.Name, r)
		}
	}()
	bound := *t
	bound.Meta = maps.Clone(t.Meta)
	if bound.Meta == nil {
		bound.Meta = mcp.Meta{}
	}
	maps.Copy(bound.Meta, meta.Meta())
	mcp.AddTool(s.mcp, &bound, func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		r, err := h(ctx, req, in)
		if err != nil {
			return nil, r.Data, err
		}
		return r.result(), r.Data, nil
	})
	return nil
}

func (r Reply[Out]) result() *mcp.CallToolResult {
	res := &mcp.CallToolResult{Meta: r.Meta, Content: r.Content}
	if r.Text != "" {
		res.Content = append([]mcp.Content{&mcp.TextContent{Text: r.Text}}, r.Content...)
	}
	return res
}

// announce adds the extension to what the server says of itself.
func announce(next mcp.MethodHandler) mcp.MethodHandler {
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

// hide leaves tools for pages out of the lists of clients that show none.
func hide(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
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
