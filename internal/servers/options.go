package servers

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/agent"
	"github.com/junctor-mcp/junctor/internal/audit"
	"github.com/junctor-mcp/junctor/internal/builtin"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/credential"
	"github.com/junctor-mcp/junctor/internal/egress"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/limit"
	"github.com/junctor-mcp/junctor/internal/seal"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/visit"
)

// storeTimeout bounds what is stored for nobody who waits.
const storeTimeout = 5 * time.Second

// Options are the parts of an instance that servers need.
type Options struct {
	Store    *store.Store
	Vault    *seal.Vault
	Catalog  *catalog.Catalog
	Pipeline Pipeline
	Journal  *audit.Journal
	Egress   *egress.Egress
	Bytes    *limit.ByteBudget // of documents, results and requests of replicas
	Sealer   visit.Sealer
	States   visit.States
	Reader   credential.Reader
	Agents   Agents
	Models   Models
	Replicas Replicas // nil: this process shares its database with no other

	// AgentServer gives the built-in server of a tenant that has a tool for each of its
	// remote agents; nil if the tenant has none.
	AgentServer func(junctor.TenantID) *builtin.Server
	// CheckNotDeclared refuses to change a thing that the settings file declares.
	CheckNotDeclared func(noun, id, file string) error
	// Discovered resumes deliveries to a discovered agent whose server was switched on.
	Discovered func(ctx context.Context, tenant junctor.TenantID, agent string) error
	// Operator gives the principal of the operator of this machine.
	Operator func() *junctor.Principal
	// PollsDocuments reports whether this replica looks after documents that change.
	PollsDocuments func() bool
	// URL and ConsoleURL give the addresses of the instance, which are known once it
	// listens. PublicURL is the address that the settings name; nil if they name none.
	URL, ConsoleURL func() string
	PublicURL       *url.URL
	NewID           func() string
	Version         string
	Log             *slog.Logger

	ReplicaBeat   time.Duration // how often a replica says that it lives
	ReplicaExpiry time.Duration // after how long without that it counts as gone

	AllowCommands  bool  // admins may add servers that run a command
	Loopback       bool  // the instance listens on this machine only
	Traced         bool  // calls carry trace contexts
	SharesDatabase bool  // other replicas may add and change servers
	MaxResult      int64 // bytes of one result
	ReservedIDDays int   // for which the id of a removed server stays reserved
}

// Pipeline runs operations for people who use the console.
type Pipeline interface {
	Do(ctx context.Context, op *guard.Op, sink catalog.Sink) (catalog.Result, error)
	List(p *junctor.Principal, view catalog.View, kind catalog.ListKind) ([]byte, error)
}

// Agents knows the roles of agents, and which tools are for which of them.
type Agents interface {
	Roles(ctx context.Context, p *junctor.Principal) ([]admin.RoleInfo, error)
	// CheckRole refuses a role that the tenant does not have.
	CheckRole(ctx context.Context, tenant junctor.TenantID, role junctor.Role) error
	// Reload publishes the grants and tags of a tenant after they have changed.
	Reload(ctx context.Context, tenant junctor.TenantID) error
}

// Models gives the models that suggest names and descriptions of tools.
type Models interface {
	// Only gives the name of the model that is named, or of the only one there is.
	Only(ctx context.Context, tenant junctor.TenantID, name string) (string, error)
	Provider(ctx context.Context, tenant junctor.TenantID, name string) (agent.Provider, junctor.Model, error)
}

// Replicas are the processes that share the database.
type Replicas interface {
	// Self is the id of this replica.
	Self() string
	// Sure reports whether the others count this replica among the living, and will for
	// the next moment.
	Sure() bool
	// Begun reports whether the others know this replica.
	Begun() bool
	// Moved signals that a replica came or went.
	Moved() <-chan struct{}
	// Post sends a request to a replica. The error is unreachable if nothing was sent.
	Post(ctx context.Context, replica, path string, body []byte, header ...string) (*http.Response, error)
}
