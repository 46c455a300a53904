package catalog

import (
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Filter says which tools are wanted; zero members do not filter.
type Filter struct {
	Server string
	Query  string       // every word of it stands in the name, title or description
	Role   junctor.Role // tools for this role, and those for all
}

// Describe gives the tools that p sees where servers are joined, for people.
func (sh *Shelf) Describe(p *junctor.Principal, f Filter) []junctor.Tool {
	words := strings.Fields(strings.ToLower(f.Query))
	out := []junctor.Tool{}
	for _, s := range sh.servers {
		if f.Server != "" && s.ID != f.Server {
			continue
		}
		for _, t := range s.tools {
			if sh.Visible(p, View{Audience: Watching(p)}, s, junctor.KindTool, t.Name) != "" || f.Role != "" && !fits(sh.rolesOf(s, t.Name), f.Role) {
				continue
			}
			if d := sh.describe(s, t); matches(d, words) {
				out = append(out, d)
			}
		}
	}
	return out
}

// DescribeOne gives one tool by its exposed name, or by the own name of a
// built-in tool.
func (sh *Shelf) DescribeOne(p *junctor.Principal, name string) (junctor.Tool, error) {
	v := View{Plain: true, Audience: Watching(p)}
	t := sh.findTool(v, name)
	if t == nil {
		return junctor.Tool{}, sh.unknownTool(p, v, name)
	}
	s := sh.byID[t.Server]
	if why := sh.Visible(p, v, s, junctor.KindTool, t.Name); why != "" {
		return junctor.Tool{}, hide(why, sh.unknownTool(p, v, name))
	}
	d := sh.describe(s, t)
	class := sh.classOf(s, t)
	d.Class = &class
	return d, nil
}

// Watching is the audience that a principal is where things are shown to people:
// they have the console, which shows pages. An agent is a model.
func Watching(p *junctor.Principal) Audience {
	if p.Agent != "" {
		return AudienceModel
	}
	return AudienceHost
}

func (sh *Shelf) describe(s *Server, t *Tool) junctor.Tool {
	def := t.Default.JSON
	d := junctor.Tool{
		Server: t.Server, Name: t.Name, Exposed: t.Exposed,
		InputSchema: wire.Get(def, "inputSchema"), OutputSchema: wire.Get(def, "outputSchema"), Annotations: wire.Get(def, "annotations"),
		Version: t.Default.Version, Roles: sh.rolesOf(s, t.Name), Category: sh.categoryOf(t), Digest: t.Default.Digest,
	}
	d.Title, _ = wire.String(wire.Get(def, "title"))
	d.Description, _ = wire.String(wire.Get(def, "description"))
	if d.App = t.Page(); t.notModel || t.notApp {
		d.Visibility = t.Visibility()
	}
	if d.Version != "" {
		for _, v := range t.Versions {
			d.Versions = append(d.Versions, v.Version)
		}
	}
	return d
}

func matches(t junctor.Tool, words []string) bool {
	text := strings.ToLower(t.Exposed + " " + t.Title + " " + t.Description)
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}
