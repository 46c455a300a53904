package admin

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/pack"
)

// PackPlan is what adding a pack would change.
type PackPlan struct {
	pack.Pack
	Missing []string        `json:"missing" nullable:"false" doc:"Questions that require an answer. Until then, the plan shows an example in its place."`
	Servers []PlannedServer `json:"servers" nullable:"false"`
	Agents  []PlannedAgent  `json:"agents" nullable:"false"`
}

// PlannedServer is a server of a pack, without credentials.
type PlannedServer struct {
	Name      string            `json:"name" doc:"Name in the pack."`
	ID        string            `json:"id" doc:"ID on this instance."`
	Taken     bool              `json:"taken,omitempty" doc:"Whether a different server with this ID exists."`
	Present   bool              `json:"present,omitempty" doc:"Whether a server with this ID and the same target exists. It stays unchanged, and the pack uses it."`
	Named     bool              `json:"named,omitempty" doc:"Whether rules of an agent name the server's tools, so that its ID cannot be changed."`
	Title     string            `json:"title,omitempty"`
	Transport junctor.Transport `json:"transport"`
	URL       string            `json:"url,omitempty" doc:"URL of the API, if the server is auto-generated. If absent, the document decides."`
	Document  string            `json:"document,omitempty" doc:"Source of the document, if the server is auto-generated: a URL, or text for a document inside the pack."`
	Command   []string          `json:"command,omitempty" nullable:"false" doc:"Command that would be run, one word per item."`
	Cwd       string            `json:"cwd,omitempty"`
	Auth      junctor.AuthType  `json:"auth,omitempty"`
	Env       []string          `json:"env,omitempty" nullable:"false" doc:"Names of the environment variables."`
	Headers   []string          `json:"headers,omitempty" nullable:"false" doc:"Names of the headers."`
}

// PlannedAgent is an agent of a pack.
type PlannedAgent struct {
	Pack  string       `json:"pack" doc:"Name in the pack."`
	Name  string       `json:"name" doc:"ID on this instance."`
	Taken bool         `json:"taken,omitempty" doc:"Whether an agent with this name exists."`
	Role  junctor.Role `json:"role"`
	Tools []string     `json:"tools" nullable:"false"`
}

// PackChoice names a pack, the answers to its questions, and the names that its servers
// and agents get here.
type PackChoice struct {
	Pack    string            `json:"pack,omitempty" maxLength:"40" doc:"ID of a pack that comes with Junctor."`
	File    string            `json:"file,omitempty" maxLength:"4194304" doc:"Text of a pack in YAML or JSON, instead of pack."`
	Answers map[string]string `json:"answers,omitempty" doc:"Answers by the names of the questions. The answer to a secret question can be a reference: env:NAME, file:/path or cmd:program."`
	Names   map[string]string `json:"names,omitempty" doc:"New names of servers and agents, by their names in the pack. If a server and an agent share a name, the name means the agent; server/NAME and agent/NAME are explicit."`
}

// AddedPack is the servers and agents that a pack added.
type AddedPack struct {
	Servers []junctor.Server `json:"servers" nullable:"false"`
	Agents  []CreatedAgent   `json:"agents" nullable:"false"`
}

// ExportedPack is a pack made from servers and agents of this instance.
type ExportedPack struct {
	Text      string          `json:"text" doc:"Text of the pack, in YAML."`
	Questions []pack.Question `json:"questions" nullable:"false" doc:"Questions that replace the credentials."`
}

type (
	planPack struct{ Body PackChoice }
	addPack  struct {
		Body struct {
			PackChoice
			Commands map[string][]string `json:"commands,omitempty" doc:"Commands that you allow, by server ID, one word per item. The request fails if the pack would run another command."`
		}
	}
	planResponse      struct{ Body PackPlan }
	addedPackResponse struct{ Body AddedPack }
	exportPack        struct {
		Servers []string `query:"server,explode" maxItems:"500" doc:"Servers to export. If server and agent are both absent, all added servers."`
		Agents  []string `query:"agent,explode" maxItems:"500" doc:"Agents to export."`
		ID      string   `query:"id" default:"mine" doc:"ID of the pack."`
		Title   string   `query:"title" maxLength:"200"`
		Summary string   `query:"summary" maxLength:"500"`
	}
	exportedPackResponse struct{ Body ExportedPack }
)

