package apps

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
	"github.com/junctor-mcp/junctor/mcpapps"
)

// ListApps describes the Apps that a principal sees and the filter selects. It reads no
// page, and leaves out the tools that pages may call: each would repeat those of its server.
func (h *Host) ListApps(ctx context.Context, p *junctor.Principal, f junctor.AppFilter) ([]junctor.App, error) {
	all, err := h.opts.Approvals.AppApprovals(ctx, p.Tenant)
	if err != nil {
		return nil, err
	}
	approvals := make(map[[2]string]*junctor.AppApproval, len(all))
	for i := range all {
		approvals[[2]string{all[i].Server, all[i].Resource}] = &all[i]
	}
	sh := h.opts.Catalog.Snapshot().For(p.Tenant)
	out := []junctor.App{}
	for _, tool := range sh.Describe(p, catalog.Filter{}) {
		if !strings.HasPrefix(tool.App, mcpapps.URIScheme) || f.Name != "" && f.Name != tool.Exposed || f.Origin != "" && f.Origin != originOf(tool.App) {
			continue
		}
		t, err := h.findToolPage(p, tool.Server, tool.Name)
		if err != nil {
			continue // the tool disappeared since it was listed
		}
		app := describeApp(t)
		if f.Visibility != "" && !slices.Contains(app.Visibility, f.Visibility) {
			continue
		}
		app.Profile, app.Approval = profileOf(approvals[[2]string{app.Server, t.uri}], "")
		if meta, err := mcpapps.ParseResourceMeta(t.listedMeta(), nil); err == nil {
			addDeclarations(&app.AppPage, meta)
			app.Domain, app.PrefersBorder = meta.Domain, meta.PrefersBorder
		}
		out = append(out, app)
	}
	return out, nil
}

// originOf says who made the page at a URI.
func originOf(uri string) junctor.AppOrigin {
	if strings.HasPrefix(uri, GeneratedPagePrefix) {
		return junctor.AppFromGenerator
	}
	return junctor.AppFromServer
}

// GetApp describes one App by the exposed name of its tool. It reads the page, past the
// cache, so that the digest is that of the current page.
func (h *Host) GetApp(ctx context.Context, p *junctor.Principal, name string) (junctor.App, error) {
	t, err := h.findToolPage(p, "", name)
	if err != nil {
		return junctor.App{}, err
	}
	if t.uri == "" {
		return junctor.App{}, noAppError(t)
	}
	page, err := h.readPage(ctx, p, t, "", true)
	if err != nil {
		return junctor.App{}, err
	}
	app := describeApp(t)
	if app.Tools, err = h.pageTools(p, app.Server); err != nil {
		return junctor.App{}, err
	}
	profile, approval, err := h.pageProfile(ctx, p.Tenant, app.Server, t.uri, page.Digest())
	if err != nil {
		return junctor.App{}, err
	}
	app.Read, app.Approval, app.Definition = true, approval, json.RawMessage(t.item.Tool.JSON)
	app.AppPage = describePage(page, profile, mcpapps.Policy{AllowEval: profile == junctor.AppCompatible}.HeaderValue(page.Meta.CSP))
	return app, nil
}

// noAppError is the error for a tool without a page.
func noAppError(t toolPage) error {
	return junctor.Errorf(junctor.CodeInvalid, "the tool %s has no App: its definition names no page at a %s URI", t.name, mcpapps.URIScheme)
}

// describeApp describes an App without its page, its approval and the tools that it may
// call.
func describeApp(t toolPage) junctor.App {
	def := t.item.Tool.JSON
	out := junctor.App{
		Name: t.name, Server: t.item.Server.ID, Tool: t.item.Name, Resource: t.uri, Visibility: []string{},
		Generated: originOf(t.uri) == junctor.AppFromGenerator,
	}
	out.Title, _ = wire.String(wire.Get(def, "title"))
	out.Description, _ = wire.String(wire.Get(def, "description"))
	meta := mcpapps.ParseToolMeta(wire.Get(def, "_meta"))
	for _, who := range []mcpapps.Visibility{mcpapps.VisibleToModel, mcpapps.VisibleToApp} {
		if meta.IsVisibleTo(who) {
			out.Visibility = append(out.Visibility, string(who))
		}
	}
	addDeclarations(&out.AppPage, mcpapps.ResourceMeta{})
	return out
}

// pageTools lists the tools that the pages of a server may call, by name at the server.
func (h *Host) pageTools(p *junctor.Principal, server string) (names []string, err error) {
	tools, err := h.opts.Pipeline.List(p, catalog.Scope{Server: server, Audience: catalog.AudienceApp}, catalog.ListTools)
	if err != nil {
		return nil, err
	}
	for tool := range wire.Elements(wire.Get(tools, "tools")) {
		if name, ok := wire.String(wire.Get(tool, "name")); ok {
			names = append(names, name)
		}
	}
	return names, nil
}

// ApprovePage grants the compatible profile to the page of an App. The digest names the page
// that the person has looked at. If the server has another page by now, the error has
// CodeConflict and nothing is approved.
func (h *Host) ApprovePage(ctx context.Context, p *junctor.Principal, name, digest string) (junctor.App, error) {
	t, err := h.findToolPage(p, "", name)
	if err != nil {
		return junctor.App{}, err
	}
	if err := h.opts.MayChange(ctx, p, t.item.Server.ID); err != nil {
		return junctor.App{}, err
	}
	app, err := h.GetApp(ctx, p, name)
	if err != nil {
		return app, err
	}
	if app.Digest != digest {
		return app, junctor.Errorf(junctor.CodeConflict, "the page of %s has changed: its digest is %s; review it again before you approve it", app.Name, app.Digest)
	}
	err = h.opts.Approvals.PutApproval(ctx, p.Tenant, junctor.AppApproval{Server: app.Server, Resource: app.Resource, Digest: digest, By: p.ID(), At: h.opts.Now().UTC()})
	if err != nil {
		return app, err
	}
	return h.GetApp(ctx, p, name)
}

// RevokeApproval removes the approval of an App's page. It also closes the open Views that run
// with the compatible profile, since their policy is already in the browser.
func (h *Host) RevokeApproval(ctx context.Context, p *junctor.Principal, name string) error {
	t, err := h.findToolPage(p, "", name)
	if err != nil {
		return err
	}
	if err := h.opts.MayChange(ctx, p, t.item.Server.ID); err != nil {
		return err
	}
	if err := h.opts.Approvals.DeleteApproval(ctx, p.Tenant, t.item.Server.ID, t.uri); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, v := range h.views {
		if v.owner.Tenant == p.Tenant && v.tool.item.Server.ID == t.item.Server.ID && v.tool.uri == t.uri && v.profile == junctor.AppCompatible {
			h.dropView(v)
		}
	}
	return nil
}
