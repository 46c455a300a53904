package upstream

import (
	"context"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// MarkRootsChanged records that the roots of a client changed. Legacy servers with a session
// for this client, or for its principal alone, are notified with the next call on that
// session: only a running call can answer when they ask for the new roots.
func (s *Server) MarkRootsChanged(p *junctor.Principal, client string) {
	party := principalKey(p)
	if party == "" || client == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sess := range s.sessions {
		a := &sess.access
		theirs := a.holder == party // the session belongs to the principal
		if a.singleClient {
			theirs = a.clientSession == client && principalKey(a.principal) == party
		}
		if theirs && abilitiesOf(a.capabilities).roots {
			sess.rootsChanged.Store(true)
		}
	}
}

// notifyRootsChanged notifies the server of a session if its client's roots changed, and
// gives it time to ask for them.
func (s *Server) notifyRootsChanged(ctx context.Context, sess *session) {
	if !sess.rootsChanged.Swap(false) {
		return
	}
	// The call that follows shows whether the link is broken.
	_ = sess.link.notify(ctx, wire.NotificationRootsListChanged, nil)
	if waitContext(ctx, answerSettleTime) != nil {
		sess.rootsChanged.Store(true) // the caller gave up: the next call notifies
	}
}
