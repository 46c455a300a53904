package admin

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/credential"
	"github.com/junctor-mcp/junctor/internal/pack"
)

// PackPlan is what adding a pack would come to.
type PackPlan struct {
	pack.Pack
	Missing []string        `json:"missing" nullable:"false" doc:"The questions that still want an answer. Where it belongs stands an example."`
	Servers []PlannedServer `json:"servers" nullable:"false"`
	Agents  []PlannedAgent  `json:"agents" nullable:"false"`
}

// PlannedServer is a server of a pack, without credentials.
type PlannedServer struct {
	Name      string            `json:"name" doc:"What the pack calls it."`
	ID        string            `json:"id" doc:"What it would be called here."`
	Taken     bool              `json:"taken,omitempty" doc:"There is one of that id already."`
	Title     string            `json:"title,omitempty"`
	Transport junctor.Transport `json:"transport"`
	URL       string            `json:"url,omitempty"`
	Command   []string          `json:"command,omitempty" nullable:"false" doc:"What would be run, word by word."`
	Cwd       string            `json:"cwd,omitempty"`
	Auth      junctor.AuthType  `json:"auth,omitempty"`
	Env       []string          `json:"env,omitempty" nullable:"false" doc:"The names of its variables."`
	Headers   []string          `json:"headers,omitempty" nullable:"false" doc:"The names of its headers."`
}

// PlannedAgent is an agent of a pack.
type PlannedAgent struct {
	Name  string       `json:"name" doc:"What it would be called here."`
	Taken bool         `json:"taken,omitempty" doc:"There is one of that name already."`
	Role  junctor.Role `json:"role"`
	Tools []string     `json:"tools" nullable:"false"`
}

// PackChoice names a pack and what is to become of it.
type PackChoice struct {
	Pack    string            `json:"pack,omitempty" maxLength:"40" doc:"The id of one that comes with the program."`
	File    string            `json:"file,omitempty" maxLength:"1048576" doc:"Or the text of one, in YAML or JSON."`
	Answers map[string]string `json:"answers,omitempty" doc:"To its questions, by their names. The answer to a secret one may be a reference, as everywhere: env:NAME, file:/path, cmd:program."`
	Names   map[string]string `json:"names,omitempty" doc:"What its servers and agents are to be called, by their names in the pack."`
}

// AddedPack is what came of a pack.
type AddedPack struct {
	Servers []junctor.Server `json:"servers" nullable:"false"`
	Agents  []CreatedAgent   `json:"agents" nullable:"false"`
}

// ExportedPack is a pack made of what is there.
type ExportedPack struct {
	Text      string          `json:"text" doc:"The file, in YAML."`
	Questions []pack.Question `json:"questions" nullable:"false" doc:"What it asks for, in the place of credentials."`
}

type (
	planPack struct{ Body PackChoice }
	addPack  struct {
		Body struct {
			PackChoice
			Commands map[string][]string `json:"commands,omitempty" doc:"Consent: the commands that may be run, word by word, by the id of their server. A pack that would run another is not added."`
		}
	}
	onePlan    struct{ Body PackPlan }
	addedPack  struct{ Body AddedPack }
	exportPack struct {
		Servers []string `query:"server,explode" maxItems:"500" doc:"Servers that are to be in it; absent with agent: all that were brought."`
		Agents  []string `query:"agent,explode" maxItems:"500" doc:"Agents that are to be in it."`
		ID      string   `query:"id" default:"mine" doc:"What the pack is called."`
		Title   string   `query:"title" maxLength:"200"`
		Summary string   `query:"summary" maxLength:"500"`
	}
	exportedPack struct{ Body ExportedPack }
)

func (a *api) packRoutes() {
	tags := []string{"packs"}
	route(a, huma.Operation{
		OperationID: "list-packs", Method: http.MethodGet, Path: "/packs", Summary: "List the packs that come with the program", Tags: tags,
	}, a.listPacks)
	route(a, huma.Operation{
		OperationID: "plan-pack", Method: http.MethodPost, Path: "/packs/plan", Summary: "Say what adding a pack would come to, and what it still asks for", Tags: tags,
		MaxBodyBytes: maxApplyBody,
	}, func(ctx context.Context, in *planPack) (*onePlan, error) {
		_, plan, err := a.plan(ctx, &in.Body)
		return &onePlan{plan}, err
	})
	route(a, huma.Operation{
		OperationID: "add-pack", Method: http.MethodPost, Path: "/packs/add", Summary: "Add what a pack describes, once it has been reached: whole or not at all", Tags: tags,
		DefaultStatus: http.StatusCreated, MaxBodyBytes: maxApplyBody, BodyReadTimeout: -1,
	}, func(ctx context.Context, in *addPack) (*addedPack, error) {
		added, err := a.addPack(ctx, &in.Body.PackChoice, in.Body.Commands)
		return &addedPack{added}, err
	})
	route(a, huma.Operation{
		OperationID: "export-pack", Method: http.MethodGet, Path: "/packs/export", Summary: "Make a pack of servers and agents, without secrets", Tags: tags,
	}, a.exportPack)
}

