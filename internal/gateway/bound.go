package gateway

import (
	"context"
	"net/http"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// openStreams knows the streams that stay open until somebody ends them, by
// party: each costs a connection and a goroutine, whether anything happens or
// not.
type openStreams struct {
	mu   sync.Mutex
	open map[party]map[*held]struct{}
}

type party struct {
	tenant          junctor.TenantID
	issuer, subject string
}

// held is one open stream.
type held struct {
	p   *junctor.Principal
	end context.CancelFunc

	// Under the lock of all.
	until  time.Time   // when it ends by itself; zero is not
	timer  *time.Timer // ends it then
	former bool        // the key that opened it has another token by now
}

// endAt has it end by itself, unless it does so before.
func (h *held) endAt(until, now time.Time) {
	if until.IsZero() || !h.until.IsZero() && h.until.Before(until) {
		return
	}
	if h.timer != nil {
		h.timer.Stop()
	}
	h.until, h.timer = until, time.AfterFunc(until.Sub(now), h.end)
}

func (s *openStreams) add(p *junctor.Principal, most int, now time.Time, end context.CancelFunc) (release func()) {
	key := party{p.Tenant, p.Issuer, p.Subject}
	s.mu.Lock()
	defer s.mu.Unlock()
	if most > 0 && len(s.open[key]) >= most {
		return nil
	}
	if s.open == nil {
		s.open = map[party]map[*held]struct{}{}
	}
	if s.open[key] == nil {
		s.open[key] = map[*held]struct{}{}
	}
	h := &held{p: p, end: end}
	h.endAt(p.Expires, now)
	s.open[key][h] = struct{}{}
	return func() {
		end()
		s.mu.Lock()
		defer s.mu.Unlock()
		if h.timer != nil {
			h.timer.Stop()
		}
		if delete(s.open[key], h); len(s.open[key]) == 0 {
			delete(s.open, key)
		}
	}
}

// hold counts one more stream of a principal, which ends with the key or token that
// it was opened with; release lets it go. nil where there are most already, 0 being
// no bound.
func (g *Gateway) hold(p *junctor.Principal, most int, end context.CancelFunc) (release func()) {
	return g.streams.add(p, most, g.o.Now(), end)
}

// Rotated says that a key has a new token, which nobody has shown yet. What the
// former one opened ends when that is no longer taken, and what tokens before it
// opened ends now.
func (g *Gateway) Rotated(k *junctor.Key) {
	now := g.o.Now()
	until := k.FormerUntil
	if until.IsZero() {
		until = now
	}
	g.streams.mu.Lock()
	defer g.streams.mu.Unlock()
	for _, of := range g.streams.open {
		for h := range of {
			switch {
			case h.p.Tenant != k.Tenant || h.p.Key != k.ID:
			case h.former || !h.p.Expires.Equal(k.ExpiresAt):
				h.end()
			default:
				h.former = true
				h.endAt(until, now)
			}
		}
	}
}

// holdStream counts one more stream of a principal, and gives it a context that
// EndOf ends, and the end of its key, and what lets it go; or, where there are too
// many already, answers 429 and gives nil.
func (g *Gateway) holdStream(ctx context.Context, w http.ResponseWriter, p *junctor.Principal, id []byte) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	release := g.hold(p, g.o.MaxStreams, cancel)
	if release == nil {
		cancel()
		g.refuse(w, http.StatusTooManyRequests, id, &wire.Error{Code: codeLimited, Message: "too many open streams with this key; close one first"})
	}
	return ctx, release
}

// EndOf ends the sessions and streams of principals that were deleted or lost
// their credential. What is not in memory needs a credential to come back.
func (g *Gateway) EndOf(ctx context.Context, match func(*junctor.Principal) bool) error {
	var failed error
	for _, s := range g.sessions.all() {
		p := junctor.Principal{Tenant: s.sealed.Tenant, Issuer: s.sealed.Issuer, Subject: s.sealed.Subject, Agent: s.sealed.Agent}
		if !match(&p) {
			continue
		}
		if err := g.o.Sessions.RevokeSession(ctx, p.Tenant, s.sealed.ID, time.Unix(s.sealed.Expires, 0)); err != nil {
			failed = err
		}
		g.sessions.remove(s.text)
		s.close()
	}
	g.EndStreams(match)
	return failed
}

// EndStreams is EndOf for streams alone: a session is its party's, whose other keys
// open it too.
func (g *Gateway) EndStreams(match func(*junctor.Principal) bool) {
	g.streams.mu.Lock()
	defer g.streams.mu.Unlock()
	for _, of := range g.streams.open {
		for h := range of {
			if match(h.p) {
				h.end()
			}
		}
	}
}
