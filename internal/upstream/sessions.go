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
	// streamWait is how long a call waits for the session's own event stream. A server
	// that never opens one must not block calls.
	streamWait          = time.Second
	maxConnectTries     = 3 // if the server did not answer in time
	firstReconnectDelay = 100 * time.Millisecond
	maxReconnectDelay   = 2 * time.Second
)

// session is a link and its users. It is in the table of its Server from the moment when
// opening begins: others who need the same link wait for ready.
type session struct {
	credentialsDigest string // names the credentials, see linkAccess
	credentialsOwner  string // user whose credentials they are; "" if they are shared
	// ready is closed when opening has ended. link and err must not be read before that.
	ready        chan struct{}
	link         link  // nil if err is set
	err          error // why opening failed
	logLevel     logLevel
	mayAsk       bool        // the server may send requests on it
	hadFirstCall atomic.Bool // the initial requests of the server were answered
	rootsChanged atomic.Bool // since the server was last notified of roots
	listening    atomic.Bool // somebody listens to its own stream
	closeOnce    sync.Once

	// Server.mu guards the fields below.
	tableKeys   []string   // of Server.sessions; the first also names it in ownSubscribers
	access      linkAccess // with which it was opened
	users       sessionUsers
	activeCalls int
	lastUsed    time.Time
	tasks       map[string]*openedTask // open tasks on it, by the server's ids
	// removed means that the session is no longer in the table. It is closed when its last
	// call ends.
	removed bool
}

// isOpening reports whether the link is still being opened.
func (sess *session) isOpening() bool {
	select {
	case <-sess.ready:
		return false
	default:
		return true
	}
}

