package admin

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
)

// Views runs the Apps that tools bring. internal/apps implements it.
type Views interface {
	// Open reads an App's page and gives it a place to run; View, Views and all
	// that follows know only the Views of the principal's own session.
	Open(ctx context.Context, p *junctor.Principal, in junctor.OpenView) (junctor.View, error)
	Views(p *junctor.Principal) []junctor.View
	View(ctx context.Context, p *junctor.Principal, id string, check bool) (junctor.View, error)
	Close(p *junctor.Principal, id string) error
	// RPC does what a View asks for, through the one pipeline.
	RPC(ctx context.Context, p *junctor.Principal, id, method string, params json.RawMessage) (junctor.ViewAnswer, error)
	AddLog(p *junctor.Principal, id string, entries []junctor.ViewEntry) error
	Log(p *junctor.Principal, id string, after uint64) ([]junctor.ViewEntry, error)
}

type viewInput struct {
	Body struct {
		Tool      string                `json:"tool" minLength:"1" maxLength:"4096" doc:"The tool whose App is to be shown: its exposed name, or with server its own."`
		Server    string                `json:"server,omitempty" maxLength:"32" doc:"The server; then tool is the server's own name."`
		Resource  string                `json:"resource,omitempty" maxLength:"4096" doc:"Another page of the server than the tool's, where the tool's result names one."`
		Agent     string                `json:"agent,omitempty" maxLength:"64" doc:"Act as this agent: its owner and admins may."`
		Call      string                `json:"call,omitempty" maxLength:"64" doc:"The call whose result is shown, as the records know it."`
		Isolation junctor.ViewIsolation `json:"isolation,omitempty" enum:"origin,opaque" doc:"opaque where the browser does not find the View's own name."`
		Fresh     bool                  `json:"fresh,omitempty" doc:"Read the page anew from its server, whatever is kept of it."`
	}
	console string
}

// Resolve notes which page asks: it is the one that may show the View.
func (in *viewInput) Resolve(ctx huma.Context) []error {
	if in.console = ctx.Header("Origin"); in.console != "" {
		return nil
	}
	in.console = "http://" + ctx.Host()
	if ctx.TLS() != nil {
		in.console = "https://" + ctx.Host()
	}
	return nil
}

type viewID struct {
	ID string `path:"id" maxLength:"40" doc:"The View's id."`
}

type viewQuery struct {
	ID    string `path:"id" maxLength:"40" doc:"The View's id."`
	Check bool   `query:"check" doc:"Read the page again, to see whether the server has another by now."`
}

type viewRPC struct {
	ID   string `path:"id" maxLength:"40" doc:"The View's id."`
	Body struct {
		Method string          `json:"method" minLength:"1" maxLength:"200" doc:"What the View asks for, such as tools/call."`
		Params json.RawMessage `json:"params,omitempty" doc:"As MCP has them, under the server's own names."`
	}
}

type viewLog struct {
	ID   string `path:"id" maxLength:"40" doc:"The View's id."`
	Body struct {
		Entries []viewLogEntry `json:"entries" maxItems:"200" nullable:"false"`
	}
}

type viewLogEntry struct {
	Kind   string          `json:"kind" enum:"sent,received,blocked,violation,note" doc:"What happened."`
	Method string          `json:"method,omitempty" maxLength:"200"`
	Detail json.RawMessage `json:"detail,omitempty" doc:"More of it; what has more than 16 KiB is left out."`
}

type viewLogQuery struct {
	ID    string `path:"id" maxLength:"40" doc:"The View's id."`
	After uint64 `query:"after" doc:"Only what came after the entry with this seq."`
}

type (
	oneView    struct{ Body junctor.View }
	viewAnswer struct{ Body junctor.ViewAnswer }
)

// maxViewLog is what one request may add to a log.
const maxViewLog = 1 << 20

func (a *api) viewRoutes() {
	tags := []string{"views"}
	route(a, huma.Operation{
		OperationID: "open-view", Method: http.MethodPost, Path: "/views", Summary: "Open a View: an App of a tool, in a sandbox of its own", Tags: tags,
		DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, in *viewInput) (*oneView, error) {
		view, err := a.Views.Open(ctx, caller(ctx), junctor.OpenView{
			Tool: in.Body.Tool, Server: in.Body.Server, Resource: in.Body.Resource, Agent: in.Body.Agent, Call: in.Body.Call, Isolation: in.Body.Isolation, Fresh: in.Body.Fresh, Console: in.console,
		})
		return &oneView{view}, err
	})
	route(a, huma.Operation{
		OperationID: "list-views", Method: http.MethodGet, Path: "/views", Summary: "List the Views of this session", Tags: tags,
	}, func(ctx context.Context, _ *none) (*pageOf[junctor.View], error) {
		return newPage(a.Views.Views(caller(ctx)), ""), nil
	})
	route(a, huma.Operation{
		OperationID: "get-view", Method: http.MethodGet, Path: "/views/{id}", Summary: "Show a View of this session", Tags: tags,
	}, func(ctx context.Context, in *viewQuery) (*oneView, error) {
		view, err := a.Views.View(ctx, caller(ctx), in.ID, in.Check)
		return &oneView{view}, err
	})
	route(a, huma.Operation{
		OperationID: "close-view", Method: http.MethodDelete, Path: "/views/{id}", Summary: "Close a View", Tags: tags,
		DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *viewID) (*none, error) {
		return &none{}, a.Views.Close(caller(ctx), in.ID)
	})
	route(a, huma.Operation{
		OperationID: "view-rpc", Method: http.MethodPost, Path: "/views/{id}/rpc", Summary: "Do what a View asks for, on its own server", Tags: tags,
		MaxBodyBytes: maxCallBody + 1, BodyReadTimeout: -1,
	}, func(ctx context.Context, in *viewRPC) (*viewAnswer, error) {
		answer, err := a.Views.RPC(ctx, caller(ctx), in.ID, in.Body.Method, in.Body.Params)
		return &viewAnswer{answer}, err
	})
	a.viewLogRoutes(tags)
}

func (a *api) viewLogRoutes(tags []string) {
	route(a, huma.Operation{
		OperationID: "add-view-log", Method: http.MethodPost, Path: "/views/{id}/log", Summary: "Note what the console saw of a View", Tags: tags,
		DefaultStatus: http.StatusNoContent, MaxBodyBytes: maxViewLog + 1,
	}, func(ctx context.Context, in *viewLog) (*none, error) {
		entries := make([]junctor.ViewEntry, len(in.Body.Entries))
		for i, e := range in.Body.Entries {
			entries[i] = junctor.ViewEntry{Kind: e.Kind, Method: e.Method, Detail: e.Detail}
		}
		return &none{}, a.Views.AddLog(caller(ctx), in.ID, entries)
	})
	route(a, huma.Operation{
		OperationID: "get-view-log", Method: http.MethodGet, Path: "/views/{id}/log", Summary: "What happened to a View, oldest first: messages, refusals, violations of its policy", Tags: tags,
	}, func(ctx context.Context, in *viewLogQuery) (*pageOf[junctor.ViewEntry], error) {
		entries, err := a.Views.Log(caller(ctx), in.ID, in.After)
		return newPage(entries, ""), err
	})
}
