package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/testkit/fault"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/internal/wire"
)

func TestEveryFaultEndsInTime(t *testing.T) {
	t.Parallel()
	for name, way := range ways() {
		if name == "resumable" || name == "legacy JSON" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := strings.TrimPrefix(way(t, newPeer()), "http://")
			// They wait for most of their time: more at once than there are processors.
			var all sync.WaitGroup
			places := make(chan struct{}, 6)
			for _, kind := range fault.Kinds() {
				all.Go(func() {
					places <- struct{}{}
					defer func() { <-places }()
					t.Run(kind.String(), func(t *testing.T) { endsInTime(t, name, target, kind) })
				})
			}
			all.Wait()
		})
	}
}

// endsInTime has a server that is reached in a way fail in one way, and be well
// again.
func endsInTime(t *testing.T, way, target string, kind fault.Kind) {
	t.Helper()
	proxy := fault.New(t, target)
	s := newServer(t, proxy.URL, func(o *Options) { o.Timeouts.Connect = time.Second })
	poll.Until(t, "a first call", never, func() bool { // a busy machine may need a second try
		_, err := s.Do(ctxFor(t), toolCall("echo", `{}`), &notes{})
		return err == nil
	})
	proxy.Set(kind)
	for late, calls := 0, 2; calls > 0; calls-- {
		ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
		begun := time.Now()
		_, err := s.Do(ctx, toolCall("echo", `{"some":"arguments that make it longer than a few bytes"}`), &notes{})
		cancel()
		if took := time.Since(begun); took > 1500*time.Millisecond {
			// A busy machine is late now and then; who does not keep his time is
			// late always.
			if late++; late == 8 {
				t.Errorf("it took %v", took)
				break
			}
			calls++
		}
		switch code := junctor.CodeOf(err); code {
		case "", junctor.CodeTimeout, junctor.CodeUpstream, junctor.CodeUnreachable, junctor.CodeUnavailable, junctor.CodeTooLarge:
		default:
			t.Errorf("code %s: %v", code, err)
		}
	}
	proxy.Set(fault.None)
	if way == "sse" || kind == fault.EndlessSSE {
		return // the breaker may still be open
	}
	poll.Until(t, "a call to the server that is back", never, func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_, err := s.Do(ctx, toolCall("echo", `{}`), &notes{})
		return err == nil
	})
}

func TestDeadServerKeepsItsList(t *testing.T) {
	t.Parallel()
	proxy := fault.New(t, strings.TrimPrefix(newPeer().legacy(t, nil), "http://"))
	s := newServer(t, proxy.URL, func(o *Options) { o.TTL = time.Millisecond })
	first, err := s.Offer(ctxFor(t))
	if err != nil {
		t.Fatal(err)
	}
	proxy.Set(fault.Refuse)
	if again, err := s.Offer(ctxFor(t)); err != nil || again != first {
		t.Errorf("%v", err)
	}
	if _, err := s.Do(ctxFor(t), toolCall("echo", `{}`), &notes{}); junctor.CodeOf(err) != junctor.CodeUnreachable {
		t.Errorf("a call to a dead server: %v", err)
	}
}

func TestServerThatIsKnownAndComesBack(t *testing.T) {
	t.Parallel()
	proxy := fault.New(t, strings.TrimPrefix(newPeer().modern(t), "http://"))
	proxy.Set(fault.Refuse)
	s := newServer(t, proxy.URL, func(o *Options) { o.KnownOffer = &catalog.Offer{} })
	events := make(chan catalog.Event, 8)
	s.Watch(func(e catalog.Event) { events <- e })
	if o, err := s.Offer(ctxFor(t)); err != nil || len(o.Tools) != 0 {
		t.Fatalf("%v %v", o, err)
	}
	proxy.Set(fault.None)
	select {
	case <-events:
	case <-time.After(never):
		t.Fatal("nobody heard that the server is back")
	}
	if o, _ := s.Offer(ctxFor(t)); len(o.Tools) != 8 {
		t.Errorf("%d tools", len(o.Tools))
	}
}