// registerPackRoutes registers the routes below /packs.
func (a *api) registerPackRoutes() {
	tags := []string{"packs"}
	registerList(a, huma.Operation{
		OperationID: "list-packs", Method: http.MethodGet, Path: "/packs", Summary: "List the built-in packs", Tags: tags,
	}, packList(), a.listPacks)
	registerRoute(a, huma.Operation{
		OperationID: "plan-pack", Method: http.MethodPost, Path: "/packs/plan", Summary: "Preview the result of adding a pack, with the questions that require an answer", Tags: tags,
		MaxBodyBytes: maxApplyBody,
	}, func(ctx context.Context, in *planPack) (*planResponse, error) {
		_, plan, err := a.planFor(ctx, &in.Body)
		return &planResponse{plan}, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "add-pack", Method: http.MethodPost, Path: "/packs/add", Summary: "Add the servers and agents of a pack after connecting to them; on an error, nothing is added", Tags: tags,
		DefaultStatus: http.StatusCreated, MaxBodyBytes: maxApplyBody, BodyReadTimeout: -1,
	}, func(ctx context.Context, in *addPack) (*addedPackResponse, error) {
		added, err := a.addPack(ctx, &in.Body.PackChoice, in.Body.Commands)
		return &addedPackResponse{added}, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "export-pack", Method: http.MethodGet, Path: "/packs/export", Summary: "Export servers and agents as a pack, without secrets", Tags: tags,
	}, a.exportPack)
}

// listPacks handles list-packs: each pack of the gallery with the plan for it without any
// answers.
func (a *api) listPacks(ctx context.Context, _ *ListQuery) ([]PackPlan, error) {
	all, err := a.gallery()
	if err != nil {
		return nil, err
	}
	there, err := a.readInventory(ctx)
	if err != nil {
		return nil, err
	}
	plans := make([]PackPlan, len(all))
	for i, p := range all {
		f, err := p.FillBeside(nil, nil, there.serverIDs())
		if err != nil {
			return nil, err
		}
		plans[i] = newPackPlan(p, f, nil, there)
	}
	return plans, nil
}

// inventory is the servers and agents that exist, by name, as far as the caller sees them.
type inventory struct {
	servers map[string]*junctor.Server
	agents  map[string]bool
}

// serverIDs returns the ids of the servers as a set.
func (p *inventory) serverIDs() map[string]bool {
	out := make(map[string]bool, len(p.servers))
	for id := range p.servers {
		out[id] = true
	}
	return out
}

// readInventory reads the servers and agents that the caller sees.
func (a *api) readInventory(ctx context.Context) (*inventory, error) {
	servers, err := a.Servers.Servers(ctx, callerOf(ctx))
	if err != nil {
		return nil, err
	}
	agents, err := a.Agents.Agents(ctx, callerOf(ctx))
	if err != nil {
		return nil, err
	}
	there := &inventory{servers: map[string]*junctor.Server{}, agents: map[string]bool{}}
	for i := range servers {
		there.servers[servers[i].ID] = &servers[i]
	}
	for _, one := range agents {
		there.agents[one.Name] = true
	}
	return there, nil
}

// leadsToSamePlace reports whether an existing server connects to the same place as a
// pack's server would. It is false for a server with credentials, or whose connection the
// caller may not read: using such a server would be a guess.
func leadsToSamePlace(row *junctor.Server, in ServerInput) bool {
	c, o := &row.Connection, &in.Server.Connection
	bare := func(c *junctor.Connection) bool {
		return len(c.Env) == 0 && len(c.Headers) == 0 && (c.Auth == nil || c.Auth.Type == junctor.AuthNone)
	}
	return !row.Restricted && row.Mode == junctor.ModeBYO && in.Server.Mode == junctor.ModeBYO && len(in.Credentials) == 0 && bare(c) && bare(o) &&
		c.Transport == o.Transport && c.URL == o.URL && slices.Equal(c.Command, o.Command) && c.Cwd == o.Cwd
}

