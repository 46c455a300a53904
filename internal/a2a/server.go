package a2a

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/a2ui"
	"github.com/junctor-mcp/junctor/internal/agent"
	"github.com/junctor-mcp/junctor/internal/seal"
	"github.com/junctor-mcp/junctor/internal/store"
)

// keepAlive is how often a quiet stream is written to.
const keepAlive = 15 * time.Second

// Vault seals what pushes are sent with.
type Vault interface {
	Put(ctx context.Context, tenant junctor.TenantID, owner, name string, s seal.Secret) error
	Get(ctx context.Context, tenant junctor.TenantID, owner, name string) (seal.Secret, bool, error)
}

// Options of a Server. All must be set.
type Options struct {
	Store *store.Store
	Vault Vault
	// Mind gives what a published agent thinks with: it acts as itself, whoever
	// talks to it.
	Mind func(ctx context.Context, tenant junctor.TenantID, name string) (agent.Turn, error)
	// Tools lists what a published agent can call, for those who may know.
	Tools func(ctx context.Context, a *junctor.Agent) ([]junctor.Tool, error)
	// Catalogs gives the components that agents of a tenant may answer with.
	Catalogs func(ctx context.Context, tenant junctor.TenantID) *a2ui.Catalogs
	// Authenticate names who is asking.
	Authenticate func(*http.Request) (*junctor.Principal, error)
	Client       *http.Client  // of egress, for pushes
	URL          func() string // where clients reach us
	Now          func() time.Time
	Node         string
	MaxBody      int64
	Log          *slog.Logger
}

// Server is the doors and what is behind them. Close ends it.
type Server struct {
	Options
	rpc10, rpc03, rest10, rest03 http.Handler

	whole context.Context // ends with Close
	stop  context.CancelFunc
	work  sync.WaitGroup

	mu    sync.Mutex
	tasks map[place]*live
	busy  map[string]int // tasks on their way, by party
	gone  bool
}

// place is where a task is found.
type place struct {
	tenant junctor.TenantID
	id     string
}

// New makes a Server.
func New(o Options) (*Server, error) {
	if o.Store == nil || o.Vault == nil || o.Mind == nil || o.Tools == nil || o.Catalogs == nil || o.Authenticate == nil || o.Client == nil || o.URL == nil || o.Now == nil || o.Node == "" || o.MaxBody <= 0 || o.Log == nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "a2a: a part of Options is missing")
	}
	s := &Server{Options: o, tasks: map[place]*live{}, busy: map[string]int{}}
	s.whole, s.stop = context.WithCancel(context.Background())
	// The desk's own words are all that the library logs would add to.
	desk := &a2asrv.InterceptedHandler{Handler: &desk{s}, Logger: slog.New(slog.DiscardHandler)}
	alive := a2asrv.WithTransportKeepAlive(keepAlive)
	s.rpc10, s.rest10 = a2asrv.NewJSONRPCHandler(desk, alive), a2asrv.NewRESTHandler(desk, alive)
	s.rpc03, s.rest03 = a2av0.NewJSONRPCHandler(desk, alive), a2av0.NewRESTHandler(desk, alive)
	return s, nil
}

// Mux is where routes are put.
type Mux interface {
	HandleFunc(pattern string, h func(http.ResponseWriter, *http.Request))
}

// Paths of the doors.
const (
	cardPath = "/.well-known/agent-card.json"
	restPath = "/rest"
)

// Routes puts the doors up.
func (s *Server) Routes(mux Mux) {
	mux.HandleFunc("GET "+cardPath, s.firstCard)
	mux.HandleFunc("GET /a2a/{agent}"+cardPath, s.namedCard)
	mux.HandleFunc("POST /a2a/{agent}", s.serveRPC)
	mux.HandleFunc("POST /a2a/{agent}/{$}", s.serveRPC)
	mux.HandleFunc("/a2a/{agent}"+restPath+"/{path...}", s.serveREST)
}

// Close stops what runs, and waits until that is kept. Streams end.
func (s *Server) Close() {
	s.mu.Lock()
	s.gone = true
	s.mu.Unlock()
	s.stop()
	s.work.Wait()
}

// enter makes room for one more task of a party, unless it has too many.
func (s *Server) enter(l *live, party string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.gone:
		return junctor.Errorf(junctor.CodeUnavailable, "the instance is being stopped; try again in a moment")
	case s.busy[party] >= maxBusy:
		return junctor.Errorf(junctor.CodeLimited, "%d tasks of yours are on their way, as many as may be: wait until one has ended", maxBusy)
	}
	s.busy[party]++
	s.tasks[place{l.row.Tenant, l.row.ID}] = l
	s.work.Add(1)
	return nil
}

// leave is the end of what enter began.
func (s *Server) leave(l *live, party string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy[party]--; s.busy[party] == 0 {
		delete(s.busy, party)
	}
	delete(s.tasks, place{l.row.Tenant, l.row.ID})
	s.work.Done()
}

// running gives the task of an id if this process works on it.
func (s *Server) running(tenant junctor.TenantID, id string) *live {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tasks[place{tenant, id}]
}
