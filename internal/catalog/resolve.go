package catalog

import (
	"log/slog"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// Scope selects and shapes the part of the catalog that one endpoint shows. The
// zero Scope joins all servers under exposed names.
type Scope struct {
	Server string // only this server, under its own names
	Plain  bool   // joined, but built-in tools under their own names too

	// Profile is the set of JSON Schema features that the clients accept. It
	// never decides which items are visible.
	Profile  junctor.Profile
	Audience Audience // who reads the list: a model, an App or both
	Older    bool     // the clients speak a protocol version before 2026-07-28

	// SearchesTools is set if the clients search long lists of tools themselves.
	// ExposureAuto lists every tool for them.
	SearchesTools bool

	// Budget is the most bytes of tools to list for servers that do not choose their
	// own way to be shown; the rest is found through search. 0 means no such bound.
	Budget int
}

// Item is a resolved name.
type Item struct {
	Server *Server
	Name   string       // the server's own name or URI
	Shown  string       // the exposed name in every scope, for metrics; unlisted resources share one
	Tool   *ToolVersion // for tools
}

// digestPrefix begins a version that names a definition by its SHA-256. Any
// tool can be called with such a version, but only while it has that
// definition: the caller can be sure that the tool is the one it read.
const digestPrefix = "sha256:"

// Tool resolves the name of a tool in the scope, in the requested version (""
// means the default). An unknown or hidden name is not_found, and names similar
// tools that p may see. An unknown version is invalid and lists the known ones;
// a digest that is out of date is a conflict. The Item is set for a hidden tool
// too, so that the refusal can be recorded.
func (sh *Shelf) Tool(p *junctor.Principal, scope Scope, name, version string) (Item, error) {
	t := sh.findTool(scope, name)
	if t == nil {
		return Item{}, sh.unknownTool(p, scope, name)
	}
	item := Item{Server: sh.byID[t.Server], Name: t.Name, Shown: t.Exposed, Tool: t.Default}
	if why := sh.Visible(p, scope, item.Server, junctor.KindTool, t.Name); why != "" {
		return item, withReason(why, sh.unknownTool(p, scope, name))
	}
	if version == "" {
		return item, nil
	}
	// A version is a name that the server gave, or the digest of a definition.
	digest, pinned := strings.CutPrefix(version, digestPrefix)
	for _, tv := range t.Versions {
		if tv.Version == version || pinned && tv.Digest == digest {
			item.Tool = tv
			return item, nil
		}
	}
	if pinned {
		return item, junctor.Errorf(junctor.CodeConflict, "the definition of the tool %q has changed to %s%s: read it again before you call the tool", name, digestPrefix, t.Default.Digest)
	}
	known := make([]string, 0, len(t.Versions))
	for _, tv := range t.Versions {
		if tv.Version != "" {
			known = append(known, tv.Version)
		}
	}
	if len(known) == 0 {
		return item, junctor.Errorf(junctor.CodeInvalid, "the tool %q has no versions: omit the version, or use the digest of its definition, %s%s (requested: %q)", name, digestPrefix, t.Default.Digest, clipText(version))
	}
	return item, junctor.Errorf(junctor.CodeInvalid, "the tool %q has no version %q; known versions: %s", name, clipText(version), strings.Join(known, ", "))
}

// findTool looks up a name without regard to who asks.
func (sh *Shelf) findTool(scope Scope, name string) *Tool {
	switch {
	case scope.Server != "":
		if s := sh.byID[scope.Server]; s != nil {
			return s.toolsByName[name]
		}
		return nil
	case scope.Plain && sh.builtinByName[name] != nil:
		return sh.builtinByName[name]
	}
	return sh.tools[name]
}

// Prompt resolves the name of a prompt in the scope. An unknown or hidden name
// is not_found.
func (sh *Shelf) Prompt(p *junctor.Principal, scope Scope, name string) (Item, error) {
	var found *Prompt
	if scope.Server != "" {
		if s := sh.byID[scope.Server]; s != nil {
			found = s.promptsByName[name]
		}
	} else {
		found = sh.prompts[name]
	}
	unknown := func() *junctor.Error {
		return junctor.Errorf(junctor.CodeNotFound, "unknown prompt %q", clipText(name))
	}
	if found == nil {
		return Item{}, unknown()
	}
	item := Item{Server: sh.byID[found.Server], Name: found.Name, Shown: found.Exposed}
	if why := sh.Visible(p, scope, item.Server, junctor.KindPrompt, found.Name); why != "" {
		return item, withReason(why, unknown())
	}
	return item, nil
}

// Resource resolves a URI, or a URI template, in the scope to its server. It
// does not check that the resource exists: only the server knows its templates
// and unlisted resources.
func (sh *Shelf) Resource(p *junctor.Principal, scope Scope, uri string) (Item, error) {
	// On a server's own endpoint the URI is the server's own; elsewhere it
	// names the server.
	own, id := uri, scope.Server
	if id == "" {
		var ok bool
		if id, own, ok = splitURI(uri); !ok {
			id = ""
		}
	}
	unknown := func() *junctor.Error {
		return junctor.Errorf(junctor.CodeNotFound, "unknown resource: no resource has this URI; resources/list shows the available resources")
	}
	s := sh.byID[id]
	if s == nil || len(s.Offer.Resources)+len(s.Offer.Templates)+len(s.toolsByPage[own]) == 0 {
		return Item{}, unknown()
	}
	shown := own
	if _, listed := s.resourceURIs[own]; !listed {
		shown = "*" // a URI that the caller made up must not become a metric label
	}
	item := Item{Server: s, Name: own, Shown: ExposedURI(s.ID, shown)}
	if why := sh.Visible(p, scope, s, junctor.KindResource, own); why != "" {
		return item, withReason(why, unknown())
	}
	return item, nil
}

// Lone makes the item of a tool that no list has. It belongs to the server of,
// and the backend runs executes it. In metrics all such tools of a server share
// one name.
func Lone(of *Server, runs Backend, def ToolDef) (Item, error) {
	version, err := newToolVersion(def, nil, of.ID, false, &snapshotBuilder{log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return Item{}, junctor.Errorf(junctor.CodeInvalid, "the tool %q cannot be used: %w", clipText(def.Name), err)
	}
	return Item{
		Server: &Server{ID: of.ID, Mode: of.Mode, Owner: of.Owner, Backend: runs, Offer: &Offer{}},
		Name:   def.Name, Shown: of.ID + "__*", Tool: version,
	}, nil
}

// MakesTasks reports whether any server that p sees in the scope may answer a
// call with a task.
func (sh *Shelf) MakesTasks(p *junctor.Principal, scope Scope) bool {
	for _, s := range sh.servers {
		if s.Offer.Tasks && (scope.Server == "" || scope.Server == s.ID) && sh.Visible(p, scope, s, "", "") == "" {
			return true
		}
	}
	return false
}

// Believes reports whether the tool annotations of a server are trusted.
func (sh *Shelf) Believes(id string) bool {
	s := sh.byID[id]
	return s != nil && s.believed
}

// Server returns a server that p may see on the server's own endpoint. An
// unknown or hidden id is not_found.
func (sh *Shelf) Server(p *junctor.Principal, id string) (*Server, error) {
	unknown := func() *junctor.Error { return junctor.Errorf(junctor.CodeNotFound, "unknown server %q", clipText(id)) }
	s := sh.byID[id]
	if s == nil {
		return nil, unknown()
	}
	if why := sh.Visible(p, Scope{Server: id}, s, "", ""); why != "" {
		return nil, withReason(why, unknown())
	}
	return s, nil
}