func (a *api) listPacks(ctx context.Context, _ *none) (*pageOf[PackPlan], error) {
	all, err := a.gallery()
	if err != nil {
		return nil, err
	}
	there, err := a.present(ctx)
	if err != nil {
		return nil, err
	}
	plans := make([]PackPlan, len(all))
	for i, p := range all {
		f, err := p.Fill(nil, nil)
		if err != nil {
			return nil, err
		}
		plans[i] = planOf(p, f, nil, there)
	}
	return newPage(plans, ""), nil
}

// present is what is there, as kind/name.
func (a *api) present(ctx context.Context) (map[string]bool, error) {
	servers, err := a.Servers.Servers(ctx, caller(ctx))
	if err != nil {
		return nil, err
	}
	agents, err := a.Agents.Agents(ctx, caller(ctx))
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for _, s := range servers {
		there["server/"+s.ID] = true
	}
	for _, one := range agents {
		there["agent/"+one.Name] = true
	}
	return there, nil
}

func (a *api) find(c *PackChoice) (*pack.Pack, error) {
	switch {
	case (c.Pack == "") == (c.File == ""):
		return nil, junctor.Errorf(junctor.CodeInvalid, "name a pack that comes with the program in pack, or send one in file")
	case c.File != "":
		return pack.Parse("the file", []byte(c.File))
	}
	all, err := a.gallery()
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(all, func(p *pack.Pack) bool { return p.ID == c.Pack }); i >= 0 {
		return all[i], nil
	}
	return nil, junctor.Errorf(junctor.CodeNotFound, "there is no pack %q: GET %s/packs lists those that come with the program", c.Pack, Prefix)
}

func (a *api) plan(ctx context.Context, c *PackChoice) (pack.Filled, PackPlan, error) {
	p, err := a.find(c)
	if err != nil {
		return pack.Filled{}, PackPlan{}, err
	}
	f, err := p.Fill(c.Answers, c.Names)
	if err != nil {
		return f, PackPlan{}, err
	}
	there, err := a.present(ctx)
	return f, planOf(p, f, c.Names, there), err
}

func planOf(p *pack.Pack, f pack.Filled, names map[string]string, there map[string]bool) PackPlan {
	plan := PackPlan{Pack: *p, Missing: append([]string{}, f.Missing...), Servers: []PlannedServer{}, Agents: []PlannedAgent{}}
	original := map[string]string{}
	for name, id := range names {
		original[id] = name
	}
	for _, s := range f.Servers {
		c, _ := credential.Split(s.Connection())
		one := PlannedServer{
			Name: s.ID, ID: s.ID, Taken: there["server/"+s.ID], Title: s.Title, Transport: c.Transport, URL: c.URL, Command: c.Command, Cwd: c.Cwd,
			Env: slices.Sorted(maps.Keys(c.Env)), Headers: slices.Sorted(maps.Keys(c.Headers)),
		}
		if name, ok := original[s.ID]; ok {
			one.Name = name
		}
		if c.Auth != nil {
			one.Auth = c.Auth.Type
		}
		plan.Servers = append(plan.Servers, one)
	}
	for _, agent := range f.Agents {
		one := PlannedAgent{Name: agent.Name, Taken: there["agent/"+agent.Name], Role: agent.Role, Tools: []string{}}
		for _, g := range agent.Tools {
			one.Tools = append(one.Tools, g.String())
		}
		plan.Agents = append(plan.Agents, one)
	}
	return plan
}

// refusal says why a plan cannot be carried out as it is.
func (p *PackPlan) refusal(agreed map[string][]string) error {
	if len(p.Missing) > 0 {
		return junctor.Errorf(junctor.CodeInvalid, "the pack %s still asks for %q", p.ID, p.Missing)
	}
	for _, s := range p.Servers {
		switch {
		case s.Taken:
			return junctor.Errorf(junctor.CodeConflict, "there is a server %q already: give this one another name in names", s.ID)
		case len(s.Command) > 0 && !slices.Equal(s.Command, agreed[s.ID]):
			return junctor.Errorf(junctor.CodeInvalid, "the pack %s would run %q here: send exactly that in commands, under %s, to agree to it", p.ID, s.Command, s.ID)
		}
	}
	for _, one := range p.Agents {
		if one.Taken {
			return junctor.Errorf(junctor.CodeConflict, "there is an agent %q already: give this one another name in names", one.Name)
		}
	}
	return nil
}

