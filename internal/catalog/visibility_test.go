package catalog_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
)

// agentOf is the principal of an agent's key.
func agentOf(name string) *junctor.Principal {
	return &junctor.Principal{
		Tenant: tenant, Issuer: junctor.IssuerAgent, Subject: name, Agent: name,
		Scopes: []junctor.Scope{junctor.ScopeToolsRead, junctor.ScopeToolsCall},
	}
}

func userOf(id string, scopes ...junctor.Scope) *junctor.Principal {
	if scopes == nil {
		scopes = []junctor.Scope{junctor.ScopeToolsRead, junctor.ScopeToolsCall}
	}
	return &junctor.Principal{Tenant: tenant, Issuer: junctor.IssuerUser, Subject: id, User: id, Scopes: scopes}
}

func grants(t testing.TB, texts ...string) []junctor.Grant {
	t.Helper()
	list := []junctor.Grant{}
	for _, text := range texts {
		g, err := junctor.ParseGrant(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, g)
	}
	return list
}

// shop has three servers: one with everything, a private one and a generated one.
func shop(t testing.TB) *catalog.Catalog {
	t.Helper()
	c := newCatalog(t, catalog.Options{})
	full := toolOffer("search", "deploy", "refund")
	full.Tools = append(full.Tools, catalog.ToolDef{
		Name: "map", JSON: []byte(`{"name":"map","inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":"ui://map/view"}}}`),
	})
	for _, uri := range []string{"note://a", "note://b", "ui://map/view", "ui://other"} {
		full.Resources = append(full.Resources, catalog.ResourceDef{URI: uri, JSON: []byte(`{"uri":"` + uri + `","name":"r"}`)})
	}
	full.Templates = []catalog.ResourceDef{{URI: "file:///docs/{name}", JSON: []byte(`{"uriTemplate":"file:///docs/{name}","name":"t"}`)}}
	for _, name := range []string{"hello", "bye"} {
		full.Prompts = append(full.Prompts, catalog.PromptDef{Name: name, JSON: []byte(`{"name":"` + name + `"}`)})
	}
	attach(t, c, "shop", junctor.ModeBYO, &scripted{offer: full})
	if err := c.Attach(t.Context(), tenant, "mine", junctor.ModeBYO, &scripted{offer: toolOffer("x")}, catalog.OwnedBy("user:u1")); err != nil {
		t.Fatal(err)
	}
	attach(t, c, "gen", junctor.ModeGenerated, &scripted{offer: toolOffer("make")})
	attach(t, c, "inside", junctor.ModeBuiltin, &scripted{offer: toolOffer("time")})
	return c
}