func TestListIsReadAgainInTime(t *testing.T) {
	t.Parallel()
	raw := &wireServer{tools: `{"name":"a"}`}
	var second atomic.Bool
	s := newServer(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if second.Load() {
			(&wireServer{tools: `{"name":"a"},{"name":"b"}`}).ServeHTTP(w, r)
			return
		}
		raw.ServeHTTP(w, r)
	})), func(o *Options) { o.TTL = 50 * time.Millisecond })
	events := make(chan catalog.Event, 8)
	s.Watch(func(e catalog.Event) { events <- e })
	if _, err := s.Offer(ctxFor(t)); err != nil {
		t.Fatal(err)
	}
	second.Store(true)
	select {
	case <-events:
	case <-time.After(never):
		t.Fatal("the list was not read again")
	}
	if o, _ := s.Offer(ctxFor(t)); len(o.Tools) != 2 {
		t.Errorf("%d tools", len(o.Tools))
	}
}

func TestIdenticalServersOfferTheSame(t *testing.T) {
	t.Parallel()
	var first *catalog.Offer
	for name, way := range ways() {
		o, err := newServer(t, way(t, newPeer())).Offer(ctxFor(t))
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = o
		}
		for i := range o.Tools {
			if o.Tools[i].Name != first.Tools[i].Name || string(o.Tools[i].JSON) != string(first.Tools[i].JSON) {
				t.Errorf("%s: tool %d is %s", name, i, o.Tools[i].JSON)
			}
		}
	}
}

func TestSessionsAreShared(t *testing.T) {
	t.Parallel()
	p := newPeer()
	s := newServer(t, p.legacy(t, nil))
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			req := toolCall("echo", fmt.Sprintf(`{"i":%d}`, i))
			req.Principal = &junctor.Principal{Subject: fmt.Sprint(i)}
			if got := textOf(t, do(t, s, req)); got != fmt.Sprintf(`{"i":%d}`, i) {
				t.Errorf("caller %d got %s", i, got)
			}
		})
	}
	wg.Wait()
	count := 0
	for range p.Sessions() {
		count++
	}
	if count != 1 {
		t.Errorf("%d sessions for callers that share one", count)
	}
	req := toolCall("echo", `{}`)
	req.Caller.Capabilities = []byte(`{"elicitation":{}}`)
	do(t, s, req)
	if n := s.State().Sessions; n != 2 {
		t.Errorf("%d sessions", n)
	}
}

func TestQuestionThatFitsSeveralCallsIsRefused(t *testing.T) {
	t.Parallel()
	p := newPeer()
	both, answered := make(chan struct{}), make(chan struct{})
	var refused atomic.Int64
	var running atomic.Int64
	p.AddTool(&mcp.Tool{Name: "ask", InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if running.Add(1) == 2 {
			close(both)
		}
		<-both
		_, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "?", RequestedSchema: map[string]any{"type": "object"}})
		if refused.Add(1) == 2 {
			close(answered) // until then both are under way
		}
		select {
		case <-answered:
		case <-ctx.Done():
		}
		return text("%v", err), nil
	})
	stored := make(chan string, 8)
	s := newServer(t, p.sse(t), func(o *Options) {
		o.Transport = TransportSSE
		o.OnIsolated = func(why string) { stored <- why }
	})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			req := toolCall("ask", `{}`)
			req.Caller.Capabilities = []byte(everyone)
			if res := do(t, s, req); res.Input || !strings.Contains(textOf(t, res), "several calls") {
				t.Errorf("asked one of two: %s", res.Body)
			}
		})
	}
	wg.Wait()
	if st := s.State(); st.IsolationReason == "" || st.Isolation != junctor.IsolationSession {
		t.Fatalf("callers still share: %+v", st)
	}
	if why := <-stored; why != s.State().IsolationReason {
		t.Errorf("stored %q", why)
	}
	// From now on each client has a link of its own, and both calls of one can
	// be asked.
	running.Store(0)
	both = make(chan struct{})
	for range 2 {
		wg.Go(func() {
			req := toolCall("ask", `{}`)
			req.Caller.Capabilities, req.Caller.Session = []byte(everyone), "one"
			if res := do(t, s, req); !res.Input {
				t.Errorf("not asked: %s", res.Body)
			}
		})
	}
	wg.Wait()
}

