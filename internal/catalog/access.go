package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"reflect"
	"slices"

	junctor "github.com/junctor-mcp/junctor"
)

// accessRules says which principal of one tenant may see which item. A value
// never changes after it is published: SetAgents, SetSources, SetTags and
// SetPolicy replace it by a changed copy. Readers therefore need no lock.
type accessRules struct {
	agents  map[string]*agentAccess     // by name
	sources map[string]junctor.Sources  // by the user's id
	tags    map[toolKey]junctor.ToolTag // roles and categories that people gave to tools
	policy  ItemPolicy                  // rules of operators; nil for none
}

// toolKey names a tool of a tenant by the server's own names.
type toolKey struct{ server, tool string }

// agentAccess is an agent with its grants in a form that is fast to look up: a
// visibility decision allocates nothing.
type agentAccess struct {
	junctor.Agent
	tools, resources, prompts grantSet
	permissionSet             string // equal for agents with the same grants and exposure; part of the key of rendered lists
}

// grantSet is a list of grants, by server.
type grantSet map[string]*serverGrants

// serverGrants are the grants of an agent on one server.
type serverGrants struct {
	all       bool // every item of the server
	items     map[string]struct{}
	templates []*uriTemplate // those items that are URI templates; each grants every URI that it matches
}

// newAgentAccess indexes the grants of an agent. The permission set is a hash
// of the grants, independent of their order, and the exposure, so that agents
// with equal lists share them.
func newAgentAccess(a junctor.Agent) *agentAccess {
	n := &agentAccess{Agent: a, tools: newGrantSet(a.Tools), resources: newGrantSet(a.Resources), prompts: newGrantSet(a.Prompts)}
	for _, of := range n.resources {
		for uri := range of.items {
			if t := parseTemplate(uri); t != nil {
				of.templates = append(of.templates, t)
			}
		}
	}
	h := sha256.New()
	for _, list := range [][]junctor.Grant{a.Tools, a.Resources, a.Prompts} {
		h.Write([]byte{0, 0})
		texts := make([]string, len(list))
		for i, g := range list {
			texts[i] = g.String()
		}
		slices.Sort(texts)
		for _, text := range slices.Compact(texts) {
			h.Write([]byte(text))
			h.Write([]byte{0})
		}
	}
	n.permissionSet = "agent " + string(a.Exposure) + " " + hex.EncodeToString(h.Sum(nil))
	return n
}

// newGrantSet groups grants by server.
func newGrantSet(list []junctor.Grant) grantSet {
	g := grantSet{}
	for _, one := range list {
		of := g[one.Server]
		if of == nil {
			of = &serverGrants{items: map[string]struct{}{}}
			g[one.Server] = of
		}
		if one.Item == junctor.AnyItem {
			of.all = true
		} else {
			of.items[one.Item] = struct{}{}
		}
	}
	return g
}

// allowsItem reports whether the grants name the item, or all items of its
// server.
func (g grantSet) allowsItem(server, item string) bool {
	of := g[server]
	if of == nil {
		return false
	}
	_, named := of.items[item]
	return of.all || named
}

// allowsURI is allowsItem for resources. A granted URI template also grants the
// URIs that it matches.
func (g grantSet) allowsURI(server, uri string) bool {
	if g.allowsItem(server, uri) {
		return true
	}
	of := g[server]
	return of != nil && slices.ContainsFunc(of.templates, func(t *uriTemplate) bool { return t.matchesURI(uri) })
}

// includesRole reports whether a tool with these roles is suggested for agents of
// a role. Tools of the general role are suggested for all agents.
func includesRole(roles []junctor.Role, role junctor.Role) bool {
	return slices.Contains(roles, role) || slices.Contains(roles, junctor.RoleGeneral)
}

// SetAgents replaces the agents of a tenant. It announces a change for each
// agent whose lists may differ: one that was added, removed, enabled or
// disabled, or that has other grants or another owner.
func (c *Catalog) SetAgents(tenant junctor.TenantID, agents []junctor.Agent) {
	c.changeAccess(tenant, func(former, now *accessRules) (changes []Change, differs bool) {
		now.agents = make(map[string]*agentAccess, len(agents))
		for _, a := range agents {
			if same := former.agents[a.Name]; same != nil && reflect.DeepEqual(same.Agent, a) {
				now.agents[a.Name] = same
			} else {
				now.agents[a.Name] = newAgentAccess(a)
			}
		}
		for name := range unionKeys(former.agents, now.agents) {
			if a, b := former.agents[name], now.agents[name]; a == nil || b == nil || a.permissionSet != b.permissionSet || a.Disabled != b.Disabled || a.Owner != b.Owner {
				changes = append(changes, Change{Agent: name, Tools: true, Prompts: true, Resources: true})
			}
		}
		return changes, !maps.Equal(former.agents, now.agents)
	})
}

// SetSources replaces the sources that the users of a tenant chose, by user id.
// A user without an entry sees servers of both sources.
func (c *Catalog) SetSources(tenant junctor.TenantID, sources map[string]junctor.Sources) {
	c.changeAccess(tenant, func(former, now *accessRules) (changes []Change, differs bool) {
		now.sources = maps.Clone(sources)
		for user := range unionKeys(former.sources, sources) {
			if sourcesSet(former.sources[user]) != sourcesSet(sources[user]) {
				changes = append(changes, Change{User: user, Tools: true, Prompts: true, Resources: true})
			}
		}
		return changes, !maps.Equal(former.sources, sources)
	})
}

// SetTags replaces the roles and categories that people gave to the tools of a
// tenant. Nothing is announced, because they change no list of a client.
func (c *Catalog) SetTags(tenant junctor.TenantID, tags []junctor.ToolTag) {
	c.changeAccess(tenant, func(former, now *accessRules) (changes []Change, differs bool) {
		now.tags = make(map[toolKey]junctor.ToolTag, len(tags))
		for _, t := range tags {
			now.tags[toolKey{t.Server, t.Tool}] = t
		}
		return nil, !reflect.DeepEqual(former.tags, now.tags)
	})
}

// changeAccess gives a copy of the tenant's rules to set. If set reports a
// difference, changeAccess publishes the copy and announces the changes that
// set returned; otherwise it drops both.
func (c *Catalog) changeAccess(tenant junctor.TenantID, set func(former, now *accessRules) (changes []Change, differs bool)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	former := c.access[tenant]
	if former == nil {
		former = &accessRules{}
	}
	now := *former
	changes, differs := set(former, &now)
	if !differs {
		return
	}
	c.access[tenant] = &now
	c.publishSnapshot()
	for _, ch := range changes {
		ch.Tenant = tenant
		c.announceChange(ch)
	}
}

// Agent returns the agent of that name as this snapshot judges it. ok is false
// if the tenant has no such agent.
func (sh *Shelf) Agent(name string) (agent junctor.Agent, ok bool) {
	if a := sh.access.agents[name]; a != nil {
		return a.Agent, true
	}
	return junctor.Agent{}, false
}

// unionKeys returns the keys of both maps.
func unionKeys[K comparable, V any](a, b map[K]V) map[K]struct{} {
	keys := make(map[K]struct{}, max(len(a), len(b)))
	for k := range a {
		keys[k] = struct{}{}
	}
	for k := range b {
		keys[k] = struct{}{}
	}
	return keys
}
