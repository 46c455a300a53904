package upstream

import junctor "github.com/junctor-mcp/junctor"

// Who shares a link. A modern server at a URL keeps nothing between requests, so
// all callers with one credential share its link whatever is set. Of all others
// the setting decides: one link for everybody who declares the same abilities,
// one for each principal, or one for each client.

// How many links a server may have at a time where nothing is set.
const (
	defaultSessions        = 128
	defaultSharedProcesses = 16 // processes that callers share
	defaultOwnProcesses    = 64 // processes that are somebody's own
)

// effectiveIsolation is the setting, or what the server has made of it.
func (s *Server) effectiveIsolation() junctor.Isolation {
	if s.isolationReason.Load() != nil {
		return junctor.IsolationSession
	}
	return s.opts.Isolation
}

// maxLinks is how many links the server may have at a time.
func (s *Server) maxLinks() int {
	switch {
	case s.opts.MaxSessions > 0:
		return s.opts.MaxSessions
	case s.opts.Transport != TransportStdio:
		return defaultSessions
	case s.effectiveIsolation() == junctor.IsolationShared:
		return defaultSharedProcesses
	default:
		return defaultOwnProcesses
	}
}

// Why a server is isolated.
const (
	reasonAmbiguous = "it asked its client something without saying for which call, while none or several were under way"
	reasonRoots     = "it asked for its client's roots, and may hold later calls to them"
	reasonInitial   = "it asked its client something before the first call, and holds the calls that follow to the answer"
)

// ambiguityHandler is what a link with this access does when its server asks what none
// or any of several calls could answer. It says whether any of them may. It is
// nil where nobody can be asked anything.
func (s *Server) ambiguityHandler(sess *session, a linkAccess) func() bool {
	if !abilitiesOf(a.capabilities).canAnswerAny() {
		return nil
	}
	return func() bool {
		s.mu.Lock()
		sole := sess.access.singleClient
		s.mu.Unlock()
		if !sole {
			s.isolateClients(reasonAmbiguous)
		}
		return sole
	}
}

// isolateClients gives each client links of its own from now on.
func (s *Server) isolateClients(why string) {
	if !s.isolationReason.CompareAndSwap(nil, &why) {
		return
	}
	s.opts.Logger.Warn("clients of a server no longer share sessions", "server", s.opts.ID, "reason", why)
	s.mu.Lock()
	for sess := range s.live {
		if !s.handOverSession(sess) && s.opts.Transport == TransportStdio && !sess.removed && !s.hasOpenTasks(sess) {
			s.retireSession(sess) // its processes are somebody's own from now on
		}
	}
	s.mu.Unlock()
	if s.opts.OnIsolated != nil {
		s.background.start(func() { s.opts.OnIsolated(why) })
	}
}
