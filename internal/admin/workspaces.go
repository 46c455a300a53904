package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/a2ui"
	"github.com/junctor-mcp/junctor/internal/agui"
	"github.com/junctor-mcp/junctor/internal/room"
	"github.com/junctor-mcp/junctor/internal/store"
)

// Rooms is where people and agents talk. Who may be in which is judged behind
// it. *room.Rooms implements it.
type Rooms interface {
	Workspaces(ctx context.Context, p *junctor.Principal) ([]junctor.Workspace, error)
	Workspace(ctx context.Context, p *junctor.Principal, id string) (room.Shown, error)
	AddWorkspace(ctx context.Context, p *junctor.Principal, c room.Change) (junctor.Workspace, error)
	ChangeWorkspace(ctx context.Context, p *junctor.Principal, id string, c room.Change) (room.Shown, error)
	RemoveWorkspace(ctx context.Context, p *junctor.Principal, id string) error
	Messages(ctx context.Context, p *junctor.Principal, id string, f store.MessageFilter) ([]junctor.Message, error)
	Export(ctx context.Context, p *junctor.Principal, id string) (room.Exported, error)
	Tools(ctx context.Context, p *junctor.Principal, id string) ([]room.AgentTools, error)
	Approvals(ctx context.Context, p *junctor.Principal, id string) ([]junctor.CallApproval, error)
	// Say begins a run, which goes on whether its events are read or not.
	Say(ctx context.Context, p *junctor.Principal, id string, in agui.Input) (*room.Feed, error)
	Listen(ctx context.Context, p *junctor.Principal, id string) (*room.Feed, error)
	Stop(ctx context.Context, p *junctor.Principal, id, run string) error
	Report(ctx context.Context, p *junctor.Principal, id, message string, reports []a2ui.ReportError) error
}

// WorkspaceBody is what describes a room. Members that are absent are not
// changed.
type WorkspaceBody struct {
	Name      *string               `json:"name,omitempty" maxLength:"100"`
	Members   *[]MemberBody         `json:"members,omitempty" maxItems:"50" doc:"Agents speak in this order. Who makes a room is in it."`
	Policy    *junctor.TurnPolicy   `json:"policy,omitempty" doc:"Who answers a message that names nobody with @: addressed is nobody, router who fits best, round-robin who is next, all each in turn. Absent in a new room: router."`
	MaxRounds *int                  `json:"max_rounds,omitempty" minimum:"1" maximum:"10" doc:"How often agents may pass the floor after a message. Absent in a new room: 3."`
	Approvals *junctor.RoomApproval `json:"approvals,omitempty" doc:"ask: a person allows each call of a tool that is not read-only. Absent in a new room: ask."`
}

// MemberBody is a member to be.
type MemberBody struct {
	Agent string `json:"agent,omitempty" doc:"An agent, by name. Its owner brings it into a room, or an admin."`
	User  string `json:"user,omitempty" doc:"Or a user, by id or name."`
	Name  string `json:"name,omitempty" doc:"Not looked at: what is read can be sent."`
}

func (b *WorkspaceBody) change() room.Change {
	c := room.Change{Name: b.Name, Policy: b.Policy, MaxRounds: b.MaxRounds, Approvals: b.Approvals}
	if b.Members != nil {
		members := make([]junctor.Member, len(*b.Members))
		for i, m := range *b.Members {
			members[i] = junctor.Member{Agent: m.Agent, User: m.User}
		}
		c.Members = &members
	}
	return c
}

type workspaceID struct {
	ID string `path:"id" maxLength:"32" doc:"The room's id."`
}

type workspacePatch struct {
	Precondition
	ID   string `path:"id" maxLength:"32" doc:"The room's id."`
	Body struct {
		WorkspaceBody
		Forget bool `json:"forget,omitempty" doc:"Ask again for what was allowed for good."`
	}
}

type surfaceReport struct {
	ID      string `path:"id" maxLength:"32" doc:"The room's id."`
	Message string `path:"message" maxLength:"100" doc:"The message's id."`
	Body    reportBody
}

