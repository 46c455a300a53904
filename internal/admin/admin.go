// Package admin is the JSON API below /api/v1 that people use: the command
// line and the console speak it, and so may any script. It stands beside the
// gateway, not behind it: what it lists comes from the catalogue, identity and
// the call history through the small interfaces below, and a tool is called
// through the same guard as on every other door. internal/app joins the parts.
//
// Its routes are typed, so the OpenAPI document at /api/v1/openapi.json is
// made from the code that answers and cannot drift from it.
package admin

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/credential"
	"github.com/junctor-mcp/junctor/internal/history"
	"github.com/junctor-mcp/junctor/internal/identity"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// Prefix is where the API stands.
const Prefix = "/api/v1"

// Keys makes, lists, rotates and revokes keys. internal/identity implements it.
type Keys interface {
	// CreateKey and RotateKey give the token, which is never shown again.
	CreateKey(ctx context.Context, tenant junctor.TenantID, n identity.NewKey) (junctor.Key, string, error)
	RotateKey(ctx context.Context, tenant junctor.TenantID, id string, grace time.Duration) (junctor.Key, string, error)
	ListKeys(ctx context.Context, tenant junctor.TenantID) ([]junctor.Key, error)
	RevokeKey(ctx context.Context, tenant junctor.TenantID, id string) error
	// Manages says whether a principal may see and change a key.
	Manages(p *junctor.Principal, k *junctor.Key) bool
	AgentOwner(tenant junctor.TenantID, agent string) (string, error)
}

// Servers is what can be done with servers.
type Servers interface {
	Servers(ctx context.Context, p *junctor.Principal) ([]junctor.Server, error)
	Server(ctx context.Context, p *junctor.Principal, id string) (junctor.Server, error)
	RemoveServer(ctx context.Context, p *junctor.Principal, id string) error
	// SetServerState switches a server on or off; where version is not zero, of that
	// version alone.
	SetServerState(ctx context.Context, p *junctor.Principal, id string, state junctor.ServerState, version time.Time) error

	// AddServer reaches the server first: what was not reached is not stored,
	// and the error is a junctor.ProbeError.
	AddServer(ctx context.Context, p *junctor.Principal, in ServerInput) (junctor.Server, error)
	// ChangeServer changes what change changes of the row; change gives the
	// credentials that were entered. Where the connection changes, the server is
	// reached first.
	ChangeServer(ctx context.Context, p *junctor.Principal, id string, change func(*junctor.Server) (credential.Set, error)) (junctor.Server, error)
	// ProbeServer and TestServer store nothing. That a server could not be
	// reached is no error: the probe says so.
	ProbeServer(ctx context.Context, p *junctor.Principal, in ServerInput) (junctor.Probe, error)
	TestServer(ctx context.Context, p *junctor.Principal, id string) (junctor.Probe, error)
	// PreviewServer shows what a document comes to, and ImportDocument what a server
	// is then made of: with a dry run, or where what breaks callers is not accepted,
	// nothing is stored. The steps of a preview are fetch, read, tools and preview.
	PreviewServer(ctx context.Context, p *junctor.Principal, in ServerInput) (junctor.APIPreview, error)
	// FetchDocument gets the text that would be previewed, and stores nothing.
	FetchDocument(ctx context.Context, p *junctor.Principal, in ServerInput) (junctor.APIDocument, error)
	ImportDocument(ctx context.Context, p *junctor.Principal, id string, in Import) (Imported, error)
	// Document gives the text that a server is made of.
	Document(ctx context.Context, p *junctor.Principal, id string) (junctor.APIDocument, error)
	// ValidateServer reads it again and says what could be better.
	ValidateServer(ctx context.Context, p *junctor.Principal, id string) (junctor.APIPreview, error)
	Suggester
	// ServerStatus is nil for a server that is not connected to anything.
	ServerStatus(p *junctor.Principal, id string) *junctor.ServerStatus
	// Offer lists what a server has beside its tools.
	Offer(ctx context.Context, p *junctor.Principal, id string) (Offer, error)
}

