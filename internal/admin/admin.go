// Package admin is the JSON API below /api/v1. The command line and the console use it,
// and any script may. It stands beside the gateway, not behind it: the lists that it shows
// come from the catalog, identity and the call history through the small interfaces of
// this package, and a tool is called through the same guard as at every MCP endpoint.
// internal/app implements the interfaces or passes the packages that do.
//
// The routes are typed. The OpenAPI document at /api/v1/openapi.json is made from the code
// that answers, so the two cannot drift apart. The names of the request and response types
// are part of that document: huma derives schema names from them. testdata/openapi.json
// holds the document and a test compares it.
//
// Read the files in this order:
//
//   - admin.go: the interfaces that most routes use, Options, and the outermost handler
//   - routes.go: how an operation is registered and how its errors leave
//   - operation.go, operation_serve.go: how an operation is documented and served
//   - scope.go: the scope that each operation requires; the only place that decides it
//   - list.go: how lists page, sort and search
//   - answers.go: ETag, 304 and compression
//   - problem.go: errors as RFC 9457 problems
//   - precondition.go: versions of stored things, ETag and If-Match
//   - event_stream.go: answers that are streams of server-sent events
//   - reference.go, reference_page.go: the document for people, at ReferencePath
//   - schema.go: types of package junctor in the OpenAPI document
//
// Every other file holds the routes of one subject: its interface, its request and
// response types, and a method that registers the routes.
package admin

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/history"
	"github.com/junctor-mcp/junctor/internal/identity"
	"github.com/junctor-mcp/junctor/internal/seal"
	"github.com/junctor-mcp/junctor/internal/series"
	"github.com/junctor-mcp/junctor/internal/upstreamauth"
)

// Prefix is the path below which all routes of the API are.
const Prefix = "/api/v1"

// ReferencePath is the path of the page that ServeReference answers with.
const ReferencePath = Prefix + "/reference"

// Keys creates, lists, rotates and revokes keys. Keys are named by id. internal/identity
// implements it.
type Keys interface {
	// CreateKey and RotateKey return the token, which is never shown again. RotateKey
	// keeps the former token valid for grace.
	CreateKey(ctx context.Context, tenant junctor.TenantID, n identity.NewKey) (junctor.Key, string, error)
	RotateKey(ctx context.Context, tenant junctor.TenantID, id string, grace time.Duration) (junctor.Key, string, error)
	// ListKeys lists the keys of a tenant. The caller has to filter them with
	// CanManageKey.
	ListKeys(ctx context.Context, tenant junctor.TenantID) ([]junctor.Key, error)
	// RevokeKey ends a key at once; not_found if the tenant has none with that id.
	RevokeKey(ctx context.Context, tenant junctor.TenantID, id string) error
	// CanManageKey reports whether a principal may see and change a key.
	CanManageKey(p *junctor.Principal, k *junctor.Key) bool
	// AgentOwner returns the owner of an agent, in the form of Principal.ID; not_found if
	// there is no such agent.
	AgentOwner(tenant junctor.TenantID, agent string) (string, error)
}

