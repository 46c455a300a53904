package upstream

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Server is one MCP server as a backend. It connects when it is first used. All methods
// are safe for use by several goroutines. Close must be called once at the end.
type Server struct {
	opts       Options
	clientInfo []byte // as it is sent in handshakes
	linkOpener *linkOpener
	breaker    breaker

	// paramBuilders holds *paramsBuilder for reuse: calls are frequent and their buffers
	// large.
	paramBuilders sync.Pool
	lastToken     atomic.Uint64 // the last progress token that was given
	// isolationReason is why clients no longer share links, regardless of the
	// setting. It is nil while they do, and never becomes nil again.
	isolationReason atomic.Pointer[string]
	// lastOffer is what the server offered when it was last listed; nil before that.
	lastOffer  atomic.Pointer[listedOffer]
	lastDigest atomic.Pointer[headerDigest] // of the credentials of the last call
	// listing is a lock as a channel, so that waiting for it can end with a context. Its
	// holder reads the lists or changes lastOffer based on its old value.
	listing chan struct{}

	conditional conditionalTools
	pageCache   pageCache

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	// background are the goroutines that outlive a call. Close waits for them.
	background backgroundGroup

	mu     sync.Mutex
	closed bool
	// sessions is the table of links that new calls may use, by linkAccess.linkKey.
	sessions map[string]*session
	// live are all sessions whose links are not closed yet, including those that were
	// removed from the table and still have calls.
	live map[*session]struct{}
	// ownSubscribers counts the subscribers of resources on callers' own sessions: by the
	// session's key, then by URI.
	ownSubscribers map[string]map[string]int
	cleanupTimer   *time.Timer
	// followedSession is the session whose stream followServer listens to. It may have
	// ended.
	followedSession *session
	// parkedCalls wait for the answers of their clients, by the handle in requestState.
	parkedCalls map[string]*interactiveCall
	// taskCalls are the open requests for results of legacy tasks, by the task ids that
	// principals know.
	taskCalls   map[string]*interactiveCall
	openedTasks map[string]*openedTask // by the same ids
	taskStreams int                    // open streams for one task each
	state       State

	watch changeWatch
}

// New checks the options and makes a Server. It dials and starts nothing.
func New(o Options) (*Server, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	o.setDefaults()
	s := &Server{
		opts: o, clientInfo: o.clientInfo(), listing: make(chan struct{}, 1), breaker: breaker{serverID: o.ID, now: o.Now, retriesRefused: o.LoginOnDemand},
		sessions: map[string]*session{}, live: map[*session]struct{}{}, ownSubscribers: map[string]map[string]int{}, parkedCalls: map[string]*interactiveCall{},
		taskCalls: map[string]*interactiveCall{}, openedTasks: map[string]*openedTask{},
		watch: newChangeWatch(),
	}
	s.linkOpener = &linkOpener{opts: &s.opts, paramHeaders: func(tool string) []wire.ParamHeader { return s.knownTools()[tool].paramHeaders }}
	if o.IsolationReason != "" {
		s.isolationReason.Store(&o.IsolationReason)
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if o.KnownOffer != nil {
		s.lastOffer.Store(newListedOffer(o.KnownOffer, time.Time{}, 0))
		s.conditional.tools = slices.DeleteFunc(slices.Clone(o.KnownOffer.Tools), func(t catalog.ToolDef) bool { return !t.Conditional })
		s.conditional.unconditional = excludeTools(o.KnownOffer.Tools, s.conditional.tools)
	}
	return s, nil
}

// Close ends all links and child processes, and the calls on them. It waits until they
// have ended. Idle connections stay open: they belong to the HTTP clients, which other
// servers share.
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
	// Background goroutines end before the links are closed: one of them might be opening
	// a link, which would be missed.
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

// State is a snapshot of the condition of a server, for the API.
type State struct {
	Era             string        // modern or legacy; "" before the first answer
	ProtocolVersion string        // protocol version in use
	Transport       Transport     // as detected: sse if the server speaks nothing newer
	ServerName      string        // from serverInfo, for display
	ServerVersion   string        // version from serverInfo, for display
	Connected       bool          // the last request got an answer
	LastError       string        // why not; "" if Connected
	LastSeen        time.Time     // time of the last answer
	Latency         time.Duration // of the last answer
	Tools           int
	Resources       int
	Templates       int
	Prompts         int
	Sessions        int // open links
	Processes       int // of a command
	ParkedCalls     int // calls that wait for their clients
	Isolation       junctor.Isolation
	IsolationReason string // why Isolation differs from the setting; "" if it does not
}

// State gives the current state of the server.
func (s *Server) State() State {
	s.mu.Lock()
	st := s.state
	st.Sessions, st.ParkedCalls = len(s.live), len(s.parkedCalls)
	s.mu.Unlock()
	if st.Transport == "" {
		st.Transport = s.opts.Transport
	}
	st.Isolation = s.effectiveIsolation()
	if why := s.isolationReason.Load(); why != nil {
		st.IsolationReason = *why
	}
	if s.opts.Command != nil {
		st.Processes = s.opts.Command.pool.countRunning()
	}
	st.countItems(s.knownOffer())
	if st.Connected && s.breaker.isOpen() {
		// Calls are refused although the connection may still stand, so it must not be
		// shown as healthy.
		st.Connected, st.LastError = false, cmp.Or(st.LastError, "its last calls failed; Junctor tries again at increasing intervals")
	}
	return st
}

// countItems fills in how many items an offer has. Versions of one tool count once. o may
// be nil.
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

// addHandshake fills in what a link's handshake reported. The texts come from
// the server, so they are scrubbed and cut.
func (st *State) addHandshake(l link, o *Options) {
	st.Era, st.ProtocolVersion = string(eraLegacy), l.protocolVersion()
	if l.isModern() {
		st.Era = string(eraModern)
	}
	st.ServerName, _ = wire.String(wire.Get(l.serverInfo(), "name"))
	st.ServerVersion, _ = wire.String(wire.Get(l.serverInfo(), "version"))
	st.ServerName, st.ServerVersion = o.quoteText(st.ServerName), o.quoteText(st.ServerVersion)
	if _, ok := l.(*sseLink); ok {
		st.Transport = TransportSSE
	}
}

// recordAnswer updates the state after an attempt to use the server: err is why it
// failed, or nil. l is the link of the answer; it may be nil if err is not.
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
	if s.state.Era == "" || s.state.ProtocolVersion != l.protocolVersion() {
		s.state.addHandshake(l, &s.opts)
	}
}
