package upstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// ways are all ways to reach a server over HTTP.
func ways() map[string]func(testing.TB, *peerServer) string {
	return map[string]func(testing.TB, *peerServer) string{
		"legacy": func(tb testing.TB, p *peerServer) string { tb.Helper(); return p.legacy(tb, nil) },
		"legacy JSON": func(tb testing.TB, p *peerServer) string {
			tb.Helper()
			return p.legacy(tb, &mcp.StreamableHTTPOptions{JSONResponse: true})
		},
		"resumable": func(tb testing.TB, p *peerServer) string {
			tb.Helper()
			return p.legacy(tb, &mcp.StreamableHTTPOptions{EventStore: mcp.NewMemoryEventStore(nil)})
		},
		"modern": func(tb testing.TB, p *peerServer) string { tb.Helper(); return p.modern(tb) },
		"sse":    func(tb testing.TB, p *peerServer) string { tb.Helper(); return p.sse(tb) },
	}
}

func TestEveryOperationOverEveryWay(t *testing.T) {
	t.Parallel()
	for name, way := range ways() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, way(t, newPeer()))
			var passed []string
			report, err := s.Probe(junctor.OnStep(ctxFor(t), func(step string) { passed = append(passed, step) }))
			if want := []string{"address", "http", "authentication", "protocol", "list"}; err != nil || !slices.Equal(passed, want) || len(report.Passed) != len(want) {
				t.Errorf("steps %v, %v, %v", passed, report.Passed, err)
			}
			offer, err := s.Offer(ctxFor(t))
			if err != nil {
				t.Fatal(err)
			}
			if len(offer.Tools) != 8 || len(offer.Resources) != 1 || len(offer.Templates) != 1 || len(offer.Prompts) != 1 ||
				!offer.Completions || !offer.Subscribe || !offer.Logging || offer.Instructions != "be kind" {
				t.Errorf("offer: %+v", offer)
			}
			if got := textOf(t, do(t, s, toolCall("echo", `{"a": 1.10}`))); got != `{"a": 1.10}` && got != `{"a":1.10}` {
				t.Errorf("echo gave %s", got)
			}
			if res := do(t, s, toolCall("fail", `{}`)); !res.IsError {
				t.Errorf("a failed tool is no error: %s", res.Body)
			}
			res := do(t, s, &catalog.Request{Kind: junctor.KindResource, Name: "test://one", Params: []byte(`{"uri":"peer+test://one"}`)})
			if !strings.Contains(string(res.Body), `"content"`) || strings.Contains(string(res.Body), "resultType") || strings.Contains(string(res.Body), "serverInfo") {
				t.Errorf("resource: %s", res.Body)
			}
			res = do(t, s, &catalog.Request{Kind: junctor.KindPrompt, Name: "greet", Params: []byte(`{"name":"peer__greet","arguments":{"who":"you"}}`)})
			if !strings.Contains(string(res.Body), `hello you`) {
				t.Errorf("prompt: %s", res.Body)
			}
			res = do(t, s, &catalog.Request{Kind: junctor.KindCompletion, Name: "greet", Params: []byte(`{"ref":{"type":"ref/prompt","name":"peer__greet"},"argument":{"name":"who","value":"y"}}`)})
			if !strings.Contains(string(res.Body), `greet:y`) {
				t.Errorf("completion: %s", res.Body)
			}
			_, err = s.Do(ctxFor(t), &catalog.Request{Kind: junctor.KindResource, Name: "test://t/none", Params: []byte(`{"uri":"x"}`)}, &notes{})
			if junctor.CodeOf(err) != junctor.CodeNotFound {
				t.Errorf("a resource that is not there: %v", err)
			}
			_, err = s.Do(ctxFor(t), toolCall("nothing", `{}`), &notes{})
			if e, ok := errors.AsType[*wire.Error](err); !ok || e.Code != wire.CodeInvalidParams {
				t.Errorf("an unknown tool: %v", err)
			}
			st := s.State()
			if !st.Connected || st.Tools != 8 || st.ServerName != "peer" || st.ServerVersion != "7" || st.Era == "" || (st.Era == "modern") != (name == "modern") || (st.Transport == TransportSSE) != (name == "sse") {
				t.Errorf("state: %+v", st)
			}
		})
	}
}

