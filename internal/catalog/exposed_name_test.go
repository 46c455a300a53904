package catalog_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
)

func serverIDs() *rapid.Generator[string] {
	return rapid.OneOf(rapid.StringMatching(`[a-z][a-z0-9-]{0,5}`), rapid.StringMatching(`[a-z][a-z0-9-]{31}`))
}

// strangeNames draws what strange servers call their tools.
func strangeNames() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringMatching(`[A-Za-z0-9_-]{1,20}`),
		rapid.StringMatching(`_{0,3}[a-c]{0,3}[._/ é]{0,3}[a-c]{0,3}`),
		rapid.Custom(func(t *rapid.T) string { // long ones that begin alike
			return strings.Repeat("x", rapid.IntRange(40, 140).Draw(t, "length")) + rapid.StringMatching(`[a-c]?`).Draw(t, "end")
		}),
		rapid.String(),
	)
}

// 100 checks of 120 pairs each.
func TestExposedNames(t *testing.T) {
	t.Parallel()
	pairs, servers, tools := 0, serverIDs(), strangeNames()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(48, 128).Draw(t, "limit")
		owner := map[string][2]string{}
		for range 120 {
			pairs++
			server, name := servers.Draw(t, "server"), tools.Draw(t, "name")
			exposed := catalog.Exposed(server, name, limit)
			if len(exposed) > limit {
				t.Fatalf("%q is longer than %d", exposed, limit)
			}
			if i := strings.IndexFunc(exposed, func(r rune) bool {
				return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
			}); i >= 0 {
				t.Fatalf("%q holds %q", exposed, exposed[i:])
			}
			if before, _, ok := strings.Cut(exposed, "__"); !ok || before != server {
				t.Fatalf("%q does not begin with %q and two underscores", exposed, server)
			}
			if other, ok := owner[exposed]; ok && other != [2]string{server, name} {
				t.Fatalf("%q stands for %q and for %q", exposed, other, [2]string{server, name})
			}
			owner[exposed] = [2]string{server, name}
			if again := catalog.Exposed(server, name, limit); again != exposed {
				t.Fatalf("%q, then %q", exposed, again)
			}
		}
	})
	t.Logf("%d pairs", pairs)
}

func TestExposedNamesThatAreNotObvious(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ server, name, want string }{
		{"a", "b", "a__b"},
		{"a", "_b", "a___b"},
		{"a", "b__c", "a__b__c"},
		{"a-b", "", "a-b___e3b0c442"},
		{"a", "x.y", "a__x_y_b24ca9b7"},
		{"a", strings.Repeat("n", 61), "a__" + strings.Repeat("n", 61)},
	} {
		if got := catalog.Exposed(tt.server, tt.name, 64); got != tt.want {
			t.Errorf("Exposed(%q, %q) = %q, want %q", tt.server, tt.name, got, tt.want)
		}
	}
	long := strings.Repeat("n", 62)
	if got := catalog.Exposed("a", long, 64); len(got) != 64 || got == catalog.Exposed("a", long+"n", 64) {
		t.Errorf("a cut name: %q", got)
	}
}

// A tool keeps its name when other tools come and go.
func TestNamesDoNotDependOnOthers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		c := catalog.New(catalog.Options{})
		defer c.Close()
		if err := c.Attach(t.Context(), tenant, "mine", junctor.ModeBYO, &scripted{offer: toolOffer("a", "b.c", strings.Repeat("x", 99))}); err != nil {
			rt.Fatal(err)
		}
		own := func() []string {
			return slices.DeleteFunc(toolNames(t, c, catalog.Scope{}), func(n string) bool { return !strings.HasPrefix(n, "mine__") })
		}
		want := own()
		if len(want) != 3 {
			rt.Fatalf("%q", want)
		}
		for range rapid.IntRange(1, 6).Draw(rt, "steps") {
			id := rapid.SampledFrom([]string{"other", "min", "mine-a", "e"}).Draw(rt, "id")
			if rapid.Bool().Draw(rt, "attach") {
				_ = c.Attach(t.Context(), tenant, id, junctor.ModeBYO, &scripted{offer: toolOffer("a", "_b.c", strangeNames().Draw(rt, "tool"))})
			} else {
				c.Detach(tenant, id)
			}
			if got := own(); !slices.Equal(got, want) {
				rt.Fatalf("%q, and before %q", got, want)
			}
		}
	})
}

