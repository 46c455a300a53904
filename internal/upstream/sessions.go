package upstream

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

const (
	maxSessions     = 128
	maxSlots        = 32          // links of one caller that are not shared
	streamUp        = time.Second // how long a session's own stream is waited for
	connectTries    = 3           // where the server did not answer in time
	firstReconnect  = 100 * time.Millisecond
	mostReconnected = 2 * time.Second
)

// session is a link and who uses it. Callers with the same credentials who
// declare the same share one.
type session struct {
	keys        []string // under which it is in the table
	credentials string   // which ones, as a digest
	ready       chan struct{}
	link        link  // once ready
	err         error // once ready: why there is none
	levels      levels
	asking      bool        // the server may ask on it
	introduced  atomic.Bool // its first call has come
	closing     sync.Once

	// Under Server.mu.
	calls int
	used  time.Time
	gone  bool // no longer in the table: closed with its last call
}

// access is with what a link is opened.
type access struct {
	header      http.Header
	credentials string // digest of header
	caps        []byte // as a legacy handshake declares them
	who         string // the caller, where callers do not share
	alone       bool   // no other call may be under way on the link
}

func (s *Server) access(ctx context.Context, p *junctor.Principal, caps []byte) (access, error) {
	a := access{caps: handshakeCaps(caps)}
	if s.o.Header != nil {
		h, err := s.o.Header(ctx, p)
		if err != nil {
			return access{}, err
		}
		a.header, a.credentials = h, digestOf(h)
	}
	if p != nil && s.isolated.Load() {
		a.alone = abilitiesOf(caps).any()
		a.who = string(p.Tenant) + "\x00" + p.Issuer + "\x00" + p.Subject
	}
	return a, nil
}

func digestOf(h http.Header) string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, v := range h[name] {
			_, _ = io.WriteString(sum, name+"\x00"+v+"\x00")
		}
	}
	return string(sum.Sum(nil))
}

// key names the link: a modern one carries capabilities in each request, so all
// callers with one credential share it.
func (a *access) key(modern bool) string {
	if modern {
		return a.credentials
	}
	return a.credentials + "\x00" + a.who + "\x00" + string(a.caps)
}

// acquire gives the session for a, opening it if there is none. It counts as
// used until release.
func (s *Server) acquire(ctx context.Context, a access) (*session, error) {
	if err := s.breaker.allow(a.credentials); err != nil {
		return nil, err
	}
	known, _ := s.opener.knows()
	key := a.key(known == mannerModern)
	s.mu.Lock()
	sess := s.sessions[key]
	if a.alone && known != mannerModern {
		// Only one call on a link can be asked where questions name none.
		for slot := 1; sess != nil && sess.calls > 0 && slot < maxSlots; slot++ {
			key = a.key(false) + "\x00" + strconv.Itoa(slot)
			sess = s.sessions[key]
		}
	}
	if sess == nil {
		var err error
		if sess, err = s.begin(key, a); err != nil {
			s.mu.Unlock()
			return nil, err
		}
	}
	sess.calls++
	s.mu.Unlock()
	var err error
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
	return sess, nil
}

// begin starts to open a session; mu is held.
func (s *Server) begin(key string, a access) (*session, error) {
	if s.closed {
		return nil, junctor.Errorf(junctor.CodeUnavailable, "server %s was removed or is being changed; try again", s.o.ID)
	}
	if len(s.sessions) >= maxSessions && !s.evict() {
		return nil, &junctor.Error{Code: junctor.CodeUnavailable, RetryAfter: time.Second, Message: "server " + s.o.ID + " has as many sessions as it may; try again"}
	}
	sess := &session{keys: []string{key}, credentials: a.credentials, ready: make(chan struct{}), used: s.o.Now(), asking: abilitiesOf(a.caps).any()}
	s.sessions[key] = sess
	s.live[sess] = struct{}{}
	// Opening goes on when the caller who began it is gone: others may wait.
	s.tasks.start(func() { s.open(sess, a) })
	s.tidyLater()
	return sess, nil
}

