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

// Minds gives agents their minds.
type Minds interface {
	// Mind is a turn of an agent that is still without a story: its provider,
	// instructions, limits, and its tools through the pipeline as that agent in a
	// room.
	Mind(ctx context.Context, tenant junctor.TenantID, room, name string) (agent.Turn, error)
}

// Views is what people look at in rooms.
type Views interface {
	// Beside gives an agent its tools, and those that the Apps have themselves
	// that a person looks at: Apps of the agent's calls that shows knows, by their
	// records. They are there for as long as the App is.
	Beside(tools agent.Tools, tenant junctor.TenantID, user, name string, shows func(record string) bool) agent.Tools
}

// Options are the parts that rooms stand on. All are needed.
type Options struct {
	Store *store.Store
	Minds Minds
	Views Views
	// Catalogs gives the components that agents of a tenant may show.
	Catalogs func(ctx context.Context, tenant junctor.TenantID) *a2ui.Catalogs
	Now      func() time.Time
	NewID    func() string // ids that sort by time
	Node     string        // this process among those that share a database
	Log      *slog.Logger
}

// Rooms is the workspaces of an instance. It is safe for concurrent use.
type Rooms struct {
	Options

	whole  context.Context // ends with the instance; runs live in it
	cancel context.CancelFunc
	runs   sync.WaitGroup

	mu    sync.Mutex
	halls map[place]*hall
}

// place is a room among those of all tenants.
type place struct {
	tenant junctor.TenantID
	room   string
}

// New checks the options.
func New(o Options) (*Rooms, error) {
	if o.Store == nil || o.Minds == nil || o.Views == nil || o.Catalogs == nil || o.Now == nil || o.NewID == nil || o.Node == "" || o.Log == nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "room needs Store, Minds, Views, Catalogs, Now, NewID, Node and Log")
	}
	r := &Rooms{Options: o, halls: map[place]*hall{}}
	r.whole, r.cancel = context.WithCancel(context.Background())
	return r, nil
}

// Close stops every run, and waits until that is kept.
func (r *Rooms) Close() {
	r.cancel()
	r.runs.Wait()
}

// Change is what describes a room. Members that are nil are not changed.
type Change struct {
	Name      *string
	Members   *[]junctor.Member
	Policy    *junctor.TurnPolicy
	MaxRounds *int
	Approvals *junctor.RoomApproval
	Forget    bool // what was allowed for good

	Version time.Time // of the room that the change is for; zero is any
}

// Shown is a room as its members see it.
type Shown struct {
	junctor.Workspace
	Run        string           `json:"run,omitempty"`      // that goes on
	LastRun    *junctor.RoomRun `json:"last_run,omitempty"` // the newest, and how it ended
	Remembered []Remembered     `json:"remembered" nullable:"false"`
}

// Remembered is a tool that an agent may use in a room without being asked for.
type Remembered struct {
	Agent  string `json:"agent"`
	Server string `json:"server"`
	Tool   string `json:"tool"`
}

// Workspaces lists the rooms that a principal is in; an admin is in all.
func (r *Rooms) Workspaces(ctx context.Context, p *junctor.Principal) ([]junctor.Workspace, error) {
	list, err := r.Store.For(p.Tenant).Workspaces(ctx)
	return slices.DeleteFunc(list, func(w junctor.Workspace) bool { return !within(p, &w) }), err
}