// Servers adds, changes, reaches and removes servers. Every method judges the principal
// itself: a server that the principal may not see is not_found.
type Servers interface {
	// Servers lists the servers that the principal sees, by id.
	Servers(ctx context.Context, p *junctor.Principal) ([]junctor.Server, error)
	// Server returns one server. Its credentials are masked, and for a principal who does
	// not own it Restricted is set.
	Server(ctx context.Context, p *junctor.Principal, id string) (junctor.Server, error)
	// RemoveServer deletes a server for good.
	RemoveServer(ctx context.Context, p *junctor.Principal, id string) error
	// SetServerState switches a server on or off. If version is not zero, the server has
	// to have that version; otherwise the error is precondition.
	SetServerState(ctx context.Context, p *junctor.Principal, id string, state junctor.ServerState, version time.Time) error

	// AddServer reaches the server first. A server that cannot be reached is not stored,
	// and the error is a junctor.ProbeError.
	AddServer(ctx context.Context, p *junctor.Principal, in ServerInput) (junctor.Server, error)
	// ChangeServer runs change on the stored row and stores the result. change returns the
	// credentials that were entered. If the connection changes, the server is reached
	// first.
	ChangeServer(ctx context.Context, p *junctor.Principal, id string, change func(*junctor.Server) (upstreamauth.LiteralSet, error)) (junctor.Server, error)
	// ProbeServer and TestServer store nothing. An unreachable server is not an error: the
	// probe says so.
	ProbeServer(ctx context.Context, p *junctor.Principal, in ServerInput) (junctor.Probe, error)
	TestServer(ctx context.Context, p *junctor.Principal, id string) (junctor.Probe, error)
	// PreviewServer shows the tools that a document yields. Its steps are fetch, read,
	// tools and preview. It stores nothing.
	PreviewServer(ctx context.Context, p *junctor.Principal, in ServerInput) (junctor.APIPreview, error)
	// FetchDocument returns the text that PreviewServer would read. It stores nothing.
	FetchDocument(ctx context.Context, p *junctor.Principal, in ServerInput) (junctor.APIDocument, error)
	// ImportDocument makes the server from another version of its document. It stores
	// nothing in a dry run, or if the change would break callers and AcceptBreaking is not
	// set.
	ImportDocument(ctx context.Context, p *junctor.Principal, id string, in Import) (Imported, error)
	// Document returns the text that a server is made of; denied if the principal may not
	// read it.
	Document(ctx context.Context, p *junctor.Principal, id string) (junctor.APIDocument, error)
	// ValidateServer reads the stored document again and lists its problems.
	ValidateServer(ctx context.Context, p *junctor.Principal, id string) (junctor.APIPreview, error)
	Suggester
	// ServerStatus returns nil for a server that is not connected to anything.
	ServerStatus(p *junctor.Principal, id string) *junctor.ServerStatus
	// Health returns the health of one server, or of all that the principal sees if id
	// is "", by id. It reaches no server.
	Health(ctx context.Context, p *junctor.Principal, id string) ([]junctor.ServerHealth, error)
	// Offer lists the resources, templates and prompts of a server.
	Offer(ctx context.Context, p *junctor.Principal, id string) (Offer, error)
}

// Tools is the catalog as one principal sees it: a tool that the principal may not see
// does not exist.
type Tools interface {
	// Tools lists the tools that match. server is an id, or "" for all. query is text to
	// search for, or "" for everything. With a role, it lists the tools for that role and
	// those for all roles.
	Tools(p *junctor.Principal, server, query string, role junctor.Role) []junctor.Tool
	// CountTokens returns the number of tools of a server that p sees, and an estimate of
	// the tokens that their definitions use in a model's context.
	CountTokens(p *junctor.Principal, server string) (tools, tokens int)
	// ToolProblems lists the tools that a server lists and that were left out or changed.
	ToolProblems(p *junctor.Principal, server string) []ToolProblem
	// Tool returns one tool by its exposed name, with its schema and classification.
	Tool(ctx context.Context, p *junctor.Principal, name string) (junctor.Tool, error)
}

// Runner runs operations through the guard pipeline. Its results are MCP result objects.
type Runner interface {
	// CallTool calls a tool by its exposed name. isError reports that the tool ran and
	// failed, which is not an error of the call.
	CallTool(ctx context.Context, p *junctor.Principal, name, version string, arguments []byte) (result json.RawMessage, isError bool, err error)
	// Run does the same for a caller who watches progress in sink and can answer requests
	// for input.
	Run(ctx context.Context, p *junctor.Principal, in Run, sink RunSink) (RunResult, error)
}

// Calls reads the records of calls, newest first.
type Calls interface {
	// RecentCalls returns the calls that are kept in memory, also those that run or that
	// the history does not have yet, newest first. more reports that there are further
	// ones.
	RecentCalls(ctx context.Context, p *junctor.Principal, f CallFilter) (calls []junctor.Call, more bool, err error)
	// Tail begins to follow the calls that the principal may see and match selects; nil
	// selects all. match receives calls in the form in which the principal may read them.
	// The caller has to close the tail.
	Tail(p *junctor.Principal, match func(*junctor.Call) bool) Tail
	// CallAccess returns which calls the principal may see, and how much of them.
	CallAccess(ctx context.Context, p *junctor.Principal) (junctor.CallAccess, error)
}

// CallFilter selects calls in memory. Zero members do not filter.
type CallFilter struct {
	HistoryFilter
	Limit  int
	Before junctor.CallPosition // only calls behind it in the list
}

