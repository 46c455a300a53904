package a2a

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"
)

// wires are the two ways to ask for the same.
func wires() map[string]func(p *post, op, arg, body string, header ...string) reply {
	return map[string]func(p *post, op, arg, body string, header ...string) reply{
		"JSON-RPC": func(p *post, op, arg, body string, header ...string) reply {
			if body == "" {
				body = `{"id":"` + arg + `"}`
			}
			return p.send("POST", "/a2a/parrot/", `{"jsonrpc":"2.0","id":"","method":"`+op+`","params":`+body+`}`, header...)
		},
		"REST": func(p *post, op, arg, body string, header ...string) reply {
			at := map[string]string{
				"SendMessage": "POST /message:send", "SendStreamingMessage": "POST /message:stream", "GetTask": "GET /tasks/" + arg, "CancelTask": "POST /tasks/" + arg + ":cancel",
				"SubscribeToTask": "POST /tasks/" + arg + ":subscribe", "ListTasks": "GET /tasks", "GetExtendedAgentCard": "GET /extendedAgentCard",
			}[op]
			method, path, _ := strings.Cut(at, " ")
			if method == "GET" {
				body = ""
			}
			return p.send(method, "/a2a/parrot/rest"+path, body, header...)
		},
	}
}

func said(text, more string) string {
	return `{"message":{"messageId":"m-` + text + `","role":"ROLE_USER","parts":[{"text":"` + text + `"}]` + more + `}}`
}