func TestVisible(t *testing.T) {
	t.Parallel()
	c := shop(t)
	c.SetSources(tenant, map[string]junctor.Sources{"gen": junctor.SourcesGenerated, "byo": junctor.SourcesBYO, "both": junctor.SourcesBoth})
	c.SetTags(tenant, []junctor.ToolTag{
		{Server: "shop", Tool: "deploy", Roles: []junctor.Role{"Ops", "Dev"}},
		{Server: "shop", Tool: "refund", Roles: []junctor.Role{"Finance"}},
		{Server: "shop", Tool: "search", Category: "Search"},
	})
	c.SetAgents(tenant, []junctor.Agent{
		{Name: "ops", Role: "Ops", Owner: "user:u2", Tools: grants(t, "shop/*", "mine/*", "gone/x")},
		{Name: "one", Role: "Ops", Owner: "user:u1", Tools: grants(t, "shop/search", "mine/x"), Resources: grants(t, "shop/note://a", "shop/file:///docs/{name}"), Prompts: grants(t, "shop/hello")},
		{Name: "page", Role: "QA", Tools: grants(t, "shop/map")},
		{Name: "all", Role: "General", Tools: grants(t, "shop/*"), Resources: grants(t, "shop/*"), Prompts: grants(t, "shop/*")},
		{Name: "off", Role: "Ops", Disabled: true, Tools: grants(t, "shop/*")},
		{Name: "none", Role: "Ops"},
	})
	const tool, prompt, resource = junctor.KindTool, junctor.KindPrompt, junctor.KindResource
	admin := []junctor.Scope{junctor.ScopeAdmin}
	for _, tt := range []struct {
		p      *junctor.Principal
		view   string
		server string
		kind   junctor.Kind
		item   string
		want   catalog.Reason
	}{
		{stranger(), "", "shop", "", "", catalog.ReasonScope},
		{reader("k"), "", "shop", tool, "refund", ""}, // roles are for agents
		{reader("k"), "", "mine", tool, "x", catalog.ReasonPrivate},
		{userOf("u1"), "", "mine", tool, "x", ""},
		{userOf("u2"), "", "mine", "", "", catalog.ReasonPrivate},
		{userOf("u2", admin...), "", "mine", tool, "x", ""},

		{userOf("gen"), "", "gen", tool, "make", ""},
		{userOf("gen"), "", "shop", tool, "search", catalog.ReasonSources},
		{userOf("gen"), "shop", "shop", tool, "search", ""}, // a server's own endpoint
		{userOf("gen"), "", "inside", tool, "time", ""},
		{userOf("byo"), "", "shop", tool, "search", ""},
		{userOf("byo"), "", "gen", tool, "make", catalog.ReasonSources},
		{userOf("both"), "", "gen", tool, "make", ""},
		{userOf("unheard"), "", "gen", tool, "make", ""},

		{agentOf("ops"), "", "shop", "", "", ""},
		{agentOf("ops"), "", "shop", tool, "search", ""},
		{agentOf("ops"), "", "shop", tool, "deploy", ""},
		{agentOf("ops"), "", "shop", tool, "refund", ""}, // a grant wins over a role
		{agentOf("ops"), "", "shop", resource, "note://a", catalog.ReasonGrant},
		{agentOf("ops"), "", "shop", resource, "ui://map/view", ""},
		{agentOf("ops"), "", "shop", resource, "ui://other", catalog.ReasonGrant},
		{agentOf("ops"), "", "mine", tool, "x", catalog.ReasonPrivate},
		{agentOf("ops"), "", "gen", tool, "make", catalog.ReasonGrant},
		{agentOf("ops"), "", "gen", "", "", catalog.ReasonGrant},
		{agentOf("one"), "", "shop", tool, "search", ""},
		{agentOf("one"), "shop", "shop", tool, "deploy", catalog.ReasonGrant},
		{agentOf("one"), "", "mine", tool, "x", ""}, // its owner's
		{agentOf("one"), "", "shop", resource, "note://a", ""},
		{agentOf("one"), "", "shop", junctor.KindSubscription, "note://b", catalog.ReasonGrant},
		{agentOf("one"), "", "shop", resource, "file:///docs/{name}", ""},
		{agentOf("one"), "", "shop", resource, "file:///docs/a.txt", ""},
		{agentOf("one"), "", "shop", resource, "file:///docs/../secret", catalog.ReasonGrant},
		{agentOf("one"), "", "shop", resource, "file:///docs/..", catalog.ReasonGrant},
		{agentOf("one"), "", "shop", prompt, "hello", ""},
		{agentOf("one"), "", "shop", junctor.KindCompletion, "bye", catalog.ReasonGrant},
		{agentOf("page"), "", "shop", resource, "ui://map/view", ""},
		{agentOf("page"), "", "shop", prompt, "hello", catalog.ReasonGrant},
		{agentOf("all"), "", "shop", tool, "deploy", ""},
		{agentOf("all"), "", "shop", resource, "note://unlisted", ""},
		{agentOf("off"), "", "shop", tool, "search", catalog.ReasonDisabled},
		{agentOf("never"), "", "shop", tool, "search", catalog.ReasonAgent},
		{agentOf("none"), "", "shop", "", "", catalog.ReasonGrant},
	} {
		s, err := shelf(c).Server(userOf("u9", admin...), tt.server)
		if err != nil {
			t.Fatal(err)
		}
		if got := shelf(c).Visible(tt.p, catalog.Scope{Server: tt.view}, s, tt.kind, tt.item); got != tt.want {
			t.Errorf("%s sees %s %s/%s: %q, want %q", tt.p.ID(), tt.kind, tt.server, tt.item, got, tt.want)
		}
	}
}

func TestVisibleAllocatesNothing(t *testing.T) {
	c := shop(t)
	c.SetAgents(tenant, []junctor.Agent{{Name: "a", Role: "Ops", Tools: grants(t, "shop/*"), Resources: grants(t, "shop/note://{id}")}})
	c.SetSources(tenant, map[string]junctor.Sources{"u": junctor.SourcesBYO})
	sh := shelf(c)
	for _, p := range []*junctor.Principal{agentOf("a"), userOf("u"), reader("k")} {
		sh.List(p, catalog.Scope{}, catalog.ListTools)
		if n := testing.AllocsPerRun(100, func() {
			if _, err := sh.Tool(p, catalog.Scope{}, "shop__search", ""); err != nil {
				t.Fatal(err)
			}
			sh.List(p, catalog.Scope{}, catalog.ListTools)
		}); n > 0 {
			t.Errorf("%s: a resolved name and a list cost %v allocations", p.ID(), n)
		}
	}
}

