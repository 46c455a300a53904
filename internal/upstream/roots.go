package upstream

import (
	"context"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// RootsChanged takes that a client has other roots now. The legacy servers that
// hold a session for it, or for its principal alone, are told with the next call
// on that session, which is who can answer when they ask what the roots are.
func (s *Server) RootsChanged(p *junctor.Principal, client string) {
	party := principalKey(p)
	if party == "" || client == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sess := range s.sessions {
		a := &sess.access
		theirs := a.holder == party // of all clients of the principal
		if a.singleClient {
			theirs = a.clientSession == client && principalKey(a.principal) == party
		}
		if theirs && abilitiesOf(a.capabilities).roots {
			sess.rootsChanged.Store(true)
		}
	}
}

// notifyRootsChanged tells the server of a session that its client's roots changed, if
// they did, and gives it the time to ask what they are.
func (s *Server) notifyRootsChanged(ctx context.Context, sess *session) {
	if !sess.rootsChanged.Swap(false) {
		return
	}
	// A link that is broken shows in the call; a server may not care.
	_ = sess.link.notify(ctx, wire.NoteRootsListChanged, nil)
	if waitContext(ctx, answerSettleTime) != nil {
		sess.rootsChanged.Store(true) // who called went away: the next one tells
	}
}
