package admin

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/config"
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
	Taken     bool              `json:"taken,omitempty" doc:"There is another server of that id already."`
	Present   bool              `json:"present,omitempty" doc:"There is a server of that id already that leads to the same place: it stays as it is, and is used."`
	Named     bool              `json:"named,omitempty" doc:"Rules of an agent name its tools, so it keeps its id."`
	Title     string            `json:"title,omitempty"`
	Transport junctor.Transport `json:"transport"`
	URL       string            `json:"url,omitempty" doc:"Of one that is made of a document, where the API is called; absent: where the document says."`
	Document  string            `json:"document,omitempty" doc:"Of one that is made of a document: where that is, or text for one that is in the pack."`
	Command   []string          `json:"command,omitempty" nullable:"false" doc:"What would be run, word by word."`
	Cwd       string            `json:"cwd,omitempty"`
	Auth      junctor.AuthType  `json:"auth,omitempty"`
	Env       []string          `json:"env,omitempty" nullable:"false" doc:"The names of its variables."`
	Headers   []string          `json:"headers,omitempty" nullable:"false" doc:"The names of its headers."`
}

// PlannedAgent is an agent of a pack.
type PlannedAgent struct {
	Pack  string       `json:"pack" doc:"What the pack calls it."`
	Name  string       `json:"name" doc:"What it would be called here."`
	Taken bool         `json:"taken,omitempty" doc:"There is one of that name already."`
	Role  junctor.Role `json:"role"`
	Tools []string     `json:"tools" nullable:"false"`
}

// PackChoice names a pack and what is to become of it.
type PackChoice struct {
	Pack    string            `json:"pack,omitempty" maxLength:"40" doc:"The id of one that comes with the program."`
	File    string            `json:"file,omitempty" maxLength:"4194304" doc:"Or the text of one, in YAML or JSON."`
	Answers map[string]string `json:"answers,omitempty" doc:"To its questions, by their names. The answer to a secret one may be a reference, as everywhere: env:NAME, file:/path, cmd:program."`
	Names   map[string]string `json:"names,omitempty" doc:"What its servers and agents are to be called, by their names in the pack. A name that both a server and an agent have means the agent; server/NAME and agent/NAME mean one of them."`
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
		f, err := p.FillBeside(nil, nil, there.ids())
		if err != nil {
			return nil, err
		}
		plans[i] = planOf(p, f, nil, there)
	}
	return newPage(plans, ""), nil
}

// presence is what is there by name, as far as the caller sees it.
type presence struct {
	servers map[string]*junctor.Server
	agents  map[string]bool
}

// ids are those of the servers.
func (p *presence) ids() map[string]bool {
	out := make(map[string]bool, len(p.servers))
	for id := range p.servers {
		out[id] = true
	}
	return out
}

func (a *api) present(ctx context.Context) (*presence, error) {
	servers, err := a.Servers.Servers(ctx, caller(ctx))
	if err != nil {
		return nil, err
	}
	agents, err := a.Agents.Agents(ctx, caller(ctx))
	if err != nil {
		return nil, err
	}
	there := &presence{servers: map[string]*junctor.Server{}, agents: map[string]bool{}}
	for i := range servers {
		there.servers[servers[i].ID] = &servers[i]
	}
	for _, one := range agents {
		there.agents[one.Name] = true
	}
	return there, nil
}

// samePlace reports whether a server that is there leads where a pack's would. One
// whose connection the caller may not read, or with credentials, is another one.
func samePlace(row *junctor.Server, in ServerInput) bool {
	c, o := &row.Connection, &in.Server.Connection
	bare := func(c *junctor.Connection) bool {
		return len(c.Env) == 0 && len(c.Headers) == 0 && (c.Auth == nil || c.Auth.Type == junctor.AuthNone)
	}
	return !row.Restricted && row.Mode == junctor.ModeBYO && in.Server.Mode == junctor.ModeBYO && len(in.Credentials) == 0 && bare(c) && bare(o) &&
		c.Transport == o.Transport && c.URL == o.URL && slices.Equal(c.Command, o.Command) && c.Cwd == o.Cwd
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
	there, err := a.present(ctx)
	if err != nil {
		return pack.Filled{}, PackPlan{}, err
	}
	f, err := p.FillBeside(c.Answers, c.Names, there.ids())
	if err != nil {
		return f, PackPlan{}, err
	}
	return f, planOf(p, f, c.Names, there), nil
}

