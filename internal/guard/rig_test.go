package guard_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/builtin"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/limit"
	"github.com/junctor-mcp/junctor/internal/seal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	timeout = 30 * time.Second
	parkFor = 10 * time.Minute
)

// rig is a guard over a real catalog, a real built-in server, sealing and
// limits; what it tells its journal, recorder and meter is kept.
type rig struct {
	*guard.Guard
	catalog *catalog.Catalog
	backend *backend
	rate    limit.Rate
	memory  *limit.RateLimiter
	ring    *seal.SessionRing
	log     *slog.Logger
	policy  guard.Policy // of setRules

	mu       sync.Mutex
	steps    []string // of journal and backend, in the order they happened
	calls    []junctor.Call
	recorded []junctor.Call
	observed []string
	broken   error           // what the journal answers
	used     map[string]bool // states
	ids      int
}

// backend counts what reaches the server.
type backend struct {
	*builtin.Server
	rig    *rig
	before func() // runs in place of the caller's goroutine's first step; may panic
	last   catalog.Request
	answer []byte // in place of the server's own; nil is that
	failed error  // in place of an answer
}

func (b *backend) Do(ctx context.Context, req *catalog.Request, sink catalog.Sink) (catalog.Result, error) {
	b.rig.step("do " + req.CallID)
	b.rig.mu.Lock()
	b.last = *req
	before := b.before
	b.rig.mu.Unlock()
	if before != nil {
		before()
	}
	if b.failed != nil {
		return catalog.Result{}, b.failed
	}
	if b.answer != nil {
		return catalog.Result{Body: b.answer}, nil
	}
	return b.Server.Do(ctx, req, sink)
}

func (r *rig) step(s string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.steps = append(r.steps, s)
}

func (r *rig) Append(_ context.Context, c *junctor.Call) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken != nil {
		return r.broken
	}
	r.steps = append(r.steps, string(c.Status)+" "+c.ID)
	r.calls = append(r.calls, *c)
	return nil
}

func (r *rig) Record(c *junctor.Call, _, _ []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.recorded = append(r.recorded, *c)
}

func (r *rig) Observe(name string, status junctor.Status, _ time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.observed = append(r.observed, name+" "+string(status))
}

func (r *rig) ObserveToolList(entryPoint junctor.EntryPoint, tokens int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.observed = append(r.observed, fmt.Sprintf("tool list by %s of %d tokens", entryPoint, tokens))
}

func (r *rig) Enter(_ context.Context, p *junctor.Principal, _, _ string, now time.Time) (limit.Pass, error) {
	return limit.Pass{}, r.memory.CheckPrincipal(p, r.rate, now)
}

func (r *rig) Seal(purpose string, plain []byte) string {
	return r.ring.Seal(purpose, plain)
}

func (r *rig) Open(purpose, text string) ([]byte, error) { return r.ring.Open(purpose, text) }

func (r *rig) UseState(_ context.Context, tenant junctor.TenantID, id string, _ time.Time) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := string(tenant) + " " + id
	first := !r.used[key]
	r.used[key] = true
	return first, nil
}

func (r *rig) newID() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ids++
	return fmt.Sprintf("id-%d", r.ids)
}

// heard counts the operations that reached the backend.
func (r *rig) heard() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.steps {
		if len(s) > 3 && s[:3] == "do " {
			n++
		}
	}
	return n
}

func (r *rig) records() []junctor.Call    { return locked(r, &r.calls) }
func (r *rig) recordings() []junctor.Call { return locked(r, &r.recorded) }
func (r *rig) trail() []string            { return locked(r, &r.steps) }
func (r *rig) counted() []string          { return locked(r, &r.observed) }

func locked[T any](r *rig, list *[]T) []T {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(*list)
}

// forget clears what was kept.
func (r *rig) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.steps, r.calls, r.recorded, r.observed = nil, nil, nil, nil
}

// keyStore keeps a ring's keys in memory.
type keyStore struct{ keys []seal.StoredKey }

func (k *keyStore) RingKeys(context.Context) ([]seal.StoredKey, error) { return k.keys, nil }
func (k *keyStore) AddRingKey(_ context.Context, key seal.StoredKey) error {
	k.keys = append(k.keys, key)
	return nil
}
func (k *keyStore) DeleteRingKeys(context.Context, time.Time) error { return nil }

func newRig(t testing.TB) *rig {
	t.Helper()
	return newRigWith(t, slog.New(slog.DiscardHandler))
}

