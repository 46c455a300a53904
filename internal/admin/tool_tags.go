package admin

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
)

// Tags stores the roles and categories that users give to tools, and the roles of a
// tenant, and lists changes of tools.
type Tags interface {
	// TagTool sets the roles and the category of a tool. Members that are not empty
	// replace those that the rules find. version is that of the tag which is replaced;
	// zero replaces whatever is stored.
	TagTool(ctx context.Context, p *junctor.Principal, name string, roles []junctor.Role, category string, version time.Time) (junctor.Tool, error)
	// UntagTool removes the tag of a tool, so that the rules decide again.
	UntagTool(ctx context.Context, p *junctor.Principal, name string) (junctor.Tool, error)
	// ToolChanges lists the changes that the principal may see, without the definitions: of
	// one tool by its exposed name, of one server, or of all.
	ToolChanges(ctx context.Context, p *junctor.Principal, server, tool string) ([]junctor.ToolChange, error)
	// LoadToolChanges adds the definitions, and what differs, to changes of that list.
	LoadToolChanges(ctx context.Context, p *junctor.Principal, changes []junctor.ToolChange) error

	// Roles lists the built-in roles and those of the tenant.
	Roles(ctx context.Context, p *junctor.Principal) ([]RoleInfo, error)
	// AddRole adds a role to those of the tenant.
	AddRole(ctx context.Context, p *junctor.Principal, role junctor.Role) error
	// RemoveRole removes a role of the tenant that no agent and no tool has.
	RemoveRole(ctx context.Context, p *junctor.Principal, role junctor.Role) error
}

// RoleInfo is a role that agents and tools may have.
type RoleInfo struct {
	Name junctor.Role `json:"name"`
	Own  bool         `json:"own,omitempty" doc:"Whether the tenant added the role. Other roles are built in."`
}

// toolTag is the request that tags a tool.
type toolTag struct {
	Precondition
	Name string `path:"name" doc:"The tool's exposed name: server__name."`
	Body struct {
		Roles    []junctor.Role `json:"roles,omitempty" maxItems:"20" doc:"Roles of the agents that the tool is offered to. If absent or empty, the rules decide."`
		Category string         `json:"category,omitempty" maxLength:"40" doc:"Category of the tool. If absent, the first role, or else the rules decide."`
	}
}

// changeQuery is the query of list-tool-changes.
type changeQuery struct {
	ListQuery
	Server string `query:"server" doc:"Only changes to tools of this server."`
	Tool   string `query:"tool" doc:"Only changes to this tool, by its exposed name."`
}

// tagOf returns what users said of a tool; nil if only the rules apply.
func tagOf(tool *junctor.Tool) *junctor.ToolTag {
	if tool.Class == nil {
		return nil
	}
	return tool.Class.Tag
}

// withTagVersion returns an answer whose ETag is the version of the tool's tag. The rest
// of a tool is its server's.
func withTagVersion(tool junctor.Tool) *toolResponse {
	if tag := tagOf(&tool); tag != nil {
		return withVersion(tool, tag.At)
	}
	return withVersion(tool, time.Time{})
}

// roleName is the path of one role.
type roleName struct {
	Name junctor.Role `path:"name" maxLength:"40" doc:"Name of the role."`
}

// roleResponse is one role.
type roleResponse struct{ Body RoleInfo }

