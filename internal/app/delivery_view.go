package app

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

// serverLane is what the endpoints of deliveries to registered servers begin with,
// as junctor.Order.Lane names them.
const serverLane = "server:"

// knownLanes are the endpoints of the servers that a principal may know of, and
// since when each is that server's; nil for admins, who know all.
func (c couriers) knownLanes(ctx context.Context, p *junctor.Principal) (map[string]time.Time, error) {
	if p.Agent == "" && p.Has(junctor.ScopeAdmin) {
		return nil, nil
	}
	known, err := c.app.servers.KnownServers(ctx, p)
	lanes := make(map[string]time.Time, len(known))
	for id, since := range known {
		lanes[serverLane+id] = since
	}
	return lanes, err
}

// List implements admin.Deliveries. Deliveries to servers that the principal may
// not know of are left out, as calls on them are; an agent has those that concern
// it.
func (c couriers) List(ctx context.Context, p *junctor.Principal, f queue.Filter) ([]worker.Delivery, string, error) {
	known, err := c.knownLanes(ctx, p)
	if err != nil {
		return nil, "", err
	}
	f.Known, f.KnownPrefix = known, serverLane
	if known != nil && servers.HostOnly(f.Lane) != "" {
		return nil, "", nil // an address, which is shown as its host: a filter would confirm guesses of the rest
	}
	if p.Agent != "" {
		if f.Agent != "" && f.Agent != p.Agent {
			return nil, "", nil
		}
		f.Agent = p.Agent
	}
	list, next, err := c.Worker.List(ctx, p.Tenant, f)
	for i := range list {
		restrictDelivery(p, &list[i])
	}
	return list, next, err
}

// Get implements admin.Deliveries.
func (c couriers) Get(ctx context.Context, p *junctor.Principal, id string) (worker.Delivery, error) {
	known, err := c.knownLanes(ctx, p)
	if err != nil {
		return worker.Delivery{}, err
	}
	d, err := c.Worker.Get(ctx, p.Tenant, id)
	if err != nil {
		return worker.Delivery{}, err
	}
	if since, ok := known[d.Endpoint]; known != nil && (strings.HasPrefix(d.Endpoint, serverLane) && (!ok || d.CreatedAt.Before(since)) || p.Agent != "" && p.Agent != d.Agent) {
		return worker.Delivery{}, junctor.Errorf(junctor.CodeNotFound, "there is no delivery %q; junctor delivery ls shows them", id)
	}
	restrictDelivery(p, &d)
	return d, nil
}

// restrictDelivery leaves out what a delivery's call says and what was answered:
// it is nobody's own call, so that admins alone read its payload, as
// junctor.CallAccess says of calls.
func restrictDelivery(p *junctor.Principal, d *worker.Delivery) {
	if p.Agent == "" && p.Has(junctor.ScopeAdmin) {
		return
	}
	d.Arguments, d.Error, d.Restricted, d.Endpoint = nil, "", true, restrictLane(d.Endpoint)
	if d.Key != "" && d.Key != junctor.AgentOrderKey(d.Agent) {
		d.Key = "" // a trigger makes it of what its event says
	}
	for i := range d.Tried {
		d.Tried[i].Error, d.Tried[i].Answer, d.Tried[i].Note = "", "", ""
	}
	if d.Verified != nil {
		d.Verified.Why = "" // it quotes errors
	}
}

// restrictLane is an endpoint as those may see it who are no admins: of an address
// the host alone, since tokens travel in paths.
func restrictLane(lane string) string {
	if host := servers.HostOnly(lane); host != "" {
		return host
	}
	return lane
}

// Lanes implements admin.Deliveries.
func (c couriers) Lanes(ctx context.Context, p *junctor.Principal) ([]queue.Lane, error) {
	known, err := c.knownLanes(ctx, p)
	if err != nil {
		return nil, err
	}
	list, err := c.Worker.Lanes(ctx, p.Tenant)
	if known == nil || err != nil {
		return list, err
	}
	list = slices.DeleteFunc(list, func(l queue.Lane) bool {
		_, ok := known[l.Name]
		return strings.HasPrefix(l.Name, serverLane) && !ok || p.Agent != "" && l.Name != junctor.AgentOwner(p.Agent)
	})
	for i := range list {
		list[i].Name, list[i].Why = restrictLane(list[i].Name), "" // why quotes what was answered
	}
	return list, nil
}

// knowsTrigger says whether a principal may know of a trigger: of one that calls a
// server if it may know of the server.
func (h happenings) knowsTrigger(p *junctor.Principal, known map[string]time.Time, t *junctor.Trigger) bool {
	if p.Agent == "" && p.Has(junctor.ScopeAdmin) || t.Action.Server == "" {
		return true
	}
	_, ok := known[t.Action.Server]
	return ok
}

// Triggers implements admin.Events.
func (h happenings) Triggers(ctx context.Context, p *junctor.Principal) ([]junctor.Trigger, error) {
	list, err := h.app.store.For(p.Tenant).Triggers(ctx)
	if err != nil {
		return nil, err
	}
	known, err := h.app.servers.KnownServers(ctx, p)
	list = slices.DeleteFunc(list, func(t junctor.Trigger) bool { return !h.knowsTrigger(p, known, &t) })
	for i := range list {
		restrictTrigger(p, &list[i])
	}
	return list, err
}

// restrictTrigger leaves out the template, which is what the tool is called with:
// as with deliveries, admins alone read it.
func restrictTrigger(p *junctor.Principal, t *junctor.Trigger) {
	if p.Agent != "" || !p.Has(junctor.ScopeAdmin) {
		t.Action.Template = nil
	}
}

// Trigger implements admin.Events.
func (h happenings) Trigger(ctx context.Context, p *junctor.Principal, name string) (junctor.Trigger, error) {
	t, err := h.app.store.For(p.Tenant).Trigger(ctx, name)
	if err != nil {
		return junctor.Trigger{}, err
	}
	known, err := h.app.servers.KnownServers(ctx, p)
	if err == nil && !h.knowsTrigger(p, known, &t) {
		return junctor.Trigger{}, junctor.Errorf(junctor.CodeNotFound, "there is no trigger %q; junctor trigger ls lists them", name)
	}
	restrictTrigger(p, &t)
	return t, err
}
