package denial

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// turn is one case: its draws are even, as those of rapid are not.
type turn struct {
	*rapid.T
	*rand.Rand
}

// chance is true once in n times.
func (r *turn) chance(n int) bool { return r.IntN(n) == 0 }

func pickOne[T any](r *turn, of []T) T { return of[r.IntN(len(of))] }

func splitParty(party string) (kind, name string) {
	kind, name, _ = strings.Cut(party, ":")
	return kind, name
}

func cutGrant(g string) (server, tool string) {
	server, tool, _ = strings.Cut(g, "/")
	return server, tool
}

func roles() []string { return []string{"Dev", "QA", "General"} }

// change draws one change of a tenant, makes it in the instance and in the model.
func (w *world) change(rt *turn, t *tenant) {
	kind := pickOne(rt, []string{
		"server", "server", "server on or off", "private", "tools of a server", "user", "user's role", "user on or off", "sources", "sources", "agent", "lists", "lists", "agent's role", "agent on or off", "tag", "tag", "tag", "tag", "key", "key", "end of a key", "key that expires",
	})
	switch kind {
	case "server":
		w.server(rt, t)
	case "server on or off", "private", "tools of a server":
		w.serverChange(rt, t, kind)
	case "user":
		w.user(rt, t)
	case "user's role", "user on or off", "sources":
		w.userChange(rt, t, kind)
	case "agent":
		w.agent(rt, t)
	case "lists", "agent's role", "agent on or off":
		w.agentChange(rt, t, kind)
	case "tag":
		w.tag(rt, t)
	case "key":
		w.key(rt, t)
	case "end of a key":
		w.endKey(rt, t)
	case "key that expires":
		until := w.keyOf(rt, t, "service", []string{"tools:read", "tools:call"}, 50*time.Millisecond)
		poll.Pause(time.Until(until), "a key expires by the clock alone")
		t.keys[len(t.keys)-1].dead = true
	}
}

// changeAs asks as the tenant's admin, who may do all of this.
func (w *world) changeAs(rt *turn, t *tenant, status int, method, path, body string, into any) {
	w.must(rt, status, w.api(t.admin.token, method, path, body), into)
}

// pickValue draws a name of those that are there; "" is that there is none.
func pickValue[T any](rt *turn, of map[string]T) string {
	if len(of) == 0 {
		return ""
	}
	return pickOne(rt, slices.Sorted(maps.Keys(of)))
}

// maker draws who adds something: an admin, or a user with a key that may.
func (w *world) maker(rt *turn, t *tenant) *credential {
	var makers []*credential
	for _, c := range t.keys {
		if p := t.principalOf(c); p != nil && p.user != nil && p.user.role == "developer" && len(c.scopes) > 2 {
			makers = append(makers, c)
		}
	}
	if len(makers) == 0 || rt.chance(3) {
		return t.admin
	}
	return pickOne(rt, makers)
}

// server adds a server, or removes it.
func (w *world) server(rt *turn, t *tenant) {
	name := pickOne(rt, serverNames())
	if t.servers[name] != nil && !rt.chance(3) {
		return
	}
	if t.servers[name] != nil {
		w.changeAs(rt, t, http.StatusNoContent, "DELETE", "/servers/"+name, "", nil)
		t.removeServer(name)
		return
	}
	by := w.maker(rt, t)
	private := rt.chance(2)
	body := fmt.Sprintf(`{"id":%q,"url":"%s/%s/%s","private":%v}`, name, w.peer, t.id, name, private)
	a := w.api(by.token, "POST", "/servers", body)
	if a.status == http.StatusForbidden && by != t.admin && strings.Contains(a.body, "is reserved until") {
		// The name of a removed server is kept for the users who had it, and for admins.
		by = t.admin
		a = w.api(by.token, "POST", "/servers", body)
	}
	w.must(rt, http.StatusCreated, a, nil)
	t.servers[name] = &server{owner: by.party, private: private, shown: plainNames()}
}

