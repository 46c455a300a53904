package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/a2ui"
	"github.com/junctor-mcp/junctor/internal/agui"
	"github.com/junctor-mcp/junctor/internal/room"
)

// Rooms are conversations of users and agents. The implementation judges which principal
// may use which room. *room.Rooms implements it.
type Rooms interface {
	// List returns the rooms that the principal is in.
	List(ctx context.Context, p *junctor.Principal) ([]junctor.Room, error)
	// Get returns one room; not_found if the principal is not in it.
	Get(ctx context.Context, p *junctor.Principal, id string) (room.Details, error)
	// Create makes a room that the principal is in.
	Create(ctx context.Context, p *junctor.Principal, c room.Settings) (junctor.Room, error)
	// Update changes the members of c that are set. If c.Version is not zero, the room has
	// to have that version; otherwise the error is precondition.
	Update(ctx context.Context, p *junctor.Principal, id string, c room.Settings) (room.Details, error)
	// Delete deletes a room with its messages. The records of calls stay.
	Delete(ctx context.Context, p *junctor.Principal, id string) error
	// MessagePage returns a page of messages, with one more if there is another page, and
	// the number of messages of all pages.
	MessagePage(ctx context.Context, p *junctor.Principal, id string, page *junctor.RowPage) ([]junctor.Message, junctor.RowTotal, error)
	// Export returns a room with all its messages.
	Export(ctx context.Context, p *junctor.Principal, id string) (room.Transcript, error)
	// Tools lists the tools that the agents of a room may use.
	Tools(ctx context.Context, p *junctor.Principal, id string) ([]room.AgentTools, error)
	// Approvals lists the calls that wait for a decision.
	Approvals(ctx context.Context, p *junctor.Principal, id string) ([]junctor.CallApproval, error)
	// StartRun begins a run, which continues whether or not its events are read.
	StartRun(ctx context.Context, p *junctor.Principal, id string, in agui.Input) (*room.Feed, error)
	// Subscribe follows all runs of a room. The caller has to close the feed, as with
	// StartRun.
	Subscribe(ctx context.Context, p *junctor.Principal, id string) (*room.Feed, error)
	// StopRun stops a run; one that has ended stays as it is.
	StopRun(ctx context.Context, p *junctor.Principal, id, run string) error
	// ReportErrors records the surfaces of a message that a client could not render.
	ReportErrors(ctx context.Context, p *junctor.Principal, id, message string, reports []a2ui.RenderError) error
}

// RoomBody describes a room. In a change, absent members stay as they are.
type RoomBody struct {
	Name      *string               `json:"name,omitempty" maxLength:"100"`
	Members   *[]MemberBody         `json:"members,omitempty" maxItems:"50" doc:"Members of the room. Agents answer in this order. The creator of a room is always a member."`
	Policy    *junctor.TurnPolicy   `json:"policy,omitempty" doc:"Who answers a message without an @ mention: addressed (nobody), router (the agent that fits best), round-robin (the next agent) or all (each agent in order). By default, a new room has router."`
	MaxRounds *int                  `json:"max_rounds,omitempty" minimum:"1" maximum:"10" doc:"Maximum number of times that agents can pass the floor after a message. By default, a new room has 3."`
	Approvals *junctor.RoomApproval `json:"approvals,omitempty" doc:"Approvals of calls. With ask, a user approves each call of a tool that is not read-only. By default, a new room has ask."`
}

// MemberBody is a member of a room: an agent or a user.
type MemberBody struct {
	Agent string `json:"agent,omitempty" doc:"Name of an agent. Only its owner or an admin can add it to a room."`
	User  string `json:"user,omitempty" doc:"ID or name of a user, instead of agent."`
	Name  string `json:"name,omitempty" doc:"Ignored; accepted so that you can send a room back as you read it."`
}

// toSettings returns the settings of package room that the body stands for.
func (b *RoomBody) toSettings() room.Settings {
	c := room.Settings{Name: b.Name, Policy: b.Policy, MaxRounds: b.MaxRounds, Approvals: b.Approvals}
	if b.Members != nil {
		members := make([]junctor.Member, len(*b.Members))
		for i, m := range *b.Members {
			members[i] = junctor.Member{Agent: m.Agent, User: m.User}
		}
		c.Members = &members
	}
	return c
}

// roomID is the path of one room.
type roomID struct {
	ID string `path:"id" maxLength:"32" doc:"The room's id."`
}

// roomPatch is the request that changes a room.
type roomPatch struct {
	Precondition
	ID   string `path:"id" maxLength:"32" doc:"The room's id."`
	Body struct {
		RoomBody
		Forget bool `json:"forget,omitempty" doc:"Revoke the permanent approvals, so that agents ask again."`
	}
}

