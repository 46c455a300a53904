package room

import (
	"context"
	"crypto/rand"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/a2ui"
	"github.com/junctor-mcp/junctor/internal/agent"
	"github.com/junctor-mcp/junctor/internal/store"
)

// Minds prepares turns of agents.
type Minds interface {
	// Mind returns a turn of the named agent with its provider, instructions,
	// limits and tools, but without messages. Every tool call passes the pipeline
	// as that agent, in the room with that id.
	Mind(ctx context.Context, tenant junctor.TenantID, room, name string) (agent.Turn, error)
}

// Views gives agents access to the Apps that people have open in rooms.
type Views interface {
	// Beside returns the given tools and, beside them, the tools that open App
	// views offer themselves. It considers only views that the user has open and
	// whose call record passes shows, which are views of the agent's own calls. A
	// tool disappears when its view is closed.
	Beside(tools agent.Tools, tenant junctor.TenantID, user, name string, shows func(record string) bool) agent.Tools
}

// Options are the dependencies of Rooms. All are required.
type Options struct {
	Store *store.Store
	Minds Minds
	Views Views
	// Catalogs returns the A2UI component catalogs that agents of a tenant may use.
	Catalogs func(ctx context.Context, tenant junctor.TenantID) *a2ui.Catalogs
	Now      func() time.Time
	NewID    func() string // returns ids that sort by time
	Node     string        // name of this replica; unique among those that share a database
	Log      *slog.Logger
}

// Rooms holds the rooms of an instance, and the runs that go on in this process. It
// is safe for concurrent use. Close stops the runs.
type Rooms struct {
	Options

	lifetime   context.Context // ends with Close; every run uses it, because a run outlives its request
	cancel     context.CancelFunc
	activeRuns sync.WaitGroup

	mu          sync.Mutex
	activeRooms map[roomKey]*activeRoom
}

// roomKey identifies a room across tenants.
type roomKey struct {
	tenant junctor.TenantID
	room   string
}

// New checks that every option is set. The caller calls Begin once before it
// accepts requests, keeps Run running, and calls Close in the end.
func New(o Options) (*Rooms, error) {
	if o.Store == nil || o.Minds == nil || o.Views == nil || o.Catalogs == nil || o.Now == nil || o.NewID == nil || o.Node == "" || o.Log == nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "room needs Store, Minds, Views, Catalogs, Now, NewID, Node and Log")
	}
	r := &Rooms{Options: o, activeRooms: map[roomKey]*activeRoom{}}
	r.lifetime, r.cancel = context.WithCancel(context.Background())
	return r, nil
}

// Close stops every run, and returns when their ends are stored.
func (r *Rooms) Close() {
	r.cancel()
	r.activeRuns.Wait()
}

// Change holds the settings of a room that a caller creates or changes. A nil
// member leaves the setting as it is.
type Change struct {
	Name      *string
	Members   *[]junctor.Member
	Policy    *junctor.TurnPolicy
	MaxRounds *int
	Approvals *junctor.RoomApproval
	Forget    bool // deletes the remembered approvals

	Version time.Time // of the room that the change is for; zero is any
}

// Shown is a room as its members see it.
type Shown struct {
	junctor.Workspace
	Run        string           `json:"run,omitempty"`      // the id of the run that goes on
	LastRun    *junctor.RoomRun `json:"last_run,omitempty"` // the newest run, running or ended
	Remembered []Remembered     `json:"remembered" nullable:"false"`
}

// Remembered is a tool that an agent may call in a room without an approval,
// because a member chose to remember one.
type Remembered struct {
	Agent  string `json:"agent"`
	Server string `json:"server"`
	Tool   string `json:"tool"`
}

// Workspaces lists the rooms of which a principal is a member. An admin counts as a
// member of every room.
func (r *Rooms) Workspaces(ctx context.Context, p *junctor.Principal) ([]junctor.Workspace, error) {
	list, err := r.Store.For(p.Tenant).Workspaces(ctx)
	return slices.DeleteFunc(list, func(w junctor.Workspace) bool { return !isMember(p, &w) }), err
}

// Workspace returns one room with its newest run and the remembered approvals. A
// room of which the principal is no member is not found.
func (r *Rooms) Workspace(ctx context.Context, p *junctor.Principal, id string) (Shown, error) {
	w, err := r.loadForMember(ctx, p, id)
	if err != nil {
		return Shown{}, err
	}
	v := Shown{Workspace: w, Remembered: []Remembered{}}
	runs, err := r.Store.For(p.Tenant).RoomRuns(ctx, id, 1)
	if err != nil {
		return v, err
	}
	if len(runs) > 0 {
		v.LastRun = &runs[0]
		if runs[0].State == junctor.RunRunning {
			v.Run = runs[0].ID
		}
	}
	list, err := r.Store.For(p.Tenant).Remembered(ctx, id)
	for _, a := range list {
		if one := (Remembered{a.Agent, a.Call.Server, a.Call.Tool}); !slices.Contains(v.Remembered, one) {
			v.Remembered = append(v.Remembered, one)
		}
	}
	return v, err
}

