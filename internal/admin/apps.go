package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
)

// Apps lists MCP Apps, which are tools with pages of their own, and stores approvals of
// pages. internal/apps implements it.
type Apps interface {
	// ListApps lists the Apps that the principal sees and the filter selects, without the
	// tools that their pages may call. GetApp returns one by the exposed name of its tool,
	// and reads its page now.
	ListApps(ctx context.Context, p *junctor.Principal, f junctor.AppFilter) ([]junctor.App, error)
	GetApp(ctx context.Context, p *junctor.Principal, name string) (junctor.App, error)
	// ApprovePage allows a page, by its digest, to use the compatible profile. It is a
	// conflict if the page has changed since. RevokeApproval undoes it.
	ApprovePage(ctx context.Context, p *junctor.Principal, name, digest string) (junctor.App, error)
	RevokeApproval(ctx context.Context, p *junctor.Principal, name string) error
}

// appQuery is the query of list-apps.
type appQuery struct {
	ListQuery
	Origin     string `query:"origin" enum:"server,generated" doc:"Only Apps whose page comes from their server, or only those whose page Junctor generated."`
	Visibility string `query:"visibility" enum:"model,app" doc:"Only Apps whose tool may be called by models, or by other Apps."`
}

// appName is the path of one App.
type appName struct {
	Name string `path:"name" doc:"Exposed name of the App's tool: server__name."`
}

// appApproval is the request that approves a page.
type appApproval struct {
	Name string `path:"name" doc:"Exposed name of the App's tool: server__name."`
	Body struct {
		Digest string `json:"digest" minLength:"64" maxLength:"64" doc:"Digest of the page that was reviewed. The request fails if the page has changed."`
	}
}

// appResponse is one App.
type appResponse struct{ Body junctor.App }

// registerAppRoutes registers the routes below /apps.
func (a *api) registerAppRoutes() {
	tags := []string{"apps"}
	registerList(a, huma.Operation{
		OperationID: "list-apps", Method: http.MethodGet, Path: "/apps", Summary: "List the Apps of all servers", Tags: tags,
	}, appList(), func(ctx context.Context, in *appQuery) ([]junctor.App, error) {
		list, err := a.Apps.ListApps(ctx, callerOf(ctx), junctor.AppFilter{Origin: junctor.AppOrigin(in.Origin), Visibility: in.Visibility})
		return list, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "get-app", Method: http.MethodGet, Path: "/apps/{name}", Summary: "Show an App with its page", Tags: tags,
	}, func(ctx context.Context, in *appName) (*appResponse, error) {
		app, err := a.Apps.GetApp(ctx, callerOf(ctx), in.Name)
		return &appResponse{app}, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "approve-app", Method: http.MethodPut, Path: "/apps/{name}/approval", Summary: "Allow the current page of an App to create code from text (eval)", Tags: tags,
	}, func(ctx context.Context, in *appApproval) (*appResponse, error) {
		app, err := a.Apps.ApprovePage(ctx, callerOf(ctx), in.Name, in.Body.Digest)
		return &appResponse{app}, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "revoke-app", Method: http.MethodDelete, Path: "/apps/{name}/approval", Summary: "Revoke the approval of an App's page", Tags: tags,
		DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *appName) (*empty, error) {
		return &empty{}, a.Apps.RevokeApproval(ctx, callerOf(ctx), in.Name)
	})
}

// appList is the shape of list-apps.
func appList() listShape[junctor.App] {
	return listShape[junctor.App]{
		id: func(v *junctor.App) string { return v.Name },
		orders: []listOrder[junctor.App]{
			byText("name", func(v *junctor.App) string { return v.Name }),
			byText("title", func(v *junctor.App) string { return v.Title }),
			byText("server", func(v *junctor.App) string { return v.Server }),
		},
		text: func(v *junctor.App) []string { return []string{v.Name, v.Title, v.Description, v.Server} },
	}
}
