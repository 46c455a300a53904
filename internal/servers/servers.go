package servers

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/admission"
	"github.com/junctor-mcp/junctor/internal/builtin"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/egress"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/visit"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Registry joins the rows of servers to the backends that run them.
type Registry struct {
	o       Options
	builtin map[string]*builtin.Server
	public  Clients // for addresses that anybody may name
	local   Clients // for servers that the operator put on this machine
	Auth    *visit.Desk
	Judge   *admission.Judge // of everything that a caller defines

	mu         sync.Mutex // held over each change of what is attached
	live       map[serverKey]*attachedServer
	made       map[serverKey]*generated     // auto-generated servers that are attached
	inside     map[serverKey]junctor.Server // built-in servers that are attached
	broken     map[serverKey]string         // why an active server could not be attached
	homes      map[serverKey]junctor.Server // servers that run on one process, on whichever replica (single_replica.go)
	turns      map[serverKey]uint64         // counts the changes under each key
	changing   map[serverKey]*sync.Mutex    // held over each change of a row and of what is attached of it
	retiring   map[*serverConnection]struct{}
	suggesting map[serverKey]bool // a model is being asked about them
	work       sync.WaitGroup
	closed     bool

	ending context.Context // ends with close
	end    context.CancelFunc
}

type serverKey struct {
	tenant junctor.TenantID
	id     string
}

// New makes a registry without servers. AddBuiltin and AttachAll fill it, Close ends it.
func New(o Options) *Registry {
	ending, end := context.WithCancel(context.Background())
	s := &Registry{
		o: o, ending: ending, end: end, turns: map[serverKey]uint64{}, changing: map[serverKey]*sync.Mutex{}, builtin: map[string]*builtin.Server{},
		live: map[serverKey]*attachedServer{}, made: map[serverKey]*generated{}, inside: map[serverKey]junctor.Server{}, broken: map[serverKey]string{}, homes: map[serverKey]junctor.Server{}, retiring: map[*serverConnection]struct{}{}, suggesting: map[serverKey]bool{},
	}
	s.public, s.local = s.newClients(), s.newClients(egress.LoopbackPrefixes()...)
	s.Auth = s.newDesk()
	s.Judge = admission.New(admission.Options{AllowCommands: o.AllowCommands, CheckReference: o.Reader.Check, Reserved: s.reservedID, Refused: s.recordRefusal})
	return s
}

// lockServer keeps everybody else from changing a server, until release is called: a row
// that is stored is attached before the next one is stored, or read by a follower.
// It is never held over a visit to the server itself.
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

// AddBuiltin registers a server of this binary. It is attached where a row says so.
func (s *Registry) AddBuiltin(b *builtin.Server) { s.builtin[b.ID()] = b }

