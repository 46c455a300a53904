package a2a

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/a2ui"
	"github.com/junctor-mcp/junctor/internal/agent"
	"github.com/junctor-mcp/junctor/internal/seal"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/store/sqlite"
	"github.com/junctor-mcp/junctor/internal/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// drawer keeps secrets in the clear: sealing is tested elsewhere.
type drawer struct{ sync.Map }

func (d *drawer) Put(_ context.Context, tenant junctor.TenantID, owner, name string, s seal.Secret) error {
	d.Store(string(tenant)+owner+name, s)
	return nil
}

func (d *drawer) Get(_ context.Context, tenant junctor.TenantID, owner, name string) (seal.Secret, bool, error) {
	s, ok := d.Load(string(tenant) + owner + name)
	if !ok {
		return seal.Secret{}, false, nil
	}
	return s.(seal.Secret), true, nil //nolint:forcetypeassert // nothing else is put there
}

// parrot says what it hears; "wait" makes it wait until it is stopped, "fail" fail, and
// "write" call a tool that changes something.
type parrot struct{ heard chan string }

func (p *parrot) Stream(ctx context.Context, r agent.Request) iter.Seq2[agent.AnswerChunk, error] {
	return func(yield func(agent.AnswerChunk, error) bool) {
		last := r.Messages[len(r.Messages)-1]
		if p.heard != nil {
			p.heard <- last.Text
		}
		switch {
		case last.Role == agent.RoleTool && last.Results[0].Denied:
			yield(agent.AnswerChunk{Text: "not written: " + last.Results[0].Text}, nil)
		case last.Role == agent.RoleTool:
			yield(agent.AnswerChunk{Text: "written"}, nil)
		case last.Text == "wait":
			if yield(agent.AnswerChunk{Text: "one moment"}, nil) {
				<-ctx.Done()
				yield(agent.AnswerChunk{}, ctx.Err())
			}
		case last.Text == "show":
			yield(agent.AnswerChunk{Surface: &a2ui.Surface{ID: "card", Components: []json.RawMessage{json.RawMessage(`{"id":"root","component":"Text","text":{"path":"/word"}}`)}, Data: json.RawMessage(`{"word":"hello"}`)}}, nil)
		case last.Text == "gauge":
			yield(agent.AnswerChunk{Surface: &a2ui.Surface{ID: "gauge", Catalogs: []string{"https://x/fleet"}, Components: []json.RawMessage{json.RawMessage(`{"id":"root","component":"fleet:Gauge","label":"Speed"}`)}}}, nil)
		case last.Text == "app" && r.ShowsApps:
			yield(agent.AnswerChunk{Surface: &a2ui.Surface{
				ID: "app", Catalogs: []string{a2ui.AppsCatalogID}, Components: []json.RawMessage{json.RawMessage(`{"id":"root","component":"mcp:AppFrame","server":"map","resourceUri":"ui://a/b","toolName":"show","toolInput":{"n":1}}`)},
			}}, nil)
		case last.Action != nil:
			yield(agent.AnswerChunk{Text: "pressed " + last.Action.Name + " of " + last.Action.Surface + " " + string(last.Action.Context)}, nil)
		case last.Text == "fail":
			yield(agent.AnswerChunk{}, &agent.ProviderError{Message: "the parrot is tired"})
		case last.Text == "write":
			yield(agent.AnswerChunk{Call: &agent.Call{ID: "c1", Name: "notes__write", Arguments: json.RawMessage(`{"a":1}`)}}, nil)
		default:
			for i, word := range strings.SplitAfter(last.Text, " ") {
				if i == 0 {
					word = "Polly heard " + word
				}
				if !yield(agent.AnswerChunk{Text: word}, nil) {
					return
				}
			}
		}
	}
}

// quill is the parrot's one tool.
type quill struct {
	uses   atomic.Int64
	result json.RawMessage // beside its text
}

func (q *quill) List(context.Context) ([]agent.Tool, error) {
	return []agent.Tool{{Name: "notes__write", Server: "notes", OriginalName: "write"}}, nil
}

func (q *quill) Resolve(context.Context, agent.Call) (agent.Tool, error) {
	return agent.Tool{Name: "notes__write", Server: "notes", OriginalName: "write"}, nil
}

func (q *quill) RecordRefusal(context.Context, agent.Call, error) string { return "" }

func (q *quill) Call(_ context.Context, c agent.Call) agent.Result {
	q.uses.Add(1)
	return agent.Result{CallID: c.ID, Text: "done", Content: q.result, Server: "notes", Tool: "write"}
}

// post is a server with a published agent "parrot", and people with keys ann, ben
// and cat, who is of another tenant; dan may not call tools.
type post struct {
	known *a2ui.Catalogs // nil: those of the program
	testing.TB
	*Server
	web   *httptest.Server
	store *store.Store
	mind  *parrot
	quill *quill
	path  string
}

func open(t testing.TB) *post {
	t.Helper()
	p := &post{TB: t, mind: &parrot{}, quill: &quill{}, path: storetest.Fresh(t)}
	p.start()
	ok(t, p.store.EnsureTenant(t.Context(), "acme", "Acme"))
	p.publish("parrot")
	return p
}

