package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
)

// Views opens and serves App views. A principal reaches only the App views of its own
// session. internal/apps implements it.
type Views interface {
	// OpenView reads an App's page and gives it an origin to run on.
	OpenView(ctx context.Context, p *junctor.Principal, in junctor.OpenView) (junctor.View, error)
	// ListViews lists the App views of the principal's session.
	ListViews(p *junctor.Principal) []junctor.View
	// GetView returns one App view. With check it reads the page again, to see whether the
	// server has another one by now.
	GetView(ctx context.Context, p *junctor.Principal, id string, check bool) (junctor.View, error)
	// CloseView ends an App view and frees its origin.
	CloseView(p *junctor.Principal, id string) error
	// HandleRPC performs a request of an App view through the guard pipeline.
	HandleRPC(ctx context.Context, p *junctor.Principal, id, method string, params json.RawMessage) (junctor.ViewAnswer, error)
	// FetchMail returns the messages for App views of the session, and AnswerRequest takes
	// their answers. The page that shows the App views carries both.
	FetchMail(ctx context.Context, p *junctor.Principal, after uint64, wait time.Duration) []junctor.ViewMail
	AnswerRequest(p *junctor.Principal, id, ask string, answer junctor.ViewAnswer) error
	// ListOwnTools and CallOwnTool are for a program that acts for the user who looks at
	// the App view.
	ListOwnTools(ctx context.Context, p *junctor.Principal, id string) ([]junctor.ViewTool, error)
	CallOwnTool(ctx context.Context, p *junctor.Principal, id, tool string, arguments json.RawMessage) (result json.RawMessage, call string, err error)
	// AddLogEntries and ReadLog keep what the console saw of an App view, for debugging.
	AddLogEntries(p *junctor.Principal, id string, entries []junctor.ViewEntry) error
	ReadLog(p *junctor.Principal, id string, after uint64) ([]junctor.ViewEntry, error)
}

// viewInput is the request that opens an App view.
type viewInput struct {
	Body struct {
		Tool      string                `json:"tool" minLength:"1" maxLength:"4096" doc:"Tool whose App is opened: its exposed name, or its name at the server if server is set."`
		Server    string                `json:"server,omitempty" maxLength:"32" doc:"ID of the server. If set, tool is the name at the server."`
		Resource  string                `json:"resource,omitempty" maxLength:"4096" doc:"Another page of the same server that the tool's result names."`
		Agent     string                `json:"agent,omitempty" maxLength:"64" doc:"Agent to act as. Allowed for its owner and admins."`
		Call      string                `json:"call,omitempty" maxLength:"64" doc:"ID of the call whose result the App view shows."`
		Isolation junctor.ViewIsolation `json:"isolation,omitempty" enum:"origin,opaque" doc:"Isolation of the App view. Use opaque if the browser cannot resolve the App view's own host name."`
		Fresh     bool                  `json:"fresh,omitempty" doc:"Read the page from its server again, bypassing the cache."`
	}
}

