package gateway

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// sessionTable holds the legacy sessions that are in memory, by sealed id.
type sessionTable struct {
	mu         sync.RWMutex
	bySealedID map[string]*session
}

func (t *sessionTable) get(text string) *session {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.bySealedID[text]
}

// put adds a session, unless another request has opened it meanwhile.
func (t *sessionTable) put(s *session) *session {
	t.mu.Lock()
	defer t.mu.Unlock()
	if old := t.bySealedID[s.sealedID]; old != nil {
		return old
	}
	if t.bySealedID == nil {
		t.bySealedID = map[string]*session{}
	}
	t.bySealedID[s.sealedID] = s
	return s
}

func (t *sessionTable) remove(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.bySealedID, text)
}

// all gives the sessions in memory.
func (t *sessionTable) all() []*session {
	t.mu.RLock()
	defer t.mu.RUnlock()
	out := make([]*session, 0, len(t.bySealedID))
	for _, s := range t.bySealedID {
		out = append(out, s)
	}
	return out
}

// Sessions counts the legacy sessions that are in memory.
func (g *Gateway) Sessions() int {
	g.sessions.mu.RLock()
	defer g.sessions.mu.RUnlock()
	return len(g.sessions.bySealedID)
}

// closeIdleSessions lets idle sessions go, and all of them at the end.
func (g *Gateway) closeIdleSessions() {
	tick := time.NewTicker(min(g.options.Idle/2, time.Minute))
	defer tick.Stop()
	for {
		select {
		case <-g.ctx.Done():
			for _, s := range g.sessions.all() {
				s.close()
			}
			return
		case <-tick.C:
			now := g.options.Now()
			for _, s := range g.sessions.all() {
				if s.isIdle(now, g.options.Idle) {
					g.sessions.remove(s.sealedID)
					s.close()
				}
			}
		}
	}
}

// createSession makes a session for a principal and seals its id.
func (g *Gateway) createSession(ctx context.Context, p *junctor.Principal, view catalog.View, version string, caps, info []byte) (*session, error) {
	s := newSession(g.newBootID(), version, caps, info)
	s.lastUsed = g.options.Now()
	s.sealed = sealedSession{
		ID: g.options.NewID(), Tenant: p.Tenant, Issuer: p.Issuer, Subject: p.Subject, Server: view.Server, Agent: p.Agent,
		Version: version, Profile: profileOfClient(info), Expires: s.lastUsed.Add(sessionLifetime).Unix(),
	}
	if len(caps) <= maxSealedCapabilities {
		s.sealed.Caps = slices.Clone(caps)
	} else {
		s.sealed.Stored = true
		if err := g.options.Sessions.SaveSession(ctx, p.Tenant, s.toRow()); err != nil {
			return nil, err
		}
	}
	s.id = s.sealed.ID
	plain, err := json.Marshal(s.sealed)
	if err != nil {
		return nil, err
	}
	s.sealedID = g.options.Sealer.Seal(purposeSession, plain)
	return g.sessions.put(s), nil
}

// newBootID tells the streams of one opening of a session from those of another. It
// begins with the process where there are several: nodeOf reads that.
func (g *Gateway) newBootID() string {
	id := g.options.NewID()
	id = id[max(len(id)-8, 0):]
	if g.options.Peers == nil {
		return id + "."
	}
	return g.options.Peers.Self() + "." + id + "."
}

