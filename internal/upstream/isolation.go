package upstream

import junctor "github.com/junctor-mcp/junctor"

// Isolation decides who shares a link. A modern server at a URL keeps no state between
// requests, so all callers with the same credentials share its link, whatever the
// setting. For all others the setting decides: one link for all callers that declare the
// same capabilities, one for each principal, or one for each client.

// Defaults for the number of links that a server may have at a time.
const (
	defaultSessions        = 128
	defaultSharedProcesses = 16 // processes that callers share
	defaultOwnProcesses    = 64 // processes with a holder each
)

// effectiveIsolation is the setting, or the strictest isolation once the server has
// proved to need it.
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

// Reasons for isolating the clients of a server. They are stored and shown.
const (
	reasonAmbiguous = "it sent its client a request that names no call, while no call or several calls were in progress"
	reasonRoots     = "it requested its client's roots, and may apply them to later calls"
	reasonInitial   = "it sent its client a request before the first call, and may apply the answer to later calls"
)

// ambiguityHandler makes the function that a link calls when its server asks something
// without naming a call, while no call or several are pending. The function isolates
// clients, unless the link has a single client, and reports whether any of the calls may
// answer. It is nil if the client of the link can answer nothing.
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

// isolateClients gives each client links of its own from now on. Sessions with one user
// stay with that user. Idle processes that were shared are ended.
func (s *Server) isolateClients(why string) {
	// Only the first reason counts, and only one goroutine hands the sessions over.
	if !s.isolationReason.CompareAndSwap(nil, &why) {
		return
	}
	s.opts.Logger.Warn("clients of a server no longer share a session", "server", s.opts.ID, "reason", why)
	s.mu.Lock()
	for sess := range s.live {
		if !s.handOverSession(sess) && s.opts.Transport == TransportStdio && !sess.removed && !s.hasOpenTasks(sess) {
			s.retireSession(sess) // it counts against the limit and nobody can use it any more
		}
	}
	s.mu.Unlock()
	if s.opts.OnIsolated != nil {
		s.background.start(func() { s.opts.OnIsolated(why) })
	}
}
