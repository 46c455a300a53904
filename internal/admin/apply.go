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

// maxApplyBody is as much as a file may hold with its documents.
const maxApplyBody = maxDocumentBody

// Applier makes an instance have what somebody describes, and says how the file
// that describes it is doing. internal/app implements it.
type Applier interface {
	// Apply changes what differs. An error of one thing stands with it in the
	// changes, and keeps no other away.
	Apply(ctx context.Context, p *junctor.Principal, w Wanted) ([]Change, error)
	File() FileState
}

// Wanted is what an instance is to have. A list that is nil is not spoken of, and
// nothing of its kind is touched; without any it is about servers.
type Wanted struct {
	Servers   []WantedServer
	Agents    []WantedAgent
	Triggers  []WantedTrigger
	Sources   []WantedSource
	Schedules []WantedSchedule
	Prune     bool // take away what is not wanted
	DryRun    bool // say what would change, and change nothing
	Unseen    bool // store servers that were not reached
}

// WantedServer is a server that is to be there.
type WantedServer struct {
	ServerInput
	Where string // in a file; "" where it came another way
}

// WantedAgent is an agent that is to be there. Who made it, and when, is not
// wanted of it.
type WantedAgent struct {
	junctor.Agent
	Where string // in a file; "" where it came another way
}

// Action is what is done to make an instance have what is wanted.
type Action string

// The actions.
const (
	ActionAdd      Action = "add"
	ActionChange   Action = "change"
	ActionRemove   Action = "remove"
	ActionConflict Action = "conflict" // it cannot be changed here: Error says why
)

// Change is one difference between what is wanted and what is there. It holds
// no credential.
type Change struct {
	Kind    string        `json:"kind" doc:"What it is about: server, agent, source, trigger or schedule."`
	ID      string        `json:"id"`
	Action  Action        `json:"action" enum:"add,change,remove,conflict"`
	Where   string        `json:"where,omitempty" doc:"In the file: name, line and column."`
	Command []string      `json:"command,omitempty" nullable:"false" doc:"What the server would run for the first time, word by word."`
	Fields  []FieldChange `json:"fields,omitempty" nullable:"false" doc:"What differs, with *** for credentials."`
	Done    bool          `json:"done" doc:"It was made; with dry_run nothing is."`
	Error   string        `json:"error,omitempty" doc:"Why it was not made."`
}

// FieldChange is one member that differs.
type FieldChange struct {
	Field string `json:"field"`
	From  string `json:"from,omitempty"`
	To    string `json:"to,omitempty"`
}

// FileState is how the file that the instance reads is doing.
type FileState struct {
	Path     string        `json:"path,omitempty" doc:"Absent where the instance was started without a file."`
	OK       bool          `json:"ok" doc:"What the file says is in force, but for settings that wait for a restart."`
	LoadedAt string        `json:"loaded_at,omitempty" doc:"When it was last put into force, RFC 3339."`
	Loads    int           `json:"loads" doc:"How often it was put into force."`
	Problems []FileProblem `json:"problems,omitempty" nullable:"false" doc:"Why it is not, or not all of it."`
	Restart  []string      `json:"restart,omitempty" nullable:"false" doc:"Settings that the file has changed and that take effect at the next start."`
}

// FileProblem is one thing that is wrong with the file.
type FileProblem struct {
	Where   string `json:"where,omitempty" doc:"Name, line and column, or the setting's other source."`
	Message string `json:"message"`
}

type applyBody struct {
	Body struct {
		Servers map[string]appliedServer `json:"servers,omitempty" doc:"By id. Absent beside agents: servers are left alone."`
		Agents  map[string]AgentBody     `json:"agents,omitempty" doc:"By name, whole: a member that is absent is empty. Needs agents:write. Absent: agents are left alone."`
		AppliedEvents
		File   string `json:"file,omitempty" doc:"The text of a file that declares them, in YAML or JSON, in the place of all of these. Its settings are checked and not used."`
		Prune  bool   `json:"prune,omitempty" doc:"Remove the servers that are not named, and of the others those whose kind is there, but for those that a file declares."`
		DryRun bool   `json:"dry_run,omitempty" doc:"Say what would change, and change nothing."`
		Unseen bool   `json:"unseen,omitempty" doc:"Store servers without reaching them first."`
	}
}

type appliedServer struct {
	Mode     junctor.Mode `json:"mode,omitempty" doc:"bring-your-own or auto-generated; absent: what the other members say."`
	Disabled bool         `json:"disabled,omitempty"`
	ServerBody
}

type changes struct {
	Body struct {
		Changes []Change `json:"changes" nullable:"false"`
	}
}

type oneFile struct{ Body FileState }