// removeServer forgets a server with all that names it.
func (t *tenant) removeServer(name string) {
	delete(t.servers, name)
	for _, a := range t.agents {
		gone := func(g string) bool { s, _ := cutGrant(g); return s[strings.Index(s, " ")+1:] == name }
		a.grants, a.others = slices.DeleteFunc(a.grants, gone), slices.DeleteFunc(a.others, gone)
	}
	maps.DeleteFunc(t.tags, func(tool string, _ []string) bool { return strings.HasPrefix(tool, name+"/") })
}

func plainNames() map[string]string {
	shown := map[string]string{}
	for _, tool := range toolNames() {
		shown[tool] = tool
	}
	return shown
}

func (w *world) serverChange(rt *turn, t *tenant, kind string) {
	name := pickValue(rt, t.servers)
	if name == "" {
		return
	}
	s := t.servers[name]
	switch kind {
	case "private":
		s.private = !s.private && rt.chance(2)
		w.changeAs(rt, t, http.StatusOK, "PATCH", "/servers/"+name, fmt.Sprintf(`{"private":%v}`, s.private), nil)
	case "server on or off":
		s.off = !s.off && rt.chance(3) // mostly things are on
		w.changeAs(rt, t, http.StatusOK, "POST", "/servers/"+name+"/"+map[bool]string{true: "disable", false: "enable"}[s.off], "", nil)
	default:
		overrides := map[string]map[string]any{}
		shown := plainNames()
		tool := pickOne(rt, toolNames())
		switch pickOne(rt, []string{"hide", "rename", "leave"}) {
		case "hide":
			overrides[tool] = map[string]any{"hide": true}
			delete(shown, tool)
		case "rename":
			shown[tool] = "other"
			overrides[tool] = map[string]any{"name": "other"}
		}
		w.changeAs(rt, t, http.StatusOK, "PATCH", "/servers/"+name, `{"overrides":`+quote(overrides)+`}`, nil)
		t.rename(name, s.shown, shown)
		s.shown = shown
	}
}

// rename takes what is said of tools to the names that they have now. A hidden
// one has its own.
func (t *tenant) rename(server string, former, shown map[string]string) {
	tags := maps.Clone(t.tags)
	for _, own := range toolNames() {
		delete(tags, server+"/"+cmp.Or(former[own], own))
	}
	for _, own := range toolNames() {
		if tagged, ok := t.tags[server+"/"+cmp.Or(former[own], own)]; ok {
			tags[server+"/"+cmp.Or(shown[own], own)] = tagged
		}
	}
	t.tags = tags
}

// user adds a user, or deletes one: servers that they alone saw go with them,
// what others use becomes the admin's.
func (w *world) user(rt *turn, t *tenant) {
	name := pickOne(rt, userNames())
	if t.users[name] == nil {
		u := &user{role: pickOne(rt, []string{"developer", "developer", "viewer", "admin"}), sources: "both"}
		var made struct{ ID string }
		w.changeAs(rt, t, http.StatusCreated, "POST", "/users", fmt.Sprintf(`{"name":%q,"role":%q,"tier":"unlimited"}`, name, u.role), &made)
		u.id = made.ID
		t.users[name] = u
		w.keyOf(rt, t, "user:"+name, allScopes(), 0)
		return
	}
	if !rt.chance(3) {
		return
	}
	w.changeAs(rt, t, http.StatusOK, "DELETE", "/users/"+name, "", nil)
	delete(t.users, name)
	for _, c := range t.keys {
		c.dead = c.dead || c.party == "user:"+name
	}
	for id, s := range t.servers {
		if s.owner == "user:"+name && s.private {
			t.removeServer(id)
		} else if s.owner == "user:"+name {
			s.owner = admins
		}
	}
	for _, a := range t.agents {
		if a.owner == "user:"+name {
			a.owner = admins
		}
	}
}

