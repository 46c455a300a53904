package admin

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/upstreamauth"
)

// maxServerBody bounds a request with a server that has no document: room for credentials
// and overrides of many tools.
const maxServerBody = 2 << 20

// serverID is the path of one server.
type serverID struct {
	ID string `path:"id" doc:"The server's id."`
}

// newServer is the request that adds a server.
type newServer struct {
	Body struct {
		ID   string       `json:"id" doc:"Lower-case letter, followed by up to 31 lower-case letters, digits or hyphens."`
		Mode junctor.Mode `json:"mode,omitempty" doc:"Mode: bring-your-own (an MCP server) or auto-generated (made from an API's documentation). If absent, it is derived from the other members."`
		// AllowUnknownTools is for the entries of MCP clients, whose lists of hidden
		// tools may be older than the server.
		AllowUnknownTools bool `json:"allow_unknown_tools,omitempty" doc:"Accept overrides of tools that the server does not have. By default they are an error."`
		ServerBody
	}
}

// probeServer is the request that reaches or previews a server without adding it.
type probeServer struct {
	Body struct {
		ID   string       `json:"id,omitempty" doc:"ID for messages; nothing is stored."`
		Mode junctor.Mode `json:"mode,omitempty" doc:"Mode of the server. By default bring-your-own."`
		ServerBody
	}
}

// serverPatch is the request that changes a server.
type serverPatch struct {
	Precondition
	ID   string `path:"id" doc:"The server's id."`
	Body ServerPatchBody
}

// serverResponse is one server with its version.
type serverResponse = versionedResponse[junctor.Server]

// createdServer is the answer to newServer.
type createdServer struct {
	Location string `header:"Location"`
	ETag     string `header:"ETag"`
	Body     junctor.Server
}

// ServerDetail is a server with its tools and its state.
type ServerDetail struct {
	junctor.Server
	Era         string                `json:"era,omitempty" doc:"Protocol era of the server: modern or legacy. Absent until the server has responded."`
	Tools       []string              `json:"tools,omitempty" nullable:"false" doc:"Names of the tools at the server."`
	Tokens      int                   `json:"tokens" doc:"Estimated number of tokens that the definitions of these tools use in a model's context."`
	Problems    []ToolProblem         `json:"problems,omitempty" nullable:"false" doc:"Tools that are left out or shown to clients in another form than the server defines; at most 100."`
	Diagnostics *junctor.ServerStatus `json:"diagnostics,omitempty" doc:"Diagnostics of an enabled bring-your-own server."`
}

// ToolProblem is the reason why a tool that a server lists cannot be used, or
// has another form for clients.
type ToolProblem struct {
	Tool   string `json:"tool" doc:"The tool's name at the server."`
	Effect string `json:"effect" enum:"left_out,changed,older_clients" doc:"Effect on the tool. left_out: hidden from all clients. changed: members that violate the MCP specification were removed. older_clients: clients of protocol versions before 2026-07-28 receive another form."`
	Reason string `json:"reason" doc:"Reason for the effect, and what was changed."`
}

// serverDetail is the answer to get-server.
type serverDetail = versionedResponse[ServerDetail]

// ListedServer is a server with the size of its offer.
type ListedServer struct {
	junctor.Server
	Tools  int `json:"tools" doc:"Number of tools that the caller sees."`
	Tokens int `json:"tokens" doc:"Estimated number of tokens that the definitions of these tools use in a model's context."`
}

// serverListQuery is the query of a list of one server.
type serverListQuery struct {
	ListQuery
	ID string `path:"id" doc:"The server's id."`
}

// serverQuery is the query of list-servers.
type serverQuery struct {
	ListQuery
	Mode  junctor.Mode        `query:"mode" doc:"Only servers of this mode."`
	State junctor.ServerState `query:"state" doc:"Only servers in this state."`
}

// serverList is the shape of list-servers.
func serverList() listShape[ListedServer] {
	return listShape[ListedServer]{
		id: func(s *ListedServer) string { return s.ID },
		orders: []listOrder[ListedServer]{
			byText("id", func(s *ListedServer) string { return s.ID }),
			byText("title", func(s *ListedServer) string { return s.Title }),
			byText("mode", func(s *ListedServer) string { return string(s.Mode) }),
			byText("state", func(s *ListedServer) string { return string(s.State) }),
			byNumber("tools", func(s *ListedServer) int64 { return int64(s.Tools) }),
			byNumber("tokens", func(s *ListedServer) int64 { return int64(s.Tokens) }),
			byTime("created_at", func(s *ListedServer) time.Time { return s.CreatedAt }),
			byTime("updated_at", func(s *ListedServer) time.Time { return s.UpdatedAt }),
		},
		text: func(s *ListedServer) []string {
			return append([]string{s.ID, s.Title, s.Discovered, s.URL}, s.Command...)
		},
	}
}

// healthQuery names the servers whose health is listed.
type healthQuery struct {
	ListQuery
	Server string `query:"server" doc:"Only this server."`
}

// probeResponse is the result of reaching a server.
type probeResponse struct{ Body junctor.Probe }

