package upstream

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

const (
	streamUp        = time.Second // how long a session's own stream is waited for
	connectTries    = 3           // where the server did not answer in time
	firstReconnect  = 100 * time.Millisecond
	mostReconnected = 2 * time.Second
)

// session is a link and who uses it.
type session struct {
	credentials string // which ones, as a digest
	owner       string // the user whose they are; "" where they are everybody's
	ready       chan struct{}
	link        link  // once ready
	err         error // once ready: why there is none
	levels      levels
	asking      bool        // the server may ask on it
	introduced  atomic.Bool // its first call has come
	rooted      atomic.Bool // the client has other roots than the server was told of
	hearing     atomic.Bool // its own stream is listened to
	closing     sync.Once

	// Under Server.mu.
	keys   []string // under which it is in the table
	access access   // whose it is
	users  users
	calls  int
	used   time.Time
	tasks  map[string]*openedTask // under way on it, by the server's ids
	gone   bool                   // no longer in the table: closed with its last call
}

func (sess *session) opening() bool {
	select {
	case <-sess.ready:
		return false
	default:
		return true
	}
}

// acquire gives the session for a, opening it if there is none. It counts as
// used until release.
func (s *Server) acquire(ctx context.Context, a access) (*session, error) {
	if err := s.breaker.allow(a.credentials); err != nil {
		return nil, err
	}
	for {
		sess, first, err := s.find(a)
		if err != nil {
			return nil, err
		}
		if first != nil { // it tells whether this one is needed
			select {
			case <-first.ready:
				continue
			case <-ctx.Done():
				return nil, junctor.AsError(ctx.Err())
			}
		}
		select {
		case <-sess.ready:
			err = sess.err
		default:
			select {
			case <-sess.ready:
				err = sess.err
			case <-ctx.Done():
				err = junctor.AsError(ctx.Err())
			}
		}
		if err != nil {
			s.release(sess)
			return nil, err
		}
		if held, ok := sess.link.(interface{ renewLogin(l *Login) }); ok && a.login.Name != "" {
			held.renewLogin(&a.login)
		}
		return sess, nil
	}
}

// find gives the session for a and counts its use, or one that is being opened
// and has to be waited for first.
func (s *Server) find(a access) (sess, first *session, err error) {
	known, _ := s.opener.knownEra()
	key := a.key(known == eraModern)
	s.mu.Lock()
	defer s.mu.Unlock()
	if sess = s.sessions[key]; sess == nil && s.o.Transport == TransportStdio {
		// No process is started that another could stand in for.
		for _, other := range s.sessions {
			switch {
			case other.credentials != a.credentials:
			case a.nobody:
				sess = other
			case known != eraLegacy && other.access.who == a.who && other.opening():
				return nil, other, nil // a modern one is shared whatever its callers declare
			}
		}
	}
	if sess == nil && a.lazy {
		return nil, nil, &junctor.Error{Code: junctor.CodeUnavailable, Message: "server " + s.o.ID + " is not running", Cause: errNotBegun}
	}
	if sess == nil {
		if sess, err = s.begin(key, a); err != nil {
			return nil, nil, err
		}
	}
	sess.calls++
	sess.users.add(&a)
	return sess, nil, nil
}

// begin starts to open a session; mu is held.
func (s *Server) begin(key string, a access) (*session, error) {
	if s.closed {
		return nil, junctor.Errorf(junctor.CodeUnavailable, "server %s was removed or is being changed; try again", s.o.ID)
	}
	if most := s.most(); s.open() >= most && !s.evict() {
		return nil, &junctor.Error{
			Code: junctor.CodeUnavailable, RetryAfter: time.Second,
			Message: "server " + s.o.ID + " has as many sessions as it may (" + strconv.Itoa(most) + "), and all are in use; try again, or raise its max_sessions",
		}
	}
	a = a.kept()
	sess := &session{
		keys: []string{key}, access: a, credentials: a.credentials, owner: a.owner, ready: make(chan struct{}), used: s.o.Now(), levels: levels{setting: make(chan struct{}, 1)},
		asking: abilitiesOf(a.caps).any(),
	}
	s.sessions[key] = sess
	s.live[sess] = struct{}{}
	// Opening goes on when the caller who began it is gone: others may wait.
	s.jobs.start(func() { s.openLink(sess, a) })
	s.tidyLater()
	return sess, nil
}

// open counts the sessions that are in the table; mu is held.
func (s *Server) open() int {
	n := 0
	for sess := range s.live {
		if !sess.gone {
			n++
		}
	}
	return n
}

// openLink opens the link of a session.
func (s *Server) openLink(sess *session, a access) {
	begun := time.Now()
	op := linkSettings{capabilities: a.caps, credentials: a.header, tokenNumber: a.login.Number, maxProcesses: s.most(), onAmbiguous: s.ambiguous(sess, a)}
	if a.owner != "" {
		op.client, op.stream = s.o.Own(a.owner)
	}
	l, err := s.connect(s.ctx, op)
	if err != nil {
		s.breaker.failed(a.credentials, err)
		if !s.refused(a.owner, err) {
			s.saw(nil, 0, err)
		}
		sess.err = err
		close(sess.ready)
		s.drop(sess)
		return
	}
	s.breaker.succeeded(a.credentials)
	s.saw(l, time.Since(begun), nil)
	sess.link = l
	s.mu.Lock()
	if key := a.key(true); l.isModern() && s.sessions[key] == nil && !sess.gone {
		sess.keys = append(sess.keys, key)
		s.sessions[key] = sess
	}
	s.mu.Unlock()
	subscribed := s.owned(sess)
	if sess.asking || a.who != "" || len(subscribed) > 0 {
		// The server may ask and tell on the session's own stream, which has to
		// be there before the first call.
		s.hearAlong(sess)
	}
	for _, uri := range subscribed {
		_ = s.subscribeLegacy(s.ctx, l, uri, true) // as before, or not at all
	}
	close(sess.ready)
	if sess.asking && a.owner == "" {
		s.jobs.start(func() { s.lookAround(s.ctx, l) })
	}
	s.wakeUp()
}

