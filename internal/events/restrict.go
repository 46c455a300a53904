package events

import (
	"context"
	"slices"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/queue"
	"github.com/junctor-mcp/junctor/internal/servers"
	"github.com/junctor-mcp/junctor/internal/worker"
)

// serverLanePrefix is the prefix of lanes of deliveries to registered servers, as
// junctor.Order.Lane names them.
const serverLanePrefix = "server:"

// knownLanes returns the lanes of the servers that a principal may know of, and since
// when each lane is that server's. It returns nil for admins, who know all.
func (a DeliveryAPI) knownLanes(ctx context.Context, p *junctor.Principal) (map[string]time.Time, error) {
	if p.Agent == "" && p.Has(junctor.ScopeAdmin) {
		return nil, nil
	}
	known, err := a.service.Servers.KnownServers(ctx, p)
	lanes := make(map[string]time.Time, len(known))
	for id, since := range known {
		lanes[serverLanePrefix+id] = since
	}
	return lanes, err
}

// restrictFilter adds to a filter that the principal may see the deliveries. It reports false
// if the principal may see none of those that match.
func (a DeliveryAPI) restrictFilter(ctx context.Context, p *junctor.Principal, f *queue.Filter) (visible bool, err error) {
	known, err := a.knownLanes(ctx, p)
	if err != nil {
		return false, err
	}
	f.KnownLanes, f.KnownLanePrefix = known, serverLanePrefix
	if known != nil && servers.HostOnly(f.Lane) != "" {
		return false, nil // the principal sees only the host of an address: a filter would confirm guesses of the rest
	}
	if p.Agent != "" {
		if f.Agent != "" && f.Agent != p.Agent {
			return false, nil
		}
		f.Agent = p.Agent
	}
	return true, nil
}

// List implements admin.Deliveries. Deliveries to servers that the principal may not
// know of are left out, as their calls are. An agent gets the deliveries that concern
// it.
func (a DeliveryAPI) List(ctx context.Context, p *junctor.Principal, f queue.Filter, page *junctor.RowPage) ([]worker.Delivery, junctor.RowTotal, error) {
	visible, err := a.restrictFilter(ctx, p, &f)
	if err != nil || !visible {
		return nil, junctor.RowTotal{}, err
	}
	list, total, err := a.Page(ctx, p.Tenant, f, page)
	for i := range list {
		restrictDelivery(p, &list[i])
	}
	return list, total, err
}

// Timeline implements admin.Deliveries. It counts the deliveries that List returns.
func (a DeliveryAPI) Timeline(ctx context.Context, p *junctor.Principal, q queue.TimelineQuery) ([]queue.TimelinePoint, error) {
	visible, err := a.restrictFilter(ctx, p, &q.Filter)
	if err != nil || !visible {
		return nil, err
	}
	return a.Worker.Timeline(ctx, p.Tenant, q)
}

// Get implements admin.Deliveries.
func (a DeliveryAPI) Get(ctx context.Context, p *junctor.Principal, id string) (worker.Delivery, error) {
	known, err := a.knownLanes(ctx, p)
	if err != nil {
		return worker.Delivery{}, err
	}
	d, err := a.Worker.Get(ctx, p.Tenant, id)
	if err != nil {
		return worker.Delivery{}, err
	}
	if since, ok := known[d.Endpoint]; known != nil && (strings.HasPrefix(d.Endpoint, serverLanePrefix) && (!ok || d.CreatedAt.Before(since)) || p.Agent != "" && p.Agent != d.Agent) {
		return worker.Delivery{}, junctor.Errorf(junctor.CodeNotFound, "unknown delivery %q; junctor delivery ls lists the deliveries", id)
	}
	restrictDelivery(p, &d)
	return d, nil
}