type reportBody struct {
	Errors []surfaceError `json:"errors" minItems:"1" maxItems:"50" nullable:"false"`
}

type surfaceError struct {
	Surface string `json:"surfaceId" maxLength:"200" doc:"Of which surface."`
	Code    string `json:"code,omitempty" maxLength:"100" doc:"What kind of thing, such as UNKNOWN_COMPONENT."`
	Path    string `json:"path,omitempty" maxLength:"500" doc:"Where in the surface, as a JSON pointer."`
	Message string `json:"message" minLength:"1" maxLength:"500" doc:"What, in words."`
}

func (b *reportBody) reports() []a2ui.ReportError {
	out := make([]a2ui.ReportError, len(b.Errors))
	for i, e := range b.Errors {
		out[i] = a2ui.ReportError{Code: e.Code, Surface: e.Surface, Path: e.Path, Message: e.Message}
	}
	return out
}

type messagesQuery struct {
	ID     string `path:"id" maxLength:"32" doc:"The room's id."`
	Before string `query:"before" maxLength:"100" doc:"Only messages before this one, by id."`
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"How many at most."`
}

type searchQuery struct {
	ID     string `path:"id" maxLength:"32" doc:"The room's id."`
	Query  string `query:"q" maxLength:"200" doc:"What to look for in what was said and what tools answered, in whatever case."`
	Before string `query:"before" maxLength:"100" doc:"Only messages before this one, by id."`
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"How many at most."`
}

type exportRoom struct {
	ID     string `path:"id" maxLength:"32" doc:"The room's id."`
	Format string `query:"format" enum:"markdown,json" default:"markdown"`
}

type workspaceRun struct {
	ID   string `path:"id" maxLength:"32" doc:"The room's id."`
	Body json.RawMessage
}

type runID struct {
	ID  string `path:"id" maxLength:"32" doc:"The room's id."`
	Run string `path:"run" maxLength:"100" doc:"The run's id."`
}

type (
	oneWorkspace = versioned[room.Shown]
	newWorkspace struct {
		Location string `header:"Location"`
		ETag     string `header:"ETag"`
		Body     junctor.Workspace
	}
)

// maxRunBody bounds what begins a run: clients send the whole conversation,
// although its last message alone counts.
const maxRunBody = 4 << 20

func (a *api) workspaceRoutes() {
	tags := []string{"workspaces"}
	route(a, huma.Operation{
		OperationID: "list-workspaces", Method: http.MethodGet, Path: "/workspaces", Summary: "List the rooms that one is in", Tags: tags,
	}, func(ctx context.Context, _ *none) (*pageOf[junctor.Workspace], error) {
		list, err := a.Rooms.Workspaces(ctx, caller(ctx))
		return newPage(list, ""), err
	})
	route(a, huma.Operation{
		OperationID: "create-workspace", Method: http.MethodPost, Path: "/workspaces", Summary: "Make a room for people and agents", Tags: tags, DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, in *struct{ Body WorkspaceBody }) (*newWorkspace, error) {
		w, err := a.Rooms.AddWorkspace(ctx, caller(ctx), in.Body.change())
		return &newWorkspace{Prefix + "/workspaces/" + w.ID, tagOf(w.UpdatedAt), w}, err
	})
	route(a, huma.Operation{
		OperationID: "get-workspace", Method: http.MethodGet, Path: "/workspaces/{id}", Summary: "Show a room", Tags: tags,
	}, func(ctx context.Context, in *workspaceID) (*oneWorkspace, error) {
		v, err := a.Rooms.Workspace(ctx, caller(ctx), in.ID)
		return withVersion(v, v.UpdatedAt), err
	})
	route(a, huma.Operation{
		OperationID: "patch-workspace", Method: http.MethodPatch, Path: "/workspaces/{id}", Summary: "Change a room", Tags: tags,
	}, func(ctx context.Context, in *workspacePatch) (*oneWorkspace, error) {
		c := in.Body.change()
		c.Forget = in.Body.Forget
		if c == (room.Change{}) {
			return nil, junctor.Errorf(junctor.CodeInvalid, "the change is empty: say what is to be changed, such as members")
		}
		var err error
		if c.Version, err = in.version(); err != nil {
			return nil, err
		}
		v, err := a.Rooms.ChangeWorkspace(ctx, caller(ctx), in.ID, c)
		return withVersion(v, v.UpdatedAt), a.refuse(ctx, err, func() (stored, error) {
			v, err := a.Rooms.Workspace(ctx, caller(ctx), in.ID)
			return stored{fmt.Sprintf("the room %q", v.Name), v, v.UpdatedAt, v.UpdatedBy}, err
		})
	})
	route(a, huma.Operation{
		OperationID: "delete-workspace", Method: http.MethodDelete, Path: "/workspaces/{id}", Summary: "Delete a room and all that was said in it; the records of calls stay", Tags: tags, DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *workspaceID) (*none, error) {
		return &none{}, a.Rooms.RemoveWorkspace(ctx, caller(ctx), in.ID)
	})
	a.messageRoutes(tags)
	a.roomRunRoutes(tags)
}

