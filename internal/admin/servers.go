package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
)

type serverID struct {
	ID string `path:"id" doc:"The server's id."`
}

type serverPatch struct {
	ID   string `path:"id" doc:"The server's id."`
	Body struct {
		State string `json:"state" enum:"active,inactive" doc:"Switch the server on or off."`
	}
}

type oneServer struct{ Body junctor.Server }

func (a *api) serverRoutes() {
	tags := []string{"servers"}
	route(a, huma.Operation{
		OperationID: "list-servers", Method: http.MethodGet, Path: "/servers", Summary: "List servers", Tags: tags,
	}, func(ctx context.Context, _ *none) (*pageOf[junctor.Server], error) {
		servers, err := a.Servers.Servers(ctx, caller(ctx))
		return newPage(servers, ""), err
	})
	route(a, huma.Operation{
		OperationID: "get-server", Method: http.MethodGet, Path: "/servers/{id}", Summary: "Show a server", Tags: tags,
	}, func(ctx context.Context, in *serverID) (*oneServer, error) {
		server, err := a.Servers.Server(ctx, caller(ctx), in.ID)
		return &oneServer{server}, err
	})
	route(a, huma.Operation{
		OperationID: "patch-server", Method: http.MethodPatch, Path: "/servers/{id}", Summary: "Switch a server on or off", Tags: tags,
	}, a.patchServer)
	route(a, huma.Operation{
		OperationID: "delete-server", Method: http.MethodDelete, Path: "/servers/{id}", Summary: "Remove a server for good", Tags: tags,
		DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *serverID) (*none, error) {
		return &none{}, a.Servers.RemoveServer(ctx, caller(ctx), in.ID)
	})
}

func (a *api) patchServer(ctx context.Context, in *serverPatch) (*oneServer, error) {
	if err := a.Servers.SetServerState(ctx, caller(ctx), in.ID, junctor.ServerState(in.Body.State)); err != nil {
		return nil, err
	}
	server, err := a.Servers.Server(ctx, caller(ctx), in.ID)
	return &oneServer{server}, err
}
