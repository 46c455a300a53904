package apps

import (
	"context"
	"encoding/json"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
	"github.com/junctor-mcp/junctor/mcpapps"
)

// ListApps lists the Apps of all servers that p may see. It reads no pages: what the pages
// declare is known only as far as their servers list it.
func (h *Host) ListApps(ctx context.Context, p *junctor.Principal) ([]junctor.App, error) {
	sh := h.opts.Catalog.Snapshot().For(p.Tenant)
	out := []junctor.App{}
	for _, tool := range sh.Describe(p, catalog.Filter{}) {
		if !strings.HasPrefix(tool.App, mcpapps.URIScheme) {
			continue
		}
		t, err := h.findToolPage(p, tool.Server, tool.Name)
		if err != nil {
			continue // the tool disappeared since it was listed
		}
		app, err := h.describeApp(ctx, p, t, "")
		if err != nil {
			return nil, err
		}
		if meta, err := mcpapps.ParseResourceMeta(t.listedMeta(), nil); err == nil {
			addDeclarations(&app.AppPage, meta)
			app.Domain, app.PrefersBorder = meta.Domain, meta.PrefersBorder
		}
		out = append(out, app)
	}
	return out, nil
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
	app, err := h.describeApp(ctx, p, t, page.Digest())
	if err != nil {
		return junctor.App{}, err
	}
	app.Read, app.Definition = true, json.RawMessage(t.item.Tool.JSON)
	app.AppPage = describePage(page, app.Profile, mcpapps.Policy{AllowEval: app.Profile == junctor.AppCompatible}.HeaderValue(page.Meta.CSP))
	return app, nil
}

// noAppError is the error for a tool without a page.
func noAppError(t toolPage) error {
	return junctor.Errorf(junctor.CodeInvalid, "the tool %s has no App: its definition names no page at a %s URI", t.name, mcpapps.URIScheme)
}

// describeApp describes an App without its page. digest is that of the page, or empty if
// the page was not read.
func (h *Host) describeApp(ctx context.Context, p *junctor.Principal, t toolPage, digest string) (junctor.App, error) {
	def := t.item.Tool.JSON
	out := junctor.App{
		Name: t.name, Server: t.item.Server.ID, Tool: t.item.Name, Resource: t.uri, Visibility: []string{}, Tools: []string{},
		Generated: strings.HasPrefix(t.uri, GeneratedPagePrefix), AppPage: junctor.AppPage{Digest: digest},
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
	tools, err := h.opts.Pipeline.List(p, catalog.Scope{Server: out.Server, Audience: catalog.AudienceApp}, catalog.ListTools)
	if err != nil {
		return out, err
	}
	for tool := range wire.Elements(wire.Get(tools, "tools")) {
		if name, ok := wire.String(wire.Get(tool, "name")); ok {
			out.Tools = append(out.Tools, name)
		}
	}
	out.Profile, out.Approval, err = h.pageProfile(ctx, p.Tenant, out.Server, t.uri, digest)
	return out, err
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
