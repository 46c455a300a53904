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

// keepAliveInterval is how often an idle stream gets a comment, so that proxies do
// not close it.
const keepAliveInterval = 15 * time.Second

// Vault stores the secrets of push notifications encrypted.
type Vault interface {
	// Put stores a secret, and replaces a former one of the same owner and name.
	Put(ctx context.Context, tenant junctor.TenantID, owner, name string, s seal.Secret) error
	// Get returns a secret; the second result is false if there is none.
	Get(ctx context.Context, tenant junctor.TenantID, owner, name string) (seal.Secret, bool, error)
}

// Options are the dependencies of a Server. All are required.
type Options struct {
	Store *store.Store
	Vault Vault
	// Mind returns a turn of a published agent without messages. The agent acts
	// with its own permissions, for every caller.
	NewTurn func(ctx context.Context, tenant junctor.TenantID, name string) (agent.Turn, error)
	// Tools lists the tools of a published agent, for its extended card.
	Tools func(ctx context.Context, a *junctor.Agent) ([]junctor.Tool, error)
	// Catalogs returns the A2UI component catalogs that agents of a tenant may use.
	Catalogs func(ctx context.Context, tenant junctor.TenantID) *a2ui.Catalogs
	// Authenticate returns the principal of a request.
	Authenticate func(*http.Request) (*junctor.Principal, error)
	Client       *http.Client  // of egress, for push notifications
	URL          func() string // public base URL of this instance
	Now          func() time.Time
	Replica      string // name of this replica
	MaxBody      int64
	Log          *slog.Logger
}

// Server serves the protocol for all published agents. Begin must run before the
// first request and Run all the time; Close ends it.
type Server struct {
	Options
	rpc10, rpc03, rest10, rest03 http.Handler

	lifetime context.Context // ends with Close; tasks and streams use it
	stop     context.CancelFunc
	workers  sync.WaitGroup

	mu           sync.Mutex
	liveTasks    map[taskKey]*liveTask
	tasksByParty map[string]int // number of live tasks per party
	isClosed     bool
}

// taskKey identifies a task across tenants.
type taskKey struct {
	tenant junctor.TenantID
	id     string
}

// New checks the options and returns a Server.
func New(o Options) (*Server, error) {
	if o.Store == nil || o.Vault == nil || o.NewTurn == nil || o.Tools == nil || o.Catalogs == nil || o.Authenticate == nil || o.Client == nil || o.URL == nil || o.Now == nil || o.Replica == "" || o.MaxBody <= 0 || o.Log == nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "a2a: a part of Options is missing")
	}
	s := &Server{Options: o, liveTasks: map[taskKey]*liveTask{}, tasksByParty: map[string]int{}}
	s.lifetime, s.stop = context.WithCancel(context.Background())
	// The library's logger is off: the handler logs every failure itself.
	handler := &a2asrv.InterceptedHandler{Handler: &requestHandler{s}, Logger: slog.New(slog.DiscardHandler)}
	alive := a2asrv.WithTransportKeepAlive(keepAliveInterval)
	s.rpc10, s.rest10 = a2asrv.NewJSONRPCHandler(handler, alive), a2asrv.NewRESTHandler(handler, alive)
	s.rpc03, s.rest03 = a2av0.NewJSONRPCHandler(handler, alive), a2av0.NewRESTHandler(handler, alive)
	return s, nil
}

// Paths of the endpoints.
const (
	cardPath = "/.well-known/agent-card.json"
	restPath = "/rest"
)

// RegisterRoutes registers the endpoints: agent cards, JSON-RPC and HTTP+JSON.
func (s *Server) RegisterRoutes(mux junctor.Mux) {
	mux.HandleFunc("GET "+cardPath, s.serveDefaultCard)
	mux.HandleFunc("GET /a2a/{agent}"+cardPath, s.serveCard)
	// With and without a slash at the end: cards have the slash, and people leave
	// it out.
	mux.HandleFunc("POST /a2a/{agent}", s.serveRPC)
	mux.HandleFunc("POST /a2a/{agent}/{$}", s.serveRPC)
	mux.HandleFunc("/a2a/{agent}"+restPath+"/{path...}", s.serveREST)
}

// Close stops all tasks and streams, and returns when the ends of the tasks are
// stored and no push notification is in flight.
func (s *Server) Close() {
	s.mu.Lock()
	s.isClosed = true
	s.mu.Unlock()
	s.stop()
	s.workers.Wait()
}

// addLiveTask registers a task that this process works on. It fails if the party
// has too many live tasks or the server is closed. removeLiveTask must follow.
func (s *Server) addLiveTask(l *liveTask, party string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.isClosed:
		return junctor.Errorf(junctor.CodeUnavailable, "the instance is stopping; try again in a moment")
	// One party must not occupy the whole process.
	case s.tasksByParty[party] >= maxTasksPerParty:
		return junctor.Errorf(junctor.CodeLimited, "you have reached the limit of %d tasks at the same time: wait until one has ended", maxTasksPerParty)
	}
	s.tasksByParty[party]++
	s.liveTasks[taskKey{l.row.Tenant, l.row.ID}] = l
	s.workers.Add(1)
	return nil
}

// removeLiveTask undoes addLiveTask.
func (s *Server) removeLiveTask(l *liveTask, party string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tasksByParty[party]--; s.tasksByParty[party] == 0 {
		delete(s.tasksByParty, party)
	}
	delete(s.liveTasks, taskKey{l.row.Tenant, l.row.ID})
	s.workers.Done()
}

// findLiveTask returns the task of an id if this process works on it, otherwise
// nil.
func (s *Server) findLiveTask(tenant junctor.TenantID, id string) *liveTask {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.liveTasks[taskKey{tenant, id}]
}
