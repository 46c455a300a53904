package admin

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/audit"
	"github.com/junctor-mcp/junctor/internal/identity"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// world is everything the API stands on, in memory.
type world struct {
	tries   map[string]int // of passwords, by the name of their user
	mu      sync.Mutex
	keys    []junctor.Key
	servers []junctor.Server
	calls   []junctor.Call
	filter  CallFilter  // of the last Calls
	input   ServerInput // of the last AddServer, ChangeServer or ProbeServer
	fails   error       // what AddServer answers
	wanted  Wanted      // of the last Apply
	broken  bool        // the journal cannot be read
	secrets *secrets
	mine    map[string]MyCredential // by user/server
	entered *junctor.Auth           // by the last PutMyCredential
	limits  limits
	events  *happenings
	history *pastCalls
	numbers countedCalls
	people  *people
	staff   *staff
	shed    *shed
	stage   stage
	tail    tail
	changed changeLog
	run     func(ctx context.Context, name, version string, arguments []byte) (json.RawMessage, bool, error)
}

func newWorld() *world {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return &world{
		changed: changeLog{changes: []junctor.AdminChange{{ID: "demo", Tenant: junctor.DefaultTenant, At: at, Status: junctor.ChangeDone, EntryPoint: junctor.ChangeByCLI, Issuer: "local", Subject: "operator", Action: "patch-server", Object: "server", ObjectID: "old", Replica: "r", Seq: 2}}},
		secrets: &secrets{values: map[[3]string]seal.Secret{}}, mine: map[string]MyCredential{}, history: &pastCalls{}, events: &happenings{}, people: newPeople(), staff: newStaff(), shed: newShed(),
		servers: []junctor.Server{{ID: "demo", Tenant: "default", Mode: junctor.ModeBuiltin, State: junctor.StateActive, CreatedAt: at, UpdatedAt: at}},
		calls: []junctor.Call{{
			ID: "c1", Kind: junctor.KindTool, EntryPoint: junctor.EntryMCP, Server: "demo", Name: "echo", Issuer: "key", Subject: "k1",
			Status: junctor.StatusSuccess, Start: at, Duration: time.Millisecond, BytesIn: 10, BytesOut: 20,
		}},
	}
}

func (w *world) CreateKey(_ context.Context, tenant junctor.TenantID, n identity.NewKey) (junctor.Key, string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := junctor.Key{ID: "k9", Tenant: tenant, Name: n.Name, Prefix: "jn_abc", User: n.User, Agent: n.Agent, Scopes: n.Scopes, ExpiresAt: n.ExpiresAt}
	w.keys = append(w.keys, key)
	return key, "jn_abc_secret", nil
}

func (w *world) RotateKey(_ context.Context, _ junctor.TenantID, id string, grace time.Duration) (junctor.Key, string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.IndexFunc(w.keys, func(k junctor.Key) bool { return k.ID == id })
	w.keys[i].FormerUntil = time.Unix(0, 0).Add(grace)
	return w.keys[i], "jn_abc_rotated", nil
}

// tryPassword lets a password of each user be tried thrice.
func (w *world) tryPassword(_ *http.Request, _ junctor.TenantID, name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.tries == nil {
		w.tries = map[string]int{}
	}
	if w.tries[name]++; w.tries[name] > 3 {
		return &junctor.Error{Code: junctor.CodeLimited, RetryAfter: time.Minute, Message: "too many"}
	}
	return nil
}

func (w *world) CanManageKey(p *junctor.Principal, k *junctor.Key) bool {
	return p.Has(junctor.ScopeAdmin) || k.User == p.User && k.Name != "not yours"
}

func (w *world) AgentOwner(_ junctor.TenantID, agent string) (string, error) {
	if agent != "qa" {
		return "", junctor.Errorf(junctor.CodeNotFound, "no agent %s", agent)
	}
	return "user:u2", nil
}

func (w *world) ListKeys(context.Context, junctor.TenantID) ([]junctor.Key, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.keys), nil
}

func (w *world) RevokeKey(_ context.Context, _ junctor.TenantID, id string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.IndexFunc(w.keys, func(k junctor.Key) bool { return k.ID == id })
	if i < 0 {
		return junctor.Errorf(junctor.CodeNotFound, "no key %s", id)
	}
	w.keys = slices.Delete(w.keys, i, i+1)
	return nil
}

