package apps

import (
	"context"
	"encoding/json"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/wire"
	"github.com/junctor-mcp/junctor/mcpapps"
)

// ClientExtensions is the declaration of a client that shows the pages of MCP Apps, as a JSON
// object.
const ClientExtensions = `{"` + wire.ExtensionUI + `":{"mimeTypes":["` + wire.MediaTypeApp + `"]}}`

// GeneratedPagePrefix begins the URIs of pages that this gateway generates for tools without a
// page of their own.
const GeneratedPagePrefix = mcpapps.URIScheme + "junctor-view/"

// toolPage is a tool and the page that it names.
type toolPage struct {
	item catalog.Item
	name string // as the principal sees it
	uri  string // of the page, as the server names it; "" if the tool has none
}

// findToolPage finds a tool and its page, with the visibility of p. If server is empty,
// tool is an exposed name; otherwise it is the server's own name.
func (h *Host) findToolPage(p *junctor.Principal, server, tool string) (toolPage, error) {
	view := catalog.Scope{Server: server, Plain: server == "", Audience: catalog.AudienceHost}
	item, err := h.opts.Catalog.Snapshot().For(p.Tenant).Tool(p, view, tool, "")
	if err != nil {
		return toolPage{}, err
	}
	return toolPage{item: item, name: item.Shown, uri: item.Tool.Page()}, nil
}

// listedMeta is the _meta of the page's entry in the server's resource list; nil if the
// page is not listed.
func (t *toolPage) listedMeta() json.RawMessage {
	for _, r := range t.item.Server.Offer.Resources {
		if r.URI == t.uri {
			return wire.Get(r.JSON, "_meta")
		}
	}
	return nil
}

// readPage reads a page through the pipeline, as p, so that permissions hold and the read
// is on record. view is the id of the View that it is for, or empty. fresh bypasses
// cached copies.
func (h *Host) readPage(ctx context.Context, p *junctor.Principal, t toolPage, view string, fresh bool) (mcpapps.Page, error) {
	params := append(wire.AppendString([]byte(`{"uri":`), t.uri), '}')
	op := &guard.Op{
		Principal: p, EntryPoint: junctor.EntryAppView, AppViewID: view, Scope: catalog.Scope{Server: t.item.Server.ID, Audience: catalog.AudienceHost},
		Kind: junctor.KindResource, Name: t.uri, Params: params, BypassCache: fresh, Caller: viewCaller(),
	}
	res, err := h.opts.Pipeline.Do(ctx, op, catalog.Discard{})
	if err != nil {
		return mcpapps.Page{}, err
	}
	if res.Input {
		return mcpapps.Page{}, h.refuseInput(ctx, op, res)
	}
	if len(res.Body) > maxPageBytes {
		return mcpapps.Page{}, junctor.Errorf(junctor.CodeTooLarge, "the page %s of server %s has more than %d MiB", clipText(t.uri), t.item.Server.ID, maxPageBytes>>20)
	}
	page, err := mcpapps.ParsePage(t.uri, res.Body, t.listedMeta())
	if err != nil {
		return mcpapps.Page{}, junctor.Errorf(junctor.CodeUpstream, "the page of server %s cannot be shown: %s", t.item.Server.ID, strings.TrimPrefix(err.Error(), "mcpapps: "))
	}
	return page, nil
}

// viewCaller gives the client capabilities of a View and of the host around it. They show
// pages. They declare nothing that a person would have to answer, since a View cannot
// pass questions on.
func viewCaller() catalog.Caller {
	return catalog.Caller{Protocol: wire.ModernVersion, Capabilities: []byte(`{"extensions":` + ClientExtensions + `}`)}
}

// refuseInput ends a call that asks for input, which a View cannot give. It also ends the
// call at the server, if that holds it open.
func (h *Host) refuseInput(ctx context.Context, op *guard.Op, res catalog.Result) error {
	err := junctor.Errorf(junctor.CodeUnavailable, "the tool requests input during the call, which an App view cannot provide: call the tool itself")
	if state, ok := wire.String(wire.Get(res.Body, "requestState")); ok {
		op.RequestState, op.HasState = state, true
		h.opts.Pipeline.AbandonCall(ctx, op, err)
	}
	return err
}

// pageProfile decides which profile a page runs with, and gives the approval that this is
// based on. An approval holds for one digest: a changed page is strict until somebody
// approves it again. An empty digest means that the page was not read, and counts as
// unchanged.
func (h *Host) pageProfile(ctx context.Context, tenant junctor.TenantID, server, uri, digest string) (junctor.AppProfile, junctor.Approval, error) {
	a, err := h.opts.Approvals.Approval(ctx, tenant, server, uri)
	if junctor.CodeOf(err) == junctor.CodeNotFound {
		profile, approval := profileOf(nil, digest)
		return profile, approval, nil
	}
	if err != nil {
		return "", junctor.Approval{}, err
	}
	profile, approval := profileOf(&a, digest)
	return profile, approval, nil
}

// profileOf is pageProfile for a stored approval; nil if there is none.
func profileOf(a *junctor.AppApproval, digest string) (junctor.AppProfile, junctor.Approval) {
	if a == nil {
		return junctor.AppStrict, junctor.Approval{State: junctor.ApprovalNone}
	}
	given := junctor.Approval{State: junctor.ApprovalGiven, Digest: a.Digest, By: a.By, At: a.At}
	if digest != "" && a.Digest != digest {
		given.State = junctor.ApprovalChanged
		return junctor.AppStrict, given
	}
	return junctor.AppCompatible, given
}

// describePage describes a page: what it declares, and the policy that it runs under.
func describePage(page mcpapps.Page, profile junctor.AppProfile, policy string) junctor.AppPage {
	out := junctor.AppPage{
		Digest: page.Digest(), Bytes: len(page.HTML), Policy: policy, Domain: page.Meta.Domain, PrefersBorder: page.Meta.PrefersBorder, Profile: profile,
	}
	addDeclarations(&out, page.Meta)
	return out
}

// addDeclarations fills in the sources and permissions that a page declares. Lists are
// never nil, since the API has no null there. Refused names the sources that are invalid
// and have no effect.
func addDeclarations(out *junctor.AppPage, meta mcpapps.ResourceMeta) {
	out.CSP, out.Refused, out.Permissions = junctor.AppCSP{}, []string{}, listPermissions(meta.Permissions)
	if given := meta.CSP.FilterInvalid(); given != nil {
		out.CSP = junctor.AppCSP{Connect: given.ConnectDomains, Resource: given.ResourceDomains, Frame: given.FrameDomains, BaseURI: given.BaseURIDomains}
	}
	for _, list := range []*[]string{&out.CSP.Connect, &out.CSP.Resource, &out.CSP.Frame, &out.CSP.BaseURI} {
		if *list == nil {
			*list = []string{}
		}
	}
	if err := meta.CSP.Validate(); err != nil {
		for line := range strings.Lines(err.Error()) {
			out.Refused = append(out.Refused, strings.TrimPrefix(strings.TrimSpace(line), "mcpapps: "))
		}
	}
}

// listPermissions lists the permissions that a page asks for, by their names in MCP Apps.
func listPermissions(p *mcpapps.Permissions) []string {
	out := []string{}
	if p == nil {
		return out
	}
	for _, one := range []struct {
		name  string
		asked mcpapps.Flag
	}{{"camera", p.Camera}, {"microphone", p.Microphone}, {"geolocation", p.Geolocation}, {"clipboardWrite", p.ClipboardWrite}} {
		if one.asked {
			out = append(out, one.name)
		}
	}
	return out
}