// newRigWith is newRig with a log.
func newRigWith(t testing.TB, log *slog.Logger) *rig {
	t.Helper()
	r := &rig{memory: limit.NewRateLimiter(), used: map[string]bool{}, log: log}
	master, err := seal.KeyringFromEnv(base64.StdEncoding.EncodeToString(make([]byte, 32)))
	if err != nil {
		t.Fatal(err)
	}
	if r.ring, err = seal.OpenSessionRing(t.Context(), &keyStore{}, master, seal.RingOptions{}); err != nil {
		t.Fatal(err)
	}
	s, err := builtin.New("srv", "Server", builtin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := fill(s); err != nil {
		t.Fatal(err)
	}
	r.backend = &backend{Server: s, rig: r}
	r.catalog = catalog.New(catalog.Options{})
	t.Cleanup(r.catalog.Close)
	if err := r.catalog.Attach(t.Context(), junctor.DefaultTenant, "srv", junctor.ModeBuiltin, r.backend); err != nil {
		t.Fatal(err)
	}
	if r.Guard, err = guard.New(r.options()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func (r *rig) options() guard.Options {
	return guard.Options{
		Catalog: r.catalog, Limiter: r, Journal: r, Recorder: r, Sealer: r, States: r, Meter: r, Logger: r.log,
		Now: time.Now, NewID: r.newID, Limits: guard.CallLimits{Idle: timeout}, InputTimeout: parkFor,
	}
}

type text struct {
	Text string `json:"text"`
}

type form struct {
	Name string `json:"name"`
}

// fill adds one item for each thing that a test needs.
func fill(s *builtin.Server) error {
	schema := json.RawMessage(`{"type":"object","properties":{"text":{"type":"string","pattern":"^[a-z]*$"}},"required":["text"],"additionalProperties":false}`)
	none := json.RawMessage(`{"type":"object"}`)
	echo := func(_ context.Context, _ *builtin.Call, in text) (string, error) { return in.Text, nil }
	hang := func(ctx context.Context, _ *builtin.Call, _ struct{}) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	}
	ask := func(_ context.Context, call *builtin.Call, _ struct{}) (string, error) {
		in, action, err := builtin.Elicit[form](call, "form", "Who?")
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%s by %s", action, in.Name), nil
	}
	return errors.Join(
		builtin.AddTool(s, builtin.Tool{Name: "echo", InputSchema: schema}, echo),
		builtin.AddTool(s, builtin.Tool{Name: "hang", InputSchema: none}, hang),
		builtin.AddTool(s, builtin.Tool{Name: "hang-short", InputSchema: none, Timeout: time.Second}, hang),
		builtin.AddTool(s, builtin.Tool{Name: "fail", InputSchema: none}, func(context.Context, *builtin.Call, struct{}) (string, error) {
			return "", errors.New("no luck")
		}),
		builtin.AddTool(s, builtin.Tool{Name: "old-and-new", Version: "1", InputSchema: none}, echo),
		builtin.AddTool(s, builtin.Tool{Name: "old-and-new", Version: "2", InputSchema: none}, echo),
		builtin.AddTool(s, builtin.Tool{Name: "ask", InputSchema: none}, ask),
		// Name and version, one after the other, are the same of both.
		builtin.AddTool(s, builtin.Tool{Name: "ask-1", Version: "2", InputSchema: none}, ask),
		builtin.AddTool(s, builtin.Tool{Name: "ask-", Version: "12", InputSchema: none}, ask),
		builtin.AddTool(s, builtin.Tool{Name: "ask-for-ever", InputSchema: none}, func(_ context.Context, call *builtin.Call, _ struct{}) (string, error) {
			return "", &builtin.NeedInput{State: call.State() + "x"}
		}),
		s.AddRawTool(builtin.Tool{Name: "link", InputSchema: none}, func(context.Context, *builtin.Call, []byte) (builtin.Result, error) {
			return builtin.Result{Content: []builtin.Content{builtin.Content(`{"type":"resource_link","uri":"x://r","name":"r"}`)}}, nil
		}),
		s.AddResource(builtin.Resource{URI: "x://r"}, builtin.StaticText("content")),
		s.AddTemplate(builtin.Template{URITemplate: "x://t/{n}", Complete: map[string]builtin.CompleteFunc{"n": builtin.OneOf("one")}},
			func(context.Context, *builtin.Call, string, map[string]string) ([]builtin.Contents, error) {
				return nil, nil
			}),
		s.AddPrompt(builtin.Prompt{Name: "p", Arguments: []builtin.Argument{{Name: "a", Complete: builtin.OneOf("one")}}},
			func(context.Context, *builtin.Call, map[string]string) ([]builtin.Message, error) {
				return []builtin.Message{{Role: builtin.RoleUser, Content: builtin.Text("hi")}}, nil
			}),
	)
}

func caller(scopes ...junctor.Scope) *junctor.Principal {
	return &junctor.Principal{Tenant: junctor.DefaultTenant, Issuer: junctor.IssuerKey, Subject: "k1", Scopes: scopes}
}

// tool makes an operation that is good in every way.
func tool(name, arguments string) *guard.Op {
	return &guard.Op{
		Principal: caller(junctor.ScopeToolsCall), EntryPoint: junctor.EntryMCP, Kind: junctor.KindTool, Name: "srv__" + name,
		Params: []byte(`{"name":"srv__` + name + `","arguments":` + arguments + `}`), Arguments: []byte(arguments),
		Caller: catalog.Caller{Capabilities: []byte(`{"elicitation":{}}`)},
	}
}

// goodOps has one operation of each kind that passes every gate.
func goodOps() map[string]*guard.Op {
	of := func(kind junctor.Kind, name, params string) *guard.Op {
		return &guard.Op{Principal: caller(junctor.ScopeToolsCall), EntryPoint: junctor.EntryMCP, Kind: kind, Name: name, Params: []byte(params)}
	}
	template := of(junctor.KindCompletion, "srv+x://t/{n}", `{"argument":{"name":"n","value":"o"}}`)
	template.IsURI = true
	return map[string]*guard.Op{
		"tool":                  tool("echo", `{"text":"hi"}`),
		"resource":              of(junctor.KindResource, "srv+x://r", `{}`),
		"prompt":                of(junctor.KindPrompt, "srv__p", `{}`),
		"completion, prompt":    of(junctor.KindCompletion, "srv__p", `{"argument":{"name":"a","value":"o"}}`),
		"completion, templates": template,
		"subscription":          of(junctor.KindSubscription, "srv+x://r", `{}`),
	}
}

// asking is a server that wants input for everything.
type asking struct{ *backend }

func (*asking) Do(context.Context, *catalog.Request, catalog.Sink) (catalog.Result, error) {
	return catalog.Result{Body: []byte(`{"requestState":"s"}`), Input: true}, nil
}

// Watch does nothing: the server it stands before has its listener.
func (*asking) Watch(func(catalog.Event)) {}
