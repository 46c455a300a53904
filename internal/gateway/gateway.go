package gateway

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/limit"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Pipeline is the part of guard.Guard that the endpoints use. The comments there apply.
type Pipeline interface {
	Do(ctx context.Context, op *guard.Op, sink catalog.Sink) (catalog.Result, error)
	List(p *junctor.Principal, v catalog.Scope, kind catalog.ListKind) ([]byte, error)
	// RecordToolList records that a principal received a list of tools.
	RecordToolList(ctx context.Context, p *junctor.Principal, entryPoint junctor.EntryPoint, server string, bytes int)
	// Refuse records that a principal was rejected at the endpoint of a server or an
	// agent.
	RecordRefusal(ctx context.Context, p *junctor.Principal, entryPoint junctor.EntryPoint, kind junctor.Kind, name string, why error) error
	// Tasks lists the tasks of a principal, one page at a time.
	ListTasks(ctx context.Context, p *junctor.Principal, v catalog.Scope, cursor string) (tasks [][]byte, next string, err error)
	// HearsOfTask reports whether a principal may receive notifications about a task.
	CanReceiveTask(ctx context.Context, p *junctor.Principal, v catalog.Scope, id string, state []byte) bool
	// GiveUp ends a call whose client was asked for input and will not provide it.
	AbandonCall(ctx context.Context, op *guard.Op, why error)
	// HeldBy returns the replica that holds a call; "" if any can continue it.
	WaitingReplica(requestState string) string
}

// Challenger writes WWW-Authenticate headers that tell clients how to get a token for an
// endpoint.
type Challenger interface {
	// Challenge is for a request without a valid credential; err is the reason. It
	// returns "" for an endpoint that accepts no tokens.
	Challenge(r *http.Request, err error) string
	// StepUp is for a principal that lacks a scope. It returns "" if no token would help.
	ScopeChallenge(r *http.Request, p *junctor.Principal, lacks junctor.Scope) string
}

// ServerInfo identifies the gateway to clients, as serverInfo.
type ServerInfo struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

// EntryPoints selects the endpoints to serve. An endpoint that is off answers 404, and nothing
// is started for it.
type EntryPoints struct{ MCP, SSE, Plain, Bridge, Stdio bool }

// Options configures a Gateway. Fields without a default, and without a comment about
// nil, are required.
type Options struct {
	Pipeline     Pipeline
	Catalog      *catalog.Catalog
	Authenticate func(*http.Request) (*junctor.Principal, error)
	Challenger   Challenger // nil: endpoints accept keys only
	Sealer       junctor.Sealer
	Sessions     SessionStore
	Replicas     Replicas    // nil: this is the only replica
	ReplayStore  ReplayStore // nil: sent events are lost with the process
	ServerInfo   ServerInfo
	EntryPoints  EntryPoints
	Bridge       Bridge // nil: the bridge calls registered servers only
	// Ended is called after a client has ended its session. It may be nil.
	OnSessionEnded func(tenant junctor.TenantID, session string)
	// RootsChanged is called when a client reports that its roots have changed. It may be
	// nil.
	OnRootsChanged func(p *junctor.Principal, session string)
	// ClientAddress returns the address of the client of a request; nil if it is not known.
	ClientAddress func(*http.Request) netip.Addr
	// Carry copies request values, such as the trace, to the context of a call that
	// outlives its request. It may be nil.
	CopyContextValues func(from, ctx context.Context) context.Context
	Logger            *slog.Logger
	Now               func() time.Time
	NewID             func() string

	ByteBudget   *limit.ByteBudget // bounds the bytes of bodies and results in flight; nil does not
	MaxStreams   int               // open streams of one party: GET, subscriptions/listen, /sse; default 256
	BodyTimeout  time.Duration     // how long a client may take to send a body; default 30 s
	MaxBody      int64             // bytes of one message; default 4 MiB
	ListTTL      time.Duration     // how long a modern client may cache a list; default 10 s
	KeepAlive    time.Duration     // interval of comment lines on a quiet stream; default 15 s
	PollAfter    time.Duration     // after this a legacy stream is closed, and its client resumes it; default 5 min
	InputTimeout time.Duration     // how long a legacy client may take to answer a request; default 10 min
	IdleTimeout  time.Duration     // after this a legacy session leaves memory; it can be reopened; default 10 min
}

