package catalog

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Snapshot is the catalog at one moment. It never changes.
type Snapshot struct {
	version uint64
	shelves map[junctor.TenantID]*Shelf
}

// Version increases with every change.
func (s *Snapshot) Version() uint64 { return s.version }

// For returns the shelf of a tenant; an empty one if the tenant has no server.
func (s *Snapshot) For(tenant junctor.TenantID) *Shelf {
	if sh, ok := s.shelves[tenant]; ok {
		return sh
	}
	return &Shelf{access: &accessRules{}, lists: &listCache{}}
}

// Shelf is the part of a snapshot that belongs to one tenant: its servers, and
// the rules that say who may see them. It never changes, apart from its cache
// of lists.
type Shelf struct {
	servers         []*Server // in the order of their ids
	byID            map[string]*Server
	tools           map[string]*Tool   // by exposed name
	prompts         map[string]*Prompt // by exposed name
	builtinByName   map[string]*Tool   // built-in tools by their own name, if no exposed name equals it
	privateServers  []*Server          // servers with an owner
	joinedExposure  junctor.Exposure   // of servers without an exposure of their own, on endpoints that join servers
	hasProfileForms bool               // some tools have another form for some profiles
	hasOlderForms   bool               // some tools have another form for older clients
	exceedsLimits   bool               // all tools together are too many for one list with ExposureAuto
	access          *accessRules
	lists           *listCache
	index           func() *searchIndex // of all tools, for Search; nil if there are none
}

// Server is one attached server in a snapshot. Its fields are read-only.
type Server struct {
	ID       string
	Mode     junctor.Mode
	Exposure junctor.Exposure // "" lists all tools on its own endpoint
	Owner    string           // the Principal.ID of the only party that sees it; "" means everybody
	Backend  Backend
	Offer    *Offer

	// Problems lists the tools that were left out or are shown changed, with the
	// reason: at most maxProblems, those that were left out first.
	Problems []ToolProblem

	believed        bool // its tool annotations are trusted
	tools           []*Tool
	toolsByName     map[string]*Tool // by the server's own name
	prompts         []*Prompt
	promptsByName   map[string]*Prompt
	resourceURIs    map[string]struct{}
	listedResources []ResourceDef      // its resources as lists show them, corrected
	listedTemplates []ResourceDef      // likewise
	toolsByPage     map[string][]*Tool // by the ui:// resource of their page
}

// ToolProblem is the reason why a tool that a server lists is not in the
// catalog, or not as the server defines it.
type ToolProblem struct {
	Tool   string        `json:"tool"`
	Effect ProblemEffect `json:"effect"`
	Reason string        `json:"reason"`
}

// ProblemEffect is the consequence of a problem for a tool.
type ProblemEffect string

// Effects of problems.
const (
	EffectLeftOut      ProblemEffect = "left_out"      // the tool is not listed
	EffectChanged      ProblemEffect = "changed"       // the tool is listed without the members that break the specification
	EffectOlderClients ProblemEffect = "older_clients" // clients of protocol versions before 2026-07-28 get another form
)

// maxProblems bounds how many problems a server has.
const maxProblems = 100

// leaveOutTool records that a tool is not in the catalog.
func (s *Server) leaveOutTool(tool string, why error, log *slog.Logger) {
	log.Warn("tool left out", "server", s.ID, "tool", clipText(tool), "error", why)
	if len(s.Problems) < maxProblems {
		s.Problems = append(s.Problems, ToolProblem{Tool: clipText(tool), Effect: EffectLeftOut, Reason: why.Error()})
	}
}

// noteChanges adds the tools that are not shown as the server defines them to
// Problems.
func (s *Server) noteChanges() {
	note := func(tool string, effect ProblemEffect, changes []string) {
		if len(changes) > 0 && len(s.Problems) < maxProblems {
			s.Problems = append(s.Problems, ToolProblem{Tool: clipText(tool), Effect: effect, Reason: strings.Join(changes, "; ")})
		}
	}
	for _, t := range s.tools {
		for _, v := range t.Versions {
			note(t.Name, EffectChanged, v.changes)
			note(t.Name, EffectOlderClients, v.older.changes)
		}
	}
}

// correctResources returns the definitions of resources or templates in a form
// that follows the specification. The slice is copied only if one has to
// change.
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
	Name     string         // the server's own name
	Exposed  string         // the name on endpoints that join servers
	Versions []*ToolVersion // oldest first; if the tool has no versions, one with Version ""
	Default  *ToolVersion

	hiddenFromModel, hiddenFromApp bool // as its definition says, see readVisibility
}

