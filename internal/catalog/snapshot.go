package catalog

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Snapshot is the catalog at one moment. It never changes.
type Snapshot struct {
	version uint64
	shelves map[junctor.TenantID]*Shelf
}

// Version rises with every change.
func (s *Snapshot) Version() uint64 { return s.version }

// For gives the shelf of the principal's tenant; an empty one where the tenant
// has no server.
func (s *Snapshot) For(tenant junctor.TenantID) *Shelf {
	if sh, ok := s.shelves[tenant]; ok {
		return sh
	}
	return &Shelf{access: &access{}, lists: &listCache{}}
}

// Shelf is what one tenant has, and who may see it.
type Shelf struct {
	servers []*Server // in the order of their ids
	byID    map[string]*Server
	tools   map[string]*Tool   // by exposed name
	prompts map[string]*Prompt // by exposed name
	bare    map[string]*Tool   // built-in tools by their own name, where nothing else has it
	private []*Server          // those that have an owner
	joined  junctor.Exposure   // of servers that say nothing, where they are joined
	shaped  bool               // there are tools that profiles show otherwise
	odd     bool               // there are tools that older clients are shown otherwise
	access  *access
	lists   *listCache
}

// Server is one attached server in a snapshot.
type Server struct {
	ID       string
	Mode     junctor.Mode
	Exposure junctor.Exposure // "" shows all tools on its own door
	Owner    string           // the only party that sees it, as Principal.ID says; "" is everybody
	Backend  Backend
	Offer    *Offer

	// Problems says which of the tools that it lists were left out or are shown
	// changed, and why: at most maxProblems, those that were left out first.
	Problems []ToolProblem

	believed  bool // annotations of its tools count
	tools     []*Tool
	toolsBy   map[string]*Tool // by the server's own name
	prompts   []*Prompt
	promptsBy map[string]*Prompt
	resources map[string]struct{}
	listed    []ResourceDef      // its resources, as lists show them
	templates []ResourceDef      // likewise
	pages     map[string][]*Tool // by the ui:// resource that they name
}

// ToolProblem is why a tool that a server lists is not in the catalog, or not as
// the server defines it.
type ToolProblem struct {
	Tool   string        `json:"tool"`
	Effect ProblemEffect `json:"effect"`
	Reason string        `json:"reason"`
}

// ProblemEffect is what became of a tool that has a problem.
type ProblemEffect string

// Effects of problems.
const (
	EffectLeftOut      ProblemEffect = "left_out"      // nobody is shown it
	EffectChanged      ProblemEffect = "changed"       // everybody is shown it without what breaks the specification
	EffectOlderClients ProblemEffect = "older_clients" // clients of protocol versions before 2026-07-28 are shown another form
)

// maxProblems bounds how many tools a server's problems name.
const maxProblems = 100

// leaveOut notes that a tool is not in the catalog.
func (s *Server) leaveOut(tool string, why error, log *slog.Logger) {
	log.Warn("a tool was left out", "server", s.ID, "tool", clip(tool), "error", why)
	if len(s.Problems) < maxProblems {
		s.Problems = append(s.Problems, ToolProblem{Tool: clip(tool), Effect: EffectLeftOut, Reason: why.Error()})
	}
}

// noteChanges adds the tools that are not shown as the server defines them to its
// problems.
func (s *Server) noteChanges() {
	note := func(tool string, effect ProblemEffect, changes []string) {
		if len(changes) > 0 && len(s.Problems) < maxProblems {
			s.Problems = append(s.Problems, ToolProblem{Tool: clip(tool), Effect: effect, Reason: strings.Join(changes, "; ")})
		}
	}
	for _, t := range s.tools {
		for _, v := range t.Versions {
			note(t.Name, EffectChanged, v.changes)
			note(t.Name, EffectOlderClients, v.older.changes)
		}
	}
}