func (a *api) messageRoutes(tags []string) {
	route(a, huma.Operation{
		OperationID: "list-messages", Method: http.MethodGet, Path: "/workspaces/{id}/messages", Summary: "Read a room's newest messages, or those before one, oldest first", Tags: tags,
	}, func(ctx context.Context, in *messagesQuery) (*pageOf[junctor.Message], error) {
		list, err := a.Rooms.Messages(ctx, caller(ctx), in.ID, store.MessageFilter{Before: in.Before, Limit: in.Limit})
		return newPage(list, ""), err
	})
	route(a, huma.Operation{
		OperationID: "search-messages", Method: http.MethodGet, Path: "/workspaces/{id}/search", Summary: "Search what was said in a room", Tags: tags,
	}, func(ctx context.Context, in *searchQuery) (*pageOf[junctor.Message], error) {
		list, err := a.Rooms.Messages(ctx, caller(ctx), in.ID, store.MessageFilter{Query: in.Query, Before: in.Before, Limit: in.Limit})
		return newPage(list, ""), err
	})
	text := &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	route(a, huma.Operation{
		OperationID: "export-workspace", Method: http.MethodGet, Path: "/workspaces/{id}/export", Summary: "Export a room with all that was said in it", Tags: tags,
		Responses: map[string]*huma.Response{"200": {Description: "The room, as Markdown, or with format json as JSON.", Content: map[string]*huma.MediaType{"text/markdown": text}}},
	}, func(ctx context.Context, in *exportRoom) (*huma.StreamResponse, error) {
		out, err := a.Rooms.Export(ctx, caller(ctx), in.ID)
		if err != nil {
			return nil, err
		}
		if in.Format == "json" {
			return a.download(ctx, "room-"+in.ID+".json", "application/json", func(w io.Writer) error {
				enc := json.NewEncoder(w)
				enc.SetIndent("", "  ")
				return enc.Encode(out)
			}), nil
		}
		return a.download(ctx, "room-"+in.ID+".md", "text/markdown; charset=utf-8", func(w io.Writer) error {
			_, err := io.WriteString(w, out.Markdown())
			return err
		}), nil
	})
	route(a, huma.Operation{
		OperationID: "list-room-tools", Method: http.MethodGet, Path: "/workspaces/{id}/tools", Summary: "List what the agents of a room may use", Tags: tags,
	}, func(ctx context.Context, in *workspaceID) (*pageOf[room.AgentTools], error) {
		list, err := a.Rooms.Tools(ctx, caller(ctx), in.ID)
		return newPage(list, ""), err
	})
	route(a, huma.Operation{
		OperationID: "list-room-approvals", Method: http.MethodGet, Path: "/workspaces/{id}/approvals", Summary: "List the calls that wait for somebody's word", Tags: tags,
	}, func(ctx context.Context, in *workspaceID) (*pageOf[junctor.CallApproval], error) {
		list, err := a.Rooms.Approvals(ctx, caller(ctx), in.ID)
		return newPage(list, ""), err
	})
}

