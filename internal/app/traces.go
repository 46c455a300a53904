package app

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
	all map[serverKey][]junctor.Trace // oldest first
}

func (t *traces) add(key serverKey, trace junctor.Trace) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil || len(t.all) >= maxTraceServers && t.all[key] == nil {
		t.all = map[serverKey][]junctor.Trace{}
	}
	list := t.all[key]
	list = append(list, trace)
	t.all[key] = list[max(0, len(list)-maxTraces):]
}

func (t *traces) of(key serverKey, keep func(*junctor.Trace) bool) []junctor.Trace {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := t.all[key]
	out := make([]junctor.Trace, 0, len(list))
	for i := len(list) - 1; i >= 0; i-- {
		if keep(&list[i]) {
			out = append(out, list[i])
		}
	}
	return out
}

// traced keeps a trace, and logs one that went wrong.
func (s *servers) traced(row *junctor.Server, user string, t *junctor.Trace) {
	if t == nil {
		return
	}
	t.ID, t.Server, t.User = newID(), row.ID, user
	s.traces.add(serverKey{row.Tenant, row.ID}, *t)
	if !t.OK {
		s.app.log.Warn("a login at a server failed", "server", row.ID, "what", string(t.What), "why", t.Verdict)
	}
}

// Traces implements admin.ServerLogins: newest first, one's own, and to who may
// change the server everybody's.
func (s *servers) Traces(ctx context.Context, p *junctor.Principal, id string) ([]junctor.Trace, error) {
	if _, err := s.mine(ctx, p, id); err != nil {
		return nil, err
	}
	_, err := s.own(ctx, p, id)
	all := err == nil && p.Has(junctor.ScopeServersWrite) && p.Agent == ""
	return s.traces.of(serverKey{p.Tenant, id}, func(t *junctor.Trace) bool {
		return all || t.User != "" && t.User == p.User && p.Agent == ""
	}), nil
}
