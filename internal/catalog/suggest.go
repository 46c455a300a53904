package catalog

import (
	"cmp"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// unknownTool is the error for a name that p cannot see, whether it exists or
// not, with the closest names that p can.
func (sh *Shelf) unknownTool(p *junctor.Principal, v View, name string) *junctor.Error {
	type near struct {
		name     string
		distance int
	}
	most := max(2, len(name)/3)
	if v.Audience == AudienceHost {
		v.Audience = AudienceModel // who may be the one that reads it
	}
	var found []near
	for _, s := range sh.servers {
		if v.Server != "" && s.ID != v.Server || sh.Visible(p, v, s, "", "") != "" {
			continue
		}
		for _, t := range s.tools {
			if v.Server == "" && sh.tools[t.Exposed] != t || sh.Visible(p, v, s, junctor.KindTool, t.Name) != "" {
				continue // two claim the name, or it is not for p
			}
			shown := sh.shownName(v, s, t)
			d := min(distance(name, shown, most), distance(name, t.Name, most-1)+1)
			if v.Plain {
				if e := distance(name, t.Exposed, most); e < d { // it answers to both
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
	if s := sh.byID[v.Server]; s != nil && s.Offer.Awaited && sh.Visible(p, v, s, junctor.KindTool, name) == "" {
		// A delivery that comes too early is tried again; an unknown tool would end it.
		return junctor.Errorf(junctor.CodeUnavailable, "the server %q has not listed its tools yet; try again in a moment", v.Server)
	}
	if len(found) == 0 {
		return junctor.Errorf(junctor.CodeNotFound, "unknown tool %q; tools/list shows what there is", clip(name))
	}
	names := make([]string, 0, 3)
	for _, n := range found[:min(3, len(found))] {
		names = append(names, n.name)
	}
	return junctor.Errorf(junctor.CodeNotFound, "unknown tool %q; did you mean %s?", clip(name), strings.Join(names, ", "))
}

// shownName is the name under which a view shows a tool.
func (sh *Shelf) shownName(v View, s *Server, t *Tool) string {
	switch {
	case v.Server != "":
		return t.Name
	case v.Plain && s.Mode == junctor.ModeBuiltin && sh.bare[t.Name] == t:
		return t.Name
	}
	return t.Exposed
}

// clip keeps a hostile name from filling the answer.
func clip(s string) string { return clipTo(s, 128) }

func clipTo(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// maxName is the longest name that is compared.
const maxName = 128

// Distance counts single-character edits between two short names, up to most:
// beyond it gives some number above.
func Distance(a, b string, most int) int { return distance(a, b, most) }

// distance counts single-character edits between two names. Beyond most it
// stops counting and gives some number above it: names come from callers, and
// there are many tools.
func distance(a, b string, most int) int {
	if len(a) > maxName || len(b) > maxName || max(len(a)-len(b), len(b)-len(a)) > most {
		return most + 1
	}
	var rows [maxName + 1]int
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
