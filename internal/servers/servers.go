package servers

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/admission"
	"github.com/junctor-mcp/junctor/internal/builtin"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/egress"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/upstreamauth"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Registry connects the stored rows of servers to the backends that run them.
type Registry struct {
	o       Options
	builtin map[string]*builtin.Server
	public  Clients // for URLs that any caller may supply
	local   Clients // for servers that the operator put on this machine
	Auth    *upstreamauth.Manager
	Judge   *admission.Judge // judges everything that a caller defines

	mu         sync.Mutex // held over each change of the maps below
	live       map[serverKey]*attachedServer
	made       map[serverKey]*generatedServer // attached generated servers
	inside     map[serverKey]junctor.Server   // attached built-in servers
	tested     map[serverKey]serverTest       // last tests
	broken     map[serverKey]string           // why an active server could not be attached
	homes      map[serverKey]junctor.Server   // servers that run on one replica (single_replica.go)
	revisions  map[serverKey]uint64           // number of changes per key
	changing   map[serverKey]*sync.Mutex      // held over each change of a row and of its attached backend
	retiring   map[*serverConnection]struct{}
	suggesting map[serverKey]bool // servers with a running request for proposals
	work       sync.WaitGroup
	closed     bool

	ending context.Context // ends with Close

	forwarded    atomic.Int64    // calls of other replicas that run here
	isDraining   atomic.Bool     // set by BeginDrain
	late         atomic.Int64    // those of them that began since
	answering    context.Context // of those calls
	endForwarded context.CancelCauseFunc
	end          context.CancelFunc
}

type serverKey struct {
	tenant junctor.TenantID
	id     string
}

// New returns a registry without servers. AddBinaryServers and AttachAll fill
// it, Close ends it.
func New(o Options) *Registry {
	ending, end := context.WithCancel(context.Background())
	answering, endForwarded := context.WithCancelCause(ending)
	s := &Registry{
		o: o, ending: ending, end: end, answering: answering, endForwarded: endForwarded, revisions: map[serverKey]uint64{}, changing: map[serverKey]*sync.Mutex{}, builtin: map[string]*builtin.Server{},
		live: map[serverKey]*attachedServer{}, made: map[serverKey]*generatedServer{}, inside: map[serverKey]junctor.Server{}, tested: map[serverKey]serverTest{}, broken: map[serverKey]string{}, homes: map[serverKey]junctor.Server{}, retiring: map[*serverConnection]struct{}{}, suggesting: map[serverKey]bool{},
	}
	s.public, s.local = s.newClients(), s.newClients(egress.LoopbackPrefixes()...)
	s.Auth = s.newAuthManager()
	s.Judge = admission.New(admission.Options{AllowCommands: o.AllowCommands, ThisMachineOnly: o.ThisMachineOnly, CheckReference: o.Reader.Check, Reserved: s.reservedID, Refused: s.recordRefusal})
	return s
}

// lockServer locks a server against other changes until release is called: a
// stored row is attached before the next row is stored or followed. It is never
// held while the server itself is being reached.
func (s *Registry) lockServer(tenant junctor.TenantID, id string) (release func()) {
	key := serverKey{tenant, id}
	s.mu.Lock()
	one := s.changing[key]
	if one == nil {
		one = &sync.Mutex{}
		s.changing[key] = one
	}
	s.mu.Unlock()
	one.Lock()
	return one.Unlock
}

// AttachAll attaches every active server as its row says. It waits for no
// upstream server: each serves its stored offer until it answers.
func (s *Registry) AttachAll(ctx context.Context) error {
	all, err := s.o.Store.For(junctor.DefaultTenant).Servers(ctx)
	if err != nil {
		return err
	}
	s.work.Go(s.pollDocuments)
	return s.o.Catalog.Together(func() error {
		for _, row := range all {
			if row.Mode == junctor.ModeBuiltin && row.State != junctor.StateInactive {
				if err := s.AttachBuiltin(ctx, &row); err != nil {
					return err
				}
			}
		}
		return s.attachUpstreams(ctx)
	})
}