// ToolVersion is one version of a tool: the definition that is listed, and the
// schema that arguments are checked against. It is shared by all snapshots in
// which the definition is the same.
type ToolVersion struct {
	Version    string
	Limits     CallLimits
	JSON       []byte // the MCP Tool object under the server's own name, corrected by correctTool
	Input      *Schema
	Headers    []wire.ParamHeader // arguments that a modern client repeats as HTTP headers
	ReadOnly   bool               // Hints say so
	Idempotent bool               // likewise
	Hints      junctor.ToolHints  // what the operator states, and otherwise a trusted server
	Tags       []string           // that the operator gave it
	Digest     string             // SHA-256 of the definition as the server gave it, hex

	operator      junctor.ToolHints // as ToolDef.Operator
	ownPage       string            // the page that its JSON names
	generatedPage string            // as in ToolDef
	topic         string            // as in ToolDef
	formatFor     func(junctor.Profile) []byte
	readArguments func(junctor.Profile, []byte) []byte
	byProfile     *sync.Map             // results of formatFor, by profile
	changes       []string              // corrections of the server's definition
	older         olderForm             // the form for older clients
	nameJSON      []byte                // the name inside JSON, with quotes; nil if JSON does not have it exactly once
	secrets       func() secretMembers  // computed at the first call
	class         func() *junctor.Class // the result of the rules, computed at the first call
	terms         func() *toolTerms     // the index for Search, computed at the first call
	output        func() *Schema        // of structured results, made at the first call; nil if the tool has none
}

// FitsOutput reports whether a structured result fits the tool's output schema. Every
// result fits a tool without one.
func (v *ToolVersion) FitsOutput(ctx context.Context, structured []byte) bool {
	if v.output == nil {
		return true
	}
	schema := v.output()
	return schema == nil || schema.Check(ctx, structured) == nil
}

// Prompt is a prompt of a server. Name is the server's own, Exposed the name on
// endpoints that join servers.
type Prompt struct {
	Server, Name, Exposed string
	JSON                  []byte
}

// snapshotBuilder holds what a catalog needs to build its snapshots.
type snapshotBuilder struct {
	nameLimit      int
	joinedExposure junctor.Exposure
	renders        *atomic.Int64
	rules          func() wordRules
	searchWords    func() *searchWords
	log            *slog.Logger
	schemas        *schemaCache // nil keeps every compiled schema with its tool
}

// buildSnapshot makes the next snapshot. It keeps everything that did not
// change: compiled schemas, and the shelf of a tenant with its rendered lists.
func buildSnapshot(servers map[serverKey]*attachedServer, who map[junctor.TenantID]*accessRules, old *Snapshot, in *snapshotBuilder) *Snapshot {
	next := &Snapshot{version: old.version + 1, shelves: map[junctor.TenantID]*Shelf{}}
	sorted := make([]*attachedServer, 0, len(servers))
	for _, a := range servers {
		if a.offer != nil {
			sorted = append(sorted, a)
		}
	}
	// Sort by id, not by time of attachment. Every replica then has the same order,
	// also after a restart, so a client may read the pages of a list from several.
	slices.SortFunc(sorted, func(a, b *attachedServer) int { return cmp.Compare(a.key.id, b.key.id) })
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
			rights = &accessRules{}
		}
		next.shelves[tenant] = old.For(tenant).nextShelf(list, rights, in)
	}
	return next
}

// nextShelf returns the shelf with these servers and rules. Cached lists are
// kept if the servers are the same: their keys already include who sees them.
func (sh *Shelf) nextShelf(servers []*Server, who *accessRules, in *snapshotBuilder) *Shelf {
	// The servers are the same: only the access rules changed.
	if sh.byID != nil && slices.Equal(sh.servers, servers) {
		same := *sh
		same.access = who
		return &same
	}
	n := &Shelf{
		servers: servers, byID: map[string]*Server{}, tools: map[string]*Tool{}, prompts: map[string]*Prompt{}, builtinByName: map[string]*Tool{},
		access: who, lists: &listCache{renders: in.renders}, joinedExposure: in.joinedExposure,
	}
	for _, s := range servers {
		n.byID[s.ID] = s
		if s.Owner != "" {
			n.privateServers = append(n.privateServers, s)
		}
		n.hasOlderForms = n.hasOlderForms || slices.ContainsFunc(s.tools, func(t *Tool) bool { return t.Default.formatFor != nil || len(t.Default.older.changes) > 0 })
		n.hasProfileForms = n.hasProfileForms || slices.ContainsFunc(s.tools, func(t *Tool) bool { return t.Default.formatFor != nil })
	}
	n.exceedsLimits = exceedLimits(servers)
	n.indexNames(in.log)
	n.index = sync.OnceValue(func() *searchIndex { return newSearchIndex(servers, in.searchWords()) })
	return n
}

