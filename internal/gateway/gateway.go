package gateway

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/limit"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Pipeline is what the doors need of guard.
type Pipeline interface {
	Do(ctx context.Context, op *guard.Op, sink catalog.Sink) (catalog.Result, error)
	List(p *junctor.Principal, v catalog.View, kind catalog.ListKind) ([]byte, error)
	// Refuse records who was turned away at a door that names a server or an agent.
	Refuse(ctx context.Context, p *junctor.Principal, door junctor.Door, kind junctor.Kind, name string, why error) error
	// Tasks lists the tasks of a principal, a page at a time.
	Tasks(ctx context.Context, p *junctor.Principal, v catalog.View, cursor string) (tasks [][]byte, next string, err error)
	// HearsOfTask says whether a principal is to hear how a task is doing.
	HearsOfTask(ctx context.Context, p *junctor.Principal, v catalog.View, id string, state []byte) bool
	// GiveUp ends a call whose client was asked for input and will not give it.
	GiveUp(ctx context.Context, op *guard.Op, why error)
	// HeldBy is the process that a call waits in; "" where any may go on with it.
	HeldBy(requestState string) string
}

// Sealer makes the text of session ids.
type Sealer interface {
	Seal(purpose string, plaintext []byte) string
	Open(purpose, text string) ([]byte, error)
}

// Challenger tells clients how to come by a token that opens a door, in the
// words of WWW-Authenticate.
type Challenger interface {
	// Challenge is for a request without a credential that is valid here, and err
	// is why; "" at a door that takes no tokens.
	Challenge(r *http.Request, err error) string
	// StepUp is for a principal that lacks a scope; "" where no token would help.
	StepUp(r *http.Request, p *junctor.Principal, lacks junctor.Scope) string
}

// Info is how the gateway names itself to clients.
type Info struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

// Doors says which doors are open. A door that is off answers 404, and nothing
// is started for it.
type Doors struct{ MCP, SSE, Plain, Call, Stdio bool }

// Options of a Gateway. All but those with a default must be set.
type Options struct {
	Pipeline     Pipeline
	Catalog      *catalog.Catalog
	Authenticate func(*http.Request) (*junctor.Principal, error)
	Challenger   Challenger // nil: the doors take keys alone
	Sealer       Sealer
	Sessions     SessionStore
	Peers        Peers  // nil: this process is alone
	Replay       Replay // nil: what was sent on streams is gone with the process
	Info         Info
	Doors        Doors
	Bridge       Bridge                                          // nil: the bridge calls registered servers only
	Ended        func(tenant junctor.TenantID, session string)   // told when a client has ended its session; may be nil
	RootsChanged func(p *junctor.Principal, session string)      // told when a client says that its roots changed; may be nil
	Carry        func(from, ctx context.Context) context.Context // gives a call that outlives its request what belongs to both; may be nil
	Logger       *slog.Logger
	Now          func() time.Time
	NewID        func() string

	Bytes      *limit.ByteBudget // bounds the bytes of bodies and results in flight; nil does not
	MaxStreams int               // open streams of one party: GET, subscriptions/listen, /sse; default 256
	BodyFor    time.Duration     // how long a client may take to send a body; default 30 s
	MaxBody    int64             // bytes of one message; default 4 MiB
	ListTTL    time.Duration     // how long a modern client may keep a list; default 10 s
	KeepAlive  time.Duration     // between comment lines on a quiet stream; default 15 s
	PollAfter  time.Duration     // a legacy stream is closed after this and resumed by its client; default 5 min
	AskFor     time.Duration     // a legacy client has this long to answer a question; default 10 min
	Idle       time.Duration     // a legacy session leaves memory after this; it can be opened again; default 10 min
}

// Gateway serves the doors. Close ends its streams and background work.
type Gateway struct {
	options     Options
	serverInfo  []byte // JSON
	jsonType    []string
	sseType     []string
	messagePool sync.Pool

	ctx        context.Context // ends with Close
	cancel     context.CancelFunc
	background *backgroundWork

	sessions       sessionTable
	openStreams    openStreams
	sseConnections duplexTable // of the HTTP+SSE door
}

// New makes a Gateway and starts what forgets idle sessions.
func New(o Options) (*Gateway, error) {
	if o.Pipeline == nil || o.Catalog == nil || o.Authenticate == nil || o.Sealer == nil || o.Sessions == nil ||
		o.Logger == nil || o.Now == nil || o.NewID == nil || o.Info.Name == "" {
		return nil, junctor.Errorf(junctor.CodeInternal, "gateway: a part of Options is missing")
	}
	setDefault(&o.MaxBody, 4<<20)
	setDefault(&o.MaxStreams, 256)
	setDefault(&o.BodyFor, 30*time.Second)
	setDefault(&o.ListTTL, 10*time.Second)
	setDefault(&o.KeepAlive, 15*time.Second)
	setDefault(&o.PollAfter, 5*time.Minute)
	setDefault(&o.AskFor, 10*time.Minute)
	setDefault(&o.Idle, 10*time.Minute)
	info, err := json.Marshal(o.Info)
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

func setDefault[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

// Close ends all streams and waits for what runs, but not for ever: a backend
// that does not heed its context must not keep the process.
func (g *Gateway) Close() {
	g.cancel()
	g.background.stopWithin(closeWait)
}

// Mux is what the doors are registered on.
type Mux interface {
	HandleFunc(pattern string, handler func(http.ResponseWriter, *http.Request))
}

// Routes registers the doors that are open.
func (g *Gateway) Routes(mux Mux) {
	if g.options.Doors.MCP {
		mux.HandleFunc("/mcp", g.serveMCP)
		mux.HandleFunc("/mcp/s/{server}", g.serveMCP)
		mux.HandleFunc("/mcp/a/{agent}", g.serveMCP)
	}
	if g.options.Doors.Plain {
		mux.HandleFunc("/mcp/request", g.servePlain)
		mux.HandleFunc("/mcp/tools", g.serveTools)
		mux.HandleFunc("/mcp/a/{agent}/request", g.servePlain)
		mux.HandleFunc("/mcp/a/{agent}/tools", g.serveTools)
	}
	if g.options.Doors.Call {
		mux.HandleFunc("/mcp/call", g.serveCall)
		mux.HandleFunc("/mcp/a/{agent}/call", g.serveCall)
	}
	if g.options.Doors.SSE {
		mux.HandleFunc("/sse", g.serveSSE)
		mux.HandleFunc("/messages", g.serveMessages)
	}
}

// inboundMessage is one message on its way in, with the buffer it was read into and those
// for its result and its answer. It is pooled: whoever holds it last releases it.
type inboundMessage struct {
	body     []byte
	result   []byte
	response []byte
	message  wire.Message
}

func (g *Gateway) releaseMessage(in *inboundMessage) {
	if max(cap(in.body), cap(in.result), cap(in.response)) > 1<<20 {
		return // let large ones go
	}
	in.message = wire.Message{}
	g.messagePool.Put(in)
}
