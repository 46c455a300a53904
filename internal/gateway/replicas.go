package gateway

import (
	"context"
	"net/http"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Replicas connects this replica to the others that serve the same clients. Any replica
// serves any request, except for state in the memory of another one: a stream to resume,
// a request that waits for its response, or a call that waits for input. The ids of these
// name their replica.
type Replicas interface {
	// Self returns the name of this replica, in letters and digits. It is constant for
	// the life of the process.
	Self() string
	// Forward lets another replica answer a request. body is the body if it was read
	// already. An error means that nothing was answered: the replica is unavailable.
	Forward(w http.ResponseWriter, r *http.Request, replica string, body []byte) error
	// Tell sends an event to all other replicas and returns after they have received it.
	NotifyAll(ctx context.Context, n SessionEvent)
}

// SessionEvent is an event about a session that replicas send to each other.
type SessionEvent struct {
	Kind    string           `json:"kind"`
	Tenant  junctor.TenantID `json:"tenant"`
	Session string           `json:"session"`
	Request string           `json:"request,omitempty"` // JSON id of the cancelled request
}

const (
	eventEnded     = "ended"     // the client has ended the session
	eventSaved     = "saved"     // the stored row of the session has changed
	eventCancelled = "cancelled" // the client has cancelled a request
)

// notifyReplicas sends an event to the other replicas, if there are any.
func (g *Gateway) notifyReplicas(ctx context.Context, n SessionEvent) {
	if g.options.Replicas != nil {
		g.options.Replicas.NotifyAll(ctx, n)
	}
}

// HandleSessionEvent handles an event of another replica.
func (g *Gateway) HandleSessionEvent(ctx context.Context, n SessionEvent) error {
	s := g.sessions.findByID(n.Tenant, n.Session)
	switch {
	// State that is kept for a session is dropped even if this replica does not
	// have the session in memory.
	case n.Kind == eventEnded:
		if s != nil {
			g.sessions.remove(s.sealedID)
			s.close()
		}
		if g.options.OnSessionEnded != nil {
			g.options.OnSessionEnded(n.Tenant, n.Session)
		}
	case s == nil:
	case n.Kind == eventCancelled:
		s.cancelCall([]byte(n.Request))
	// The event has no content: the row is the truth, whatever the order of
	// events is.
	case n.Kind == eventSaved:
		row, saved, err := g.options.Sessions.LoadSession(ctx, n.Tenant, n.Session)
		if err != nil {
			return err
		}
		if saved {
			s.applySaved(row)
		}
	}
	return nil
}

// RecheckSessions compares all sessions in memory with the store, after a time in which no events
// could be received: it closes those that were ended, and reloads the others.
func (g *Gateway) RecheckSessions(ctx context.Context) error {
	for _, s := range g.sessions.all() {
		ended, err := g.options.Sessions.SessionRevoked(ctx, s.sealed.Tenant, s.sealed.ID)
		if err != nil {
			return err
		}
		kind := eventSaved
		if ended {
			kind = eventEnded
		}
		if err := g.HandleSessionEvent(ctx, SessionEvent{Kind: kind, Tenant: s.sealed.Tenant, Session: s.id}); err != nil {
			return err
		}
	}
	return nil
}

// applySaved updates the session from its stored row.
func (s *session) applySaved(row SavedSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.logLevel = row.LogLevel
	clear(s.subscriptions)
	for _, uri := range row.Subscriptions {
		s.subscriptions[uri] = true
	}
}

// findByID returns a session in memory by its plain id. It searches all sessions, which
// is fine for events between replicas: they are rare.
func (t *sessionTable) findByID(tenant junctor.TenantID, id string) *session {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, s := range t.bySealedID {
		if s.id == id && s.sealed.Tenant == tenant {
			return s
		}
	}
	return nil
}

// replicaOf returns the other replica that an id begins with. It returns "" if that is
// this one, or if there are no others.
func (g *Gateway) replicaOf(id string) string {
	if g.options.Replicas == nil {
		return ""
	}
	replica, _, ok := strings.Cut(id, ".")
	if !ok || replica == g.options.Replicas.Self() {
		return ""
	}
	return replica
}

// replicaOfStream returns the other replica that has a stream, or "".
func (g *Gateway) replicaOfStream(id string) string {
	if id == "" {
		return ""
	}
	return g.replicaOf(id[1:]) // the first letter is the kind of stream
}

// replicaOfResponse returns the other replica whose request a message answers. It returns
// "" for every other message.
func (g *Gateway) replicaOfResponse(m *wire.Message) string {
	if g.options.Replicas == nil || m.Kind != wire.Response {
		return ""
	}
	id, ok := wire.String(m.ID)
	if !ok {
		return ""
	}
	return g.replicaOf(id)
}

// replicaOfState returns the other replica that holds the call of a request state, or "".
func (g *Gateway) replicaOfState(requestState string) string {
	if g.options.Replicas == nil {
		return ""
	}
	if replica := g.options.Pipeline.WaitingReplica(requestState); replica != g.options.Replicas.Self() {
		return replica
	}
	return ""
}

// forwardRequest lets another replica answer, if one is named. It returns false if none
// is named or it is unavailable; nothing was answered then.
func (g *Gateway) forwardRequest(w http.ResponseWriter, r *http.Request, replica string, body []byte) bool {
	return replica != "" && g.options.Replicas.Forward(w, r, replica, body) == nil
}

// forwardOrFail is forwardRequest for requests that no other replica can answer: if that
// replica is unavailable, it answers with an error. It returns false only if no replica
// is named.
func (g *Gateway) forwardOrFail(w http.ResponseWriter, r *http.Request, replica string, id, body []byte) bool {
	if replica == "" {
		return false
	}
	if err := g.options.Replicas.Forward(w, r, replica, body); err != nil {
		f := toClientError(&junctor.Error{
			Code: junctor.CodeUnavailable, RetryAfter: time.Second, Cause: err,
			Message: "the replica that holds this call is unreachable; make the call again",
		}, true, "")
		setRetryAfter(w.Header(), f.retryAfter)
		g.writeError(w, f.status, id, f.rpcError)
	}
	return true
}
