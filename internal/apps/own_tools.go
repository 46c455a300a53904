package apps

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// A View may offer tools of its own, for the agent that talks with the person who looks
// at the View. They run in the browser of that person. Calls of them pass the pipeline
// like all others. Records name them by OwnToolPrefix and the tool's name, with the View's
// server and the View's id.

// OwnToolPrefix begins the names of Views' own tools in records, so that they cannot be taken
// for tools of the server.
const OwnToolPrefix = "own:"

const (
	maxOwnTools    = 50               // of one View; further tools are ignored
	listOwnTimeout = 10 * time.Second // for a View to list its tools
)

// findForTools finds an open View for a caller of its own tools. Two kinds of callers may
// use it: the session that shows the View, and any principal that acts for the same user.
// For others the View does not exist.
func (h *Host) findForTools(p *junctor.Principal, id string) (*view, error) {
	h.mu.Lock()
	v := h.views[id]
	if v != nil && h.isAlive(v, h.opts.Now()) && v.owner.Tenant == p.Tenant && v.owner.User != "" && v.owner.User == p.User {
		h.mu.Unlock()
		return v, nil
	}
	h.mu.Unlock()
	return h.findView(p, id)
}

// ListShownViews lists the open Views of a user that show results of an agent's calls, last opened
// first.
func (h *Host) ListShownViews(tenant junctor.TenantID, user, agent string) []junctor.ShownView {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.opts.Now()
	var found []*view
	for _, v := range h.views {
		if user != "" && v.owner.Tenant == tenant && v.owner.User == user && v.agentName == agent && v.callID != "" && h.isAlive(v, now) {
			found = append(found, v)
		}
	}
	slices.SortFunc(found, func(a, b *view) int { return cmp.Or(b.openedAt.Compare(a.openedAt), strings.Compare(a.id, b.id)) })
	out := make([]junctor.ShownView, len(found))
	for i, v := range found {
		out[i] = junctor.ShownView{ID: v.id, Call: v.callID, Server: v.tool.item.Server.ID, Tool: v.tool.item.Name}
	}
	return out
}

// ListOwnTools asks an open View for its tools. It leaves out tools without a usable name,
// and all beyond maxOwnTools.
func (h *Host) ListOwnTools(ctx context.Context, p *junctor.Principal, id string) ([]junctor.ViewTool, error) {
	v, err := h.findForTools(p, id)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, listOwnTimeout)
	defer cancel()
	return h.ownTools(ctx, v)
}

// ownTools is ListOwnTools for a View that the caller has already found. ctx bounds the wait
// for the browser.
func (h *Host) ownTools(ctx context.Context, v *view) ([]junctor.ViewTool, error) {
	list, err := h.askView(ctx, v, wire.MethodToolsList, []byte(`{}`))
	if err != nil {
		return nil, err
	}
	var out []junctor.ViewTool
	seen := map[string]bool{}
	for raw := range wire.Elements(wire.Get(list, "tools")) {
		name, ok := wire.String(wire.Get(raw, "name"))
		if !ok || name == "" || len(name) > 128 || seen[name] || len(out) == maxOwnTools {
			continue
		}
		seen[name] = true
		out = append(out, junctor.ViewTool{Name: name, Definition: append(json.RawMessage(nil), raw...)})
	}
	return out, nil
}

// CallOwnTool calls a tool that an open View offers, for p. It returns the result and the id
// of the call in the records. The pipeline sets the deadline. A View that no browser
// shows is not waited for.
func (h *Host) CallOwnTool(ctx context.Context, p *junctor.Principal, id, tool string, arguments json.RawMessage) (result json.RawMessage, call string, err error) {
	v, err := h.findForTools(p, id)
	if err != nil {
		return nil, "", err
	}
	if len(arguments) == 0 {
		arguments = []byte(`{}`)
	}
	op := &guard.Op{
		Principal: p, EntryPoint: junctor.EntryAppView, AppViewID: v.id, Scope: catalog.Scope{Server: v.tool.item.Server.ID, Audience: catalog.AudienceHost},
		Kind: junctor.KindTool, Name: OwnToolPrefix + tool, Arguments: arguments, Caller: viewCaller(),
		Params:   append(append(wire.AppendString([]byte(`{"name":`), tool), `,"arguments":`...), append(slices.Clip(arguments), '}')...),
		FindItem: func(ctx context.Context) (catalog.Item, error) { return h.findOwn(ctx, v, tool) },
	}
	res, err := h.opts.Pipeline.Do(ctx, op, catalog.Discard{})
	if err != nil {
		result, err = argumentsResult(op.Kind, err)
		return result, op.CallID, err
	}
	return res.Body, op.CallID, nil
}

// findOwn gives the catalog item of a View's own tool. It asks the View for its tools,
// since no list keeps them. The error of an unknown name lists the names that exist.
func (h *Host) findOwn(ctx context.Context, v *view, name string) (catalog.Item, error) {
	ctx, cancel := context.WithTimeout(ctx, listOwnTimeout)
	defer cancel()
	defs, err := h.ownTools(ctx, v)
	if err != nil {
		return catalog.Item{}, err
	}
	names := make([]string, len(defs))
	for i, def := range defs {
		if names[i] = def.Name; def.Name == name {
			return catalog.Lone(v.tool.item.Server, &ownToolBackend{h, v}, catalog.ToolDef{Name: OwnToolPrefix + name, JSON: def.Definition})
		}
	}
	return catalog.Item{}, junctor.Errorf(junctor.CodeNotFound, "the App of %s has no tool %q of its own; it has: %s", v.tool.name, clipText(name), clipText(strings.Join(names, ", ")))
}

// ownToolBackend is the backend of the tools of one View. It sends calls to the browser
// that shows the View.
type ownToolBackend struct {
	host *Host
	view *view
}

// Offer implements catalog.Backend. Own tools are in no list.
func (o *ownToolBackend) Offer(context.Context) (*catalog.Offer, error) { return &catalog.Offer{}, nil }

// Watch implements catalog.Backend. The offer never changes.
func (o *ownToolBackend) Watch(func(catalog.Event)) {}

// Do implements catalog.Backend: it asks the View and returns its answer as the result.
func (o *ownToolBackend) Do(ctx context.Context, req *catalog.Request, _ catalog.Sink) (catalog.Result, error) {
	body, err := o.host.askView(ctx, o.view, wire.MethodToolsCall, req.Params)
	if err != nil {
		return catalog.Result{}, err
	}
	return catalog.Result{Body: body, IsError: string(wire.Get(body, "isError")) == "true"}, nil
}