// open opens the link of a session.
func (s *Server) open(sess *session, a access) {
	begun := time.Now()
	l, err := s.connect(s.ctx, opening{declared: a.caps, credentials: a.header, ambiguous: s.isolate})
	if err != nil {
		s.breaker.failed(a.credentials, err)
		s.saw(nil, 0, err)
		sess.err = err
		close(sess.ready)
		s.drop(sess)
		return
	}
	s.breaker.succeeded(a.credentials)
	s.saw(l, time.Since(begun), nil)
	sess.link = l
	s.mu.Lock()
	if key := a.key(true); l.modern() && s.sessions[key] == nil && !sess.gone {
		sess.keys = append(sess.keys, key)
		s.sessions[key] = sess
	}
	s.mu.Unlock()
	if h, ok := l.(*httpLink); ok && !l.modern() && abilitiesOf(a.caps).any() {
		// Such a server may ask on the session's own stream, which has to be
		// there before the first call.
		s.tasks.start(func() { _ = h.listen(s.ctx, nil, deaf{}) })
		awaitStream(s.ctx, l)
	}
	close(sess.ready)
	if sess.asking {
		s.tasks.start(func() { s.lookAround(s.ctx, l, a.caps) })
	}
	s.wakeUp()
}

// deaf is the peer of a stream that is kept for its questions alone.
type deaf struct{}

func (deaf) note(string, []byte) {}
func (deaf) ask(context.Context, string, []byte) ([]byte, error) {
	return nil, &wire.Error{Code: wire.CodeInternal, Message: "nobody is there to answer"}
}

// connect opens a link, trying again what may be a passing trouble: a time-out
// twice, a network error once, a refused credential never.
func (s *Server) connect(ctx context.Context, op opening) (link, error) {
	for try := 1; ; try++ {
		attempt, cancel := context.WithTimeout(ctx, s.o.Timeouts.Connect)
		l, err := s.opener.open(attempt, op)
		cancel()
		if err == nil || ctx.Err() != nil {
			return l, err
		}
		most := 1
		switch junctor.CodeOf(err) {
		case junctor.CodeTimeout:
			most = connectTries
		case junctor.CodeUnreachable:
			most = 2
		default:
		}
		if try >= most {
			return nil, err
		}
		if err := pause(ctx, jitter(backoff(firstReconnect, mostReconnected, try-1))); err != nil {
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
	s.remove(sess)
	idle := sess.calls == 0
	s.mu.Unlock()
	if idle {
		s.shut(sess)
	}
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
	s.tasks.start(func() {
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

// evict takes out the idle session that was used least recently; mu is held.
func (s *Server) evict() bool {
	var oldest *session
	for _, sess := range s.sessions {
		if sess.calls == 0 && (oldest == nil || sess.used.Before(oldest.used)) {
			oldest = sess
		}
	}
	if oldest == nil {
		return false
	}
	s.remove(oldest)
	s.shut(oldest)
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
	if uris, _ := s.watch.subs.uris(); len(uris) > 0 {
		oldest = time.Time{} // somebody waits to hear from it
	}
	for _, sess := range s.sessions {
		if sess.calls == 0 && !sess.used.After(oldest) {
			s.remove(sess)
			s.shut(sess)
		}
	}
	if len(s.sessions) > 0 {
		s.tidyLater()
	}
}

// isolate makes callers have links of their own from now on: the server asked
// something that could have been any caller's.
func (s *Server) isolate() {
	if !s.isolated.Swap(true) {
		s.o.Logger.Warn("a server asked what several calls could have answered; its callers no longer share sessions", "server", s.o.ID)
	}
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
	if code := junctor.CodeOf(err); counts(err) || code == junctor.CodeUnauthenticated {
		s.saw(sess.link, took, err)
	}
	if over(err) || junctor.CodeOf(err) == junctor.CodeUnauthenticated {
		if sess.link.modern() {
			s.opener.forget()
		}
		s.drop(sess)
	}
}
