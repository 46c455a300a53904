package catalog

import (
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Describe gives the tools that p may see, for people: all of one server, or of
// every server where server is "", and only those that hold every word of the
// query in their name, title or description.
func (sh *Shelf) Describe(p *junctor.Principal, server, query string) []junctor.Tool {
	words := strings.Fields(strings.ToLower(query))
	out := []junctor.Tool{}
	for _, s := range sh.servers {
		if server != "" && s.ID != server || !Visible(p, s) {
			continue
		}
		for _, t := range s.tools {
			if d := describe(t); matches(d, words) {
				out = append(out, d)
			}
		}
	}
	return out
}

// DescribeOne gives one tool by its exposed name, or by the own name of a
// built-in tool.
func (sh *Shelf) DescribeOne(p *junctor.Principal, name string) (junctor.Tool, error) {
	v := View{Plain: true}
	t, _ := sh.findTool(p, v, name)
	if t == nil {
		return junctor.Tool{}, sh.unknownTool(p, v, name)
	}
	return describe(t), nil
}

func describe(t *Tool) junctor.Tool {
	def := t.Default.JSON
	d := junctor.Tool{
		Server: t.Server, Name: t.Name, Exposed: t.Exposed,
		InputSchema: wire.Get(def, "inputSchema"), OutputSchema: wire.Get(def, "outputSchema"), Annotations: wire.Get(def, "annotations"),
		Version: t.Default.Version, Digest: t.Default.Digest,
	}
	d.Title, _ = wire.String(wire.Get(def, "title"))
	d.Description, _ = wire.String(wire.Get(def, "description"))
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
