package catalog

import (
	"maps"
	"slices"

	junctor "github.com/junctor-mcp/junctor"
)

// WithheldTools returns the tools that a grant names and that the agent cannot
// call all the same, with the reasons. agent is the principal of the agent. The
// result is empty for a server that is not attached.
func (sh *Shelf) WithheldTools(agent *junctor.Principal, g junctor.Grant) []junctor.WithheldTool {
	s := sh.byID[g.Server]
	if s == nil {
		return nil
	}
	if s.Offer.Awaited {
		return []junctor.WithheldTool{{Server: s.ID, Tool: g.Item, Reason: "the server has not answered yet, so its tools are not known"}}
	}
	reasons := map[string]string{}
	for _, problem := range s.Problems {
		if problem.Effect == EffectLeftOut {
			reasons[problem.Tool] = "its definition cannot be listed: " + problem.Reason
		}
	}
	for _, t := range s.tools {
		delete(reasons, t.Name) // only some of its versions were left out
		if why := sh.Visible(agent, Scope{}, s, junctor.KindTool, t.Name); why != "" {
			reasons[t.Name] = why.explain()
		} else if sh.deniesAll(agent, s, junctor.KindTool, t.Name) {
			reasons[t.Name] = "a rule denies every call of it; junctor policy ls lists the rules"
		} else if sh.tools[t.Exposed] != t {
			reasons[t.Name] = "another tool also has the name " + t.Exposed + ", so endpoints that join servers show neither; rename one of them"
		}
	}
	if g.Item != junctor.AnyItem {
		why := reasons[g.Item]
		switch {
		case why == "" && s.toolsByName[g.Item] != nil:
			return nil
		case why == "":
			why = "the server lists no tool of this name"
		}
		reasons = map[string]string{g.Item: why}
	}
	out := make([]junctor.WithheldTool, 0, len(reasons))
	for _, name := range slices.Sorted(maps.Keys(reasons)) {
		out = append(out, junctor.WithheldTool{Server: s.ID, Tool: name, Reason: reasons[name]})
	}
	return out
}

// explain returns a reason in words for the owner of the agent. Reasons are
// written for records, which name the tool and the caller already.
func (r Reason) explain() string {
	if r == ReasonAudience {
		return "its definition hides it from models (_meta.ui.visibility)"
	}
	return string(r)
}
