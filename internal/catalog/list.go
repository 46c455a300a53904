package catalog

import (
	"bytes"
	"sync"
	"sync/atomic"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// ListKind is one of the four lists of MCP.
type ListKind uint8

// The lists of MCP.
const (
	ListTools ListKind = iota
	ListPrompts
	ListResources
	ListTemplates
)

// listKey identifies a rendered list: principals with the same permission set
// see the same list in the same catalog scope.
type listKey struct {
	permissionSet string
	scope         Scope
	kind          ListKind
}

// listCache keeps the rendered lists of one shelf. It is dropped with the
// shelf, so a list never needs to be invalidated.
type listCache struct {
	renders  *atomic.Int64 // counts the renders of the whole catalog; nil for an empty shelf
	mu       sync.RWMutex
	rendered map[listKey][]byte
	bytes    int // total length of rendered
}

// maxListCacheBytes bounds a cache. Nearly all principals share a few lists.
// But if each user has private servers, the lists of thousands of users would
// fill the memory.
const maxListCacheBytes = 32 << 20

// List returns the result object of a list, such as {"tools":[…]}, as p sees
// it. The bytes are shared with other callers: do not change them.
func (sh *Shelf) List(p *junctor.Principal, scope Scope, kind ListKind) []byte {
	if kind != ListTools || !sh.hasProfileForms {
		scope.Profile = junctor.ProfileNone // no tool differs by profile: share one list
	}
	if kind != ListTools || !sh.hasOlderForms {
		scope.Older = false // likewise
	}
	if kind != ListTools || !sh.exceedsLimits {
		scope.SearchesTools = false // likewise
	}
	key := listKey{sh.permissionSet(p), scope, kind}
	c := sh.lists
	c.mu.RLock()
	b, ok := c.rendered[key]
	c.mu.RUnlock()
	if ok {
		return b
	}
	// Rendering holds the lock: concurrent requests for a new list wait for one
	// render.
	c.mu.Lock()
	defer c.mu.Unlock()
	if b, ok := c.rendered[key]; ok {
		return b
	}
	b = sh.renderList(p, scope, kind)
	if c.bytes += len(b); c.rendered == nil || c.bytes > maxListCacheBytes {
		c.rendered, c.bytes = map[listKey][]byte{}, len(b)
	}
	c.rendered[key] = b
	if c.renders != nil {
		c.renders.Add(1)
	}
	return b
}

// renderList writes a list. Servers whose tools are to be searched are replaced
// by the tools of metaTools.
func (sh *Shelf) renderList(p *junctor.Principal, scope Scope, kind ListKind) []byte {
	shown := make([]*Server, 0, len(sh.servers))
	size := 0
	for _, s := range sh.servers {
		if (scope.Server == "" || s.ID == scope.Server) && sh.Visible(p, scope, s, "", "") == "" {
			shown = append(shown, s)
			if size += s.listSize(kind); isSearchable(sh.exposureOf(p, scope, s)) {
				size = min(size, maxListedBytes)
			}
		}
	}
	// Allocate the whole list at once: growing it would leave several times its size
	// as garbage.
	out := append(make([]byte, 0, size+64), '{')
	out = appendAwaitedServers(out, shown)
	out = append(append(out, '"'), [...]string{"tools", "prompts", "resources", "resourceTemplates"}[kind]...)
	out = append(out, `":[`...)
	empty := len(out)
	next := func() []byte {
		if len(out) > empty {
			out = append(out, ',')
		}
		return out
	}
	var sought map[*Server]bool
	if kind == ListTools {
		sought = sh.searchedServers(p, scope)
	}
	if len(sought) > 0 {
		for _, def := range metaTools() {
			out = append(next(), def.JSON...)
		}
	}
	for _, s := range shown {
		if sought[s] {
			continue
		}
		if kind == ListTools {
			for _, t := range s.tools {
				if (scope.Server != "" || sh.tools[t.Exposed] == t) && sh.isListed(p, scope, s, junctor.KindTool, t.Name) { // a name that two tools claim belongs to neither
					out = t.appendListed(next(), sh.shownName(scope, s, t), scope)
				}
			}
			continue
		}
		sh.renderItems(p, s, scope, kind, func(item []byte, add ...wire.Member) {
			out = wire.AppendObject(next(), item, nil, add...)
		})
	}
	out = append(out, ']', '}')
	if cap(out) > 2*len(out) { // p sees only a small part; the cache must not keep the rest
		return bytes.Clone(out)
	}
	return out
}

// appendAwaitedServers writes the notice that a list is incomplete: _meta names
// the servers that have not answered since they were added. Servers that
// answered before are listed with their last offer.
func appendAwaitedServers(out []byte, shown []*Server) []byte {
	begun := false
	for _, s := range shown {
		if !s.Offer.Awaited {
			continue
		}
		if begun {
			out = append(out, ',')
		} else {
			out = append(out, `"_meta":{"`+wire.MetaJunctorAwaited+`":[`...)
			begun = true
		}
		out = wire.AppendString(out, s.ID)
	}
	if begun {
		out = append(out, `]},`...)
	}
	return out
}

// Whole reports whether a list is complete, that is, has no notice of
// appendAwaitedServers.
func Whole(list []byte) bool { return !bytes.HasPrefix(list, []byte(`{"_meta"`)) }

// listSize estimates how long a server's part of a list is. It is rarely too
// low.
func (s *Server) listSize(kind ListKind) (n int) {
	const more = 16 // a comma, "__" and what else stands around a name
	item := func(b []byte) { n += len(b) + len(s.ID) + more }
	switch kind {
	case ListTools:
		for _, t := range s.tools {
			item(t.Default.JSON)
		}
	case ListPrompts:
		for _, p := range s.prompts {
			item(p.JSON)
		}
	case ListResources:
		for _, r := range s.Offer.Resources {
			item(r.JSON)
		}
	case ListTemplates:
		for _, r := range s.Offer.Templates {
			item(r.JSON)
		}
	}
	return n
}

// appendListed writes a tool under the shown name, in the form that clients of
// the scope accept. Only audiences that show App views are told about generated
// pages.
func (t *Tool) appendListed(dst []byte, shown string, scope Scope) []byte {
	def := t.Default.forProfile(scope.Profile)
	if scope.Older {
		def = def.forOlder()
	}
	if scope.Audience != AudienceModel {
		def = def.withGeneratedPage()
	}
	if shown != t.Name {
		def = exposePages(t.Server, def)
	}
	if def.Version != "" || shown != t.Name && def.nameJSON == nil {
		return wire.AppendObject(dst, def.JSON, nil, toolMembers(t, def, shown)...)
	}
	if shown == t.Name {
		return append(dst, def.JSON...)
	}
	at := wire.Offset(def.JSON, def.nameJSON) // nameJSON is a slice of JSON
	dst = append(dst, def.JSON[:at]...)
	dst = wire.AppendString(dst, shown)
	return append(dst, def.JSON[at+len(def.nameJSON):]...)
}

// renderItems passes each visible prompt, resource or template of a server to
// add, with the members that the scope changes. Tools are written by
// renderList.
func (sh *Shelf) renderItems(p *junctor.Principal, s *Server, scope Scope, kind ListKind, add func([]byte, ...wire.Member)) {
	switch kind {
	case ListTools: // renderList writes them
	case ListPrompts:
		for _, x := range s.prompts {
			switch {
			case !sh.isListed(p, scope, s, junctor.KindPrompt, x.Name):
			case scope.Server != "":
				add(x.JSON)
			case sh.prompts[x.Exposed] == x:
				add(x.JSON, stringMember("name", x.Exposed))
			}
		}
	case ListResources, ListTemplates:
		defs, key := s.listedResources, "uri"
		if kind == ListTemplates {
			defs, key = s.listedTemplates, "uriTemplate"
		}
		for _, r := range defs {
			switch {
			case !sh.isListed(p, scope, s, junctor.KindResource, r.URI):
			case scope.Server != "":
				add(r.JSON)
			default:
				add(r.JSON, stringMember(key, ExposedURI(s.ID, r.URI)))
			}
		}
	}
}

// toolMembers returns the members of a listed tool that differ from its
// definition: the name in this scope, and in _meta its versions, if it has any.
func toolMembers(t *Tool, def *ToolVersion, shown string) []wire.Member {
	var m []wire.Member
	if shown != t.Name {
		m = append(m, stringMember("name", shown))
	}
	if def.Version == "" {
		return m
	}
	versions := []byte{'['}
	for i, v := range t.Versions {
		if i > 0 {
			versions = append(versions, ',')
		}
		versions = wire.AppendString(versions, v.Version)
	}
	versions = append(versions, ']')
	own := wire.Get(def.JSON, "_meta")
	if own == nil {
		own = []byte("{}")
	}
	meta := wire.AppendObject(nil, own, nil,
		stringMember(wire.MetaJunctorVersion, def.Version),
		wire.Member{Key: wire.MetaJunctorVersion + "s", Value: versions})
	return append(m, wire.Member{Key: "_meta", Value: meta})
}

// stringMember is a member of a JSON object with a string as its value.
func stringMember(key, value string) wire.Member {
	return wire.Member{Key: key, Value: wire.AppendString(nil, value)}
}