func (w *world) userChange(rt *turn, t *tenant, kind string) {
	name := pickValue(rt, t.users)
	if name == "" {
		return
	}
	u := t.users[name]
	switch kind {
	case "user's role":
		u.role = pickOne(rt, []string{"developer", "developer", "viewer", "admin"})
	case "sources":
		u.sources = pickOne(rt, []string{"auto-generated", "auto-generated", "bring-your-own", "both"})
	default:
		u.disabled = !u.disabled && rt.chance(3)
	}
	w.changeAs(rt, t, http.StatusOK, "PATCH", "/users/"+name, fmt.Sprintf(`{"role":%q,"sources":%q,"disabled":%v}`, u.role, u.sources, u.disabled), nil)
}

// agent adds an agent, or deletes it.
func (w *world) agent(rt *turn, t *tenant) {
	name := pickOne(rt, agentNames())
	if t.agents[name] != nil && rt.chance(2) {
		return
	}
	if t.agents[name] != nil {
		w.changeAs(rt, t, http.StatusNoContent, "DELETE", "/agents/"+name, "", nil)
		delete(t.agents, name)
		for _, c := range t.keys {
			c.dead = c.dead || c.party == "agent:"+name
		}
		return
	}
	by := w.maker(rt, t)
	a := &agent{owner: by.party, role: pickOne(rt, roles())}
	var made struct {
		Key   string
		KeyID string `json:"key_id"`
	}
	w.must(rt, http.StatusCreated, w.api(by.token, "POST", "/agents", fmt.Sprintf(`{"name":%q,"role":%q,"tier":"unlimited"}`, name, a.role)), &made)
	t.agents[name] = a
	t.keys = append(t.keys, &credential{id: made.KeyID, token: made.Key, party: "agent:" + name, scopes: []string{"tools:read", "tools:call"}})
}

func (w *world) agentChange(rt *turn, t *tenant, kind string) {
	name := pickValue(rt, t.agents)
	if name == "" {
		return
	}
	a := t.agents[name]
	switch kind {
	case "agent on or off":
		a.disabled = !a.disabled && rt.chance(3)
		w.changeAs(rt, t, http.StatusOK, "PATCH", "/agents/"+name, fmt.Sprintf(`{"disabled":%v}`, a.disabled), nil)
		return
	case "agent's role":
		a.role = pickOne(rt, roles())
	default:
		a.grants, a.others = w.grants(rt, t, a), nil
		for server, s := range t.servers {
			for kind, own := range map[string]string{prompts: thePrompt, resources: theResource} {
				if s.off {
					own = "*" // what it has is not known now
				}
				if rt.chance(2) {
					a.others = append(a.others, kind+" "+server+"/"+pickOne(rt, []string{"*", own}))
				}
			}
		}
	}
	of := func(kind string) string {
		list := []string{}
		for _, g := range a.others {
			if grant, ok := strings.CutPrefix(g, kind+" "); ok {
				list = append(list, grant)
			}
		}
		return quote(list)
	}
	w.changeAs(rt, t, http.StatusOK, "PATCH", "/agents/"+name, fmt.Sprintf(`{"role":%q,"tools":%s,"prompts":%s,"resources":%s}`, a.role, quote(append([]string{}, a.grants...)), of(prompts), of(resources)), nil)
}

// grants draws what an agent is given: whole servers, and tools by name that are
// there, whatever they are for.
func (w *world) grants(rt *turn, t *tenant, a *agent) []string {
	var may []string
	for name, s := range t.servers {
		may = append(may, name+"/*")
		if s.off {
			continue
		}
		for _, tool := range s.shown {
			may = append(may, name+"/"+tool)
		}
	}
	slices.Sort(may)
	if len(may) == 0 {
		return nil
	}
	rt.Shuffle(len(may), func(i, j int) { may[i], may[j] = may[j], may[i] })
	grants := may[:rt.IntN(min(4, len(may))+1)]
	if whole := pickValue(rt, t.servers) + "/*"; rt.chance(2) && !slices.Contains(grants, whole) {
		grants = append(grants, whole)
	}
	return grants
}

