// Package upstreamauth decides with which credentials Junctor calls an upstream
// server: the server's own, those that each user entered for it, or an OAuth login
// that a person made there. It stores them sealed, puts them on requests, tells
// callers without a login how to make one, and keeps a trace of each login.
//
// A Manager serves people: admin and signin call it to log in, to enter credentials
// and to read traces. A ServerAuth serves the calls to one server; servers makes
// one for each attached server and hands it to upstream. Logins are made by
// oauth/client, secrets are sealed by seal, and whether a reference may be read is
// judged by admission.
//
// To read the code, begin with literals.go (credentials inside a connection) and
// reference.go (env:, file: and cmd: references), then source.go, which turns both
// into headers. user_credentials.go holds one Source per user. login.go,
// server_logins.go and login_invitation.go are the OAuth logins, and pin_store.go
// binds client secrets to the places that received them. server_auth.go combines all
// of it for the calls of one server.
package upstreamauth

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admission"
	oauthclient "github.com/junctor-mcp/junctor/internal/oauth/client"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// ServerRegistry looks up upstream servers and applies credential changes to the
// attached ones. Package servers implements it.
type ServerRegistry interface {
	Servers(ctx context.Context, p *junctor.Principal) ([]junctor.Server, error)
	// VisibleServer returns a server that p may see. Errors: not_found if p may
	// not.
	VisibleServer(ctx context.Context, p *junctor.Principal, id string) (junctor.Server, error)
	// ChangeableServer returns a server that p may change.
	ChangeableServer(ctx context.Context, p *junctor.Principal, id string) (junctor.Server, error)
	// AdmittedServer returns a stored server after admission has judged its address
	// and its references, so that it may be connected to.
	AdmittedServer(ctx context.Context, row *junctor.Server) (admission.Server, error)
	// AttachedAuth returns the credentials of the attached server, or nil if the
	// server is not attached with the connection that row describes.
	AttachedAuth(row *junctor.Server) *ServerAuth
	// ResetCredentials makes the next call read the stored credentials of a user
	// again. An empty user means the server's own credentials.
	ResetCredentials(row *junctor.Server, user string)
	// ConnectAfterLogin connects to a server whose shared login was just made.
	ConnectAfterLogin(ctx context.Context, row *junctor.Server)
}

// Vault stores secrets encrypted at rest, by tenant, owner and name.
type Vault interface {
	Get(ctx context.Context, tenant junctor.TenantID, owner, name string) (s seal.Secret, ok bool, err error)
	Put(ctx context.Context, tenant junctor.TenantID, owner, name string, s seal.Secret) error
	Delete(ctx context.Context, tenant junctor.TenantID, owner, name string) error
	Info(ctx context.Context, tenant junctor.TenantID, owner, name string) (seal.SecretInfo, error)
}

// StateStore records which login states were used. UseState returns true only for
// the first use of an id, on any replica.
type StateStore interface {
	UseState(ctx context.Context, tenant junctor.TenantID, id string, expires time.Time) (bool, error)
}

// Users looks up user accounts; a missing user is a not_found error.
type Users interface {
	User(ctx context.Context, tenant junctor.TenantID, id string) (junctor.User, error)
}

// TraceStore keeps the most recent traces of logins.
type TraceStore interface {
	AddTrace(ctx context.Context, tenant junctor.TenantID, t junctor.Trace) error
	// Traces returns at most most traces of a server, newest first. A user limits
	// them to that user's logins.
	Traces(ctx context.Context, tenant junctor.TenantID, server, user string, most int) ([]junctor.Trace, error)
}

// Journal records logins and logouts for the audit log.
type Journal interface {
	Append(ctx context.Context, c *junctor.Call) error
}

// HTTPClients provides the HTTP clients that egress allows for a server.
type HTTPClients interface {
	// ForServer is for the address of the server itself.
	ForServer(row *junctor.Server) *http.Client
	// ForPublicAddress is for token endpoints that a user entered. It applies the
	// egress rules for public addresses, so that a user cannot reach the operator's
	// network.
	ForPublicAddress() *http.Client
	// ForUser returns clients whose connections no other user shares: one for
	// calls, one for streams.
	ForUser(row *junctor.Server) (client, stream *http.Client)
}

// Options are the dependencies of a Manager. All are required except
// ClientDocumentURL.
type Options struct {
	Servers     ServerRegistry
	Vault       Vault
	Sealer      junctor.Sealer
	States      StateStore
	Users       Users
	Traces      TraceStore
	Journal     Journal
	HTTPClients HTTPClients
	Reader      ReferenceReader // reads credentials that are references
	// ChallengeOf extracts the server's challenge from the error of a call that the
	// server refused because of its token. It returns false for other errors.
	ChallengeOf func(error) (oauthclient.Challenge, bool)
	// URL is the address of this instance for API clients, ConsoleURL the one for
	// browsers.
	URL, ConsoleURL func() string
	// CallbackPath is the path of the page to which authorization servers send
	// browsers back.
	CallbackPath string
	// ClientDocumentURL is the public address of the client metadata document. It
	// is empty if authorization servers cannot reach this instance.
	ClientDocumentURL string
	NewID             func() string
	Log               *slog.Logger
}

// Manager handles what users do about credentials: log in to upstream servers,
// enter credentials and read traces. It also makes the ServerAuth of each server.
// It is safe for concurrent use.
type Manager struct {
	Options
	recentFailures recentFailures
}

// NewManager returns a Manager. It reads nothing before the first request.
func NewManager(o Options) *Manager { return &Manager{Options: o} }
