package catalog

import (
	"cmp"
	"slices"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// A list above these is too long for a model to be told whole.
const (
	maxListed      = 128
	maxListedBytes = 256 << 10
)

// The tools that stand in a list for those that are not.
const (
	FindTools    = "find_tools"
	DescribeTool = "describe_tool"
	CallTool     = "call_tool"
)

// metaTools are their definitions.
func metaTools() []ToolDef {
	const reads = `"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}`
	return []ToolDef{
		{Name: FindTools, JSON: []byte(`{"name":"` + FindTools + `","title":"Find tools","description":"Finds tools by what they are to do. There are more tools than this list shows: search for one, look at its arguments with ` + DescribeTool + `, and call it with ` + CallTool + `.",` +
			`"inputSchema":{"type":"object","properties":{"query":{"type":"string","description":"What the tool is to do, in a few words, such as: create an issue in a repository"},"limit":{"type":"integer","minimum":1,"maximum":50,"description":"How many to show at most; 10 unless it is given"}},"required":["query"]},` + reads + `}`)},
		{Name: DescribeTool, JSON: []byte(`{"name":"` + DescribeTool + `","title":"Describe a tool","description":"Shows what a tool takes and gives.","inputSchema":{"type":"object","properties":{"name":{"type":"string","description":"The tool's name, as ` + FindTools + ` shows it"}},"required":["name"]},` + reads + `}`)},
		{Name: CallTool, JSON: []byte(`{"name":"` + CallTool + `","title":"Call a tool","description":"Calls a tool that ` + FindTools + ` has found.","inputSchema":{"type":"object","properties":{"name":{"type":"string","description":"The tool's name, as ` + FindTools + ` shows it"},"arguments":{"type":"object","description":"Its arguments, as ` + DescribeTool + ` shows them"}},"required":["name"]}}`)},
	}
}

// sought are the servers whose tools a view does not list for p, since there are
// too many, or somebody wants it so: they are found.
func (sh *Shelf) sought(p *junctor.Principal, v View) map[*Server]bool {
	type weighed struct {
		s            *Server
		tools, bytes int
	}
	if v.Audience == AudienceApp {
		return nil // a page knows what it calls
	}
	var out map[*Server]bool
	var auto []weighed
	tools, bytes := 0, 0
	most := maxListedBytes
	if v.Budget > 0 {
		most = min(most, v.Budget)
	}
	for _, s := range sh.servers {
		if v.Server != "" && s.ID != v.Server || sh.Visible(p, v, s, "", "") != "" {
			continue
		}
		w := weighed{s: s}
		for _, t := range s.tools {
			if sh.Visible(p, v, s, junctor.KindTool, t.Name) == "" {
				w.tools++
				w.bytes += len(t.Default.JSON)
			}
		}
		large := w.tools > maxListed || w.bytes > most
		as := sh.exposure(v, s)
		if w.tools > 0 && (as == junctor.ExposureSearch || as == junctor.ExposureAuto && large) {
			if out == nil {
				out = map[*Server]bool{}
			}
			out[s] = true
			continue
		}
		tools, bytes = tools+w.tools, bytes+w.bytes
		if as == junctor.ExposureAuto {
			auto = append(auto, w)
		}
	}
	// Together they may be too many: the largest go first.
	slices.SortStableFunc(auto, func(a, b weighed) int { return cmp.Compare(b.bytes, a.bytes) })
	for _, w := range auto {
		if tools <= maxListed && bytes <= most {
			break
		}
		if out == nil {
			out = map[*Server]bool{}
		}
		out[w.s] = true
		tools, bytes = tools-w.tools, bytes-w.bytes
	}
	return out
}

// exposure is how a view shows the tools of a server; "" is all. The door of one
// server that says nothing shows it as it is.
func (sh *Shelf) exposure(v View, s *Server) junctor.Exposure {
	if s.Exposure != "" || v.Server != "" {
		return s.Exposure
	}
	if v.Budget > 0 && sh.joined != junctor.ExposureSearch {
		return junctor.ExposureAuto
	}
	return sh.joined
}

// Meta gives the item of a tool that stands in p's list for others; ok is false
// where the view has none of that name.
func (sh *Shelf) Meta(p *junctor.Principal, v View, name string) (item Item, ok bool) {
	i := slices.IndexFunc(metaTools(), func(d ToolDef) bool { return d.Name == name })
	if i < 0 || len(sh.sought(p, v)) == 0 {
		return Item{}, false
	}
	def := metaTools()[i]
	v.Audience = AudienceModel // who searches is one
	version, err := newToolVersion(def, nil, junctor.CatalogServer, true, &making{})
	if err != nil {
		return Item{}, false
	}
	return Item{
		Server: &Server{ID: junctor.CatalogServer, Mode: junctor.ModeBuiltin, Backend: &finder{sh, v}, Offer: &Offer{}},
		Name:   name, Shown: name, Tool: version,
	}, true
}

// Unwrap gives the name and arguments of the tool that a call of CallTool is for.
func Unwrap(arguments []byte) (name string, inner []byte, ok bool) {
	name, ok = wire.String(wire.Get(arguments, "name"))
	inner = wire.Get(arguments, "arguments")
	if inner != nil && (len(inner) == 0 || inner[0] != '{') {
		return "", nil, false
	}
	return name, inner, ok
}