func TestNotesReachTheirCaller(t *testing.T) {
	t.Parallel()
	for name, way := range ways() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, way(t, newPeer()))
			s.Watch(func(catalog.Event) {})
			if _, err := s.Offer(ctxFor(t)); err != nil {
				t.Fatal(err)
			}
			if name == "legacy JSON" {
				t.Skip("such a server sends notes on its own stream, in no order with the answer")
			}
			for range 20 {
				var heard notes
				req := toolCall("progress", `{}`)
				req.Caller.Progress = true
				if _, err := s.Do(ctxFor(t), req, &heard); err != nil {
					t.Fatal(err)
				}
				heard.mu.Lock()
				if got := strings.Join(heard.progress, ""); got != `{"progress":1,"total":3}{"progress":2,"total":3}{"progress":3,"total":3}` {
					t.Fatalf("progress: %s", got)
				}
				heard.mu.Unlock()
			}
			for level, want := range map[string]int{"": 0, "error": 1, "debug": 2} {
				var heard notes
				req := toolCall("log", `{}`)
				req.Caller.LogLevel = level
				if _, err := s.Do(ctxFor(t), req, &heard); err != nil {
					t.Fatal(err)
				}
				heard.mu.Lock()
				if len(heard.logs) != want {
					t.Errorf("at level %q: %v", level, heard.logs)
				}
				heard.mu.Unlock()
			}
		})
	}
}

func TestCancelReachesTheServer(t *testing.T) {
	t.Parallel()
	for name, way := range ways() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPeer()
			s := newServer(t, way(t, p))
			for _, caps := range []string{"", everyone} {
				ctx, cancel := context.WithCancel(ctxFor(t))
				req := toolCall("wait", `{}`)
				req.Caller.Capabilities = []byte(caps)
				go func() {
					<-p.running
					cancel()
				}()
				if _, err := s.Do(ctx, req, &notes{}); junctor.CodeOf(err) != junctor.CodeCanceled {
					t.Errorf("cancelled call: %v", err)
				}
				select {
				case <-p.cancelled:
				case <-time.After(never):
					t.Fatal("the server was not told")
				}
			}
		})
	}
}

func TestLegacyServerAsks(t *testing.T) {
	t.Parallel()
	for name, way := range ways() {
		if name == "modern" {
			continue // such a server cannot
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, way(t, newPeer()))
			req := toolCall("elicit", `{}`)
			req.Caller.Capabilities = []byte(everyone)
			res := do(t, s, req)
			if !res.Input || s.State().ParkedCalls != 1 {
				t.Fatalf("not parked: %s", res.Body)
			}
			res = do(t, s, retry(req, res, func(_, method string) string {
				if method != wire.MethodElicitationCreate {
					t.Errorf("asked %s", method)
				}
				return `{"action":"accept","content":{"n":"Ada"}}`
			}))
			if got := textOf(t, res); got != "accept Ada" {
				t.Errorf("got %q", got)
			}
			// Three rounds.
			req = toolCall("rounds", `{}`)
			req.Caller.Capabilities = []byte(everyone)
			res = do(t, s, req)
			for i := range 3 {
				if !res.Input {
					t.Fatalf("round %d: %s", i, res.Body)
				}
				res = do(t, s, retry(req, res, func(string, string) string { return fmt.Sprintf(`{"action":"accept","content":{"n":"%d"}}`, i) }))
			}
			if got := textOf(t, res); got != "012" {
				t.Errorf("rounds gave %q", got)
			}
			// Two at once, gathered, and an answer left out is asked for again.
			req = toolCall("everything", `{}`)
			req.Caller.Capabilities = []byte(everyone)
			res = do(t, s, req)
			answers := map[string]string{
				wire.MethodSamplingCreateMessage: `{"role":"assistant","model":"m","content":{"type":"text","text":"hello"}}`,
				wire.MethodRootsList:             `{"roots":[{"uri":"file:///r"}]}`,
			}
			for round := 0; res.Input && round < 4; round++ {
				res = do(t, s, retry(req, res, func(_, method string) string { return answers[method] }))
			}
			if got := textOf(t, res); got != "hello file:///r" {
				t.Errorf("everything gave %q", got)
			}
			if st := s.State(); st.ParkedCalls != 0 {
				t.Errorf("%d calls are parked", st.ParkedCalls)
			}
			// Who declares nothing is not asked.
			if res, err := s.Do(ctxFor(t), toolCall("elicit", `{}`), &notes{}); err == nil || !strings.Contains(err.Error(), "elicitation") {
				t.Errorf("asked a client that cannot be asked: %s, %v", res.Body, err)
			}
		})
	}
}

