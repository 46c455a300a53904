package admin

import (
	"context"
	"maps"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/config"
)

// maxApplyBody bounds the request that applies a description: a file with its documents.
const maxApplyBody = maxDocumentBody

// Applier makes an instance match a description, and reports the state of the settings
// file. internal/app implements it.
type Applier interface {
	// Apply changes what differs. An error of one thing is in its Change and does not keep
	// the others from being applied.
	Apply(ctx context.Context, p *junctor.Principal, w Wanted) ([]Change, error)
	// File returns the state of the settings file that the instance was started with.
	File() FileState
}

// Wanted is a description of what an instance should have. A nil list leaves its kind
// alone; an empty list that is not nil means that nothing of its kind is wanted, which
// matters with Prune. If all lists are nil, the description is about servers.
type Wanted struct {
	Servers   []WantedServer
	Agents    []WantedAgent
	Triggers  []WantedTrigger
	Sources   []WantedSource
	Schedules []WantedSchedule
	Policies  []WantedPolicy // in the order of evaluation
	Prune     bool           // remove things that the description does not have
	DryRun    bool           // report the changes without making them
	Unseen    bool           // store servers without reaching them
}

// WantedServer is a server that should exist.
type WantedServer struct {
	ServerInput
	Where string // in a file; "" where it came another way
}

// WantedAgent is an agent that should exist. Its owner and times are ignored.
type WantedAgent struct {
	junctor.Agent
	Where string // in a file; "" where it came another way
}

// WantedPolicy is a rule about calls that should exist.
type WantedPolicy struct {
	junctor.PolicyRule
	Where string // in a file; "" where it came another way
}

// Action is the way in which one thing differs from the description.
type Action string

// The actions.
const (
	ActionAdd      Action = "add"
	ActionChange   Action = "change"
	ActionRemove   Action = "remove"
	ActionConflict Action = "conflict" // it cannot be changed here: Error says why
)

// Change is one difference between the description and the instance. It holds no
// credential.
type Change struct {
	Kind    string        `json:"kind" doc:"Kind of the changed object: server, agent, source, trigger, schedule or policy."`
	ID      string        `json:"id"`
	Action  Action        `json:"action" enum:"add,change,remove,conflict"`
	Where   string        `json:"where,omitempty" doc:"Position in the file: name, line and column."`
	Command []string      `json:"command,omitempty" nullable:"false" doc:"Command that the server would run for the first time, one word per item."`
	Fields  []FieldChange `json:"fields,omitempty" nullable:"false" doc:"Fields that differ, with *** for credentials."`
	Done    bool          `json:"done" doc:"Whether the change was made; always false with dry_run."`
	Error   string        `json:"error,omitempty" doc:"Why the change was not made."`
}

// FieldChange is one member that differs.
type FieldChange struct {
	Field string `json:"field"`
	From  string `json:"from,omitempty"`
	To    string `json:"to,omitempty"`
}

// FileState is the state of the settings file.
type FileState struct {
	Path     string        `json:"path,omitempty" doc:"Path of the settings file. Absent if the instance was started without a file."`
	OK       bool          `json:"ok" doc:"Whether the file is in effect, except for settings that require a restart."`
	LoadedAt string        `json:"loaded_at,omitempty" doc:"When the file last took effect, in RFC 3339."`
	Loads    int           `json:"loads" doc:"How often the file took effect."`
	Problems []FileProblem `json:"problems,omitempty" nullable:"false" doc:"Why the file, or a part of it, is not in effect."`
	Restart  []string      `json:"restart,omitempty" nullable:"false" doc:"Changed settings that take effect at the next start."`
}

// FileProblem is one error in the settings file.
type FileProblem struct {
	Where   string `json:"where,omitempty" doc:"Name, line and column, or another source of the setting."`
	Message string `json:"message"`
}

// applyBody is the request of apply: either members that describe things, or the text of a
// file in their place.
type applyBody struct {
	Body struct {
		Servers map[string]appliedServer `json:"servers,omitempty" doc:"Servers by ID. If absent and agents is set, servers stay unchanged."`
		Agents  map[string]AgentBody     `json:"agents,omitempty" doc:"Complete agents by name; absent members become empty. Requires agents:write. If absent, agents stay unchanged."`
		AppliedEvents
		Policies *[]junctor.PolicyRule `json:"policies,omitempty" maxItems:"500" doc:"Rules about calls, in the order of evaluation. Requires policy:write. If absent, rules stay unchanged."`
		File     string                `json:"file,omitempty" doc:"Text of a file with the declarations, in YAML or JSON, instead of the other members. Its settings are checked but not applied."`
		Prune    bool                  `json:"prune,omitempty" doc:"Remove all servers that are not declared. Also remove undeclared agents, sources, triggers, schedules and rules if the request has their member. Objects that the settings file declares remain."`
		DryRun   bool                  `json:"dry_run,omitempty" doc:"Return the changes without making them."`
		Unseen   bool                  `json:"unseen,omitempty" doc:"Store servers without connecting to them first."`
	}
}