// TestClientsOfOneNameAreNotOneClient has two clients without sessions, of one
// principal, that call themselves the same, use a server that has a link for each
// client: neither is asked what the other's call is asked.
func TestClientsOfOneNameAreNotOneClient(t *testing.T) {
	t.Parallel()
	p := newPeer()
	both := make(chan struct{})
	var running atomic.Int64
	p.AddTool(&mcp.Tool{Name: "ask", InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var in struct{ Who string }
		_ = json.Unmarshal(r.Params.Arguments, &in)
		if running.Add(1) == 2 {
			close(both)
		}
		<-both
		if in.Who == "silent" { // it is under way until the other has asked
			<-ctx.Done()
			return nil, ctx.Err()
		}
		_, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "for " + in.Who, RequestedSchema: map[string]any{"type": "object"}})
		return text("%v", err), nil
	})
	s := newServer(t, p.sse(t), func(o *Options) { o.Transport, o.Isolation = TransportSSE, junctor.IsolationSession })
	as := func(who string) *catalog.Request {
		req := toolCall("ask", `{"who":"`+who+`"}`)
		req.Principal = &junctor.Principal{Tenant: "default", Issuer: "key", Subject: "a"}
		req.Caller.Protocol, req.Caller.Capabilities, req.Caller.Info = wire.ModernVersion, []byte(everyone), []byte(`{"name":"editor","version":"1"}`)
		return req
	}
	ctx, cancel := context.WithCancel(ctxFor(t))
	defer cancel()
	other := make(chan catalog.Result, 1)
	go func() {
		res, _ := s.Do(ctx, as("silent"), &notes{})
		other <- res
	}()
	res := do(t, s, as("asking"))
	if res.Input || !strings.Contains(textOf(t, res), "several calls") {
		t.Errorf("a call that cannot be told apart was asked: %s", res.Body)
	}
	cancel()
	if got := <-other; got.Input {
		t.Errorf("the other client was asked: %s", got.Body)
	}
}

// TestOneTimeoutIsNoFailureOfTheServer holds that a server stays well when one call
// of a slow tool is given up, and does not when none is answered.
func TestOneTimeoutIsNoFailureOfTheServer(t *testing.T) {
	t.Parallel()
	p := newPeer()
	p.AddTool(&mcp.Tool{Name: "hang", InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	s := newServer(t, p.legacy(t, nil))
	hang := func() {
		ctx, cancel := context.WithTimeout(ctxFor(t), 20*time.Millisecond)
		defer cancel()
		if _, err := s.Do(ctx, toolCall("hang", `{}`), &notes{}); junctor.CodeOf(err) != junctor.CodeTimeout {
			t.Errorf("it ends with %v", err)
		}
	}
	do(t, s, toolCall("echo", `{}`))
	for range failuresToOpen - 1 {
		hang()
		if st := s.State(); !st.Connected || st.LastError != "" {
			t.Fatalf("after a time-out: %+v", st)
		}
	}
	hang()
	if st := s.State(); st.Connected || st.LastError == "" {
		t.Errorf("after %d in a row: %+v", failuresToOpen, st)
	}
}

func TestNothingIsLeftBehind(t *testing.T) {
	// Not parallel: it counts goroutines.
	for _, way := range []string{"legacy", "sse", "modern"} {
		t.Run(way, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			p := newPeer()
			var handler http.Handler = mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return p.Server }, nil)
			if way != "sse" {
				handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return p.Server }, &mcp.StreamableHTTPOptions{Stateless: way == "modern", PropagateRequestCancellation: true})
			}
			hs := httptest.NewServer(handler)
			s := newServer(t, hs.URL, func(o *Options) {
				o.Timeouts.Park = 300 * time.Millisecond
				if way == "sse" {
					o.Isolation = junctor.IsolationSession // else its calls cannot be told apart
				}
			})
			s.Watch(func(catalog.Event) {})
			if _, err := s.Offer(ctxFor(t)); err != nil {
				t.Fatal(err)
			}
			ask := func() {
				req := toolCall("elicit", `{}`)
				req.Caller.Capabilities, req.Caller.Session = []byte(everyone), "one"
				if res := do(t, s, req); !res.Input {
					t.Fatalf("not parked: %s", res.Body)
				}
			}
			if way != "modern" {
				for range 20 {
					ask()
				}
				poll.Until(t, "parked calls to lapse", never, func() bool { return s.State().ParkedCalls == 0 }) // they lapse
				ask()
			}
			s.Close()
			if st := s.State(); st.ParkedCalls != 0 || st.Sessions != 0 {
				t.Errorf("left: %+v", st)
			}
			for ss := range p.Sessions() {
				_ = ss.Close()
			}
			hs.CloseClientConnections()
			hs.Close()
			goleak.VerifyNone(t, before)
		})
	}
}

