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

// users are who has used a session.
type users struct {
	user, party        string // the first
	several, strangers bool   // there were other clients, other principals
	last               access // who came last: nearly always the same
}

func (v *users) add(a *access) {
	known := v.last.principal == a.principal
	same := known && v.last.client == a.client && bytes.Equal(v.last.info, a.info)
	if a.nobody || v.user != "" && same || v.several && (v.strangers || known) {
		return // there is nothing to learn
	}
	v.last = a.kept()
	if v.user == "" {
		v.user, v.party = v.last.user, v.last.party
		return
	}
	v.several = v.several || v.last.user != v.user
	v.strangers = v.strangers || v.last.party != v.party
}

// hearAlong listens on the session of callers, once: for its questions, for the
// resources that they subscribed to and for their tasks. It waits until the stream
// is there.
func (s *Server) hearAlong(sess *session) {
	s.listenAlong(sess)
	awaitStream(s.ctx, sess.link)
}

// listenAlong is hearAlong for who has nothing to wait for.
func (s *Server) listenAlong(sess *session) {
	if sess.link.isModern() || sess.hearing.Swap(true) {
		return
	}
	s.jobs.start(func() {
		if err := sess.link.listen(s.ctx, nil, &sessionListener{s: s, sess: sess}); isLinkOver(err) {
			s.drop(sess)
		}
		s.comeBack(sess)
	})
}

// comeBack opens a session again that ended while somebody waits to hear from it.
func (s *Server) comeBack(sess *session) {
	for failures := 0; s.ctx.Err() == nil && s.isGone(sess) && len(s.owned(sess)) > 0; failures++ {
		if waitContext(s.ctx, jitter(backoff(firstFollow, mostFollow, failures))) != nil {
			return
		}
		s.mu.Lock()
		a := sess.access
		s.mu.Unlock()
		next, err := s.acquire(s.ctx, a)
		if err == nil {
			s.release(next)
			return // it listens, and subscribes, as it is opened
		}
	}
}

// owned are the URIs that are subscribed to under a session's name.
func (s *Server) owned(sess *session) (uris []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for uri := range s.own[sess.keys[0]] {
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
		e.s.taskNoted(e.sess, params)
	}
	if method != wire.NoteResourceUpdated {
		return
	}
	uri, ok := wire.String(wire.Get(params, "uri"))
	if !ok {
		return
	}
	e.s.pages.dropURI(uri)
	e.s.mu.Lock()
	party, wanted := e.sess.users.party, e.s.own[e.sess.keys[0]][uri] > 0
	if e.sess.users.strangers {
		party = ""
	}
	e.s.mu.Unlock()
	if wanted {
		e.s.tell(catalog.Event{Kind: catalog.EventUpdated, URI: uri, Party: party})
	}
}

// lists says whether the link of an access is the one that lists are read from. They
// may be read from any process, so none is everybody's.
func (s *Server) lists(ctx context.Context, a *access) (bool, error) {
	if s.o.Transport == TransportStdio {
		return false, nil
	}
	lists, err := s.access(ctx, nil, nil)
	return lists.key(false) == a.key(false), err
}

// subscribeOwn begins or ends to hear of a resource on the caller's own session.
// It says false where that is the link that lists are read from, or a modern one.
func (s *Server) subscribeOwn(ctx context.Context, req *catalog.Request) (bool, error) {
	a, err := s.access(ctx, req.Principal, &req.Caller)
	if err != nil {
		return false, err
	}
	shared, err := s.lists(ctx, &a)
	key := a.key(false)
	if known, _ := s.opener.knownEra(); err != nil || known == eraModern || shared {
		return false, err
	}
	if req.Unsubscribe {
		s.unsubscribeOwn(ctx, key, req.Name)
		return true, nil
	}
	sess, err := s.acquire(ctx, a)
	if err != nil {
		return true, err
	}
	defer s.release(sess)
	if sess.link.isModern() {
		return false, nil
	}
	s.hearAlong(sess)
	if s.count(key, req.Name, 1) > 1 {
		return true, nil
	}
	if err := s.subscribeLegacy(ctx, sess.link, req.Name, true); err != nil {
		s.count(key, req.Name, -1)
		return true, err
	}
	return true, nil
}

// unsubscribeOwn ends it. A session that is over needs not be told.
func (s *Server) unsubscribeOwn(ctx context.Context, key, uri string) {
	if s.count(key, uri, -1) != 0 {
		return // others wait, or nobody did
	}
	s.mu.Lock()
	sess := s.sessions[key]
	if sess != nil {
		sess.calls++
	}
	s.mu.Unlock()
	if sess == nil {
		return
	}
	defer s.release(sess)
	select {
	case <-sess.ready:
		if sess.err == nil {
			_ = s.subscribeLegacy(ctx, sess.link, uri, false) // nobody hears of it from here on anyway
		}
	case <-ctx.Done():
	}
}

// count changes how many wait to hear of a resource under a key, and gives the
// number that is left; -1 where there was nobody to take away.
func (s *Server) count(key, uri string, by int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	uris := s.own[key]
	n := uris[uri] + by
	switch {
	case n > 0 && uris == nil:
		s.own[key] = map[string]int{uri: n}
	case n > 0:
		uris[uri] = n
	default:
		delete(uris, uri)
		if len(uris) == 0 {
			delete(s.own, key)
		}
	}
	return n
}

// handOver gives a session with one user to that user, now that callers do not share
// any more: what the server knows of its client stays true. One with several calls
// is left to end: what is asked there is refused. The lock is held.
func (s *Server) handOver(sess *session) bool {
	a := sess.access.own()
	from, to := sess.keys[0], a.key(false)
	switch {
	case !sess.asking, sess.gone, sess.calls > 1, sess.users.several, sess.users.party == "", sess.users.user != a.user, len(sess.keys) != 1:
		return false
	case s.sessions[from] != sess || s.sessions[to] != nil:
		return false
	}
	delete(s.sessions, from)
	s.sessions[to] = sess
	sess.keys, sess.access = []string{to}, a
	if uris := s.own[from]; uris != nil {
		delete(s.own, from)
		s.own[to] = uris
	}
	return true
}