// Tools is the catalogue as one principal sees it: what they may not see is
// not there.
type Tools interface {
	// Tools lists what matches: server is an id or "" for all, query is text
	// to search for or "" for everything, with a role only tools for it or for
	// all.
	Tools(p *junctor.Principal, server, query string, role junctor.Role) []junctor.Tool
	// ToolProblems gives the tools that a server lists and that were left out or changed.
	ToolProblems(p *junctor.Principal, server string) []ToolProblem
	Tool(ctx context.Context, p *junctor.Principal, name string) (junctor.Tool, error)
}

// Runner runs things through the one pipeline. result is the MCP result object.
type Runner interface {
	CallTool(ctx context.Context, p *junctor.Principal, name, version string, arguments []byte) (result json.RawMessage, isError bool, err error)
	// Run is the same for somebody who watches, and can be asked something.
	Run(ctx context.Context, p *junctor.Principal, in Run, sink RunSink) (RunResult, error)
}

// Calls reads the history of calls, newest first.
type Calls interface {
	// Calls gives a page, and the cursor of the next one; "" when it is the last.
	Calls(ctx context.Context, p *junctor.Principal, f CallFilter) (calls []junctor.Call, next string, err error)
	// Tail begins to follow the calls that the principal may know of.
	Tail(p *junctor.Principal) Tail
	// CallAccess says which calls, and how much of them, the principal may see.
	CallAccess(ctx context.Context, p *junctor.Principal) (junctor.CallAccess, error)
}

// CallFilter says which calls are wanted; zero members do not filter.
type CallFilter struct {
	CallsOf
	View   string
	Status junctor.Status
	Limit  int
	Cursor string
}

// Secrets keeps the credentials that people entrust to this instance. Nothing
// here gives one back.
type Secrets interface {
	// Keeps says whether a principal may know of the secrets of an owner, and
	// change them: nil, or as for a server of that name why not.
	Keeps(ctx context.Context, p *junctor.Principal, owner string) error
	Put(ctx context.Context, tenant junctor.TenantID, owner, name string, s seal.Secret) error
	Info(ctx context.Context, tenant junctor.TenantID, owner, name string) (seal.SecretInfo, error)
	List(ctx context.Context, tenant junctor.TenantID) ([]seal.SecretInfo, error)
	Delete(ctx context.Context, tenant junctor.TenantID, owner, name string) error
	// Rotate replaces the key that all of them are sealed under.
	Rotate(ctx context.Context) (seal.Rotation, error)
}

// History is the calls with what was said in them, and sums over them.
// *history.History implements it.
type History interface {
	Query(ctx context.Context, access junctor.CallAccess, f history.Filter) (history.Page, error)
	Get(ctx context.Context, access junctor.CallAccess, id string) (history.Entry, error)
	Export(ctx context.Context, w io.Writer, access junctor.CallAccess, f history.Filter, format history.Format) error
	Usage(ctx context.Context, access junctor.CallAccess, f history.UsageFilter, by history.Group) ([]history.Usage, error)
}

// Setting is one effective setting and where its value comes from. A secret's
// value is masked by whoever makes the list.
type Setting struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"`
}

// Options are the parts that the API stands on. All but Log are needed.
type Options struct {
	// Authenticate names who is asking, or says with a junctor.Error why it
	// cannot. It is asked before a body is read.
	Authenticate func(*http.Request) (*junctor.Principal, error)
	// TryPassword counts a try of a user's password among those of the sign-in page.
	// The error is limited where there were too many.
	TryPassword func(r *http.Request, tenant junctor.TenantID, name string) error

	Keys        Keys
	Users       Users
	Logins      Logins
	Consents    Consents
	Chains      Chains
	Tenants     Tenants
	Servers     Servers
	Credentials Credentials
	// ServerLogins logs in to servers.
	ServerLogins ServerLogins
	Tools        Tools
	Tags         Tags
	Agents       Agents
	Models       Models

	ComponentCatalogs ComponentCatalogs

	Talker     Talker
	Runner     Runner
	Apps       Apps
	Views      Views
	Calls      Calls
	Secrets    Secrets
	History    History
	Limits     Limits
	Events     Events
	Applier    Applier
	Journal    Journal
	Cluster    Cluster
	Deliveries Deliveries
	Rooms      Rooms
	Settings   func() []Setting
	Version    string
	Log        *slog.Logger
}