// surfaceReport is the request that reports surfaces which could not be rendered.
type surfaceReport struct {
	ID      string `path:"id" maxLength:"32" doc:"The room's id."`
	Message string `path:"message" maxLength:"100" doc:"The message's id."`
	Body    reportBody
}

// reportBody is the body of surfaceReport.
type reportBody struct {
	Errors []surfaceError `json:"errors" minItems:"1" maxItems:"50" nullable:"false"`
}

// surfaceError is one error of reportBody. Its names are those of A2UI.
type surfaceError struct {
	Surface string `json:"surfaceId" maxLength:"200" doc:"ID of the surface."`
	Code    string `json:"code,omitempty" maxLength:"100" doc:"Error code, such as UNKNOWN_COMPONENT."`
	Path    string `json:"path,omitempty" maxLength:"500" doc:"JSON pointer to the error in the surface."`
	Message string `json:"message" minLength:"1" maxLength:"500" doc:"Description of the error."`
}

// toRenderErrors returns the errors in the form of package a2ui.
func (b *reportBody) toRenderErrors() []a2ui.RenderError {
	out := make([]a2ui.RenderError, len(b.Errors))
	for i, e := range b.Errors {
		out[i] = a2ui.RenderError{Code: e.Code, Surface: e.Surface, Path: e.Path, Message: e.Message}
	}
	return out
}

// roomListQuery is the query of a list of one room.
type roomListQuery struct {
	ListQuery
	ID string `path:"id" maxLength:"32" doc:"The room's id."`
}

// messagesQuery is the query of list-messages.
type messagesQuery struct {
	ListQuery
	ID     string `path:"id" maxLength:"32" doc:"The room's id."`
	Before string `query:"before" maxLength:"100" doc:"Only messages before the message with this ID. Not with a cursor."`
}

// exportRoom is the query of export-room.
type exportRoom struct {
	ID     string `path:"id" maxLength:"32" doc:"The room's id."`
	Format string `query:"format" enum:"markdown,json" default:"markdown"`
}

// roomRun is the request that starts a run. Its body is AG-UI's RunAgentInput, which
// package agui reads.
type roomRun struct {
	ID   string `path:"id" maxLength:"32" doc:"The room's id."`
	Body json.RawMessage
}

// runID is the path of one run.
type runID struct {
	ID  string `path:"id" maxLength:"32" doc:"The room's id."`
	Run string `path:"run" maxLength:"100" doc:"The run's id."`
}

type (
	roomResponse = versionedResponse[room.Details]
	newRoom      struct {
		Location string `header:"Location"`
		ETag     string `header:"ETag"`
		Body     junctor.Room
	}
)

// maxRunBody bounds the request that starts a run. Clients send the whole conversation,
// although only its last message counts.
const maxRunBody = 4 << 20

// registerRoomRoutes registers the routes below /rooms.
func (a *api) registerRoomRoutes() {
	tags := []string{"rooms"}
	registerList(a, huma.Operation{
		OperationID: "list-rooms", Method: http.MethodGet, Path: "/rooms", Summary: "List the rooms of the caller", Tags: tags,
	}, roomList(), func(ctx context.Context, _ *ListQuery) ([]junctor.Room, error) {
		list, err := a.Rooms.List(ctx, callerOf(ctx))
		return list, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "create-room", Method: http.MethodPost, Path: "/rooms", Summary: "Create a room for users and agents", Tags: tags, DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, in *struct{ Body RoomBody }) (*newRoom, error) {
		w, err := a.Rooms.Create(ctx, callerOf(ctx), in.Body.toSettings())
		return &newRoom{Prefix + "/rooms/" + w.ID, etagOf(w.UpdatedAt), w}, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "get-room", Method: http.MethodGet, Path: "/rooms/{id}", Summary: "Show a room", Tags: tags,
	}, func(ctx context.Context, in *roomID) (*roomResponse, error) {
		v, err := a.Rooms.Get(ctx, callerOf(ctx), in.ID)
		return withVersion(v, v.UpdatedAt), err
	})
	registerRoute(a, huma.Operation{
		OperationID: "patch-room", Method: http.MethodPatch, Path: "/rooms/{id}", Summary: "Change a room", Tags: tags,
	}, func(ctx context.Context, in *roomPatch) (*roomResponse, error) {
		c := in.Body.toSettings()
		c.ForgetApprovals = in.Body.Forget
		if c == (room.Settings{}) {
			return nil, junctor.Errorf(junctor.CodeInvalid, "the change is empty; send at least one field to change, such as members")
		}
		var err error
		if c.Version, err = in.wantedVersion(); err != nil {
			return nil, err
		}
		v, err := a.Rooms.Update(ctx, callerOf(ctx), in.ID, c)
		return withVersion(v, v.UpdatedAt), a.explainConflict(ctx, err, func() (storedVersion, error) {
			v, err := a.Rooms.Get(ctx, callerOf(ctx), in.ID)
			return storedVersion{fmt.Sprintf("the room %q", v.Name), v, v.UpdatedAt, v.UpdatedBy}, err
		})
	})
	registerRoute(a, huma.Operation{
		OperationID: "delete-room", Method: http.MethodDelete, Path: "/rooms/{id}", Summary: "Delete a room and its messages; the records of calls remain", Tags: tags, DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *roomID) (*empty, error) {
		return &empty{}, a.Rooms.Delete(ctx, callerOf(ctx), in.ID)
	})
	a.registerMessageRoutes(tags)
	a.registerRoomRunRoutes(tags)
}