func (a *api) addPack(ctx context.Context, c *PackChoice, agreed map[string][]string) (AddedPack, error) {
	added := AddedPack{Servers: []junctor.Server{}, Agents: []CreatedAgent{}}
	f, plan, err := a.plan(ctx, c)
	if err == nil {
		err = plan.refusal(agreed)
	}
	if err != nil {
		return added, err
	}
	p := caller(ctx)
	undo := func(err error) (AddedPack, error) {
		ctx := context.WithoutCancel(ctx)
		for _, one := range added.Agents {
			_ = a.Agents.RemoveAgent(ctx, p, one.Name)
		}
		for _, s := range added.Servers {
			_ = a.Servers.RemoveServer(ctx, p, s.ID) // the error that matters is the first
		}
		return added, err
	}
	for _, s := range f.Servers {
		row, err := a.Servers.AddServer(ctx, p, DeclaredInput(s))
		if err != nil {
			return undo(err)
		}
		added.Servers = append(added.Servers, row)
	}
	for _, one := range f.Agents {
		row, key, token, err := a.Agents.AddAgent(ctx, p, one.Name, bodyOfAgent(&one.Agent))
		if err != nil {
			return undo(err)
		}
		added.Agents = append(added.Agents, CreatedAgent{Agent: row, KeyID: key.ID, Token: token})
	}
	return added, nil
}

// bodyOfAgent describes a whole agent.
func bodyOfAgent(a *junctor.Agent) AgentBody {
	texts := func(grants []junctor.Grant) *[]string {
		out := make([]string, len(grants))
		for i, g := range grants {
			out[i] = g.String()
		}
		return &out
	}
	limits := LimitsChange{Given: a.Limits != nil}
	if a.Limits != nil {
		limits.Patch = a.Limits.Replacing()
	}
	return AgentBody{
		Title: &a.Title, Role: &a.Role, Tools: texts(a.Tools), Resources: texts(a.Resources), Prompts: texts(a.Prompts), Tier: &a.Tier,
		Limits: limits, Brain: BrainChange{Given: a.Brain != nil, Brain: a.Brain}, Published: &a.Published, Disabled: &a.Disabled,
	}
}

func (a *api) exportPack(ctx context.Context, in *exportPack) (*exportedPack, error) {
	p := caller(ctx)
	var servers []junctor.Server
	var agents []junctor.Agent
	if len(in.Servers) == 0 && len(in.Agents) == 0 {
		all, err := a.Servers.Servers(ctx, p)
		if err != nil {
			return nil, err
		}
		servers = slices.DeleteFunc(all, func(s junctor.Server) bool { return s.Restricted || s.Mode != junctor.ModeBYO })
	}
	for _, id := range in.Servers {
		s, err := a.Servers.Server(ctx, p, id)
		if err != nil {
			return nil, err
		}
		if s.Mode != junctor.ModeBYO {
			return nil, junctor.Errorf(junctor.CodeInvalid, "the server %q is part of every instance: there is nothing to pack", id)
		}
		if s.Restricted {
			return nil, junctor.Errorf(junctor.CodeDenied, "the server %q is not yours: its owner, or an admin, can pack it", id)
		}
		servers = append(servers, s)
	}
	for _, name := range in.Agents {
		one, err := a.Agents.Agent(ctx, p, name)
		if err != nil {
			return nil, err
		}
		agents = append(agents, one)
	}
	if len(servers)+len(agents) == 0 {
		return nil, junctor.Errorf(junctor.CodeNotFound, "there is no server yet that could go into a pack")
	}
	about := pack.About{ID: in.ID, Title: in.Title, Summary: in.Summary}
	if about.Title == "" {
		about.Title = about.ID
	}
	if about.Summary == "" {
		about.Summary = summaryOf(servers, agents)
	}
	text, asked, err := pack.Export(about, servers, agents)
	return &exportedPack{ExportedPack{Text: string(text), Questions: append([]pack.Question{}, asked...)}}, err
}

func summaryOf(servers []junctor.Server, agents []junctor.Agent) string {
	count := func(n int, noun string) string {
		if n == 1 {
			return "1 " + noun
		}
		return fmt.Sprintf("%d %ss", n, noun)
	}
	if len(agents) == 0 {
		return count(len(servers), "server") + "."
	}
	return count(len(servers), "server") + " and " + count(len(agents), "agent") + "."
}