// Workspace shows one.
func (r *Rooms) Workspace(ctx context.Context, p *junctor.Principal, id string) (Shown, error) {
	w, err := r.enter(ctx, p, id)
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

// within says whether a principal may be in a room: its people, and admins.
// Agents speak there when it is their turn, not by their keys.
func within(p *junctor.Principal, w *junctor.Workspace) bool {
	return p.Agent == "" && (p.Has(junctor.ScopeAdmin) || w.HasUser(p.User))
}

// enter gives a room that the principal is in; to others it is not there.
func (r *Rooms) enter(ctx context.Context, p *junctor.Principal, id string) (junctor.Workspace, error) {
	w, err := r.Store.For(p.Tenant).Workspace(ctx, id)
	if err == nil && !within(p, &w) {
		return junctor.Workspace{}, junctor.Errorf(junctor.CodeNotFound, "there is no room %q, or you are not in it; junctor room ls lists yours", id)
	}
	return w, err
}

// keep gives a room that the principal may change: who made it, and admins.
func (r *Rooms) keep(ctx context.Context, p *junctor.Principal, id string) (junctor.Workspace, error) {
	w, err := r.enter(ctx, p, id)
	if err == nil && !p.Has(junctor.ScopeAdmin) && !p.Is(w.Owner) {
		return w, junctor.Errorf(junctor.CodeDenied, "the room %q is not yours: who made it, or an admin, can change it", w.Name)
	}
	return w, err
}

// AddWorkspace makes a room. Who makes it is in it.
func (r *Rooms) AddWorkspace(ctx context.Context, p *junctor.Principal, c Change) (junctor.Workspace, error) {
	if p.Agent != "" {
		return junctor.Workspace{}, junctor.Errorf(junctor.CodeDenied, "rooms are made by people")
	}
	w := junctor.Workspace{
		Tenant: p.Tenant, ID: "r" + strings.ToLower(rand.Text()[:11]), Policy: junctor.PolicyRouter, MaxRounds: 3, Approvals: junctor.ApproveAsk, Owner: p.ID(), Members: []junctor.Member{},
	}
	if c.Members == nil {
		c.Members = &[]junctor.Member{}
	}
	if p.User != "" && !slices.ContainsFunc(*c.Members, func(m junctor.Member) bool { return m.User == p.User || m.User != "" && m.User == p.Name }) {
		members := append(slices.Clone(*c.Members), junctor.Member{User: p.User})
		c.Members = &members
	}
	if err := r.apply(ctx, p, &w, c); err != nil {
		return w, err
	}
	return r.Store.For(p.Tenant).By(p.ID()).AddWorkspace(ctx, w)
}

// ChangeWorkspace changes what c has, and leaves the rest as others may have changed it
// meanwhile.
func (r *Rooms) ChangeWorkspace(ctx context.Context, p *junctor.Principal, id string, c Change) (Shown, error) {
	if _, err := store.Retry(ctx, func() (junctor.Workspace, error) {
		w, err := r.keep(ctx, p, id)
		if err == nil {
			err = junctor.CheckVersion(c.Version, w.UpdatedAt)
		}
		if err == nil {
			err = r.apply(ctx, p, &w, c)
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

// apply changes a room, and judges what it is given.
func (r *Rooms) apply(ctx context.Context, p *junctor.Principal, w *junctor.Workspace, c Change) error {
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
		had := w.Agents()
		w.Members = slices.Clone(*c.Members)
		for i := range w.Members {
			if err := r.seat(ctx, p, &w.Members[i], had); err != nil {
				return err
			}
		}
	}
	return w.Check()
}

// seat judges a new member. An agent does for whoever is in the room what it
// may do, so its owner brings it, or an admin.
func (r *Rooms) seat(ctx context.Context, p *junctor.Principal, m *junctor.Member, had []string) error {
	rows := r.Store.For(p.Tenant)
	switch {
	case m.Agent != "" && m.User == "":
		m.Name = ""
		one, err := rows.Agent(ctx, m.Agent)
		if err != nil {
			return err
		}
		if m.Agent == all {
			return junctor.Errorf(junctor.CodeInvalid, "an agent of the name %q cannot be in a room: @%s is everybody", all, all)
		}
		if !slices.Contains(had, m.Agent) && !p.Has(junctor.ScopeAdmin) && !p.Is(one.Owner) {
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

// RemoveWorkspace deletes a room and all that was said in it. A run in it is
// stopped.
func (r *Rooms) RemoveWorkspace(ctx context.Context, p *junctor.Principal, id string) error {
	if _, err := r.keep(ctx, p, id); err != nil {
		return err
	}
	if l := r.running(place{p.Tenant, id}); l != nil {
		l.stop()
	}
	return r.Store.For(p.Tenant).DeleteWorkspace(ctx, id)
}

// Messages gives a page of what was said, oldest first, or what holds a text.
func (r *Rooms) Messages(ctx context.Context, p *junctor.Principal, id string, f store.MessageFilter) ([]junctor.Message, error) {
	if _, err := r.enter(ctx, p, id); err != nil {
		return nil, err
	}
	return r.Store.For(p.Tenant).Messages(ctx, id, f)
}

// Approvals lists the calls that wait for somebody's word.
func (r *Rooms) Approvals(ctx context.Context, p *junctor.Principal, id string) ([]junctor.CallApproval, error) {
	if _, err := r.enter(ctx, p, id); err != nil {
		return nil, err
	}
	return r.Store.For(p.Tenant).CallApprovals(ctx, id, "")
}

// AgentTools is what an agent of a room may use.
type AgentTools struct {
	Agent string     `json:"agent"`
	Tools []ToolCard `json:"tools" nullable:"false"`
	Fault string     `json:"fault,omitempty"` // why it cannot speak
}

// ToolCard is one tool of an agent.
type ToolCard struct {
	Name     string `json:"name"`
	Title    string `json:"title,omitempty"`
	ReadOnly bool   `json:"read_only"`
	Server   string `json:"server"`
	HasView  bool   `json:"has_view"`
}

// Tools lists what the agents of a room may use now.
func (r *Rooms) Tools(ctx context.Context, p *junctor.Principal, id string) ([]AgentTools, error) {
	w, err := r.enter(ctx, p, id)
	if err != nil {
		return nil, err
	}
	out := []AgentTools{}
	for _, name := range w.Agents() {
		one := AgentTools{Agent: name, Tools: []ToolCard{}}
		list, err := r.toolsOf(ctx, p.Tenant, id, name)
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

func (r *Rooms) toolsOf(ctx context.Context, tenant junctor.TenantID, room, name string) ([]agent.Tool, error) {
	mind, err := r.Minds.Mind(ctx, tenant, room, name)
	if err != nil || mind.Tools == nil {
		return nil, err
	}
	return mind.Tools.List(ctx)
}