// New gives the handler of everything below Prefix. Registering the routes
// costs milliseconds that a starting process has better use for, so it happens
// at the first request.
func New(o Options) (*Handler, error) {
	for _, part := range []struct {
		name    string
		missing bool
	}{
		{"Authenticate", o.Authenticate == nil},
		{"TryPassword", o.TryPassword == nil},
		{"Keys", o.Keys == nil},
		{"Users", o.Users == nil},
		{"Logins", o.Logins == nil},
		{"Consents", o.Consents == nil},
		{"Chains", o.Chains == nil},
		{"Tenants", o.Tenants == nil},
		{"Servers", o.Servers == nil},
		{"Credentials", o.Credentials == nil},
		{"ServerLogins", o.ServerLogins == nil},
		{"Tools", o.Tools == nil},
		{"Tags", o.Tags == nil},
		{"Agents", o.Agents == nil},
		{"Models", o.Models == nil},
		{"Talker", o.Talker == nil},
		{"Runner", o.Runner == nil},
		{"Apps", o.Apps == nil},
		{"Views", o.Views == nil},
		{"Calls", o.Calls == nil},
		{"Secrets", o.Secrets == nil},
		{"History", o.History == nil},
		{"Limits", o.Limits == nil},
		{"Events", o.Events == nil},
		{"Applier", o.Applier == nil},
		{"Journal", o.Journal == nil},
		{"Cluster", o.Cluster == nil},
		{"Deliveries", o.Deliveries == nil},
		{"Rooms", o.Rooms == nil},
		{"Settings", o.Settings == nil},
	} {
		if part.missing {
			return nil, junctor.Errorf(junctor.CodeInternal, "admin API: Options.%s is missing", part.name)
		}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Handler{api: sync.OnceValue(func() *api { return register(o) }), log: o.Log}, nil
}

// Handler is the outermost layer: headers of every answer, and the walls
// around a route.
type Handler struct {
	api func() *api
	log *slog.Logger
}

// HeaderRequest names a request in its answer; the log says more about it under
// that name, where something went wrong.
const HeaderRequest = "X-Request-Id"

type requestKey struct{}

func requestID(ctx context.Context) string {
	id, _ := ctx.Value(requestKey{}).(string)
	return id
}

// Routes lists what is registered, each as "METHOD /path".
func (h *Handler) Routes() []string { return h.api().routes }

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Referrer-Policy", "no-referrer")
	id := rand.Text()
	w.Header().Set(HeaderRequest, id)
	r = r.WithContext(context.WithValue(r.Context(), requestKey{}, id))
	defer h.survive(w, r)

	mux := h.api().mux
	if fallback, pattern := mux.Handler(r); pattern == "" {
		writeProblem(w, noRoute(fallback, w, r))
		return
	}
	mux.ServeHTTP(w, r)
}

// survive makes a panic of a handler cost one answer.
func (h *Handler) survive(w http.ResponseWriter, r *http.Request) {
	switch v := recover(); v {
	case nil:
	case http.ErrAbortHandler:
		panic(v)
	default:
		h.log.ErrorContext(r.Context(), "a handler of the admin API panicked", "method", r.Method, "path", r.URL.Path, "request", requestID(r.Context()), "panic", v)
		writeProblem(w, problemOf(junctor.Errorf(junctor.CodeInternal, "internal error; the log of this instance says more")))
	}
}

// noRoute asks the mux's own refusal for its status and its Allow header, and
// says the same as a problem.
func noRoute(fallback http.Handler, w http.ResponseWriter, r *http.Request) *Problem {
	refusal := &headersOnly{header: http.Header{}}
	fallback.ServeHTTP(refusal, r)
	if refusal.status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", refusal.header.Get("Allow"))
		p := problemOf(junctor.Errorf(junctor.CodeInvalid, "this route does not take %s; it takes %s", r.Method, refusal.header.Get("Allow")))
		p.setStatus(http.StatusMethodNotAllowed)
		return p
	}
	return problemOf(junctor.Errorf(junctor.CodeNotFound, "there is nothing at %s; %s/openapi.json lists every route", r.URL.Path, Prefix))
}

// headersOnly is a ResponseWriter that keeps the head and drops the body.
type headersOnly struct {
	header http.Header
	status int
}

func (w *headersOnly) Header() http.Header         { return w.header }
func (w *headersOnly) WriteHeader(status int)      { w.status = status }
func (w *headersOnly) Write(b []byte) (int, error) { return len(b), nil }
