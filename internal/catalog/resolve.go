package catalog

import (
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// View is the way a door shows the catalog. The zero View joins all servers
// under exposed names.
type View struct {
	Server string // only this server, under its own names
	Plain  bool   // joined, but built-in tools under their own names too
}

// Item is what a name stands for.
type Item struct {
	Server *Server
	Name   string       // the server's own name or URI
	Shown  string       // the exposed name, whatever the view: for counters. Resources that stand in no list share one
	Tool   *ToolVersion // for tools
}

// Visible decides whether a principal may see a server's items: the only such
// decision. Lists, search, descriptions and calls all ask here. A nil server is
// one that everybody of the tenant shares.
func Visible(p *junctor.Principal, s *Server) bool {
	if !p.Has(junctor.ScopeToolsRead) && !p.Has(junctor.ScopeToolsCall) {
		return false
	}
	return s == nil || s.Owner == "" || s.Owner == p.ID() || p.Has(junctor.ScopeAdmin)
}

// permissionSet is equal for principals that see the same: lists are rendered
// once for each.
func (sh *Shelf) permissionSet(p *junctor.Principal) string {
	if !Visible(p, nil) {
		return ""
	}
	var private []string
	for _, s := range sh.servers {
		if s.Owner != "" && Visible(p, s) {
			private = append(private, s.ID)
		}
	}
	if private == nil {
		return "all"
	}
	return "all+" + strings.Join(private, "+")
}

// Tool finds a tool by the name that the view shows, in the version asked for
// ("" is the default). An unknown name is not_found and names the closest tools
// that p may see; an unknown version is invalid and lists the known ones.
func (sh *Shelf) Tool(p *junctor.Principal, v View, name, version string) (Item, error) {
	t, s := sh.findTool(p, v, name)
	if t == nil {
		return Item{}, sh.unknownTool(p, v, name)
	}
	item := Item{Server: s, Name: t.Name, Shown: t.Exposed, Tool: t.Default}
	if version == "" {
		return item, nil
	}
	for _, tv := range t.Versions {
		if tv.Version == version {
			item.Tool = tv
			return item, nil
		}
	}
	known := make([]string, 0, len(t.Versions))
	for _, tv := range t.Versions {
		if tv.Version != "" {
			known = append(known, tv.Version)
		}
	}
	if len(known) == 0 {
		return item, junctor.Errorf(junctor.CodeInvalid, "the tool %q has no versions; leave the version out (asked for: %q)", name, clip(version))
	}
	return item, junctor.Errorf(junctor.CodeInvalid, "the tool %q has no version %q; known versions: %s", name, clip(version), strings.Join(known, ", "))
}

func (sh *Shelf) findTool(p *junctor.Principal, v View, name string) (*Tool, *Server) {
	var t *Tool
	switch {
	case v.Server != "":
		if s := sh.byID[v.Server]; s != nil {
			t = s.toolsBy[name]
		}
	case v.Plain && sh.bare[name] != nil:
		t = sh.bare[name]
	default:
		t = sh.tools[name]
	}
	if t == nil {
		return nil, nil
	}
	s := sh.byID[t.Server]
	if !Visible(p, s) {
		return nil, nil
	}
	return t, s
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
	if found == nil || !Visible(p, sh.byID[found.Server]) {
		return Item{}, junctor.Errorf(junctor.CodeNotFound, "unknown prompt %q", clip(name))
	}
	return Item{Server: sh.byID[found.Server], Name: found.Name, Shown: found.Exposed}, nil
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
	s := sh.byID[id]
	if s == nil || !Visible(p, s) || len(s.Offer.Resources)+len(s.Offer.Templates) == 0 {
		return Item{}, junctor.Errorf(junctor.CodeNotFound, "unknown resource: there is none at this URI; resources/list shows what there is")
	}
	shown := own
	if _, listed := s.resources[own]; !listed {
		shown = "*" // what a caller may make up must not become a counter
	}
	return Item{Server: s, Name: own, Shown: ExposedURI(s.ID, shown)}, nil
}

// MakesTasks says whether any server that p sees in the view may answer a call
// with a task.
func (sh *Shelf) MakesTasks(p *junctor.Principal, v View) bool {
	for _, s := range sh.servers {
		if s.Offer.Tasks && (v.Server == "" || v.Server == s.ID) && Visible(p, s) {
			return true
		}
	}
	return false
}

// Server finds a server that p may see.
func (sh *Shelf) Server(p *junctor.Principal, id string) (*Server, error) {
	s := sh.byID[id]
	if s == nil || !Visible(p, s) {
		return nil, junctor.Errorf(junctor.CodeNotFound, "unknown server %q", clip(id))
	}
	return s, nil
}
