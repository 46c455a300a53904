package upstream

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// Who has a session of his own hears there of what he subscribed to, alone, and
// also after the session was opened anew.
func TestSubscriptionsAreTheirCallers(t *testing.T) {
	t.Parallel()
	for name, way := range ways() {
		if name == "modern" {
			continue // callers share its one link
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPeer()
			s := newServer(t, way(t, p), func(o *Options) { o.Isolation = junctor.IsolationSession })
			events := make(chan catalog.Event, 16)
			s.Watch(func(e catalog.Event) {
				if e.Kind == catalog.EventUpdated {
					events <- e
				}
			})
			subscription := func(who string, end bool) *catalog.Request {
				req := &catalog.Request{Kind: junctor.KindSubscription, Name: "test://one", Params: []byte(`{}`), Unsubscribe: end}
				req.Principal = &junctor.Principal{Tenant: "default", Issuer: "key", Subject: who}
				if who == "ada" {
					req.Caller.Capabilities = []byte(everyone)
				}
				return req
			}
			updated := func(want ...string) {
				t.Helper()
				if err := p.ResourceUpdated(ctxFor(t), &mcp.ResourceUpdatedNotificationParams{URI: "test://one"}); err != nil {
					t.Fatal(err)
				}
				got := map[string]int{}
				for range want {
					select {
					case e := <-events:
						got[e.Party]++
					case <-time.After(never):
						t.Fatalf("heard by %v, want %v", got, want)
					}
				}
				for _, who := range want {
					if got["key:"+who] != 1 {
						t.Errorf("heard by %v, want %v", got, want)
					}
				}
			}
			do(t, s, subscription("ada", false))
			do(t, s, subscription("ada", false))
			do(t, s, subscription("bob", false))
			updated("ada", "bob")
			do(t, s, subscription("bob", true))
			do(t, s, subscription("ada", true))
			updated("ada")
			// The server ends the session: another takes its place.
			for _, ss := range slices.Collect(p.Sessions()) {
				_ = ss.Close()
			}
			poll.Until(t, "an update in the new session", never, func() bool {
				_ = p.ResourceUpdated(ctxFor(t), &mcp.ResourceUpdatedNotificationParams{URI: "test://one"})
				select {
				case e := <-events:
					return e.Party == "key:ada"
				case <-time.After(100 * time.Millisecond):
					return false
				}
			})
			do(t, s, subscription("ada", true))
			if len(s.ownSubscribers) != 0 {
				t.Errorf("left: %v", s.ownSubscribers)
			}
		})
	}
}

// A session that ended is opened again for those who wait to hear from it, and for
// nobody else: a server that ends sessions to be left alone is.
func TestSessionsComeBackForListenersOnly(t *testing.T) {
	t.Parallel()
	raw := &wireServer{session: "s"}
	s := newServer(t, serve(t, raw), func(o *Options) { o.Isolation = junctor.IsolationSession })
	do(t, s, toolCall("echo", `{"result":{"content":[]}}`))
	s.mu.Lock()
	all := slices.Collect(maps.Values(s.sessions))
	s.mu.Unlock()
	if len(all) != 1 {
		t.Fatalf("%d sessions", len(all))
	}
	begun := raw.hellos.Load()
	s.dropSession(all[0])
	s.reopenSession(all[0])
	if n := raw.hellos.Load() - begun; n != 0 {
		t.Errorf("opened %d times for nobody", n)
	}
	s.mu.Lock()
	s.ownSubscribers[all[0].tableKeys[0]] = map[string]int{"test://one": 1}
	s.mu.Unlock()
	s.reopenSession(all[0])
	if n := raw.hellos.Load() - begun; n != 1 {
		t.Errorf("opened %d times for a listener", n)
	}
}

// A session with one user stays that user's when callers stop sharing.
func TestSessionsAreAdopted(t *testing.T) {
	t.Parallel()
	s := newServer(t, newPeer().legacy(t, nil))
	call := func(who string) {
		req := toolCall("echo", `{}`)
		req.Principal = &junctor.Principal{Tenant: "default", Issuer: "key", Subject: who}
		req.Caller.Capabilities = []byte(everyone)
		do(t, s, req)
	}
	call("ada")
	sessions := s.State().Sessions
	s.isolateClients("to see")
	call("ada")
	if n := s.State().Sessions; n != sessions {
		t.Errorf("%d sessions, had %d", n, sessions)
	}
	call("bob")
	if n := s.State().Sessions; n != sessions+1 {
		t.Errorf("%d sessions with another caller, had %d", n, sessions)
	}
}
