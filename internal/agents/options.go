package agents

import (
	"context"
	"encoding/json"
	"log/slog"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/egress"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/identity"
	"github.com/junctor-mcp/junctor/internal/seal"
	"github.com/junctor-mcp/junctor/internal/store"
)

// Options configures New. All fields are required.
type Options struct {
	Store   *store.Store
	Vault   *seal.Vault // holds the keys of models
	Catalog *catalog.Catalog
	Egress  *egress.Egress // makes the clients that reach models
	Limits  Limits
	// SecretRow converts a sealed secret to the row that the store keeps.
	SecretRow func(seal.StoredSecret) store.Secret
	// URL returns the address of the instance, which is known once it listens.
	URL      func() string
	Loopback bool // the instance listens on this machine only
	// ThisMachineOnly says that no proxy leads to it either.
	ThisMachineOnly bool
	Log             *slog.Logger
}

// Limits applies the limits of agents to their calls.
type Limits interface {
	// SetAgents replaces the agents of a tenant whose limits apply.
	SetAgents(tenant junctor.TenantID, agents []junctor.Agent)
	// CheckTier refuses a tier that the tenant does not have.
	CheckTier(ctx context.Context, tenant junctor.TenantID, tier string) error
}

// Parts are the parts of the instance that are made after the Registry; see
// Registry.Attach. All fields are required.
type Parts struct {
	Identity Identity
	Servers  Servers
	Pipeline Pipeline
	Apps     AppHost
	// EndSessions ends the sessions and streams of the principals that match selects.
	EndSessions func(ctx context.Context, match func(*junctor.Principal) bool) error
	// CheckNotDeclared refuses to change a thing that the settings file declares.
	CheckNotDeclared func(noun, id, file string) error
}

// Identity issues and revokes the keys of agents.
type Identity interface {
	CreateKey(ctx context.Context, tenant junctor.TenantID, n identity.NewKey) (junctor.Key, string, error)
	RevokeAgentKeys(ctx context.Context, tenant junctor.TenantID, agent string) error
	// Reload reads keys and their agents again.
	Reload(ctx context.Context) error
	// UserGroups returns the groups of a user, by id.
	UserGroups(tenant junctor.TenantID, user string) []string
}

// Servers are the servers whose tools agents use.
type Servers interface {
	// Servers lists the servers that the principal may know of.
	Servers(ctx context.Context, p *junctor.Principal) ([]junctor.Server, error)
	// VisibleServer returns a server that the principal may know of.
	VisibleServer(ctx context.Context, p *junctor.Principal, id string) (junctor.Server, error)
	// Tool describes the tool that the principal sees under a name.
	Tool(ctx context.Context, p *junctor.Principal, name string) (junctor.Tool, error)
	// IsAttached reports whether the catalog shows a server.
	IsAttached(tenant junctor.TenantID, id string) bool
	// AttachBuiltin has the catalog show a server that is inside the binary. The error
	// is a conflict if the catalog shows it already.
	AttachBuiltin(ctx context.Context, row *junctor.Server) error
}

// Pipeline runs the tool calls of turns; it is the guard.
type Pipeline interface {
	Do(ctx context.Context, op *guard.Op, sink catalog.Sink) (catalog.Result, error)
	List(p *junctor.Principal, view catalog.Scope, kind catalog.ListKind) ([]byte, error)
	// RecordToolList records that a model received the tools of its agent.
	RecordToolList(ctx context.Context, p *junctor.Principal, entryPoint junctor.EntryPoint, server string, bytes int)
	// AbandonCall ends a call that waits for input which nobody will give.
	AbandonCall(ctx context.Context, op *guard.Op, why error)
	// RecordCallRefusal records a call that was refused before it reached the pipeline.
	RecordCallRefusal(ctx context.Context, op *guard.Op, why error) error
}

// AppHost holds the App views that people have open.
type AppHost interface {
	// ListShownViews lists the open views of a user that show calls of an agent.
	ListShownViews(tenant junctor.TenantID, user, agent string) []junctor.ShownView
	// ListOwnTools asks a view for the tools that it offers itself.
	ListOwnTools(ctx context.Context, p *junctor.Principal, id string) ([]junctor.ViewTool, error)
	// CallOwnTool calls such a tool. It also returns the id of the recorded call.
	CallOwnTool(ctx context.Context, p *junctor.Principal, id, tool string, arguments json.RawMessage) (result json.RawMessage, call string, err error)
}
