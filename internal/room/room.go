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

// TurnSource prepares turns of agents.
type TurnSource interface {
	// Mind returns a turn of the named agent with its provider, instructions,
	// limits and tools, but without messages. Every tool call passes the pipeline
	// as that agent, in the room with that id.
	NewTurn(ctx context.Context, tenant junctor.TenantID, room, name string) (agent.Turn, error)
}

// AppToolSource gives agents access to the Apps that people have open in rooms.
type AppToolSource interface {
	// Beside returns the given tools and, beside them, the tools that open App
	// views offer themselves. It considers only views that the user has open and
	// whose call record passes shows, which are views of the agent's own calls. A
	// tool disappears when its view is closed.
	AddAppTools(tools agent.Tools, tenant junctor.TenantID, user, name string, shows func(record string) bool) agent.Tools
}

// Options are the dependencies of Rooms. All are required.
type Options struct {
	Store    *store.Store
	Turns    TurnSource
	AppTools AppToolSource
	// Catalogs returns the A2UI component catalogs that agents of a tenant may use.
	Catalogs func(ctx context.Context, tenant junctor.TenantID) *a2ui.Catalogs
	Now      func() time.Time
	NewID    func() string // returns ids that sort by time
	Replica  string        // name of this replica; unique among those that share a database
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
	if o.Store == nil || o.Turns == nil || o.AppTools == nil || o.Catalogs == nil || o.Now == nil || o.NewID == nil || o.Replica == "" || o.Log == nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "room: Store, Turns, AppTools, Catalogs, Now, NewID, Replica and Log are required")
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

// Settings holds the settings of a room that a caller creates or changes. A nil
// member leaves the setting as it is.
type Settings struct {
	Name            *string
	Members         *[]junctor.Member
	Policy          *junctor.TurnPolicy
	MaxRounds       *int
	Approvals       *junctor.RoomApproval
	ForgetApprovals bool // deletes the remembered approvals

	Version time.Time // of the room that the change is for; zero is any
}

// Details is a room as its members see it.
type Details struct {
	junctor.Room
	Run          string           `json:"run,omitempty"`      // the id of the run that goes on
	LastRun      *junctor.RoomRun `json:"last_run,omitempty"` // the newest run, running or ended
	AllowedTools []AllowedTool    `json:"remembered" nullable:"false"`
}

// AllowedTool is a tool that an agent may call in a room without an approval,
// because a member chose to remember one.
type AllowedTool struct {
	Agent  string `json:"agent"`
	Server string `json:"server"`
	Tool   string `json:"tool"`
}

// List lists the rooms of which a principal is a member. An admin counts as a
// member of every room.
func (r *Rooms) List(ctx context.Context, p *junctor.Principal) ([]junctor.Room, error) {
	list, err := r.Store.For(p.Tenant).Rooms(ctx)
	return slices.DeleteFunc(list, func(w junctor.Room) bool { return !isMember(p, &w) }), err
}

// Get returns one room with its newest run and the remembered approvals. A
// room of which the principal is no member is not found.
func (r *Rooms) Get(ctx context.Context, p *junctor.Principal, id string) (Details, error) {
	w, err := r.loadForMember(ctx, p, id)
	if err != nil {
		return Details{}, err
	}
	v := Details{Room: w, AllowedTools: []AllowedTool{}}
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
		if one := (AllowedTool{a.Agent, a.Call.Server, a.Call.Tool}); !slices.Contains(v.AllowedTools, one) {
			v.AllowedTools = append(v.AllowedTools, one)
		}
	}
	return v, err
}

// isMember reports whether a principal may use a room: its users and admins may. An
// agent's key may not: agents speak in a room when it is their turn, and a key
// would let them speak as a person.
func isMember(p *junctor.Principal, w *junctor.Room) bool {
	return p.Agent == "" && (p.Has(junctor.ScopeAdmin) || w.HasUser(p.User))
}

// loadForMember returns a room of which the principal is a member. For others the
// error is the same as for a room that does not exist.
func (r *Rooms) loadForMember(ctx context.Context, p *junctor.Principal, id string) (junctor.Room, error) {
	w, err := r.Store.For(p.Tenant).Room(ctx, id)
	if err == nil && !isMember(p, &w) {
		return junctor.Room{}, junctor.Errorf(junctor.CodeNotFound, "unknown room %q, or you are not a member; junctor room ls lists your rooms", id)
	}
	return w, err
}

