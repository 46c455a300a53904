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
	streamWait          = time.Second // how long a session's own stream is waited for
	maxConnectTries     = 3           // where the server did not answer in time
	firstReconnectDelay = 100 * time.Millisecond
	maxReconnectDelay   = 2 * time.Second
)

// session is a link and who uses it.
type session struct {
	credentialsDigest string // which ones, as a digest
	credentialsOwner  string // the user whose they are; "" where they are everybody's
	ready             chan struct{}
	link              link  // once ready
	err               error // once ready: why there is none
	logLevel          logLevel
	mayAsk            bool        // the server may ask on it
	hadFirstCall      atomic.Bool // its first call has come
	rootsChanged      atomic.Bool // the client has other roots than the server was told of
	listening         atomic.Bool // its own stream is listened to
	closeOnce         sync.Once

	// Under Server.mu.
	tableKeys   []string   // under which it is in the table
	access      linkAccess // whose it is
	users       sessionUsers
	activeCalls int
	lastUsed    time.Time
	tasks       map[string]*openedTask // under way on it, by the server's ids
	removed     bool                   // no longer in the table: closed with its last call
}

func (sess *session) isOpening() bool {
	select {
	case <-sess.ready:
		return false
	default:
		return true
	}
}

// acquireSession gives the session for a, opening it if there is none. It counts as
// used until release.
func (s *Server) acquireSession(ctx context.Context, a linkAccess) (*session, error) {
	if err := s.breaker.checkAllowed(a.credentialsDigest); err != nil {
		return nil, err
	}
	for {
		sess, first, err := s.findSession(a)
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
			s.releaseSession(sess)
			return nil, err
		}
		if held, ok := sess.link.(interface{ renewLogin(l *Login) }); ok && a.login.Name != "" {
			held.renewLogin(&a.login)
		}
		return sess, nil
	}
}

// findSession gives the session for a and counts its use, or one that is being opened
// and has to be waited for first.
func (s *Server) findSession(a linkAccess) (sess, first *session, err error) {
	known, _ := s.linkOpener.knownEra()
	key := a.linkKey(known == eraModern)
	s.mu.Lock()
	defer s.mu.Unlock()
	if sess = s.sessions[key]; sess == nil && s.opts.Transport == TransportStdio {
		// No process is started that another could stand in for.
		for _, other := range s.sessions {
			switch {
			case other.credentialsDigest != a.credentialsDigest:
			case a.forListing:
				sess = other
			case known != eraLegacy && other.access.holder == a.holder && other.isOpening():
				return nil, other, nil // a modern one is shared whatever its callers declare
			}
		}
	}
	if sess == nil && a.existingOnly {
		return nil, nil, &junctor.Error{Code: junctor.CodeUnavailable, Message: "server " + s.opts.ID + " is not running", Cause: errNotBegun}
	}
	if sess == nil {
		if sess, err = s.beginSession(key, a); err != nil {
			return nil, nil, err
		}
	}
	sess.activeCalls++
	sess.users.addUser(&a)
	return sess, nil, nil
}

// beginSession starts to open a session; mu is held.
func (s *Server) beginSession(key string, a linkAccess) (*session, error) {
	if s.closed {
		return nil, junctor.Errorf(junctor.CodeUnavailable, "server %s was removed or is being changed; try again", s.opts.ID)
	}
	if most := s.maxLinks(); s.countOpen() >= most && !s.evictIdleSession() {
		return nil, &junctor.Error{
			Code: junctor.CodeUnavailable, RetryAfter: time.Second,
			Message: "server " + s.opts.ID + " has as many sessions as it may (" + strconv.Itoa(most) + "), and all are in use; try again, or raise its max_sessions",
		}
	}
	a = a.copyForKeeping()
	sess := &session{
		tableKeys: []string{key}, access: a, credentialsDigest: a.credentialsDigest, credentialsOwner: a.credentialsOwner, ready: make(chan struct{}), lastUsed: s.opts.Now(), logLevel: logLevel{changing: make(chan struct{}, 1)},
		mayAsk: abilitiesOf(a.capabilities).canAnswerAny(),
	}
	s.sessions[key] = sess
	s.live[sess] = struct{}{}
	// Opening goes on when the caller who began it is gone: others may wait.
	s.background.start(func() { s.openSession(sess, a) })
	s.scheduleCleanup()
	return sess, nil
}

// countOpen counts the sessions that are in the table; mu is held.
func (s *Server) countOpen() int {
	n := 0
	for sess := range s.live {
		if !sess.removed {
			n++
		}
	}
	return n
}

