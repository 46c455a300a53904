package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
)

// Apps is the tools that bring pages of their own. internal/apps implements it.
type Apps interface {
	// Apps lists every App that the principal sees; App gives one by the exposed
	// name of its tool, with its page read now.
	Apps(ctx context.Context, p *junctor.Principal) ([]junctor.App, error)
	App(ctx context.Context, p *junctor.Principal, name string) (junctor.App, error)
	// Approve lets a page, by its digest, have the compatible profile; conflict
	// where it is another by now. Revoke takes that back.
	Approve(ctx context.Context, p *junctor.Principal, name, digest string) (junctor.App, error)
	Revoke(ctx context.Context, p *junctor.Principal, name string) error
}

type appName struct {
	Name string `path:"name" doc:"The exposed name of the App's tool: server__name."`
}

type appApproval struct {
	Name string `path:"name" doc:"The exposed name of the App's tool: server__name."`
	Body struct {
		Digest string `json:"digest" minLength:"64" maxLength:"64" doc:"Of the page that was looked at; another page is not approved with it."`
	}
}

type oneApp struct{ Body junctor.App }

func (a *api) appRoutes() {
	tags := []string{"apps"}
	route(a, huma.Operation{
		OperationID: "list-apps", Method: http.MethodGet, Path: "/apps", Summary: "List the Apps of all servers", Tags: tags,
	}, func(ctx context.Context, _ *none) (*pageOf[junctor.App], error) {
		list, err := a.Apps.Apps(ctx, caller(ctx))
		return newPage(list, ""), err
	})
	route(a, huma.Operation{
		OperationID: "get-app", Method: http.MethodGet, Path: "/apps/{name}", Summary: "Show an App, and read its page", Tags: tags,
	}, func(ctx context.Context, in *appName) (*oneApp, error) {
		app, err := a.Apps.App(ctx, caller(ctx), in.Name)
		return &oneApp{app}, err
	})
	route(a, huma.Operation{
		OperationID: "approve-app", Method: http.MethodPut, Path: "/apps/{name}/approval", Summary: "Let an App's page, as it is now, make code of text (eval)", Tags: tags,
	}, func(ctx context.Context, in *appApproval) (*oneApp, error) {
		app, err := a.Apps.Approve(ctx, caller(ctx), in.Name, in.Body.Digest)
		return &oneApp{app}, err
	})
	route(a, huma.Operation{
		OperationID: "revoke-app", Method: http.MethodDelete, Path: "/apps/{name}/approval", Summary: "Take the approval of an App's page back", Tags: tags,
		DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *appName) (*none, error) {
		return &none{}, a.Apps.Revoke(ctx, caller(ctx), in.Name)
	})
}