// registerServerRoutes registers the routes that list, add, reach, change and remove
// servers. Those that reach a server have no read deadline (BodyReadTimeout -1): a command
// may have to be fetched before it answers.
func (a *api) registerServerRoutes() {
	tags := []string{"servers"}
	registerList(a, huma.Operation{
		OperationID: "list-servers", Method: http.MethodGet, Path: "/servers", Summary: "List servers", Tags: tags,
	}, serverList(), a.listServers)
	registerList(a, huma.Operation{
		OperationID: "list-server-health", Method: http.MethodGet, Path: "/server-health", Summary: "List the health of servers", Tags: tags,
		Description: "State of each server without connecting to it: last error, unreadable references, required logins, age of its credentials, and the tokens that its tools use in a model's context.",
	}, healthList(), func(ctx context.Context, in *healthQuery) ([]junctor.ServerHealth, error) {
		health, err := a.Servers.Health(ctx, callerOf(ctx), in.Server)
		return health, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "create-server", Method: http.MethodPost, Path: "/servers", Summary: "Add a server after connecting to it", Tags: tags,
		DefaultStatus: http.StatusCreated, MaxBodyBytes: maxDocumentBody,
		// A command may have to be fetched before it answers; a deadline of the
		// body would end the request meanwhile.
		BodyReadTimeout: -1,
	}, a.createServer)
	registerRoute(a, huma.Operation{
		OperationID: "probe-server", Method: http.MethodPost, Path: "/servers/probe", Summary: "Test the connection to a server without adding it", Tags: tags,
		MaxBodyBytes: maxServerBody, BodyReadTimeout: -1,
	}, func(ctx context.Context, in *probeServer) (*probeResponse, error) {
		input, err := newServerInput(in.Body.ID, in.Body.Mode, &in.Body.ServerBody)
		if err != nil {
			return nil, err
		}
		probe, err := a.Servers.ProbeServer(ctx, callerOf(ctx), input)
		return &probeResponse{probe}, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "get-server", Method: http.MethodGet, Path: "/servers/{id}", Summary: "Show a server", Tags: tags,
	}, a.getServer)
	registerRoute(a, huma.Operation{
		OperationID: "test-server", Method: http.MethodPost, Path: "/servers/{id}/test", Summary: "Test the connection to a stored server", Tags: tags,
		BodyReadTimeout: -1,
	}, func(ctx context.Context, in *serverID) (*probeResponse, error) {
		probe, err := a.Servers.TestServer(ctx, callerOf(ctx), in.ID)
		return &probeResponse{probe}, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "patch-server", Method: http.MethodPatch, Path: "/servers/{id}", Summary: "Change, enable or disable a server", Tags: tags,
		MaxBodyBytes: maxServerBody, BodyReadTimeout: -1,
	}, a.patchServer)
	a.registerFollowRoutes(tags)
	for verb, state := range map[string]junctor.ServerState{"enable": junctor.StateActive, "disable": junctor.StateInactive} {
		title := strings.ToUpper(verb[:1]) + verb[1:]
		registerRoute(a, huma.Operation{
			OperationID: verb + "-server", Method: http.MethodPost, Path: "/servers/{id}/" + verb, Summary: title + " a server", Tags: tags,
		}, func(ctx context.Context, in *serverID) (*serverResponse, error) {
			return a.switchServer(ctx, in.ID, state, time.Time{})
		})
	}
	registerRoute(a, huma.Operation{
		OperationID: "delete-server", Method: http.MethodDelete, Path: "/servers/{id}", Summary: "Delete a server permanently", Tags: tags,
		DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *serverID) (*empty, error) {
		return &empty{}, a.Servers.RemoveServer(ctx, callerOf(ctx), in.ID)
	})
}

// newServerInput returns the server that a body describes. Without a mode, members about a
// document make it auto-generated. The other modes cannot be added by a request.
func newServerInput(id string, mode junctor.Mode, b *ServerBody) (ServerInput, error) {
	switch {
	case mode == "" && b.describesDocument():
		mode = junctor.ModeGenerated
	case mode == "":
		mode = junctor.ModeBYO
	case mode != junctor.ModeBYO && mode != junctor.ModeGenerated:
		return ServerInput{}, junctor.Errorf(junctor.CodeInvalid, "a server of the mode %q cannot be added with this operation; use the mode %q or %q", string(mode), string(junctor.ModeBYO), string(junctor.ModeGenerated))
	}
	if mode == junctor.ModeBYO && b.describesDocument() {
		return ServerInput{}, junctor.Errorf(junctor.CodeInvalid, "document, base_url and the other document fields are allowed only for servers of the mode %q", string(junctor.ModeGenerated))
	}
	in := ServerInput{Server: junctor.Server{ID: id, Mode: mode}}
	setIfGiven(&in.Document, b.Document)
	in.AllowEmpty = b.AllowEmpty
	var err error
	in.Credentials, err = b.applyTo(&in.Server, everyMember)
	return in, err
}