// The rules of the protocol hold on both wires.
func TestRules(t *testing.T) {
	t.Parallel()
	for name, ask := range wires() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := open(t)
			whole := func(op, arg, body string) string {
				t.Helper()
				r := ask(p, op, arg, body)
				if r.status != http.StatusOK || strings.Contains(r.body, `"error"`) {
					t.Fatalf("%s: %d %s", op, r.status, r.body)
				}
				return r.body
			}
			fails := func(what, op, arg, body, reason string) {
				t.Helper()
				if r := ask(p, op, arg, body); !strings.Contains(r.body, `"reason":"`+reason+`"`) || !strings.Contains(r.body, `"@type":"type.googleapis.com/google.rpc.ErrorInfo"`) {
					t.Errorf("%s: want %s, got %d %s", what, reason, r.status, r.body)
				}
			}
			find := func(body string) task {
				t.Helper()
				any := decode[struct {
					Task   task
					Result struct {
						Task task
						task
					}
					task
				}](t, []byte(body))
				for _, one := range []task{any.Task, any.Result.Task, any.Result.task, any.task} {
					if one.ID != "" {
						return one
					}
				}
				t.Fatalf("no task in %s", body)
				return task{}
			}
			done := find(whole("SendMessage", "", said("hello you", "")))
			if done.Status.State != "TASK_STATE_COMPLETED" || done.text() != "Polly heard hello you" || done.ContextID == "" || done.Status.Timestamp.IsZero() {
				t.Errorf("%+v", done)
			}
			if again := find(whole("GetTask", done.ID, "")); again.text() != done.text() || len(again.History) != 1 {
				t.Errorf("%+v", again)
			}
			fails("a message to a task that has ended", "SendMessage", "", said("more", `,"taskId":"`+done.ID+`"`), "UNSUPPORTED_OPERATION")
			fails("a message to no task", "SendMessage", "", said("more", `,"taskId":"none"`), "TASK_NOT_FOUND")
			fails("getting none", "GetTask", "none", "", "TASK_NOT_FOUND")
			fails("cancelling what has ended", "CancelTask", done.ID, "", "TASK_NOT_CANCELABLE")
			fails("cancelling none", "CancelTask", "none", "", "TASK_NOT_FOUND")
			fails("watching what has ended", "SubscribeToTask", done.ID, "", "UNSUPPORTED_OPERATION")
			fails("watching none", "SubscribeToTask", "none", "", "TASK_NOT_FOUND")
			fails("a file of a kind that is not read", "SendMessage", "", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"raw":"eA==","mediaType":"image/png"}]}}`, "CONTENT_TYPE_NOT_SUPPORTED")

			again := find(whole("SendMessage", "", said("once more", `,"contextId":"`+done.ContextID+`"`)))
			if again.ContextID != done.ContextID || again.ID == done.ID {
				t.Errorf("a conversation does not go on: %+v", again)
			}
			own := find(whole("SendMessage", "", said("mine", `,"contextId":"of the client"`)))
			if own.ContextID != "of the client" {
				t.Errorf("the client's context is %q", own.ContextID)
			}
			if failed := find(whole("SendMessage", "", said("fail", ""))); failed.Status.State != "TASK_STATE_FAILED" || failed.Status.Message == nil || failed.Status.Message.Parts[0].Text != "the parrot is tired" {
				t.Errorf("%+v", failed)
			}

			var stream []map[string]json.RawMessage
			for line := range strings.SplitSeq(whole("SendStreamingMessage", "", said("three words here", "")), "\n") {
				if data, ok := strings.CutPrefix(line, "data: "); ok {
					e := decode[map[string]json.RawMessage](t, []byte(data))
					if result, ok := e["result"]; ok {
						e = decode[map[string]json.RawMessage](t, result)
					}
					stream = append(stream, e)
				}
			}
			var kinds []string
			for _, e := range stream {
				for kind := range e {
					kinds = append(kinds, kind)
				}
			}
			if want := []string{"task", "statusUpdate", "artifactUpdate", "artifactUpdate", "artifactUpdate", "statusUpdate"}; !slices.Equal(kinds, want) {
				t.Errorf("the stream is %v", kinds)
			} else if !strings.Contains(string(stream[4]["artifactUpdate"]), `"lastChunk":true`) || !strings.Contains(string(stream[5]["statusUpdate"]), "TASK_STATE_COMPLETED") {
				t.Errorf("its end: %s %s", stream[4]["artifactUpdate"], stream[5]["statusUpdate"])
			}

			quick := find(whole("SendMessage", "", strings.TrimSuffix(said("wait", ""), "}")+`,"configuration":{"returnImmediately":true}}`))
			if quick.Status.State != "TASK_STATE_SUBMITTED" && quick.Status.State != "TASK_STATE_WORKING" {
				t.Errorf("%+v", quick)
			}
			fails("a message to a task that is worked on", "SendMessage", "", said("more", `,"taskId":"`+quick.ID+`"`), "UNSUPPORTED_OPERATION")
			if gone := find(whole("CancelTask", quick.ID, "")); gone.Status.State != "TASK_STATE_CANCELED" {
				t.Errorf("%+v", gone)
			}
			fails("cancelling twice", "CancelTask", quick.ID, "", "TASK_NOT_CANCELABLE")
			list := whole("ListTasks", "", "{}")
			if strings.Contains(list, `"artifacts"`) || !strings.Contains(list, `"nextPageToken":""`) {
				t.Errorf("the list: %s", list)
			}
			if card := whole("GetExtendedAgentCard", "", "{}"); !strings.Contains(card, `"notes__write"`) || strings.Contains(card, `"securityRequirements":[{"schemes":{"key":[]`) {
				t.Errorf("the card: %s", card)
			}
			if r := ask(p, "GetExtendedAgentCard", "", "{}", "Authorization: -"); r.status != http.StatusUnauthorized {
				t.Errorf("the card without a key: %d", r.status)
			}
		})
	}
}

func TestListInPages(t *testing.T) {
	t.Parallel()
	p := open(t)
	for n := range 5 {
		p.say(fmt.Sprint("hello ", n), fmt.Sprintf(`,"contextId":"c%d"}`, n%2))
	}
	type page struct {
		Tasks               []task
		NextPageToken       string
		TotalSize, PageSize int
	}
	list := func(params string) page {
		t.Helper()
		a := p.call("ListTasks", params)
		if a.Error != nil {
			t.Fatalf("%s: %+v", params, a.Error)
		}
		return decode[page](t, a.Result)
	}
	var seen []time.Time
	for token := ""; ; {
		one := list(`{"pageSize":2,"pageToken":"` + token + `"}`)
		if one.TotalSize != 5 || one.PageSize != 2 {
			t.Errorf("%+v", one)
		}
		for _, x := range one.Tasks {
			seen = append(seen, x.Status.Timestamp)
		}
		if token = one.NextPageToken; token == "" {
			break
		}
	}
	if len(seen) != 5 || !slices.IsSortedFunc(seen, func(a, b time.Time) int { return b.Compare(a) }) {
		t.Errorf("%v", seen)
	}
	if got := list(`{"contextId":"c1"}`); len(got.Tasks) != 2 {
		t.Errorf("of a context: %d", len(got.Tasks))
	}
	if got := list(`{"status":"TASK_STATE_FAILED"}`); len(got.Tasks) != 0 {
		t.Errorf("failed: %d", len(got.Tasks))
	}
	if got := list(`{"includeArtifacts":true,"historyLength":0,"pageSize":1}`); len(got.Tasks[0].Artifacts) != 1 || got.Tasks[0].History != nil {
		t.Errorf("%+v", got.Tasks[0])
	}
	if got := list(`{"statusTimestampAfter":"2100-01-01T00:00:00Z"}`); len(got.Tasks) != 0 {
		t.Errorf("of the future: %d", len(got.Tasks))
	}
	for _, bad := range []string{`{"pageSize":101}`, `{"pageToken":"x"}`, `{"status":"DONE"}`, `{"historyLength":-1}`} {
		if a := p.call("ListTasks", bad); a.code() != -32602 {
			t.Errorf("%s: %+v", bad, a.Error)
		}
	}
}

// What one party gave an agent to do is not there for any other.
func TestOthersTasks(t *testing.T) {
	t.Parallel()
	p := open(t)
	p.publish("other")
	mine := p.say("my secret is ossifrage", `,"contextId":"c"}`)
	waits := decode[struct{ Task task }](t, p.call("SendMessage", strings.TrimSuffix(said("wait", ""), "}")+`,"configuration":{"returnImmediately":true}}`).Result).Task
	p.call("CreateTaskPushNotificationConfig", `{"taskId":"`+mine.ID+`","id":"p","url":"https://example.com/hook"}`)
	for _, id := range []string{mine.ID, waits.ID} {
		for _, method := range []string{"GetTask", "CancelTask", "SubscribeToTask"} {
			if a := p.call(method, `{"id":"`+id+`"}`, "Authorization: Bearer ben"); a.code() != -32001 || strings.Contains(a.Error.Message, "ossifrage") {
				t.Errorf("%s of another's: %+v", method, a.Error)
			}
		}
		for _, c := range []string{
			`CreateTaskPushNotificationConfig {"taskId":"` + id + `","url":"https://evil.example"}`, `ListTaskPushNotificationConfigs {"taskId":"` + id + `"}`,
			`GetTaskPushNotificationConfig {"taskId":"` + id + `","id":"p"}`, `DeleteTaskPushNotificationConfig {"taskId":"` + id + `","id":"p"}`, `SendMessage ` + said("x", `,"taskId":"`+id+`"`),
		} {
			method, params, _ := strings.Cut(c, " ")
			if a := p.call(method, params, "Authorization: Bearer ben"); a.code() != -32001 {
				t.Errorf("%s of another's: %+v", method, a)
			}
		}
	}
	if a := p.call("ListTasks", `{}`, "Authorization: Bearer ben"); !strings.Contains(string(a.Result), `"tasks":[]`) {
		t.Errorf("another's list: %s", a.Result)
	}
	if r := p.send("POST", "/a2a/other", `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"`+mine.ID+`"}}`); !strings.Contains(r.body, "-32001") {
		t.Errorf("by another agent: %s", r.body)
	}
	// The same context is another conversation: the agent knows nothing of the first.
	rows, err := p.store.For("default").AgentContext(t.Context(), "parrot", "user:ben", "c", 10)
	if err != nil || len(rows) != 0 {
		t.Errorf("%d, %v", len(rows), err)
	}
	if a := p.call("CancelTask", `{"id":"`+waits.ID+`"}`); a.Error != nil {
		t.Errorf("its owner: %+v", a.Error)
	}
}

// lines reads the events of a stream as they come.
func (p *post) lines(ctx context.Context, method, params string) <-chan string {
	p.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.web.URL+"/a2a/parrot", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`))
	ok(p, err)
	for name, value := range map[string]string{"Authorization": "Bearer ann", "Content-Type": "application/json", "A2A-Version": "1.0"} {
		r.Header.Set(name, value)
	}
	resp, err := p.web.Client().Do(r)
	ok(p, err)
	out := make(chan string, 100)
	go func() {
		defer close(out)
		defer resp.Body.Close()
		for s := bufio.NewScanner(resp.Body); s.Scan(); {
			if data, ok := strings.CutPrefix(s.Text(), "data: "); ok {
				out <- data
			}
		}
	}()
	return out
}

