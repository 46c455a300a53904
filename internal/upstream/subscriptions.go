package upstream

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// subscriptions are the resources that somebody wants to hear of: how many do,
// and what a modern server has granted.
type subscriptions struct {
	changing chan struct{} // holds one while one is changed

	mu           *sync.Mutex
	counts       map[string]int
	generation   uint64          // of counts' keys
	acknowledged uint64          // up to which the server has said what it grants
	granted      map[string]bool // nil: all
	hasNoStream  bool            // the server has no stream
	changed      chan struct{}   // closed when acked changes
}

func newSubscriptions() subscriptions {
	return subscriptions{changing: make(chan struct{}, 1), mu: &sync.Mutex{}, counts: map[string]int{}, changed: make(chan struct{})}
}

// add counts one more who wants to hear of uri, and says whether it is the first.
func (v *subscriptions) add(uri string) (first bool, gen uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.counts[uri]++
	if v.counts[uri] == 1 {
		v.generation++
	}
	return v.counts[uri] == 1, v.generation
}

// remove counts one less, and says whether it was the last.
func (v *subscriptions) remove(uri string) (last bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.counts[uri] == 0 {
		return false
	}
	if v.counts[uri]--; v.counts[uri] > 0 {
		return false
	}
	delete(v.counts, uri)
	v.generation++
	return true
}

func (v *subscriptions) hasSubscriber(uri string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.counts[uri] > 0
}

func (v *subscriptions) listURIs() ([]string, uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Sorted(maps.Keys(v.counts)), v.generation
}

// recordGrant takes what a server grants of the interests of a generation.
func (v *subscriptions) recordGrant(gen uint64, notifications []byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.acknowledged, v.hasNoStream, v.granted = gen, false, nil
	if list := wire.Get(notifications, "resourceSubscriptions"); list != nil {
		v.granted = map[string]bool{}
		for raw := range wire.Elements(list) {
			uri, _ := wire.String(raw)
			v.granted[uri] = true
		}
	}
	close(v.changed)
	v.changed = make(chan struct{})
}

// recordNoStream says that the server has no stream.
func (v *subscriptions) recordNoStream() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.hasNoStream = true
	close(v.changed)
	v.changed = make(chan struct{})
}

// awaitGrant waits until the server has said whether it grants uri.
func (v *subscriptions) awaitGrant(ctx context.Context, uri string, gen uint64) (bool, error) {
	for {
		v.mu.Lock()
		known, granted, change := v.hasNoStream || v.acknowledged >= gen, !v.hasNoStream && (v.granted == nil || v.granted[uri]), v.changed
		v.mu.Unlock()
		if known {
			return granted, nil
		}
		select {
		case <-change:
		case <-ctx.Done():
			return false, junctor.AsError(ctx.Err())
		}
	}
}

// listenParams are the params of subscriptions/listen for what the server can tell
// and somebody wants to know; nil when that is nothing.
func (s *Server) listenParams(l link) ([]byte, uint64) {
	caps := l.serverCapabilities()
	var members []wire.Member
	for _, list := range []struct{ capability, note string }{
		{"tools", "toolsListChanged"}, {"prompts", "promptsListChanged"}, {"resources", "resourcesListChanged"},
	} {
		if string(wire.Get(wire.Get(caps, list.capability), "listChanged")) == "true" {
			members = append(members, wire.Member{Key: list.note, Value: []byte("true")})
		}
	}
	uris, gen := s.watch.subs.listURIs()
	if len(uris) > 0 {
		list := []byte{'['}
		for i, uri := range uris {
			if i > 0 {
				list = append(list, ',')
			}
			list = wire.AppendString(list, uri)
		}
		members = append(members, wire.Member{Key: "resourceSubscriptions", Value: append(list, ']')})
	}
	if members == nil {
		return nil, gen
	}
	return s.opts.baseParams(wire.Member{Key: "notifications", Value: wire.AppendObject(nil, nil, nil, members...)}), gen
}

// changeSubscription begins or ends to hear of a resource. Callers share what the
// server is asked for: they are told apart behind us.
func (s *Server) changeSubscription(ctx context.Context, req *catalog.Request) (catalog.Result, error) {
	v := &s.watch.subs
	select {
	case v.changing <- struct{}{}:
		defer func() { <-v.changing }()
	case <-ctx.Done():
		return catalog.Result{}, junctor.AsError(ctx.Err())
	}
	done := catalog.Result{Body: []byte(`{}`)}
	if own, err := s.subscribeOnOwnSession(ctx, req); err != nil {
		return catalog.Result{}, s.callError(req, err)
	} else if own {
		return done, nil
	}
	if req.Unsubscribe {
		if v.remove(req.Name) {
			_ = s.setSubscription(ctx, req.Name, false, 0) // nobody hears of it from here on anyway
		}
		return done, nil
	}
	first, gen := v.add(req.Name)
	if !first {
		return done, nil
	}
	if err := s.setSubscription(ctx, req.Name, true, gen); err != nil {
		v.remove(req.Name)
		signalChannel(s.watch.interestsChanged)
		return catalog.Result{}, s.callError(req, err)
	}
	return done, nil
}

// setSubscription tells the server.
func (s *Server) setSubscription(ctx context.Context, uri string, on bool, gen uint64) error {
	a, err := s.resolveAccess(ctx, nil, nil)
	if err != nil {
		return err
	}
	sess, err := s.acquireSession(ctx, a)
	if err != nil {
		return err
	}
	defer s.releaseSession(sess)
	s.watch.mu.Lock()
	s.startFollowing()
	s.watch.mu.Unlock()
	if !sess.link.isModern() {
		s.wakeUp()
		awaitStream(ctx, sess.link)
		return s.subscribeLegacy(ctx, sess.link, uri, on)
	}
	signalChannel(s.watch.interestsChanged)
	s.wakeUp()
	if !on {
		return nil
	}
	granted, err := s.watch.subs.awaitGrant(ctx, uri, gen)
	if err == nil && !granted {
		err = junctor.Errorf(junctor.CodeNotFound, "server %s does not tell when %s changes", s.opts.ID, clipText(uri))
	}
	return err
}

// awaitStream waits until a legacy server can tell what changes, or has had the
// time for it.
func awaitStream(ctx context.Context, l link) {
	h, ok := l.(*httpLink)
	if !ok {
		return // its one stream is there
	}
	late := time.NewTimer(streamWait)
	defer late.Stop()
	select {
	case <-h.streamReady:
	case <-late.C:
	case <-ctx.Done():
	}
}

func (s *Server) subscribeLegacy(ctx context.Context, l link, uri string, on bool) error {
	method := wire.MethodResourcesSubscribe
	if !on {
		method = wire.MethodResourcesUnsubscribe
	}
	_, err := l.roundTrip(ctx, method, append(wire.AppendString([]byte(`{"uri":`), uri), '}'), nil)
	return err
}

// resubscribe tells a new session of a legacy server what the former one knew.
func (s *Server) resubscribe(ctx context.Context, l link) error {
	if l.isModern() {
		return nil
	}
	uris, _ := s.watch.subs.listURIs()
	for _, uri := range uris {
		if err := s.subscribeLegacy(ctx, l, uri, true); err != nil && isLinkOver(err) {
			return err
		}
	}
	return nil
}