// nopHandler is the peer of a stream that is kept for its questions alone.
type nopHandler struct{}

func (nopHandler) handleNotification(string, []byte) {}
func (nopHandler) answerRequest(context.Context, string, []byte) ([]byte, error) { //nolint:unparam // as peer wants it
	return nil, &wire.Error{Code: wire.CodeInternal, Message: "nobody is there to answer"}
}

// connect opens a link, trying again what may be a passing trouble: a time-out
// twice, a network error once, a refused credential never.
func (s *Server) connect(ctx context.Context, op linkSettings) (link, error) {
	for try := 1; ; try++ {
		attempt, cancel := context.WithTimeout(ctx, s.o.Timeouts.Connect)
		l, err := s.opener.openLink(attempt, op)
		cancel()
		if err == nil || ctx.Err() != nil {
			return l, err
		}
		most := 1
		switch junctor.CodeOf(err) {
		case junctor.CodeTimeout:
			if s.o.Transport != TransportStdio { // a process that is slow to start is not made faster by another
				most = connectTries
			}
		case junctor.CodeUnreachable:
			most = 2
		default:
		}
		if try >= most {
			return nil, err
		}
		if err := waitContext(ctx, jitter(backoff(firstReconnect, mostReconnected, try-1))); err != nil {
			return nil, err
		}
	}
}

// release gives a session back.
func (s *Server) release(sess *session) {
	s.mu.Lock()
	sess.calls--
	sess.used = s.o.Now()
	last := sess.gone && sess.calls == 0
	s.mu.Unlock()
	if last {
		s.shut(sess)
	}
}

// drop takes a session out of the table: nobody begins anything on it any more.
func (s *Server) drop(sess *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retire(sess)
}

// remove is drop with mu held, and without closing.
func (s *Server) remove(sess *session) {
	sess.gone = true
	for _, key := range sess.keys {
		if s.sessions[key] == sess {
			delete(s.sessions, key)
		}
	}
}

// shut closes the link of a session that nobody uses, in the background.
func (s *Server) shut(sess *session) {
	s.jobs.start(func() {
		<-sess.ready
		s.closeLink(sess)
	})
}

func (s *Server) closeLink(sess *session) {
	sess.closing.Do(func() {
		if sess.link != nil {
			_ = sess.link.close() // there is nobody to tell
		}
		s.mu.Lock()
		delete(s.live, sess)
		s.mu.Unlock()
	})
}

// listensOn says whether somebody waits to hear of resources by way of a session;
// mu is held.
func (s *Server) listensOn(sess *session) bool {
	if len(s.own[sess.keys[0]]) > 0 {
		return true
	}
	if s.followed != sess {
		return false
	}
	uris, _ := s.watch.subs.uris()
	return len(uris) > 0
}

// evict takes out the idle session that was used least recently; mu is held.
func (s *Server) evict() bool {
	var oldest *session
	for _, sess := range s.sessions {
		if sess.calls == 0 && !sess.opening() && !s.listensOn(sess) && !s.works(sess) && (oldest == nil || sess.used.Before(oldest.used)) {
			oldest = sess
		}
	}
	if oldest == nil {
		return false
	}
	s.retire(oldest)
	return true
}

// tidyLater closes idle sessions in a while; mu is held.
func (s *Server) tidyLater() {
	if s.tidying != nil || s.closed {
		return
	}
	s.tidying = time.AfterFunc(s.o.Timeouts.Idle/2+time.Millisecond, s.tidy)
}

func (s *Server) tidy() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tidying = nil
	oldest := s.o.Now().Add(-s.o.Timeouts.Idle)
	for _, sess := range s.sessions {
		if sess.calls == 0 && !sess.used.After(oldest) && !s.listensOn(sess) && !s.works(sess) {
			s.retire(sess)
		}
	}
	if len(s.sessions) > 0 {
		s.tidyLater()
	}
}

// refused says so where err is that the server did not take our credentials. It
// gives whether they were a user's own, which says nothing about the server.
func (s *Server) refused(owner string, err error) bool {
	if junctor.CodeOf(err) != junctor.CodeUnauthenticated {
		return false
	}
	if s.o.Refused != nil {
		s.o.Refused(owner)
	}
	return owner != ""
}

// ended looks at how a request went: for the breaker, for the state, and for
// the session, which may be over.
func (s *Server) ended(sess *session, took time.Duration, err error) {
	if _, own := errors.AsType[*wire.Error](err); err == nil || own {
		s.breaker.succeeded(sess.credentials)
		s.saw(sess.link, took, nil)
		return
	}
	s.breaker.failed(sess.credentials, err)
	own := s.refused(sess.owner, err)
	if s.o.OnDemand && junctor.CodeOf(err) == junctor.CodeUnauthenticated {
		return // it is this call that wants a login
	}
	switch code := junctor.CodeOf(err); {
	case code == junctor.CodeTimeout && !s.breaker.open():
		// One call that took too long says nothing of the server: others may be
		// answered. Several in a row do.
	case countsAsFailure(err) || code == junctor.CodeUnauthenticated && !own:
		s.saw(sess.link, took, err)
	}
	if isLinkOver(err) || junctor.CodeOf(err) == junctor.CodeUnauthenticated {
		if sess.link.isModern() {
			s.opener.forgetEra()
		}
		s.drop(sess)
		s.pages.dropAll() // it may have been started anew, with others
	}
}
