package upstream

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

const (
	firstFollowDelay = time.Second
	maxFollowDelay   = 2 * time.Minute
	// longFollowTime is how long a server has to be followed for its next absence to
	// count as its first.
	longFollowTime = 30 * time.Second
	// listSettleTime is how long a changed list is left to settle: servers that change
	// often say so often.
	listSettleTime = 50 * time.Millisecond
)

// changeWatch is what is needed to hear of changes: who wants to, and which resources.
type changeWatch struct {
	wake             chan struct{} // there is reason to connect
	listChanged      chan struct{} // the server says that a list changed
	interestsChanged chan struct{} // what is listened for has changed
	rereadPacer      rereadPacer   // of whoever follows the server
	updatePacer      updatePacer

	mu        sync.Mutex
	notify    func(catalog.Event)
	started   bool
	announced catalog.Lists // what the server says that changed, and was not read again yet
	subs      subscriptions
}

func newChangeWatch() changeWatch {
	signal := func() chan struct{} { return make(chan struct{}, 1) }
	return changeWatch{wake: signal(), listChanged: signal(), interestsChanged: signal(), subs: newSubscriptions()}
}

func signalChannel(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Watch implements catalog.Backend.
func (s *Server) Watch(notify func(catalog.Event)) {
	s.watch.mu.Lock()
	defer s.watch.mu.Unlock()
	s.watch.notify = notify
	s.startFollowing()
}

// startFollowing starts to follow the server in the background; watch.mu is held.
func (s *Server) startFollowing() {
	if !s.watch.started {
		s.watch.started = s.background.start(s.followServer)
	}
}

func (s *Server) publishEvent(e catalog.Event) {
	s.watch.mu.Lock()
	notify := s.watch.notify
	s.watch.mu.Unlock()
	if notify != nil {
		notify(e)
	}
}

// wakeUp has the server followed again, if it is not.
func (s *Server) wakeUp() { signalChannel(s.watch.wake) }

// followServer keeps the list fresh and hears of changes, from the first use on. A
// server that is away is tried again, ever more rarely and at once when
// somebody uses it; one that refused our credentials only then.
func (s *Server) followServer() {
	var wait <-chan time.Time
	for failures := 0; ; {
		select {
		case <-s.ctx.Done():
			return
		case <-s.watch.wake:
		case <-wait:
		}
		begun := time.Now()
		err := s.followSession(s.ctx)
		if s.ctx.Err() != nil {
			return
		}
		if failures++; time.Since(begun) > longFollowTime {
			failures = 1
		}
		wait = nil
		if !s.wakesOnUseOnly(err) {
			wait = time.After(addJitter(backoffDelay(firstFollowDelay, maxFollowDelay, failures-1)))
		}
		s.opts.Logger.Debug("a server is not followed for now", "server", s.opts.ID, "error", s.opts.Scrub(err.Error()))
	}
}

// wakesOnUseOnly says that only use wakes the server again: it refused us, or it is a
// command, which is not kept running for its lists.
func (s *Server) wakesOnUseOnly(err error) bool {
	uris, _ := s.watch.subs.listURIs()
	return junctor.CodeOf(err) == junctor.CodeUnauthenticated || s.opts.Transport == TransportStdio && len(uris) == 0
}

// startsNoProcess says that no process is started to hear of changes: what the command
// offers is known, and nobody waits to hear of a resource.
func (s *Server) startsNoProcess() bool {
	uris, _ := s.watch.subs.listURIs()
	return s.opts.Transport == TransportStdio && len(uris) == 0 && len(s.knownTools()) > 0
}

// followSession follows the server over one link, until that ends.
func (s *Server) followSession(ctx context.Context) error {
	a, err := s.resolveAccess(ctx, nil, nil)
	if err != nil {
		return err
	}
	a.existingOnly = s.startsNoProcess()
	sess, err := s.acquireSession(ctx, a)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.followedSession = sess
	s.mu.Unlock()
	if s.opts.Transport == TransportStdio {
		s.releaseSession(sess) // it may be stopped when nobody calls
	} else {
		defer s.releaseSession(sess)
	}
	if err := s.refreshIfStale(ctx); err != nil {
		return err
	}
	if err := s.resubscribe(ctx, sess.link); err != nil {
		return err
	}
	return s.listenAndRefresh(ctx, sess)
}

// refreshIfStale reads the list again if it is time.
func (s *Server) refreshIfStale(ctx context.Context) error {
	if s.isOfferFresh() {
		return nil
	}
	return s.rereadOffer(ctx, true)
}

// listenAndRefresh listens on a link, and reads the lists again when they change or
// their time is over.
func (s *Server) listenAndRefresh(ctx context.Context, sess *session) error {
	var ear listenRun
	defer func() { ear.stop() }()
	ear.start(ctx, s, sess)
	up := ear.readyChannel(sess.link)
	var due <-chan time.Time // when lists that changed are read again; nil is not
	for {
		stale := time.NewTimer(s.timeUntilStale())
		select {
		case <-ctx.Done():
			stale.Stop()
			return junctor.AsError(ctx.Err())
		case err := <-ear.ended:
			stale.Stop()
			ear.ended = nil
			if isLinkOver(err) {
				s.dropSession(sess)
			}
			if !errors.Is(err, errNoStream) {
				return err
			}
			s.watch.subs.recordNoStream()
		case <-up:
			// What changed before anybody listened was not heard.
			up = nil
			signalChannel(s.watch.listChanged)
		case <-s.watch.interestsChanged:
			if sess.link.isModern() {
				ear.stop()
				ear.start(ctx, s, sess)
			}
		case <-s.watch.listChanged:
			if due == nil { // else what changed now is read then, too
				due = time.After(s.watch.rereadPacer.nextWait(time.Now()))
			}
		case <-due:
			due = nil
			if err := s.rereadOffer(ctx, false); err != nil {
				return err
			}
			s.watch.rereadPacer.recordRead(time.Now())
		case <-stale.C:
			if err := s.rereadOffer(ctx, false); err != nil {
				return err
			}
		}
		stale.Stop()
		if s.isRemoved(sess) {
			return &junctor.Error{Code: junctor.CodeUnavailable, Message: "the session was replaced", Cause: errNotBegun}
		}
	}
}

func (s *Server) isRemoved(sess *session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return sess.removed
}

// timeUntilStale is when the list has to be read again. A command is not kept running
// for that: its list is read when it is started.
func (s *Server) timeUntilStale() time.Duration {
	l := s.lastOffer.Load()
	if l == nil {
		return s.opts.TTL
	}
	if s.opts.Transport == TransportStdio {
		return math.MaxInt64
	}
	return max(l.freshUntil.Sub(s.opts.Now()), time.Millisecond)
}

// rereadOffer reads the list now, or only if nobody else has done so meanwhile. A
// server that announced a change is passed on even where its lists are as before:
// what it means by it is for its clients to know.
func (s *Server) rereadOffer(ctx context.Context, ifStale bool) error {
	s.watch.mu.Lock()
	said := s.watch.announced
	s.watch.announced = catalog.Lists{}
	s.watch.mu.Unlock()
	changed, err := s.refreshOfferOn(ctx, ifStale, s.startsNoProcess())
	switch {
	case changed:
		s.publishEvent(catalog.Event{Kind: catalog.EventChanged})
	case err == nil && said.Any():
		s.publishEvent(catalog.Event{Kind: catalog.EventAnnounced, Lists: said})
	}
	return err
}

// recordAnnouncement notes that the server says that a list changed.
func (s *Server) recordAnnouncement(method string) {
	s.pageCache.dropAll()
	s.watch.mu.Lock()
	switch method {
	case wire.NoteToolsListChanged:
		s.watch.announced.Tools = true
	case wire.NotePromptsListChanged:
		s.watch.announced.Prompts = true
	case wire.NoteResourcesListChanged:
		s.watch.announced.Resources = true
	}
	s.watch.mu.Unlock()
	signalChannel(s.watch.listChanged)
}

// listenRun is a running listen.
type listenRun struct {
	cancel context.CancelFunc
	ended  chan error
	done   chan struct{}
}

func (e *listenRun) start(ctx context.Context, s *Server, sess *session) {
	l := sess.link
	params := []byte(nil)
	gen := uint64(0)
	if l.isModern() {
		if params, gen = s.listenParams(l); params == nil {
			return // nothing to hear of
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended, done := make(chan error, 1), make(chan struct{})
	e.cancel, e.ended, e.done = cancel, ended, done
	started := s.background.start(func() {
		defer close(done)
		ended <- l.listen(ctx, params, &catalogListener{s: s, sess: sess, generation: gen})
	})
	if !started {
		cancel()
		close(done)
	}
}

// readyChannel is closed once changes are heard that happen from then on. It is nil where
// the server tells of none, and on a modern link, which says so itself.
func (e *listenRun) readyChannel(l link) <-chan struct{} {
	if e.ended == nil || l.isModern() || !announcesChanges(l) {
		return nil
	}
	if h, ok := l.(*httpLink); ok {
		return h.streamReady
	}
	now := make(chan struct{})
	close(now)
	return now
}

func announcesChanges(l link) bool {
	for _, value := range wire.Members(l.serverCapabilities()) {
		if string(wire.Get(value, "listChanged")) == "true" {
			return true
		}
	}
	return false
}

func (e *listenRun) stop() {
	if e.cancel != nil {
		e.cancel()
		<-e.done
		e.cancel, e.ended = nil, nil
	}
}

// catalogListener is the peer of a listen.
type catalogListener struct {
	nopHandler
	s               *Server
	sess            *session
	generation      uint64 // of the interests that were sent
	acknowledgeOnce sync.Once
}

func (e *catalogListener) handleNotification(method string, params []byte) {
	switch method {
	case wire.NoteToolsListChanged, wire.NotePromptsListChanged, wire.NoteResourcesListChanged:
		e.s.recordAnnouncement(method)
	case wire.NoteResourceUpdated:
		uri, ok := wire.String(wire.Get(params, "uri"))
		if e.s.pageCache.dropURI(uri); ok && e.s.watch.subs.hasSubscriber(uri) {
			e.s.watch.updatePacer.addUpdate(uri, time.Now(), func(uri string) { e.s.publishEvent(catalog.Event{Kind: catalog.EventUpdated, URI: uri}) })
		}
	case wire.NoteTasksStatus:
		e.s.handleTaskNote(e.sess, params)
	case wire.NoteSubscriptionsAcknowledged:
		e.s.watch.subs.recordGrant(e.generation, wire.Get(params, "notifications"))
		e.acknowledgeOnce.Do(func() { signalChannel(e.s.watch.listChanged) }) // what changed before was not heard
	}
}