// newServer makes a server of a snapshot, or returns the former one if nothing
// changed. Tools and prompts that break a rule are left out and noted.
func newServer(a *attachedServer, former *Server, in *snapshotBuilder) *Server {
	if former != nil && former.Offer == a.offer && former.Backend == a.backend && former.Mode == a.mode && former.Owner == a.owner && former.Exposure == a.exposure {
		return former
	}
	s := &Server{
		ID: a.key.id, Mode: a.mode, Owner: a.owner, Exposure: a.exposure, Backend: a.backend, Offer: a.offer, believed: a.mode == junctor.ModeBuiltin || a.offer.Believed,
		tools: make([]*Tool, 0, len(a.offer.Tools)), toolsByName: make(map[string]*Tool, len(a.offer.Tools)), promptsByName: map[string]*Prompt{}, resourceURIs: map[string]struct{}{}, toolsByPage: map[string][]*Tool{},
	}
	// Versions with the same definition are reused, with their compiled
	// schemas. If trust in the server changed, they are not: trust is part of a
	// version.
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
			s.leaveOutTool(def.Name, err, in.log)
			continue
		}
		t := s.toolsByName[def.Name]
		if t == nil {
			t = &Tool{Server: s.ID, Name: def.Name, Exposed: Exposed(s.ID, def.Name, in.nameLimit)}
			s.toolsByName[def.Name] = t
			s.tools = append(s.tools, t)
		}
		t.Versions = append(t.Versions, v)
		// Without a default the first version counts, until the backend marks
		// one.
		if def.Default || t.Default == nil {
			t.Default = v
		}
	}
	for _, t := range s.tools {
		model, app := readVisibility(t.Default.JSON)
		t.hiddenFromModel, t.hiddenFromApp = !model, !app
		if page := t.Page(); page != "" {
			s.toolsByPage[page] = append(s.toolsByPage[page], t)
		}
	}
	for _, def := range a.offer.Prompts {
		if s.promptsByName[def.Name] != nil {
			in.log.Warn("prompt left out: the server has another prompt with that name", "server", s.ID, "prompt", def.Name)
			continue
		}
		corrected, _ := correctItem(def.JSON, promptRule, def.Name)
		p := &Prompt{Server: s.ID, Name: def.Name, Exposed: Exposed(s.ID, def.Name, in.nameLimit), JSON: corrected}
		s.prompts = append(s.prompts, p)
		s.promptsByName[def.Name] = p
	}
	for _, def := range a.offer.Resources {
		s.resourceURIs[def.URI] = struct{}{}
	}
	s.listedResources, s.listedTemplates = correctResources(a.offer.Resources), correctResources(a.offer.Templates)
	s.noteChanges()
	return s
}