// appliedServer is a server in applyBody.
type appliedServer struct {
	Mode     junctor.Mode `json:"mode,omitempty" doc:"Mode: bring-your-own or auto-generated. If absent, it is derived from the other members."`
	Disabled bool         `json:"disabled,omitempty"`
	ServerBody
}

// changes is the answer to applyBody.
type changes struct {
	Body struct {
		Changes []Change `json:"changes" nullable:"false"`
	}
}

// fileResponse is the state of the settings file.
type fileResponse struct{ Body FileState }

// registerApplyRoutes registers the routes that apply a description, export one, and
// report on the settings file.
func (a *api) registerApplyRoutes() {
	tags := []string{"instance"}
	registerRoute(a, huma.Operation{
		OperationID: "apply", Method: http.MethodPost, Path: "/apply", Summary: "Apply a declaration of servers, agents, sources, triggers, schedules and rules, or return the differences", Tags: tags,
		MaxBodyBytes: maxApplyBody, BodyReadTimeout: -1,
	}, a.applyWanted)
	registerRoute(a, huma.Operation{
		OperationID: "export", Method: http.MethodGet, Path: "/export", Summary: "Export servers, agents, sources, triggers, schedules and rules as a file that can be applied", Tags: tags,
	}, a.exportDeclared)
	registerRoute(a, huma.Operation{
		OperationID: "get-settings-file", Method: http.MethodGet, Path: "/settings/file", Summary: "Show the state of the settings file", Tags: tags,
	}, func(context.Context, *empty) (*fileResponse, error) { return &fileResponse{a.Applier.File()}, nil })
}

// applyWanted handles apply.
func (a *api) applyWanted(ctx context.Context, in *applyBody) (*changes, error) {
	w, err := in.toWanted()
	if err != nil {
		return nil, err
	}
	out := &changes{}
	out.Body.Changes, err = a.Applier.Apply(ctx, callerOf(ctx), w)
	if out.Body.Changes == nil {
		out.Body.Changes = []Change{}
	}
	return out, err
}

// toWanted reads the request. Things come in the order of their names, so that the same
// request always gives the same plan.
func (in *applyBody) toWanted() (Wanted, error) {
	w := Wanted{Prune: in.Body.Prune, DryRun: in.Body.DryRun, Unseen: in.Body.Unseen}
	if in.Body.File != "" {
		if in.Body.Servers != nil || in.Body.Agents != nil || in.Body.Policies != nil || in.Body.hasAny() {
			return w, junctor.Errorf(junctor.CodeInvalid, "file must not be combined with servers, agents or other declared objects; send only one of them")
		}
		return w, w.readFile(in.Body.File)
	}
	if in.Body.Servers != nil {
		w.Servers = []WantedServer{}
	}
	if in.Body.Agents != nil {
		w.Agents = []WantedAgent{}
	}
	for _, id := range slices.Sorted(maps.Keys(in.Body.Servers)) {
		body := in.Body.Servers[id]
		input, err := newServerInput(id, body.Mode, &body.ServerBody)
		if err != nil {
			return w, err
		}
		if body.Disabled {
			input.Server.State = junctor.StateInactive
		}
		w.Servers = append(w.Servers, WantedServer{ServerInput: input})
	}
	for _, name := range slices.Sorted(maps.Keys(in.Body.Agents)) {
		body := in.Body.Agents[name]
		agent, err := body.toAgent(name)
		if err != nil {
			return w, junctor.Errorf(junctor.CodeInvalid, "agents.%s: %s", name, junctor.AsError(err).Message)
		}
		w.Agents = append(w.Agents, WantedAgent{Agent: agent})
	}
	in.Body.addTo(&w)
	if in.Body.Policies != nil {
		w.Policies = []WantedPolicy{}
		for _, r := range *in.Body.Policies {
			w.Policies = append(w.Policies, WantedPolicy{PolicyRule: r})
		}
	}
	return w, nil
}

