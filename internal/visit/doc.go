// Package visit knows with what the servers of others are called: with the
// server's own credentials, with those that each user entered for it, or with a
// login that a person made there. It keeps them sealed, puts them on requests,
// tells callers without a login how to make one, and remembers step by step how
// each login went.
//
// It stands between upstream, which sends the requests, and credential and
// oauth, which know how secrets are read and how one logs in. A Desk is where
// people come to, by way of admin and signin; a Server is what the calls to one
// server are made with. app gives both what they need of the rest.
package visit

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admission"
	"github.com/junctor-mcp/junctor/internal/credential"
	"github.com/junctor-mcp/junctor/internal/oauth"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// Servers is what is known of the servers that people brought.
type Servers interface {
	Servers(ctx context.Context, p *junctor.Principal) ([]junctor.Server, error)
	// Seen is a server that p may know of, and Owned one that p may change.
	Seen(ctx context.Context, p *junctor.Principal, id string) (junctor.Server, error)
	Owned(ctx context.Context, p *junctor.Principal, id string) (junctor.Server, error)
	// Admitted is a server as it is stored, to be reached.
	Admitted(ctx context.Context, row *junctor.Server) (admission.Server, error)
	// Attached is what the calls to a server are made with; nil where it is not
	// attached as the row says.
	Attached(row *junctor.Server) *Server
	// Changed has the next call be made with what is stored now of a user, or of
	// the server itself, who is "".
	Changed(row *junctor.Server, user string)
	// Arrived reaches a server that has a new login of its own.
	Arrived(ctx context.Context, row *junctor.Server)
}

// Vault keeps secrets, sealed.
type Vault interface {
	Get(ctx context.Context, tenant junctor.TenantID, owner, name string) (s seal.Secret, ok bool, err error)
	Put(ctx context.Context, tenant junctor.TenantID, owner, name string, s seal.Secret) error
	Delete(ctx context.Context, tenant junctor.TenantID, owner, name string) error
	Info(ctx context.Context, tenant junctor.TenantID, owner, name string) (seal.SecretInfo, error)
}

// Sealer seals what others hold for us.
type Sealer interface {
	Seal(purpose string, plaintext []byte) string
	Open(purpose, text string) ([]byte, error)
}

// States says whether a state is used for the first time.
type States interface {
	UseState(ctx context.Context, tenant junctor.TenantID, id string, expires time.Time) (bool, error)
}

// Users says whether there is a user.
type Users interface {
	User(ctx context.Context, tenant junctor.TenantID, id string) (junctor.User, error)
}

// Traces keeps how logins went: the last ones.
type Traces interface {
	AddTrace(ctx context.Context, tenant junctor.TenantID, t junctor.Trace) error
	// Traces gives those of a server, the newest first; of one user where one is
	// named.
	Traces(ctx context.Context, tenant junctor.TenantID, server, user string, most int) ([]junctor.Trace, error)
}

// Journal records logins.
type Journal interface {
	Append(ctx context.Context, c *junctor.Call) error
}

// Web gives the HTTP clients that a server may be reached with.
type Web interface {
	// For is for the address of a server, and Public for one that anybody may name.
	For(row *junctor.Server) *http.Client
	Public() *http.Client
	// Own has connections of its own, for the calls and for the streams of one user.
	Own(row *junctor.Server) (client, stream *http.Client)
}

// Options is what a Desk needs. All of it is required, but for DocumentURL.
type Options struct {
	Servers Servers
	Vault   Vault
	Sealer  Sealer
	States  States
	Users   Users
	Traces  Traces
	Journal Journal
	Web     Web
	Reader  credential.Reader // of credentials that are references
	// Refusal reads what a server said when it refused a request for its token.
	Refusal func(error) (oauth.Challenge, bool)
	// URL is the address of this instance, and ConsoleURL the one for browsers.
	URL, ConsoleURL func() string
	// CallbackPath is the page that browsers come back to.
	CallbackPath string
	// DocumentURL is where authorization servers read who we are; "" where they
	// cannot.
	DocumentURL string
	NewID       func() string
	Log         *slog.Logger
}

// Desk is where people log in to servers and enter their credentials. It is safe
// for use by several goroutines.
type Desk struct {
	Options
	lately lately
}

// New makes a Desk.
func New(o Options) *Desk { return &Desk{Options: o} }
