package denial

import (
	"maps"
	"slices"
	"strings"

	"github.com/junctor-mcp/junctor/internal/catalog"
)

// The model: what there is in a tenant, and what follows from it. It is written
// from the documents, and shares no code with what it judges but the texts of
// the reasons.

// admins is the party that the tenant's admin key is. Others are user:ann, and
// agent:xeno.
const admins = "admin"

type tenant struct {
	id      string
	admin   *credential
	servers map[string]*server
	users   map[string]*user
	agents  map[string]*agent
	tags    map[string][]string // roles by server/tool
	keys    []*credential       // all that were ever made
}

type server struct {
	owner        string // a party
	private, off bool
	shown        map[string]string // the names of tools by their own; hidden ones are absent
}

// toolOf gives the own name of the tool that is shown under a name.
func (s *server) toolOf(name string) (own string, ok bool) {
	for own, shown := range s.shown {
		if shown == name {
			return own, true
		}
	}
	return "", false
}

type user struct {
	id, role, sources string
	disabled          bool
}

type agent struct {
	owner, role string
	grants      []string // server/tool, or server/*
	others      []string // prompt server/name, or resource server/*
	disabled    bool
}

// holds says whether the lists of an agent hold something by its name.
func (a *agent) holds(kind, server, name string) bool {
	list := a.grants
	if kind != tools {
		list, server = a.others, kind+" "+server
	}
	return slices.Contains(list, server+"/*") || slices.Contains(list, server+"/"+name)
}

// knows says whether they hold anything of a server.
func (a *agent) knows(server string) bool {
	return slices.ContainsFunc(append(slices.Clone(a.grants), a.others...), func(g string) bool {
		name, _ := cutGrant(g)
		return name[strings.Index(name, " ")+1:] == server
	})
}

// credential is a token, and what was said when it was made.
type credential struct {
	id, token, party string
	scopes           []string
	dead             bool // revoked, expired, or its owner was deleted
}

// principal is who a credential is now.
type principal struct {
	party  string
	user   *user  // where it is one
	agent  string // where it is one, or acts as one
	scopes []string
}

func (p *principal) has(scope string) bool {
	return slices.Contains(p.scopes, scope) || slices.Contains(p.scopes, "admin")
}

// scopesWithin is what is left of a key's scopes under a role.
func scopesWithin(role string, scopes []string) (left []string) {
	if role == "admin" {
		return scopes
	}
	has := []string{"tools:read"}
	if role == "developer" {
		has = []string{"tools:read", "tools:call"}
	}
	for _, scope := range has {
		if slices.Contains(scopes, scope) || slices.Contains(scopes, "admin") {
			left = append(left, scope)
		}
	}
	return left
}

// principalOf says who comes with a credential; nil is nobody.
func (t *tenant) principalOf(c *credential) *principal {
	if c == nil || c.dead {
		return nil
	}
	p := &principal{party: c.party}
	switch kind, name := splitParty(c.party); kind {
	case "user":
		u := t.users[name]
		if u == nil || u.disabled {
			return nil
		}
		p.user, p.scopes = u, scopesWithin(u.role, c.scopes)
	case "agent":
		a := t.agents[name]
		if a == nil || a.disabled {
			return nil
		}
		if kind, owner := splitParty(a.owner); kind == "user" && t.users[owner].disabled {
			return nil // it acts for somebody who may not act
		}
		p.agent, p.scopes = name, c.scopes
	default:
		p.scopes = c.scopes
	}
	return p
}

// actAs is the principal at the endpoint of an agent, or why there is none for it.
func (t *tenant) actAs(p *principal, name string) (*principal, catalog.Reason) {
	a := t.agents[name]
	switch {
	case a == nil:
		return nil, unknown
	case a.disabled:
		return nil, catalog.ReasonDisabled
	case p.agent == name:
		return p, ""
	case p.agent != "" || p.party != a.owner && !p.has("admin"):
		return nil, catalog.ReasonOwner
	}
	acting := &principal{party: p.party, agent: name}
	for _, scope := range []string{"tools:read", "tools:call"} {
		if p.has(scope) {
			acting.scopes = append(acting.scopes, scope)
		}
	}
	return acting, ""
}

// Reasons beyond those of the catalog.
const (
	unknown catalog.Reason = "there is no such thing"
	noCall  catalog.Reason = "this key or token lacks the scope tools:call; ask its issuer for one that has it"
)

// mayUse says why a principal does not see a tool by the name it is shown under, a
// prompt or a resource; "" is that it does. joined is where servers stand side by
// side.
func (t *tenant) mayUse(p *principal, joined bool, kind, serverName, tool string) catalog.Reason {
	s := t.servers[serverName]
	if s == nil || s.off {
		return unknown
	}
	if _, ok := s.toolOf(tool); kind == tools && !ok || kind == prompts && tool != thePrompt {
		return unknown
	}
	if why := t.mayReach(p, joined, s); why != "" {
		return why
	}
	if p.agent == "" {
		return ""
	}
	a := t.agents[p.agent]
	if !a.holds(kind, serverName, tool) {
		return catalog.ReasonGrant
	}
	return ""
}

// mayReach is sees of anything at all of a server that is there, but for lists.
func (t *tenant) mayReach(p *principal, joined bool, s *server) catalog.Reason {
	switch {
	case !p.has("tools:read") && !p.has("tools:call"):
		return catalog.ReasonScope
	case p.agent != "" && s.private && s.owner != t.agents[p.agent].owner:
		return catalog.ReasonPrivate
	case p.agent != "":
		return ""
	case s.private && s.owner != p.party && !p.has("admin"):
		return catalog.ReasonPrivate
	case joined && p.user != nil && p.user.sources == "auto-generated":
		return catalog.ReasonSources
	}
	return ""
}

// mayEnter says why a principal does not come to a server's own endpoint.
func (t *tenant) mayEnter(p *principal, serverName string) catalog.Reason {
	s := t.servers[serverName]
	if s == nil || s.off {
		return unknown
	}
	if why := t.mayReach(p, false, s); why != "" {
		return why
	}
	if p.agent != "" && !t.agents[p.agent].knows(serverName) {
		return catalog.ReasonGrant
	}
	return ""
}

// list is what a principal sees of a kind, by joined names.
func (t *tenant) list(p *principal, joined bool, kind string, servers ...string) []string {
	out := []string{}
	for _, name := range servers {
		if t.servers[name] == nil {
			continue
		}
		all := []string{thePrompt}
		switch kind {
		case tools:
			all = slices.Collect(maps.Values(t.servers[name].shown))
		case resources:
			all = []string{theResource}
		}
		for _, one := range all {
			if t.mayUse(p, joined, kind, name, one) == "" {
				out = append(out, joinedName(kind, name, one))
			}
		}
	}
	slices.Sort(out)
	return out
}
