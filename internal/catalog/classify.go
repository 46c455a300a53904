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
	minRolePoints      = 5    // points that a role requires
	ownWordWeight      = 4    // weight of a word that the work of one role alone uses
	certainPoints      = 10   // points that count as full confidence
	maxRolesPerTool    = 3    // most roles that the rules give to one tool
	maxTextBytes       = 1000 // most bytes of one text that are read
	maxEvidencePerRole = 8    // most pieces of evidence that are kept for a role
)

// classOf returns the roles and category of a tool. A tag that people set takes
// precedence over the rules.
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

// categoryOf returns the category of a tool.
func (sh *Shelf) categoryOf(t *Tool) string { return sh.classOf(sh.byID[t.Server], t).Category }

// rolesOf returns the roles of a tool by its own name. It is nil for an unknown
// tool, which therefore suits no role.
func (sh *Shelf) rolesOf(s *Server, tool string) []junctor.Role {
	if tag := sh.access.tags[toolKey{s.ID, tool}]; len(tag.Roles) > 0 {
		return tag.Roles
	}
	if t := s.toolsByName[tool]; t != nil {
		return t.Default.class().Roles
	}
	return nil
}

// classifyTool finds by fixed rules what a tool is for. The result depends only
// on the definition, the topic and the server's id. A role requires strong
// evidence: without it a tool is General, and is offered to every agent.
func (r wordRules) classifyTool(server string, tool []byte, topic string) *junctor.Class {
	e := roleEvidence{wordRules: r}
	annotations, meta := wire.Get(tool, "annotations"), wire.Get(tool, "_meta")
	e.addTags(wire.Get(meta, wire.MetaJunctorRoles))
	e.addTags(wire.Get(meta, "tags"))
	e.addTags(wire.Get(wire.Get(meta, "_fastmcp"), "tags"))
	e.addText(whereName, stringValue(wire.Get(tool, "name")), 1)
	title := stringValue(wire.Get(tool, "title"))
	if title == "" {
		title = stringValue(wire.Get(annotations, "title"))
	}
	e.addText("title", title, 2)
	e.addText("description", stringValue(wire.Get(tool, "description")), 2)
	e.addText("topic", topic, 1)
	e.addText(whereServer, server, 1)
	return e.weighRoles()
}

// stringValue decodes a JSON string; "" for any other value.
func stringValue(raw []byte) string {
	s, _ := wire.String(raw)
	return s
}

// whereServer marks evidence from the server's id. There only names of products
// count: an id such as "issues" says little about each tool.
const whereServer = "server"

// There a word that the work of one role alone uses decides by itself.
const (
	whereName = "name"
	whereTag  = "tag" // tags that the server itself sets
)

// roleEvidence collects evidence for each role of one tool.
type roleEvidence struct {
	wordRules
	found    []junctor.Evidence
	points   [16]int // by roleIndex
	ownWords [16]int // different words of ownWordWeight, by roleIndex
}

// addTags counts the tags that the server itself sets. A tag that is the name
// of a role decides; other tags count like words of a name.
func (e *roleEvidence) addTags(raw []byte) {
	if len(raw) == 0 || raw[0] != '[' {
		return
	}
	for one := range wire.Elements(raw) {
		tag := stringValue(one)
		i := slices.IndexFunc(junctor.Roles(), func(r junctor.Role) bool { return strings.EqualFold(string(r), tag) })
		if i >= 0 {
			role := junctor.Roles()[i]
			e.addPoints(role, whereTag, tag, vote{role: role, weight: certainPoints}, 1)
			continue
		}
		e.addText(whereTag, tag, 1)
	}
}

// addText looks up each word of a text, and each pair of adjacent words. A word
// counts for its weight divided by share.
func (e *roleEvidence) addText(where, text string, share int) {
	var room [64]byte
	pair := room[:0]
	leads := false
	for w := range splitWords(text) {
		w = trimPlural(w)
		if leads {
			pair = append(append(pair, '_'), w...)
			e.addWord(where, e.wordRules[string(pair)], pair, share)
		}
		found := e.wordRules[string(w)]
		e.addWord(where, found, w, share)
		if leads = found != nil && found.beginsPair; leads {
			pair = append(pair[:0], w...)
		}
	}
}

// addWord counts the votes of a rule, if one was found for the word.
func (e *roleEvidence) addWord(where string, found *ruleWord, text []byte, share int) {
	if found == nil || where == whereServer && !found.isProduct {
		return
	}
	for _, v := range found.votes {
		e.addPoints(v.role, where, strings.ReplaceAll(string(text), "_", " "), v, share)
	}
}

// addPoints counts a word once for each place, because repeating a word in a
// description must not turn a tool into another role. A word that other work uses
// too counts only at the place where it has most weight: an instance, a stock or a
// card that a tool names everywhere is no clearer than one that it names once.
func (e *roleEvidence) addPoints(role junctor.Role, where, text string, v vote, share int) {
	weight := v.weight / share
	if (where == whereTag || where == whereName) && v.weight >= ownWordWeight {
		weight = max(weight, minRolePoints)
	}
	if weight == 0 || v.inServerID && where != whereServer {
		return
	}
	isNew := true
	for i := range e.found {
		f := &e.found[i]
		if f.Role != role || f.Text != text {
			continue
		}
		isNew = false
		switch {
		case f.Where == where:
			return
		case v.weight < ownWordWeight:
			if f.Weight < weight {
				e.points[roleIndex(role)] += weight - f.Weight
				f.Where, f.Weight = where, weight
			}
			return
		}
	}
	if isNew && v.weight >= ownWordWeight {
		e.ownWords[roleIndex(role)]++
	}
	e.points[roleIndex(role)] += weight
	e.found = append(e.found, junctor.Evidence{Role: role, Where: where, Text: text, Weight: weight})
}

// weighRoles turns the points into a class. Roles with at least two thirds of
// the strongest role's points are included. Evidence for other roles is left
// out.
func (e *roleEvidence) weighRoles() *junctor.Class {
	// Two different words that only this work uses support each other.
	points := func(r junctor.Role) int { return e.points[roleIndex(r)] + min(1, e.ownWords[roleIndex(r)]/2) }
	var roles []junctor.Role
	for _, role := range junctor.Roles() {
		if points(role) >= minRolePoints {
			roles = append(roles, role)
		}
	}
	if len(roles) == 0 {
		return &junctor.Class{Roles: []junctor.Role{junctor.RoleGeneral}, Category: string(junctor.RoleGeneral), Evidence: []junctor.Evidence{}}
	}
	slices.SortStableFunc(roles, func(a, b junctor.Role) int { return cmp.Compare(points(b), points(a)) })
	top := points(roles[0])
	roles = slices.DeleteFunc(roles, func(r junctor.Role) bool { return 3*points(r) < 2*top })
	roles = roles[:min(len(roles), maxRolesPerTool)]
	class := &junctor.Class{
		Roles: roles, Category: string(roles[0]), Confidence: math.Round(100*min(1, float64(top)/certainPoints)) / 100, Evidence: []junctor.Evidence{},
	}
	for _, role := range roles {
		kept := 0
		for _, f := range e.found {
			if f.Role == role && kept < maxEvidencePerRole {
				class.Evidence = append(class.Evidence, f)
				kept++
			}
		}
	}
	return class
}

// roleIndex is the position of a role in junctor.Roles.
func roleIndex(role junctor.Role) int { return slices.Index(junctor.Roles(), role) }