func (a *api) applyRoutes() {
	tags := []string{"instance"}
	route(a, huma.Operation{
		OperationID: "apply", Method: http.MethodPost, Path: "/apply", Summary: "Make the instance have these servers, agents, sources, triggers and schedules, or say what differs", Tags: tags,
		MaxBodyBytes: maxApplyBody, BodyReadTimeout: -1,
	}, a.apply)
	route(a, huma.Operation{
		OperationID: "export", Method: http.MethodGet, Path: "/export", Summary: "Write what is there, servers, agents and what concerns events, as a file that can be applied", Tags: tags,
	}, a.export)
	route(a, huma.Operation{
		OperationID: "get-settings-file", Method: http.MethodGet, Path: "/settings/file", Summary: "Say how the settings file is doing", Tags: tags,
	}, func(context.Context, *none) (*oneFile, error) { return &oneFile{a.Applier.File()}, nil })
}

func (a *api) apply(ctx context.Context, in *applyBody) (*changes, error) {
	w, err := in.wanted()
	if err != nil {
		return nil, err
	}
	out := &changes{}
	out.Body.Changes, err = a.Applier.Apply(ctx, caller(ctx), w)
	if out.Body.Changes == nil {
		out.Body.Changes = []Change{}
	}
	return out, err
}

func (in *applyBody) wanted() (Wanted, error) {
	w := Wanted{Prune: in.Body.Prune, DryRun: in.Body.DryRun, Unseen: in.Body.Unseen}
	if in.Body.File != "" {
		if in.Body.Servers != nil || in.Body.Agents != nil || in.Body.some() {
			return w, junctor.Errorf(junctor.CodeInvalid, "a file stands in the place of what it declares: send one or the other")
		}
		return w, w.read(in.Body.File)
	}
	if in.Body.Servers != nil {
		w.Servers = []WantedServer{}
	}
	if in.Body.Agents != nil {
		w.Agents = []WantedAgent{}
	}
	for _, id := range slices.Sorted(maps.Keys(in.Body.Servers)) {
		body := in.Body.Servers[id]
		input, err := inputOf(id, body.Mode, &body.ServerBody)
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
		agent, err := body.whole(name)
		if err != nil {
			return w, junctor.Errorf(junctor.CodeInvalid, "agents.%s: %s", name, junctor.AsError(err).Message)
		}
		w.Agents = append(w.Agents, WantedAgent{Agent: agent})
	}
	in.Body.wanted(&w)
	return w, nil
}

// read takes what a file declares.
func (w *Wanted) read(text string) error {
	d, err := config.Parse("the file", []byte(text))
	if err != nil {
		return junctor.Errorf(junctor.CodeInvalid, "%w", err)
	}
	if d.Empty() {
		return junctor.Errorf(junctor.CodeInvalid, "the file declares no servers, agents, sources, triggers or schedules")
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
	return nil
}

// Exported is what declares what is there.
type Exported struct {
	Text      string            `json:"text" doc:"The file."`
	Variables []config.Variable `json:"variables" nullable:"false" doc:"Variables that stand in it for sealed credentials, which nobody knows: set them where it is applied."`
}

type exportFormat struct {
	Format string `query:"format" enum:"yaml,json" default:"yaml"`
}

type oneExport struct{ Body Exported }

func (a *api) export(ctx context.Context, in *exportFormat) (*oneExport, error) {
	servers, err := a.Servers.Servers(ctx, caller(ctx))
	if err != nil {
		return nil, err
	}
	agents, err := a.Agents.Agents(ctx, caller(ctx))
	if err != nil {
		return nil, err
	}
	d, sealed := config.FromRows(slices.DeleteFunc(servers, func(s junctor.Server) bool {
		// What the caller may read in part only would be another server.
		return s.Restricted || s.Mode == junctor.ModeBuiltin || s.Mode == junctor.ModeFound
	}))
	if err := a.documents(ctx, &d); err != nil {
		return nil, err
	}
	d.Agents = config.FromAgents(agents)
	events, err := a.exportEvents(ctx, &d)
	if err != nil {
		return nil, err
	}
	sealed = append(sealed, events...)
	write := d.YAML
	if in.Format == "json" {
		write = d.JSON
	}
	text, err := write()
	return &oneExport{Exported{Text: string(text), Variables: append([]config.Variable{}, sealed...)}}, err
}

// documents puts the texts into servers that are made of one. A text that is
// not the caller's to read is left out with its server.
func (a *api) documents(ctx context.Context, d *config.Declared) error {
	kept := []config.Server{}
	for _, s := range d.Servers {
		if s.API != nil && s.API.DocumentURL == "" {
			stored, err := a.Servers.Document(ctx, caller(ctx), s.ID)
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
