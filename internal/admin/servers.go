package admin

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/credential"
)

// maxServerBody leaves room for credentials and for changes to many tools.
const maxServerBody = 2 << 20

type serverID struct {
	ID string `path:"id" doc:"The server's id."`
}

type newServer struct {
	Body struct {
		ID   string       `json:"id" doc:"A lower-case letter, then up to 31 lower-case letters, digits or hyphens."`
		Mode junctor.Mode `json:"mode,omitempty" doc:"bring-your-own, an MCP server, or auto-generated, made of an API's documentation; absent: what the other members say."`
		ServerBody
	}
}

type probeServer struct {
	Body struct {
		ID   string       `json:"id,omitempty" doc:"What it would be called, for messages."`
		Mode junctor.Mode `json:"mode,omitempty" doc:"bring-your-own, which it is where it is absent."`
		ServerBody
	}
}

type serverPatch struct {
	Precondition
	ID   string `path:"id" doc:"The server's id."`
	Body struct {
		State string `json:"state,omitempty" enum:"active,inactive" doc:"Switch the server on or off."`
		ServerBody
	}
}

type oneServer = versioned[junctor.Server]

type createdServer struct {
	Location string `header:"Location"`
	ETag     string `header:"ETag"`
	Body     junctor.Server
}

// ServerDetail is a server with how it is doing.
type ServerDetail struct {
	junctor.Server
	Era         string                `json:"era,omitempty" doc:"Of the protocol it speaks: modern or legacy; absent before it has answered."`
	Tools       []string              `json:"tools,omitempty" nullable:"false" doc:"The names of its tools, as it calls them."`
	Problems    []ToolProblem         `json:"problems,omitempty" nullable:"false" doc:"Tools that the server lists and that are left out, or shown to clients in another form than the server defines; at most 100."`
	Diagnostics *junctor.ServerStatus `json:"diagnostics,omitempty" doc:"Of a bring-your-own server that is switched on."`
}

// ToolProblem is why a tool that a server lists cannot be used, or is shown in
// another form.
type ToolProblem struct {
	Tool   string `json:"tool" doc:"The tool's name, as the server calls it."`
	Effect string `json:"effect" enum:"left_out,changed,older_clients" doc:"What became of it: left_out: nobody sees it; changed: members that break the MCP specification were taken out; older_clients: clients of protocol versions before 2026-07-28 see another form."`
	Reason string `json:"reason" doc:"Why, and what was changed."`
}

type serverDetail = versioned[ServerDetail]

type oneProbe struct{ Body junctor.Probe }

func (a *api) serverRoutes() {
	tags := []string{"servers"}
	route(a, huma.Operation{
		OperationID: "list-servers", Method: http.MethodGet, Path: "/servers", Summary: "List servers", Tags: tags,
	}, func(ctx context.Context, _ *none) (*pageOf[junctor.Server], error) {
		servers, err := a.Servers.Servers(ctx, caller(ctx))
		return newPage(servers, ""), err
	})
	route(a, huma.Operation{
		OperationID: "create-server", Method: http.MethodPost, Path: "/servers", Summary: "Add a server, once it has been reached", Tags: tags,
		DefaultStatus: http.StatusCreated, MaxBodyBytes: maxDocumentBody,
		// A command may have to be fetched before it answers; a deadline of the
		// body would end the request meanwhile.
		BodyReadTimeout: -1,
	}, a.createServer)
	route(a, huma.Operation{
		OperationID: "probe-server", Method: http.MethodPost, Path: "/servers/probe", Summary: "Reach a server without adding it", Tags: tags,
		MaxBodyBytes: maxServerBody, BodyReadTimeout: -1,
	}, func(ctx context.Context, in *probeServer) (*oneProbe, error) {
		input, err := inputOf(in.Body.ID, in.Body.Mode, &in.Body.ServerBody)
		if err != nil {
			return nil, err
		}
		probe, err := a.Servers.ProbeServer(ctx, caller(ctx), input)
		return &oneProbe{probe}, err
	})
	route(a, huma.Operation{
		OperationID: "get-server", Method: http.MethodGet, Path: "/servers/{id}", Summary: "Show a server", Tags: tags,
	}, a.getServer)
	route(a, huma.Operation{
		OperationID: "test-server", Method: http.MethodPost, Path: "/servers/{id}/test", Summary: "Reach a server as it is stored", Tags: tags,
		BodyReadTimeout: -1,
	}, func(ctx context.Context, in *serverID) (*oneProbe, error) {
		probe, err := a.Servers.TestServer(ctx, caller(ctx), in.ID)
		return &oneProbe{probe}, err
	})
	route(a, huma.Operation{
		OperationID: "patch-server", Method: http.MethodPatch, Path: "/servers/{id}", Summary: "Change a server, or switch it on or off", Tags: tags,
		MaxBodyBytes: maxServerBody, BodyReadTimeout: -1,
	}, a.patchServer)
	a.followRoutes(tags)
	for verb, state := range map[string]junctor.ServerState{"enable": junctor.StateActive, "disable": junctor.StateInactive} {
		route(a, huma.Operation{
			OperationID: verb + "-server", Method: http.MethodPost, Path: "/servers/{id}/" + verb, Summary: "Switch a server " + onOff(state), Tags: tags,
		}, func(ctx context.Context, in *serverID) (*oneServer, error) {
			return a.switchServer(ctx, in.ID, state, time.Time{})
		})
	}
	route(a, huma.Operation{
		OperationID: "delete-server", Method: http.MethodDelete, Path: "/servers/{id}", Summary: "Remove a server for good", Tags: tags,
		DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *serverID) (*none, error) {
		return &none{}, a.Servers.RemoveServer(ctx, caller(ctx), in.ID)
	})
}