// Servers lists the servers that the principal may see.
func (s *Registry) Servers(ctx context.Context, p *junctor.Principal) ([]junctor.Server, error) {
	rows, err := s.o.Store.For(p.Tenant).Servers(ctx)
	if err != nil {
		return nil, err
	}
	rows = slices.DeleteFunc(rows, func(row junctor.Server) bool { return !s.isVisible(p, &row) })
	for i := range rows {
		s.addStatus(&rows[i])
	}
	return rows, nil
}

// isVisible reports whether a principal may know of a server. An agent may know
// of the servers that its grants name.
func (s *Registry) isVisible(p *junctor.Principal, row *junctor.Server) bool {
	if p.Agent != "" {
		_, err := s.o.Catalog.Snapshot().For(p.Tenant).Server(p, row.ID)
		return err == nil
	}
	return !row.Private || row.Owner == p.ID() || p.Has(junctor.ScopeAdmin)
}

// VisibleServer returns the row of a server that the principal may know of.
func (s *Registry) VisibleServer(ctx context.Context, p *junctor.Principal, id string) (junctor.Server, error) {
	row, err := s.o.Store.For(p.Tenant).Server(ctx, id)
	if err == nil && !s.isVisible(p, &row) {
		return junctor.Server{}, junctor.Errorf(junctor.CodeNotFound, "unknown server %q", id)
	}
	return row, err
}

// OwnedServer returns the row of a server that the principal may change: admins
// and services may change every server that they see, users only those that
// they added.
func (s *Registry) OwnedServer(ctx context.Context, p *junctor.Principal, id string) (junctor.Server, error) {
	row, err := s.VisibleServer(ctx, p, id)
	if err == nil && !admission.Owns(p, row.Owner) {
		err = junctor.Errorf(junctor.CodeDenied, "the server %q is not yours: ask its owner or an admin to change it", id)
	}
	return row, err
}

// CheckOwner returns an error unless the principal may change the server.
func (s *Registry) CheckOwner(ctx context.Context, p *junctor.Principal, id string) error {
	_, err := s.OwnedServer(ctx, p, id)
	return err
}

// Server returns one server that the principal may see.
func (s *Registry) Server(ctx context.Context, p *junctor.Principal, id string) (junctor.Server, error) {
	row, err := s.VisibleServer(ctx, p, id)
	s.addStatus(&row)
	return row, err
}

// RemoveServer removes a server for a principal that may change it.
func (s *Registry) RemoveServer(ctx context.Context, p *junctor.Principal, id string) error {
	row, err := s.OwnedServer(ctx, p, id)
	if err != nil {
		return err
	}
	if err := s.o.CheckNotDeclared("server", id, row.Declared); err != nil {
		return err
	}
	return s.DeleteServer(ctx, p.Tenant, id)
}

// DeleteServer removes a server with its credentials. Running calls continue to
// their end.
func (s *Registry) DeleteServer(ctx context.Context, tenant junctor.TenantID, id string) error {
	defer s.lockServer(tenant, id)()
	return s.removeLocked(ctx, tenant, id)
}

// removeLocked is DeleteServer for callers that hold the server's lock.
func (s *Registry) removeLocked(ctx context.Context, tenant junctor.TenantID, id string) error {
	if err := s.o.Store.For(tenant).RemoveServer(ctx, id); err != nil {
		return err
	}
	if err := s.o.Agents.Reload(context.WithoutCancel(ctx), tenant); err != nil { // its grants and tags were deleted with it
		return err
	}
	s.detachServer(tenant, id)
	return s.deleteAllSealed(context.WithoutCancel(ctx), tenant, id)
}