// correctResources gives the definitions of resources or templates as the
// specification wants them. They are copied only where one has to change.
func correctResources(defs []ResourceDef) []ResourceDef {
	out := defs
	for i, def := range defs {
		corrected, changed := correctItem(def.JSON, resourceRule, def.URI)
		if !changed {
			continue
		}
		if &out[0] == &defs[0] {
			out = slices.Clone(defs)
		}
		out[i].JSON = corrected
	}
	return out
}

// Tool is a tool with all its versions.
type Tool struct {
	Server   string
	Name     string // the server's own
	Exposed  string
	Versions []*ToolVersion // oldest first; one, with Version "", where the tool has none
	Default  *ToolVersion

	notModel, notApp bool // it says that it is not for these
}

// ToolVersion is what runs.
type ToolVersion struct {
	Version    string
	Timeout    time.Duration
	JSON       []byte // the MCP Tool object under the server's own name, as the specification wants it
	Input      *Schema
	Headers    []wire.ParamHeader // arguments that a modern client repeats as headers
	ReadOnly   bool               // its server says so and is believed, or the operator says so
	Idempotent bool               // its server says so and is believed
	Digest     string             // SHA-256 of the definition as the server gave it, hex

	stated  bool   // as ToolDef.ReadOnly
	own     string // the page that its JSON names
	page    string // as in ToolDef
	topic   string // as in ToolDef
	as      func(junctor.Profile) []byte
	take    func(junctor.Profile, []byte) []byte
	shaped  *sync.Map             // by profile, what as gave
	changes []string              // what of the server's definition broke the specification
	older   olderForm             // as clients of older protocol versions are shown it
	name    []byte                // its name in JSON, quotes included; nil where it does not stand there once and plainly
	secrets func() secretMembers  // looked for when first asked
	class   func() *junctor.Class // what the rules make of it, found when first asked
	terms   func() *terms
}

// Prompt is a prompt.
type Prompt struct {
	Server, Name, Exposed string
	JSON                  []byte
}

// making is what a catalog makes its snapshots with.
type making struct {
	limit   int
	joined  junctor.Exposure
	renders *atomic.Int64
	rules   func() rules
	log     *slog.Logger
	schemas *schemaCache // nil keeps every compiled schema with its tool
}

// build makes the next snapshot. What did not change is kept: compiled schemas,
// and the shelf of a tenant with its rendered lists.
func build(servers map[serverKey]*attached, who map[junctor.TenantID]*access, old *Snapshot, in *making) *Snapshot {
	next := &Snapshot{version: old.version + 1, shelves: map[junctor.TenantID]*Shelf{}}
	sorted := make([]*attached, 0, len(servers))
	for _, a := range servers {
		if a.offer != nil {
			sorted = append(sorted, a)
		}
	}
	// By id, and not as they came: so every replica has the same order, and has it
	// again after a restart, and pages of a list fit together wherever they are asked for.
	slices.SortFunc(sorted, func(a, b *attached) int { return cmp.Compare(a.key.id, b.key.id) })
	shown := map[junctor.TenantID][]*Server{}
	for tenant := range who {
		shown[tenant] = nil
	}
	for _, a := range sorted {
		former := old.For(a.key.tenant).byID[a.key.id]
		shown[a.key.tenant] = append(shown[a.key.tenant], newServer(a, former, in))
	}
	for tenant, list := range shown {
		rights := who[tenant]
		if rights == nil {
			rights = &access{}
		}
		next.shelves[tenant] = old.For(tenant).next(list, rights, in)
	}
	return next
}

// next is the shelf with these servers and rules. Lists are kept by who sees the
// same, so those of other servers or tags alone are rendered anew.
func (sh *Shelf) next(servers []*Server, who *access, in *making) *Shelf {
	if sh.byID != nil && slices.Equal(sh.servers, servers) {
		same := *sh
		same.access = who
		if !who.sameTags(sh.access) {
			same.lists = &listCache{renders: in.renders}
		}
		return &same
	}
	n := &Shelf{
		servers: servers, byID: map[string]*Server{}, tools: map[string]*Tool{}, prompts: map[string]*Prompt{}, bare: map[string]*Tool{},
		access: who, lists: &listCache{renders: in.renders}, joined: in.joined,
	}
	for _, s := range servers {
		n.byID[s.ID] = s
		if s.Owner != "" {
			n.private = append(n.private, s)
		}
		n.odd = n.odd || slices.ContainsFunc(s.tools, func(t *Tool) bool { return t.Default.as != nil || len(t.Default.older.changes) > 0 })
		n.shaped = n.shaped || slices.ContainsFunc(s.tools, func(t *Tool) bool { return t.Default.as != nil })
	}
	n.index(in.log)
	return n
}

