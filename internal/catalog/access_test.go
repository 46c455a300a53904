package catalog_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
)

// Who may see what has changed for some: they hear of it, and nobody else does.
func TestRecipientsOfAChange(t *testing.T) {
	t.Parallel()
	c := shop(t)
	a, b := junctor.Agent{Name: "a", Role: "Ops", Tools: grants(t, "shop/*")}, junctor.Agent{Name: "b", Role: "Ops", Tools: grants(t, "gen/*")}
	c.SetAgents(tenant, []junctor.Agent{a, b})
	parties := map[string]*junctor.Principal{"a": agentOf("a"), "b": agentOf("b"), "u1": userOf("u1"), "u2": userOf("u2"), "key": reader("k"), "stranger": stranger()}
	elsewhere := a
	elsewhere.Role = "QA"
	for _, tt := range []struct {
		name string
		do   func()
		want string
	}{
		{"nothing new", func() { c.SetAgents(tenant, []junctor.Agent{a, b}) }, ""},
		{"an agent's list", func() { a.Tools = grants(t, "shop/search"); c.SetAgents(tenant, []junctor.Agent{a, b}) }, "a"},
		{"an agent's role", func() { b.Role = "QA"; c.SetAgents(tenant, []junctor.Agent{a, b}) }, ""}, // roles only suggest tools
		{"a limit", func() { b.Limits = &junctor.Limits{PerDay: 1}; c.SetAgents(tenant, []junctor.Agent{a, b}) }, ""},
		{"switched off", func() { b.Disabled = true; c.SetAgents(tenant, []junctor.Agent{a, b}) }, "b"},
		{"and on", func() { b.Disabled = false; c.SetAgents(tenant, []junctor.Agent{a, b}) }, "b"},
		{"a tag", func() {
			c.SetTags(tenant, []junctor.ToolTag{{Server: "shop", Tool: "search", Roles: []junctor.Role{"QA"}}})
		}, ""},
		{"the same tag", func() {
			c.SetTags(tenant, []junctor.ToolTag{{Server: "shop", Tool: "search", Roles: []junctor.Role{"QA"}, By: "user:u1"}})
		}, ""},
		{"a choice", func() { c.SetSources(tenant, map[string]junctor.Sources{"u1": junctor.SourcesBYO}) }, "u1"},
		{"the same choice", func() {
			c.SetSources(tenant, map[string]junctor.Sources{"u1": junctor.SourcesBYO, "u2": junctor.SourcesBoth})
		}, ""},
		{"another tenant", func() { c.SetAgents("elsewhere", []junctor.Agent{elsewhere}) }, ""},
		{"a private server gone", func() { c.Detach(tenant, "mine") }, "a b key u1 u2"}, // who saw it is not known any more
		{"a private server", func() {
			if err := c.Attach(t.Context(), tenant, "mine", junctor.ModeBYO, &scripted{offer: toolOffer("x")}, catalog.OwnedBy("user:u1")); err != nil {
				t.Error(err)
			}
		}, "u1"},
		{"a generated server", func() {
			c.Detach(tenant, "gen")
			attach(t, c, "gen", junctor.ModeGenerated, &scripted{offer: toolOffer("make")})
		}, "b key u2"},
	} {
		w := c.Watch()
		version := c.Snapshot().Version()
		tt.do()
		heard := []string{}
		for _, ch := range w.Take() {
			for name, p := range parties {
				if ch.Tenant == p.Tenant && shelf(c).Concerns(p, catalog.Scope{}, ch) && !slices.Contains(heard, name) {
					heard = append(heard, name)
				}
			}
		}
		w.Stop()
		slices.Sort(heard)
		if got := strings.Join(heard, " "); got != tt.want {
			t.Errorf("%s: heard by %q, want %q", tt.name, got, tt.want)
		}
		if tt.want != "" && c.Snapshot().Version() <= version {
			t.Errorf("%s: no new version", tt.name)
		}
	}
}

// A list is kept while what it shows stays: a change of one agent costs the
// others nothing.
func TestListsOutliveOthersChanges(t *testing.T) {
	t.Parallel()
	c := shop(t)
	a, b := junctor.Agent{Name: "a", Role: "Ops", Tools: grants(t, "shop/*")}, junctor.Agent{Name: "b", Role: "Ops", Tools: grants(t, "gen/*")}
	c.SetAgents(tenant, []junctor.Agent{a, b})
	look := func() int64 {
		before := c.Renders()
		for _, p := range []*junctor.Principal{agentOf("a"), agentOf("b"), reader("k")} {
			shelf(c).List(p, catalog.Scope{}, catalog.ListTools)
		}
		return c.Renders() - before
	}
	if n := look(); n != 3 {
		t.Errorf("%d lists", n)
	}
	b.Tools = grants(t, "shop/search")
	c.SetAgents(tenant, []junctor.Agent{a, b})
	c.SetSources(tenant, map[string]junctor.Sources{"u": junctor.SourcesBYO})
	if err := c.Attach(t.Context(), "elsewhere", "s", junctor.ModeBYO, &scripted{offer: toolOffer("x")}); err != nil {
		t.Fatal(err)
	}
	if n := look(); n != 1 {
		t.Errorf("%d lists were rendered where one agent changed", n)
	}
	if got := names(t, shelf(c).List(agentOf("b"), catalog.Scope{}, catalog.ListTools)); !slices.Equal(got, []string{"shop__search"}) {
		t.Errorf("b sees %v", got)
	}
}