// tag says which roles a tool is for, or takes that back.
func (w *world) tag(rt *turn, t *tenant) {
	name := pickValue(rt, t.servers)
	if name == "" || t.servers[name].off || len(t.servers[name].shown) == 0 {
		return
	}
	tool := pickOne(rt, slices.Sorted(maps.Values(t.servers[name].shown)))
	tagged := pickOne(rt, [][]string{{"Dev"}, {"QA"}, {"Dev", "QA"}, {"QA", "General"}, nil})
	path := "/tools/" + name + "__" + tool + "/tag"
	if len(tagged) == 0 {
		w.changeAs(rt, t, http.StatusOK, "DELETE", path, "", nil)
		delete(t.tags, name+"/"+tool)
		return
	}
	w.changeAs(rt, t, http.StatusOK, "PUT", path, `{"roles":`+quote(tagged)+`}`, nil)
	t.tags[name+"/"+tool] = tagged
}

// allScopes is all that a developer may.
func allScopes() []string {
	return []string{"tools:read", "tools:call", "servers:write", "agents:write", "keys:write"}
}

// key makes one more key of somebody: with all scopes, or with some.
func (w *world) key(rt *turn, t *tenant) {
	parties := []string{"service"}
	for name := range t.users {
		parties = append(parties, "user:"+name)
	}
	for name := range t.agents {
		parties = append(parties, "agent:"+name)
	}
	slices.Sort(parties)
	party := pickOne(rt, parties)
	scopes := pickOne(rt, [][]string{{"tools:read"}, {"tools:call"}, {"tools:read", "tools:call"}, {"audit:read"}, allScopes()})
	w.keyOf(rt, t, party, scopes, 0)
}

// keyOf makes a key, which may expire. It carries at most what its owner's role has at that moment.
func (w *world) keyOf(rt *turn, t *tenant, party string, scopes []string, life time.Duration) (until time.Time) {
	owner := ""
	switch kind, name := splitParty(party); kind {
	case "user":
		owner = fmt.Sprintf(`,"user":%q`, name)
		switch t.users[name].role {
		case "viewer":
			scopes = slices.DeleteFunc(slices.Clone(scopes), func(s string) bool { return s != "tools:read" && s != "audit:read" })
		case "admin":
			if len(scopes) > 2 {
				scopes = []string{"admin"}
			}
		}
	case "agent":
		owner = fmt.Sprintf(`,"agent":%q`, name)
		scopes = slices.DeleteFunc(slices.Clone(scopes), func(s string) bool { return !strings.HasPrefix(s, "tools:") })
	}
	if len(scopes) == 0 {
		return until
	}
	var a answer
	for {
		expires := ""
		if life > 0 {
			until = time.Now().Add(life)
			expires = fmt.Sprintf(`,"expires_at":%q`, until.UTC().Format(time.RFC3339Nano))
		}
		a = w.api(t.admin.token, "POST", "/keys", fmt.Sprintf(`{"name":"k","scopes":%s%s%s}`, quote(scopes), owner, expires))
		if life == 0 || a.status == http.StatusCreated || life > time.Minute {
			break
		}
		life *= 4 // a busy machine: it would have expired before it was made
	}
	var made struct{ ID, Key string }
	w.must(rt, http.StatusCreated, a, &made)
	c := &credential{id: made.ID, token: made.Key, party: party, scopes: scopes}
	if party == "service" {
		c.party = "service:" + made.ID
	}
	t.keys = append(t.keys, c)
	return until
}

// endKey revokes a key, or rotates it without a grace.
func (w *world) endKey(rt *turn, t *tenant) {
	live := slices.DeleteFunc(slices.Clone(t.keys), func(c *credential) bool { return c.dead || c == t.admin })
	if len(live) == 0 {
		return
	}
	c := pickOne(rt, live)
	c.dead = true
	if rt.chance(2) {
		var made struct{ Key string }
		w.changeAs(rt, t, http.StatusOK, "POST", "/keys/"+c.id+"/rotate", `{}`, &made)
		t.keys = append(t.keys, &credential{id: c.id, token: made.Key, party: c.party, scopes: c.scopes})
		return
	}
	w.changeAs(rt, t, http.StatusNoContent, "DELETE", "/keys/"+c.id, "", nil)
}
