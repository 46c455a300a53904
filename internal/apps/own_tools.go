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

// A View may have tools of its own, for the agent that speaks with the person who
// looks at it. They run in that person's browser, and are called through the
// pipeline like all others. On record they stand under the View's server, with
// the View's id, as OwnPrefix and their name.

// OwnPrefix is before the names of Views' own tools on record.
const OwnPrefix = "own:"

const (
	maxOwnTools    = 50
	listOwnTimeout = 10 * time.Second // that a View may take to say what it has
)

// findForTools finds an open View for who may use its own tools: the session that shows
// it, and whoever acts for the same person.
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

// Shown lists the open Views of a person that show results of an agent's calls,
// the last opened first.
func (h *Host) Shown(tenant junctor.TenantID, user, agent string) []junctor.ShownView {
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

// OwnTools lists the tools that an open View has itself, as it has them now. What
// cannot be called is left out.
func (h *Host) OwnTools(ctx context.Context, p *junctor.Principal, id string) ([]junctor.ViewTool, error) {
	v, err := h.findForTools(p, id)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, listOwnTimeout)
	defer cancel()
	return h.ownTools(ctx, v)
}

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

// CallOwn calls a tool that an open View has itself, for p, and gives what it
// answered and what the records know the call by. It has the deadline of every
// call; a View that nobody looks at is not waited for.
func (h *Host) CallOwn(ctx context.Context, p *junctor.Principal, id, tool string, arguments json.RawMessage) (result json.RawMessage, call string, err error) {
	v, err := h.findForTools(p, id)
	if err != nil {
		return nil, "", err
	}
	if len(arguments) == 0 {
		arguments = []byte(`{}`)
	}
	op := &guard.Op{
		Principal: p, Door: junctor.DoorView, ViewID: v.id, View: catalog.View{Server: v.tool.item.Server.ID, Audience: catalog.AudienceHost},
		Kind: junctor.KindTool, Name: OwnPrefix + tool, Arguments: arguments, Caller: viewCaller(),
		Params: append(append(wire.AppendString([]byte(`{"name":`), tool), `,"arguments":`...), append(slices.Clip(arguments), '}')...),
		Find:   func(ctx context.Context) (catalog.Item, error) { return h.findOwn(ctx, v, tool) },
	}
	res, err := h.opts.Pipeline.Do(ctx, op, discardSink{})
	if err != nil {
		result, err = argumentsResult(op.Kind, err)
		return result, op.CallID, err
	}
	return res.Body, op.CallID, nil
}

// findOwn gives the item of a View's own tool.
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
			return catalog.Lone(v.tool.item.Server, &ownToolBackend{h, v}, catalog.ToolDef{Name: OwnPrefix + name, JSON: def.Definition})
		}
	}
	return catalog.Item{}, junctor.Errorf(junctor.CodeNotFound, "the App of %s has no tool %q of its own; it has: %s", v.tool.name, clipText(name), clipText(strings.Join(names, ", ")))
}

// ownToolBackend is the backend of a View's own tools.
type ownToolBackend struct {
	host *Host
	view *view
}

// Offer implements catalog.Backend: no list has them.
func (o *ownToolBackend) Offer(context.Context) (*catalog.Offer, error) { return &catalog.Offer{}, nil }

// Watch implements catalog.Backend.
func (o *ownToolBackend) Watch(func(catalog.Event)) {}

// Do implements catalog.Backend.
func (o *ownToolBackend) Do(ctx context.Context, req *catalog.Request, _ catalog.Sink) (catalog.Result, error) {
	body, err := o.host.askView(ctx, o.view, wire.MethodToolsCall, req.Params)
	if err != nil {
		return catalog.Result{}, err
	}
	return catalog.Result{Body: body, IsError: string(wire.Get(body, "isError")) == "true"}, nil
}
