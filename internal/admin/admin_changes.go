package admin

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
)

// changesQuery is the query of list-changes.
type changesQuery struct {
	ListQuery
	Actor      string              `query:"actor" maxLength:"1024" doc:"Only changes by this actor: its ID or name, or the ID of the user."`
	Object     string              `query:"object" maxLength:"256" doc:"Only changes of objects of this kind, such as server."`
	ObjectID   string              `query:"object_id" maxLength:"1024" doc:"Only changes of the object with this ID or name."`
	Action     string              `query:"action" maxLength:"256" doc:"Only changes of this kind, such as create-server."`
	EntryPoint junctor.ChangeEntry `query:"entry_point" enum:"api,cli,console,settings-file,start" doc:"Only changes that came in this way."`
	Since      time.Time           `query:"since" doc:"Only changes at this time or later."`
	Until      time.Time           `query:"until" doc:"Only changes before this time."`
}

// changeID is the path of one change.
type changeID struct {
	ID string `path:"id" maxLength:"128" doc:"The change's ID."`
}

// changeResponse is one change.
type changeResponse struct{ Body junctor.AdminChange }

// registerChangeRoutes registers the routes that list what was changed. They show the changes
// of the caller's tenant; those of the whole instance belong to the tenant default.
func (a *api) registerChangeRoutes() {
	tags := []string{"audit"}
	shape := rowShape[junctor.AdminChange]{
		key:   func(c *junctor.AdminChange) string { return strconv.FormatInt(c.At.UnixMicro(), 10) },
		id:    func(c *junctor.AdminChange) string { return c.ID },
		order: "at", newest: true,
	}
	registerRows(a, huma.Operation{
		OperationID: "list-changes", Method: http.MethodGet, Path: "/changes", Summary: "List administrative changes with their values before and after", Tags: tags,
	}, shape, func(ctx context.Context, in *changesQuery, page *junctor.RowPage) ([]junctor.AdminChange, junctor.RowTotal, error) {
		return a.Changes.Changes(ctx, callerOf(ctx).Tenant, &junctor.AdminChangeFilter{
			Actor: in.Actor, Object: in.Object, ObjectID: in.ObjectID, Action: in.Action, EntryPoint: in.EntryPoint, Since: in.Since, Until: in.Until,
		}, page)
	})
	registerRoute(a, huma.Operation{
		OperationID: "get-change", Method: http.MethodGet, Path: "/changes/{id}", Summary: "Show an administrative change", Tags: tags,
	}, func(ctx context.Context, in *changeID) (*changeResponse, error) {
		c, err := a.Changes.Change(ctx, callerOf(ctx).Tenant, in.ID)
		return &changeResponse{c}, err
	})
}