// What a server says while its caller is away to answer it comes with the rest.
func TestNotesWhileTheCallerAnswers(t *testing.T) {
	t.Parallel()
	p := newPeer()
	told := make(chan struct{})
	p.AddTool(&mcp.Tool{Name: "talk", InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		say := func(n float64) {
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: n})
		}
		say(1)
		var asking sync.WaitGroup
		asking.Go(func() {
			_, _ = r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "?", RequestedSchema: map[string]any{"type": "object"}})
		})
		select {
		case <-told: // the caller has been told that it is asked
			say(2)
			say(3)
		case <-ctx.Done():
		}
		asking.Wait()
		return text("done"), nil
	})
	s := newServer(t, p.legacy(t, nil))
	req := toolCall("talk", `{}`)
	req.Caller.Capabilities, req.Caller.Progress = []byte(everyone), true
	var heard notes
	res, err := s.Do(ctxFor(t), req, &heard)
	if err != nil || !res.Input {
		t.Fatalf("%s, %v", res.Body, err)
	}
	close(told)
	if res, err = s.Do(ctxFor(t), retry(req, res, func(string, string) string { return `{"action":"decline"}` }), &heard); err != nil || res.Input {
		t.Fatalf("%s, %v", res.Body, err)
	}
	if want := []string{`{"progress":1}`, `{"progress":2}`, `{"progress":3}`}; !slices.Equal(heard.progress, want) {
		t.Errorf("heard %q", heard.progress)
	}
}

func TestAnswersLeftOutAreAskedAgain(t *testing.T) {
	t.Parallel()
	s := newServer(t, newPeer().legacy(t, nil), func(o *Options) { o.Timeouts.Gather = 200 * time.Millisecond })
	req := toolCall("everything", `{}`)
	req.Caller.Capabilities = []byte(everyone)
	res := do(t, s, req)
	n := 0
	for range wire.Members(wire.Get(res.Body, "inputRequests")) {
		n++
	}
	if n != 2 {
		t.Fatalf("two questions were not asked together: %s", res.Body)
	}
	answers := map[string]string{
		wire.MethodSamplingCreateMessage: `{"role":"assistant","model":"m","content":{"type":"text","text":"hello"}}`,
		wire.MethodRootsList:             `{"roots":[{"uri":"file:///r"}]}`,
	}
	next := retry(req, res, func(_, method string) string { return answers[method] })
	whole := next.Input.Responses
	next.Input.Responses = nil
	again := do(t, s, next)
	if !again.Input || string(wire.Get(again.Body, "inputRequests")) != string(wire.Get(res.Body, "inputRequests")) {
		t.Fatalf("not asked again: %s", again.Body)
	}
	next = retry(req, again, func(_, method string) string { return answers[method] })
	if string(next.Input.Responses) != string(whole) {
		t.Errorf("other keys: %s", next.Input.Responses)
	}
	if got := textOf(t, do(t, s, next)); got != "hello file:///r" {
		t.Errorf("got %q", got)
	}
	if _, err := s.Do(ctxFor(t), next, &notes{}); junctor.CodeOf(err) != junctor.CodeInvalid {
		t.Errorf("a state used twice: %v", err)
	}
}

func TestModernServerAsks(t *testing.T) {
	t.Parallel()
	p := newPeer()
	p.addMRTR()
	s := newServer(t, p.modern(t))
	req := toolCall("mrtr", `{}`)
	req.Caller.Capabilities = []byte(everyone)
	res := do(t, s, req)
	if !res.Input || wire.Get(wire.Get(res.Body, "inputRequests"), "first-key") == nil || wire.Get(res.Body, "resultType") != nil {
		t.Fatalf("first round: %s", res.Body)
	}
	res = do(t, s, retry(req, res, func(string, string) string { return `{"action":"accept"}` }))
	if !res.Input || wire.Get(wire.Get(res.Body, "inputRequests"), "second-key") == nil {
		t.Fatalf("second round: %s", res.Body)
	}
	res = do(t, s, retry(req, res, func(string, string) string { return `{"action":"accept"}` }))
	if got := textOf(t, res); got != "state two, 1 answers" {
		t.Errorf("got %q", got)
	}
}