func TestExposedURIs(t *testing.T) {
	t.Parallel()
	if got := catalog.ExposedURI("maps", "ui://page"); got != "ui://maps/page" {
		t.Error(got)
	}
	if got := catalog.ExposedURI("maps", "file:///a+b"); got != "maps+file:///a+b" {
		t.Error(got)
	}
	rapid.Check(t, func(t *rapid.T) {
		server := serverIDs().Draw(t, "server")
		uri := rapid.OneOf(rapid.String(), rapid.StringMatching(`(ui|file|x\+y)://[a-z/+{}]{0,10}`)).Draw(t, "uri")
		gotServer, gotURI, ok := catalog.SplitURI(catalog.ExposedURI(server, uri))
		if !ok || gotServer != server || gotURI != uri {
			t.Fatalf("(%q, %q) comes back as (%q, %q, %t)", server, uri, gotServer, gotURI, ok)
		}
	})
	for _, none := range []string{"", "file:///a", "ui://page"} {
		if s, u, ok := catalog.SplitURI(none); ok {
			t.Errorf("%q names %q, %q", none, s, u)
		}
	}
}

// A name that two items claim belongs to neither, in no view and in no order.
func TestClashes(t *testing.T) {
	t.Parallel()
	odd := strings.Repeat("x", 80)
	taken := strings.TrimPrefix(catalog.Exposed("a", odd, 64), "a__") // a plain name that looks like the cut one
	for _, order := range [][]string{{odd, taken, "fine"}, {taken, odd, "fine"}, {"fine", taken, odd}} {
		var l logs
		c := newCatalog(t, catalog.Options{Logger: l.logger()})
		offer := toolOffer(order...)
		for _, n := range order {
			offer.Prompts = append(offer.Prompts, catalog.PromptDef{Name: n, JSON: []byte(`{"name":"` + n + `"}`)})
		}
		attach(t, c, "a", junctor.ModeBuiltin, &scripted{offer: offer})
		sh, p := shelf(c), reader("r")
		for _, v := range []catalog.Scope{{}, {Plain: true}} {
			want := []string{"a__fine"}
			if v.Plain {
				want = []string{"fine"}
			}
			if got := toolNames(t, c, v); !slices.Equal(got, want) {
				t.Errorf("%+v: %q", v, got)
			}
			for _, name := range []string{"a__" + taken, taken, odd} {
				if item, err := sh.Tool(p, v, name, ""); junctor.CodeOf(err) != junctor.CodeNotFound {
					t.Errorf("%+v, %q: %+v, %v", v, name, item, err)
				} else if strings.Contains(err.Error(), "mean a__"+taken) {
					t.Errorf("suggests what cannot be called: %v", err)
				}
			}
		}
		if _, err := sh.Prompt(p, catalog.Scope{}, "a__"+taken); junctor.CodeOf(err) != junctor.CodeNotFound {
			t.Error(err)
		}
		if got := names(t, sh.List(p, catalog.Scope{}, catalog.ListPrompts)); !slices.Equal(got, []string{"a__fine"}) {
			t.Errorf("prompts: %q", got)
		}
		// On the server's own endpoint there is no clash.
		for _, name := range order {
			if _, err := sh.Tool(p, catalog.Scope{Server: "a"}, name, ""); err != nil {
				t.Error(err)
			}
		}
		if got := strings.Count(l.String(), "have one name"); got != 4 {
			t.Errorf("%d warnings: %s", got, l.String())
		}
	}
}