func newServer(a *attached, former *Server, in *making) *Server {
	if former != nil && former.Offer == a.offer && former.Backend == a.backend && former.Mode == a.mode && former.Owner == a.owner && former.Exposure == a.exposure {
		return former
	}
	s := &Server{
		ID: a.key.id, Mode: a.mode, Owner: a.owner, Exposure: a.exposure, Backend: a.backend, Offer: a.offer, believed: a.mode == junctor.ModeBuiltin || a.offer.Believed,
		tools: make([]*Tool, 0, len(a.offer.Tools)), toolsBy: make(map[string]*Tool, len(a.offer.Tools)), promptsBy: map[string]*Prompt{}, resources: map[string]struct{}{}, pages: map[string][]*Tool{},
	}
	kept := map[string]*ToolVersion{}
	if former != nil && former.believed == s.believed {
		for _, t := range former.tools {
			for _, v := range t.Versions {
				kept[v.Digest] = v
			}
		}
	}
	for _, def := range a.offer.Tools {
		v, err := newToolVersion(def, kept, s.ID, s.believed, in)
		if err != nil {
			s.leaveOut(def.Name, err, in.log)
			continue
		}
		t := s.toolsBy[def.Name]
		if t == nil {
			t = &Tool{Server: s.ID, Name: def.Name, Exposed: Exposed(s.ID, def.Name, in.limit)}
			s.toolsBy[def.Name] = t
			s.tools = append(s.tools, t)
		}
		t.Versions = append(t.Versions, v)
		if def.Default || t.Default == nil {
			t.Default = v
		}
	}
	for _, t := range s.tools {
		model, app := visibilityOf(t.Default.JSON)
		t.notModel, t.notApp = !model, !app
		if page := t.Page(); page != "" {
			s.pages[page] = append(s.pages[page], t)
		}
	}
	for _, def := range a.offer.Prompts {
		if s.promptsBy[def.Name] != nil {
			in.log.Warn("a prompt was left out: its server has another of that name", "server", s.ID, "prompt", def.Name)
			continue
		}
		corrected, _ := correctItem(def.JSON, promptRule, def.Name)
		p := &Prompt{Server: s.ID, Name: def.Name, Exposed: Exposed(s.ID, def.Name, in.limit), JSON: corrected}
		s.prompts = append(s.prompts, p)
		s.promptsBy[def.Name] = p
	}
	for _, def := range a.offer.Resources {
		s.resources[def.URI] = struct{}{}
	}
	s.listed, s.templates = correctResources(a.offer.Resources), correctResources(a.offer.Templates)
	s.noteChanges()
	return s
}