// registerMessageRoutes registers the routes that read a room: messages, search, export,
// tools and open approvals.
func (a *api) registerMessageRoutes(tags []string) {
	messages := rowShape[junctor.Message]{id: func(m *junctor.Message) string { return m.ID }, order: "at", newest: true}
	read := func(ctx context.Context, in *messagesQuery, page *junctor.RowPage) ([]junctor.Message, junctor.RowTotal, error) {
		if in.Before != "" && page.ID == "" {
			page.ID, page.Ascending = in.Before, false
		}
		return a.Rooms.MessagePage(ctx, callerOf(ctx), in.ID, page)
	}
	registerRows(a, huma.Operation{
		OperationID: "list-messages", Method: http.MethodGet, Path: "/rooms/{id}/messages", Summary: "List or search the messages of a room and their tool results, newest first", Tags: tags,
	}, messages, read)
	registerRows(a, huma.Operation{
		OperationID: "search-messages", Method: http.MethodGet, Path: "/rooms/{id}/search", Summary: "Search the messages of a room", Tags: tags,
	}, messages, read)
	text := &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	registerRoute(a, huma.Operation{
		OperationID: "export-room", Method: http.MethodGet, Path: "/rooms/{id}/export", Summary: "Export a room with all messages", Tags: tags,
		Responses: map[string]*huma.Response{"200": {Description: "The room as Markdown, or as JSON with format=json.", Content: map[string]*huma.MediaType{"text/markdown": text}}},
	}, func(ctx context.Context, in *exportRoom) (*huma.StreamResponse, error) {
		out, err := a.Rooms.Export(ctx, callerOf(ctx), in.ID)
		if err != nil {
			return nil, err
		}
		if in.Format == "json" {
			return a.streamFile(ctx, "room-"+in.ID+".json", "application/json", func(w io.Writer) error {
				enc := json.NewEncoder(w)
				enc.SetIndent("", "  ")
				return enc.Encode(out)
			}), nil
		}
		return a.streamFile(ctx, "room-"+in.ID+".md", "text/markdown; charset=utf-8", func(w io.Writer) error {
			_, err := io.WriteString(w, out.Markdown())
			return err
		}), nil
	})
	registerList(a, huma.Operation{
		OperationID: "list-room-tools", Method: http.MethodGet, Path: "/rooms/{id}/tools", Summary: "List the allowed tools of the agents of a room", Tags: tags,
	}, agentToolsList(), func(ctx context.Context, in *roomListQuery) ([]room.AgentTools, error) {
		list, err := a.Rooms.Tools(ctx, callerOf(ctx), in.ID)
		return list, err
	})
	registerList(a, huma.Operation{
		OperationID: "list-room-approvals", Method: http.MethodGet, Path: "/rooms/{id}/approvals", Summary: "List the calls of a room that wait for approval", Tags: tags,
	}, approvalList(), func(ctx context.Context, in *roomListQuery) ([]junctor.CallApproval, error) {
		list, err := a.Rooms.Approvals(ctx, callerOf(ctx), in.ID)
		return list, err
	})
}