func (w *world) Servers(context.Context, *junctor.Principal) ([]junctor.Server, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.servers), nil
}

func (w *world) find(id string) (int, error) {
	i := slices.IndexFunc(w.servers, func(s junctor.Server) bool { return s.ID == id })
	if i < 0 {
		return 0, junctor.Errorf(junctor.CodeNotFound, "no server %s", id)
	}
	return i, nil
}

func (w *world) Server(_ context.Context, _ *junctor.Principal, id string) (junctor.Server, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i, err := w.find(id)
	if err != nil {
		return junctor.Server{}, err
	}
	return w.servers[i], nil
}

func (w *world) RemoveServer(_ context.Context, _ *junctor.Principal, id string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	i, err := w.find(id)
	if err == nil {
		w.servers = slices.Delete(w.servers, i, i+1)
	}
	return err
}

func (w *world) SetServerState(_ context.Context, _ *junctor.Principal, id string, state junctor.ServerState, version time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	i, err := w.find(id)
	if err == nil {
		err = junctor.CheckVersion(version, w.servers[i].UpdatedAt)
	}
	if err == nil {
		w.servers[i].State = state
	}
	return err
}

func echoTool() junctor.Tool {
	return junctor.Tool{
		Server: "demo", Name: "echo", Exposed: "demo__echo", Description: "says it again", Hints: junctor.ToolHints{}.Effective(junctor.ToolHints{}),
		InputSchema: json.RawMessage(`{"type":"object"}`), Roles: []junctor.Role{junctor.RoleGeneral}, Category: "General", Digest: "00", Tokens: 7,
	}
}

func (w *world) Tools(_ *junctor.Principal, server, query string, role junctor.Role) []junctor.Tool {
	if server != "" && server != "demo" || role != "" && role != "QA" || !strings.Contains(echoTool().Name, query) {
		return nil
	}
	return []junctor.Tool{echoTool()}
}

func (w *world) CountTokens(*junctor.Principal, string) (tools, tokens int) { return 1, 10 }

func (w *world) ToolProblems(*junctor.Principal, string) []ToolProblem { return nil }

func (w *world) Tool(_ context.Context, _ *junctor.Principal, name string) (junctor.Tool, error) {
	if name != "demo__echo" {
		return junctor.Tool{}, junctor.Errorf(junctor.CodeNotFound, "no tool %s", name)
	}
	tool := echoTool()
	if w.staff != nil && !w.staff.tag.At.IsZero() {
		tool.Class = &junctor.Class{Tag: &w.staff.tag}
	}
	return tool, nil
}

func (w *world) CallTool(ctx context.Context, _ *junctor.Principal, name, version string, arguments []byte) (json.RawMessage, bool, error) {
	return w.run(ctx, name, version, arguments)
}

func (w *world) RecentCalls(_ context.Context, _ *junctor.Principal, f CallFilter) ([]junctor.Call, bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.filter = f
	return slices.Clone(w.calls), false, nil
}

func (w *world) Run(ctx context.Context, _ *junctor.Principal, in Run, sink RunSink) (RunResult, error) {
	sink.Progress([]byte(`{"progress":1}`))
	sink.Log("info", []byte(`{"data":"half"}`))
	result, isError, err := w.run(ctx, in.Name, in.Version, in.Arguments)
	return RunResult{Result: result, IsError: isError}, err
}

func (w *world) Offer(context.Context, *junctor.Principal, string) (Offer, error) {
	return Offer{Resources: []json.RawMessage{[]byte(`{"uri":"demo+text://a"}`)}, Templates: []json.RawMessage{}, Prompts: []json.RawMessage{}}, nil
}

// tail gives what the test puts into it.
type tail chan junctor.Call

func (tail) Wait(context.Context, time.Duration) {}

func (t tail) AppendCalls(_ context.Context, _ *junctor.Principal, b []byte) ([]byte, int, error) {
	text, err := json.Marshal(<-t)
	return append(b, text...), 0, err
}

func (tail) Close() {}

// noCatalogChanges is a catalog that does not change.
type noCatalogChanges struct{}

