package gateway

import (
	"context"
	"net/http"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// openStreams holds the streams that stay open until one side ends them, by owner. Each
// costs a connection and a goroutine, so their number is bounded. They must end when
// their credential does.
type openStreams struct {
	mu      sync.Mutex
	byOwner map[streamOwner]map[*openStream]struct{}
}

// streamOwner is a party whose streams count together, whatever its credentials are.
type streamOwner struct {
	tenant          junctor.TenantID
	issuer, subject string
}

// openStream is one open stream. The lock of openStreams guards its last three fields.
type openStream struct {
	principal *junctor.Principal
	cancel    context.CancelFunc

	endsAt         time.Time   // when it ends by itself; zero if it does not
	endTimer       *time.Timer // ends it at endsAt
	hasFormerToken bool        // the key that opened it has been rotated since
}

// endAtLatest makes the stream end at until, unless it ends before. The caller holds the
// lock of openStreams.
func (h *openStream) endAtLatest(until, now time.Time) {
	if until.IsZero() || !h.endsAt.IsZero() && h.endsAt.Before(until) {
		return
	}
	if h.endTimer != nil {
		h.endTimer.Stop()
	}
	h.endsAt, h.endTimer = until, time.AfterFunc(until.Sub(now), h.cancel)
}

// addStream registers a stream of p. It returns nil if p has most streams already; 0
// means no bound. end is called when the stream must end. The caller must call release
// when it has ended.
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
		end() // release the context, too
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

// registerStream registers a stream of a principal, which ends when its key or token
// expires. It returns nil if the principal has most streams already; 0 means no bound.
// The caller must call release.
func (g *Gateway) registerStream(p *junctor.Principal, most int, end context.CancelFunc) (release func()) {
	return g.openStreams.addStream(p, most, g.options.Now(), end)
}

// EndRotatedStreams ends streams after a key got a new token. Streams that were opened with the
// former token end when it stops working. Streams that were opened with a token before
// that one end now. Call it before the new token is handed out.
func (g *Gateway) EndRotatedStreams(k *junctor.Key) {
	now := g.options.Now()
	until := k.FormerUntil
	if until.IsZero() {
		until = now
	}
	g.openStreams.mu.Lock()
	defer g.openStreams.mu.Unlock()
	for _, streams := range g.openStreams.byOwner {
		for h := range streams {
			switch {
			case h.principal.Tenant != k.Tenant || h.principal.Key != k.ID:
			// It was opened before an earlier rotation, or with a token that was the
			// former one already: such a principal expires with the grace period and
			// not with the key. Neither token is accepted any more.
			case h.hasFormerToken || !h.principal.Expires.Equal(k.ExpiresAt):
				h.cancel()
			default:
				h.hasFormerToken = true
				h.endAtLatest(until, now)
			}
		}
	}
}

// registerHTTPStream registers a stream of a principal and returns its context, which
// ends when the stream must end. The caller must call release. If there are too many
// streams, it answers 429 and release is nil.
func (g *Gateway) registerHTTPStream(ctx context.Context, w http.ResponseWriter, p *junctor.Principal, id []byte) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	release := g.registerStream(p, g.options.MaxStreams, cancel)
	if release == nil {
		cancel()
		g.writeError(w, http.StatusTooManyRequests, id, &wire.Error{Code: codeLimited, Message: "too many open streams with this key; close one first"})
	}
	return ctx, release
}

// EndSessions ends the sessions and streams of the matching principals, which were deleted or
// lost their credential. Sessions that are not in memory need a valid credential to be
// reopened.
func (g *Gateway) EndSessions(ctx context.Context, match func(*junctor.Principal) bool) error {
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

// EndStreams ends the streams of the matching principals, but not their sessions: a
// session belongs to a party, whose other keys can still use it.
func (g *Gateway) EndStreams(match func(*junctor.Principal) bool) {
	g.openStreams.mu.Lock()
	defer g.openStreams.mu.Unlock()
	for _, streams := range g.openStreams.byOwner {
		for h := range streams {
			if match(h.principal) {
				h.cancel()
			}
		}
	}
}