// SetServerState enables or disables a server.
func (s *Registry) SetServerState(ctx context.Context, p *junctor.Principal, id string, state junctor.ServerState, version time.Time) error {
	if state != junctor.StateActive && state != junctor.StateInactive {
		return junctor.Errorf(junctor.CodeInvalid, "state must be active or inactive, not %q", string(state))
	}
	row, err := s.OwnedServer(ctx, p, id)
	if err != nil {
		return err
	}
	if err := s.o.CheckNotDeclared("server", id, row.Declared); err != nil {
		return err
	}
	if err := junctor.CheckVersion(version, row.UpdatedAt); err != nil {
		return err
	}
	defer s.lockServer(p.Tenant, id)()
	rows := s.o.Store.For(p.Tenant).By(p.ID())
	if version.IsZero() { // store only the state; other changes of the row stay
		err = rows.SetServerState(ctx, id, state, "")
	} else {
		err = rows.SwitchServer(ctx, id, state, version)
	}
	if err != nil {
		return err
	}
	admitted, err := rows.AdmittedServer(ctx, id)
	if err != nil {
		return err
	}
	row = admitted.Row()
	s.detachServer(p.Tenant, id)
	switch {
	case state == junctor.StateInactive:
		return nil
	case row.Mode == junctor.ModeBYO:
		return s.attachUpstream(ctx, admitted, nil)
	case row.Mode == junctor.ModeGenerated:
		return s.attachGenerated(ctx, admitted)
	case row.Mode == junctor.ModeDiscovered:
		return s.o.Discovered(ctx, p.Tenant, row.Discovered) // deliver what was held in the meantime
	}
	return s.AttachBuiltin(ctx, &row)
}

// Tools lists the tools that the principal can see.
func (s *Registry) Tools(p *junctor.Principal, server, query string, role junctor.Role) []junctor.Tool {
	return s.o.Catalog.Snapshot().For(p.Tenant).Describe(p, catalog.Filter{Server: server, Query: query, Role: role})
}

// CountTokens returns the number of tools of a server that the principal sees, and an
// estimate of the tokens that their definitions use.
func (s *Registry) CountTokens(p *junctor.Principal, server string) (tools, tokens int) {
	return s.o.Catalog.Snapshot().For(p.Tenant).CountTokens(p, server)
}

// ToolProblems returns the tools of a server that were left out of the catalog
// or changed, for principals that see the server.
func (s *Registry) ToolProblems(p *junctor.Principal, server string) []admin.ToolProblem {
	of, err := s.o.Catalog.Snapshot().For(p.Tenant).Server(p, server)
	if err != nil {
		return nil
	}
	var found []admin.ToolProblem
	for _, one := range of.Problems {
		found = append(found, admin.ToolProblem{Tool: one.Tool, Effect: string(one.Effect), Reason: one.Reason})
	}
	return found
}

// Tool returns one tool, with the time of its last change.
func (s *Registry) Tool(ctx context.Context, p *junctor.Principal, name string) (junctor.Tool, error) {
	tool, err := s.o.Catalog.Snapshot().For(p.Tenant).DescribeOne(p, name)
	if err != nil {
		return tool, err
	}
	changes, err := s.o.Store.For(p.Tenant).Changes(ctx, tool.Server, tool.Name, 1)
	if len(changes) > 0 {
		tool.ChangedAt = changes[0].SeenAt
	}
	return tool, err
}

// CallTool runs a tool for the admin API, through the pipeline.
func (s *Registry) CallTool(ctx context.Context, p *junctor.Principal, name, version string, arguments []byte) (json.RawMessage, bool, error) {
	if arguments != nil {
		if err := wire.CheckJSON(arguments); err != nil {
			return nil, false, junctor.Errorf(junctor.CodeInvalid, "arguments: %w", err)
		}
	}
	res, err := s.o.Pipeline.Do(ctx, &guard.Op{
		Principal: p, EntryPoint: junctor.EntryAdmin, Scope: catalog.Scope{Plain: true, Audience: catalog.Watching(p)}, Kind: junctor.KindTool, Name: name, Version: version,
		Params: arguments, Arguments: arguments, Caller: catalog.Caller{Protocol: wire.ModernVersion},
	}, catalog.Discard{})
	return res.Body, res.IsError, err
}
