package upstream

import (
	"bytes"
	"context"

	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Callers who do not use the listing link have sessions of their own with the server.
// Their subscriptions are made there, since a server may notify only the session that an
// event belongs to.

// sessionUsers records who has used a session. Server.mu guards it.
type sessionUsers struct {
	clientKey, principalID            string     // of the first user
	severalClients, severalPrincipals bool       // later users were other clients, or other principals
	lastAccess                        linkAccess // of the last call; most calls repeat it
}

// addUser records the user of a call. It copies nothing for a call that adds no news,
// since it runs for each call.
func (v *sessionUsers) addUser(a *linkAccess) {
	// Pointers are compared first: consecutive calls usually have the same principal.
	known := v.lastAccess.principal == a.principal
	same := known && v.lastAccess.clientSession == a.clientSession && bytes.Equal(v.lastAccess.clientInfo, a.clientInfo)
	if a.forListing || v.clientKey != "" && same || v.severalClients && (v.severalPrincipals || known) {
		return // this call adds no news
	}
	v.lastAccess = a.copyForKeeping()
	if v.clientKey == "" {
		v.clientKey, v.principalID = v.lastAccess.clientKey, v.lastAccess.principalID
		return
	}
	v.severalClients = v.severalClients || v.lastAccess.clientKey != v.clientKey
	v.severalPrincipals = v.severalPrincipals || v.lastAccess.principalID != v.principalID
}

// listenAndAwaitStream listens on the session of callers, once, and waits until the
// stream is open. The stream brings the server's requests, updates of resources that the
// callers subscribed to, and the states of their tasks.
func (s *Server) listenAndAwaitStream(sess *session) {
	s.listenOnSession(sess)
	awaitStream(s.ctx, sess.link)
}

// listenOnSession is listenAndAwaitStream without the wait. It does nothing on a modern
// link, or if somebody listens already.
func (s *Server) listenOnSession(sess *session) {
	if sess.link.isModern() || sess.listening.Swap(true) {
		return
	}
	s.background.start(func() {
		if err := sess.link.listen(s.ctx, nil, &sessionListener{server: s, session: sess}); isLinkOver(err) {
			s.dropSession(sess)
		}
		s.reopenSession(sess)
	})
}

// reopenSession opens a session again that ended while it has subscribers. It tries with
// growing pauses until it succeeds or nobody is subscribed any more.
func (s *Server) reopenSession(sess *session) {
	for failures := 0; s.ctx.Err() == nil && s.isRemoved(sess) && len(s.subscribedURIs(sess)) > 0; failures++ {
		if waitContext(s.ctx, addJitter(backoffDelay(firstFollowDelay, maxFollowDelay, failures))) != nil {
			return
		}
		s.mu.Lock()
		a := sess.access
		s.mu.Unlock()
		next, err := s.acquireSession(s.ctx, a)
		if err == nil {
			s.releaseSession(next)
			return // opening it also listens and subscribes again
		}
	}
}

// subscribedURIs gives the URIs that callers are subscribed to on a session of their own.
func (s *Server) subscribedURIs(sess *session) (uris []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for uri := range s.ownSubscribers[sess.tableKeys[0]] {
		uris = append(uris, uri)
	}
	return uris
}

// sessionListener is the message handler of a session's own stream. It ignores changes of
// lists, which the listing link reports.
type sessionListener struct {
	nopHandler
	server  *Server
	session *session
}

// handleNotification implements messageHandler. An update goes to the session's principal
// alone, or to all subscribers if several principals used the session.
func (l *sessionListener) handleNotification(method string, params []byte) {
	if method == wire.NotificationTasksStatus {
		l.server.handleTaskNote(l.session, params)
	}
	if method != wire.NotificationResourceUpdated {
		return
	}
	uri, ok := wire.String(wire.Get(params, "uri"))
	if !ok {
		return
	}
	l.server.pageCache.dropURI(uri)
	l.server.mu.Lock()
	party, wanted := l.session.users.principalID, l.server.ownSubscribers[l.session.tableKeys[0]][uri] > 0
	if l.session.users.severalPrincipals {
		party = ""
	}
	l.server.mu.Unlock()
	if wanted {
		l.server.publishEvent(catalog.Event{Kind: catalog.EventUpdated, URI: uri, Party: party})
	}
}

// isListingLink reports whether the link of an access is the one that lists are read
// from. Lists of a command may be read from any process, so none is the listing link.
func (s *Server) isListingLink(ctx context.Context, a *linkAccess) (bool, error) {
	if s.opts.Transport == TransportStdio {
		return false, nil
	}
	lists, err := s.resolveAccess(ctx, nil, nil)
	return lists.linkKey(false) == a.linkKey(false), err
}

// subscribeOnOwnSession subscribes to a resource, or unsubscribes, on the caller's own
// session. It returns false and does nothing if the caller uses the listing link or a
// modern one.
func (s *Server) subscribeOnOwnSession(ctx context.Context, req *catalog.Request) (bool, error) {
	a, err := s.resolveAccess(ctx, req.Principal, &req.Caller)
	if err != nil {
		return false, err
	}
	shared, err := s.isListingLink(ctx, &a)
	key := a.linkKey(false)
	if known, _ := s.linkOpener.knownEra(); err != nil || known == eraModern || shared {
		return false, err
	}
	if req.Unsubscribe {
		s.unsubscribeOnOwnSession(ctx, key, req.Name)
		return true, nil
	}
	sess, err := s.acquireSession(ctx, a)
	if err != nil {
		return true, err
	}
	defer s.releaseSession(sess)
	if sess.link.isModern() {
		return false, nil
	}
	s.listenAndAwaitStream(sess)
	if s.countSubscribers(key, req.Name, 1) > 1 {
		return true, nil
	}
	if err := s.subscribeLegacy(ctx, sess.link, req.Name, true); err != nil {
		s.countSubscribers(key, req.Name, -1)
		return true, err
	}
	return true, nil
}

// unsubscribeOnOwnSession removes one subscriber, and unsubscribes with the last one. An
// ended session needs no notice.
func (s *Server) unsubscribeOnOwnSession(ctx context.Context, key, uri string) {
	if s.countSubscribers(key, uri, -1) != 0 {
		return // others are subscribed, or nobody was
	}
	s.mu.Lock()
	sess := s.sessions[key]
	if sess != nil {
		sess.activeCalls++
	}
	s.mu.Unlock()
	if sess == nil {
		return
	}
	defer s.releaseSession(sess)
	select {
	case <-sess.ready:
		if sess.err == nil {
			_ = s.subscribeLegacy(ctx, sess.link, uri, false) // updates are ignored from here on anyway
		}
	case <-ctx.Done():
	}
}

// countSubscribers changes the number of subscribers of a resource under a key, and gives
// the new number. It is -1 if there was none to remove.
func (s *Server) countSubscribers(key, uri string, by int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	uris := s.ownSubscribers[key]
	n := uris[uri] + by
	switch {
	case n > 0 && uris == nil:
		s.ownSubscribers[key] = map[string]int{uri: n}
	case n > 0:
		uris[uri] = n
	default:
		delete(uris, uri)
		if len(uris) == 0 {
			delete(s.ownSubscribers, key)
		}
	}
	return n
}

// handOverSession gives a session with one user to that user, when clients stop sharing:
// what the server knows about its client stays true. It returns false for a session with
// several users or calls. That one ends with its calls, and requests of its server are
// refused. mu is held.
func (s *Server) handOverSession(sess *session) bool {
	a := sess.access.forSingleClient()
	from, to := sess.tableKeys[0], a.linkKey(false)
	switch {
	case !sess.mayAsk, sess.removed, sess.activeCalls > 1, sess.users.severalClients, sess.users.principalID == "", sess.users.clientKey != a.clientKey, len(sess.tableKeys) != 1:
		return false
	case s.sessions[from] != sess || s.sessions[to] != nil:
		return false
	}
	delete(s.sessions, from)
	s.sessions[to] = sess
	sess.tableKeys, sess.access = []string{to}, a
	if uris := s.ownSubscribers[from]; uris != nil {
		delete(s.ownSubscribers, from)
		s.ownSubscribers[to] = uris
	}
	return true
}