// AttachAll attaches every active server as its row says. No upstream server is waited
// for: each offers what it was last seen with until it has answered.
func (s *Registry) AttachAll(ctx context.Context) error {
	all, err := s.o.Store.For(junctor.DefaultTenant).Servers(ctx)
	if err != nil {
		return err
	}
	s.work.Go(s.poll)
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

// Servers lists the principal's servers.
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

// isVisible says whether a principal may know of a server: an agent of those that its
// lists name.
func (s *Registry) isVisible(p *junctor.Principal, row *junctor.Server) bool {
	if p.Agent != "" {
		_, err := s.o.Catalog.Snapshot().For(p.Tenant).Server(p, row.ID)
		return err == nil
	}
	return !row.Private || row.Owner == p.ID() || p.Has(junctor.ScopeAdmin)
}

// VisibleServer gives the row of a server that the principal may know of.
func (s *Registry) VisibleServer(ctx context.Context, p *junctor.Principal, id string) (junctor.Server, error) {
	row, err := s.o.Store.For(p.Tenant).Server(ctx, id)
	if err == nil && !s.isVisible(p, &row) {
		return junctor.Server{}, junctor.Errorf(junctor.CodeNotFound, "there is no server %q", id)
	}
	return row, err
}

// OwnedServer gives the row of a server that the principal may change: an admin and a
// service every one that they see, a person what they added.
func (s *Registry) OwnedServer(ctx context.Context, p *junctor.Principal, id string) (junctor.Server, error) {
	row, err := s.VisibleServer(ctx, p, id)
	if err == nil && !admission.Owns(p, row.Owner) {
		err = junctor.Errorf(junctor.CodeDenied, "the server %q is not yours: who added it, or an admin, can change it", id)
	}
	return row, err
}

// CheckOwner says whether a principal may change a server.
func (s *Registry) CheckOwner(ctx context.Context, p *junctor.Principal, id string) error {
	_, err := s.OwnedServer(ctx, p, id)
	return err
}

// Server gives one.
func (s *Registry) Server(ctx context.Context, p *junctor.Principal, id string) (junctor.Server, error) {
	row, err := s.VisibleServer(ctx, p, id)
	s.addStatus(&row)
	return row, err
}

// RemoveServer takes a server away for good.
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

// DeleteServer removes a server with its credentials. Calls that run go on to their
// end.
func (s *Registry) DeleteServer(ctx context.Context, tenant junctor.TenantID, id string) error {
	defer s.lockServer(tenant, id)()
	return s.removeLocked(ctx, tenant, id)
}

// removeLocked is takeAway for who holds the server.
func (s *Registry) removeLocked(ctx context.Context, tenant junctor.TenantID, id string) error {
	if err := s.o.Store.For(tenant).RemoveServer(ctx, id); err != nil {
		return err
	}
	if err := s.o.Agents.Reload(context.WithoutCancel(ctx), tenant); err != nil { // its grants and tags went with it
		return err
	}
	s.detach(tenant, id)
	return s.deleteAllSealed(context.WithoutCancel(ctx), tenant, id)
}

// SetServerState switches a server off or on.
func (s *Registry) SetServerState(ctx context.Context, p *junctor.Principal, id string, state junctor.ServerState, version time.Time) error {
	if state != junctor.StateActive && state != junctor.StateInactive {
		return junctor.Errorf(junctor.CodeInvalid, "a server can be set to active or inactive, not to %q", string(state))
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
	if version.IsZero() { // the state alone is stored, whatever else was changed
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
	s.detach(p.Tenant, id)
	switch {
	case state == junctor.StateInactive:
		return nil
	case row.Mode == junctor.ModeBYO:
		return s.attachUpstream(ctx, admitted, nil)
	case row.Mode == junctor.ModeGenerated:
		return s.attachGenerated(ctx, admitted)
	case row.Mode == junctor.ModeFound:
		return s.o.Discovered(ctx, p.Tenant, row.Found) // what was held meanwhile
	}
	return s.AttachBuiltin(ctx, &row)
}

// Tools lists what the principal can see.
func (s *Registry) Tools(p *junctor.Principal, server, query string, role junctor.Role) []junctor.Tool {
	return s.o.Catalog.Snapshot().For(p.Tenant).Describe(p, catalog.Filter{Server: server, Query: query, Role: role})
}

// ToolProblems gives the tools that a server lists and that were left out or changed, to
// those who see the server.
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

// Tool gives one, and when it last changed.
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

// CallTool runs a tool for the admin API, through the pipeline like everyone.
func (s *Registry) CallTool(ctx context.Context, p *junctor.Principal, name, version string, arguments []byte) (json.RawMessage, bool, error) {
	if arguments != nil {
		if err := wire.Check(arguments); err != nil {
			return nil, false, junctor.Errorf(junctor.CodeInvalid, "arguments: %w", err)
		}
	}
	res, err := s.o.Pipeline.Do(ctx, &guard.Op{
		Principal: p, Door: junctor.DoorAdmin, View: catalog.View{Plain: true, Audience: catalog.Watching(p)}, Kind: junctor.KindTool, Name: name, Version: version,
		Params: arguments, Arguments: arguments, Caller: catalog.Caller{Protocol: wire.Modern},
	}, catalog.Discard{})
	return res.Body, res.IsError, err
}
