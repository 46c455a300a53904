package agents

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/store"
)

// rolesSetting is the tenant's setting that holds its own roles.
const rolesSetting = "roles"

// Roles lists the roles that agents and tools may have.
func (a *Registry) Roles(ctx context.Context, p *junctor.Principal) ([]admin.RoleInfo, error) {
	own, err := a.ownRoles(ctx, p.Tenant)
	if err != nil {
		return nil, err
	}
	var out []admin.RoleInfo
	for _, r := range junctor.Roles() {
		out = append(out, admin.RoleInfo{Name: r})
	}
	for _, r := range own {
		out = append(out, admin.RoleInfo{Name: r, Own: true})
	}
	return out, nil
}

// ownRoles returns the roles that the tenant added.
func (a *Registry) ownRoles(ctx context.Context, tenant junctor.TenantID) ([]junctor.Role, error) {
	set, err := a.o.Store.For(tenant).Setting(ctx, rolesSetting)
	if junctor.CodeOf(err) == junctor.CodeNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return readRoles(set.Value)
}

// CheckRole refuses a role that the tenant does not have.
func (a *Registry) CheckRole(ctx context.Context, tenant junctor.TenantID, role junctor.Role) error {
	if err := junctor.CheckRole(role); err != nil {
		return err
	}
	own, err := a.ownRoles(ctx, tenant)
	if err != nil {
		return err
	}
	all := append(junctor.Roles(), own...)
	if slices.Contains(all, role) {
		return nil
	}
	return junctor.Errorf(junctor.CodeInvalid, "unknown role %q; use one of %s, or create the role with junctor role add", string(role), joinRoles(all))
}

// AddRole adds a role of the tenant's own. Adding a role that exists is no error.
func (a *Registry) AddRole(ctx context.Context, p *junctor.Principal, role junctor.Role) error {
	if err := junctor.CheckRole(role); err != nil {
		return err
	}
	a.access.mu.Lock()
	defer a.access.mu.Unlock()
	return a.changeRoles(ctx, p, func(own []junctor.Role) ([]junctor.Role, error) {
		for _, r := range append(junctor.Roles(), own...) {
			switch {
			case r == role:
				return own, nil
			case strings.EqualFold(string(r), string(role)):
				return nil, junctor.Errorf(junctor.CodeConflict, "the role %q exists already; the names of two roles must differ in more than case", string(r))
			}
		}
		own = append(own, role)
		slices.Sort(own)
		return own, nil
	})
}

// changeRoles stores the result of change on the tenant's own roles. No other replica
// changes them meanwhile.
func (a *Registry) changeRoles(ctx context.Context, p *junctor.Principal, change func([]junctor.Role) ([]junctor.Role, error)) error {
	_, err := a.o.Store.For(p.Tenant).By(p.ID()).ChangeSetting(ctx, rolesSetting, func(now store.Setting) (json.RawMessage, error) {
		own, err := readRoles(now.Value)
		if err == nil {
			own, err = change(own)
		}
		if err != nil {
			return nil, err
		}
		return json.Marshal(own)
	})
	return err
}

// readRoles reads the setting of a tenant's own roles; nil means none.
func readRoles(set json.RawMessage) ([]junctor.Role, error) {
	if set == nil {
		return nil, nil
	}
	var own []junctor.Role
	if err := json.Unmarshal(set, &own); err != nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "the roles of the tenant cannot be read: %w", err)
	}
	return own, nil
}

// RemoveRole removes a role of the tenant's own, unless an agent or a tool has it.
func (a *Registry) RemoveRole(ctx context.Context, p *junctor.Principal, role junctor.Role) error {
	if slices.Contains(junctor.Roles(), role) {
		return junctor.Errorf(junctor.CodeInvalid, "the role %q is built in and cannot be removed", string(role))
	}
	a.access.mu.Lock()
	defer a.access.mu.Unlock()
	own, err := a.ownRoles(ctx, p.Tenant)
	if err != nil {
		return err
	}
	if !slices.Contains(own, role) {
		return junctor.Errorf(junctor.CodeNotFound, "unknown role %q; junctor role ls lists the roles", string(role))
	}
	var users []string
	list, err := a.o.Store.For(p.Tenant).Agents(ctx)
	if err != nil {
		return err
	}
	for _, one := range list {
		if one.Role == role {
			users = append(users, "the agent "+one.Name)
		}
	}
	tags, err := a.o.Store.For(p.Tenant).Tags(ctx)
	if err != nil {
		return err
	}
	for _, t := range tags {
		if slices.Contains(t.Roles, role) {
			users = append(users, "the tool "+t.Server+"/"+t.Tool)
		}
	}
	if len(users) > 0 {
		return junctor.Errorf(junctor.CodeConflict, "the role %q is in use by %s", string(role), strings.Join(users[:min(5, len(users))], ", "))
	}
	return a.changeRoles(ctx, p, func(own []junctor.Role) ([]junctor.Role, error) {
		return slices.DeleteFunc(own, func(r junctor.Role) bool { return r == role }), nil
	})
}