// newToolVersion compiles a definition, or takes an equal version from kept,
// which is keyed by digest. Unless the server is trusted, annotations decide
// nothing. The error says why the tool cannot be listed.
func newToolVersion(def ToolDef, kept map[string]*ToolVersion, server string, believed bool, in *snapshotBuilder) (*ToolVersion, error) {
	sum := sha256.Sum256(def.JSON)
	digest := hex.EncodeToString(sum[:])
	if v := kept[digest]; v != nil && v.Version == def.Version && v.Limits == def.Limits && v.generatedPage == def.Page && v.topic == def.Topic && v.operator == def.Operator && slices.Equal(v.Tags, def.Tags) {
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
		return nil, fmt.Errorf("its x-mcp-header annotations violate the specification: %w", err)
	}
	if err := checkToolCost(def.JSON, parts.schema); err != nil {
		return nil, err
	}
	hints := def.Operator
	if believed {
		hints = hints.Or(annotatedHints(parts.annotations))
	}
	v := &ToolVersion{
		Version: def.Version, Limits: def.Limits, JSON: def.JSON, Input: newSchema(parts.schema, in.schemas), Headers: headers, Digest: digest,
		ReadOnly:      hints.ReadOnly == junctor.HintTrue,
		Idempotent:    hints.Idempotent == junctor.HintTrue,
		Hints:         hints,
		Tags:          def.Tags,
		operator:      def.Operator,
		ownPage:       readPageURI(def.JSON),
		generatedPage: def.Page,
		topic:         def.Topic,
		changes:       changes,
		older:         formForOlder(def.JSON),
		nameJSON:      parts.name,
		secrets:       sync.OnceValue(func() secretMembers { return findSecrets(def.JSON) }),
		class:         sync.OnceValue(func() *junctor.Class { return in.rules().classifyTool(server, def.JSON, def.Topic) }),
		terms:         sync.OnceValue(func() *toolTerms { return newToolTerms(def.JSON, def.Topic, in.searchWords()) }),
		output: sync.OnceValue(func() *Schema {
			schema := wire.Get(def.JSON, "outputSchema")
			if schema == nil {
				return nil
			}
			return newSchema(schema, in.schemas)
		}),
	}
	if def.As != nil {
		v.formatFor, v.readArguments, v.byProfile = def.As, def.Take, &sync.Map{}
	}
	return v, nil
}

// annotatedHints returns the hints in the annotations of a tool.
func annotatedHints(annotations []byte) junctor.ToolHints {
	hint := func(name string) junctor.Hint {
		switch string(wire.Get(annotations, name)) {
		case "true":
			return junctor.HintTrue
		case "false":
			return junctor.HintFalse
		}
		return junctor.HintUnknown
	}
	return junctor.ToolHints{ReadOnly: hint("readOnlyHint"), Destructive: hint("destructiveHint"), Idempotent: hint("idempotentHint"), OpenWorld: hint("openWorldHint")}
}

// toolParts are the members of a tool that the catalog itself uses.
type toolParts struct{ name, schema, annotations []byte }

// partsOf finds them in one pass: at a start there may be thousands of tools.
// Of duplicate members the first counts, but a duplicate name has no place in
// JSON that could be replaced.
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

// indexNames fills the maps by exposed name. A name that two items claim
// belongs to neither: otherwise its meaning would depend on which other servers
// are attached, and a call could reach another server.
func (sh *Shelf) indexNames(log *slog.Logger) {
	tools, prompts := 0, 0
	for _, s := range sh.servers {
		tools += len(s.tools)
		prompts += len(s.prompts)
	}
	sh.tools, sh.prompts, sh.builtinByName = make(map[string]*Tool, tools), make(map[string]*Prompt, prompts), map[string]*Tool{}
	for _, s := range sh.servers {
		for _, t := range s.tools {
			claimName(sh.tools, t.Exposed, t)
			if s.Mode == junctor.ModeBuiltin {
				claimName(sh.builtinByName, t.Name, t)
			}
		}
		for _, p := range s.prompts {
			claimName(sh.prompts, p.Exposed, p)
		}
	}
	for _, s := range sh.servers {
		for _, t := range s.tools {
			if sh.tools[t.Exposed] == nil {
				log.Warn("tools left out: two tools have one name; rename one with junctor server set --rename", "name", t.Exposed, "server", t.Server, "tool", t.Name)
			}
		}
		for _, p := range s.prompts {
			if sh.prompts[p.Exposed] == nil {
				log.Warn("prompts left out: two prompts have one name", "name", p.Exposed, "server", p.Server, "prompt", p.Name)
			}
		}
	}
	// An exposed name takes precedence over the own name of a built-in tool. A
	// tool that is not listed has no short name either.
	for name, t := range sh.builtinByName {
		if _, taken := sh.tools[name]; taken || t != nil && sh.tools[t.Exposed] == nil {
			sh.builtinByName[name] = nil
		}
	}
	removeUnclaimed(sh.tools)
	removeUnclaimed(sh.prompts)
	removeUnclaimed(sh.builtinByName)
}

// claimName enters an item under a name, or nil if the name is taken.
func claimName[T any](items map[string]*T, name string, item *T) {
	if _, taken := items[name]; taken {
		item = nil
	}
	items[name] = item
}

// removeUnclaimed deletes the names that belong to no item.
func removeUnclaimed[T any](items map[string]*T) {
	for name, item := range items {
		if item == nil {
			delete(items, name)
		}
	}
}