// Secrets stores the credentials that users entrust to this instance. No method returns a
// secret's value. An owner is the thing that a secret belongs to, such as a server's id.
type Secrets interface {
	// Keeps returns nil if a principal may see and change the secrets of an owner.
	// Otherwise it returns the same error as for a server of that name. Every route calls
	// it before the other methods.
	Keeps(ctx context.Context, p *junctor.Principal, owner string) error
	// Put stores a secret, in place of a former one of that name.
	Put(ctx context.Context, tenant junctor.TenantID, owner, name string, s seal.Secret) error
	// Info and List return names and times only.
	Info(ctx context.Context, tenant junctor.TenantID, owner, name string) (seal.SecretInfo, error)
	List(ctx context.Context, tenant junctor.TenantID) ([]seal.SecretInfo, error)
	// Delete forgets a secret; not_found if there is none.
	Delete(ctx context.Context, tenant junctor.TenantID, owner, name string) error
	// Rotate replaces the key that all secrets are sealed under.
	Rotate(ctx context.Context) (seal.RotationResult, error)
}

// History reads calls with their payloads. access comes from
// Calls.CallAccess and bounds what a query may show. *history.History implements it.
type History interface {
	// Flush waits until all calls that were recorded before are written.
	Flush(ctx context.Context) error
	// Query returns a page of calls, newest first.
	Query(ctx context.Context, access junctor.CallAccess, f history.Filter) (history.Page, error)
	// Count counts the calls of all pages, and stops early if there are many.
	Count(ctx context.Context, access junctor.CallAccess, f history.Filter) (junctor.RowTotal, error)
	// Known returns those of the ids that are of calls in the history of the tenant.
	Known(ctx context.Context, tenant junctor.TenantID, ids []string) (map[string]bool, error)
	// Get returns one call; not_found if there is none that access allows.
	Get(ctx context.Context, access junctor.CallAccess, id string) (history.Entry, error)
	// Export writes all calls that match to w, newest first. An error after the first byte
	// leaves a part in w.
	Export(ctx context.Context, w io.Writer, access junctor.CallAccess, f history.Filter, format history.Format) error
}

// Series reads numbers of calls over time, and sums of whole days. *series.Reader implements it.
type Series interface {
	// Read answers a query as far as the principal may see the series.
	Read(ctx context.Context, p *junctor.Principal, q series.Query) (series.Answer, error)
	// Usage returns sums of the calls of whole days by tool, server, user, agent, caller,
	// entry point or day. access comes from Calls.CallAccess.
	Usage(ctx context.Context, access junctor.CallAccess, f series.UsageFilter, by series.UsageGroup) ([]series.Usage, error)
}

// Setting is one effective setting and the source of its value. The function that makes
// the list masks secret values.
type Setting struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"`
	// Problem is why the secret that the value refers to cannot be read.
	Problem string `json:"problem,omitempty" doc:"Why the secret that the value refers to cannot be read. Absent if it can."`
}

// Options holds the parts that the API uses. All but Log and Version are required.
type Options struct {
	// Authenticate returns the principal of a request, or a junctor.Error that says why
	// there is none. It runs before a body is read, and again while a stream goes on.
	Authenticate func(*http.Request) (*junctor.Principal, error)
	// TryPassword counts an attempt at a user's password, together with those of the
	// sign-in page. The error is limited if there were too many.
	TryPassword func(r *http.Request, tenant junctor.TenantID, name string) error
	// ClientAddress returns the address of the client of a request; nil if it is not known.
	ClientAddress func(*http.Request) netip.Addr

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
	Series     Series
	Attention  Attention
	Limits     Limits
	Policies   Policies
	Events     Events
	Applier    Applier
	Journal    Journal
	Changes    Changes
	Cluster    Cluster
	Deliveries Deliveries
	Rooms      Rooms
	Settings   func() []Setting
	// RunsCommands reports whether servers that p adds may run a command on this machine.
	RunsCommands func(p *junctor.Principal) bool
	// WatchCatalog begins to collect changes of the catalog.
	WatchCatalog func() CatalogChanges
	// ListFeed notifies streams; default: of the requests of this handler.
	ListFeed *ListFeed
	Version  string
	Log      *slog.Logger
}