// findPack returns the chosen pack: one of the gallery by id, or one from the text of a
// file.
func (a *api) findPack(c *PackChoice) (*pack.Pack, error) {
	switch {
	case (c.Pack == "") == (c.File == ""):
		return nil, junctor.Errorf(junctor.CodeInvalid, "set pack to the name of a built-in pack, or send a pack in file")
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
	return nil, junctor.Errorf(junctor.CodeNotFound, "unknown pack %q; GET %s/packs lists the built-in packs", c.Pack, Prefix)
}

// planFor fills a pack with the answers and names of c, and returns both the filled pack
// and the plan that people see.
func (a *api) planFor(ctx context.Context, c *PackChoice) (pack.Filled, PackPlan, error) {
	p, err := a.findPack(c)
	if err != nil {
		return pack.Filled{}, PackPlan{}, err
	}
	there, err := a.readInventory(ctx)
	if err != nil {
		return pack.Filled{}, PackPlan{}, err
	}
	f, err := p.FillBeside(c.Answers, c.Names, there.serverIDs())
	if err != nil {
		return f, PackPlan{}, err
	}
	return f, newPackPlan(p, f, c.Names, there), nil
}

// newPackPlan compares a filled pack with the inventory. names maps names in the pack to
// names here; the plan shows both.
func newPackPlan(p *pack.Pack, f pack.Filled, names map[string]string, there *inventory) PackPlan {
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
			one.Present = leadsToSamePlace(row, in)
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

// checkAddable refuses a plan that cannot be carried out: an unanswered question, a name
// that is taken, or a command that the caller did not agree to. agreed has the accepted
// commands by server id.
func (p *PackPlan) checkAddable(agreed map[string][]string) error {
	if len(p.Missing) > 0 {
		return junctor.Errorf(junctor.CodeInvalid, "the pack %s requires answers for %q", p.ID, p.Missing)
	}
	for _, s := range p.Servers {
		switch {
		case s.Taken && s.Named:
			return junctor.Errorf(junctor.CodeConflict, "another server %q already exists, and the server of the pack cannot be renamed, because the rules of its agent name its tools; remove the existing server first, or omit the answer with the address to use the existing server", s.ID)
		case s.Taken:
			return junctor.Errorf(junctor.CodeConflict, "another server %q already exists; choose another name for this one in names (--as server/%s=NAME)", s.ID, s.Name)
		case s.Present:
		case len(s.Command) > 0 && !slices.Equal(s.Command, agreed[s.ID]):
			return junctor.Errorf(junctor.CodeInvalid, "the pack %s would run the command %q on this machine; to agree, send exactly this command in commands under %s", p.ID, s.Command, s.ID)
		}
	}
	for _, one := range p.Agents {
		if one.Taken {
			return junctor.Errorf(junctor.CodeConflict, "an agent %q already exists; choose another name for this one in names (--as %s=NAME)", one.Name, one.Pack)
		}
	}
	return nil
}

// addPack adds everything that a pack describes, or nothing: on an error it removes what
// it added. Servers that exist already and lead to the same place are used as they are.
// The error that is returned is the first one; errors while removing are dropped.
func (a *api) addPack(ctx context.Context, c *PackChoice, agreed map[string][]string) (AddedPack, error) {
	added := AddedPack{Servers: []junctor.Server{}, Agents: []CreatedAgent{}}
	f, plan, err := a.planFor(ctx, c)
	if err == nil {
		err = plan.checkAddable(agreed)
	}
	if err != nil {
		return added, err
	}
	p := callerOf(ctx)
	undo := func(err error) (AddedPack, error) {
		ctx := context.WithoutCancel(ctx)
		for _, one := range added.Agents {
			_ = a.recordObject(ctx, "delete-agent", "agent", one.Name, func(ctx context.Context) error { return a.Agents.RemoveAgent(ctx, p, one.Name) })
		}
		for _, s := range added.Servers {
			// The error that matters is the first.
			_ = a.recordObject(ctx, "delete-server", "server", s.ID, func(ctx context.Context) error { return a.Servers.RemoveServer(ctx, p, s.ID) })
		}
		return added, err
	}
	for i, s := range f.Servers {
		if plan.Servers[i].Present {
			continue
		}
		err := a.recordObject(ctx, "create-server", "server", s.ID, func(ctx context.Context) error {
			row, err := a.Servers.AddServer(ctx, p, DeclaredInput(s))
			if err == nil {
				added.Servers = append(added.Servers, row)
			}
			return err
		})
		if err != nil {
			return undo(err)
		}
	}
	for _, t := range f.Tools {
		if !slices.ContainsFunc(added.Servers, func(s junctor.Server) bool { return s.ID == t.Server }) {
			continue // a server that existed before keeps the tags of its tools
		}
		if err := a.tagPackTool(ctx, t); err != nil {
			return undo(err)
		}
	}
	for _, one := range f.Agents {
		err := a.recordObject(ctx, "create-agent", "agent", one.Name, func(ctx context.Context) error {
			row, key, token, err := a.Agents.AddAgent(ctx, p, one.Name, newAgentBody(&one.Agent))
			if err == nil {
				added.Agents = append(added.Agents, CreatedAgent{AgentDetails: AgentDetails{Agent: row}, KeyID: key.ID, Token: token})
			}
			return err
		})
		if err != nil {
			return undo(err)
		}
	}
	return added, nil
}

// tagPackTool stores the roles of a tool of a server that was just added. A missing tool
// is an error, since the pack was written for another version of the server.
func (a *api) tagPackTool(ctx context.Context, t pack.ToolRoles) error {
	p := callerOf(ctx)
	all := a.Tools.Tools(p, t.Server, "", "")
	i := slices.IndexFunc(all, func(one junctor.Tool) bool { return one.Name == t.Tool })
	if i < 0 {
		return junctor.Errorf(junctor.CodeNotFound, "the pack tags the tool %q of the server %q, but the server has no such tool", t.Tool, t.Server)
	}
	return a.recordObject(ctx, "put-tool-tag", "tool", all[i].Exposed, func(ctx context.Context) error {
		_, err := a.Tags.TagTool(ctx, p, all[i].Exposed, t.Roles, t.Category, time.Time{})
		return err
	})
}

// packContent collects the documents that servers are made of, and the roles that users
// gave to their tools.
func (a *api) packContent(ctx context.Context, servers []junctor.Server) (pack.Content, error) {
	p := callerOf(ctx)
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

// newAgentBody returns the body that describes a whole agent.
func newAgentBody(a *junctor.Agent) AgentBody {
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
		Limits: limits, Brain: BrainChange{Given: a.Brain != nil, Brain: a.Brain}, Exposure: &a.Exposure, Published: &a.Published, Disabled: &a.Disabled,
	}
}

// exportPack handles export-pack. Without names it packs all servers that the caller may
// read whole. A named server that cannot be packed is an error.
func (a *api) exportPack(ctx context.Context, in *exportPack) (*exportedPackResponse, error) {
	p := callerOf(ctx)
	var servers []junctor.Server
	var agents []junctor.Agent
	if len(in.Servers) == 0 && len(in.Agents) == 0 {
		all, err := a.Servers.Servers(ctx, p)
		if err != nil {
			return nil, err
		}
		servers = slices.DeleteFunc(all, func(s junctor.Server) bool { return s.Restricted || !isPackable(s.Mode) })
	}
	for _, id := range in.Servers {
		s, err := a.Servers.Server(ctx, p, id)
		if err != nil {
			return nil, err
		}
		if !isPackable(s.Mode) {
			return nil, junctor.Errorf(junctor.CodeInvalid, "the server %q is built into every instance, so it cannot be packed", id)
		}
		if s.Restricted {
			return nil, junctor.Errorf(junctor.CodeDenied, "only the owner of the server %q or an admin can pack it", id)
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
		return nil, junctor.Errorf(junctor.CodeNotFound, "no server can be packed yet; add a server first")
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
	return &exportedPackResponse{ExportedPack{Text: string(text), Questions: append([]pack.Question{}, asked...)}}, err
}

// isPackable reports whether servers of a mode can be in a pack. Built-in servers are part
// of every instance; discovered ones come from a chain.
func isPackable(mode junctor.Mode) bool {
	return mode == junctor.ModeBYO || mode == junctor.ModeGenerated
}

// summaryOf returns the default summary of a pack, such as "2 servers and 1 agent."
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

// packList is the shape of list-packs.
func packList() listShape[PackPlan] {
	return listShape[PackPlan]{
		id: func(v *PackPlan) string { return v.ID },
		orders: []listOrder[PackPlan]{
			byText("id", func(v *PackPlan) string { return v.ID }),
			byText("title", func(v *PackPlan) string { return v.Title }),
		},
		text: func(v *PackPlan) []string { return append([]string{v.ID, v.Title, v.Summary}, v.Tags...) },
	}
}
