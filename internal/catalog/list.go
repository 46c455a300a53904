package catalog

import (
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
}

// List gives a list's result object, such as {"tools":[…]}, as p sees it. The
// bytes are shared: do not change them.
func (sh *Shelf) List(p *junctor.Principal, v View, kind ListKind) []byte {
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
	if c.done == nil {
		c.done = map[listKey][]byte{}
	}
	c.done[key] = b
	if c.renders != nil {
		c.renders.Add(1)
	}
	return b
}

func (sh *Shelf) render(p *junctor.Principal, v View, kind ListKind) []byte {
	out := append([]byte(`{"`), [...]string{"tools", "prompts", "resources", "resourceTemplates"}[kind]...)
	out = append(out, `":[`...)
	empty := len(out)
	for _, s := range sh.servers {
		if v.Server != "" && s.ID != v.Server || sh.Visible(p, v, s, "", "") != "" {
			continue
		}
		sh.renderServer(p, s, v, kind, func(item []byte, add ...wire.Member) {
			if len(out) > empty {
				out = append(out, ',')
			}
			out = wire.AppendObject(out, item, nil, add...)
		})
	}
	return append(out, ']', '}')
}

func (sh *Shelf) renderServer(p *junctor.Principal, s *Server, v View, kind ListKind, add func([]byte, ...wire.Member)) {
	switch kind {
	case ListTools:
		for _, t := range s.tools {
			if v.Server == "" && sh.tools[t.Exposed] != t || sh.Visible(p, v, s, junctor.KindTool, t.Name) != "" {
				continue // two claim the name, or it is not for p
			}
			add(t.Default.JSON, toolMembers(t, sh.shownName(v, s, t))...)
		}
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
		defs, key := s.Offer.Resources, "uri"
		if kind == ListTemplates {
			defs, key = s.Offer.Templates, "uriTemplate"
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
func toolMembers(t *Tool, shown string) []wire.Member {
	var m []wire.Member
	if shown != t.Name {
		m = append(m, member("name", shown))
	}
	if t.Default.Version == "" {
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
	own := wire.Get(t.Default.JSON, "_meta")
	if own == nil {
		own = []byte("{}")
	}
	meta := wire.AppendObject(nil, own, nil,
		member(wire.MetaJunctorVersion, t.Default.Version),
		wire.Member{Key: wire.MetaJunctorVersion + "s", Value: versions})
	return append(m, wire.Member{Key: "_meta", Value: meta})
}

func member(key, value string) wire.Member {
	return wire.Member{Key: key, Value: wire.AppendString(nil, value)}
}