// On the plain view a built-in tool has its own name where nothing else has it.
func TestPlainView(t *testing.T) {
	t.Parallel()
	c := newCatalog(t, catalog.Options{})
	attach(t, c, "one", junctor.ModeBuiltin, server(t, "one", "echo", "both", "two__add"))
	attach(t, c, "two", junctor.ModeBuiltin, server(t, "two", "add", "both"))
	attach(t, c, "far", junctor.ModeBYO, server(t, "far", "echo", "remote"))
	want := []string{"far__echo", "far__remote", "echo", "one__both", "one__two__add", "add", "two__both"}
	plain := catalog.Scope{Plain: true}
	if got := toolNames(t, c, plain); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	p := reader("r")
	for name, owner := range map[string]string{
		"echo": "one echo", "one__echo": "one echo", "add": "two add", "two__add": "two add", "one__both": "one both", "far__remote": "far remote",
		"one__two__add": "one two__add",
	} {
		item, err := shelf(c).Tool(p, plain, name, "")
		if err != nil {
			t.Error(err)
			continue
		}
		if got := item.Server.ID + " " + item.Name; got != owner {
			t.Errorf("%q is %q, want %q", name, got, owner)
		}
	}
	for _, name := range []string{"both", "remote"} {
		if _, err := shelf(c).Tool(p, plain, name, ""); junctor.CodeOf(err) != junctor.CodeNotFound {
			t.Errorf("%q: %v", name, err)
		}
		if _, err := shelf(c).DescribeOne(p, name); junctor.CodeOf(err) != junctor.CodeNotFound {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := shelf(c).Tool(p, catalog.Scope{}, "echo", ""); junctor.CodeOf(err) != junctor.CodeNotFound {
		t.Errorf("a bare name on the joined view: %v", err)
	}
	c.Detach(tenant, "two")
	if item, err := shelf(c).Tool(p, plain, "both", ""); err != nil || item.Server.ID != "one" {
		t.Errorf("no longer ambiguous: %v", err)
	}
}

func TestServerView(t *testing.T) {
	t.Parallel()
	c := newCatalog(t, catalog.Options{})
	o := toolOffer("a.b", "c")
	o.Prompts = []catalog.PromptDef{{Name: "p q", JSON: []byte(`{"name":"p q"}`)}}
	o.Resources = []catalog.ResourceDef{{URI: "file:///x", JSON: []byte(`{"uri":"file:///x","name":"x"}`)}}
	o.Templates = []catalog.ResourceDef{{URI: "file:///{n}", JSON: []byte(`{"uriTemplate":"file:///{n}","name":"t"}`)}}
	attach(t, c, "s", junctor.ModeBYO, &scripted{offer: o})
	attach(t, c, "other", junctor.ModeBYO, &scripted{offer: toolOffer("c")})
	p, own := reader("r"), catalog.Scope{Server: "s"}
	for kind, want := range map[catalog.ListKind][2]string{
		catalog.ListTools:     {"[a.b c]", "[other__c " + catalog.Exposed("s", "a.b", 64) + " s__c]"},
		catalog.ListPrompts:   {"[p q]", "[" + catalog.Exposed("s", "p q", 64) + "]"},
		catalog.ListResources: {"[file:///x]", "[s+file:///x]"},
		catalog.ListTemplates: {"[file:///{n}]", "[s+file:///{n}]"},
	} {
		if got := fmt.Sprint(names(t, shelf(c).List(p, own, kind))); got != want[0] {
			t.Errorf("own view: %s, want %s", got, want[0])
		}
		if got := fmt.Sprint(names(t, shelf(c).List(p, catalog.Scope{}, kind))); got != want[1] {
			t.Errorf("joined view: %s, want %s", got, want[1])
		}
	}
	if item, err := shelf(c).Tool(p, own, "a.b", ""); err != nil || item.Shown != catalog.Exposed("s", "a.b", 64) {
		t.Errorf("%+v, %v", item, err)
	}
	if _, err := shelf(c).Tool(p, own, "s__c", ""); junctor.CodeOf(err) != junctor.CodeNotFound {
		t.Errorf("an exposed name on a server's own view: %v", err)
	}
	if item, err := shelf(c).Resource(p, own, "file:///x"); err != nil || item.Name != "file:///x" || item.Shown != "s+file:///x" {
		t.Errorf("%+v, %v", item, err)
	}
	// Resources that stand in no list share one counter.
	if item, err := shelf(c).Resource(p, catalog.Scope{}, "s+file:///made-up"); err != nil || item.Name != "file:///made-up" || item.Shown != "s+*" {
		t.Errorf("%+v, %v", item, err)
	}
	if _, err := shelf(c).Resource(p, catalog.Scope{}, "other+file:///x"); junctor.CodeOf(err) != junctor.CodeNotFound {
		t.Errorf("a server without resources: %v", err)
	}
}