func TestIdleSessionsAreClosed(t *testing.T) {
	t.Parallel()
	p := newPeer()
	s := newServer(t, p.legacy(t, nil), func(o *Options) { o.Timeouts.Idle = 50 * time.Millisecond })
	do(t, s, toolCall("echo", `{}`))
	poll.Until(t, "our side of the session to end", never, func() bool { return s.State().Sessions == 0 })
	poll.Until(t, "the server's side of the session to end", never, func() bool {
		for range p.Sessions() {
			return false
		}
		return true
	})
	do(t, s, toolCall("echo", `{}`))
}

func TestProbeNamesTheStep(t *testing.T) {
	t.Parallel()
	status := func(code int) string {
		return serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }))
	}
	page := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }))
	list := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		(&wireServer{tools: `{"name":"a"}],"x":[`}).ServeHTTP(&spoil{ResponseWriter: w}, r)
	}))
	dead := serve(t, http.NotFoundHandler())
	proxy := fault.New(t, strings.TrimPrefix(dead, "http://"))
	proxy.Set(fault.Refuse)
	for _, c := range []struct {
		name, at string
		failed   Step
	}{
		{"good", newPeer().legacy(t, nil), ""},
		{"good modern", newPeer().modern(t), ""},
		{"good sse", newPeer().sse(t), ""},
		{"nobody there", proxy.URL, StepAddress},
		{"not allowed", "http://10.1.2.3/", StepAddress},
		{"no TLS", strings.Replace(page, "http:", "https:", 1), StepTLS},
		{"500", status(500), StepHTTP},
		{"401", status(401), StepAuthentication},
		{"403", status(403), StepAuthentication},
		{"404", status(404), StepProtocol},
		{"a page", page, StepProtocol},
		{"broken list", list, StepList},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			report, err := newServer(t, c.at).Probe(ctxFor(t))
			if report.Failed != c.failed || (err == nil) != (c.failed == "") {
				t.Errorf("failed at %q: %v", report.Failed, err)
			}
			if c.failed != "" && (report.Reason == "" || report.Hint == "") {
				t.Errorf("%+v", report)
			}
			if c.failed == "" && (report.State.Tools != 8 || len(report.Passed) != 5) {
				t.Errorf("%+v", report)
			}
		})
	}
}

// spoil breaks the answers to lists.
type spoil struct{ http.ResponseWriter }

func (s *spoil) Write(b []byte) (int, error) {
	if strings.Contains(string(b), `"tools":[`) {
		b = []byte("{")
	}
	return s.ResponseWriter.Write(b)
}

func TestEraIsFoundAgain(t *testing.T) {
	t.Parallel()
	var modern atomic.Bool
	modern.Store(true)
	newer, older := &wireServer{modern: true}, &wireServer{session: "s"}
	s := newServer(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case modern.Load():
			newer.ServeHTTP(w, r)
		case r.Header.Get(wire.HeaderMethod) != "":
			w.WriteHeader(http.StatusBadRequest)
		default:
			older.ServeHTTP(w, r)
		}
	})))
	do(t, s, toolCall("x", `{"result":{"content":[]}}`))
	if s.State().Era != "modern" {
		t.Errorf("%+v", s.State())
	}
	modern.Store(false) // a downgrade
	do(t, s, toolCall("x", `{"result":{"content":[]}}`))
	if st := s.State(); st.Era != "legacy" {
		t.Errorf("%+v", st)
	}
	modern.Store(true) // and back: the session is gone, and so is initialize
	older.session = ""
	poll.Until(t, "a call after the fault", never, func() bool {
		_, err := s.Do(ctxFor(t), toolCall("x", `{"result":{"content":[]}}`), &notes{})
		return err == nil
	})
}
