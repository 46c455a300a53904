package gateway

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// SavedSession is the part of a legacy session that does not fit into its id, or changes
// after the session was created.
type SavedSession struct {
	ID            string
	Issuer        string
	Subject       string
	LogLevel      string
	Subscriptions []string
	Capabilities  []byte
	Expires       time.Time
}

// SessionStore stores rows of sessions, and which sessions were ended.
type SessionStore interface {
	SaveSession(ctx context.Context, tenant junctor.TenantID, s SavedSession) error
	// LoadSession returns ok false if nothing was saved.
	LoadSession(ctx context.Context, tenant junctor.TenantID, id string) (s SavedSession, ok bool, err error)
	// RevokeSession marks a session as ended. The mark may be dropped after expires.
	RevokeSession(ctx context.Context, tenant junctor.TenantID, id string, expires time.Time) error
	SessionRevoked(ctx context.Context, tenant junctor.TenantID, id string) (bool, error)
}

const (
	purposeSession        = "session"
	sessionLifetime       = 30 * 24 * time.Hour
	maxSealedCapabilities = 2 << 10         // bytes; larger capabilities are stored, not sealed
	streamRetention       = 5 * time.Minute // how long an ended stream can be resumed
)

// sealedSession is the content of a legacy session id. Any replica with the keys can open
// it, so a restart ends no session.
type sealedSession struct {
	ID      string           `json:"n"`
	Tenant  junctor.TenantID `json:"t"`
	Issuer  string           `json:"i"`
	Subject string           `json:"s"`
	Server  string           `json:"w,omitempty"` // server of the endpoint where it was created
	Agent   string           `json:"a,omitempty"` // agent that the party is, or acts as
	Version string           `json:"v"`
	Profile junctor.Profile  `json:"p,omitempty"` // from the client's name
	// SearchesTools is set if the client searches tools by itself, from its name too.
	SearchesTools bool            `json:"st,omitempty"`
	Capabilities  json.RawMessage `json:"c,omitempty"`
	Stored        bool            `json:"x,omitempty"` // the capabilities are in the session's row
	Expires       int64           `json:"e"`           // seconds since 1970
}

// session is the state of a legacy client: the result of the handshake, and the requests
// and streams that belong to it. On stdio and HTTP+SSE it lives as long as the connection
// and has no sealed id.
type session struct {
	sealedID     string // as the client sends it; "" if the session cannot be resumed
	sealed       sealedSession
	version      string
	capabilities []byte
	clientInfo   []byte // nil after the session was reopened

	id string // unique; servers keep their state for the client under it
	// bootID is part of the ids of streams and requests. It tells those of this opening
	// of the session from those that another replica, or this one before a restart, has
	// sent.
	bootID string

	postPrefix string // beginning of the ids of POST streams

	mu                sync.Mutex // guards the fields below, and version, capabilities and clientInfo on a duplexConn
	lastUsed          time.Time
	logLevel          string
	subscriptions     map[string]bool
	calls             map[string]*runningCall        // running requests by id
	inputRequests     map[string]chan clientResponse // by the id of our request
	streams           map[string]*stream             // that the client can resume, by id
	notifications     *stream                        // the stream of GET: list changes and updates
	lastInputID       int
	lastPostNumber    int
	stopNotifications context.CancelFunc // stops forwardChanges
	closed            bool
}

// newSession makes a session in memory. It copies capabilities and info.
func newSession(boot, version string, caps, info []byte) *session {
	return &session{
		bootID: boot, postPrefix: "p" + boot, version: version, capabilities: slices.Clone(caps), clientInfo: slices.Clone(info), subscriptions: map[string]bool{},
		calls: map[string]*runningCall{}, inputRequests: map[string]chan clientResponse{}, streams: map[string]*stream{},
	}
}

// newCaller returns the description of the client for one request.
func (s *session) newCaller(progress bool) catalog.Caller {
	s.mu.Lock()
	defer s.mu.Unlock()
	return catalog.Caller{Protocol: s.version, Session: s.id, Capabilities: s.capabilities, Info: s.clientInfo, LogLevel: s.logLevel, Progress: progress}
}

// runningCall is a request that can be cancelled. Its address tells two requests with the
// same id apart.
type runningCall struct{ cancel context.CancelFunc }

// beginCall registers a running request, so that it can be cancelled. The caller must
// call endCall. If a client breaks the rules and uses an id twice, the id stands for the
// newer request.
func (s *session) beginCall(id []byte, cancel context.CancelFunc) *runningCall {
	r := &runningCall{cancel}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[string(id)] = r
	if s.closed {
		cancel()
	}
	return r
}

// endCall forgets a request that beginCall registered.
func (s *session) endCall(id []byte, r *runningCall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls[string(id)] == r {
		delete(s.calls, string(id))
	}
}

// cancelCall cancels a request. It returns false if the request does not run here.
func (s *session) cancelCall(id []byte) bool {
	s.mu.Lock()
	r := s.calls[string(id)]
	s.mu.Unlock()
	if r != nil {
		r.cancel()
	}
	return r != nil
}

// changeFilter returns the changes that the session's client receives now.
func (s *session) changeFilter() changeFilter {
	s.mu.Lock()
	defer s.mu.Unlock()
	want := changeFilter{tools: true, prompts: true, resources: true, uris: maps.Clone(s.subscriptions)}
	if s.version >= wire.V20251125 {
		want.session = s.id
	}
	return want
}

// close ends all requests and streams of the session.
func (s *session) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, r := range s.calls {
		r.cancel()
	}
	for _, st := range s.streams {
		st.endStream()
	}
	if s.notifications != nil {
		s.notifications.endStream()
	}
	if s.stopNotifications != nil {
		s.stopNotifications()
	}
}

// isIdle reports whether the session can leave memory: no request runs, the client is not
// listening, no stream waits to be resumed, and the last use is longer ago than after. It
// also drops streams that ended long ago.
func (s *session) isIdle(now time.Time, after time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, st := range s.streams {
		if st.isStale(now) {
			delete(s.streams, id)
		}
	}
	listening := s.notifications != nil && s.notifications.isRead()
	return !listening && len(s.calls) == 0 && len(s.streams) == 0 && now.Sub(s.lastUsed) > after
}

// toRow returns the row to store for a session.
func (s *session) toRow() SavedSession {
	s.mu.Lock()
	defer s.mu.Unlock()
	row := SavedSession{
		ID: s.sealed.ID, Issuer: s.sealed.Issuer, Subject: s.sealed.Subject, LogLevel: s.logLevel,
		Subscriptions: slices.Sorted(maps.Keys(s.subscriptions)), Expires: time.Unix(s.sealed.Expires, 0),
	}
	if s.sealed.Stored {
		row.Capabilities = s.capabilities
	}
	return row
}
