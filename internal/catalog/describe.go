package catalog

import (
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Filter selects tools for Describe. Empty fields do not filter.
type Filter struct {
	Server string
	Query  string       // every word must occur in the exposed name, the title or the description
	Role   junctor.Role // tools of this role, and general ones
}

// Describe returns the tools that p sees on endpoints that join servers, in the
// form of the admin API.
func (sh *Shelf) Describe(p *junctor.Principal, f Filter) []junctor.Tool {
	words := strings.Fields(strings.ToLower(f.Query))
	out := []junctor.Tool{}
	for _, s := range sh.servers {
		if f.Server != "" && s.ID != f.Server {
			continue
		}
		for _, t := range s.tools {
			if sh.Visible(p, Scope{Audience: Watching(p)}, s, junctor.KindTool, t.Name) != "" || f.Role != "" && !includesRole(sh.rolesOf(s, t.Name), f.Role) {
				continue
			}
			if d := sh.describeTool(s, t); matchesWords(d, words) {
				out = append(out, d)
			}
		}
	}
	return out
}

// CountTokens returns how many tools of a server the principal sees, and an estimate of
// what their definitions cost a model: about one token per four bytes of JSON.
func (sh *Shelf) CountTokens(p *junctor.Principal, server string) (tools, tokens int) {
	s := sh.byID[server]
	if s == nil {
		return 0, 0
	}
	for _, t := range s.tools {
		if sh.Visible(p, Scope{Audience: Watching(p)}, s, junctor.KindTool, t.Name) == "" {
			tools++
			tokens += junctor.EstimateTokens(len(t.Default.JSON))
		}
	}
	return tools, tokens
}

// DescribeOne returns one tool by its exposed name, or by the own name of a
// built-in tool, with the evidence for its roles. An unknown or hidden name is
// not_found.
func (sh *Shelf) DescribeOne(p *junctor.Principal, name string) (junctor.Tool, error) {
	scope := Scope{Plain: true, Audience: Watching(p)}
	t := sh.findTool(scope, name)
	if t == nil {
		return junctor.Tool{}, sh.unknownTool(p, scope, name)
	}
	s := sh.byID[t.Server]
	if why := sh.Visible(p, scope, s, junctor.KindTool, t.Name); why != "" {
		return junctor.Tool{}, withReason(why, sh.unknownTool(p, scope, name))
	}
	d := sh.describeTool(s, t)
	class := sh.classOf(s, t)
	d.Class = &class
	return d, nil
}

// Watching returns the audience of a principal in the console and the API. An
// agent is a model; all others use the console, which shows App views.
func Watching(p *junctor.Principal) Audience {
	if p.Agent != "" {
		return AudienceModel
	}
	return AudienceHost
}

// describeTool converts a tool to the form of the admin API.
func (sh *Shelf) describeTool(s *Server, t *Tool) junctor.Tool {
	def := t.Default.JSON
	d := junctor.Tool{
		Server: t.Server, Name: t.Name, Exposed: t.Exposed,
		InputSchema: wire.Get(def, "inputSchema"), OutputSchema: wire.Get(def, "outputSchema"), Annotations: wire.Get(def, "annotations"),
		Version: t.Default.Version, Roles: sh.rolesOf(s, t.Name), Category: sh.categoryOf(t), Digest: t.Default.Digest,
		Tokens: junctor.EstimateTokens(len(def)),
		Hints:  t.Default.Hints.Effective(t.Default.operator), Tags: t.Default.Tags,
	}
	d.Title, _ = wire.String(wire.Get(def, "title"))
	d.Description, _ = wire.String(wire.Get(def, "description"))
	if d.App = t.Page(); t.hiddenFromModel || t.hiddenFromApp {
		d.Visibility = t.Visibility()
	}
	if d.Version != "" {
		for _, v := range t.Versions {
			d.Versions = append(d.Versions, v.Version)
		}
	}
	return d
}

// matchesWords reports whether every word occurs in the text of a tool. The
// words are in lower case.
func matchesWords(t junctor.Tool, words []string) bool {
	text := strings.ToLower(t.Exposed + " " + t.Title + " " + t.Description)
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}