// consoleOrigin returns the origin of the console page that makes a request. Only that page
// may show the App view that the request opens.
func consoleOrigin(r *http.Request) string {
	if origin := r.Header.Get("Origin"); origin != "" {
		return origin
	}
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// viewID is the path of one App view.
type viewID struct {
	ID string `path:"id" maxLength:"40" doc:"ID of the App view."`
}

// viewQuery is the query of get-view.
type viewQuery struct {
	ID    string `path:"id" maxLength:"40" doc:"ID of the App view."`
	Check bool   `query:"check" doc:"Read the page again to check whether the server changed it."`
}

// viewRPC is a request of an App view to its server.
type viewRPC struct {
	ID   string `path:"id" maxLength:"40" doc:"ID of the App view."`
	Body struct {
		Method string          `json:"method" minLength:"1" maxLength:"200" doc:"MCP method that the App view requests, such as tools/call."`
		Params json.RawMessage `json:"params,omitempty" doc:"Parameters as defined by MCP, with names and URIs of the server."`
	}
}

// viewMailQuery is the query of view-mail.
type viewMailQuery struct {
	After uint64 `query:"after" doc:"Only entries after the entry with this seq."`
	Wait  int    `query:"wait" minimum:"0" maximum:"30" default:"0" doc:"Maximum time to wait for the first entry, in seconds."`
}

// viewReply is an App view's answer to a request.
type viewReply struct {
	ID   string `path:"id" maxLength:"40" doc:"ID of the App view."`
	Ask  string `path:"ask" maxLength:"40" doc:"The ask of the entry that the App view answers."`
	Body junctor.ViewAnswer
}

// viewToolCall is the request that calls a tool of an App view.
type viewToolCall struct {
	ID   string `path:"id" maxLength:"40" doc:"ID of the App view."`
	Tool string `path:"tool" maxLength:"128" doc:"The tool's name in the App view."`
	Body struct {
		Arguments json.RawMessage `json:"arguments,omitempty" doc:"Arguments as a JSON object."`
	}
}

// viewLog is the request that adds entries to an App view's log.
type viewLog struct {
	ID   string `path:"id" maxLength:"40" doc:"ID of the App view."`
	Body struct {
		Entries []viewLogEntry `json:"entries" maxItems:"200" nullable:"false"`
	}
}

// viewLogEntry is one entry of viewLog.
type viewLogEntry struct {
	Kind   string          `json:"kind" enum:"sent,received,blocked,violation,note" doc:"Type of the event."`
	Method string          `json:"method,omitempty" maxLength:"200"`
	Detail json.RawMessage `json:"detail,omitempty" doc:"Details of the entry. Details above 16 KiB are left out."`
}

// viewListQuery is the query of list-view-tools.
type viewListQuery struct {
	ListQuery
	ID string `path:"id" maxLength:"40" doc:"ID of the App view."`
}

// viewLogQuery is the query of get-view-log.
type viewLogQuery struct {
	ListQuery
	ID    string `path:"id" maxLength:"40" doc:"ID of the App view."`
	After uint64 `query:"after" doc:"Only entries after the entry with this seq."`
}

type (
	viewResponse struct{ Body junctor.View }
	viewAnswer   struct{ Body junctor.ViewAnswer }
)

// maxViewLog bounds a request that adds to a log.
const maxViewLog = 1 << 20

// registerViewRoutes registers the routes below /views.
func (a *api) registerViewRoutes() {
	tags := []string{"views"}
	registerRoute(a, huma.Operation{
		OperationID: "open-view", Method: http.MethodPost, Path: "/views", Summary: "Open an App view: the App of a tool, in its own sandbox", Tags: tags,
		DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, in *viewInput) (*viewResponse, error) {
		view, err := a.Views.OpenView(ctx, callerOf(ctx), junctor.OpenView{
			Tool: in.Body.Tool, Server: in.Body.Server, Resource: in.Body.Resource, Agent: in.Body.Agent, Call: in.Body.Call, Isolation: in.Body.Isolation, Fresh: in.Body.Fresh, Console: consoleOrigin(requestOf(ctx)),
		})
		return &viewResponse{view}, err
	})
	registerList(a, huma.Operation{
		OperationID: "list-views", Method: http.MethodGet, Path: "/views", Summary: "List the App views of this session", Tags: tags,
	}, viewList(), func(ctx context.Context, _ *ListQuery) ([]junctor.View, error) {
		return a.Views.ListViews(callerOf(ctx)), nil
	})
	registerRoute(a, huma.Operation{
		OperationID: "get-view", Method: http.MethodGet, Path: "/views/{id}", Summary: "Show an App view of this session", Tags: tags,
	}, func(ctx context.Context, in *viewQuery) (*viewResponse, error) {
		view, err := a.Views.GetView(ctx, callerOf(ctx), in.ID, in.Check)
		return &viewResponse{view}, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "close-view", Method: http.MethodDelete, Path: "/views/{id}", Summary: "Close an App view", Tags: tags,
		DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *viewID) (*empty, error) {
		return &empty{}, a.Views.CloseView(callerOf(ctx), in.ID)
	})
	registerRoute(a, huma.Operation{
		OperationID: "view-rpc", Method: http.MethodPost, Path: "/views/{id}/rpc", Summary: "Make a request of an App view to its own server", Tags: tags,
		MaxBodyBytes: maxCallBody + 1, BodyReadTimeout: -1,
	}, func(ctx context.Context, in *viewRPC) (*viewAnswer, error) {
		answer, err := a.Views.HandleRPC(ctx, callerOf(ctx), in.ID, in.Body.Method, in.Body.Params)
		return &viewAnswer{answer}, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "view-mail", Method: http.MethodGet, Path: "/views/mail", Summary: "List the notifications and requests for the App views of this session, for the page that shows them", Tags: tags,
	}, func(ctx context.Context, in *viewMailQuery) (*pageResponse[junctor.ViewMail], error) {
		return newPage(a.Views.FetchMail(ctx, callerOf(ctx), in.After, time.Duration(in.Wait)*time.Second), ""), nil
	})
	registerRoute(a, huma.Operation{
		OperationID: "answer-view-mail", Method: http.MethodPost, Path: "/views/{id}/answers/{ask}", Summary: "Send an App view's answer to a request", Tags: tags,
		DefaultStatus: http.StatusNoContent, MaxBodyBytes: 2 * maxViewLog,
	}, func(ctx context.Context, in *viewReply) (*empty, error) {
		return &empty{}, a.Views.AnswerRequest(callerOf(ctx), in.ID, in.Ask, in.Body)
	})
	registerList(a, huma.Operation{
		OperationID: "list-view-tools", Method: http.MethodGet, Path: "/views/{id}/tools", Summary: "List the tools that an open App view provides", Tags: tags,
	}, viewToolList(), func(ctx context.Context, in *viewListQuery) ([]junctor.ViewTool, error) {
		tools, err := a.Views.ListOwnTools(ctx, callerOf(ctx), in.ID)
		return tools, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "call-view-tool", Method: http.MethodPost, Path: "/views/{id}/tools/{tool}/call", Summary: "Call a tool that an open App view provides", Tags: tags,
		MaxBodyBytes: maxCallBody + 1, BodyReadTimeout: -1,
	}, func(ctx context.Context, in *viewToolCall) (*callResult, error) {
		result, _, err := a.Views.CallOwnTool(ctx, callerOf(ctx), in.ID, in.Tool, in.Body.Arguments)
		return &callResult{mcpResult(result)}, err
	})
	a.registerViewLogRoutes(tags)
}

// registerViewLogRoutes registers the routes of an App view's log.
func (a *api) registerViewLogRoutes(tags []string) {
	registerRoute(a, huma.Operation{
		OperationID: "add-view-log", Method: http.MethodPost, Path: "/views/{id}/log", Summary: "Add an entry of the console to an App view's log", Tags: tags,
		DefaultStatus: http.StatusNoContent, MaxBodyBytes: maxViewLog + 1,
	}, func(ctx context.Context, in *viewLog) (*empty, error) {
		entries := make([]junctor.ViewEntry, len(in.Body.Entries))
		for i, e := range in.Body.Entries {
			entries[i] = junctor.ViewEntry{Kind: e.Kind, Method: e.Method, Detail: e.Detail}
		}
		return &empty{}, a.Views.AddLogEntries(callerOf(ctx), in.ID, entries)
	})
	registerList(a, huma.Operation{
		OperationID: "get-view-log", Method: http.MethodGet, Path: "/views/{id}/log", Summary: "List the log of an App view, oldest first: messages, refused requests and policy violations", Tags: tags,
	}, viewEntryList(), func(ctx context.Context, in *viewLogQuery) ([]junctor.ViewEntry, error) {
		entries, err := a.Views.ReadLog(callerOf(ctx), in.ID, in.After)
		return entries, err
	})
}

// viewList is the shape of list-views.
func viewList() listShape[junctor.View] {
	return listShape[junctor.View]{
		id: func(v *junctor.View) string { return v.ID },
		orders: []listOrder[junctor.View]{
			byTime("opened_at", func(v *junctor.View) time.Time { return v.OpenedAt }),
			byText("name", func(v *junctor.View) string { return v.Name }),
		},
		text: func(v *junctor.View) []string { return []string{v.Name, v.Title} },
	}
}

// viewToolList is the shape of list-view-tools.
func viewToolList() listShape[junctor.ViewTool] {
	return listShape[junctor.ViewTool]{
		id: func(v *junctor.ViewTool) string { return v.Name },
		orders: []listOrder[junctor.ViewTool]{
			byText("name", func(v *junctor.ViewTool) string { return v.Name }),
		},
		text: func(v *junctor.ViewTool) []string { return []string{v.Name} },
	}
}

// viewEntryList is the shape of get-view-log.
func viewEntryList() listShape[junctor.ViewEntry] {
	return listShape[junctor.ViewEntry]{
		id: func(v *junctor.ViewEntry) string { return fmt.Sprintf("%020d", v.Seq) },
		orders: []listOrder[junctor.ViewEntry]{
			byNumber("seq", func(v *junctor.ViewEntry) int64 { return int64(min(v.Seq, math.MaxInt64)) }),
		},
		text: func(v *junctor.ViewEntry) []string { return []string{v.Kind, v.Method} },
	}
}