// openSession opens the link of a session.
func (s *Server) openSession(sess *session, a linkAccess) {
	begun := time.Now()
	op := linkSettings{capabilities: a.capabilities, credentials: a.header, tokenNumber: a.login.Number, maxProcesses: s.maxLinks(), onAmbiguous: s.ambiguityHandler(sess, a)}
	if a.credentialsOwner != "" {
		op.client, op.stream = s.opts.Own(a.credentialsOwner)
	}
	l, err := s.connectWithRetries(s.ctx, op)
	if err != nil {
		s.breaker.recordFailure(a.credentialsDigest, err)
		if !s.reportRefusal(a.credentialsOwner, err) {
			s.recordAnswer(nil, 0, err)
		}
		sess.err = err
		close(sess.ready)
		s.dropSession(sess)
		return
	}
	s.breaker.recordSuccess(a.credentialsDigest)
	s.recordAnswer(l, time.Since(begun), nil)
	sess.link = l
	s.mu.Lock()
	if key := a.linkKey(true); l.isModern() && s.sessions[key] == nil && !sess.removed {
		sess.tableKeys = append(sess.tableKeys, key)
		s.sessions[key] = sess
	}
	s.mu.Unlock()
	subscribed := s.subscribedURIs(sess)
	if sess.mayAsk || a.holder != "" || len(subscribed) > 0 {
		// The server may ask and tell on the session's own stream, which has to
		// be there before the first call.
		s.listenAndAwaitStream(sess)
	}
	for _, uri := range subscribed {
		_ = s.subscribeLegacy(s.ctx, l, uri, true) // as before, or not at all
	}
	close(sess.ready)
	if sess.mayAsk && a.credentialsOwner == "" {
		s.background.start(func() { s.findConditionalTools(s.ctx, l) })
	}
	s.wakeUp()
}

// nopHandler is the peer of a stream that is kept for its questions alone.
type nopHandler struct{}

func (nopHandler) handleNotification(string, []byte) {}
func (nopHandler) answerRequest(context.Context, string, []byte) ([]byte, error) { //nolint:unparam // as peer wants it
	return nil, &wire.Error{Code: wire.CodeInternal, Message: "nobody is there to answer"}
}

// connectWithRetries opens a link, trying again what may be a passing trouble: a time-out
// twice, a network error once, a refused credential never.
func (s *Server) connectWithRetries(ctx context.Context, op linkSettings) (link, error) {
	for try := 1; ; try++ {
		attempt, cancel := context.WithTimeout(ctx, s.opts.Timeouts.Connect)
		l, err := s.linkOpener.openLink(attempt, op)
		cancel()
		if err == nil || ctx.Err() != nil {
			return l, err
		}
		most := 1
		switch junctor.CodeOf(err) {
		case junctor.CodeTimeout:
			if s.opts.Transport != TransportStdio { // a process that is slow to start is not made faster by another
				most = maxConnectTries
			}
		case junctor.CodeUnreachable:
			most = 2
		default:
		}
		if try >= most {
			return nil, err
		}
		if err := waitContext(ctx, addJitter(backoffDelay(firstReconnectDelay, maxReconnectDelay, try-1))); err != nil {
			return nil, err
		}
	}
}

// releaseSession gives a session back.
func (s *Server) releaseSession(sess *session) {
	s.mu.Lock()
	sess.activeCalls--
	sess.lastUsed = s.opts.Now()
	last := sess.removed && sess.activeCalls == 0
	s.mu.Unlock()
	if last {
		s.closeInBackground(sess)
	}
}

// dropSession takes a session out of the table: nobody begins anything on it any more.
func (s *Server) dropSession(sess *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retireSession(sess)
}

// removeFromTable is drop with mu held, and without closing.
func (s *Server) removeFromTable(sess *session) {
	sess.removed = true
	for _, key := range sess.tableKeys {
		if s.sessions[key] == sess {
			delete(s.sessions, key)
		}
	}
}

// closeInBackground closes the link of a session that nobody uses, in the background.
func (s *Server) closeInBackground(sess *session) {
	s.background.start(func() {
		<-sess.ready
		s.closeLink(sess)
	})
}

func (s *Server) closeLink(sess *session) {
	sess.closeOnce.Do(func() {
		if sess.link != nil {
			_ = sess.link.close() // there is nobody to tell
		}
		s.mu.Lock()
		delete(s.live, sess)
		s.mu.Unlock()
	})
}

