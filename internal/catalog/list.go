package catalog

import (
	"bytes"
	"sync"
	"sync/atomic"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// ListKind is one of the four lists.
type ListKind uint8

// The lists of MCP.
const (
	ListTools ListKind = iota
	ListPrompts
	ListResources
	ListTemplates
)

// listKey names a rendered list: who sees the same, through which view.
type listKey struct {
	set  string
	view View
	kind ListKind
}

// listCache keeps the rendered lists of one snapshot; it goes with it.
type listCache struct {
	renders *atomic.Int64
	mu      sync.RWMutex
	done    map[listKey][]byte
	bytes   int // of what is kept
}

// maxLists bounds what a cache keeps, in bytes. Nearly everybody sees the same;
// where each has servers of their own, the lists of thousands would fill the
// memory.
const maxLists = 32 << 20

// List gives a list's result object, such as {"tools":[…]}, as p sees it. The
// bytes are shared: do not change them.
func (sh *Shelf) List(p *junctor.Principal, v View, kind ListKind) []byte {
	if kind != ListTools || !sh.shaped {
		v.Profile = junctor.ProfileNone // all are shown the same
	}
	if kind != ListTools || !sh.odd {
		v.Older = false // likewise
	}
	key := listKey{sh.permissionSet(p), v, kind}
	c := sh.lists
	c.mu.RLock()
	b, ok := c.done[key]
	c.mu.RUnlock()
	if ok {
		return b
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if b, ok := c.done[key]; ok {
		return b
	}
	b = sh.render(p, v, kind)
	if c.bytes += len(b); c.done == nil || c.bytes > maxLists {
		c.done, c.bytes = map[listKey][]byte{}, len(b)
	}
	c.done[key] = b
	if c.renders != nil {
		c.renders.Add(1)
	}
	return b
}

func (sh *Shelf) render(p *junctor.Principal, v View, kind ListKind) []byte {
	shown := make([]*Server, 0, len(sh.servers))
	size := 0
	for _, s := range sh.servers {
		if (v.Server == "" || s.ID == v.Server) && sh.Visible(p, v, s, "", "") == "" {
			shown = append(shown, s)
			if size += s.listSize(kind); sh.exposure(v, s) != "" {
				size = min(size, maxListedBytes)
			}
		}
	}
	// Room for all of it at once: a list that grows leaves several times its size
	// behind.
	out := append(make([]byte, 0, size+64), '{')
	out = appendAwaited(out, shown)
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
		sought = sh.sought(p, v)
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
				if (v.Server != "" || sh.tools[t.Exposed] == t) && sh.Visible(p, v, s, junctor.KindTool, t.Name) == "" { // not a name that two claim
					out = t.appendListed(next(), sh.shownName(v, s, t), v)
				}
			}
			continue
		}
		sh.renderServer(p, s, v, kind, func(item []byte, add ...wire.Member) {
			out = wire.AppendObject(next(), item, nil, add...)
		})
	}
	out = append(out, ']', '}')
	if cap(out) > 2*len(out) { // of most of it p sees nothing, and the list is kept
		return bytes.Clone(out)
	}
	return out
}

// appendAwaited writes the notice that a list is not whole: it names the servers
// that have not answered since they were added. Those that answered before are
// listed as they were.
func appendAwaited(out []byte, shown []*Server) []byte {
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

// Whole says whether a list names no servers that it waits for.
func Whole(list []byte) bool { return !bytes.HasPrefix(list, []byte(`{"_meta"`)) }

// listSize is about how long a server's part of a list is, and rarely less.
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

// appendListed writes a tool under the name that a view shows, as its clients
// take it: of pages that were made here, those hear that show pages.
func (t *Tool) appendListed(dst []byte, shown string, v View) []byte {
	def := t.Default.in(v.Profile)
	if v.Older {
		def = def.forOlder()
	}
	if v.Audience != AudienceModel {
		def = def.paged()
	}
	if shown != t.Name {
		def = exposePages(t.Server, def)
	}
	if def.Version != "" || shown != t.Name && def.name == nil {
		return wire.AppendObject(dst, def.JSON, nil, toolMembers(t, def, shown)...)
	}
	if shown == t.Name {
		return append(dst, def.JSON...)
	}
	at := wire.Offset(def.JSON, def.name) // it points there
	dst = append(dst, def.JSON[:at]...)
	dst = wire.AppendString(dst, shown)
	return append(dst, def.JSON[at+len(def.name):]...)
}

func (sh *Shelf) renderServer(p *junctor.Principal, s *Server, v View, kind ListKind, add func([]byte, ...wire.Member)) {
	switch kind {
	case ListTools: // render's own
	case ListPrompts:
		for _, x := range s.prompts {
			switch {
			case sh.Visible(p, v, s, junctor.KindPrompt, x.Name) != "":
			case v.Server != "":
				add(x.JSON)
			case sh.prompts[x.Exposed] == x:
				add(x.JSON, member("name", x.Exposed))
			}
		}
	case ListResources, ListTemplates:
		defs, key := s.listed, "uri"
		if kind == ListTemplates {
			defs, key = s.templates, "uriTemplate"
		}
		for _, r := range defs {
			switch {
			case sh.Visible(p, v, s, junctor.KindResource, r.URI) != "":
			case v.Server != "":
				add(r.JSON)
			default:
				add(r.JSON, member(key, ExposedURI(s.ID, r.URI)))
			}
		}
	}
}

// toolMembers is what a listed tool says beyond its definition: the name of the
// view, and its versions where it has any.
func toolMembers(t *Tool, def *ToolVersion, shown string) []wire.Member {
	var m []wire.Member
	if shown != t.Name {
		m = append(m, member("name", shown))
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
		member(wire.MetaJunctorVersion, def.Version),
		wire.Member{Key: wire.MetaJunctorVersion + "s", Value: versions})
	return append(m, wire.Member{Key: "_meta", Value: meta})
}

func member(key, value string) wire.Member {
	return wire.Member{Key: key, Value: wire.AppendString(nil, value)}
}
