package gateway

import (
	"context"
	"net/http"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Peers are the other processes that serve the same clients. Any of them serves
// any request, except what another has in memory: a stream to go on with, a
// question that waits for its answer, a call that waits for input. Their ids say
// whose they are.
type Peers interface {
	// Self names this process, in letters and digits, from its start to its end.
	Self() string
	// Forward has another process answer a request, whose body is body where that
	// was read already. An error says that nothing was answered: it is gone.
	Forward(w http.ResponseWriter, r *http.Request, node string, body []byte) error
	// Tell tells all others, where there are any, and comes back when they have heard.
	Tell(ctx context.Context, n News)
}

// News is what processes tell each other of sessions.
type News struct {
	Kind    string           `json:"kind"`
	Tenant  junctor.TenantID `json:"tenant"`
	Session string           `json:"session"`
	Request string           `json:"request,omitempty"` // of a cancelled one, its id as JSON
}

const (
	eventEnded     = "ended"     // a session was ended by its client
	eventSaved     = "saved"     // what is stored of a session is new
	eventCancelled = "cancelled" // a client no longer wants an answer
)

func (g *Gateway) notifyReplicas(ctx context.Context, n News) {
	if g.options.Peers != nil {
		g.options.Peers.Tell(ctx, n)
	}
}

// Hear takes what another process tells.
func (g *Gateway) Hear(ctx context.Context, n News) error {
	s := g.sessions.findByID(n.Tenant, n.Session)
	switch {
	case n.Kind == eventEnded:
		if s != nil {
			g.sessions.remove(s.sealedID)
			s.close()
		}
		if g.options.Ended != nil {
			g.options.Ended(n.Tenant, n.Session)
		}
	case s == nil:
	case n.Kind == eventCancelled:
		s.cancelCall([]byte(n.Request))
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

// Recheck lets sessions go that were ended elsewhere while nothing could be heard,
// and reads the others again.
func (g *Gateway) Recheck(ctx context.Context) error {
	for _, s := range g.sessions.all() {
		ended, err := g.options.Sessions.SessionRevoked(ctx, s.sealed.Tenant, s.sealed.ID)
		if err != nil {
			return err
		}
		kind := eventSaved
		if ended {
			kind = eventEnded
		}
		if err := g.Hear(ctx, News{Kind: kind, Tenant: s.sealed.Tenant, Session: s.id}); err != nil {
			return err
		}
	}
	return nil
}

// applySaved has the session be as it is stored.
func (s *session) applySaved(row SavedSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.logLevel = row.LogLevel
	clear(s.subscriptions)
	for _, uri := range row.Subscriptions {
		s.subscriptions[uri] = true
	}
}

// findByID finds a session that is in memory. It is for news, which is rare.
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

// replicaOf is the other process that an id begins with; "" where it is this one, or
// there are no others.
func (g *Gateway) replicaOf(id string) string {
	if g.options.Peers == nil {
		return ""
	}
	node, _, ok := strings.Cut(id, ".")
	if !ok || node == g.options.Peers.Self() {
		return ""
	}
	return node
}

// replicaOfStream is the other process that a stream is of.
func (g *Gateway) replicaOfStream(id string) string {
	if id == "" {
		return ""
	}
	return g.replicaOf(id[1:]) // behind what kind of stream it is
}

// replicaOfResponse is the other process whose question a message answers; "" for every
// other message.
func (g *Gateway) replicaOfResponse(m *wire.Message) string {
	if g.options.Peers == nil || m.Kind != wire.Response {
		return ""
	}
	id, ok := wire.String(m.ID)
	if !ok {
		return ""
	}
	return g.replicaOf(id)
}

// replicaOfState is the other process in which the call waits that a state belongs to.
func (g *Gateway) replicaOfState(requestState string) string {
	if g.options.Peers == nil {
		return ""
	}
	if node := g.options.Pipeline.HeldBy(requestState); node != g.options.Peers.Self() {
		return node
	}
	return ""
}

// forwardRequest has another process answer, where one is named; false where none is,
// or it is gone, and nothing was answered.
func (g *Gateway) forwardRequest(w http.ResponseWriter, r *http.Request, node string, body []byte) bool {
	return node != "" && g.options.Peers.Forward(w, r, node, body) == nil
}

// forwardOrFail is forwarded for what nobody else can answer: where the process is
// gone it says so.
func (g *Gateway) forwardOrFail(w http.ResponseWriter, r *http.Request, node string, id, body []byte) bool {
	if node == "" {
		return false
	}
	if err := g.options.Peers.Forward(w, r, node, body); err != nil {
		f := toClientError(&junctor.Error{
			Code: junctor.CodeUnavailable, RetryAfter: time.Second, Cause: err,
			Message: "the replica that this call waits in is gone or cannot be reached; make the call again",
		}, true, "")
		setRetryAfter(w.Header(), f.retryAfter)
		g.writeError(w, f.status, id, f.rpcError)
	}
	return true
}
