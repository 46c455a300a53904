package catalog

import (
	"cmp"
	"slices"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Limits of a list for a model, with ExposureAuto. Tools of a longer list are
// searched instead, unless the client searches them itself.
const (
	maxListed      = 128
	maxListedBytes = 256 << 10
)

// Names of the tools that a list has in place of tools that are searched.
const (
	FindTools    = "find_tools"
	DescribeTool = "describe_tool"
	CallTool     = "call_tool"
)

// metaTools returns the definitions of FindTools, DescribeTool and CallTool.
func metaTools() []ToolDef {
	const reads = `"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}`
	return []ToolDef{
		{Name: FindTools, JSON: []byte(`{"name":"` + FindTools + `","title":"Find tools","description":"Finds tools by what they are to do. There are more tools than this list shows: search for one, look at its arguments with ` + DescribeTool + `, and call it with ` + CallTool + `.",` +
			`"inputSchema":{"type":"object","properties":{"query":{"type":"string","description":"What the tool is to do, in a few words, such as: create an issue in a repository"},"limit":{"type":"integer","minimum":1,"maximum":50,"description":"How many to show at most; 10 unless it is given"}},"required":["query"]},` + reads + `}`)},
		{Name: DescribeTool, JSON: []byte(`{"name":"` + DescribeTool + `","title":"Describe a tool","description":"Shows what a tool takes and gives.","inputSchema":{"type":"object","properties":{"name":{"type":"string","description":"The tool's name, as ` + FindTools + ` shows it"}},"required":["name"]},` + reads + `}`)},
		{Name: CallTool, JSON: []byte(`{"name":"` + CallTool + `","title":"Call a tool","description":"Calls a tool that ` + FindTools + ` has found.","inputSchema":{"type":"object","properties":{"name":{"type":"string","description":"The tool's name, as ` + FindTools + ` shows it"},"arguments":{"type":"object","description":"Its arguments, as ` + DescribeTool + ` shows them"}},"required":["name"]}}`)},
	}
}

// searchedServers returns the servers whose tools the scope does not list for
// p. Clients find these tools with FindTools instead. A server is searched if
// its exposure says so, or, with ExposureAuto, if its tools alone or all tools
// together would exceed the limits and the client does not search by itself.
func (sh *Shelf) searchedServers(p *junctor.Principal, scope Scope) map[*Server]bool {
	type weighed struct {
		s            *Server
		tools, bytes int
	}
	if scope.Audience == AudienceApp {
		return nil // an App view knows the names that it calls
	}
	var out map[*Server]bool
	var auto []weighed
	tools, bytes := 0, 0
	most := maxListedBytes
	if scope.Budget > 0 {
		most = min(most, scope.Budget)
	}
	for _, s := range sh.servers {
		if scope.Server != "" && s.ID != scope.Server || sh.Visible(p, scope, s, "", "") != "" {
			continue
		}
		w := weighed{s: s}
		for _, t := range s.tools {
			if sh.isListed(p, scope, s, junctor.KindTool, t.Name) {
				w.tools++
				w.bytes += len(t.Default.JSON)
			}
		}
		// A server above the limits on its own is searched whatever the others
		// have.
		large := w.tools > maxListed || w.bytes > most
		as := sh.exposureOf(p, scope, s)
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
	// Together they may exceed the limits: the largest servers are searched first.
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

// exposureOf returns how a scope shows the tools of a server to p: ExposureAuto
// and ExposureSearch as they are, and anything else lists all. On the server's
// own endpoint, only its own setting counts. Elsewhere the setting of the agent
// wins over that of the server, and that over the one for all joined servers.
func (sh *Shelf) exposureOf(p *junctor.Principal, scope Scope, s *Server) junctor.Exposure {
	as := s.Exposure
	if scope.Server == "" {
		of := sh.agentExposure(p)
		as = cmp.Or(of, s.Exposure, sh.joinedExposure)
		// A turn has a budget whatever the lists for MCP clients are.
		if scope.Budget > 0 && as != junctor.ExposureSearch && (of != "" || s.Exposure == "") {
			as = junctor.ExposureAuto
		}
	}
	if as == junctor.ExposureAuto && scope.SearchesTools && scope.Budget == 0 {
		return junctor.ExposureAll
	}
	return as
}

// isSearchable reports whether a list may leave out the tools of a server with
// this exposure.
func isSearchable(e junctor.Exposure) bool {
	return e == junctor.ExposureAuto || e == junctor.ExposureSearch
}

// exceedLimits reports whether the tools of all servers together exceed the
// limits of a list. If they do not, no caller's list does.
func exceedLimits(servers []*Server) bool {
	tools, bytes := 0, 0
	for _, s := range servers {
		tools += len(s.tools)
		for _, t := range s.tools {
			bytes += len(t.Default.JSON)
		}
	}
	return tools > maxListed || bytes > maxListedBytes
}

// agentExposure returns the exposure that the agent p has of its own; "" if p is
// no agent or has none.
func (sh *Shelf) agentExposure(p *junctor.Principal) junctor.Exposure {
	if p.Agent == "" {
		return ""
	}
	if a := sh.access.agents[p.Agent]; a != nil {
		return a.Exposure
	}
	return ""
}

// Meta resolves the name of a meta tool, if the scope has one for p. ok is
// false if name is another tool, or if p's list has no tools that are searched.
func (sh *Shelf) Meta(p *junctor.Principal, scope Scope, name string) (item Item, ok bool) {
	i := slices.IndexFunc(metaTools(), func(d ToolDef) bool { return d.Name == name })
	if i < 0 || len(sh.searchedServers(p, scope)) == 0 {
		return Item{}, false
	}
	def := metaTools()[i]
	scope.Audience = AudienceModel // only models search
	version, err := newToolVersion(def, nil, junctor.CatalogServer, true, &snapshotBuilder{})
	if err != nil {
		return Item{}, false
	}
	return Item{
		Server: &Server{ID: junctor.CatalogServer, Mode: junctor.ModeBuiltin, Backend: &toolFinder{sh, scope}, Offer: &Offer{}},
		Name:   name, Shown: name, Tool: version,
	}, true
}

// Unwrap returns the name and the arguments of the tool that a call of CallTool
// is for. ok is false if they are malformed.
func Unwrap(arguments []byte) (name string, inner []byte, ok bool) {
	name, ok = wire.String(wire.Get(arguments, "name"))
	inner = wire.Get(arguments, "arguments")
	if inner != nil && (len(inner) == 0 || inner[0] != '{') {
		return "", nil, false
	}
	return name, inner, ok
}
