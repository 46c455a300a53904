package catalog

import (
	"cmp"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// unknownTool is the error for a name that p cannot see, whether it exists or
// not, with the closest names that p can.
func (sh *Shelf) unknownTool(p *junctor.Principal, v View, name string) error {
	type near struct {
		name     string
		distance int
	}
	var found []near
	for _, s := range sh.servers {
		if v.Server != "" && s.ID != v.Server || !Visible(p, s) {
			continue
		}
		for _, t := range s.tools {
			shown := sh.shownName(v, s, t)
			d := min(distance(name, shown), distance(name, t.Name)+1)
			if d <= max(2, len(name)/3) {
				found = append(found, near{shown, d})
			}
		}
	}
	slices.SortFunc(found, func(a, b near) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.name, b.name))
	})
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
func clip(s string) string {
	if len(s) <= 128 {
		return s
	}
	return strings.ToValidUTF8(s[:128], "") + "…"
}

// distance counts single-character edits between two names, giving up beyond
// lengths that no name has.
func distance(a, b string) int {
	if len(a) > 128 || len(b) > 128 {
		return 1 << 10
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
