package visit

import (
	"context"
	"strings"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

const (
	mostTraces = 100              // that are shown of a server
	maxText    = 4 << 10          // of one text of a trace
	traceTime  = 5 * time.Second  // to store one
	sameFor    = 10 * time.Second // a failure that was just stored is not stored again
	maxLately  = 1000
)

// lately is which failures were stored a moment ago: a server that refuses every
// call must not fill the store.
type lately struct {
	mu  sync.Mutex
	all map[string]time.Time
}

// again says whether the same failure was noted a moment ago, and notes it.
func (l *lately) again(what string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at, ok := l.all[what]; ok && now.Sub(at) < sameFor {
		return true
	}
	if l.all == nil || len(l.all) >= maxLately {
		l.all = map[string]time.Time{}
	}
	l.all[what] = now
	return false
}

// traced keeps a trace, and logs one that went wrong.
func (d *Desk) traced(ctx context.Context, row *junctor.Server, user string, t *junctor.Trace) {
	if t == nil {
		return
	}
	t.ID, t.Server, t.User = d.NewID(), row.ID, user
	bound(t)
	if !t.OK {
		if d.lately.again(strings.Join([]string{string(row.Tenant), row.ID, user, string(t.What), t.Verdict}, "\x00"), time.Now()) {
			return
		}
		d.Log.Warn("a login at a server failed", "server", row.ID, "what", string(t.What), "why", t.Verdict)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), traceTime) // whoever waits for the login may be gone
	defer cancel()
	if err := d.Traces.AddTrace(ctx, row.Tenant, *t); err != nil {
		d.Log.Warn("how a login went could not be stored", "server", row.ID, "error", junctor.AsError(err).Message)
	}
}

// bound keeps what others say from filling the store.
func bound(t *junctor.Trace) {
	clip := func(text *string) {
		if len(*text) > maxText {
			*text = strings.ToValidUTF8((*text)[:maxText], "") + "…"
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

// TracesOf gives the traces of a server: newest first, one's own, and to who may
// change the server everybody's.
func (d *Desk) TracesOf(ctx context.Context, p *junctor.Principal, id string) ([]junctor.Trace, error) {
	if _, err := d.Servers.Seen(ctx, p, id); err != nil {
		return nil, err
	}
	_, err := d.Servers.Owned(ctx, p, id)
	switch {
	case p.Agent != "":
		return []junctor.Trace{}, nil
	case err == nil && p.Has(junctor.ScopeServersWrite):
		return d.Traces.Traces(ctx, p.Tenant, id, "", mostTraces)
	case p.User == "":
		return []junctor.Trace{}, nil
	}
	return d.Traces.Traces(ctx, p.Tenant, id, p.User, mostTraces)
}
