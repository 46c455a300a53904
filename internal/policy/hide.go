package policy

import (
	"encoding/json"
	"slices"

	junctor "github.com/junctor-mcp/junctor"
)

// Hides reports whether the rules deny every call of an item by a subject,
// whatever the arguments and whenever it is made. Lists leave such items out.
// Without certainty an item is listed: rules about arguments or requests never
// hide it.
func (s *Set) Hides(sub *Subject, kind junctor.Kind, server, name string, t *Tool) bool {
	if s.Empty() {
		return false
	}
	e := s.entryOf(kind, server, name, t)
	if len(e.calls[0])+len(e.calls[1]) == 0 {
		return false
	}
	// Without a time and with incomplete arguments, both are unknown.
	c := &Call{Subject: *sub, Kind: kind, Server: server, Name: name, Tool: t, Incomplete: true}
	v := &variables{call: c, node: e.node}
	for _, rules := range e.calls {
		switch searchDenial(rules, v) {
		case deniesAll:
			return true
		case mayAsk:
			return false
		case mayPass:
		}
	}
	return false
}

// reach says how the calls of an item can leave the rules of one level.
type reach uint8

const (
	mayPass   reach = iota // some may go on to the next level, and the others are denied
	mayAsk                 // some may be asked about
	deniesAll              // all are denied
)

// searchDenial looks for a rule of one level that denies for certain. One that may or
// may not deny does not end the search: what it lets pass, a later one may deny. Nor does
// one that may or may not allow: a later one may ask about what it does not allow.
func searchDenial(rules []applied, v *variables) reach {
	mayAllow := false
	for _, r := range rules {
		if r.Mode != junctor.ModeEnforce || !r.target.matchesSubject(&v.call.Subject) {
			continue
		}
		came, problem := isError, r.problem
		if problem == nil {
			came, _ = r.evaluatePartially(v)
		}
		switch {
		case came == isFalse || came == isError:
		case r.Verdict == junctor.VerdictAsk:
			return mayAsk
		case r.Verdict == junctor.VerdictAllow && came == isTrue:
			return mayPass
		case r.Verdict == junctor.VerdictAllow:
			mayAllow = true
		case came == isTrue && r.Filter == nil && mayAllow:
			return mayPass
		case came == isTrue && r.Filter == nil:
			return deniesAll
		}
	}
	return mayPass
}

// hideable reports whether the rule can be the reason why an item is hidden.
func (r *rule) hideable() bool {
	return r.Phase == junctor.PhaseCall && r.Mode == junctor.ModeEnforce && r.Verdict == junctor.VerdictDeny && r.Filter == nil && r.broken == nil
}

// HidesNothing reports whether Hides is false for everybody.
func (s *Set) HidesNothing() bool {
	return s.Empty() || !slices.ContainsFunc(s.levels[:], func(rules []*rule) bool { return slices.ContainsFunc(rules, (*rule).hideable) })
}

// ListKey returns a text that is equal for subjects for which Hides is equal
// for every item, so that they can share lists. It names only what the
// rules read of a subject.
func (s *Set) ListKey(sub *Subject) string {
	if s.HidesNothing() {
		return ""
	}
	var key []any
	reads := s.readsOfLists()
	for _, part := range reads {
		switch part {
		case "targets":
			for _, level := range s.levels {
				for _, r := range level {
					if r.Phase == junctor.PhaseCall && r.Mode == junctor.ModeEnforce {
						key = append(key, r.target.matchesSubject(sub))
					}
				}
			}
		case "groups":
			key = append(key, sub.Groups)
		default:
			value, _ := sub.member(part)
			key = append(key, value)
		}
	}
	text, _ := json.Marshal(key) // texts, lists of texts and truth values
	return string(text)
}

// readsOfLists lists what ListKey depends on.
func (s *Set) readsOfLists() []string {
	reads := []string{"targets"}
	for _, level := range s.levels {
		for _, r := range level {
			if r.Phase != junctor.PhaseCall || r.tree == nil {
				continue
			}
			for _, name := range membersOf(r.tree, varPrincipal) {
				if !slices.Contains(reads, name) {
					reads = append(reads, name)
				}
			}
		}
	}
	return reads
}
