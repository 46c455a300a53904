package app

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/admission"
	"github.com/junctor-mcp/junctor/internal/audit"
	"github.com/junctor-mcp/junctor/internal/builtin"
	"github.com/junctor-mcp/junctor/internal/builtin/demo"
	"github.com/junctor-mcp/junctor/internal/builtin/ocr"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/egress"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/visit"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// servers joins the rows of servers to the backends that run them.
type servers struct {
	app     *App
	builtin map[string]*builtin.Server
	public  clients // for addresses that anybody may name
	local   clients // for servers that the operator put on this machine
	desk    *visit.Desk
	judge   *admission.Judge // of everything that somebody brings

	mu         sync.Mutex // held over each change of what is attached
	live       map[serverKey]*brought
	made       map[serverKey]*generated     // auto-generated servers that are attached
	inside     map[serverKey]junctor.Server // built-in servers that are attached
	broken     map[serverKey]string         // why an active server could not be attached
	homes      map[serverKey]junctor.Server // servers that run on one process, wherever that is (home.go)
	turns      map[serverKey]uint64         // counts the changes under each key
	changing   map[serverKey]*sync.Mutex    // held over each change of a row and of what is attached of it
	retiring   map[*connected]struct{}
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

func newServers(a *App) *servers {
	ending, end := context.WithCancel(context.Background())
	s := &servers{
		desk: a.newDesk(), ending: ending, end: end, turns: map[serverKey]uint64{}, changing: map[serverKey]*sync.Mutex{},
		app: a, builtin: map[string]*builtin.Server{}, public: a.newClients(), local: a.newClients(loopback()...),
		live: map[serverKey]*brought{}, made: map[serverKey]*generated{}, inside: map[serverKey]junctor.Server{}, broken: map[serverKey]string{}, homes: map[serverKey]junctor.Server{}, retiring: map[*connected]struct{}{}, suggesting: map[serverKey]bool{},
	}
	s.judge = admission.New(admission.Options{AllowCommands: a.cfg.AllowCommands, CheckReference: a.reader().Check, Reserved: s.reservedID, Refused: s.recordRefusal})
	return s
}

// hold keeps everybody else from changing a server, until release is called: a row
// that is stored is attached before the next one is stored, or read by a follower.
// It is never held over a visit to the server itself.
func (s *servers) hold(tenant junctor.TenantID, id string) (release func()) {
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

// attach brings in the servers that the binary holds, as their rows say.
func (s *servers) attach(ctx context.Context) error {
	if s.app.opts.bare {
		return nil
	}
	demoServer, err := demo.New(s.app.log)
	if err != nil {
		return err
	}
	ocrServer, err := ocr.New(ocr.Options{
		Roots: s.app.cfg.OCRRoots, VisionURL: s.app.cfg.OCRVisionURL, Client: s.app.egress.Client(egress.ClientOptions{Timeout: time.Minute, MaxBytes: ocr.MaxAnswer}),
		Credentials: credentials{s.app.vault}, Logger: s.app.log,
	})
	if err != nil {
		return err
	}
	board, err := s.newDashboard()
	if err != nil {
		return err
	}
	s.builtin[board.ID()] = board
	rows := s.app.store.For(junctor.DefaultTenant)
	inside := append([]*builtin.Server{demoServer, ocrServer}, s.app.opts.servers...)
	if s.app.opts.dashboard {
		inside = append(inside, board)
	}
	for _, b := range inside {
		s.builtin[b.ID()] = b
		if err := rows.EnsureBuiltin(ctx, b.ID(), b.Title()); err != nil {
			return err
		}
	}
	events, err := s.app.eventsServer()
	if err != nil {
		return err
	}
	s.builtin[events.ID()] = events
	if err := s.app.declareFirst(ctx); err != nil {
		return err
	}
	all, err := rows.Servers(ctx)
	if err != nil {
		return err
	}
	s.work.Go(s.poll)
	return s.app.catalog.Together(func() error {
		for _, row := range all {
			if row.Mode == junctor.ModeBuiltin && row.State != junctor.StateInactive {
				if err := s.attachBuiltin(ctx, &row); err != nil {
					return err
				}
			}
		}
		if err := s.bringAll(ctx); err != nil {
			return err
		}
		return s.app.elsewhere.begin(ctx)
	})
}

// Servers lists the principal's servers.
func (s *servers) Servers(ctx context.Context, p *junctor.Principal) ([]junctor.Server, error) {
	rows, err := s.app.store.For(p.Tenant).Servers(ctx)
	if err != nil {
		return nil, err
	}
	rows = slices.DeleteFunc(rows, func(row junctor.Server) bool { return !s.sees(p, &row) })
	for i := range rows {
		s.dress(&rows[i])
	}
	return rows, nil
}

// sees says whether a principal may know of a server: an agent of those that its
// lists name.
func (s *servers) sees(p *junctor.Principal, row *junctor.Server) bool {
	if p.Agent != "" {
		_, err := s.app.catalog.Snapshot().For(p.Tenant).Server(p, row.ID)
		return err == nil
	}
	return !row.Private || row.Owner == p.ID() || p.Has(junctor.ScopeAdmin)
}

// mine gives the row of a server that the principal may know of.
func (s *servers) mine(ctx context.Context, p *junctor.Principal, id string) (junctor.Server, error) {
	row, err := s.app.store.For(p.Tenant).Server(ctx, id)
	if err == nil && !s.sees(p, &row) {
		return junctor.Server{}, junctor.Errorf(junctor.CodeNotFound, "there is no server %q", id)
	}
	return row, err
}

// own gives the row of a server that the principal may change: an admin and a
// service every one that they see, a person what they added.
func (s *servers) own(ctx context.Context, p *junctor.Principal, id string) (junctor.Server, error) {
	row, err := s.mine(ctx, p, id)
	if err == nil && !admission.Owns(p, row.Owner) {
		err = junctor.Errorf(junctor.CodeDenied, "the server %q is not yours: who added it, or an admin, can change it", id)
	}
	return row, err
}

// mayChange says whether a principal may change a server.
func (s *servers) mayChange(ctx context.Context, p *junctor.Principal, id string) error {
	_, err := s.own(ctx, p, id)
	return err
}

// Server gives one.
func (s *servers) Server(ctx context.Context, p *junctor.Principal, id string) (junctor.Server, error) {
	row, err := s.mine(ctx, p, id)
	s.dress(&row)
	return row, err
}

// RemoveServer takes a server away for good.
func (s *servers) RemoveServer(ctx context.Context, p *junctor.Principal, id string) error {
	row, err := s.own(ctx, p, id)
	if err != nil {
		return err
	}
	if err := s.app.ours("server", id, row.Declared); err != nil {
		return err
	}
	return s.takeAway(ctx, p.Tenant, id)
}

// takeAway removes a server with its credentials. Calls that run go on to their
// end.
func (s *servers) takeAway(ctx context.Context, tenant junctor.TenantID, id string) error {
	defer s.hold(tenant, id)()
	return s.drop(ctx, tenant, id)
}

// drop is takeAway for who holds the server.
func (s *servers) drop(ctx context.Context, tenant junctor.TenantID, id string) error {
	if err := s.app.store.For(tenant).RemoveServer(ctx, id); err != nil {
		return err
	}
	if err := s.app.rights.reload(context.WithoutCancel(ctx), tenant); err != nil { // its grants and tags went with it
		return err
	}
	s.detach(tenant, id)
	return s.forget(context.WithoutCancel(ctx), tenant, id)
}

// SetServerState switches a server off or on.
func (s *servers) SetServerState(ctx context.Context, p *junctor.Principal, id string, state junctor.ServerState, version time.Time) error {
	if state != junctor.StateActive && state != junctor.StateInactive {
		return junctor.Errorf(junctor.CodeInvalid, "a server can be set to active or inactive, not to %q", string(state))
	}
	row, err := s.own(ctx, p, id)
	if err != nil {
		return err
	}
	if err := s.app.ours("server", id, row.Declared); err != nil {
		return err
	}
	if err := junctor.CheckVersion(version, row.UpdatedAt); err != nil {
		return err
	}
	defer s.hold(p.Tenant, id)()
	rows := s.app.store.For(p.Tenant).By(p.ID())
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
		return s.bring(ctx, admitted, nil)
	case row.Mode == junctor.ModeGenerated:
		return s.raise(ctx, admitted)
	case row.Mode == junctor.ModeFound:
		return s.app.worker.Entered(ctx, p.Tenant, row.Found) // what was held meanwhile
	}
	return s.attachBuiltin(ctx, &row)
}

// Tools lists what the principal can see.
func (s *servers) Tools(p *junctor.Principal, server, query string, role junctor.Role) []junctor.Tool {
	return s.app.catalog.Snapshot().For(p.Tenant).Describe(p, catalog.Filter{Server: server, Query: query, Role: role})
}

// ToolProblems gives the tools that a server lists and that were left out or changed, to
// those who see the server.
func (s *servers) ToolProblems(p *junctor.Principal, server string) []admin.ToolProblem {
	of, err := s.app.catalog.Snapshot().For(p.Tenant).Server(p, server)
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
func (s *servers) Tool(ctx context.Context, p *junctor.Principal, name string) (junctor.Tool, error) {
	tool, err := s.app.catalog.Snapshot().For(p.Tenant).DescribeOne(p, name)
	if err != nil {
		return tool, err
	}
	changes, err := s.app.store.For(p.Tenant).Changes(ctx, tool.Server, tool.Name, 1)
	if len(changes) > 0 {
		tool.ChangedAt = changes[0].SeenAt
	}
	return tool, err
}

// CallTool runs a tool for the admin API, through the pipeline like everyone.
func (s *servers) CallTool(ctx context.Context, p *junctor.Principal, name, version string, arguments []byte) (json.RawMessage, bool, error) {
	if arguments != nil {
		if err := wire.Check(arguments); err != nil {
			return nil, false, junctor.Errorf(junctor.CodeInvalid, "arguments: %w", err)
		}
	}
	res, err := s.app.guard.Do(ctx, &guard.Op{
		Principal: p, Door: junctor.DoorAdmin, View: catalog.View{Plain: true, Audience: catalog.Watching(p)}, Kind: junctor.KindTool, Name: name, Version: version,
		Params: arguments, Arguments: arguments, Caller: catalog.Caller{Protocol: wire.Modern},
	}, silent{})
	return res.Body, res.IsError, err
}

// silent is the sink of a caller that wants the result alone.
type silent struct{}

func (silent) Progress([]byte)    {}
func (silent) Log(string, []byte) {}

// Calls gives the recent calls that the principal may know of.
func (s *servers) Calls(ctx context.Context, p *junctor.Principal, f admin.CallFilter) ([]junctor.Call, string, error) {
	access, err := s.CallAccess(ctx, p)
	if err != nil {
		return nil, "", err
	}
	if f.Cursor != "" && !isID(f.Cursor) {
		return nil, "", junctor.Errorf(junctor.CodeInvalid, "unknown cursor %q: use the next of the page before", f.Cursor)
	}
	calls, next := s.app.journal.Calls(audit.Query{Access: access, Since: f.Since, Limit: f.Limit, After: f.Cursor, Match: func(c *junctor.Call) bool {
		return (f.Tool == "" || f.Tool == c.Name || f.Tool == catalog.Exposed(c.Server, c.Name, s.app.cfg.NameLimit)) &&
			(f.Server == "" || f.Server == c.Server) && (f.User == "" || f.User == c.User) && (f.Agent == "" || f.Agent == c.Agent) &&
			(f.Caller == "" || f.Caller == c.Subject) && (f.Door == "" || f.Door == c.Door) && (f.View == "" || f.View == c.View) && (f.Status == "" || f.Status == c.Status)
	}})
	return calls, next, nil
}

// admin makes the admin API's handler.
func (a *App) admin() (*admin.Handler, error) {
	people := directory{a.identity, a}
	return a.newAdmin(admin.Options{
		Authenticate: a.authenticatePerson, TryPassword: a.signIn.TryPassword, Keys: people, Users: people, Logins: people, Consents: a.authority, Chains: a.chains, Tenants: people, Servers: serverView{a.servers}, Credentials: counter{a.servers.desk}, ServerLogins: counter{a.servers.desk}, Tools: a.servers, Tags: agents{a}, Agents: agents{a}, Models: a.models, ComponentCatalogs: a.components, Talker: minds{a}, Runner: a.servers, Apps: a.apps, Views: a.apps, Calls: a.servers, Secrets: entrusted{a.vault, a.servers}, History: a.history,
		Limits: a.limits, Events: happenings{a}, Deliveries: couriers{a.worker, a}, Rooms: a.rooms, Applier: applier{a.servers, a.file}, Journal: proof{a, &sync.Mutex{}}, Cluster: cluster{a}, Settings: a.settings, Version: a.version, Log: a.log,
	})
}

func (a *App) settings() []admin.Setting {
	values := a.cfg.Values()
	out := make([]admin.Setting, len(values))
	for i, v := range values {
		out[i] = admin.Setting(v)
	}
	return out
}