func (p *post) publish(name string) {
	p.Helper()
	_, err := p.store.For(junctor.DefaultTenant).AddAgent(p.Context(), junctor.Agent{Name: name, Title: "Polly", Role: "Support", Owner: "user:u", Published: true, Brain: &junctor.Brain{Rules: "x"}})
	ok(p, err)
}

// start makes the server on the database; again after it was stopped.
func (p *post) start() {
	p.Helper()
	var err error
	p.store, err = sqlite.Open(p.Context(), p.path)
	ok(p, err)
	p.Server, err = New(Options{
		Store: p.store, Vault: &drawer{}, Client: &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}},
		NewTurn: func(context.Context, junctor.TenantID, string) (agent.Turn, error) {
			return agent.Turn{Agent: "parrot", Provider: p.mind, Tools: p.quill}, nil
		},
		Catalogs: func(context.Context, junctor.TenantID) *a2ui.Catalogs {
			if p.known != nil {
				return p.known
			}
			return a2ui.BuiltinCatalogs()
		},
		Tools: func(context.Context, *junctor.Agent) ([]junctor.Tool, error) {
			return []junctor.Tool{{Server: "notes", Name: "write", Exposed: "notes__write"}}, nil
		},
		Authenticate: func(r *http.Request) (*junctor.Principal, error) {
			key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
			who := &junctor.Principal{Tenant: junctor.DefaultTenant, Issuer: junctor.IssuerUser, Subject: key, Scopes: []junctor.Scope{junctor.ScopeToolsCall}}
			switch key {
			case "ann", "ben":
			case "cat":
				who.Tenant = "acme"
			case "dan":
				who.Scopes = nil
			default:
				return nil, junctor.Errorf(junctor.CodeUnauthenticated, "a key is missing")
			}
			return who, nil
		},
		URL: func() string { return "https://junctor.example" }, Now: time.Now, Replica: "n1", MaxBody: 1 << 20, Log: slog.New(slog.DiscardHandler),
	})
	ok(p, err)
	mux := &http.ServeMux{}
	p.RegisterRoutes(mux)
	p.RecoverTasks(p.Context())
	p.web = httptest.NewServer(mux)
	p.Cleanup(p.end)
}

// end stops the server as an instance does; it may be called twice.
func (p *post) end() {
	p.Close()
	p.web.Close()
	_ = p.store.Close()
}

// reply is an answer.
type reply struct {
	status int
	header http.Header
	body   string
}

// send sends a request; header lines are "Name: value". Ann asks unless a line says
// otherwise.
func (p *post) send(method, path, body string, header ...string) reply {
	p.Helper()
	r, err := http.NewRequestWithContext(p.Context(), method, p.web.URL+path, strings.NewReader(body))
	ok(p, err)
	r.Header.Set("Authorization", "Bearer ann")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("A2A-Version", "1.0")
	for _, line := range header {
		name, value, found := strings.Cut(line, ": ")
		if !found {
			continue
		}
		r.Header.Set(name, value)
		if value == "-" {
			r.Header.Del(name)
		}
	}
	resp, err := p.web.Client().Do(r)
	ok(p, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	ok(p, err)
	return reply{resp.StatusCode, resp.Header, string(text)}
}

// answer is what a JSON-RPC method gives.
type answer struct {
	ID     json.RawMessage
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
		Data    []map[string]any
	}
}

// call calls a method of version 1.0.
func (p *post) call(method, params string, header ...string) answer {
	p.Helper()
	r := p.send("POST", "/a2a/parrot/", `{"jsonrpc":"2.0","id":"q","method":"`+method+`","params":`+params+`}`, header...)
	var out answer
	if err := json.Unmarshal([]byte(r.body), &out); err != nil {
		p.Fatalf("%s: %d %v\n%s", method, r.status, err, r.body)
	}
	return out
}

// code is that of an error; 0 where there is none.
func (a answer) code() int {
	if a.Error == nil {
		return 0
	}
	return a.Error.Code
}

// task is a task as a client reads it.
type task struct {
	ID, ContextID string
	Status        struct {
		State     string
		Timestamp time.Time
		Message   *struct{ Parts []struct{ Text string } }
	}
	Artifacts []struct {
		ArtifactID string
		Parts      []struct{ Text string }
	}
	History []struct{ Role, MessageID string }
}

func (t *task) text() (out string) {
	for _, a := range t.Artifacts {
		for _, part := range a.Parts {
			out += part.Text
		}
	}
	return out
}

// read reads JSON.
func decode[T any](t testing.TB, text []byte) (out T) {
	t.Helper()
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return out
}

// say sends a message, and gives the task that it became.
func (p *post) say(text, more string, header ...string) task {
	p.Helper()
	a := p.call("SendMessage", `{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"`+text+`"}]`+more+`}`, header...)
	if a.Error != nil {
		p.Fatalf("%+v", a.Error)
	}
	return decode[struct{ Task task }](p, a.Result).Task
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
