package upstream

import (
	"bytes"
	"context"

	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Callers who do not use the link that lists are read from have sessions with the
// server that are theirs. What they subscribe to, they subscribe to there: a
// server may well tell a session what happens in it, and no other.

// sessionUsers are who has used a session.
type sessionUsers struct {
	clientKey, principalID            string     // the first
	severalClients, severalPrincipals bool       // there were other clients, other principals
	lastAccess                        linkAccess // who came last: nearly always the same
}

func (v *sessionUsers) addUser(a *linkAccess) {
	known := v.lastAccess.principal == a.principal
	same := known && v.lastAccess.clientSession == a.clientSession && bytes.Equal(v.lastAccess.clientInfo, a.clientInfo)
	if a.forListing || v.clientKey != "" && same || v.severalClients && (v.severalPrincipals || known) {
		return // there is nothing to learn
	}
	v.lastAccess = a.copyForKeeping()
	if v.clientKey == "" {
		v.clientKey, v.principalID = v.lastAccess.clientKey, v.lastAccess.principalID
		return
	}
	v.severalClients = v.severalClients || v.lastAccess.clientKey != v.clientKey
	v.severalPrincipals = v.severalPrincipals || v.lastAccess.principalID != v.principalID
}

// listenAndAwaitStream listens on the session of callers, once: for its questions, for the
// resources that they subscribed to and for their tasks. It waits until the stream
// is there.
func (s *Server) listenAndAwaitStream(sess *session) {
	s.listenOnSession(sess)
	awaitStream(s.ctx, sess.link)
}

// listenOnSession is hearAlong for who has nothing to wait for.
func (s *Server) listenOnSession(sess *session) {
	if sess.link.isModern() || sess.listening.Swap(true) {
		return
	}
	s.background.start(func() {
		if err := sess.link.listen(s.ctx, nil, &sessionListener{s: s, sess: sess}); isLinkOver(err) {
			s.dropSession(sess)
		}
		s.reopenSession(sess)
	})
}

// reopenSession opens a session again that ended while somebody waits to hear from it.
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
			return // it listens, and subscribes, as it is opened
		}
	}
}

// subscribedURIs are the URIs that are subscribed to under a session's name.
func (s *Server) subscribedURIs(sess *session) (uris []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for uri := range s.ownSubscribers[sess.tableKeys[0]] {
		uris = append(uris, uri)
	}
	return uris
}

// sessionListener is the peer of a session's own stream. What changes in the lists is told
// by the link that they are read from.
type sessionListener struct {
	nopHandler
	s    *Server
	sess *session
}

func (e *sessionListener) handleNotification(method string, params []byte) {
	if method == wire.NoteTasksStatus {
		e.s.handleTaskNote(e.sess, params)
	}
	if method != wire.NoteResourceUpdated {
		return
	}
	uri, ok := wire.String(wire.Get(params, "uri"))
	if !ok {
		return
	}
	e.s.pageCache.dropURI(uri)
	e.s.mu.Lock()
	party, wanted := e.sess.users.principalID, e.s.ownSubscribers[e.sess.tableKeys[0]][uri] > 0
	if e.sess.users.severalPrincipals {
		party = ""
	}
	e.s.mu.Unlock()
	if wanted {
		e.s.publishEvent(catalog.Event{Kind: catalog.EventUpdated, URI: uri, Party: party})
	}
}

// isListingLink says whether the link of an access is the one that lists are read from. They
// may be read from any process, so none is everybody's.
func (s *Server) isListingLink(ctx context.Context, a *linkAccess) (bool, error) {
	if s.opts.Transport == TransportStdio {
		return false, nil
	}
	lists, err := s.resolveAccess(ctx, nil, nil)
	return lists.linkKey(false) == a.linkKey(false), err
}

// subscribeOnOwnSession begins or ends to hear of a resource on the caller's own session.
// It says false where that is the link that lists are read from, or a modern one.
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

// unsubscribeOnOwnSession ends it. A session that is over needs not be told.
func (s *Server) unsubscribeOnOwnSession(ctx context.Context, key, uri string) {
	if s.countSubscribers(key, uri, -1) != 0 {
		return // others wait, or nobody did
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
			_ = s.subscribeLegacy(ctx, sess.link, uri, false) // nobody hears of it from here on anyway
		}
	case <-ctx.Done():
	}
}

// countSubscribers changes how many wait to hear of a resource under a key, and gives the
// number that is left; -1 where there was nobody to take away.
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

// handOverSession gives a session with one user to that user, now that callers do not share
// any more: what the server knows of its client stays true. One with several calls
// is left to end: what is asked there is refused. The lock is held.
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