// listServers returns the servers that the caller sees, with the size of their offers.
func (a *api) listServers(ctx context.Context, in *serverQuery) ([]ListedServer, error) {
	servers, err := a.Servers.Servers(ctx, callerOf(ctx))
	if err != nil {
		return nil, err
	}
	var listed []ListedServer
	for _, s := range servers {
		if in.Mode != "" && s.Mode != in.Mode || in.State != "" && s.State != in.State {
			continue
		}
		one := ListedServer{Server: s}
		one.Tools, one.Tokens = a.Tools.CountTokens(callerOf(ctx), s.ID)
		listed = append(listed, one)
	}
	return listed, nil
}

// createServer handles create-server.
func (a *api) createServer(ctx context.Context, in *newServer) (*createdServer, error) {
	input, err := newServerInput(in.Body.ID, in.Body.Mode, &in.Body.ServerBody)
	if err != nil {
		return nil, err
	}
	input.AllowUnknownTools = in.Body.AllowUnknownTools
	server, err := a.Servers.AddServer(ctx, callerOf(ctx), input)
	if err != nil {
		return nil, err
	}
	return &createdServer{Location: Prefix + "/servers/" + server.ID, ETag: etagOf(server.UpdatedAt), Body: server}, nil
}

// getServer handles get-server.
func (a *api) getServer(ctx context.Context, in *serverID) (*serverDetail, error) {
	p := callerOf(ctx)
	server, err := a.Servers.Server(ctx, p, in.ID)
	if err != nil {
		return nil, err
	}
	d := ServerDetail{Server: server, Diagnostics: a.Servers.ServerStatus(p, in.ID)}
	if d.Diagnostics != nil {
		d.Era = d.Diagnostics.Era
	}
	for _, t := range a.Tools.Tools(p, in.ID, "", "") {
		d.Tools = append(d.Tools, t.Name)
		d.Tokens += t.Tokens
	}
	d.Problems = a.Tools.ToolProblems(p, in.ID)
	return withVersion(d, d.UpdatedAt), nil
}

// switchServer switches a server on or off and returns it as stored. A zero version means
// any.
func (a *api) switchServer(ctx context.Context, id string, state junctor.ServerState, version time.Time) (*serverResponse, error) {
	if err := a.Servers.SetServerState(ctx, callerOf(ctx), id, state, version); err != nil {
		return nil, err
	}
	server, err := a.Servers.Server(ctx, callerOf(ctx), id)
	return withVersion(server, server.UpdatedAt), err
}

// patchServer handles patch-server. On a version conflict the answer has the stored
// server.
func (a *api) patchServer(ctx context.Context, in *serverPatch) (*serverResponse, error) {
	version, err := in.wantedVersion()
	if err != nil {
		return nil, err
	}
	out, err := a.changeServer(ctx, in, version)
	return out, a.explainConflict(ctx, err, func() (storedVersion, error) {
		server, err := a.Servers.Server(ctx, callerOf(ctx), in.ID)
		return storedVersion{fmt.Sprintf("the server %q", in.ID), server, server.UpdatedAt, server.UpdatedBy}, err
	})
}

// changeServer applies a patch. A patch of the state alone does not touch the connection,
// so the server is not reached for it. With both, the state is changed second.
func (a *api) changeServer(ctx context.Context, in *serverPatch, version time.Time) (*serverResponse, error) {
	b := &in.Body.ServerBody
	if !in.Body.hasChanges() {
		if in.Body.State == "" {
			return nil, junctor.Errorf(junctor.CodeInvalid, "the change is empty; send at least one field to change, such as state")
		}
		return a.switchServer(ctx, in.ID, junctor.ServerState(in.Body.State), version)
	}
	server, err := a.Servers.ChangeServer(ctx, callerOf(ctx), in.ID, func(row *junctor.Server) (upstreamauth.LiteralSet, error) {
		if err := junctor.CheckVersion(version, row.UpdatedAt); err != nil {
			return nil, err
		}
		return b.applyTo(row, func(member string) bool { return in.Body.given[member] })
	})
	if err != nil || in.Body.State == "" {
		return withVersion(server, server.UpdatedAt), err
	}
	return a.switchServer(ctx, in.ID, junctor.ServerState(in.Body.State), time.Time{})
}

// hasChanges reports whether the body names a member other than the state.
func (b *ServerPatchBody) hasChanges() bool {
	members := maps.Clone(b.given)
	delete(members, "state")
	return len(members) > 0
}

// healthList is the shape of list-server-health.
func healthList() listShape[junctor.ServerHealth] {
	return listShape[junctor.ServerHealth]{
		id: func(v *junctor.ServerHealth) string { return v.Server },
		orders: []listOrder[junctor.ServerHealth]{
			byText("server", func(v *junctor.ServerHealth) string { return v.Server }),
			byText("state", func(v *junctor.ServerHealth) string { return string(v.State) }),
			byNumber("tools", func(v *junctor.ServerHealth) int64 { return int64(v.Tools) }),
			byNumber("tokens", func(v *junctor.ServerHealth) int64 { return int64(v.Tokens) }),
		},
		text: func(v *junctor.ServerHealth) []string { return []string{v.Server, v.Problem} },
	}
}