func TestListsAreReadAgainWhenTheyChange(t *testing.T) {
	t.Parallel()
	for name, way := range ways() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPeer()
			s := newServer(t, way(t, p))
			events := make(chan catalog.Event, 16)
			s.Watch(func(e catalog.Event) { events <- e })
			first, err := s.Offer(ctxFor(t))
			if err != nil {
				t.Fatal(err)
			}
			if again, _ := s.Offer(ctxFor(t)); again != first {
				t.Error("the same list is another offer")
			}
			p.AddTool(&mcp.Tool{Name: "new", InputSchema: map[string]any{"type": "object"}}, nil)
			select {
			case e := <-events:
				if e.Kind != catalog.EventChanged {
					t.Errorf("event %+v", e)
				}
			case <-time.After(never):
				t.Fatal("nobody heard of the change")
			}
			if next, _ := s.Offer(ctxFor(t)); len(next.Tools) != 9 {
				t.Errorf("%d tools", len(next.Tools))
			}
			// What a server announces is passed on even where it changed nothing.
			p.AddTool(&mcp.Tool{Name: "new", InputSchema: map[string]any{"type": "object"}}, nil)
			select {
			case e := <-events:
				if e.Kind != catalog.EventAnnounced || e.Lists != (catalog.Lists{Tools: true}) {
					t.Errorf("event %+v", e)
				}
			case <-time.After(never):
				t.Fatal("nobody heard of the announcement")
			}
			// Resources.
			sub := &catalog.Request{Kind: junctor.KindSubscription, Name: "test://one", Params: []byte(`{}`)}
			do(t, s, sub)
			do(t, s, sub)
			if err := p.ResourceUpdated(ctxFor(t), &mcp.ResourceUpdatedNotificationParams{URI: "test://one"}); err != nil {
				t.Fatal(err)
			}
			select {
			case e := <-events:
				if e.Kind != catalog.EventUpdated || e.URI != "test://one" {
					t.Errorf("event %+v", e)
				}
			case <-time.After(never):
				t.Fatal("nobody heard of the update")
			}
			end := *sub
			end.Unsubscribe = true
			do(t, s, &end)
			do(t, s, &end)
		})
	}
}

// A server that has just been added is followed from then on, and not only once
// its list is old.
func TestAddedServersAreFollowed(t *testing.T) {
	t.Parallel()
	for name, way := range ways() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPeer()
			s := newServer(t, way(t, p))
			if _, err := s.Connect(ctxFor(t)); err != nil {
				t.Fatal(err)
			}
			s.Watch(func(catalog.Event) {})
			p.AddTool(&mcp.Tool{Name: "new", InputSchema: map[string]any{"type": "object"}}, nil)
			poll.Until(t, "the new tool in the offer", never, func() bool {
				o, err := s.Offer(ctxFor(t))
				return err == nil && slices.ContainsFunc(o.Tools, func(d catalog.ToolDef) bool { return d.Name == "new" })
			})
		})
	}
}

func TestEndedSessionIsOpenedAgain(t *testing.T) {
	t.Parallel()
	p := newPeer()
	s := newServer(t, p.legacy(t, nil))
	do(t, s, toolCall("echo", `{}`))
	for ss := range p.Sessions() {
		_ = ss.Close()
	}
	// The server no longer knows the session: 404, and nothing ran.
	req := toolCall("echo", `{"n":1}`)
	req.Timing = &junctor.Timing{Since: time.Now()}
	if got := textOf(t, do(t, s, req)); got != `{"n":1}` {
		t.Errorf("got %q", got)
	}
	timing := req.Timing
	if len(timing.Failed) != 1 || timing.Failed[0].Took <= 0 || timing.Connected < timing.Failed[0].Took || timing.Answered <= timing.Connected {
		t.Errorf("the time went %+v", timing)
	}
}

// A call that comes while its server is taken away opens nothing that nobody would
// close, and is told to try again: the server may have been changed, and be back.
func TestCallsAfterClose(t *testing.T) {
	t.Parallel()
	for _, modern := range []bool{true, false} {
		raw := &wireServer{modern: modern}
		s := newServer(t, serve(t, raw))
		s.Close()
		_, err := s.Do(ctxFor(t), toolCall("x", `{}`), &notes{})
		if junctor.CodeOf(err) != junctor.CodeUnavailable || !strings.Contains(fmt.Sprint(err), "was removed or changed") {
			t.Errorf("%v", err)
		}
		if n := s.State().Sessions; n != 0 || len(raw.methods) != 0 {
			t.Errorf("%d sessions, the server got %q", n, raw.methods)
		}
	}
}
