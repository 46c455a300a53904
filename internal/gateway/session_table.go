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

// sessionTable holds the legacy sessions in memory, by sealed id.
type sessionTable struct {
	mu         sync.RWMutex
	bySealedID map[string]*session
}

// get returns a session in memory, or nil.
func (t *sessionTable) get(text string) *session {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.bySealedID[text]
}

// put adds a session and returns it. If another request has added it meanwhile, it
// returns that one.
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

// remove drops a session from memory.
func (t *sessionTable) remove(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.bySealedID, text)
}

// all returns the sessions in memory.
func (t *sessionTable) all() []*session {
	t.mu.RLock()
	defer t.mu.RUnlock()
	out := make([]*session, 0, len(t.bySealedID))
	for _, s := range t.bySealedID {
		out = append(out, s)
	}
	return out
}

// SessionCount returns the number of legacy sessions in memory.
func (g *Gateway) SessionCount() int {
	g.sessions.mu.RLock()
	defer g.sessions.mu.RUnlock()
	return len(g.sessions.bySealedID)
}

// closeIdleSessions removes idle sessions from memory until the gateway closes, and then
// closes all sessions.
func (g *Gateway) closeIdleSessions() {
	tick := time.NewTicker(min(g.options.IdleTimeout/2, time.Minute))
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
				if s.isIdle(now, g.options.IdleTimeout) {
					g.sessions.remove(s.sealedID)
					s.close()
				}
			}
		}
	}
}

// createSession creates a session for a principal and seals its id. It stores a row only
// if the capabilities are too large for the id.
func (g *Gateway) createSession(ctx context.Context, p *junctor.Principal, view catalog.Scope, version string, caps, info []byte) (*session, error) {
	s := newSession(g.newBootID(), version, caps, info)
	s.lastUsed = g.options.Now()
	s.sealed = sealedSession{
		ID: g.options.NewID(), Tenant: p.Tenant, Issuer: p.Issuer, Subject: p.Subject, Server: view.Server, Agent: p.Agent,
		Version: version, Profile: profileOfClient(info), SearchesTools: searchesTools(info), Expires: s.lastUsed.Add(sessionLifetime).Unix(),
	}
	// The id travels in a header, whose size proxies limit.
	if len(caps) <= maxSealedCapabilities {
		s.sealed.Capabilities = slices.Clone(caps)
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

// newBootID returns an id that tells one opening of a session from others. With several
// replicas it begins with the name of this one, which replicaOf reads.
func (g *Gateway) newBootID() string {
	id := g.options.NewID()
	id = id[max(len(id)-8, 0):]
	if g.options.Replicas == nil {
		return id + "."
	}
	return g.options.Replicas.Self() + "." + id + "."
}

// findSession returns the session that a request names, from memory or from its sealed id
// alone. It answers 400 if the request names none. It answers 404 if the session is
// unknown, has ended or expired, or belongs to another principal; the client cannot tell
// these apart. It answers 503 if the store is unavailable, because a client that receives
// 404 gives up its session. After each of these answers it returns nil.
func (g *Gateway) findSession(w http.ResponseWriter, r *http.Request, p *junctor.Principal, view catalog.Scope, id []byte) *session {
	text := r.Header.Get(wire.HeaderSessionID)
	if text == "" {
		g.writeError(w, http.StatusBadRequest, id, &wire.Error{Code: wire.CodeInvalidRequest, Message: wire.HeaderSessionID + " is missing: send initialize first, then the session ID of its response"})
		return nil
	}
	// After a restart, or on another replica, the session is reopened from its id.
	s := g.sessions.get(text)
	if s == nil {
		var err error
		if s, err = g.openSession(r.Context(), text); err != nil {
			f := toClientError(&junctor.Error{
				Code: junctor.CodeUnavailable, RetryAfter: time.Second, Cause: err,
				Message: "the state of this session cannot be read now; send the request again in a moment",
			}, true, "")
			setRetryAfter(w.Header(), f.retryAfter)
			g.writeError(w, f.status, id, f.rpcError)
			return nil
		}
	}
	// A session is bound to its party, its endpoint and its agent. A stolen id is
	// useless with another credential.
	if s == nil || s.sealed.Tenant != p.Tenant || s.sealed.Issuer != p.Issuer || s.sealed.Subject != p.Subject || s.sealed.Server != view.Server ||
		s.sealed.Agent != p.Agent {
		g.writeError(w, http.StatusNotFound, id, &wire.Error{Code: wire.CodeInvalidRequest, Message: "this session does not exist or has ended; send initialize to start another session"})
		return nil
	}
	s.mu.Lock()
	s.lastUsed = g.options.Now()
	s.mu.Unlock()
	return s
}

// openSession loads a session into memory from its sealed id. It returns nil if the
// session is not valid, and an error if that cannot be determined.
func (g *Gateway) openSession(ctx context.Context, text string) (*session, error) {
	plain, err := g.options.Sealer.Open(purposeSession, text)
	if err != nil {
		return nil, nil //nolint:nilerr // not sealed by us
	}
	var sealed sealedSession
	if json.Unmarshal(plain, &sealed) != nil || g.options.Now().Unix() >= sealed.Expires {
		return nil, nil //nolint:nilerr // malformed or expired
	}
	// The id itself stays valid until it expires, so ended sessions are remembered.
	revoked, err := g.options.Sessions.SessionRevoked(ctx, sealed.Tenant, sealed.ID)
	if err != nil || revoked {
		return nil, err
	}
	row, saved, err := g.options.Sessions.LoadSession(ctx, sealed.Tenant, sealed.ID)
	if err != nil || sealed.Stored && !saved {
		return nil, err
	}
	caps := []byte(sealed.Capabilities)
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

// notifyEnded reports the end of a session to the code that keeps state for it.
func (g *Gateway) notifyEnded(p *junctor.Principal, s *session) {
	if g.options.OnSessionEnded != nil {
		g.options.OnSessionEnded(p.Tenant, s.id)
	}
}

// handleOneWay handles a message that has no response: a response or a notification of
// the client.
func (g *Gateway) handleOneWay(ctx context.Context, p *junctor.Principal, s *session, m *wire.Message) {
	switch {
	case m.Kind == wire.Response:
		s.deliverResponse(m)
	case m.Method == wire.NotificationRootsListChanged && g.options.OnRootsChanged != nil:
		g.options.OnRootsChanged(p, s.id)
	case m.Method == wire.NotificationCancelled && m.RequestID != nil:
		if !s.cancelCall(m.RequestID) && s.sealedID != "" { // it may run on another replica
			g.notifyReplicas(ctx, SessionEvent{Kind: eventCancelled, Tenant: p.Tenant, Session: s.id, Request: string(m.RequestID)})
		}
	}
}

// endSession serves DELETE: it ends a session on all replicas.
func (g *Gateway) endSession(w http.ResponseWriter, r *http.Request, p *junctor.Principal, view catalog.Scope) {
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
	g.notifyReplicas(r.Context(), SessionEvent{Kind: eventEnded, Tenant: p.Tenant, Session: s.id})
	w.WriteHeader(http.StatusNoContent)
}
