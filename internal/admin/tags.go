package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
)

// Tags is what people say of tools, the roles that a tenant has, and what
// became of tools under their names.
type Tags interface {
	// TagTool says what a tool is for: roles and category where they are not
	// empty, in place of what the rules find.
	TagTool(ctx context.Context, p *junctor.Principal, name string, roles []junctor.Role, category string) (junctor.Tool, error)
	// UntagTool leaves a tool to the rules again.
	UntagTool(ctx context.Context, p *junctor.Principal, name string) (junctor.Tool, error)
	// ToolChanges lists the newest changes that the principal may see, of one
	// tool by its shown name, of one server, or of all.
	ToolChanges(ctx context.Context, p *junctor.Principal, server, tool string, limit int) ([]junctor.ToolChange, error)

	Roles(ctx context.Context, p *junctor.Principal) ([]RoleInfo, error)
	AddRole(ctx context.Context, p *junctor.Principal, role junctor.Role) error
	RemoveRole(ctx context.Context, p *junctor.Principal, role junctor.Role) error
}

// RoleInfo is a role that agents and tools may have.
type RoleInfo struct {
	Name junctor.Role `json:"name"`
	Own  bool         `json:"own,omitempty" doc:"The tenant added it; the others are always there."`
}

type toolTag struct {
	Name string `path:"name" doc:"The tool's exposed name: server__name."`
	Body struct {
		Roles    []junctor.Role `json:"roles,omitempty" maxItems:"20" doc:"Which agents it is offered to; absent or empty leaves that to the rules."`
		Category string         `json:"category,omitempty" maxLength:"40" doc:"Absent for the first role, or what the rules say."`
	}
}

type changeQuery struct {
	Server string `query:"server" doc:"Only changes of this server's tools."`
	Tool   string `query:"tool" doc:"Only changes of this tool, by its exposed name."`
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"50"`
}

type roleName struct {
	Name junctor.Role `path:"name" maxLength:"40" doc:"The role."`
}

type oneRole struct{ Body RoleInfo }

func (a *api) tagRoutes() {
	tags := []string{"tools"}
	route(a, huma.Operation{
		OperationID: "put-tool-tag", Method: http.MethodPut, Path: "/tools/{name}/tag", Summary: "Say what a tool is for", Tags: tags,
	}, func(ctx context.Context, in *toolTag) (*oneTool, error) {
		tool, err := a.Tags.TagTool(ctx, caller(ctx), in.Name, in.Body.Roles, in.Body.Category)
		return &oneTool{tool}, err
	})
	route(a, huma.Operation{
		OperationID: "delete-tool-tag", Method: http.MethodDelete, Path: "/tools/{name}/tag", Summary: "Leave a tool to the rules again", Tags: tags,
	}, func(ctx context.Context, in *toolName) (*oneTool, error) {
		tool, err := a.Tags.UntagTool(ctx, caller(ctx), in.Name)
		return &oneTool{tool}, err
	})
	route(a, huma.Operation{
		OperationID: "list-tool-changes", Method: http.MethodGet, Path: "/tools/changes", Summary: "List tools that changed under their names, newest first", Tags: tags,
	}, func(ctx context.Context, in *changeQuery) (*pageOf[junctor.ToolChange], error) {
		changes, err := a.Tags.ToolChanges(ctx, caller(ctx), in.Server, in.Tool, in.Limit)
		return newPage(changes, ""), err
	})

	roles := []string{"roles"}
	route(a, huma.Operation{
		OperationID: "list-roles", Method: http.MethodGet, Path: "/roles", Summary: "List the roles that agents and tools may have", Tags: roles,
	}, func(ctx context.Context, _ *none) (*pageOf[RoleInfo], error) {
		list, err := a.Tags.Roles(ctx, caller(ctx))
		return newPage(list, ""), err
	})
	route(a, huma.Operation{
		OperationID: "put-role", Method: http.MethodPut, Path: "/roles/{name}", Summary: "Add a role of the tenant's own", Tags: roles,
	}, func(ctx context.Context, in *roleName) (*oneRole, error) {
		return &oneRole{RoleInfo{in.Name, true}}, a.Tags.AddRole(ctx, caller(ctx), in.Name)
	})
	route(a, huma.Operation{
		OperationID: "delete-role", Method: http.MethodDelete, Path: "/roles/{name}", Summary: "Remove a role of the tenant's own that nothing has", Tags: roles,
		DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *roleName) (*none, error) {
		return &none{}, a.Tags.RemoveRole(ctx, caller(ctx), in.Name)
	})
}