// findSession finds the session that a request names, in memory or by its id alone.
// It answers 400 for a request without one and 404 for one that is unknown,
// ended, expired, or somebody else's: all the same to the client. Where nobody can
// tell just now it answers 503: a client that is told 404 gives its session up.
func (g *Gateway) findSession(w http.ResponseWriter, r *http.Request, p *junctor.Principal, view catalog.View, id []byte) *session {
	text := r.Header.Get(wire.HeaderSessionID)
	if text == "" {
		g.writeError(w, http.StatusBadRequest, id, &wire.Error{Code: wire.CodeInvalidRequest, Message: wire.HeaderSessionID + " is missing: send initialize first, and then the id it answered with"})
		return nil
	}
	s := g.sessions.get(text)
	if s == nil {
		var err error
		if s, err = g.openSession(r.Context(), text); err != nil {
			f := toClientError(&junctor.Error{
				Code: junctor.CodeUnavailable, RetryAfter: time.Second, Cause: err,
				Message: "whether this session goes on cannot be found out just now; send the request again in a moment",
			}, true, "")
			setRetryAfter(w.Header(), f.retryAfter)
			g.writeError(w, f.status, id, f.rpcError)
			return nil
		}
	}
	if s == nil || s.sealed.Tenant != p.Tenant || s.sealed.Issuer != p.Issuer || s.sealed.Subject != p.Subject || s.sealed.Server != view.Server ||
		s.sealed.Agent != p.Agent {
		g.writeError(w, http.StatusNotFound, id, &wire.Error{Code: wire.CodeInvalidRequest, Message: "this session does not exist or has ended; send initialize to begin another"})
		return nil
	}
	s.mu.Lock()
	s.lastUsed = g.options.Now()
	s.mu.Unlock()
	return s
}

// openSession brings a session back into memory from its sealed id; nil when it
// is not good, and an error when that cannot be known.
func (g *Gateway) openSession(ctx context.Context, text string) (*session, error) {
	plain, err := g.options.Sealer.Open(purposeSession, text)
	if err != nil {
		return nil, nil //nolint:nilerr // it is not one of ours
	}
	var sealed sealedSession
	if json.Unmarshal(plain, &sealed) != nil || g.options.Now().Unix() >= sealed.Expires {
		return nil, nil //nolint:nilerr // nor is that
	}
	revoked, err := g.options.Sessions.SessionRevoked(ctx, sealed.Tenant, sealed.ID)
	if err != nil || revoked {
		return nil, err
	}
	row, saved, err := g.options.Sessions.LoadSession(ctx, sealed.Tenant, sealed.ID)
	if err != nil || sealed.Stored && !saved {
		return nil, err
	}
	caps := []byte(sealed.Caps)
	if sealed.Stored {
		caps = row.Capabilities
	}
	s := newSession(g.newBootID(), sealed.Version, caps, nil)
	s.id, s.sealedID, s.sealed, s.logLevel = sealed.ID, text, sealed, row.LogLevel
	for _, uri := range row.Subscriptions {
		s.subscriptions[uri] = true
	}
	return g.sessions.put(s), nil
}

// notifyEnded tells those who keep something for a session that its client is gone.
func (g *Gateway) notifyEnded(p *junctor.Principal, s *session) {
	if g.options.Ended != nil {
		g.options.Ended(p.Tenant, s.id)
	}
}

// handleOneWay takes what a client says without wanting an answer.
func (g *Gateway) handleOneWay(ctx context.Context, p *junctor.Principal, s *session, m *wire.Message) {
	switch {
	case m.Kind == wire.Response:
		s.deliverResponse(m)
	case m.Method == wire.NoteRootsListChanged && g.options.RootsChanged != nil:
		g.options.RootsChanged(p, s.id)
	case m.Method == wire.NoteCancelled && m.RequestID != nil:
		if !s.cancelCall(m.RequestID) && s.sealedID != "" { // it may run elsewhere
			g.notifyReplicas(ctx, News{Kind: eventCancelled, Tenant: p.Tenant, Session: s.id, Request: string(m.RequestID)})
		}
	}
}

// endSession serves DELETE.
func (g *Gateway) endSession(w http.ResponseWriter, r *http.Request, p *junctor.Principal, view catalog.View) {
	s := g.findSession(w, r, p, view, nil)
	if s == nil {
		return
	}
	if err := g.options.Sessions.RevokeSession(r.Context(), p.Tenant, s.sealed.ID, time.Unix(s.sealed.Expires, 0)); err != nil {
		f := toClientError(err, true, "")
		g.writeError(w, http.StatusServiceUnavailable, nil, f.rpcError)
		return
	}
	g.sessions.remove(s.sealedID)
	s.close()
	g.notifyEnded(p, s)
	g.notifyReplicas(r.Context(), News{Kind: eventEnded, Tenant: p.Tenant, Session: s.id})
	w.WriteHeader(http.StatusNoContent)
}