func (noCatalogChanges) Ready() <-chan struct{}       { return nil }
func (noCatalogChanges) Take(*junctor.Principal) bool { return false }
func (noCatalogChanges) Stop()                        {}

func (w *world) Tail(*junctor.Principal, func(*junctor.Call) bool) Tail { return w.tail }

func (w *world) CallAccess(_ context.Context, p *junctor.Principal) (junctor.CallAccess, error) {
	return junctor.AllCalls(p.Tenant), nil
}

// bearer reads the scopes out of the token: "Bearer tools:read,tools:call".
func bearer(r *http.Request) (*junctor.Principal, error) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return nil, junctor.Errorf(junctor.CodeUnauthenticated, "no key")
	}
	p := &junctor.Principal{Tenant: "default", Issuer: junctor.IssuerKey, Subject: "k1", Name: "test"}
	for s := range strings.SplitSeq(token, ",") {
		switch kind, id, _ := strings.Cut(s, "="); kind { // "user=u2": a person; "tenant=acme": of another tenant
		case "user":
			p.Issuer, p.Subject, p.User, p.Login = junctor.IssuerUser, id, id, "l1"
		case "key": // in place of the login of a person
			p.Key, p.Login = id, ""
		case "expires":
			p.Expires, _ = time.Parse(time.RFC3339, id)
		case "tenant":
			p.Tenant = junctor.TenantID(id)
		default:
			p.Scopes = append(p.Scopes, junctor.Scope(s))
		}
	}
	return p, nil
}

// alone is a process that shares its database with nobody.
type alone struct{}

func (alone) Cluster(context.Context) (ClusterState, error) {
	return ClusterState{Schema: 1, Replicas: []ReplicaState{{Name: "n", Self: true, Reachable: true}}, Leases: []LeaseState{}, Journals: []JournalState{}}, nil
}

func (w *world) options() Options {
	return Options{
		Authenticate: bearer, TryPassword: w.tryPassword, Keys: w, Users: w.people, Logins: w.people, Consents: w.people, Chains: ledger{}, Tenants: w.people, Servers: w, Credentials: w, ServerLogins: w, Tools: w, Tags: w.staff, Agents: w.staff, Models: w.shed, ComponentCatalogs: shelf{}, Talker: w.shed, Runner: w, Apps: &w.stage, Views: &w.stage, Calls: w, Secrets: w.secrets, History: w.history, Series: &w.numbers, Attention: calm{}, Changes: &w.changed, Limits: &w.limits, Policies: rulebook{},
		Applier: w, Events: w.events, Deliveries: noDeliveries{}, Rooms: noRooms{},
		Journal: w, Cluster: alone{},
		RunsCommands: func(p *junctor.Principal) bool { return p.Operator() },
		WatchCatalog: func() CatalogChanges { return noCatalogChanges{} },
		Settings:     func() []Setting { return []Setting{{Name: "listen", Value: "127.0.0.1:8717", Source: "default"}} },
		Version:      "v0.0.0-test",
	}
}

