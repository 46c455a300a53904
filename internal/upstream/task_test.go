package upstream

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/testkit/upstreams"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// numbering is a legacy server that numbers the tasks of each session from one: ids
// that say which task is meant within their session alone.
type numbering struct {
	mu       sync.Mutex
	sessions map[string]*counted
}

type counted struct {
	says  string // what the task gives
	notes chan string
	ended bool
}

func (c *numbering) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	its := c.sessions[r.Header.Get(wire.HeaderSessionID)]
	c.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	var m wire.Message
	switch {
	case r.Method == http.MethodGet && its != nil:
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		for {
			select {
			case note := <-its.notes:
				_, _ = fmt.Fprintf(w, "data: %s\n\n", note)
				_ = http.NewResponseController(w).Flush()
			case <-r.Context().Done():
				return
			}
		}
	case m.Parse(body) != nil || m.Kind != wire.Request:
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	answer := func(result string) { _, _ = w.Write(wire.AppendResult(nil, m.ID, []byte(result))) }
	task := func(status string) string {
		return `{"taskId":"1","status":"` + status + `","createdAt":"2026-11-15T00:00:00Z","lastUpdatedAt":"2026-11-15T00:00:00Z","ttl":60000}`
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	status := wire.TaskWorking
	if its != nil && its.ended {
		status = wire.TaskCompleted
	}
	switch m.Method {
	case wire.MethodInitialize:
		id := fmt.Sprint("s", len(c.sessions))
		c.sessions[id] = &counted{notes: make(chan string, 8)}
		w.Header().Set(wire.HeaderSessionID, id)
		answer(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"c","version":"1"}}`)
	case wire.MethodToolsList:
		answer(`{"tools":[{"name":"slow","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}]}`)
	case wire.MethodToolsCall:
		its.says, _ = wire.String(wire.Get(m.Arguments, "say"))
		answer(`{"task":` + task(status) + `}`)
	case wire.MethodTasksGet:
		answer(task(status))
	case wire.MethodTasksCancel:
		_, _ = w.Write(wire.AppendError(nil, m.ID, &wire.Error{Code: wire.CodeInvalidParams, Message: "not this one"}))
	case wire.MethodTasksResult:
		answer(`{"content":[{"type":"text","text":"` + its.says + `"}]}`)
	default:
		_, _ = w.Write(wire.AppendError(nil, m.ID, &wire.Error{Code: wire.CodeMethodNotFound, Message: "what?"}))
	}
	if m.Method == wire.MethodTasksGet && !its.ended { // it was seen to work, and ends
		its.ended = true
		note := `{"jsonrpc":"2.0","method":"notifications/tasks/status","params":` + task(wire.TaskCompleted) + `}`
		its.notes <- note
		its.notes <- note // once more: it is told once
	}
}

// Tasks of two parties under one id of the server's are two tasks: each gets its own
// result, and hears of its own end.
func TestTasksOfOneID(t *testing.T) {
	t.Parallel()
	s := newServer(t, serve(t, &numbering{sessions: map[string]*counted{}}), func(o *Options) { o.Isolation = junctor.IsolationUser })
	events := make(chan catalog.Event, 64)
	s.Watch(func(e catalog.Event) {
		if e.Kind == catalog.EventTask {
			events <- e
		}
	})
	if _, err := s.Offer(ctxFor(t)); err != nil {
		t.Fatal(err)
	}
	parties := []string{"a", "b"}
	for _, party := range parties {
		req := callerOf(party, "session of "+party)
		req.Name, req.CallID, req.Caller.Tasks = "slow", "task of "+party, true
		req.Params = []byte(`{"name":"slow","arguments":{"say":"` + party + `"}}`)
		req.Arguments = wire.Get(req.Params, "arguments")
		if res := do(t, s, req); !res.Task || string(wire.Get(res.Body, "taskId")) != `"1"` {
			t.Fatalf("%s: %s", party, res.Body)
		}
	}
	on := func(party string, wait bool) string {
		req := callerOf(party, "another session")
		req.Kind, req.Name, req.Task, req.Params, req.Arguments, req.Wait = junctor.KindTask, "1", "task of "+party, nil, nil, wait
		return string(do(t, s, req).Body)
	}
	for _, party := range parties {
		if got := on(party, false); !strings.Contains(got, `"status":"working"`) {
			t.Errorf("%s: %s", party, got)
		}
	}
	// Before anybody asks for results, as a client that listens.
	told := map[string]string{}
	for range parties {
		var e catalog.Event
		select {
		case e = <-events:
		case <-time.After(never):
			t.Fatalf("only %v was told", told)
		}
		told[e.Task.ID] = e.Party + " " + e.Task.Session
		if got := wire.Get([]byte(e.Task.JSON), "taskId"); string(got) != `"`+e.Task.ID+`"` || !strings.Contains(e.Task.JSON, `"ttlMs":60000`) {
			t.Errorf("told %s", e.Task.JSON)
		}
	}
	for _, party := range parties {
		for range 2 { // and when it was seen to have ended
			if got := on(party, true); !strings.Contains(got, `"text":"`+party+`"`) {
				t.Errorf("%s got %s", party, got)
			}
		}
	}
	for _, party := range parties {
		p := junctor.Principal{Tenant: "default", Issuer: "key", Subject: party}
		if got := told["task of "+party]; got != p.ID()+" session of "+party {
			t.Errorf("the task of %s was told to %q", party, got)
		}
	}
	if len(events) > 0 {
		t.Errorf("told again: %+v", <-events)
	}
}

// A server may refuse to cancel a task. Of one that works on, the caller hears so; of
// one that has ended there is nothing left to cancel, which is no error.
func TestCancelThatIsRefused(t *testing.T) {
	t.Parallel()
	s := newServer(t, serve(t, &numbering{sessions: map[string]*counted{}}))
	if _, err := s.Offer(ctxFor(t)); err != nil {
		t.Fatal(err)
	}
	req := callerOf("a", "a session")
	req.Name, req.CallID, req.Caller.Tasks = "slow", "the task", true
	req.Params = []byte(`{"name":"slow","arguments":{}}`)
	req.Arguments = wire.Get(req.Params, "arguments")
	if res := do(t, s, req); !res.Task {
		t.Fatalf("%s", res.Body)
	}
	cancel := callerOf("a", "a session")
	cancel.Kind, cancel.Name, cancel.Task, cancel.Params, cancel.Arguments = junctor.KindTaskCancel, "1", "the task", nil, nil
	_, err := s.Do(ctxFor(t), cancel, nil)
	if own, ok := errors.AsType[*wire.Error](err); !ok || own.Code != wire.CodeInvalidParams {
		t.Errorf("while it works: %v", err)
	}
	// It ends when it is looked at.
	if res, err := s.Do(ctxFor(t), cancel, nil); err != nil || string(res.Body) != `{}` {
		t.Errorf("after its end: %s, %v", res.Body, err)
	}
}

// The life of a task is extended while its stream is being opened: the stream reads the
// end of the life under the lock. The race detector sees it if it does not.
func TestTaskLifeWhileItsStreamOpens(t *testing.T) {
	t.Parallel()
	s := newServer(t, upstreams.Tasks(t))
	req := callerOf("a", "a session")
	req.Name, req.CallID, req.Caller.Tasks = "confirm_delete", "the task", true
	req.Params = []byte(`{"name":"confirm_delete","arguments":{"filename":"f"}}`)
	req.Arguments = wire.Get(req.Params, "arguments")
	task := do(t, s, req).Body
	s.mu.Lock()
	one := s.openedTasks["the task"]
	s.mu.Unlock()
	if one == nil {
		t.Fatalf("no task was remembered: %s", task)
	}
	s.startTaskStream(one)
	for range 100 {
		if s.rememberTask(one.session, one.access, one.id, task) != one {
			t.Fatal("it was remembered as another one")
		}
	}
}

// What happens to a task while the stream that tells of it is being opened is told
// once that is open, or once somebody has asked for it.
func TestTaskEndsBeforeItsStream(t *testing.T) {
	t.Parallel()
	for name, asks := range map[string]bool{"the stream opens": false, "somebody asks": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			endsBeforeItsStream(t, asks)
		})
	}
}

func endsBeforeItsStream(t *testing.T, asks bool) {
	t.Helper()
	at, err := url.Parse(upstreams.Tasks(t))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	proxy := httputil.NewSingleHostReverseProxy(at)
	proxy.FlushInterval = -1
	s := newServer(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(wire.HeaderMethod) == wire.MethodSubscriptionsListen {
			<-ended
		}
		proxy.ServeHTTP(w, r)
	})))
	told := make(chan string, 64)
	s.Watch(func(e catalog.Event) {
		if e.Kind == catalog.EventTask {
			told <- e.Task.JSON
		}
	})
	req := callerOf("a", "a session")
	req.Name, req.CallID, req.Caller.Tasks = "confirm_delete", "the task", true
	req.Params = []byte(`{"name":"confirm_delete","arguments":{"filename":"f"}}`)
	req.Arguments = wire.Get(req.Params, "arguments")
	own, _ := wire.String(wire.Get(do(t, s, req).Body, "taskId"))
	on := func(kind junctor.Kind) *catalog.Request {
		r := callerOf("a", "a session")
		r.Kind, r.Name, r.Task, r.Params, r.Arguments = kind, own, "the task", nil, nil
		r.Caller.Tasks = true
		return r
	}
	watch := on(junctor.KindTask)
	watch.Watch = true
	do(t, s, watch)
	answer := on(junctor.KindTaskUpdate)
	answer.Input.Responses = []byte(`{"confirm":{"action":"accept","content":{"answer":"yes"}}}`)
	do(t, s, answer)
	if asks {
		defer close(ended) // the stream is not open before
		do(t, s, on(junctor.KindTask))
	} else {
		close(ended)
	}
	select {
	case got := <-told:
		if taskStatus([]byte(got)) != wire.TaskCompleted {
			t.Errorf("told %s", got)
		}
	case <-time.After(never):
		t.Error("nobody was told of its end")
	}
}