// registerRoomRunRoutes registers the routes that start, follow and stop runs of a room.
func (a *api) registerRoomRunRoutes(tags []string) {
	stream := map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeString}}}
	registerRoute(a, huma.Operation{
		OperationID: "run-room", Method: http.MethodPost, Path: "/rooms/{id}/runs", Summary: "Send a message to a room or decide on waiting calls, and stream the events of the run", Tags: tags,
		MaxBodyBytes: maxRunBody, BodyReadTimeout: -1,
		Responses: map[string]*huma.Response{"200": {
			Description: "Events of AG-UI 1.0. The body is a RunAgentInput: only its last message, or resume, is used; forwardedProps.agent selects the agent that answers. The run continues if the stream is closed.", Content: stream,
		}},
	}, func(ctx context.Context, in *roomRun) (*huma.StreamResponse, error) {
		said, err := agui.ReadInput(in.Body)
		if err != nil {
			return nil, err
		}
		feed, err := a.Rooms.StartRun(ctx, callerOf(ctx), in.ID, said)
		if err != nil {
			return nil, err
		}
		return a.streamFeed(ctx, "run-room", feed, nil), nil
	})
	registerRoute(a, huma.Operation{
		OperationID: "stream-room", Method: http.MethodGet, Path: "/rooms/{id}/stream", Summary: "Stream the events of a room", Tags: tags,
		Responses: map[string]*huma.Response{"200": {
			Description: "Events of AG-UI 1.0 from all runs. A current run is streamed from its beginning. The stream ends when the caller is no longer a member.", Content: stream,
		}},
	}, func(ctx context.Context, in *roomID) (*huma.StreamResponse, error) {
		feed, err := a.Rooms.Subscribe(ctx, callerOf(ctx), in.ID)
		if err != nil {
			return nil, err
		}
		still := func(p *junctor.Principal) error {
			_, err := a.Rooms.Get(ctx, p, in.ID)
			return err
		}
		return a.streamFeed(ctx, "stream-room", feed, still), nil
	})
	registerRoute(a, huma.Operation{
		OperationID: "stop-run", Method: http.MethodPost, Path: "/rooms/{id}/runs/{run}/stop", Summary: "Stop a run; no effect if the run has ended", Tags: tags, DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *runID) (*empty, error) {
		return &empty{}, a.Rooms.StopRun(ctx, callerOf(ctx), in.ID, in.Run)
	})
	registerRoute(a, huma.Operation{
		OperationID: "report-surface", Method: http.MethodPost, Path: "/rooms/{id}/messages/{message}/report", Summary: "Report surfaces of a message that could not be rendered", Tags: tags, DefaultStatus: http.StatusNoContent,
		Description: "The room shows one message about the error. The agent that sent the surface receives the error with its next message.",
	}, func(ctx context.Context, in *surfaceReport) (*empty, error) {
		return &empty{}, a.Rooms.ReportErrors(ctx, callerOf(ctx), in.ID, in.Message, in.Body.toRenderErrors())
	})
}

// streamFeed streams the events of a feed while the caller may see them, and closes the
// feed. Whenever the feed is quiet, it authenticates the request again and calls still, if
// that is set: the stream ends for a credential that has ended and a member who has left.
func (a *api) streamFeed(ctx context.Context, operation string, feed *room.Feed, still func(*junctor.Principal) error) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(hctx huma.Context) {
		defer feed.Close()
		r, w := humago.Unwrap(hctx)
		out := newEventStream(w)
		if still != nil {
			out.sendKeepAlive() // the head, before anything happens
		}
		for {
			list, more := feed.Next(ctx, keepAliveInterval)
			if len(list) > 0 {
				out.sendData(list...)
				continue
			}
			if !more || ctx.Err() != nil {
				return
			}
			p, err := a.Authenticate(r)
			if err == nil {
				err = a.checkScope(p, operation)
			}
			if err == nil && still != nil {
				err = still(p)
			}
			if err != nil {
				return // a key or login that has ended, or a member who has left
			}
			out.sendKeepAlive()
		}
	}}
}

// roomList is the shape of list-rooms.
func roomList() listShape[junctor.Room] {
	return listShape[junctor.Room]{
		id: func(v *junctor.Room) string { return v.ID },
		orders: []listOrder[junctor.Room]{
			byText("name", func(v *junctor.Room) string { return v.Name }),
			byTime("created_at", func(v *junctor.Room) time.Time { return v.CreatedAt }),
			byTime("updated_at", func(v *junctor.Room) time.Time { return v.UpdatedAt }),
			byTime("last_message_at", func(v *junctor.Room) time.Time { return v.LastMessageAt }),
		},
		text: func(v *junctor.Room) []string { return []string{v.ID, v.Name} },
	}
}

// agentToolsList is the shape of list-room-tools.
func agentToolsList() listShape[room.AgentTools] {
	return listShape[room.AgentTools]{
		id: func(v *room.AgentTools) string { return v.Agent },
		orders: []listOrder[room.AgentTools]{
			byText("agent", func(v *room.AgentTools) string { return v.Agent }),
		},
		text: func(v *room.AgentTools) []string { return []string{v.Agent} },
	}
}

// approvalList is the shape of list-room-approvals.
func approvalList() listShape[junctor.CallApproval] {
	return listShape[junctor.CallApproval]{
		id: func(v *junctor.CallApproval) string { return v.ID },
		orders: []listOrder[junctor.CallApproval]{
			byTime("at", func(v *junctor.CallApproval) time.Time { return v.At }),
			byText("agent", func(v *junctor.CallApproval) string { return v.Agent }),
		},
		text: func(v *junctor.CallApproval) []string { return []string{v.Agent} },
	}
}