// acquireSession gives the session for a, and opens one if there is none. The caller must
// call releaseSession. The breaker may refuse. An error of opening goes to all who wait
// for the same session.
func (s *Server) acquireSession(ctx context.Context, a linkAccess) (*session, error) {
	if err := s.breaker.checkAllowed(a.credentialsDigest); err != nil {
		return nil, err
	}
	for {
		sess, first, err := s.findSession(a)
		if err != nil {
			return nil, err
		}
		if first != nil { // its era decides whether another session is needed at all
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

// findSession gives the session for a and counts its use. Instead it may give first: a
// session that is being opened, whose end the caller must wait for before it asks again.
// A modern process would serve both, so no second one is started before that is known.
func (s *Server) findSession(a linkAccess) (sess, first *session, err error) {
	// The key depends on the era. While the era is unknown, the legacy key is used, which
	// tells more callers apart.
	known, _ := s.linkOpener.knownEra()
	key := a.linkKey(known == eraModern)
	s.mu.Lock()
	defer s.mu.Unlock()
	if sess = s.sessions[key]; sess == nil && s.opts.Transport == TransportStdio {
		// Any process can be listed or listened to. A new one is not started for that.
		for _, other := range s.sessions {
			switch {
			case other.credentialsDigest != a.credentialsDigest:
			case a.forListing:
				sess = other
			case known != eraLegacy && other.access.holder == a.holder && other.isOpening():
				return nil, other, nil // if it turns out modern, callers with other capabilities share it
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

// beginSession adds a session to the table and opens its link in the background. If the
// server has as many sessions as it may, an idle one is closed. The error has
// CodeUnavailable if none is idle. mu is held.
func (s *Server) beginSession(key string, a linkAccess) (*session, error) {
	if s.closed {
		return nil, junctor.Errorf(junctor.CodeUnavailable, "server %s was removed or changed during the call; try again", s.opts.ID)
	}
	if most := s.maxLinks(); s.countOpen() >= most && !s.evictIdleSession() {
		return nil, &junctor.Error{
			Code: junctor.CodeUnavailable, RetryAfter: time.Second,
			Message: "server " + s.opts.ID + " has reached its limit of sessions (" + strconv.Itoa(most) + "), and all are in use; try again later, or raise max_sessions of the server",
		}
	}
	a = a.copyForKeeping()
	sess := &session{
		tableKeys: []string{key}, access: a, credentialsDigest: a.credentialsDigest, credentialsOwner: a.credentialsOwner, ready: make(chan struct{}), lastUsed: s.opts.Now(), logLevel: logLevel{changing: make(chan struct{}, 1)},
		mayAsk: abilitiesOf(a.capabilities).canAnswerAny(),
	}
	s.sessions[key] = sess
	s.live[sess] = struct{}{}
	// Opening goes on if its caller gives up, since others may wait for it.
	s.background.start(func() { s.openSession(sess, a) })
	s.scheduleCleanup()
	return sess, nil
}

// countOpen counts the sessions in the table that are not removed; mu is held.
func (s *Server) countOpen() int {
	n := 0
	for sess := range s.live {
		if !sess.removed {
			n++
		}
	}
	return n
}

// openSession opens the link of a session, and then closes ready. If that fails, it
// removes the session. A modern link gets a second key, under which callers with other
// capabilities find it.
func (s *Server) openSession(sess *session, a linkAccess) {
	begun := time.Now()
	// Sent once for the link: all callers with the same key have equal settings.
	op := linkSettings{capabilities: a.capabilities, credentials: a.header, tokenNumber: a.login.TokenNumber, maxProcesses: s.maxLinks(), onAmbiguous: s.ambiguityHandler(sess, a)}
	if a.credentialsOwner != "" {
		op.client, op.stream = s.opts.UserClients(a.credentialsOwner)
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
		// The server may send requests and notifications on the session's own stream. It
		// must exist before the first call, or the first ones are lost.
		s.listenAndAwaitStream(sess)
	}
	for _, uri := range subscribed {
		_ = s.subscribeLegacy(s.ctx, l, uri, true) // a server that refuses now keeps the session usable
	}
	close(sess.ready)
	if sess.mayAsk && a.credentialsOwner == "" {
		s.background.start(func() { s.findConditionalTools(s.ctx, l) })
	}
	s.wakeUp()
}

// nopHandler ignores notifications and refuses requests. Handlers that need only one of
// the two embed it.
type nopHandler struct{}

// handleNotification implements messageHandler.
func (nopHandler) handleNotification(string, []byte) {}

// answerRequest implements messageHandler.
func (nopHandler) answerRequest(context.Context, string, []byte) ([]byte, error) { //nolint:unparam // messageHandler has this signature
	return nil, &wire.Error{Code: wire.CodeInternal, Message: "no client can answer this request"}
}

// connectWithRetries opens a link. It retries errors that may pass: a time-out twice, a
// network error once. It never retries refused credentials: repeated failures may lock an
// account.
func (s *Server) connectWithRetries(ctx context.Context, op linkSettings) (link, error) {
	for try := 1; ; try++ {
		attempt, cancel := context.WithTimeout(ctx, s.opts.Timeouts.Connect)
		l, err := s.linkOpener.openLink(attempt, op)
		cancel()
		if err == nil || ctx.Err() != nil {
			return l, err
		}
		// By default an error is final.
		most := 1
		switch junctor.CodeOf(err) {
		case junctor.CodeTimeout:
			if s.opts.Transport != TransportStdio { // a second process would not start any faster
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

// releaseSession ends a use of a session. It closes a removed session with its last use.
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

// dropSession removes a session from the table, so that no new call uses it. Running
// calls go on.
func (s *Server) dropSession(sess *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retireSession(sess)
}

// removeFromTable is dropSession with mu held, and without closing the link.
func (s *Server) removeFromTable(sess *session) {
	sess.removed = true
	for _, key := range sess.tableKeys {
		if s.sessions[key] == sess {
			delete(s.sessions, key)
		}
	}
}

// closeInBackground closes the link of a session without calls. Closing may take seconds:
// a process is given time to exit.
func (s *Server) closeInBackground(sess *session) {
	s.background.start(func() {
		<-sess.ready
		s.closeLink(sess)
	})
}

// closeLink closes the link of a session once, and forgets the session.
func (s *Server) closeLink(sess *session) {
	sess.closeOnce.Do(func() {
		if sess.link != nil {
			_ = sess.link.close() // nobody could handle the error
		}
		s.mu.Lock()
		delete(s.live, sess)
		s.mu.Unlock()
	})
}

// hasSubscribers reports whether somebody is subscribed to resources on a session; mu is
// held. Such a session must stay open although it is idle.
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

// evictIdleSession removes the idle session that was not used for longest, and reports
// whether there was one; mu is held.
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

// scheduleCleanup sets the timer for closeIdleSessions, unless it is set; mu is held.
func (s *Server) scheduleCleanup() {
	if s.cleanupTimer != nil || s.closed {
		return
	}
	s.cleanupTimer = time.AfterFunc(s.opts.Timeouts.Idle/2+time.Millisecond, s.closeIdleSessions)
}

// closeIdleSessions closes the sessions that were not used for Timeouts.Idle. It runs
// again while there are sessions.
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

// reportRefusal calls Options.OnRefused if err means that the server refused our
// credentials. It returns true if they were a user's own: then the refusal says nothing
// about the server.
func (s *Server) reportRefusal(owner string, err error) bool {
	if junctor.CodeOf(err) != junctor.CodeUnauthenticated {
		return false
	}
	if s.opts.OnRefused != nil {
		s.opts.OnRefused(owner)
	}
	return owner != ""
}

// recordOutcome records how a request ended: for the breaker, for the state, and for the
// session, which it drops if the link has ended or its credentials were refused.
func (s *Server) recordOutcome(sess *session, took time.Duration, err error) {
	if _, own := errors.AsType[*wire.Error](err); err == nil || own {
		s.breaker.recordSuccess(sess.credentialsDigest)
		s.recordAnswer(sess.link, took, nil)
		return
	}
	s.breaker.recordFailure(sess.credentialsDigest, err)
	own := s.reportRefusal(sess.credentialsOwner, err)
	if s.opts.LoginOnDemand && junctor.CodeOf(err) == junctor.CodeUnauthenticated {
		return // only this call needs a login
	}
	switch code := junctor.CodeOf(err); {
	case code == junctor.CodeTimeout && !s.breaker.isOpen():
		// One slow call says nothing about the server. Several in a row do.
	case countsAsFailure(err) || code == junctor.CodeUnauthenticated && !own:
		s.recordAnswer(sess.link, took, err)
	}
	if isLinkOver(err) || junctor.CodeOf(err) == junctor.CodeUnauthenticated {
		if sess.link.isModern() {
			s.linkOpener.forgetEra()
		}
		s.dropSession(sess)
		s.pageCache.dropAll() // a restarted server may have other pages
	}
}

// EndSession ends the links of a client whose session has ended. Running calls on them
// end first.
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

// EndUser ends the links that were opened with a user's own credentials, after these were
// changed or removed. Running calls on them end first. It also drops the pages that were
// read with them.
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

// retireSession is dropSession with mu held: it removes a session, and closes it if it
// has no calls.
func (s *Server) retireSession(sess *session) {
	s.removeFromTable(sess)
	if sess.activeCalls == 0 {
		s.closeInBackground(sess)
	}
}
