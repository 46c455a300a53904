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

// subscriptions are the resources that callers subscribed to on the listing link: the
// number of subscribers, and what a modern server has granted.
type subscriptions struct {
	// changing is a lock as a channel. Its holder changes one subscription, which takes a
	// round trip.
	changing chan struct{}

	mu           *sync.Mutex
	counts       map[string]int  // subscribers by URI
	generation   uint64          // rises when a URI is added or removed
	acknowledged uint64          // last generation that the server has answered
	granted      map[string]bool // by URI; nil means all
	hasNoStream  bool            // the server sends no notifications
	changed      chan struct{}   // closed when the server has answered
}

// newSubscriptions makes an empty set.
func newSubscriptions() subscriptions {
	return subscriptions{changing: make(chan struct{}, 1), mu: &sync.Mutex{}, counts: map[string]int{}, changed: make(chan struct{})}
}

// add adds one subscriber of uri. It reports whether it is the first, and gives the
// generation that has it.
func (v *subscriptions) add(uri string) (first bool, gen uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.counts[uri]++
	if v.counts[uri] == 1 {
		v.generation++
	}
	return v.counts[uri] == 1, v.generation
}

// remove removes one subscriber, and reports whether it was the last.
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

// hasSubscriber reports whether somebody is subscribed to uri.
func (v *subscriptions) hasSubscriber(uri string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.counts[uri] > 0
}

// listURIs gives the URIs with subscribers, sorted, and their generation.
func (v *subscriptions) listURIs() ([]string, uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Sorted(maps.Keys(v.counts)), v.generation
}

// recordGrant records what a server grants of the interests of a generation.
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

// recordNoStream records that the server sends no notifications, which ends all waits.
func (v *subscriptions) recordNoStream() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.hasNoStream = true
	close(v.changed)
	v.changed = make(chan struct{})
}

// awaitGrant waits until the server has answered for a generation, and reports whether it
// grants uri.
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

// listenParams gives the params of subscriptions/listen: the changes that the server can
// announce, and the resources with subscribers. They are nil if there is nothing to
// listen for.
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

// changeSubscription subscribes to a resource or unsubscribes. Callers on the listing
// link share one subscription at the server; the gateway tells them apart.
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
			_ = s.setSubscription(ctx, req.Name, false, 0) // updates are ignored from here on anyway
		}
		return done, nil
	}
	// Only the first subscriber costs a round trip.
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

// setSubscription tells the server about the first subscriber of uri, or the last one
// that left. gen is the generation to wait for on a modern link. The error has
// CodeNotFound if the server does not grant it.
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
		err = junctor.Errorf(junctor.CodeNotFound, "server %s does not support subscriptions to %s", s.opts.ID, clipText(uri))
	}
	return err
}

// awaitStream waits until a legacy server can send notifications, or had enough time for
// that.
func awaitStream(ctx context.Context, l link) {
	h, ok := l.(*httpLink)
	if !ok {
		return // its only stream is open
	}
	late := time.NewTimer(streamWait)
	defer late.Stop()
	select {
	case <-h.streamReady:
	case <-late.C:
	case <-ctx.Done():
	}
}

// subscribeLegacy subscribes to a resource on a legacy link, or unsubscribes.
func (s *Server) subscribeLegacy(ctx context.Context, l link, uri string, on bool) error {
	method := wire.MethodResourcesSubscribe
	if !on {
		method = wire.MethodResourcesUnsubscribe
	}
	_, err := l.roundTrip(ctx, method, append(wire.AppendString([]byte(`{"uri":`), uri), '}'), nil)
	return err
}

// resubscribe repeats all subscriptions on a new session of a legacy server. It ignores
// refusals: one resource may no longer exist.
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