// restrictDelivery removes the payload of a delivery, its request and its response,
// unless the principal is an admin: the call is nobody's own, and junctor.CallAccess has
// the same rule for calls.
func restrictDelivery(p *junctor.Principal, d *worker.Delivery) {
	if p.Agent == "" && p.Has(junctor.ScopeAdmin) {
		return
	}
	d.Arguments, d.Error, d.Restricted, d.Endpoint = nil, "", true, restrictLane(d.Endpoint)
	if d.Key != "" && d.Key != junctor.AgentOrderKey(d.Agent) {
		d.Key = "" // a trigger makes it from the payload of its event
	}
	for i := range d.Tried {
		d.Tried[i].Error, d.Tried[i].Answer, d.Tried[i].Note = "", "", ""
	}
	if d.Verified != nil {
		d.Verified.Why = "" // it quotes errors
	}
}

// restrictEvent removes the data of an event about what needs attention, unless the principal
// is an admin: the item may be one that the principal must not see.
func restrictEvent(p *junctor.Principal, e *junctor.Event) {
	if junctor.IsAttentionSource(e.Source) && (p.Agent != "" || !p.Has(junctor.ScopeAdmin)) {
		e.Data = nil
	}
}

// restrictLane returns the name of a lane as principals who are no admins may see it: of
// an address only the host, since paths may contain tokens.
func restrictLane(lane string) string {
	if host := servers.HostOnly(lane); host != "" {
		return host
	}
	return lane
}

// Lanes implements admin.Deliveries.
func (a DeliveryAPI) Lanes(ctx context.Context, p *junctor.Principal) ([]queue.Lane, error) {
	known, err := a.knownLanes(ctx, p)
	if err != nil {
		return nil, err
	}
	list, err := a.Worker.Lanes(ctx, p.Tenant)
	if known == nil || err != nil {
		return list, err
	}
	list = slices.DeleteFunc(list, func(l queue.Lane) bool {
		_, ok := known[l.Name]
		return strings.HasPrefix(l.Name, serverLanePrefix) && !ok || p.Agent != "" && l.Name != junctor.AgentOwner(p.Agent)
	})
	for i := range list {
		list[i].Name, list[i].Reason = restrictLane(list[i].Name), "" // the reason quotes responses
	}
	return list, nil
}

// knowsTrigger reports whether a principal may know of a trigger: if the trigger calls a
// server, the principal must know of the server.
func knowsTrigger(p *junctor.Principal, known map[string]time.Time, t *junctor.Trigger) bool {
	if p.Agent == "" && p.Has(junctor.ScopeAdmin) || t.Action.Server == "" {
		return true
	}
	_, ok := known[t.Action.Server]
	return ok
}

// Triggers implements admin.Events.
func (a EventAPI) Triggers(ctx context.Context, p *junctor.Principal) ([]junctor.Trigger, error) {
	list, err := a.service.Store.For(p.Tenant).Triggers(ctx)
	if err != nil {
		return nil, err
	}
	known, err := a.service.Servers.KnownServers(ctx, p)
	list = slices.DeleteFunc(list, func(t junctor.Trigger) bool { return !knowsTrigger(p, known, &t) })
	for i := range list {
		restrictTrigger(p, &list[i])
	}
	return list, err
}

// restrictTrigger removes the template, which becomes the arguments of a call, unless
// the principal is an admin, as restrictDelivery does.
func restrictTrigger(p *junctor.Principal, t *junctor.Trigger) {
	if p.Agent != "" || !p.Has(junctor.ScopeAdmin) {
		t.Action.Template = nil
	}
}

// Trigger implements admin.Events.
func (a EventAPI) Trigger(ctx context.Context, p *junctor.Principal, name string) (junctor.Trigger, error) {
	t, err := a.service.Store.For(p.Tenant).Trigger(ctx, name)
	if err != nil {
		return junctor.Trigger{}, err
	}
	known, err := a.service.Servers.KnownServers(ctx, p)
	if err == nil && !knowsTrigger(p, known, &t) {
		return junctor.Trigger{}, junctor.Errorf(junctor.CodeNotFound, "unknown trigger %q; junctor trigger ls lists the triggers", name)
	}
	restrictTrigger(p, &t)
	return t, err
}
