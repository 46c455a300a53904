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
	firstFollowDelay = time.Second // before the server is followed again
	maxFollowDelay   = 2 * time.Minute
	// longFollowTime is how long a server must be followed for its next failure to count
	// as the first.
	longFollowTime = 30 * time.Second
	// listSettleTime is how long a changed list is left alone before it is read: a server
	// that makes many changes announces each of them.
	listSettleTime = 50 * time.Millisecond
)

// changeWatch is the state of following a server: who gets events, and which resources
// are subscribed to. The channels hold one signal each.
type changeWatch struct {
	wake             chan struct{} // there is a reason to connect
	listChanged      chan struct{} // the server announced a change
	interestsChanged chan struct{} // the set of subscribed resources changed
	rereadPacer      rereadPacer   // for followServer alone
	updatePacer      updatePacer

	mu        sync.Mutex
	notify    func(catalog.Event) // set by Watch
	started   bool                // followServer runs
	announced catalog.Lists       // lists whose change was announced and that were not read again yet
	subs      subscriptions
}

// newChangeWatch makes the state for a server that nobody follows yet.
func newChangeWatch() changeWatch {
	signal := func() chan struct{} { return make(chan struct{}, 1) }
	return changeWatch{wake: signal(), listChanged: signal(), interestsChanged: signal(), subs: newSubscriptions()}
}

// signalChannel puts a signal into a channel, unless it has one.
func signalChannel(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Watch implements catalog.Backend. notify gets all events from now on.
func (s *Server) Watch(notify func(catalog.Event)) {
	s.watch.mu.Lock()
	defer s.watch.mu.Unlock()
	s.watch.notify = notify
	s.startFollowing()
}

// startFollowing begins to follow the server in the background, once; watch.mu is held.
func (s *Server) startFollowing() {
	if !s.watch.started {
		s.watch.started = s.background.start(s.followServer)
	}
}

// publishEvent passes an event to the function that Watch was given.
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

// followServer keeps the offer fresh and follows changes, from the first use on. An
// unreachable server is tried again with growing pauses, and at once when somebody uses
// it. One that refused our credentials is tried only when somebody uses it.
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
		s.opts.Logger.Debug("cannot watch a server for changes; retrying", "server", s.opts.ID, "error", s.opts.Scrub(err.Error()))
	}
}

// wakesOnUseOnly reports whether only the use of the server starts following it again.
// That is so after a refusal, and for a command, which is not kept running for its lists.
func (s *Server) wakesOnUseOnly(err error) bool {
	uris, _ := s.watch.subs.listURIs()
	return junctor.CodeOf(err) == junctor.CodeUnauthenticated || s.opts.Transport == TransportStdio && len(uris) == 0
}

// startsNoProcess reports whether no process is started to follow changes: the tools of
// the command are known, and nobody is subscribed to a resource.
func (s *Server) startsNoProcess() bool {
	uris, _ := s.watch.subs.listURIs()
	return s.opts.Transport == TransportStdio && len(uris) == 0 && len(s.knownTools()) > 0
}

// followSession follows the server over one session, until its link ends.
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
		s.releaseSession(sess) // an idle process may be stopped while it is followed
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

// refreshIfStale reads the lists if their lifetime is over.
func (s *Server) refreshIfStale(ctx context.Context) error {
	if s.isOfferFresh() {
		return nil
	}
	return s.rereadOffer(ctx, true)
}

