package catalog

import (
	"cmp"
	"math"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

const (
	enough     = 4    // points that make a role
	certain    = 10   // points that leave no doubt
	maxRoles   = 3    // that the rules give to one tool
	maxWords   = 1000 // bytes of a text that are read
	maxClasses = 8    // pieces of evidence that are kept for a role
)

// classOf is what a tool is for: as people say, and where they say nothing as
// the rules find.
func (sh *Shelf) classOf(s *Server, t *Tool) junctor.Class {
	class := *t.Default.class()
	if tag, tagged := sh.access.tags[toolKey{s.ID, t.Name}]; tagged {
		class.Tag = &tag
		if len(tag.Roles) > 0 {
			class.Roles, class.Category, class.Confidence = tag.Roles, string(tag.Roles[0]), 1
		}
		if tag.Category != "" {
			class.Category = tag.Category
		}
	}
	return class
}

// categoryOf gives the category of a tool.
func (sh *Shelf) categoryOf(t *Tool) string { return sh.classOf(sh.byID[t.Server], t).Category }

// rolesOf gives the roles of a tool, by its own name: none where there is no
// such tool.
func (sh *Shelf) rolesOf(s *Server, tool string) []junctor.Role {
	if tag := sh.access.tags[toolKey{s.ID, tool}]; len(tag.Roles) > 0 {
		return tag.Roles
	}
	if t := s.toolsBy[tool]; t != nil {
		return t.Default.class().Roles
	}
	return nil
}

// classify finds by fixed rules what a tool is for. The same definition on a
// server of the same id is always for the same. Strong evidence is needed:
// without it a tool is General, and so offered to every agent.
func (r rules) classify(server string, tool []byte, topic string) *junctor.Class {
	e := evidence{rules: r}
	annotations, meta := wire.Get(tool, "annotations"), wire.Get(tool, "_meta")
	e.tags(wire.Get(meta, wire.MetaJunctorRoles))
	e.tags(wire.Get(meta, "tags"))
	e.tags(wire.Get(wire.Get(meta, "_fastmcp"), "tags"))
	e.read("name", text(wire.Get(tool, "name")), 1)
	title := text(wire.Get(tool, "title"))
	if title == "" {
		title = text(wire.Get(annotations, "title"))
	}
	e.read("title", title, 2)
	e.read("description", text(wire.Get(tool, "description")), 2)
	e.read("topic", topic, 1)
	e.read(whereServer, server, 1)
	return e.class()
}

func text(raw []byte) string {
	s, _ := wire.String(raw)
	return s
}

// whereServer is the place of evidence in the server's id, where the names of
// products alone count.
const whereServer = "server"

// evidence gathers what speaks for each role.
type evidence struct {
	rules
	found  []junctor.Evidence
	points [16]int // by the place of the role among all
}

// tags takes what the server itself says: names of roles settle it, other words
// count as in a name.
func (e *evidence) tags(raw []byte) {
	if len(raw) == 0 || raw[0] != '[' {
		return
	}
	for one := range wire.Elements(raw) {
		tag := text(one)
		i := slices.IndexFunc(junctor.Roles(), func(r junctor.Role) bool { return strings.EqualFold(string(r), tag) })
		if i >= 0 {
			e.add(junctor.Roles()[i], "tag", tag, certain)
			continue
		}
		e.read("tag", tag, 1)
	}
}

// read looks up each word of a text, and two that stand together. A word counts
// for its share of the weight.
func (e *evidence) read(where, text string, share int) {
	var room [64]byte
	pair := room[:0]
	leads := false
	for w := range split(text) {
		w = singular(w)
		if leads {
			pair = append(append(pair, '_'), w...)
			e.ask(where, e.rules[string(pair)], pair, share)
		}
		found := e.rules[string(w)]
		e.ask(where, found, w, share)
		if leads = found != nil && found.leads; leads {
			pair = append(pair[:0], w...)
		}
	}
}

func (e *evidence) ask(where string, found *word, text []byte, share int) {
	if found == nil || where == whereServer && !found.brand {
		return
	}
	for _, v := range found.votes {
		e.add(v.role, where, strings.ReplaceAll(string(text), "_", " "), v.weight/share)
	}
}

// add counts a word once for each place.
func (e *evidence) add(role junctor.Role, where, text string, weight int) {
	if weight == 0 {
		return
	}
	for _, f := range e.found {
		if f.Role == role && f.Where == where && f.Text == text {
			return
		}
	}
	e.points[rank(role)] += weight
	e.found = append(e.found, junctor.Evidence{Role: role, Where: where, Text: text, Weight: weight})
}

// class weighs what was found. Roles that come near the strongest are given
// too, and evidence for others is left out.
func (e *evidence) class() *junctor.Class {
	points := func(r junctor.Role) int { return e.points[rank(r)] }
	var roles []junctor.Role
	for _, role := range junctor.Roles() {
		if points(role) >= enough {
			roles = append(roles, role)
		}
	}
	if len(roles) == 0 {
		return &junctor.Class{Roles: []junctor.Role{junctor.RoleGeneral}, Category: string(junctor.RoleGeneral), Evidence: []junctor.Evidence{}}
	}
	slices.SortStableFunc(roles, func(a, b junctor.Role) int { return cmp.Compare(points(b), points(a)) })
	top := points(roles[0])
	roles = slices.DeleteFunc(roles, func(r junctor.Role) bool { return 3*points(r) < 2*top })
	roles = roles[:min(len(roles), maxRoles)]
	class := &junctor.Class{
		Roles: roles, Category: string(roles[0]), Confidence: math.Round(100*min(1, float64(top)/certain)) / 100, Evidence: []junctor.Evidence{},
	}
	for _, role := range roles {
		kept := 0
		for _, f := range e.found {
			if f.Role == role && kept < maxClasses {
				class.Evidence = append(class.Evidence, f)
				kept++
			}
		}
	}
	return class
}

// rank is the place of a role among all.
func rank(role junctor.Role) int { return slices.Index(junctor.Roles(), role) }