// New returns the handler of everything below Prefix. Registering the routes costs
// milliseconds, which a starting process does not have to spend, so it happens at the
// first request.
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
		{"Series", o.Series == nil},
		{"Attention", o.Attention == nil},
		{"Limits", o.Limits == nil},
		{"Policies", o.Policies == nil},
		{"Events", o.Events == nil},
		{"Applier", o.Applier == nil},
		{"Journal", o.Journal == nil},
		{"Changes", o.Changes == nil},
		{"Cluster", o.Cluster == nil},
		{"Deliveries", o.Deliveries == nil},
		{"Rooms", o.Rooms == nil},
		{"Settings", o.Settings == nil},
		{"RunsCommands", o.RunsCommands == nil},
		{"WatchCatalog", o.WatchCatalog == nil},
	} {
		if part.missing {
			return nil, junctor.Errorf(junctor.CodeInternal, "admin API: Options.%s is missing", part.name)
		}
	}
	if o.ListFeed == nil {
		o.ListFeed = &ListFeed{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Handler{api: sync.OnceValue(func() *api { return newAPI(o) }), log: o.Log}, nil
}

// Handler is the outermost layer of the API. It sets the headers of every answer, recovers
// panics and answers for unknown routes.
type Handler struct {
	api func() *api
	log *slog.Logger
}

// HeaderRequest is the response header with the id of the request. If something went
// wrong, the log has more under that id.
const HeaderRequest = "X-Request-Id"

// requestIDKey is the context key of the request's id.
type requestIDKey struct{}

// requestID returns the id that ServeHTTP gave to a request.
func requestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

// Routes lists the registered routes, each as "METHOD /path". internal/app adds them to
// the list of all routes of the instance.
func (h *Handler) Routes() []string { return h.api().routes }

// ServeHTTP implements http.Handler. The mux is asked for the handler first, so that an
// unknown route is answered with a problem and not with the mux's plain text.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Referrer-Policy", "no-referrer")
	id := rand.Text()
	w.Header().Set(HeaderRequest, id)
	r = r.WithContext(context.WithValue(r.Context(), requestIDKey{}, id))
	defer h.recoverPanic(w, r)

	mux := h.api().mux
	if fallback, pattern := mux.Handler(r); pattern == "" {
		writeProblem(w, noRouteProblem(fallback, w, r))
		return
	}
	mux.ServeHTTP(w, r)
}

// recoverPanic bounds the damage of a panic in a handler to one answer. It passes
// http.ErrAbortHandler on, by which streamFile cuts a connection.
func (h *Handler) recoverPanic(w http.ResponseWriter, r *http.Request) {
	switch v := recover(); v {
	case nil:
	case http.ErrAbortHandler:
		panic(v)
	default:
		h.log.ErrorContext(r.Context(), "admin API handler panicked", "method", r.Method, "path", r.URL.Path, "request", requestID(r.Context()), "panic", v)
		writeProblem(w, newProblem(junctor.Errorf(junctor.CodeInternal, "internal error; see the log of this instance")))
	}
}

// noRouteProblem turns the mux's own refusal into a problem. It takes the status and the
// Allow header from that refusal.
func noRouteProblem(fallback http.Handler, w http.ResponseWriter, r *http.Request) *Problem {
	refusal := &headersOnly{header: http.Header{}}
	fallback.ServeHTTP(refusal, r)
	if refusal.status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", refusal.header.Get("Allow"))
		p := newProblem(junctor.Errorf(junctor.CodeInvalid, "this route does not support the method %s; use %s", r.Method, refusal.header.Get("Allow")))
		p.setStatus(http.StatusMethodNotAllowed)
		return p
	}
	return newProblem(junctor.Errorf(junctor.CodeNotFound, "no route at %s; %s/openapi.json lists every route", r.URL.Path, Prefix))
}

// headersOnly is a ResponseWriter that keeps the status and headers and drops the body.
type headersOnly struct {
	header http.Header
	status int
}

// Header, WriteHeader and Write implement http.ResponseWriter.
func (w *headersOnly) Header() http.Header         { return w.header }
func (w *headersOnly) WriteHeader(status int)      { w.status = status }
func (w *headersOnly) Write(b []byte) (int, error) { return len(b), nil }