// hasSubscribers says whether somebody waits to hear of resources by way of a session;
// mu is held.
func (s *Server) hasSubscribers(sess *session) bool {
	if len(s.ownSubscribers[sess.tableKeys[0]]) > 0 {
		return true
	}
	if s.followedSession != sess {
		return false
	}
	uris, _ := s.watch.subs.listURIs()
	return len(uris) > 0
}

// evictIdleSession takes out the idle session that was used least recently; mu is held.
func (s *Server) evictIdleSession() bool {
	var oldest *session
	for _, sess := range s.sessions {
		if sess.activeCalls == 0 && !sess.isOpening() && !s.hasSubscribers(sess) && !s.hasOpenTasks(sess) && (oldest == nil || sess.lastUsed.Before(oldest.lastUsed)) {
			oldest = sess
		}
	}
	if oldest == nil {
		return false
	}
	s.retireSession(oldest)
	return true
}

// scheduleCleanup closes idle sessions in a while; mu is held.
func (s *Server) scheduleCleanup() {
	if s.cleanupTimer != nil || s.closed {
		return
	}
	s.cleanupTimer = time.AfterFunc(s.opts.Timeouts.Idle/2+time.Millisecond, s.closeIdleSessions)
}

func (s *Server) closeIdleSessions() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cleanupTimer = nil
	oldest := s.opts.Now().Add(-s.opts.Timeouts.Idle)
	for _, sess := range s.sessions {
		if sess.activeCalls == 0 && !sess.lastUsed.After(oldest) && !s.hasSubscribers(sess) && !s.hasOpenTasks(sess) {
			s.retireSession(sess)
		}
	}
	if len(s.sessions) > 0 {
		s.scheduleCleanup()
	}
}

// reportRefusal says so where err is that the server did not take our credentials. It
// gives whether they were a user's own, which says nothing about the server.
func (s *Server) reportRefusal(owner string, err error) bool {
	if junctor.CodeOf(err) != junctor.CodeUnauthenticated {
		return false
	}
	if s.opts.Refused != nil {
		s.opts.Refused(owner)
	}
	return owner != ""
}

// recordOutcome looks at how a request went: for the breaker, for the state, and for
// the session, which may be over.
func (s *Server) recordOutcome(sess *session, took time.Duration, err error) {
	if _, own := errors.AsType[*wire.Error](err); err == nil || own {
		s.breaker.recordSuccess(sess.credentialsDigest)
		s.recordAnswer(sess.link, took, nil)
		return
	}
	s.breaker.recordFailure(sess.credentialsDigest, err)
	own := s.reportRefusal(sess.credentialsOwner, err)
	if s.opts.OnDemand && junctor.CodeOf(err) == junctor.CodeUnauthenticated {
		return // it is this call that wants a login
	}
	switch code := junctor.CodeOf(err); {
	case code == junctor.CodeTimeout && !s.breaker.isOpen():
		// One call that took too long says nothing of the server: others may be
		// answered. Several in a row do.
	case countsAsFailure(err) || code == junctor.CodeUnauthenticated && !own:
		s.recordAnswer(sess.link, took, err)
	}
	if isLinkOver(err) || junctor.CodeOf(err) == junctor.CodeUnauthenticated {
		if sess.link.isModern() {
			s.linkOpener.forgetEra()
		}
		s.dropSession(sess)
		s.pageCache.dropAll() // it may have been started anew, with others
	}
}

// EndSession ends the links of a client that is gone. Calls on them that still
// run come to their end first.
func (s *Server) EndSession(client string) {
	if client == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sess := range s.sessions {
		if sess.access.singleClient && sess.access.clientSession == client {
			delete(s.ownSubscribers, sess.tableKeys[0])
			s.retireSession(sess)
		}
	}
}

// EndUser ends the links that were opened with a user's own credentials: they
// are others now, or none. Calls on them that still run come to their end first.
func (s *Server) EndUser(user string) {
	s.pageCache.dropPages(func(_ pageKey, p *cachedPage) bool { return user != "" && p.credentialsOwner == user })
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sess := range s.sessions {
		if user != "" && sess.credentialsOwner == user {
			delete(s.ownSubscribers, sess.tableKeys[0])
			s.retireSession(sess)
		}
	}
}

// retireSession is drop with mu held.
func (s *Server) retireSession(sess *session) {
	s.removeFromTable(sess)
	if sess.activeCalls == 0 {
		s.closeInBackground(sess)
	}
}
