package visit

import (
	"context"
	"sync"

	junctor "github.com/junctor-mcp/junctor"
)

// Bounds of what is kept of logins.
const (
	maxTraces       = 20  // of one server
	maxTraceServers = 500 // with any
)

// traces keeps the last traces of each server.
type traces struct {
	mu  sync.Mutex
	all map[key][]junctor.Trace // oldest first
}

func (t *traces) add(of key, trace junctor.Trace) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil || len(t.all) >= maxTraceServers && t.all[of] == nil {
		t.all = map[key][]junctor.Trace{}
	}
	list := t.all[of]
	list = append(list, trace)
	t.all[of] = list[max(0, len(list)-maxTraces):]
}

func (t *traces) of(of key, keep func(*junctor.Trace) bool) []junctor.Trace {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := t.all[of]
	out := make([]junctor.Trace, 0, len(list))
	for i := len(list) - 1; i >= 0; i-- {
		if keep(&list[i]) {
			out = append(out, list[i])
		}
	}
	return out
}

// traced keeps a trace, and logs one that went wrong.
func (d *Desk) traced(row *junctor.Server, user string, t *junctor.Trace) {
	if t == nil {
		return
	}
	t.ID, t.Server, t.User = d.NewID(), row.ID, user
	d.traces.add(keyOf(row), *t)
	if !t.OK {
		d.Log.Warn("a login at a server failed", "server", row.ID, "what", string(t.What), "why", t.Verdict)
	}
}

// Traces gives the traces of a server: newest first, one's own, and to who may
// change the server everybody's.
func (d *Desk) Traces(ctx context.Context, p *junctor.Principal, id string) ([]junctor.Trace, error) {
	if _, err := d.Servers.Seen(ctx, p, id); err != nil {
		return nil, err
	}
	_, err := d.Servers.Owned(ctx, p, id)
	all := err == nil && p.Has(junctor.ScopeServersWrite) && p.Agent == ""
	return d.traces.of(key{p.Tenant, id}, func(t *junctor.Trace) bool {
		return all || t.User != "" && t.User == p.User && p.Agent == ""
	}), nil
}
