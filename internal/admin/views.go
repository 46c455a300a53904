package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

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
	// Mail gives what Views of the session are to hear, and Answer takes what they
	// say to it: the page that shows them carries both.
	Mail(ctx context.Context, p *junctor.Principal, after uint64, wait time.Duration) []junctor.ViewMail
	Answer(p *junctor.Principal, id, ask string, answer junctor.ViewAnswer) error
	// OwnTools and CallOwn are for who acts for the person that looks at the View.
	OwnTools(ctx context.Context, p *junctor.Principal, id string) ([]junctor.ViewTool, error)
	CallOwn(ctx context.Context, p *junctor.Principal, id, tool string, arguments json.RawMessage) (result json.RawMessage, call string, err error)
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

type viewMailQuery struct {
	After uint64 `query:"after" doc:"Only what came after the entry with this seq."`
	Wait  int    `query:"wait" minimum:"0" maximum:"30" default:"0" doc:"How many seconds to wait for the first."`
}

type viewReply struct {
	ID   string `path:"id" maxLength:"40" doc:"The View's id."`
	Ask  string `path:"ask" maxLength:"40" doc:"What was asked, by the ask of the mail."`
	Body junctor.ViewAnswer
}

type viewToolCall struct {
	ID   string `path:"id" maxLength:"40" doc:"The View's id."`
	Tool string `path:"tool" maxLength:"128" doc:"The tool, as the View calls it."`
	Body struct {
		Arguments json.RawMessage `json:"arguments,omitempty" doc:"A JSON object."`
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
	route(a, huma.Operation{
		OperationID: "view-mail", Method: http.MethodGet, Path: "/views/mail", Summary: "What Views of this session are to be told and asked, for the page that shows them", Tags: tags,
	}, func(ctx context.Context, in *viewMailQuery) (*pageOf[junctor.ViewMail], error) {
		return newPage(a.Views.Mail(ctx, caller(ctx), in.After, time.Duration(in.Wait)*time.Second), ""), nil
	})
	route(a, huma.Operation{
		OperationID: "answer-view-mail", Method: http.MethodPost, Path: "/views/{id}/answers/{ask}", Summary: "A View's answer to what it was asked", Tags: tags,
		DefaultStatus: http.StatusNoContent, MaxBodyBytes: 2 * maxViewLog,
	}, func(ctx context.Context, in *viewReply) (*none, error) {
		return &none{}, a.Views.Answer(caller(ctx), in.ID, in.Ask, in.Body)
	})
	route(a, huma.Operation{
		OperationID: "list-view-tools", Method: http.MethodGet, Path: "/views/{id}/tools", Summary: "The tools that an open View has itself", Tags: tags,
	}, func(ctx context.Context, in *viewID) (*pageOf[junctor.ViewTool], error) {
		tools, err := a.Views.OwnTools(ctx, caller(ctx), in.ID)
		return newPage(tools, ""), err
	})
	route(a, huma.Operation{
		OperationID: "call-view-tool", Method: http.MethodPost, Path: "/views/{id}/tools/{tool}/call", Summary: "Call a tool that an open View has itself", Tags: tags,
		MaxBodyBytes: maxCallBody + 1, BodyReadTimeout: -1,
	}, func(ctx context.Context, in *viewToolCall) (*callResult, error) {
		result, _, err := a.Views.CallOwn(ctx, caller(ctx), in.ID, in.Tool, in.Body.Arguments)
		return &callResult{mcpResult(result)}, err
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