func (w *world) handler(t testing.TB) http.Handler {
	t.Helper()
	h, err := New(w.options())
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// ask sends one request as a credential with these scopes ("" for none at all).
func ask(h http.Handler, scopes, method, path, body string) *httptest.ResponseRecorder {
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	r := httptest.NewRequest(method, Prefix+path, reader)
	if scopes != "" {
		r.Header.Set("Authorization", "Bearer "+scopes)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	return rec
}

// limits keeps one policy for everybody.
type limits struct{ state LimitState }

func (l *limits) LimitState(context.Context, junctor.TenantID) (LimitState, error) {
	return l.state, nil
}

func (l *limits) ChangeLimits(_ context.Context, _ *junctor.Principal, change func(*LimitState) error) (LimitState, error) {
	next := l.state
	err := change(&next)
	if err == nil {
		err = next.Check()
	}
	if err == nil {
		l.state = next
	}
	return l.state, err
}

func (w *world) Apply(_ context.Context, _ *junctor.Principal, wanted Wanted) ([]Change, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wanted = wanted
	return []Change{{Kind: "server", ID: "notes", Action: ActionAdd, Done: !wanted.DryRun}}, nil
}

func (w *world) File() FileState {
	return FileState{Path: "/etc/junctor.yaml", Problems: []FileProblem{{Where: "/etc/junctor.yaml:1:1", Message: "unknown key"}}}
}

func (w *world) Verify(_ context.Context, tell func(audit.Progress)) (audit.Report, error) {
	if w.broken {
		return audit.Report{}, junctor.Errorf(junctor.CodeUnavailable, "it cannot be read")
	}
	tell(audit.Progress{Records: 1, Bytes: 10, Total: 20})
	return audit.Report{Replica: "n1", Records: 2, First: 1, Last: 2, FirstBad: &audit.BadRecord{Seq: 2, Reason: "it was changed"}}, nil
}

func (w *world) Export(_ context.Context, out io.Writer, _, _ time.Time) error {
	if w.broken {
		return junctor.Errorf(junctor.CodeUnavailable, "it cannot be read")
	}
	_, err := io.WriteString(out, `{"head":{}}`+"\n")
	return err
}

func (w *world) PreviewServer(context.Context, *junctor.Principal, ServerInput) (junctor.APIPreview, error) {
	return emptyPreview(), nil
}

func (w *world) FetchDocument(context.Context, *junctor.Principal, ServerInput) (junctor.APIDocument, error) {
	return junctor.APIDocument{}, nil
}

func (w *world) ImportDocument(context.Context, *junctor.Principal, string, Import) (Imported, error) {
	return Imported{APIPreview: emptyPreview()}, nil
}

func (w *world) Document(context.Context, *junctor.Principal, string) (junctor.APIDocument, error) {
	return junctor.APIDocument{}, nil
}

func (w *world) Suggest(context.Context, *junctor.Principal, string, Suggest) (Suggested, error) {
	return Suggested{}, nil
}

func (w *world) Suggestions(context.Context, *junctor.Principal, string) ([]junctor.ToolSuggestion, error) {
	return nil, nil
}

func (w *world) DecideSuggestions(context.Context, *junctor.Principal, string, []string, bool) ([]junctor.ToolSuggestion, error) {
	return nil, nil
}

func (w *world) ValidateServer(context.Context, *junctor.Principal, string) (junctor.APIPreview, error) {
	return emptyPreview(), nil
}

func emptyPreview() junctor.APIPreview {
	return junctor.APIPreview{Auth: []junctor.APIAuth{}, Endpoints: []junctor.APIEndpoint{}, Models: []junctor.APIModel{}, Problems: []junctor.APIProblem{}, Tried: []junctor.APIAttempt{}}
}

// changeLog is the changes in memory.
type changeLog struct {
	mu      sync.Mutex
	changes []junctor.AdminChange
	fails   error // what Begin answers
}

func (l *changeLog) Begin(_ context.Context, c *junctor.AdminChange) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.ID, c.Status = "change"+strconv.Itoa(len(l.changes)), junctor.ChangeRunning
	if l.fails == nil {
		l.changes = append(l.changes, *c)
	}
	return l.fails
}

func (l *changeLog) End(_ context.Context, c *junctor.AdminChange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changes[slices.IndexFunc(l.changes, func(o junctor.AdminChange) bool { return o.ID == c.ID })] = *c
}

func (l *changeLog) Drop(_ context.Context, c *junctor.AdminChange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changes = slices.DeleteFunc(l.changes, func(o junctor.AdminChange) bool { return o.ID == c.ID })
}

func (l *changeLog) Changes(_ context.Context, tenant junctor.TenantID, f *junctor.AdminChangeFilter, _ *junctor.RowPage) ([]junctor.AdminChange, junctor.RowTotal, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := slices.DeleteFunc(slices.Clone(l.changes), func(c junctor.AdminChange) bool {
		return c.Tenant != tenant || f.Object != "" && f.Object != c.Object || f.ObjectID != "" && f.ObjectID != c.ObjectID
	})
	return list, junctor.NewRowTotal(len(list)), nil
}

func (l *changeLog) Change(_ context.Context, tenant junctor.TenantID, id string) (junctor.AdminChange, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.changes {
		if c.ID == id && c.Tenant == tenant {
			return c, nil
		}
	}
	return junctor.AdminChange{}, junctor.Errorf(junctor.CodeNotFound, "unknown change")
}