// TagTool sets the roles and the category of a tool. version is that of the tag which is
// replaced, as in junctor.ToolTag.At; zero replaces whatever is stored.
func (a *Registry) TagTool(ctx context.Context, p *junctor.Principal, name string, roles []junctor.Role, category string, version time.Time) (junctor.Tool, error) {
	tool, err := a.taggableTool(ctx, p, name)
	if err != nil {
		return junctor.Tool{}, err
	}
	if len(roles) == 0 && category == "" {
		return junctor.Tool{}, junctor.Errorf(junctor.CodeInvalid, "roles and category are missing: give at least one of them")
	}
	var distinct []junctor.Role
	for _, r := range roles {
		if err := a.CheckRole(ctx, p.Tenant, r); err != nil {
			return junctor.Tool{}, err
		}
		if !slices.Contains(distinct, r) {
			distinct = append(distinct, r)
		}
	}
	if category != "" {
		if err := junctor.CheckCategory(category); err != nil {
			return junctor.Tool{}, err
		}
	}
	tag := junctor.ToolTag{Server: tool.Server, Tool: tool.Name, Roles: distinct, Category: category, By: p.ID(), At: time.Now()}
	rows := a.o.Store.For(p.Tenant)
	if version.IsZero() {
		err = rows.PutTag(ctx, tag)
	} else {
		err = rows.ReplaceTag(ctx, tag, version)
	}
	if err == nil || junctor.CodeOf(err) == junctor.CodePrecondition { // the answer shows the tag of another replica
		if unread := a.access.reload(context.WithoutCancel(ctx), p.Tenant); err == nil {
			err = unread
		}
	}
	if err != nil {
		return junctor.Tool{}, err
	}
	return a.parts.Servers.Tool(ctx, p, name)
}

// UntagTool removes the tag of a tool, so that the rules of the catalog apply again.
func (a *Registry) UntagTool(ctx context.Context, p *junctor.Principal, name string) (junctor.Tool, error) {
	tool, err := a.taggableTool(ctx, p, name)
	if err != nil {
		return junctor.Tool{}, err
	}
	if err := a.o.Store.For(p.Tenant).DeleteTag(ctx, tool.Server, tool.Name); err != nil {
		return junctor.Tool{}, err
	}
	if err := a.access.reload(context.WithoutCancel(ctx), p.Tenant); err != nil {
		return junctor.Tool{}, err
	}
	return a.parts.Servers.Tool(ctx, p, name)
}

// taggableTool returns a tool that the principal may tag. A tag decides which agents
// can have the tool, so only the owner of its server and admins may set it.
func (a *Registry) taggableTool(ctx context.Context, p *junctor.Principal, name string) (junctor.Tool, error) {
	tool, err := a.shelf(p).DescribeOne(p, name)
	if err != nil {
		return junctor.Tool{}, err
	}
	row, err := a.parts.Servers.VisibleServer(ctx, p, tool.Server)
	if err == nil && !p.Has(junctor.ScopeAdmin) && !p.Is(row.Owner) {
		err = junctor.Errorf(junctor.CodeDenied, "you may not change the roles and categories of the tools of %q: only the server's owner or an admin may", tool.Server)
	}
	return tool, err
}

// ToolChanges lists the changes of tools that the principal sees, without the definitions.
// LoadToolChanges adds these to a page of the list.
func (a *Registry) ToolChanges(ctx context.Context, p *junctor.Principal, server, tool string) ([]junctor.ToolChange, error) {
	sh := a.shelf(p)
	if tool != "" {
		one, err := sh.DescribeOne(p, tool)
		if err != nil {
			return nil, err
		}
		server, tool = one.Server, one.Name
	}
	list, err := a.o.Store.For(p.Tenant).ChangeRefs(ctx, server, tool)
	if err != nil {
		return nil, err
	}
	out := []junctor.ToolChange{}
	for _, c := range list {
		s, err := sh.Server(p, c.Server)
		if err != nil || sh.Visible(p, catalog.Scope{Server: c.Server, Audience: catalog.Watching(p)}, s, junctor.KindTool, c.Tool) != "" {
			continue
		}
		out = append(out, c)
	}
	return out, nil
}

// LoadToolChanges adds the definitions to changes that ToolChanges listed, and what differs.
func (a *Registry) LoadToolChanges(ctx context.Context, p *junctor.Principal, changes []junctor.ToolChange) error {
	ids := make([]string, len(changes))
	for i := range changes {
		ids[i] = changes[i].ID
	}
	list, err := a.o.Store.For(p.Tenant).ChangesByID(ctx, ids)
	if err != nil {
		return err
	}
	byID := make(map[string]*junctor.ToolChange, len(list))
	for i := range list {
		byID[list[i].ID] = &list[i]
	}
	for i := range changes {
		if c := byID[changes[i].ID]; c != nil {
			changes[i].Before, changes[i].After, changes[i].What = c.Before, c.After, catalog.Differs(c.Before, c.After)
		}
	}
	return nil
}