func planOf(p *pack.Pack, f pack.Filled, names map[string]string, there *presence) PackPlan {
	described := *p
	described.Tools = f.Tools
	plan := PackPlan{Pack: described, Missing: append([]string{}, f.Missing...), Servers: []PlannedServer{}, Agents: []PlannedAgent{}}
	original := map[string]string{}
	for name, id := range names {
		kind, own, ok := strings.Cut(name, "/")
		if !ok {
			kind, own = "", name
		}
		original[kind+"/"+id] = own
	}
	called := func(kind, id string) string { return cmp.Or(original[kind+"/"+id], original["/"+id], id) }
	for _, s := range f.Servers {
		in := DeclaredInput(s)
		c := in.Server.Connection
		one := PlannedServer{
			Name: called("server", s.ID), ID: s.ID, Title: s.Title, Transport: c.Transport, URL: c.URL, Command: c.Command, Cwd: c.Cwd,
			Env: slices.Sorted(maps.Keys(c.Env)), Headers: slices.Sorted(maps.Keys(c.Headers)),
		}
		if row := there.servers[s.ID]; row != nil {
			one.Present = samePlace(row, in)
			one.Taken = !one.Present
		}
		one.Named = slices.ContainsFunc(f.Agents, func(a config.Agent) bool { return pack.NamesServer(&a.Agent, s.ID) })
		if c.Auth != nil {
			one.Auth = c.Auth.Type
		}
		if s.API != nil {
			one.Document = cmp.Or(s.API.DocumentURL, "text")
		}
		plan.Servers = append(plan.Servers, one)
	}
	for _, agent := range f.Agents {
		one := PlannedAgent{Pack: called("agent", agent.Name), Name: agent.Name, Taken: there.agents[agent.Name], Role: agent.Role, Tools: []string{}}
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
		case s.Taken && s.Named:
			return junctor.Errorf(junctor.CodeConflict, "there is another server %q already, and the pack's keeps its name, because the rules of its agent name its tools: remove that one first, or leave out the answer that gives the address to use it", s.ID)
		case s.Taken:
			return junctor.Errorf(junctor.CodeConflict, "there is another server %q already: give this one another name in names (--as server/%s=NAME)", s.ID, s.Name)
		case s.Present:
		case len(s.Command) > 0 && !slices.Equal(s.Command, agreed[s.ID]):
			return junctor.Errorf(junctor.CodeInvalid, "the pack %s would run %q here: send exactly that in commands, under %s, to agree to it", p.ID, s.Command, s.ID)
		}
	}
	for _, one := range p.Agents {
		if one.Taken {
			return junctor.Errorf(junctor.CodeConflict, "there is an agent %q already: give this one another name in names (--as %s=NAME)", one.Name, one.Pack)
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
	for i, s := range f.Servers {
		if plan.Servers[i].Present {
			continue
		}
		row, err := a.Servers.AddServer(ctx, p, DeclaredInput(s))
		if err != nil {
			return undo(err)
		}
		added.Servers = append(added.Servers, row)
	}
	for _, t := range f.Tools {
		if !slices.ContainsFunc(added.Servers, func(s junctor.Server) bool { return s.ID == t.Server }) {
			continue // a server that was there keeps what its operators said about its tools
		}
		if err := a.tagPackTool(ctx, t); err != nil {
			return undo(err)
		}
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

// tagPackTool says what a tool of a server that was just added is for.
func (a *api) tagPackTool(ctx context.Context, t pack.ToolRoles) error {
	p := caller(ctx)
	all := a.Tools.Tools(p, t.Server, "", "")
	i := slices.IndexFunc(all, func(one junctor.Tool) bool { return one.Name == t.Tool })
	if i < 0 {
		return junctor.Errorf(junctor.CodeNotFound, "the pack says what the tool %q of the server %q is for, and the server has no such tool", t.Tool, t.Server)
	}
	_, err := a.Tags.TagTool(ctx, p, all[i].Exposed, t.Roles, t.Category)
	return err
}

// packContent gathers what people said of the tools of servers, and the documents
// that servers are made of.
func (a *api) packContent(ctx context.Context, servers []junctor.Server) (pack.Content, error) {
	p := caller(ctx)
	out := pack.Content{Servers: servers, Documents: map[string]string{}}
	for i := range servers {
		s := &servers[i]
		if s.Mode == junctor.ModeGenerated && (s.API.DocumentURL == "" || s.API.FromFile()) {
			stored, err := a.Servers.Document(ctx, p, s.ID)
			if err != nil {
				return out, err
			}
			out.Documents[s.ID] = string(stored.Text)
		}
		for _, t := range a.Tools.Tools(p, s.ID, "", "") {
			one, err := a.Tools.Tool(ctx, p, t.Exposed)
			if err != nil || one.Class == nil || one.Class.Tag == nil {
				continue
			}
			out.Tools = append(out.Tools, pack.ToolRoles{Server: s.ID, Tool: t.Name, Roles: one.Class.Tag.Roles, Category: one.Class.Tag.Category})
		}
	}
	return out, nil
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
		servers = slices.DeleteFunc(all, func(s junctor.Server) bool { return s.Restricted || !packable(s.Mode) })
	}
	for _, id := range in.Servers {
		s, err := a.Servers.Server(ctx, p, id)
		if err != nil {
			return nil, err
		}
		if !packable(s.Mode) {
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
	content, err := a.packContent(ctx, servers)
	if err != nil {
		return nil, err
	}
	content.Agents = agents
	text, asked, err := pack.Export(about, content)
	return &exportedPack{ExportedPack{Text: string(text), Questions: append([]pack.Question{}, asked...)}}, err
}

// packable says whether servers of a mode can be in a pack.
func packable(mode junctor.Mode) bool {
	return mode == junctor.ModeBYO || mode == junctor.ModeGenerated
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