// A grant for a whole server follows the server's list.
func TestWildcardFollowsTheList(t *testing.T) {
	t.Parallel()
	c := newCatalog(t, catalog.Options{})
	b := &scripted{offer: toolOffer("one")}
	attach(t, c, "s", junctor.ModeBYO, b)
	c.SetAgents(tenant, []junctor.Agent{{Name: "all", Role: "Dev", Tools: grants(t, "s/*")}, {Name: "one", Role: "Dev", Tools: grants(t, "s/one")}})
	w := c.Watch()
	defer w.Stop()
	b.set(toolOffer("one", "two"), nil)
	b.send(catalog.Event{Kind: catalog.EventChanged})
	<-w.Ready()
	for agent, want := range map[string][]string{"all": {"s__one", "s__two"}, "one": {"s__one"}} {
		if got := names(t, shelf(c).List(agentOf(agent), catalog.Scope{}, catalog.ListTools)); !slices.Equal(got, want) {
			t.Errorf("%s sees %v", agent, got)
		}
	}
}

func TestActing(t *testing.T) {
	t.Parallel()
	c := newCatalog(t, catalog.Options{})
	c.SetAgents(tenant, []junctor.Agent{{Name: "a", Role: "Dev", Owner: "user:u1"}, {Name: "b", Role: "Dev", Owner: "user:u1"}, {Name: "off", Role: "Dev", Owner: "user:u1", Disabled: true}})
	own := agentOf("a")
	if got, err := shelf(c).Acting(own, "a"); got != own || err != nil {
		t.Errorf("the agent itself is %+v, %v", got, err)
	}
	service := &junctor.Principal{Tenant: tenant, Issuer: junctor.IssuerKey, Subject: "u1", Scopes: []junctor.Scope{junctor.ScopeToolsCall}}
	for who, p := range map[string]*junctor.Principal{
		"another agent": agentOf("b"), "another user": userOf("u2"), "a key with the user's id": service, "nobody": {Tenant: tenant},
	} {
		got, err := shelf(c).Acting(p, "a")
		hidden, ok := errors.AsType[*catalog.HiddenError](err)
		if got != nil || !ok || hidden.Reason != catalog.ReasonOwner {
			t.Errorf("%s acts as the agent: %+v, %v", who, got, err)
		}
	}
	for _, name := range []string{"off", "never"} {
		if got, err := shelf(c).Acting(userOf("u1"), name); got != nil || err == nil || err.Error() != "unknown agent \""+name+"\"" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	admin := userOf("u9", junctor.ScopeAdmin)
	for _, p := range []*junctor.Principal{userOf("u1"), admin} {
		as, _ := shelf(c).Acting(p, "a")
		if as == nil || as.Agent != "a" || !as.Same(p) || as.Has(junctor.ScopeAdmin) || !as.Has(junctor.ScopeToolsCall) || !as.Has(junctor.ScopeToolsRead) {
			t.Errorf("%s acts as %+v", p.ID(), as)
		}
	}
	if admin.Agent != "" || !admin.Has(junctor.ScopeAdmin) {
		t.Error("the principal that identity gave was changed")
	}
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		grant   string
		yes, no []string
	}{
		{"file:///docs/{name}", []string{"file:///docs/a", "file:///docs/a%20b.txt"}, []string{"file:///docs/", "file:///docs/a/b", "file:///docs/a?x", "file:///docs/%2e%2e", "file:///docs/..%2fetc", "xfile:///docs/a", "file:///docs/."}},
		{"db://{+path}", []string{"db://a/b/c"}, []string{"db://", "db://a/../b", `db://a\..\b`, "db://a?q"}},
		{"q://x{?a,b}", []string{"q://x", "q://x?a=1&b=2"}, []string{"q://xy", "q://x#f"}},
		{"x://{a}.{b}", []string{"x://1.2"}, []string{"x://1"}},
		{"x://{unclosed", nil, []string{"x://1"}},
		{"x://[a-z]+/{id}", []string{"x://[a-z]+/1"}, []string{"x://abc/1"}},
	} {
		c := newCatalog(t, catalog.Options{})
		attach(t, c, "s", junctor.ModeBYO, &scripted{offer: &catalog.Offer{Templates: []catalog.ResourceDef{{URI: tt.grant, JSON: []byte("{}")}}}})
		c.SetAgents(tenant, []junctor.Agent{{Name: "a", Role: "Dev", Resources: grants(t, "s/"+tt.grant)}})
		for _, uri := range append(slices.Clone(tt.yes), tt.no...) {
			_, err := shelf(c).Resource(agentOf("a"), catalog.Scope{}, "s+"+uri)
			if (err == nil) != slices.Contains(tt.yes, uri) {
				t.Errorf("%s makes %s: %v", tt.grant, uri, err)
			}
		}
	}
}