// Who watches sees the task first, then what all others see, in the same order,
// and a client that goes away takes nothing with it.
func TestWatching(t *testing.T) {
	t.Parallel()
	p := open(t)
	gone, leave := context.WithCancel(t.Context())
	first := p.lines(gone, "SendStreamingMessage", said("wait", ""))
	id := decode[struct{ Result struct{ Task task } }](t, []byte(<-first)).Result.Task.ID
	<-first // that it works
	leave()
	a := p.lines(t.Context(), "SubscribeToTask", `{"id":"`+id+`"}`)
	b := p.lines(t.Context(), "SubscribeToTask", `{"id":"`+id+`"}`)
	for _, s := range []<-chan string{a, b} {
		if e := <-s; !strings.Contains(e, `"task":{`) || !strings.Contains(e, `"TASK_STATE_WORKING"`) {
			t.Errorf("a stream begins with %s", e)
		}
	}
	p.call("CancelTask", `{"id":"`+id+`"}`)
	var seen [2][]string
	for i, s := range []<-chan string{a, b} {
		for e := range s {
			seen[i] = append(seen[i], e)
		}
	}
	if !slices.Equal(seen[0], seen[1]) || len(seen[0]) == 0 || !strings.Contains(seen[0][len(seen[0])-1], "TASK_STATE_CANCELED") {
		t.Errorf("%q\n%q", seen[0], seen[1])
	}
}

