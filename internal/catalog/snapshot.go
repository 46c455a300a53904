package catalog

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"slices"
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
	return &Shelf{}
}

// Shelf is what one tenant has.
type Shelf struct {
	servers []*Server // in the order they were attached
	byID    map[string]*Server
	tools   map[string]*Tool   // by exposed name
	prompts map[string]*Prompt // by exposed name
	bare    map[string]*Tool   // built-in tools by their own name, where nothing else has it
	lists   listCache
}

// Server is one attached server in a snapshot.
type Server struct {
	ID      string
	Mode    junctor.Mode
	Owner   string // the only party that sees it, as Principal.ID says; "" is everybody
	Backend Backend
	Offer   *Offer

	tools     []*Tool
	toolsBy   map[string]*Tool // by the server's own name
	prompts   []*Prompt
	promptsBy map[string]*Prompt
	resources map[string]struct{}
}

// Tool is a tool with all its versions.
type Tool struct {
	Server   string
	Name     string // the server's own
	Exposed  string
	Versions []*ToolVersion // oldest first; one, with Version "", where the tool has none
	Default  *ToolVersion
}

// ToolVersion is what runs.
type ToolVersion struct {
	Version    string
	Timeout    time.Duration
	JSON       []byte // the MCP Tool object under the server's own name
	Input      *Schema
	Headers    []wire.ParamHeader // arguments that a modern client repeats as headers
	ReadOnly   bool               // annotated so by its server
	Idempotent bool
	Digest     string // SHA-256 of JSON, hex

	name    []byte               // its name in JSON, quotes included; nil where it does not stand there once and plainly
	secrets func() secretMembers // looked for when first asked
}

// Prompt is a prompt.
type Prompt struct {
	Server, Name, Exposed string
	JSON                  []byte
}

// build makes the next snapshot. What did not change keeps its compiled schemas.
func build(servers map[serverKey]*attached, old *Snapshot, limit int, renders *atomic.Int64, log *slog.Logger) *Snapshot {
	next := &Snapshot{version: old.version + 1, shelves: map[junctor.TenantID]*Shelf{}}
	sorted := make([]*attached, 0, len(servers))
	for _, a := range servers {
		if a.offer != nil {
			sorted = append(sorted, a)
		}
	}
	slices.SortFunc(sorted, func(a, b *attached) int { return cmp.Compare(a.order, b.order) })
	for _, a := range sorted {
		sh := next.shelves[a.key.tenant]
		if sh == nil {
			sh = &Shelf{byID: map[string]*Server{}}
			sh.lists.renders = renders
			next.shelves[a.key.tenant] = sh
		}
		former := old.For(a.key.tenant).byID[a.key.id]
		s := newServer(a, former, limit, log)
		sh.servers = append(sh.servers, s)
		sh.byID[s.ID] = s
	}
	for _, sh := range next.shelves {
		sh.index(log)
	}
	return next
}

func newServer(a *attached, former *Server, limit int, log *slog.Logger) *Server {
	if former != nil && former.Offer == a.offer && former.Backend == a.backend && former.Mode == a.mode && former.Owner == a.owner {
		return former
	}
	s := &Server{
		ID: a.key.id, Mode: a.mode, Owner: a.owner, Backend: a.backend, Offer: a.offer,
		tools: make([]*Tool, 0, len(a.offer.Tools)), toolsBy: make(map[string]*Tool, len(a.offer.Tools)), promptsBy: map[string]*Prompt{}, resources: map[string]struct{}{},
	}
	kept := map[string]*ToolVersion{}
	if former != nil {
		for _, t := range former.tools {
			for _, v := range t.Versions {
				kept[v.Digest] = v
			}
		}
	}
	for _, def := range a.offer.Tools {
		v := newToolVersion(def, kept, s.ID, log)
		if v == nil {
			continue
		}
		t := s.toolsBy[def.Name]
		if t == nil {
			t = &Tool{Server: s.ID, Name: def.Name, Exposed: Exposed(s.ID, def.Name, limit)}
			s.toolsBy[def.Name] = t
			s.tools = append(s.tools, t)
		}
		t.Versions = append(t.Versions, v)
		if def.Default || t.Default == nil {
			t.Default = v
		}
	}
	for _, def := range a.offer.Prompts {
		if s.promptsBy[def.Name] != nil {
			log.Warn("a prompt was left out: its server has another of that name", "server", s.ID, "prompt", def.Name)
			continue
		}
		p := &Prompt{Server: s.ID, Name: def.Name, Exposed: Exposed(s.ID, def.Name, limit), JSON: def.JSON}
		s.prompts = append(s.prompts, p)
		s.promptsBy[def.Name] = p
	}
	for _, def := range a.offer.Resources {
		s.resources[def.URI] = struct{}{}
	}
	return s
}

func newToolVersion(def ToolDef, kept map[string]*ToolVersion, server string, log *slog.Logger) *ToolVersion {
	sum := sha256.Sum256(def.JSON)
	digest := hex.EncodeToString(sum[:])
	if v := kept[digest]; v != nil && v.Version == def.Version && v.Timeout == def.Timeout {
		return v
	}
	parts := partsOf(def.JSON)
	headers, err := wire.ParamHeaders(parts.schema)
	if err != nil {
		log.Warn("a tool was left out: its x-mcp-header marks break the specification", "server", server, "tool", def.Name, "error", err)
		return nil
	}
	return &ToolVersion{
		Version: def.Version, Timeout: def.Timeout, JSON: def.JSON, Input: newSchema(parts.schema), Headers: headers, Digest: digest,
		ReadOnly:   string(wire.Get(parts.annotations, "readOnlyHint")) == "true",
		Idempotent: string(wire.Get(parts.annotations, "idempotentHint")) == "true",
		name:       parts.name,
		secrets:    sync.OnceValue(func() secretMembers { return findSecrets(def.JSON) }),
	}
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