// isMember reports whether a principal may use a room: its users and admins may. An
// agent's key may not: agents speak in a room when it is their turn, and a key
// would let them speak as a person.
func isMember(p *junctor.Principal, w *junctor.Workspace) bool {
	return p.Agent == "" && (p.Has(junctor.ScopeAdmin) || w.HasUser(p.User))
}

// loadForMember returns a room of which the principal is a member. For others the
// error is the same as for a room that does not exist.
func (r *Rooms) loadForMember(ctx context.Context, p *junctor.Principal, id string) (junctor.Workspace, error) {
	w, err := r.Store.For(p.Tenant).Workspace(ctx, id)
	if err == nil && !isMember(p, &w) {
		return junctor.Workspace{}, junctor.Errorf(junctor.CodeNotFound, "there is no room %q, or you are not in it; junctor room ls lists yours", id)
	}
	return w, err
}

// loadForOwner returns a room that the principal may change: its owner and admins
// may.
func (r *Rooms) loadForOwner(ctx context.Context, p *junctor.Principal, id string) (junctor.Workspace, error) {
	w, err := r.loadForMember(ctx, p, id)
	if err == nil && !p.Has(junctor.ScopeAdmin) && !p.Is(w.Owner) {
		return w, junctor.Errorf(junctor.CodeDenied, "the room %q is not yours: who made it, or an admin, can change it", w.Name)
	}
	return w, err
}

// AddWorkspace creates a room, of which the creator becomes owner and member. By
// default the router policy applies, with three rounds, and calls need an approval.
func (r *Rooms) AddWorkspace(ctx context.Context, p *junctor.Principal, c Change) (junctor.Workspace, error) {
	if p.Agent != "" {
		return junctor.Workspace{}, junctor.Errorf(junctor.CodeDenied, "rooms are made by people")
	}
	w := junctor.Workspace{
		Tenant: p.Tenant, ID: "r" + strings.ToLower(rand.Text()[:11]), Policy: junctor.PolicyRouter, MaxRounds: 3, Approvals: junctor.ApproveAsk, Owner: p.ID(), Members: []junctor.Member{},
	}
	// The creator must stay a member, or they could not read their own room.
	if c.Members == nil {
		c.Members = &[]junctor.Member{}
	}
	if p.User != "" && !slices.ContainsFunc(*c.Members, func(m junctor.Member) bool { return m.User == p.User || m.User != "" && m.User == p.Name }) {
		members := append(slices.Clone(*c.Members), junctor.Member{User: p.User})
		c.Members = &members
	}
	if err := r.applyChange(ctx, p, &w, c); err != nil {
		return w, err
	}
	return r.Store.For(p.Tenant).By(p.ID()).AddWorkspace(ctx, w)
}

// ChangeWorkspace applies the members of c that are set. Everything else stays as others
// may have changed it meanwhile.
func (r *Rooms) ChangeWorkspace(ctx context.Context, p *junctor.Principal, id string, c Change) (Shown, error) {
	if _, err := store.Retry(ctx, func() (junctor.Workspace, error) {
		w, err := r.loadForOwner(ctx, p, id)
		if err == nil {
			err = junctor.CheckVersion(c.Version, w.UpdatedAt)
		}
		if err == nil {
			err = r.applyChange(ctx, p, &w, c)
		}
		if err != nil {
			return w, err
		}
		return r.Store.For(p.Tenant).By(p.ID()).UpdateWorkspace(ctx, w)
	}); err != nil {
		return Shown{}, err
	}
	if c.Forget {
		if err := r.Store.For(p.Tenant).ForgetApprovals(ctx, id); err != nil {
			return Shown{}, err
		}
	}
	return r.Workspace(ctx, p, id)
}

// applyChange applies the settings to w and validates the room. It stores nothing.
func (r *Rooms) applyChange(ctx context.Context, p *junctor.Principal, w *junctor.Workspace, c Change) error {
	if c.Name != nil {
		w.Name = *c.Name
	}
	if c.Policy != nil {
		w.Policy = *c.Policy
	}
	if c.MaxRounds != nil {
		w.MaxRounds = *c.MaxRounds
	}
	if c.Approvals != nil {
		w.Approvals = *c.Approvals
	}
	if c.Members != nil {
		formerAgents := w.Agents()
		w.Members = slices.Clone(*c.Members)
		for i := range w.Members {
			if err := r.checkMember(ctx, p, &w.Members[i], formerAgents); err != nil {
				return err
			}
		}
	}
	return w.Check()
}

