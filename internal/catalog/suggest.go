package catalog

import (
	"cmp"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// unknownTool returns the error for a name that p cannot see, whether the tool
// exists or not: both get the same text. It names up to three similar tools
// that p can see. While the scope's server has not listed its tools, the error
// is unavailable, so that callers try again.
func (sh *Shelf) unknownTool(p *junctor.Principal, scope Scope, name string) *junctor.Error {
	type near struct {
		name     string
		distance int
	}
	// A third of the letters may differ.
	most := max(2, len(name)/3)
	if scope.Audience == AudienceHost {
		scope.Audience = AudienceModel // a model may read the error
	}
	var found []near
	for _, s := range sh.servers {
		if scope.Server != "" && s.ID != scope.Server || sh.Visible(p, scope, s, "", "") != "" {
			continue
		}
		for _, t := range s.tools {
			if scope.Server == "" && sh.tools[t.Exposed] != t || !sh.isListed(p, scope, s, junctor.KindTool, t.Name) {
				continue // two tools claim the name, or p may not see it
			}
			shown := sh.shownName(scope, s, t)
			d := min(Distance(name, shown, most), Distance(name, t.Name, most-1)+1)
			if scope.Plain {
				if e := Distance(name, t.Exposed, most); e < d { // the tool has both names
					shown, d = t.Exposed, e
				}
			}
			if d <= most {
				found = append(found, near{shown, d})
			}
		}
	}
	slices.SortFunc(found, func(a, b near) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.name, b.name))
	})
	if s := sh.byID[scope.Server]; s != nil && s.Offer.Awaited && sh.Visible(p, scope, s, junctor.KindTool, name) == "" {
		// A delivery is retried after unavailable; not_found would end it.
		return junctor.Errorf(junctor.CodeUnavailable, "the server %q has not listed its tools yet; try again in a moment", scope.Server)
	}
	if len(found) == 0 {
		return junctor.Errorf(junctor.CodeNotFound, "unknown tool %q; tools/list shows the available tools", clipText(name))
	}
	names := make([]string, 0, 3)
	for _, n := range found[:min(3, len(found))] {
		names = append(names, n.name)
	}
	return junctor.Errorf(junctor.CodeNotFound, "unknown tool %q; did you mean %s?", clipText(name), strings.Join(names, ", "))
}

// shownName returns the name of a tool in a scope.
func (sh *Shelf) shownName(scope Scope, s *Server, t *Tool) string {
	switch {
	case scope.Server != "":
		return t.Name
	case scope.Plain && s.Mode == junctor.ModeBuiltin && sh.builtinByName[t.Name] == t:
		return t.Name
	}
	return t.Exposed
}

// clipText shortens text from outside, so that a hostile name cannot fill an
// error message.
func clipText(s string) string { return junctor.ShortenText(s, 128) }

// maxComparedName is the longest name, in bytes, that Distance compares.
const maxComparedName = 128

// Distance counts the single-byte edits between two short names. Beyond most it
// stops counting and returns a larger number: names come from callers, and
// there may be many tools to compare with.
func Distance(a, b string, most int) int {
	if len(a) > maxComparedName || len(b) > maxComparedName || max(len(a)-len(b), len(b)-len(a)) > most {
		return most + 1
	}
	var rows [maxComparedName + 1]int
	row := rows[:len(b)+1]
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal, least := row[0], i+1
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
			least = min(least, row[j+1])
		}
		if least > most {
			return most + 1
		}
	}
	return row[len(b)]
}