// loadForOwner returns a room that the principal may change: its owner and admins
// may.
func (r *Rooms) loadForOwner(ctx context.Context, p *junctor.Principal, id string) (junctor.Room, error) {
	w, err := r.loadForMember(ctx, p, id)
	if err == nil && !p.Has(junctor.ScopeAdmin) && !p.Is(w.Owner) {
		return w, junctor.Errorf(junctor.CodeDenied, "only the creator of the room %q or an admin can change it", w.Name)
	}
	return w, err
}

// Create creates a room, of which the creator becomes owner and member. By
// default the router policy applies, with three rounds, and calls need an approval.
func (r *Rooms) Create(ctx context.Context, p *junctor.Principal, c Settings) (junctor.Room, error) {
	if p.Agent != "" {
		return junctor.Room{}, junctor.Errorf(junctor.CodeDenied, "an agent cannot create a room; use the key or the login of a user")
	}
	w := junctor.Room{
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
	return r.Store.For(p.Tenant).By(p.ID()).AddRoom(ctx, w)
}

// Update applies the members of c that are set. Everything else stays as others
// may have changed it meanwhile.
func (r *Rooms) Update(ctx context.Context, p *junctor.Principal, id string, c Settings) (Details, error) {
	if _, err := store.Retry(ctx, func() (junctor.Room, error) {
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
		return r.Store.For(p.Tenant).By(p.ID()).UpdateRoom(ctx, w)
	}); err != nil {
		return Details{}, err
	}
	if c.ForgetApprovals {
		if err := r.Store.For(p.Tenant).ForgetApprovals(ctx, id); err != nil {
			return Details{}, err
		}
	}
	return r.Get(ctx, p, id)
}

// applyChange applies the settings to w and validates the room. It stores nothing.
func (r *Rooms) applyChange(ctx context.Context, p *junctor.Principal, w *junctor.Room, c Settings) error {
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
// before may stay, regardless of who changes the room.
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
			return junctor.Errorf(junctor.CodeInvalid, "the agent %q cannot be in a room, because @%s addresses all agents", mentionAll, mentionAll)
		}
		if !slices.Contains(formerAgents, m.Agent) && !p.Has(junctor.ScopeAdmin) && !p.Is(one.Owner) {
			return junctor.Errorf(junctor.CodeDenied, "only the owner of the agent %q or an admin can add it to a room", m.Agent)
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

// Delete deletes a room with all its messages, and stops a run that goes on in it. A
// run of another replica stops with the next heartbeat of that replica, which finds no
// row of it any more.
func (r *Rooms) Delete(ctx context.Context, p *junctor.Principal, id string) error {
	if _, err := r.loadForOwner(ctx, p, id); err != nil {
		return err
	}
	if l := r.findRunInRoom(roomKey{p.Tenant, id}); l != nil {
		l.stop()
	}
	return r.Store.For(p.Tenant).DeleteRoom(ctx, id)
}

// MessagePage reads a page of messages, with one more if there is another page, and counts
// those of all pages.
func (r *Rooms) MessagePage(ctx context.Context, p *junctor.Principal, id string, page *junctor.RowPage) ([]junctor.Message, junctor.RowTotal, error) {
	if _, err := r.loadForMember(ctx, p, id); err != nil {
		return nil, junctor.RowTotal{}, err
	}
	return r.Store.For(p.Tenant).MessagePage(ctx, id, page)
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
	Agent string        `json:"agent"`
	Tools []ToolSummary `json:"tools" nullable:"false"`
	Fault string        `json:"fault,omitempty"` // why the agent cannot take a turn; "" if it can
}

// ToolSummary describes one tool of an agent.
type ToolSummary struct {
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
		one := AgentTools{Agent: name, Tools: []ToolSummary{}}
		list, err := r.listAgentTools(ctx, p.Tenant, id, name)
		if err != nil {
			one.Fault = junctor.AsError(err).Message
		}
		for _, t := range list {
			one.Tools = append(one.Tools, ToolSummary{Name: t.Name, Title: t.Title, ReadOnly: t.ReadOnly, Server: t.Server, HasView: t.ViewURI != ""})
		}
		out = append(out, one)
	}
	return out, nil
}

// listAgentTools returns the tools of one agent; none for an agent that only talks.
func (r *Rooms) listAgentTools(ctx context.Context, tenant junctor.TenantID, room, name string) ([]agent.Tool, error) {
	turn, err := r.Turns.NewTurn(ctx, tenant, room, name)
	if err != nil || turn.Tools == nil {
		return nil, err
	}
	return turn.Tools.List(ctx)
}
