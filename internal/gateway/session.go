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

// SavedSession is what of a legacy session does not fit into its id, or changes
// after it was made.
type SavedSession struct {
	ID            string
	Issuer        string
	Subject       string
	LogLevel      string
	Subscriptions []string
	Capabilities  []byte
	Expires       time.Time
}

// SessionStore keeps the rows of sessions and what was ended.
type SessionStore interface {
	SaveSession(ctx context.Context, tenant junctor.TenantID, s SavedSession) error
	// LoadSession gives ok false where nothing was saved.
	LoadSession(ctx context.Context, tenant junctor.TenantID, id string) (s SavedSession, ok bool, err error)
	RevokeSession(ctx context.Context, tenant junctor.TenantID, id string, expires time.Time) error
	SessionRevoked(ctx context.Context, tenant junctor.TenantID, id string) (bool, error)
}

const (
	purposeSession        = "session"
	sessionLifetime       = 30 * 24 * time.Hour
	maxSealedCapabilities = 2 << 10 // larger capabilities are stored, not sealed
	streamRetention       = 5 * time.Minute
)

// sealedSession is what a legacy session id holds. Any process that has the
// keys can open it: a restart ends no session.
type sealedSession struct {
	ID      string           `json:"n"`
	Tenant  junctor.TenantID `json:"t"`
	Issuer  string           `json:"i"`
	Subject string           `json:"s"`
	Server  string           `json:"w,omitempty"` // the view it was made on
	Agent   string           `json:"a,omitempty"` // whom its party is, or acts as
	Version string           `json:"v"`
	Profile junctor.Profile  `json:"p,omitempty"` // by the client's name
	Caps    json.RawMessage  `json:"c,omitempty"`
	Stored  bool             `json:"x,omitempty"` // capabilities are in its row
	Expires int64            `json:"e"`
}

// session is a legacy client's: the handshake's outcome and what runs under it.
// On stdio and HTTP+SSE it lives as long as the connection and has no id.
type session struct {
	sealedID     string // the sealed id as the client sends it
	sealed       sealedSession
	version      string
	capabilities []byte
	clientInfo   []byte

	id     string // tells it from every other, for what servers keep for it
	bootID string // part of every stream's id: what another process sent is not ours to replay

	postPrefix string // what the ids of the streams of POSTs begin with

	mu                sync.Mutex
	lastUsed          time.Time
	logLevel          string
	subscriptions     map[string]bool
	calls             map[string]*runningCall        // by request id
	inputRequests     map[string]chan clientResponse // by the id of our request
	streams           map[string]*stream             // that a client can resume, by id
	notifications     *stream                        // list changes and updates: the stream of GET
	lastInputID       int
	lastPostNumber    int
	stopNotifications context.CancelFunc // of what pumps notes
	closed            bool
}

func newSession(boot, version string, caps, info []byte) *session {
	return &session{
		bootID: boot, postPrefix: "p" + boot, version: version, capabilities: slices.Clone(caps), clientInfo: slices.Clone(info), subscriptions: map[string]bool{},
		calls: map[string]*runningCall{}, inputRequests: map[string]chan clientResponse{}, streams: map[string]*stream{},
	}
}

// newCaller is what the client declared, for one request.
func (s *session) newCaller(progress bool) catalog.Caller {
	s.mu.Lock()
	defer s.mu.Unlock()
	return catalog.Caller{Protocol: s.version, Session: s.id, Capabilities: s.capabilities, Info: s.clientInfo, LogLevel: s.logLevel, Progress: progress}
}

// runningCall is a request that can be cancelled.
type runningCall struct{ cancel context.CancelFunc }

// beginCall notes a request that runs, so that it can be cancelled; done forgets it.
// Of two with one id, which a client must not send, the newer is known by it.
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

func (s *session) endCall(id []byte, r *runningCall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls[string(id)] == r {
		delete(s.calls, string(id))
	}
}

// cancelCall ends the request that a client no longer wants; false where it does
// not run here.
func (s *session) cancelCall(id []byte) bool {
	s.mu.Lock()
	r := s.calls[string(id)]
	s.mu.Unlock()
	if r != nil {
		r.cancel()
	}
	return r != nil
}

// changeFilter is what the session wants to hear of, now.
func (s *session) changeFilter() changeFilter {
	s.mu.Lock()
	defer s.mu.Unlock()
	want := changeFilter{tools: true, prompts: true, resources: true, uris: maps.Clone(s.subscriptions)}
	if s.version >= wire.V20251125 {
		want.session = s.id
	}
	return want
}

// close ends everything that runs under the session.
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

// isIdle says whether the session can leave memory: nothing runs, nobody listens,
// and nothing waits to be fetched. It also lets go of streams that were done
// long ago.
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

// toRow is the row of a session.
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
