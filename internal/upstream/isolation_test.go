//go:build unix

package upstream

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

func TestWhoSharesASession(t *testing.T) {
	t.Parallel()
	modernCaller := func(party, name string) *catalog.Request {
		req := callerOf(party, "")
		req.Caller.Info = []byte(`{"name":"` + name + `"}`)
		return req
	}
	asking := callerOf("a", "1")
	asking.Caller.Capabilities = []byte(`{"elicitation":{}}`)
	callers := []*catalog.Request{
		callerOf("a", "1"), callerOf("a", "1"), callerOf("a", "2"), callerOf("b", "3"),
		modernCaller("a", "x"), modernCaller("a", "x"), modernCaller("a", "y"), modernCaller("b", "x"), asking,
	}
	for isolation, want := range map[junctor.Isolation]int{"": 2, junctor.IsolationShared: 2, junctor.IsolationUser: 3, junctor.IsolationSession: 7} {
		t.Run(string(isolation), func(t *testing.T) {
			t.Parallel()
			s := newServer(t, newPeer().legacy(t, nil), func(o *Options) { o.Isolation = isolation })
			for _, req := range callers {
				do(t, s, req)
			}
			if got := s.State().Sessions; got != want {
				t.Errorf("%d sessions, want %d", got, want)
			}
			s.EndSession("1")
			s.EndSession("") // nobody's
			left := want
			if isolation == junctor.IsolationSession {
				left -= 2 // with elicitation and without
			}
			poll.Until(t, fmt.Sprintf("%d sessions", left), never, func() bool { return s.State().Sessions == left })
		})
	}
	// What keeps nothing between requests needs no session at all.
	s := newServer(t, newPeer().modern(t), func(o *Options) { o.Isolation = junctor.IsolationSession })
	for _, req := range callers {
		do(t, s, req)
	}
	if got := s.State().Sessions; got != 1 {
		t.Errorf("%d links to a modern server", got)
	}
}

// When all sessions that a server may have are in use, the next caller is told;
// one that nobody uses gives way.
func TestSessionsAreBounded(t *testing.T) {
	t.Parallel()
	p := newPeer()
	entered, leave := make(chan struct{}), make(chan struct{})
	p.AddTool(&mcp.Tool{Name: "hold", InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		entered <- struct{}{}
		select {
		case <-leave:
		case <-ctx.Done():
		}
		return text("held"), nil
	})
	s := newServer(t, p.legacy(t, nil), func(o *Options) { o.Isolation, o.MaxSessions = junctor.IsolationUser, 2 })
	held := make(chan error, 2)
	hold := func(party string) {
		req := callerOf(party, "")
		req.Name = "hold"
		go func() {
			_, err := s.Do(ctxFor(t), req, &notes{})
			held <- err
		}()
		<-entered
	}
	for i := range 5 { // each takes the place of another
		do(t, s, callerOf(fmt.Sprint("idle", i), ""))
	}
	hold("a")
	hold("b")
	_, err := s.Do(ctxFor(t), callerOf("c", ""), &notes{})
	if e := junctor.AsError(err); e == nil || e.Code != junctor.CodeUnavailable || e.RetryAfter <= 0 || !strings.Contains(e.Message, "max_sessions") {
		t.Errorf("a third session where two may be: %v", err)
	}
	leave <- struct{}{}
	if err := <-held; err != nil {
		t.Error(err)
	}
	do(t, s, callerOf("c", ""))
	leave <- struct{}{}
	if err := <-held; err != nil {
		t.Errorf("a session that was in use gave way: %v", err)
	}
}

// A command is not started to be followed: when its last client is gone, so is
// its last process, whatever woke the follower meanwhile.
func TestNobodyStartsAProcess(t *testing.T) {
	t.Parallel()
	r := newRig(t, "peer")
	r.Isolation = junctor.IsolationSession
	s := r.server(t, false)
	s.Watch(func(catalog.Event) {})
	do(t, s, callerOf("a", "1"))
	poll.Until(t, "a fresh list and one session", never, func() bool { return s.isOfferFresh() && s.State().Sessions == 1 })
	s.EndSession("1")
	poll.Until(t, "the processes to end", never, func() bool { return s.State().Processes == 0 })
	for range 20 {
		s.wakeUp()
		if err := s.followSession(t.Context()); !isLinkOver(err) {
			t.Fatalf("attend: %v", err)
		}
	}
	if n := len(pids(t, r.roll)); n != 1 || s.State().Processes != 0 {
		t.Errorf("%d processes were started, %d live", n, s.State().Processes)
	}
	do(t, s, callerOf("a", "2")) // use starts it
}