func (a *api) roomRunRoutes(tags []string) {
	stream := map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeString}}}
	route(a, huma.Operation{
		OperationID: "run-workspace", Method: http.MethodPost, Path: "/workspaces/{id}/runs", Summary: "Say something in a room, or answer what a run waits for, and follow what comes of it", Tags: tags,
		MaxBodyBytes: maxRunBody, BodyReadTimeout: -1,
		Responses: map[string]*huma.Response{"200": {
			Description: "Events of AG-UI 1.0. The body is its RunAgentInput, of which the last message counts, or resume; forwardedProps.agent picks who answers. The run goes on when the stream is closed.", Content: stream,
		}},
	}, func(ctx context.Context, in *workspaceRun) (*huma.StreamResponse, error) {
		said, err := agui.ReadInput(in.Body)
		if err != nil {
			return nil, err
		}
		feed, err := a.Rooms.Say(ctx, caller(ctx), in.ID, said)
		if err != nil {
			return nil, err
		}
		return a.follow(ctx, "run-workspace", feed, nil), nil
	})
	route(a, huma.Operation{
		OperationID: "stream-workspace", Method: http.MethodGet, Path: "/workspaces/{id}/stream", Summary: "Follow what happens in a room", Tags: tags,
		Responses: map[string]*huma.Response{"200": {
			Description: "Events of AG-UI 1.0, of every run: of one that goes on from its beginning, then as they happen, for as long as the caller is in the room.", Content: stream,
		}},
	}, func(ctx context.Context, in *workspaceID) (*huma.StreamResponse, error) {
		feed, err := a.Rooms.Listen(ctx, caller(ctx), in.ID)
		if err != nil {
			return nil, err
		}
		still := func(p *junctor.Principal) error {
			_, err := a.Rooms.Workspace(ctx, p, in.ID)
			return err
		}
		return a.follow(ctx, "stream-workspace", feed, still), nil
	})
	route(a, huma.Operation{
		OperationID: "stop-run", Method: http.MethodPost, Path: "/workspaces/{id}/runs/{run}/stop", Summary: "Stop a run; one that has ended stays as it is", Tags: tags, DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *runID) (*none, error) {
		return &none{}, a.Rooms.Stop(ctx, caller(ctx), in.ID, in.Run)
	})
	route(a, huma.Operation{
		OperationID: "report-surface", Method: http.MethodPost, Path: "/workspaces/{id}/messages/{message}/report", Summary: "Tell what could not be shown of a message's surfaces", Tags: tags, DefaultStatus: http.StatusNoContent,
		Description: "The room says so once, and the agent that showed it hears of it with what is said to it next.",
	}, func(ctx context.Context, in *surfaceReport) (*none, error) {
		return &none{}, a.Rooms.Report(ctx, caller(ctx), in.ID, in.Message, in.Body.reports())
	})
}

// follow sends the events of a feed for as long as whoever asked may see them.
func (a *api) follow(ctx context.Context, operation string, feed *room.Feed, still func(*junctor.Principal) error) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(hctx huma.Context) {
		defer feed.Close()
		r, w := humago.Unwrap(hctx)
		out := newEvents(w)
		if still != nil {
			out.still() // the head, before anything happens
		}
		for {
			list, more := feed.Next(ctx, quiet)
			if len(list) > 0 {
				out.data(list...)
				continue
			}
			if !more || ctx.Err() != nil {
				return
			}
			p, err := a.Authenticate(r)
			if err == nil {
				err = allowed(p, operation)
			}
			if err == nil && still != nil {
				err = still(p)
			}
			if err != nil {
				return // a key or login that has ended, or a member who has left
			}
			out.still()
		}
	}}
}
