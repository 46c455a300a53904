package upstream

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Server is one MCP server as a backend. It connects when it is first used.
type Server struct {
	opts       Options
	clientInfo []byte // clientInfo, as it is sent
	linkOpener *linkOpener
	breaker    breaker

	paramBuilders   sync.Pool
	lastToken       atomic.Uint64
	isolationReason atomic.Pointer[string] // why; nil is not
	lastOffer       atomic.Pointer[listedOffer]
	lastDigest      atomic.Pointer[headerDigest]
	listing         chan struct{} // holds one while the offer is read

	conditional conditionalTools
	pageCache   pageCache

	ctx        context.Context // ends with Close
	cancel     context.CancelFunc
	background backgroundGroup

	mu              sync.Mutex
	closed          bool
	sessions        map[string]*session
	live            map[*session]struct{}     // those with links that are not closed
	ownSubscribers  map[string]map[string]int // URIs that callers wait to hear of on their own sessions, by the session's key
	cleanupTimer    *time.Timer
	followedSession *session // whose stream is listened to; it may be over
	parkedCalls     map[string]*interactiveCall
	taskCalls       map[string]*interactiveCall // that wait for the results of tasks, by the ids that their principals know
	openedTasks     map[string]*openedTask      // by the same
	taskStreams     int                         // that are open for one task each
	state           State

	watch changeWatch
}

// New checks the options. Nothing is dialled or started before it is needed.
func New(o Options) (*Server, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	o.setDefaults()
	s := &Server{
		opts: o, clientInfo: o.clientInfo(), listing: make(chan struct{}, 1), breaker: breaker{serverID: o.ID, now: o.Now, retriesRefused: o.OnDemand},
		sessions: map[string]*session{}, live: map[*session]struct{}{}, ownSubscribers: map[string]map[string]int{}, parkedCalls: map[string]*interactiveCall{},
		taskCalls: map[string]*interactiveCall{}, openedTasks: map[string]*openedTask{},
		watch: newChangeWatch(),
	}
	s.linkOpener = &linkOpener{opts: &s.opts, paramHeaders: func(tool string) []wire.ParamHeader { return s.knownTools()[tool].paramHeaders }}
	if o.Isolated != "" {
		s.isolationReason.Store(&o.Isolated)
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if o.Known != nil {
		s.lastOffer.Store(newListedOffer(o.Known, time.Time{}, 0))
		s.conditional.tools = slices.DeleteFunc(slices.Clone(o.Known.Tools), func(t catalog.ToolDef) bool { return !t.Conditional })
		s.conditional.unconditional = excludeTools(o.Known.Tools, s.conditional.tools)
	}
	return s, nil
}

// Close ends every link and child, and the calls on them. It waits for them. The
// connections that nobody uses are the clients', which other servers share.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	if s.cleanupTimer != nil {
		s.cleanupTimer.Stop()
	}
	for handle, c := range s.parkedCalls {
		c.expiryTimer.Stop()
		c.cancel()
		delete(s.parkedCalls, handle)
	}
	s.mu.Unlock()
	s.cancel()
	s.watch.updatePacer.close()
	s.background.close()
	s.mu.Lock()
	left := make([]*session, 0, len(s.live))
	for sess := range s.live {
		s.removeFromTable(sess)
		left = append(left, sess)
	}
	s.mu.Unlock()
	var closing sync.WaitGroup
	for _, sess := range left {
		closing.Go(func() { s.closeLink(sess) })
	}
	closing.Wait()
}

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
	Sessions  int // open links
	Processes int // of a command
	Parked    int // calls that wait for their clients
	Isolation junctor.Isolation
	Isolated  string // why Isolation is not as it was set; "" where it is
}

// State is how the server is doing now.
func (s *Server) State() State {
	s.mu.Lock()
	st := s.state
	st.Sessions, st.Parked = len(s.live), len(s.parkedCalls)
	s.mu.Unlock()
	if st.Transport == "" {
		st.Transport = s.opts.Transport
	}
	st.Isolation = s.effectiveIsolation()
	if why := s.isolationReason.Load(); why != nil {
		st.Isolated = *why
	}
	if s.opts.Command != nil {
		st.Processes = s.opts.Command.pool.countRunning()
	}
	st.countItems(s.knownOffer())
	return st
}

func (st *State) countItems(o *catalog.Offer) {
	if o == nil {
		return
	}
	names := map[string]struct{}{}
	for i := range o.Tools {
		names[o.Tools[i].Name] = struct{}{}
	}
	st.Tools, st.Resources, st.Templates, st.Prompts = len(names), len(o.Resources), len(o.Templates), len(o.Prompts)
}

// addHandshake fills in what a link's handshake said.
func (st *State) addHandshake(l link, o *Options) {
	st.Era, st.Version = string(eraLegacy), l.protocolVersion()
	if l.isModern() {
		st.Era = string(eraModern)
	}
	st.Name, _ = wire.String(wire.Get(l.serverInfo(), "name"))
	st.Release, _ = wire.String(wire.Get(l.serverInfo(), "version"))
	st.Name, st.Release = o.quoteText(st.Name), o.quoteText(st.Release)
	if _, ok := l.(*sseLink); ok {
		st.Transport = TransportSSE
	}
}

// recordAnswer notes how the server answered, over l where that is known.
func (s *Server) recordAnswer(l link, took time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	if err != nil {
		s.state.Connected, s.state.LastError = false, s.opts.Scrub(describeError(err))
		return
	}
	s.state.Connected, s.state.LastError = true, ""
	s.state.LastSeen, s.state.Latency = s.opts.Now(), took
	if s.state.Era == "" || s.state.Version != l.protocolVersion() {
		s.state.addHandshake(l, &s.opts)
	}
}