// Who comes at the moment at which a task is stopped sees the task as it ended:
// the front had let them in.
func TestWatchingWhatJustEnded(t *testing.T) {
	t.Parallel()
	p := open(t)
	done := p.say("hello", "}")
	a, err := p.store.PublishedAgent(t.Context(), "parrot")
	ok(t, err)
	ctx := context.WithValue(t.Context(), callerKey{}, &caller{
		principal: &junctor.Principal{Tenant: junctor.DefaultTenant, Issuer: junctor.IssuerUser, Subject: "ann", Scopes: []junctor.Scope{junctor.ScopeToolsCall}}, agent: a, version: version10,
	})
	var seen []string
	for e, err := range (&requestHandler{p.Server}).SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: a2a.TaskID(done.ID)}) {
		ok(t, err)
		one, is := e.(*a2a.Task)
		seen = append(seen, fmt.Sprint(is, " ", one.Status.State))
	}
	if want := []string{"true TASK_STATE_COMPLETED"}; !slices.Equal(seen, want) {
		t.Errorf("seen are %q", seen)
	}
	if got := p.call("SubscribeToTask", `{"id":"`+done.ID+`"}`); got.code() == 0 {
		t.Errorf("the front lets in who comes later: %s", got.Result)
	}
}

// A client that wants to be asked is; the call is made once it says yes.
func TestApprovals(t *testing.T) {
	t.Parallel()
	p := open(t)
	ask := func() task { return p.say("write", `},"metadata":{"approvals":"ask"}`) }
	waits := ask()
	if waits.Status.State != "TASK_STATE_INPUT_REQUIRED" || !strings.Contains(waits.Status.Message.Parts[0].Text, "notes__write") || p.quill.uses.Load() != 0 {
		t.Fatalf("%+v, %d uses", waits, p.quill.uses.Load())
	}
	if done := p.say("yes", `,"taskId":"`+waits.ID+`"}`); done.Status.State != "TASK_STATE_COMPLETED" || done.text() != "written" || p.quill.uses.Load() != 1 {
		t.Errorf("%+v, %d uses", done, p.quill.uses.Load())
	}
	waits = ask()
	a := p.call("SendMessage", `{"message":{"messageId":"d","role":"ROLE_USER","taskId":"`+waits.ID+`","parts":[{"data":{"approvals":{"c1":false}}}]}}`)
	if done := decode[struct{ Task task }](t, a.Result).Task; !strings.HasPrefix(done.text(), "not written") || p.quill.uses.Load() != 1 {
		t.Errorf("%+v, %d uses", done, p.quill.uses.Load())
	}
	waits = ask()
	if done := p.say("rather not today", `,"taskId":"`+waits.ID+`","contextId":"`+waits.ContextID+`"}`); !strings.HasPrefix(done.text(), "not written") || p.quill.uses.Load() != 1 {
		t.Errorf("%+v, %d uses", done, p.quill.uses.Load())
	}
	waits = ask()
	if a := p.call("SendMessage", said("yes", `,"taskId":"`+waits.ID+`","contextId":"another"`)); a.code() != -32602 {
		t.Errorf("another context: %+v", a)
	}
	if a := p.call("CancelTask", `{"id":"`+waits.ID+`"}`); !strings.Contains(string(a.Result), "TASK_STATE_CANCELED") {
		t.Errorf("%+v", a)
	}
	if p.say("write", "}"); p.quill.uses.Load() != 2 {
		t.Errorf("who does not want to be asked: %d uses", p.quill.uses.Load())
	}
}