// registerTagRoutes registers the routes of tool tags, tool changes and roles.
func (a *api) registerTagRoutes() {
	tags := []string{"tools"}
	registerRoute(a, huma.Operation{
		OperationID: "put-tool-tag", Method: http.MethodPut, Path: "/tools/{name}/tag", Summary: "Set the roles and category of a tool", Tags: tags,
	}, func(ctx context.Context, in *toolTag) (*toolResponse, error) {
		version, err := in.wantedVersion()
		if err != nil {
			return nil, err
		}
		tool, err := a.Tags.TagTool(ctx, callerOf(ctx), in.Name, in.Body.Roles, in.Body.Category, version)
		return withTagVersion(tool), a.explainConflict(ctx, err, func() (storedVersion, error) {
			tool, err := a.Tools.Tool(ctx, callerOf(ctx), in.Name)
			now := storedVersion{label: fmt.Sprintf("the tag of the tool %q", in.Name), body: tool}
			if tag := tagOf(&tool); tag != nil {
				now.updatedAt, now.updatedBy = tag.At, tag.By
			}
			return now, err
		})
	})
	registerRoute(a, huma.Operation{
		OperationID: "delete-tool-tag", Method: http.MethodDelete, Path: "/tools/{name}/tag", Summary: "Remove the roles and category of a tool, so that the rules decide", Tags: tags,
	}, func(ctx context.Context, in *toolName) (*toolResponse, error) {
		tool, err := a.Tags.UntagTool(ctx, callerOf(ctx), in.Name)
		return withTagVersion(tool), err
	})
	registerRoute(a, huma.Operation{
		OperationID: "list-tool-changes", Method: http.MethodGet, Path: "/tools/changes", Summary: "List tools whose definitions changed, newest first", Tags: tags,
	}, func(ctx context.Context, in *changeQuery) (*pageResponse[junctor.ToolChange], error) {
		changes, err := a.Tags.ToolChanges(ctx, callerOf(ctx), in.Server, in.Tool)
		if err == nil && len(changes) == 0 {
			err = a.requireServer(ctx, in.Server)
		}
		if err != nil {
			return nil, err
		}
		list := changeList()
		page, err := list.pageOf(changes, in.listQuery())
		if err != nil {
			return nil, err
		}
		return page, a.Tags.LoadToolChanges(ctx, callerOf(ctx), page.Body.Items)
	})
	changes := changeList()
	a.documentSorts("/tools/changes", changes.sorts())

	roles := []string{"roles"}
	registerList(a, huma.Operation{
		OperationID: "list-roles", Method: http.MethodGet, Path: "/roles", Summary: "List the roles of agents and tools", Tags: roles,
	}, roleList(), func(ctx context.Context, _ *ListQuery) ([]RoleInfo, error) {
		list, err := a.Tags.Roles(ctx, callerOf(ctx))
		return list, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "put-role", Method: http.MethodPut, Path: "/roles/{name}", Summary: "Add a role to the tenant", Tags: roles,
	}, func(ctx context.Context, in *roleName) (*roleResponse, error) {
		return &roleResponse{RoleInfo{in.Name, true}}, a.Tags.AddRole(ctx, callerOf(ctx), in.Name)
	})
	registerRoute(a, huma.Operation{
		OperationID: "delete-role", Method: http.MethodDelete, Path: "/roles/{name}", Summary: "Delete a role of the tenant; fails while an agent or tool has it", Tags: roles,
		DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *roleName) (*empty, error) {
		return &empty{}, a.Tags.RemoveRole(ctx, callerOf(ctx), in.Name)
	})
}

// roleList is the shape of list-roles.
func roleList() listShape[RoleInfo] {
	return listShape[RoleInfo]{
		id: func(v *RoleInfo) string { return string(v.Name) },
		orders: []listOrder[RoleInfo]{
			byText("own", func(v *RoleInfo) string { return strconv.FormatBool(v.Own) }), // the built-in ones first
			byText("name", func(v *RoleInfo) string { return string(v.Name) }),
		},
		text: func(v *RoleInfo) []string { return []string{string(v.Name)} },
	}
}

// changeList is the shape of list-tool-changes.
func changeList() listShape[junctor.ToolChange] {
	return listShape[junctor.ToolChange]{
		id: func(v *junctor.ToolChange) string { return v.ID },
		orders: []listOrder[junctor.ToolChange]{
			byTime("seen_at", func(v *junctor.ToolChange) time.Time { return v.SeenAt }),
			byText("tool", func(v *junctor.ToolChange) string { return v.Tool }),
			byText("server", func(v *junctor.ToolChange) string { return v.Server }),
		},
		newest: true,
		text:   func(v *junctor.ToolChange) []string { return []string{v.Server, v.Tool} },
	}
}
