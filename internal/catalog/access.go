package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"reflect"
	"slices"

	junctor "github.com/junctor-mcp/junctor"
)

// access is who may see what of one tenant. It never changes; a change makes
// another.
type access struct {
	agents  map[string]*agent          // by name
	sources map[string]junctor.Sources // by the user's id
	tags    map[toolKey]junctor.ToolTag
}

type toolKey struct{ server, tool string }

// agent is an agent in the form in which it is judged.
type agent struct {
	junctor.Agent
	tools, resources, prompts granted
	set                       string // equal for agents that may see the same
}

// granted is a list of grants, by server.
type granted map[string]*grantedItems

type grantedItems struct {
	all       bool
	items     map[string]struct{}
	templates []*template // of URIs
}

func newAgent(a junctor.Agent) *agent {
	n := &agent{Agent: a, tools: newGranted(a.Tools), resources: newGranted(a.Resources), prompts: newGranted(a.Prompts)}
	for _, of := range n.resources {
		for uri := range of.items {
			if t := parseTemplate(uri); t != nil {
				of.templates = append(of.templates, t)
			}
		}
	}
	h := sha256.New()
	h.Write([]byte(a.Role))
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
	n.set = "agent " + hex.EncodeToString(h.Sum(nil))
	return n
}

func newGranted(list []junctor.Grant) granted {
	g := granted{}
	for _, one := range list {
		of := g[one.Server]
		if of == nil {
			of = &grantedItems{items: map[string]struct{}{}}
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

func (g granted) hold(server, item string) bool {
	of := g[server]
	if of == nil {
		return false
	}
	_, named := of.items[item]
	return of.all || named
}

// holdURI is hold for resources: a template that is granted grants what it
// makes.
func (g granted) holdURI(server, uri string) bool {
	if g.hold(server, uri) {
		return true
	}
	of := g[server]
	return of != nil && slices.ContainsFunc(of.templates, func(t *template) bool { return t.makes(uri) })
}

// fits says whether a tool of these roles is offered to agents of a role.
func fits(roles []junctor.Role, role junctor.Role) bool {
	return slices.Contains(roles, role) || slices.Contains(roles, junctor.RoleGeneral)
}

func (x *access) sameTags(y *access) bool {
	return maps.EqualFunc(x.tags, y.tags, func(a, b junctor.ToolTag) bool { return slices.Equal(a.Roles, b.Roles) })
}

// SetAgents puts a tenant's agents in place of those it had. Who is concerned
// is told that their lists changed.
func (c *Catalog) SetAgents(tenant junctor.TenantID, agents []junctor.Agent) {
	c.change(tenant, func(former, now *access) (changes []Change, differs bool) {
		now.agents = make(map[string]*agent, len(agents))
		for _, a := range agents {
			if same := former.agents[a.Name]; same != nil && reflect.DeepEqual(same.Agent, a) {
				now.agents[a.Name] = same
			} else {
				now.agents[a.Name] = newAgent(a)
			}
		}
		for name := range union(former.agents, now.agents) {
			if a, b := former.agents[name], now.agents[name]; a == nil || b == nil || a.set != b.set || a.Disabled != b.Disabled || a.Owner != b.Owner {
				changes = append(changes, Change{Agent: name, Tools: true, Prompts: true, Resources: true})
			}
		}
		return changes, !maps.Equal(former.agents, now.agents)
	})
}

// SetSources puts what the tenant's users chose, by their ids, in place of what
// was. Users that are not there see both.
func (c *Catalog) SetSources(tenant junctor.TenantID, sources map[string]junctor.Sources) {
	c.change(tenant, func(former, now *access) (changes []Change, differs bool) {
		now.sources = maps.Clone(sources)
		for user := range union(former.sources, sources) {
			if sourcesSet(former.sources[user]) != sourcesSet(sources[user]) {
				changes = append(changes, Change{User: user, Tools: true, Prompts: true, Resources: true})
			}
		}
		return changes, !maps.Equal(former.sources, sources)
	})
}

// SetTags puts what people say of a tenant's tools in place of what they said.
func (c *Catalog) SetTags(tenant junctor.TenantID, tags []junctor.ToolTag) {
	c.change(tenant, func(former, now *access) (changes []Change, differs bool) {
		now.tags = make(map[toolKey]junctor.ToolTag, len(tags))
		for _, t := range tags {
			now.tags[toolKey{t.Server, t.Tool}] = t
		}
		told := map[string]bool{}
		for key := range union(former.tags, now.tags) {
			if !told[key.server] && !slices.Equal(former.tags[key].Roles, now.tags[key].Roles) {
				told[key.server] = true
				changes = append(changes, Change{Server: key.server, Tags: true, Tools: true, Resources: true})
			}
		}
		return changes, !reflect.DeepEqual(former.tags, now.tags)
	})
}

// change publishes another access of a tenant, where it differs, and tells what
// set says changed.
func (c *Catalog) change(tenant junctor.TenantID, set func(former, now *access) (changes []Change, differs bool)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	former := c.access[tenant]
	if former == nil {
		former = &access{}
	}
	now := *former
	changes, differs := set(former, &now)
	if !differs {
		return
	}
	c.access[tenant] = &now
	c.publish()
	for _, ch := range changes {
		ch.Tenant = tenant
		c.announce(ch)
	}
}

// Agent gives an agent as it is judged now.
func (sh *Shelf) Agent(name string) (junctor.Agent, bool) {
	if a := sh.access.agents[name]; a != nil {
		return a.Agent, true
	}
	return junctor.Agent{}, false
}

// Fits says whether a tool, as resolved, may be given to agents of a role, and
// which roles it is for.
func (sh *Shelf) Fits(tool Item, role junctor.Role) (roles []junctor.Role, ok bool) {
	roles = sh.rolesOf(tool.Server, tool.Name)
	return roles, fits(roles, role)
}

// union gives the keys of both maps.
func union[K comparable, V any](a, b map[K]V) map[K]struct{} {
	keys := make(map[K]struct{}, max(len(a), len(b)))
	for k := range a {
		keys[k] = struct{}{}
	}
	for k := range b {
		keys[k] = struct{}{}
	}
	return keys
}
