package app

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

// Roles lists what roles agents and tools may have.
func (a agents) Roles(ctx context.Context, p *junctor.Principal) ([]admin.RoleInfo, error) {
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

func (a agents) ownRoles(ctx context.Context, tenant junctor.TenantID) ([]junctor.Role, error) {
	set, err := a.app.store.For(tenant).Setting(ctx, rolesSetting)
	if junctor.CodeOf(err) == junctor.CodeNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return readRoles(set.Value)
}

// known refuses a role that the tenant has not.
func (a agents) CheckRole(ctx context.Context, tenant junctor.TenantID, role junctor.Role) error {
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
	return junctor.Errorf(junctor.CodeInvalid, "unknown role %q; there are %s, and junctor role add makes more", string(role), joinRoles(all))
}

// AddRole adds a role of the tenant's own. It is no error when it is there.
func (a agents) AddRole(ctx context.Context, p *junctor.Principal, role junctor.Role) error {
	if err := junctor.CheckRole(role); err != nil {
		return err
	}
	a.app.rights.mu.Lock()
	defer a.app.rights.mu.Unlock()
	return a.changeRoles(ctx, p, func(own []junctor.Role) ([]junctor.Role, error) {
		for _, r := range append(junctor.Roles(), own...) {
			switch {
			case r == role:
				return own, nil
			case strings.EqualFold(string(r), string(role)):
				return nil, junctor.Errorf(junctor.CodeConflict, "there is the role %q already: two that differ in case only would be mistaken for each other", string(r))
			}
		}
		own = append(own, role)
		slices.Sort(own)
		return own, nil
	})
}

// changeRoles stores what change makes of the tenant's own roles; no other replica
// changes them meanwhile.
func (a agents) changeRoles(ctx context.Context, p *junctor.Principal, change func([]junctor.Role) ([]junctor.Role, error)) error {
	_, err := a.app.store.For(p.Tenant).By(p.ID()).ChangeSetting(ctx, rolesSetting, func(now store.Setting) (json.RawMessage, error) {
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

// readRoles reads the setting of a tenant's own roles; nil is none.
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

// RemoveRole removes a role of the tenant's own that no agent and no tool has.
func (a agents) RemoveRole(ctx context.Context, p *junctor.Principal, role junctor.Role) error {
	if slices.Contains(junctor.Roles(), role) {
		return junctor.Errorf(junctor.CodeInvalid, "the role %q is always there", string(role))
	}
	a.app.rights.mu.Lock()
	defer a.app.rights.mu.Unlock()
	own, err := a.ownRoles(ctx, p.Tenant)
	if err != nil {
		return err
	}
	if !slices.Contains(own, role) {
		return junctor.Errorf(junctor.CodeNotFound, "there is no role %q; junctor role ls lists them", string(role))
	}
	var users []string
	list, err := a.app.store.For(p.Tenant).Agents(ctx)
	if err != nil {
		return err
	}
	for _, one := range list {
		if one.Role == role {
			users = append(users, "the agent "+one.Name)
		}
	}
	tags, err := a.app.store.For(p.Tenant).Tags(ctx)
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

// TagTool says what a tool is for.
func (a agents) TagTool(ctx context.Context, p *junctor.Principal, name string, roles []junctor.Role, category string) (junctor.Tool, error) {
	tool, err := a.taggable(ctx, p, name)
	if err != nil {
		return junctor.Tool{}, err
	}
	if len(roles) == 0 && category == "" {
		return junctor.Tool{}, junctor.Errorf(junctor.CodeInvalid, "say what the tool is for: roles, a category, or both")
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
	err = a.app.store.For(p.Tenant).PutTag(ctx, junctor.ToolTag{
		Server: tool.Server, Tool: tool.Name, Roles: distinct, Category: category, By: p.ID(), At: time.Now(),
	})
	if err == nil {
		err = a.app.rights.reload(context.WithoutCancel(ctx), p.Tenant)
	}
	if err != nil {
		return junctor.Tool{}, err
	}
	return a.app.servers.Tool(ctx, p, name)
}

// UntagTool leaves a tool to the rules again.
func (a agents) UntagTool(ctx context.Context, p *junctor.Principal, name string) (junctor.Tool, error) {
	tool, err := a.taggable(ctx, p, name)
	if err != nil {
		return junctor.Tool{}, err
	}
	if err := a.app.store.For(p.Tenant).DeleteTag(ctx, tool.Server, tool.Name); err != nil {
		return junctor.Tool{}, err
	}
	if err := a.app.rights.reload(context.WithoutCancel(ctx), p.Tenant); err != nil {
		return junctor.Tool{}, err
	}
	return a.app.servers.Tool(ctx, p, name)
}

// taggable gives a tool of which the principal may say what it is for: that
// decides which agents can have it, so it is for who brought its server.
func (a agents) taggable(ctx context.Context, p *junctor.Principal, name string) (junctor.Tool, error) {
	tool, err := a.shelf(p).DescribeOne(p, name)
	if err != nil {
		return junctor.Tool{}, err
	}
	row, err := a.app.servers.VisibleServer(ctx, p, tool.Server)
	if err == nil && !p.Has(junctor.ScopeAdmin) && !p.Is(row.Owner) {
		err = junctor.Errorf(junctor.CodeDenied, "what the tools of %q are for is said by who brought the server, or by an admin", tool.Server)
	}
	return tool, err
}

// ToolChanges lists changes of tools that the principal sees.
func (a agents) ToolChanges(ctx context.Context, p *junctor.Principal, server, tool string, limit int) ([]junctor.ToolChange, error) {
	sh := a.shelf(p)
	if tool != "" {
		one, err := sh.DescribeOne(p, tool)
		if err != nil {
			return nil, err
		}
		server, tool = one.Server, one.Name
	}
	list, err := a.app.store.For(p.Tenant).Changes(ctx, server, tool, limit)
	if err != nil {
		return nil, err
	}
	out := []junctor.ToolChange{}
	for _, c := range list {
		s, err := sh.Server(p, c.Server)
		if err != nil || sh.Visible(p, catalog.View{Server: c.Server, Audience: catalog.Watching(p)}, s, junctor.KindTool, c.Tool) != "" {
			continue
		}
		c.What = catalog.Differs(c.Before, c.After)
		out = append(out, c)
	}
	return out, nil
}
