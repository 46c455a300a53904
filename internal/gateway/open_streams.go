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
	mu      sync.Mutex
	byOwner map[streamOwner]map[*openStream]struct{}
}

type streamOwner struct {
	tenant          junctor.TenantID
	issuer, subject string
}

// openStream is one open stream.
type openStream struct {
	principal *junctor.Principal
	cancel    context.CancelFunc

	// Under the lock of all.
	endsAt         time.Time   // when it ends by itself; zero is not
	endTimer       *time.Timer // ends it then
	hasFormerToken bool        // the key that opened it has another token by now
}

// endAtLatest has it end by itself, unless it does so before.
func (h *openStream) endAtLatest(until, now time.Time) {
	if until.IsZero() || !h.endsAt.IsZero() && h.endsAt.Before(until) {
		return
	}
	if h.endTimer != nil {
		h.endTimer.Stop()
	}
	h.endsAt, h.endTimer = until, time.AfterFunc(until.Sub(now), h.cancel)
}

func (s *openStreams) addStream(p *junctor.Principal, most int, now time.Time, end context.CancelFunc) (release func()) {
	key := streamOwner{p.Tenant, p.Issuer, p.Subject}
	s.mu.Lock()
	defer s.mu.Unlock()
	if most > 0 && len(s.byOwner[key]) >= most {
		return nil
	}
	if s.byOwner == nil {
		s.byOwner = map[streamOwner]map[*openStream]struct{}{}
	}
	if s.byOwner[key] == nil {
		s.byOwner[key] = map[*openStream]struct{}{}
	}
	h := &openStream{principal: p, cancel: end}
	h.endAtLatest(p.Expires, now)
	s.byOwner[key][h] = struct{}{}
	return func() {
		end()
		s.mu.Lock()
		defer s.mu.Unlock()
		if h.endTimer != nil {
			h.endTimer.Stop()
		}
		if delete(s.byOwner[key], h); len(s.byOwner[key]) == 0 {
			delete(s.byOwner, key)
		}
	}
}

// registerStream counts one more stream of a principal, which ends with the key or token that
// it was opened with; release lets it go. nil where there are most already, 0 being
// no bound.
func (g *Gateway) registerStream(p *junctor.Principal, most int, end context.CancelFunc) (release func()) {
	return g.openStreams.addStream(p, most, g.options.Now(), end)
}

// Rotated says that a key has a new token, which nobody has shown yet. What the
// former one opened ends when that is no longer taken, and what tokens before it
// opened ends now.
func (g *Gateway) Rotated(k *junctor.Key) {
	now := g.options.Now()
	until := k.FormerUntil
	if until.IsZero() {
		until = now
	}
	g.openStreams.mu.Lock()
	defer g.openStreams.mu.Unlock()
	for _, of := range g.openStreams.byOwner {
		for h := range of {
			switch {
			case h.principal.Tenant != k.Tenant || h.principal.Key != k.ID:
			case h.hasFormerToken || !h.principal.Expires.Equal(k.ExpiresAt):
				h.cancel()
			default:
				h.hasFormerToken = true
				h.endAtLatest(until, now)
			}
		}
	}
}

// registerHTTPStream counts one more stream of a principal, and gives it a context that
// EndOf ends, and the end of its key, and what lets it go; or, where there are too
// many already, answers 429 and gives nil.
func (g *Gateway) registerHTTPStream(ctx context.Context, w http.ResponseWriter, p *junctor.Principal, id []byte) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	release := g.registerStream(p, g.options.MaxStreams, cancel)
	if release == nil {
		cancel()
		g.writeError(w, http.StatusTooManyRequests, id, &wire.Error{Code: codeLimited, Message: "too many open streams with this key; close one first"})
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
		if err := g.options.Sessions.RevokeSession(ctx, p.Tenant, s.sealed.ID, time.Unix(s.sealed.Expires, 0)); err != nil {
			failed = err
		}
		g.sessions.remove(s.sealedID)
		s.close()
	}
	g.EndStreams(match)
	return failed
}

// EndStreams is EndOf for streams alone: a session is its party's, whose other keys
// open it too.
func (g *Gateway) EndStreams(match func(*junctor.Principal) bool) {
	g.openStreams.mu.Lock()
	defer g.openStreams.mu.Unlock()
	for _, of := range g.openStreams.byOwner {
		for h := range of {
			if match(h.principal) {
				h.cancel()
			}
		}
	}
}
