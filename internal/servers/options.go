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
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/egress"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/limit"
	"github.com/junctor-mcp/junctor/internal/seal"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/upstreamauth"
)

// storeTimeout bounds writes in the background.
const storeTimeout = 5 * time.Second

// Options are the parts of an instance that servers need.
type Options struct {
	Store    *store.Store
	Vault    *seal.Vault
	Catalog  *catalog.Catalog
	Pipeline Pipeline
	Journal  *audit.Journal
	Egress   *egress.Egress
	Bytes    *limit.ByteBudget // counts documents, results and requests of replicas
	Sealer   junctor.Sealer
	States   upstreamauth.StateStore
	Reader   upstreamauth.ReferenceReader
	Agents   Agents
	Models   Models
	Replicas Replicas // nil: no other replica shares the database

	// AgentServer returns the built-in server of a tenant with a tool for each
	// of its remote agents; nil if there are none.
	AgentServer func(junctor.TenantID) *RemoteAgentsServer
	// CheckNotDeclared refuses to change a thing that the settings file declares.
	CheckNotDeclared func(noun, id, file string) error
	// Discovered resumes deliveries to a discovered agent whose server was switched on.
	Discovered func(ctx context.Context, tenant junctor.TenantID, agent string) error
	// Operator returns the principal of the operator of this machine.
	Operator func() *junctor.Principal
	// PollsDocuments reports whether this replica polls documents for changes.
	PollsDocuments func() bool
	// URL and ConsoleURL return the addresses of the instance, which are known
	// once it listens. PublicURL is the address that the settings name; nil if
	// they name none.
	URL, ConsoleURL func() string
	PublicURL       *url.URL
	NewID           func() string
	Version         string
	Log             *slog.Logger

	ReplicaBeat   time.Duration // interval of the heartbeats of replicas
	ReplicaExpiry time.Duration // time without a heartbeat after which a replica counts as dead

	AllowCommands   bool  // admins may add servers that run a command
	Loopback        bool  // the instance listens on this machine only
	ThisMachineOnly bool  // and no proxy leads to it
	Traced          bool  // calls calls carry trace contexts
	SharesDatabase  bool  // other replicas may add and change servers
	MaxResult       int64 // bytes of one result
	ReservedIDDays  int   // for which the id of a removed server stays reserved
}

// Pipeline runs operations for users of the console.
type Pipeline interface {
	Do(ctx context.Context, op *guard.Op, sink catalog.Sink) (catalog.Result, error)
	List(p *junctor.Principal, view catalog.Scope, kind catalog.ListKind) ([]byte, error)
}

// Agents knows the roles of agents, and which tools are for which of them.
type Agents interface {
	Roles(ctx context.Context, p *junctor.Principal) ([]admin.RoleInfo, error)
	// CheckRole refuses a role that the tenant does not have.
	CheckRole(ctx context.Context, tenant junctor.TenantID, role junctor.Role) error
	// Reload publishes the grants and tags of a tenant after they have changed.
	Reload(ctx context.Context, tenant junctor.TenantID) error
}

// Models provides the models that propose names and descriptions of tools.
type Models interface {
	// Only returns the named model, or the only model if name is "".
	Only(ctx context.Context, tenant junctor.TenantID, name string) (string, error)
	Provider(ctx context.Context, tenant junctor.TenantID, name string) (agent.Provider, junctor.Model, error)
}

// Replicas is the part of package cluster that servers need.
type Replicas interface {
	// Self is the id of this replica.
	Self() string
	// Sure reports whether the other replicas consider this one alive, now and
	// for a short time to come. Only then may it run a command that must run
	// once.
	Sure() bool
	// Begun reports whether this replica has registered with the others.
	Begun() bool
	// Moved signals that a replica joined or left.
	Moved() <-chan struct{}
	// Post sends a request to a replica. The error is unreachable if nothing was sent.
	Post(ctx context.Context, replica, path string, body []byte, header ...string) (*http.Response, error)
}