// listenAndRefresh listens on a link. It reads the lists again when the server announces
// a change or when their lifetime ends. It returns when the link has ended or the session
// was replaced.
func (s *Server) listenAndRefresh(ctx context.Context, sess *session) error {
	var run listenRun
	defer func() { run.stop() }()
	run.start(ctx, s, sess)
	up := run.readyChannel(sess.link)
	var due <-chan time.Time // when lists that changed are read again; nil if none did
	for {
		// The lifetime changes with each reading, so the timer is set anew in each round.
		stale := time.NewTimer(s.timeUntilStale())
		select {
		case <-ctx.Done():
			stale.Stop()
			return junctor.AsError(ctx.Err())
		case err := <-run.ended:
			stale.Stop()
			run.ended = nil
			if isLinkOver(err) {
				s.dropSession(sess)
			}
			if !errors.Is(err, errNoStream) {
				return err
			}
			// The server sends nothing by itself: subscriptions are refused, and lists
			// are read when they are stale.
			s.watch.subs.recordNoStream()
		case <-up:
			// Changes before the stream was open were not announced to us.
			up = nil
			signalChannel(s.watch.listChanged)
		case <-s.watch.interestsChanged:
			// Only a modern stream names what it is for; a legacy one stays as it is.
			if sess.link.isModern() {
				run.stop()
				run.start(ctx, s, sess)
			}
		case <-s.watch.listChanged:
			if due == nil { // otherwise this change is read with the earlier one
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

// isRemoved reports whether a session is no longer in the table.
func (s *Server) isRemoved(sess *session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return sess.removed
}

// timeUntilStale gives the time until the lists must be read again. A command is not kept
// running for that: its lists are read when it starts.
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

// rereadOffer reads the lists now; with ifStale only if nobody has done so meanwhile. It
// publishes an event if they changed. An announced change is published even if the lists
// are equal: the server's clients may know what it means.
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

// recordAnnouncement records that the server announced the change of a list.
func (s *Server) recordAnnouncement(method string) {
	s.pageCache.dropAll()
	s.watch.mu.Lock()
	switch method {
	case wire.NotificationToolsListChanged:
		s.watch.announced.Tools = true
	case wire.NotificationPromptsListChanged:
		s.watch.announced.Prompts = true
	case wire.NotificationResourcesListChanged:
		s.watch.announced.Resources = true
	}
	s.watch.mu.Unlock()
	signalChannel(s.watch.listChanged)
}

// listenRun is a running listen of a link. One goroutine uses it. The zero value is not
// running.
type listenRun struct {
	cancel context.CancelFunc
	ended  chan error    // gets the error of listen; nil if it does not run
	done   chan struct{} // closed when the goroutine has ended
}

// start begins to listen on a session. It does nothing on a modern link if there is
// nothing to listen for.
func (r *listenRun) start(ctx context.Context, s *Server, sess *session) {
	l := sess.link
	params := []byte(nil)
	gen := uint64(0)
	if l.isModern() {
		if params, gen = s.listenParams(l); params == nil {
			return // there is nothing to listen for
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended, done := make(chan error, 1), make(chan struct{})
	r.cancel, r.ended, r.done = cancel, ended, done
	started := s.background.start(func() {
		defer close(done)
		ended <- l.listen(ctx, params, &catalogListener{server: s, session: sess, generation: gen})
	})
	if !started {
		cancel()
		close(done)
	}
}

// readyChannel gives a channel that is closed once all further changes are received. It
// is nil if the server announces none, and on a modern link, which acknowledges a
// subscription itself.
func (r *listenRun) readyChannel(l link) <-chan struct{} {
	if r.ended == nil || l.isModern() || !announcesChanges(l) {
		return nil
	}
	if link, ok := l.(*httpLink); ok {
		return link.streamReady
	}
	now := make(chan struct{})
	close(now)
	return now
}

// announcesChanges reports whether the server announces changes of any list.
func announcesChanges(l link) bool {
	for _, value := range wire.Members(l.serverCapabilities()) {
		if string(wire.Get(value, "listChanged")) == "true" {
			return true
		}
	}
	return false
}

// stop ends listening and waits for it.
func (r *listenRun) stop() {
	if r.cancel != nil {
		r.cancel()
		<-r.done
		r.cancel, r.ended = nil, nil
	}
}

// catalogListener is the message handler of the listing link.
type catalogListener struct {
	nopHandler
	server          *Server
	session         *session
	generation      uint64 // of the interests that were sent
	acknowledgeOnce sync.Once
}

// handleNotification implements messageHandler.
func (l *catalogListener) handleNotification(method string, params []byte) {
	switch method {
	case wire.NotificationToolsListChanged, wire.NotificationPromptsListChanged, wire.NotificationResourcesListChanged:
		l.server.recordAnnouncement(method)
	case wire.NotificationResourceUpdated:
		uri, ok := wire.String(wire.Get(params, "uri"))
		if l.server.pageCache.dropURI(uri); ok && l.server.watch.subs.hasSubscriber(uri) {
			l.server.watch.updatePacer.addUpdate(uri, time.Now(), func(uri string) { l.server.publishEvent(catalog.Event{Kind: catalog.EventUpdated, URI: uri}) })
		}
	case wire.NotificationTasksStatus:
		l.server.handleTaskNote(l.session, params)
	case wire.NotificationSubscriptionsAcknowledged:
		l.server.watch.subs.recordGrant(l.generation, wire.Get(params, "notifications"))
		l.acknowledgeOnce.Do(func() { signalChannel(l.server.watch.listChanged) }) // changes before this were not announced to us
	}
}