func onOff(state junctor.ServerState) string {
	if state == junctor.StateActive {
		return "on"
	}
	return "off"
}

func inputOf(id string, mode junctor.Mode, b *ServerBody) (ServerInput, error) {
	switch {
	case mode == "" && b.document():
		mode = junctor.ModeGenerated
	case mode == "":
		mode = junctor.ModeBYO
	case mode != junctor.ModeBYO && mode != junctor.ModeGenerated:
		return ServerInput{}, junctor.Errorf(junctor.CodeInvalid, "a server of the mode %q cannot be added like this: use %q or %q", string(mode), string(junctor.ModeBYO), string(junctor.ModeGenerated))
	}
	if mode == junctor.ModeBYO && b.document() {
		return ServerInput{}, junctor.Errorf(junctor.CodeInvalid, "document, base_url and their like are for servers of the mode %q", string(junctor.ModeGenerated))
	}
	in := ServerInput{Server: junctor.Server{ID: id, Mode: mode}}
	set(&in.Document, b.Document)
	in.AllowEmpty = b.AllowEmpty
	var err error
	in.Credentials, err = b.apply(&in.Server)
	return in, err
}

func (a *api) createServer(ctx context.Context, in *newServer) (*createdServer, error) {
	input, err := inputOf(in.Body.ID, in.Body.Mode, &in.Body.ServerBody)
	if err != nil {
		return nil, err
	}
	server, err := a.Servers.AddServer(ctx, caller(ctx), input)
	if err != nil {
		return nil, err
	}
	return &createdServer{Location: Prefix + "/servers/" + server.ID, ETag: tagOf(server.UpdatedAt), Body: server}, nil
}

func (a *api) getServer(ctx context.Context, in *serverID) (*serverDetail, error) {
	p := caller(ctx)
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
	}
	d.Problems = a.Tools.ToolProblems(p, in.ID)
	return withVersion(d, d.UpdatedAt), nil
}

func (a *api) switchServer(ctx context.Context, id string, state junctor.ServerState, version time.Time) (*oneServer, error) {
	if err := a.Servers.SetServerState(ctx, caller(ctx), id, state, version); err != nil {
		return nil, err
	}
	server, err := a.Servers.Server(ctx, caller(ctx), id)
	return withVersion(server, server.UpdatedAt), err
}

func (a *api) patchServer(ctx context.Context, in *serverPatch) (*oneServer, error) {
	version, err := in.version()
	if err != nil {
		return nil, err
	}
	out, err := a.changeServer(ctx, in, version)
	return out, a.refuse(ctx, err, func() (stored, error) {
		server, err := a.Servers.Server(ctx, caller(ctx), in.ID)
		return stored{fmt.Sprintf("the server %q", in.ID), server, server.UpdatedAt, server.UpdatedBy}, err
	})
}

func (a *api) changeServer(ctx context.Context, in *serverPatch, version time.Time) (*oneServer, error) {
	b := &in.Body.ServerBody
	if !b.something() {
		if in.Body.State == "" {
			return nil, junctor.Errorf(junctor.CodeInvalid, "the change is empty: say what is to be changed, such as state")
		}
		return a.switchServer(ctx, in.ID, junctor.ServerState(in.Body.State), version)
	}
	server, err := a.Servers.ChangeServer(ctx, caller(ctx), in.ID, func(row *junctor.Server) (credential.Set, error) {
		if err := junctor.CheckVersion(version, row.UpdatedAt); err != nil {
			return nil, err
		}
		return b.apply(row)
	})
	if err != nil || in.Body.State == "" {
		return withVersion(server, server.UpdatedAt), err
	}
	return a.switchServer(ctx, in.ID, junctor.ServerState(in.Body.State), time.Time{})
}

// something says whether the body asks for any change.
func (b *ServerBody) something() bool {
	return b.document() || b.Command != nil || b.Env != nil || b.Headers != nil || b.Overrides != nil || slices.Contains([]bool{
		b.Transport != nil, b.URL != nil, b.Cwd != nil, b.Auth != nil, b.Credentials != nil, b.Isolation != nil, b.MaxSessions != nil, b.TimeoutMS != nil, b.Views != nil, b.Home != nil, b.Believe != nil, b.Title != nil, b.Private != nil,
	}, true)
}