// A task outlives the process; what was worked on when it died has failed.
func TestRestart(t *testing.T) {
	t.Parallel()
	p := open(t)
	done := p.say("hello", "}")
	works := decode[struct{ Task task }](t, p.call("SendMessage", strings.TrimSuffix(said("wait", ""), "}")+`,"configuration":{"returnImmediately":true}}`).Result).Task
	// As kill -9 leaves it: a row that says that the replica works on it.
	row, err := p.store.For("default").AgentTask(t.Context(), "parrot", "user:ann", works.ID)
	ok(t, err)
	p.end()
	p.start()
	row2, err := p.store.For("default").AgentTask(t.Context(), "parrot", "user:ann", works.ID)
	ok(t, err)
	if stopped := decode[task](t, p.call("GetTask", `{"id":"`+works.ID+`"}`).Result); stopped.Status.State != "TASK_STATE_FAILED" || !strings.Contains(stopped.Status.Message.Parts[0].Text, "stopped") {
		t.Errorf("after a stop: %+v", stopped)
	}
	row.Version = row2.Version
	ok(t, p.store.For("default").UpdateAgentTask(t.Context(), &row))
	p.end()
	p.start()
	if lost := decode[task](t, p.call("GetTask", `{"id":"`+works.ID+`"}`).Result); lost.Status.State != "TASK_STATE_FAILED" || !strings.Contains(lost.Status.Message.Parts[0].Text, "stopped during this task") {
		t.Errorf("after a kill: %+v", lost)
	}
	if again := decode[task](t, p.call("GetTask", `{"id":"`+done.ID+`"}`).Result); again.text() != "Polly heard hello" {
		t.Errorf("%+v", again)
	}
}