// newToolVersion compiles a definition. Unless its server is believed, its
// annotations decide nothing.
func newToolVersion(def ToolDef, kept map[string]*ToolVersion, server string, believed bool, in *making) (*ToolVersion, error) {
	sum := sha256.Sum256(def.JSON)
	digest := hex.EncodeToString(sum[:])
	if v := kept[digest]; v != nil && v.Version == def.Version && v.Timeout == def.Timeout && v.page == def.Page && v.topic == def.Topic && v.stated == def.ReadOnly {
		return v, nil
	}
	corrected, changes, err := correctTool(def.JSON)
	if err != nil {
		return nil, err
	}
	def.JSON = corrected
	parts := partsOf(def.JSON)
	headers, err := wire.ParamHeaders(parts.schema)
	if err != nil {
		return nil, fmt.Errorf("its x-mcp-header marks break the specification: %w", err)
	}
	if err := checkToolCost(def.JSON, parts.schema); err != nil {
		return nil, err
	}
	v := &ToolVersion{
		Version: def.Version, Timeout: def.Timeout, JSON: def.JSON, Input: newSchema(parts.schema, in.schemas), Headers: headers, Digest: digest,
		ReadOnly:   def.ReadOnly || believed && string(wire.Get(parts.annotations, "readOnlyHint")) == "true",
		Idempotent: believed && string(wire.Get(parts.annotations, "idempotentHint")) == "true",
		stated:     def.ReadOnly,
		own:        pageOf(def.JSON),
		page:       def.Page,
		topic:      def.Topic,
		changes:    changes,
		older:      formForOlder(def.JSON),
		name:       parts.name,
		secrets:    sync.OnceValue(func() secretMembers { return findSecrets(def.JSON) }),
		class:      sync.OnceValue(func() *junctor.Class { return in.rules().classify(server, def.JSON, def.Topic) }),
		terms:      sync.OnceValue(func() *terms { return termsOf(def.JSON, def.Topic) }),
	}
	if def.As != nil {
		v.as, v.take, v.shaped = def.As, def.Take, &sync.Map{}
	}
	return v, nil
}

// toolParts are the members of a tool that the catalog looks at.
type toolParts struct{ name, schema, annotations []byte }

// partsOf finds them in one pass: at a start there may be thousands of tools. Of
// members that stand twice the first counts, and a name that does has no place.
func partsOf(tool []byte) toolParts {
	var p toolParts
	names := 0
	for key, value := range wire.Members(tool) {
		switch wire.Unescape(key) {
		case "name":
			p.name = value
			names++
		case "inputSchema":
			if p.schema == nil {
				p.schema = value
			}
		case "annotations":
			if p.annotations == nil {
				p.annotations = value
			}
		}
	}
	if names != 1 || len(p.name) < 2 || p.name[0] != '"' {
		p.name = nil
	}
	if p.schema == nil {
		p.schema = []byte(`{"type":"object"}`)
	}
	return p
}

// index fills the maps by exposed name. A name that two items claim belongs to
// neither: it must not change its owner with who else is there.
func (sh *Shelf) index(log *slog.Logger) {
	tools, prompts := 0, 0
	for _, s := range sh.servers {
		tools += len(s.tools)
		prompts += len(s.prompts)
	}
	sh.tools, sh.prompts, sh.bare = make(map[string]*Tool, tools), make(map[string]*Prompt, prompts), map[string]*Tool{}
	for _, s := range sh.servers {
		for _, t := range s.tools {
			claim(sh.tools, t.Exposed, t)
			if s.Mode == junctor.ModeBuiltin {
				claim(sh.bare, t.Name, t)
			}
		}
		for _, p := range s.prompts {
			claim(sh.prompts, p.Exposed, p)
		}
	}
	for _, s := range sh.servers {
		for _, t := range s.tools {
			if sh.tools[t.Exposed] == nil {
				log.Warn("two tools claim one name; both were left out", "name", t.Exposed, "server", t.Server, "tool", t.Name)
			}
		}
		for _, p := range s.prompts {
			if sh.prompts[p.Exposed] == nil {
				log.Warn("two prompts claim one name; both were left out", "name", p.Exposed, "server", p.Server, "prompt", p.Name)
			}
		}
	}
	for name, t := range sh.bare {
		if _, taken := sh.tools[name]; taken || t != nil && sh.tools[t.Exposed] == nil {
			sh.bare[name] = nil
		}
	}
	unclaimed(sh.tools)
	unclaimed(sh.prompts)
	unclaimed(sh.bare)
}

// claim enters an item under a name, or nil when it is not the first.
func claim[T any](items map[string]*T, name string, item *T) {
	if _, taken := items[name]; taken {
		item = nil
	}
	items[name] = item
}

// unclaimed takes out the names that belong to nobody.
func unclaimed[T any](items map[string]*T) {
	for name, item := range items {
		if item == nil {
			delete(items, name)
		}
	}
}