// Gateway serves the endpoints. Close ends its streams and its background work. It is
// safe for concurrent use.
type Gateway struct {
	options     Options
	serverInfo  []byte   // JSON
	jsonType    []string // header values, shared by all responses to save allocations
	sseType     []string
	messagePool sync.Pool // of *inboundMessage

	ctx        context.Context // ends with Close
	cancel     context.CancelFunc
	background *backgroundWork // work that Close waits for

	sessions       sessionTable // legacy sessions in memory
	openStreams    openStreams
	sseConnections duplexTable // open connections of /sse
}

// New makes a Gateway and starts the goroutine that closes idle sessions. It returns an
// error if a required option is missing.
func New(o Options) (*Gateway, error) {
	if o.Pipeline == nil || o.Catalog == nil || o.Authenticate == nil || o.Sealer == nil || o.Sessions == nil ||
		o.Logger == nil || o.Now == nil || o.NewID == nil || o.ServerInfo.Name == "" {
		return nil, junctor.Errorf(junctor.CodeInternal, "gateway: a part of Options is missing")
	}
	setDefault(&o.MaxBody, 4<<20)
	setDefault(&o.MaxStreams, 256)
	setDefault(&o.BodyTimeout, 30*time.Second)
	setDefault(&o.ListTTL, 10*time.Second)
	setDefault(&o.KeepAlive, 15*time.Second)
	setDefault(&o.PollAfter, 5*time.Minute)
	setDefault(&o.InputTimeout, 10*time.Minute)
	setDefault(&o.IdleTimeout, 10*time.Minute)
	info, err := json.Marshal(o.ServerInfo)
	if err != nil {
		return nil, err
	}
	g := &Gateway{options: o, serverInfo: info, jsonType: []string{"application/json"}, sseType: []string{"text/event-stream"}}
	g.background = newBackgroundWork(o.Logger)
	g.messagePool.New = func() any { return &inboundMessage{} }
	g.ctx, g.cancel = context.WithCancel(context.Background())
	g.background.startWork(g.closeIdleSessions)
	return g, nil
}

// setDefault sets v to def if it has its zero value.
func setDefault[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

// Close ends all streams and waits for running requests, for a bounded time: a backend
// that ignores its context must not keep the process alive.
func (g *Gateway) Close() {
	g.cancel()
	g.background.stopWithin(closeWait)
}

// RegisterRoutes registers the endpoints that are switched on.
func (g *Gateway) RegisterRoutes(mux junctor.Mux) {
	if g.options.EntryPoints.MCP {
		mux.HandleFunc("/mcp", g.serveMCP)
		mux.HandleFunc("/mcp/s/{server}", g.serveMCP)
		mux.HandleFunc("/mcp/a/{agent}", g.serveMCP)
	}
	if g.options.EntryPoints.Plain {
		mux.HandleFunc("/mcp/request", g.servePlain)
		mux.HandleFunc("/mcp/tools", g.serveTools)
		mux.HandleFunc("/mcp/a/{agent}/request", g.servePlain)
		mux.HandleFunc("/mcp/a/{agent}/tools", g.serveTools)
	}
	if g.options.EntryPoints.Bridge {
		mux.HandleFunc("/mcp/call", g.serveCall)
		mux.HandleFunc("/mcp/a/{agent}/call", g.serveCall)
	}
	if g.options.EntryPoints.SSE {
		mux.HandleFunc("/sse", g.serveSSE)
		mux.HandleFunc("/messages", g.serveMessages)
	}
}

// inboundMessage is one received message, with buffers for its body, its result and its
// response. It is pooled: exactly one function must call releaseMessage, after the last
// use of any of them.
type inboundMessage struct {
	body     []byte
	result   []byte
	response []byte
	message  wire.Message
}

// releaseMessage returns a message to the pool.
func (g *Gateway) releaseMessage(in *inboundMessage) {
	if max(cap(in.body), cap(in.result), cap(in.response)) > 1<<20 {
		return // the pool must not keep the memory of rare large messages
	}
	in.message = wire.Message{}
	g.messagePool.Put(in)
}