// readFile fills w with what the text of a file declares. The file's settings are checked
// and not used.
func (w *Wanted) readFile(text string) error {
	d, err := config.Parse("the file", []byte(text))
	if err != nil {
		return junctor.Errorf(junctor.CodeInvalid, "%w", err)
	}
	if d.Empty() {
		return junctor.Errorf(junctor.CodeInvalid, "the file declares no servers, agents, sources, triggers, schedules or rules")
	}
	if d.Servers != nil {
		w.Servers = []WantedServer{}
	}
	for _, s := range d.Servers {
		w.Servers = append(w.Servers, WantedServer{ServerInput: DeclaredInput(s), Where: s.Where})
	}
	if d.Agents != nil {
		w.Agents = []WantedAgent{}
	}
	for _, one := range d.Agents {
		w.Agents = append(w.Agents, WantedAgent{Agent: one.Agent, Where: one.Where})
	}
	w.DeclaredEvents(&d)
	w.DeclaredPolicies(&d)
	return nil
}

// Exported is a file that declares what an instance has.
type Exported struct {
	Text      string            `json:"text" doc:"Text of the file."`
	Variables []config.Variable `json:"variables" nullable:"false" doc:"Variables that replace stored credentials in the file, because credentials are never exported. Set them where you apply the file."`
}

// exportFormat is the query of export.
type exportFormat struct {
	Format string `query:"format" enum:"yaml,json" default:"yaml"`
}

// exportResponse is the answer to export.
type exportResponse struct{ Body Exported }

// exportDeclared handles export. It leaves out servers that nobody can declare (built-in
// and discovered ones) and those of which the caller reads only a part: a file with a part
// would describe another server.
func (a *api) exportDeclared(ctx context.Context, in *exportFormat) (*exportResponse, error) {
	servers, err := a.Servers.Servers(ctx, callerOf(ctx))
	if err != nil {
		return nil, err
	}
	agents, err := a.Agents.Agents(ctx, callerOf(ctx))
	if err != nil {
		return nil, err
	}
	d, sealed := config.FromRows(slices.DeleteFunc(servers, func(s junctor.Server) bool {
		// With a part of its members the file would describe another server.
		return s.Restricted || s.Mode == junctor.ModeBuiltin || s.Mode == junctor.ModeDiscovered
	}))
	if err := a.addDocuments(ctx, &d); err != nil {
		return nil, err
	}
	d.Agents = config.FromAgents(agents)
	events, err := a.exportEvents(ctx, &d)
	if err != nil {
		return nil, err
	}
	sealed = append(sealed, events...)
	if err := a.exportPolicies(ctx, &d); err != nil {
		return nil, err
	}
	write := d.YAML
	if in.Format == "json" {
		write = d.JSON
	}
	text, err := write()
	return &exportResponse{Exported{Text: string(text), Variables: append([]config.Variable{}, sealed...)}}, err
}

// exportPolicies adds the rules of the tenant that the caller could apply. An empty list is
// not mentioned.
func (a *api) exportPolicies(ctx context.Context, d *config.Declared) error {
	p := callerOf(ctx)
	if !p.Has(junctor.ScopePolicyWrite) {
		return nil
	}
	list, _, err := a.Policies.PolicyRules(ctx, p)
	for i := range list {
		if !list[i].Restricted && (!list[i].Operators || p.Operator()) {
			d.Policies = append(d.Policies, config.Policy{PolicyRule: list[i].PolicyRule})
		}
	}
	return err
}

// DeclaredPolicies adds the rules that a file declares, unless it does not name them.
func (w *Wanted) DeclaredPolicies(d *config.Declared) {
	if d.Policies == nil {
		return
	}
	w.Policies = []WantedPolicy{}
	for i := range d.Policies {
		w.Policies = append(w.Policies, WantedPolicy{PolicyRule: d.Policies[i].PolicyRule, Where: d.Policies[i].Where})
	}
}

// addDocuments adds the texts of documents to the servers that are made of one. A server
// whose text the caller may not read is left out.
func (a *api) addDocuments(ctx context.Context, d *config.Declared) error {
	kept := []config.Server{}
	for _, s := range d.Servers {
		if s.API != nil && s.API.DocumentURL == "" {
			stored, err := a.Servers.Document(ctx, callerOf(ctx), s.ID)
			if junctor.CodeOf(err) == junctor.CodeDenied {
				continue
			}
			if err != nil {
				return err
			}
			s.Document = string(stored.Text)
		}
		kept = append(kept, s)
	}
	d.Servers = kept
	return nil
}