// checkMember validates a member and completes it: a user may be given by id or
// name. Every member of a room can have an agent act with the agent's permissions,
// so only the agent's owner or an admin may add it. Agents that were in the room
// before may stay, whoever changes the room.
func (r *Rooms) checkMember(ctx context.Context, p *junctor.Principal, m *junctor.Member, formerAgents []string) error {
	rows := r.Store.For(p.Tenant)
	switch {
	case m.Agent != "" && m.User == "":
		m.Name = ""
		one, err := rows.Agent(ctx, m.Agent)
		if err != nil {
			return err
		}
		if m.Agent == mentionAll {
			return junctor.Errorf(junctor.CodeInvalid, "an agent of the name %q cannot be in a room: @%s is everybody", mentionAll, mentionAll)
		}
		if !slices.Contains(formerAgents, m.Agent) && !p.Has(junctor.ScopeAdmin) && !p.Is(one.Owner) {
			return junctor.Errorf(junctor.CodeDenied, "the agent %q is not yours: who made it, or an admin, can bring it into a room", m.Agent)
		}
	case m.User != "" && m.Agent == "":
		one, err := rows.User(ctx, m.User)
		if junctor.CodeOf(err) == junctor.CodeNotFound {
			one, err = rows.UserByName(ctx, m.User)
		}
		if err != nil {
			return err
		}
		m.User, m.Name = one.ID, one.Name
	}
	return nil
}

// RemoveWorkspace deletes a room with all its messages, and stops a run of this
// process that goes on in it.
func (r *Rooms) RemoveWorkspace(ctx context.Context, p *junctor.Principal, id string) error {
	if _, err := r.loadForOwner(ctx, p, id); err != nil {
		return err
	}
	if l := r.findRunInRoom(roomKey{p.Tenant, id}); l != nil {
		l.stop()
	}
	return r.Store.For(p.Tenant).DeleteWorkspace(ctx, id)
}

// Messages returns a page of messages, oldest first. The filter can search for a
// text.
func (r *Rooms) Messages(ctx context.Context, p *junctor.Principal, id string, f store.MessageFilter) ([]junctor.Message, error) {
	if _, err := r.loadForMember(ctx, p, id); err != nil {
		return nil, err
	}
	return r.Store.For(p.Tenant).Messages(ctx, id, f)
}

// Approvals lists the calls that wait for an approval.
func (r *Rooms) Approvals(ctx context.Context, p *junctor.Principal, id string) ([]junctor.CallApproval, error) {
	if _, err := r.loadForMember(ctx, p, id); err != nil {
		return nil, err
	}
	return r.Store.For(p.Tenant).CallApprovals(ctx, id, "")
}

// AgentTools lists the tools of one agent in a room.
type AgentTools struct {
	Agent string     `json:"agent"`
	Tools []ToolCard `json:"tools" nullable:"false"`
	Fault string     `json:"fault,omitempty"` // why the agent cannot take a turn; "" if it can
}

// ToolCard describes one tool of an agent.
type ToolCard struct {
	Name     string `json:"name"`
	Title    string `json:"title,omitempty"`
	ReadOnly bool   `json:"read_only"`
	Server   string `json:"server"`
	HasView  bool   `json:"has_view"`
}

// Tools lists the tools that each agent of a room may call now. An agent whose
// tools cannot be listed carries the reason in Fault, so that one broken agent does
// not hide the others.
func (r *Rooms) Tools(ctx context.Context, p *junctor.Principal, id string) ([]AgentTools, error) {
	w, err := r.loadForMember(ctx, p, id)
	if err != nil {
		return nil, err
	}
	out := []AgentTools{}
	for _, name := range w.Agents() {
		one := AgentTools{Agent: name, Tools: []ToolCard{}}
		list, err := r.listAgentTools(ctx, p.Tenant, id, name)
		if err != nil {
			one.Fault = junctor.AsError(err).Message
		}
		for _, t := range list {
			one.Tools = append(one.Tools, ToolCard{Name: t.Name, Title: t.Title, ReadOnly: t.ReadOnly, Server: t.Server, HasView: t.View != ""})
		}
		out = append(out, one)
	}
	return out, nil
}

// listAgentTools returns the tools of one agent; none for an agent that only talks.
func (r *Rooms) listAgentTools(ctx context.Context, tenant junctor.TenantID, room, name string) ([]agent.Tool, error) {
	turn, err := r.Minds.Mind(ctx, tenant, room, name)
	if err != nil || turn.Tools == nil {
		return nil, err
	}
	return turn.Tools.List(ctx)
}
