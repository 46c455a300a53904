package catalog

import (
	"log/slog"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// View is the way a door shows the catalog. The zero View joins all servers
// under exposed names.
type View struct {
	Server string // only this server, under its own names
	Plain  bool   // joined, but built-in tools under their own names too

	// Profile is what its clients take of schemas. It decides nothing about what
	// is seen.
	Profile  junctor.Profile
	Audience Audience // for whom it is
	Older    bool     // its clients speak a protocol version before 2026-07-28

	// Budget is how many bytes of tools are listed at most where a server does not
	// say how it is shown: the others are found. 0 is no such bound, and what the settings say.
	Budget int
}

// Item is what a name stands for.
type Item struct {
	Server *Server
	Name   string       // the server's own name or URI
	Shown  string       // the exposed name, whatever the view: for counters. Resources that stand in no list share one
	Tool   *ToolVersion // for tools
}

// digestPrefix begins a version that names a definition by its SHA-256: any tool can
// be called so, and only while it has that definition.
const digestPrefix = "sha256:"

// Tool finds a tool by the name that the view shows, in the version asked for
// ("" is the default). An unknown name is not_found and names the closest tools
// that p may see; an unknown version is invalid and lists the known ones.
func (sh *Shelf) Tool(p *junctor.Principal, v View, name, version string) (Item, error) {
	t := sh.findTool(v, name)
	if t == nil {
		return Item{}, sh.unknownTool(p, v, name)
	}
	item := Item{Server: sh.byID[t.Server], Name: t.Name, Shown: t.Exposed, Tool: t.Default}
	if why := sh.Visible(p, v, item.Server, junctor.KindTool, t.Name); why != "" {
		return item, hide(why, sh.unknownTool(p, v, name))
	}
	if version == "" {
		return item, nil
	}
	digest, pinned := strings.CutPrefix(version, digestPrefix)
	for _, tv := range t.Versions {
		if tv.Version == version || pinned && tv.Digest == digest {
			item.Tool = tv
			return item, nil
		}
	}
	if pinned {
		return item, junctor.Errorf(junctor.CodeConflict, "the definition of the tool %q has changed; it is %s%s now: read it again before you call it", name, digestPrefix, t.Default.Digest)
	}
	known := make([]string, 0, len(t.Versions))
	for _, tv := range t.Versions {
		if tv.Version != "" {
			known = append(known, tv.Version)
		}
	}
	if len(known) == 0 {
		return item, junctor.Errorf(junctor.CodeInvalid, "the tool %q has no versions; leave the version out, or name its definition, %s%s (asked for: %q)", name, digestPrefix, t.Default.Digest, clip(version))
	}
	return item, junctor.Errorf(junctor.CodeInvalid, "the tool %q has no version %q; known versions: %s", name, clip(version), strings.Join(known, ", "))
}

func (sh *Shelf) findTool(v View, name string) *Tool {
	switch {
	case v.Server != "":
		if s := sh.byID[v.Server]; s != nil {
			return s.toolsBy[name]
		}
		return nil
	case v.Plain && sh.bare[name] != nil:
		return sh.bare[name]
	}
	return sh.tools[name]
}

// Prompt finds a prompt by the name that the view shows.
func (sh *Shelf) Prompt(p *junctor.Principal, v View, name string) (Item, error) {
	var found *Prompt
	if v.Server != "" {
		if s := sh.byID[v.Server]; s != nil {
			found = s.promptsBy[name]
		}
	} else {
		found = sh.prompts[name]
	}
	unknown := func() *junctor.Error { return junctor.Errorf(junctor.CodeNotFound, "unknown prompt %q", clip(name)) }
	if found == nil {
		return Item{}, unknown()
	}
	item := Item{Server: sh.byID[found.Server], Name: found.Name, Shown: found.Exposed}
	if why := sh.Visible(p, v, item.Server, junctor.KindPrompt, found.Name); why != "" {
		return item, hide(why, unknown())
	}
	return item, nil
}

// Resource finds the server of a URI, or of a URI template, that the view
// shows. Whether the server has something there is for the server to say:
// templates and unlisted resources are known to it alone.
func (sh *Shelf) Resource(p *junctor.Principal, v View, uri string) (Item, error) {
	own, id := uri, v.Server
	if id == "" {
		var ok bool
		if id, own, ok = splitURI(uri); !ok {
			id = ""
		}
	}
	unknown := func() *junctor.Error {
		return junctor.Errorf(junctor.CodeNotFound, "unknown resource: there is none at this URI; resources/list shows what there is")
	}
	s := sh.byID[id]
	if s == nil || len(s.Offer.Resources)+len(s.Offer.Templates)+len(s.pages[own]) == 0 {
		return Item{}, unknown()
	}
	shown := own
	if _, listed := s.resources[own]; !listed {
		shown = "*" // what a caller may make up must not become a counter
	}
	item := Item{Server: s, Name: own, Shown: ExposedURI(s.ID, shown)}
	if why := sh.Visible(p, v, s, junctor.KindResource, own); why != "" {
		return item, hide(why, unknown())
	}
	return item, nil
}

// Lone is a tool of a server that no list has, and that another backend runs. On
// counters all of a server's share one name.
func Lone(of *Server, runs Backend, def ToolDef) (Item, error) {
	version, err := newToolVersion(def, nil, of.ID, false, &making{log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return Item{}, junctor.Errorf(junctor.CodeInvalid, "the tool %q cannot be used: %w", clip(def.Name), err)
	}
	return Item{
		Server: &Server{ID: of.ID, Mode: of.Mode, Owner: of.Owner, Backend: runs, Offer: &Offer{}},
		Name:   def.Name, Shown: of.ID + "__*", Tool: version,
	}, nil
}

// MakesTasks says whether any server that p sees in the view may answer a call
// with a task.
func (sh *Shelf) MakesTasks(p *junctor.Principal, v View) bool {
	for _, s := range sh.servers {
		if s.Offer.Tasks && (v.Server == "" || v.Server == s.ID) && sh.Visible(p, v, s, "", "") == "" {
			return true
		}
	}
	return false
}

// Believes says whether annotations of a server's tools count.
func (sh *Shelf) Believes(id string) bool {
	s := sh.byID[id]
	return s != nil && s.believed
}

// Server finds a server that p may see under its own names.
func (sh *Shelf) Server(p *junctor.Principal, id string) (*Server, error) {
	unknown := func() *junctor.Error { return junctor.Errorf(junctor.CodeNotFound, "unknown server %q", clip(id)) }
	s := sh.byID[id]
	if s == nil {
		return nil, unknown()
	}
	if why := sh.Visible(p, View{Server: id}, s, "", ""); why != "" {
		return nil, hide(why, unknown())
	}
	return s, nil
}