// What may not be seen answers as if it were not there, and its error knows why.
func TestHiddenIsAbsent(t *testing.T) {
	t.Parallel()
	c := shop(t)
	c.SetAgents(tenant, []junctor.Agent{{Name: "a", Role: "Ops", Tools: grants(t, "gen/make"), Resources: grants(t, "shop/note://a")}})
	p, sh := agentOf("a"), shelf(c)
	_, tool := sh.Tool(p, catalog.Scope{}, "shop__search", "")
	_, described := sh.DescribeOne(p, "shop__search")
	_, resource := sh.Resource(p, catalog.Scope{}, "shop+note://b")
	_, prompt := sh.Prompt(p, catalog.Scope{}, "shop__hello")
	_, version := sh.Tool(p, catalog.Scope{}, "shop__search", "9")
	_, noTool := sh.Tool(p, catalog.Scope{}, "shop__searxx", "")
	_, noResource := sh.Resource(p, catalog.Scope{}, "nowhere+note://b")
	_, noPrompt := sh.Prompt(p, catalog.Scope{}, "shop__nobody")
	for what, err := range map[string]error{"tool": tool, "described": described, "resource": resource, "prompt": prompt, "version": version} {
		if hidden, ok := errors.AsType[*catalog.HiddenError](err); !ok || hidden.Reason != catalog.ReasonGrant || junctor.CodeOf(err) != junctor.CodeNotFound {
			t.Errorf("%s: %v (%v)", what, err, errors.Unwrap(err))
		}
	}
	for _, pair := range [][2]error{{tool, noTool}, {described, noTool}, {resource, noResource}, {prompt, noPrompt}} {
		if a, b := masked(pair[0]), masked(pair[1]); a != b {
			t.Errorf("what is hidden answers %q, and what is not there %q", a, b)
		}
		if _, ok := errors.AsType[*catalog.HiddenError](pair[1]); ok {
			t.Errorf("%v is called hidden", pair[1])
		}
	}
}

// masked is an error's message without the name that it repeats.
func masked(err error) string {
	return strings.NewReplacer("shop__search", "NAME", "shop__searxx", "NAME", "shop__hello", "NAME", "shop__nobody", "NAME").Replace(err.Error())
}

// The lists, the resolved names and the descriptions agree, for random agents,
// and lists are rendered once for agents that may see the same.
func TestListsAgreeWithCalls(t *testing.T) {
	t.Parallel()
	servers, tools, roles := []string{"a", "b", "c"}, []string{"t1", "t2", "t3"}, []junctor.Role{"Dev", "QA", junctor.RoleGeneral}
	rapid.Check(t, func(rt *rapid.T) {
		c := newCatalog(t, catalog.Options{})
		for _, id := range servers {
			attach(t, c, id, junctor.ModeBYO, &scripted{offer: toolOffer(tools...)})
		}
		var tags []junctor.ToolTag
		for _, s := range servers {
			for _, n := range tools {
				if r := rapid.SliceOfNDistinct(rapid.SampledFrom(roles), 0, 2, rapid.ID).Draw(rt, "roles"); len(r) > 0 {
					tags = append(tags, junctor.ToolTag{Server: s, Tool: n, Roles: r})
				}
			}
		}
		agent := junctor.Agent{Name: "x", Role: rapid.SampledFrom(roles).Draw(rt, "role")}
		want := []string{}
		for _, s := range servers {
			all := rapid.Bool().Draw(rt, "all")
			if all {
				agent.Tools = append(agent.Tools, junctor.Grant{Server: s, Item: junctor.AnyItem})
			}
			for _, n := range tools {
				one := rapid.Bool().Draw(rt, "one")
				if one {
					agent.Tools = append(agent.Tools, junctor.Grant{Server: s, Item: n})
				}
				if all || one { // whatever the tool is for
					want = append(want, s+"__"+n)
				}
			}
		}
		twin := agent
		twin.Name, twin.Tools = "y", slices.Clone(agent.Tools)
		slices.Reverse(twin.Tools)
		for _, step := range rapid.Permutation([]func(){
			func() { c.SetTags(tenant, tags) },
			func() { c.SetAgents(tenant, []junctor.Agent{agent, twin}) },
		}).Draw(rt, "order") {
			step()
		}
		p := agentOf("x")
		if got := names(t, shelf(c).List(p, catalog.Scope{}, catalog.ListTools)); !slices.Equal(got, want) {
			rt.Fatalf("lists %v, want %v", got, want)
		}
		before := c.Renders()
		shelf(c).List(agentOf("y"), catalog.Scope{}, catalog.ListTools)
		if c.Renders() != before {
			rt.Fatalf("the same list was rendered twice")
		}
		described := []string{}
		for _, d := range shelf(c).Describe(p, catalog.Filter{}) {
			described = append(described, d.Exposed)
		}
		if !slices.Equal(described, want) {
			rt.Fatalf("described %v, want %v", described, want)
		}
		for _, s := range servers {
			for _, n := range tools {
				_, err := shelf(c).Tool(p, catalog.Scope{}, s+"__"+n, "")
				if (err == nil) != slices.Contains(want, s+"__"+n) {
					rt.Fatalf("%s__%s: %v", s, n, err)
				}
			}
		}
	})
}
