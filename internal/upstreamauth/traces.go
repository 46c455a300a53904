package upstreamauth

import (
	"context"
	"strings"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Bounds of what is stored and shown of traces.
const (
	maxTracesShown    = 100     // per server
	maxTraceText      = 4 << 10 // bytes of one text in a trace
	storeTraceTimeout = 5 * time.Second
	repeatWindow      = 10 * time.Second // the same failure is stored once in this time
	maxRecentFailures = 1000             // entries of recentFailures before it is cleared
)

// recentFailures remembers which failures were stored recently. It keeps a server
// that refuses every call from filling the store.
type recentFailures struct {
	mu      sync.Mutex
	notedAt map[string]time.Time
}

// noteFailure records a failure and reports whether the same one was recorded
// within repeatWindow.
func (f *recentFailures) noteFailure(what string, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if at, ok := f.notedAt[what]; ok && now.Sub(at) < repeatWindow {
		return true
	}
	if f.notedAt == nil || len(f.notedAt) >= maxRecentFailures {
		f.notedAt = map[string]time.Time{}
	}
	f.notedAt[what] = now
	return false
}

// recordTrace stores the trace of a login, renewal or token request, and logs it if
// it failed. A nil trace is ignored. A failure to store it is logged only.
func (m *Manager) recordTrace(ctx context.Context, row *junctor.Server, user string, t *junctor.Trace) {
	if t == nil {
		return
	}
	t.ID, t.Server, t.User = m.NewID(), row.ID, user
	clipTrace(t)
	if !t.OK {
		if m.recentFailures.noteFailure(strings.Join([]string{string(row.Tenant), row.ID, user, string(t.What), t.Verdict}, "\x00"), time.Now()) {
			return
		}
		m.Log.Warn("login at a server failed", "server", row.ID, "what", string(t.What), "reason", t.Verdict)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTraceTimeout) // the caller of the login may be gone
	defer cancel()
	if err := m.Traces.AddTrace(ctx, row.Tenant, *t); err != nil {
		m.Log.Warn("cannot store the trace of a login", "server", row.ID, "error", junctor.AsError(err).Message)
	}
}

// clipTrace shortens the texts that upstream servers control, so that they cannot
// fill the store.
func clipTrace(t *junctor.Trace) {
	clip := func(text *string) {
		if len(*text) > maxTraceText {
			*text = strings.ToValidUTF8((*text)[:maxTraceText], "") + "…"
		}
	}
	clip(&t.Verdict)
	clip(&t.Remedy)
	for i := range t.Steps {
		s := &t.Steps[i]
		for _, text := range []*string{&s.Request, &s.Answer, &s.Verdict, &s.Remedy} {
			clip(text)
		}
		for name, text := range s.Sent {
			clip(&text)
			s.Sent[name] = text
		}
	}
}

// ListTraces returns the traces of a server, newest first. Users who may change the
// server see all of them, other users only their own, and agents none.
func (m *Manager) ListTraces(ctx context.Context, p *junctor.Principal, id string) ([]junctor.Trace, error) {
	if _, err := m.Servers.VisibleServer(ctx, p, id); err != nil {
		return nil, err
	}
	_, err := m.Servers.ChangeableServer(ctx, p, id)
	switch {
	case p.Agent != "":
		return []junctor.Trace{}, nil
	case err == nil && p.Has(junctor.ScopeServersWrite):
		return m.Traces.Traces(ctx, p.Tenant, id, "", maxTracesShown)
	case p.User == "":
		return []junctor.Trace{}, nil
	}
	return m.Traces.Traces(ctx, p.Tenant, id, p.User, maxTracesShown)
}