// The card is for everybody, says what it is for how long, and is not sent twice.
func TestCard(t *testing.T) {
	t.Parallel()
	p := open(t)
	for _, path := range []string{"/.well-known/agent-card.json", "/a2a/parrot/.well-known/agent-card.json"} {
		r := p.send("GET", path, "", "Authorization: -", "A2A-Version: -")
		tag := r.header.Get("ETag")
		if r.status != 200 || tag == "" || !strings.Contains(r.header.Get("Cache-Control"), "max-age=") || r.header.Get("Access-Control-Allow-Origin") != "" || strings.Contains(r.body, "notes__write") {
			t.Fatalf("%s: %d %v\n%s", path, r.status, r.header, r.body)
		}
		card := decode[struct {
			Name, ProtocolVersion, URL, PreferredTransport string
			SupportedInterfaces                            []struct{ URL, ProtocolBinding, ProtocolVersion string }
			Skills                                         []struct{ ID string }
			Capabilities                                   struct{ Streaming, PushNotifications, ExtendedAgentCard bool }
		}](t, []byte(r.body))
		if card.Name != "Polly" || card.SupportedInterfaces[0].URL != "https://junctor.example/a2a/parrot/" || card.SupportedInterfaces[0].ProtocolVersion != "1.0" ||
			card.URL != card.SupportedInterfaces[0].URL || card.PreferredTransport != "JSONRPC" || len(card.Skills) == 0 || !card.Capabilities.Streaming {
			t.Errorf("%+v", card)
		}
		if r := p.send("GET", path, "", "A2A-Version: -", "If-None-Match: "+tag); r.status != http.StatusNotModified || r.body != "" {
			t.Errorf("once more: %d %s", r.status, r.body)
		}
	}
	if r := p.send("GET", "/a2a/nobody/.well-known/agent-card.json", ""); r.status != http.StatusNotFound {
		t.Errorf("nobody's: %d", r.status)
	}
	a, err := p.store.For("default").Agent(t.Context(), "parrot")
	ok(t, err)
	a.Published = false
	_, err = p.store.For("default").UpdateAgent(t.Context(), a)
	ok(t, err)
	for _, path := range []string{"/.well-known/agent-card.json", "/a2a/parrot/.well-known/agent-card.json"} {
		if r := p.send("GET", path, ""); r.status != http.StatusNotFound {
			t.Errorf("%s of one that is not published any more: %d", path, r.status)
		}
	}
	if a := p.send("POST", "/a2a/parrot", `{}`); a.status != http.StatusNotFound {
		t.Errorf("its endpoint: %d", a.status)
	}
}

// Two tenants have an agent of the same name: each meets its own, and each has a
// card.
func TestTenantsWithTheSameName(t *testing.T) {
	t.Parallel()
	p := open(t)
	_, err := p.store.For("acme").AddAgent(t.Context(), junctor.Agent{Name: "parrot", Title: "Coco", Role: "Support", Owner: "user:u", Published: true, Brain: &junctor.Brain{Rules: "x"}})
	ok(t, err)
	for path, want := range map[string]string{
		"/.well-known/agent-card.json":                    `"name":"Polly"`,
		"/a2a/parrot/.well-known/agent-card.json":         `"name":"Polly"`,
		"/a2a/default.parrot/.well-known/agent-card.json": `"url":"https://junctor.example/a2a/default.parrot/"`,
		"/a2a/acme.parrot/.well-known/agent-card.json":    `"name":"Coco"`,
	} {
		if r := p.send("GET", path, "", "Authorization: -"); r.status != http.StatusOK || !strings.Contains(r.body, want) {
			t.Errorf("%s: %d %s", path, r.status, r.body)
		}
	}
	if r := p.send("GET", "/a2a/acme.parrot/.well-known/agent-card.json", "", "Authorization: -"); !strings.Contains(r.body, `"url":"https://junctor.example/a2a/acme.parrot/rest"`) || strings.Contains(r.body, "/a2a/parrot") {
		t.Errorf("the card leads elsewhere: %s", r.body)
	}
	hello := func(address, key string) int {
		return p.send("POST", "/a2a/"+address+"/rest/message:send", said("hello", ""), "Authorization: Bearer "+key).status
	}
	for address, want := range map[string][2]int{"parrot": {200, 200}, "default.parrot": {200, 404}, "acme.parrot": {404, 200}, "acme.acme.parrot": {404, 404}} {
		if got := [2]int{hello(address, "ann"), hello(address, "cat")}; got != want {
			t.Errorf("%s: Ann and Cat are answered %v, not %v", address, got, want)
		}
	}
	cat := &junctor.Principal{Tenant: "acme", Issuer: junctor.IssuerUser, Subject: "cat"}
	rows, _, err := p.store.For("acme").AgentTasks(t.Context(), store.AgentTaskFilter{Agent: "parrot", Owner: cat.ID(), Limit: 10})
	if ok(t, err); len(rows) != 2 {
		t.Errorf("Cat has %d tasks in her tenant", len(rows))
	}
}
