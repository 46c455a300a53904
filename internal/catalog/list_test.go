package catalog_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/builtin"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Lists are rendered once for all who see the same, until something changes.
func TestListsAreRenderedOnce(t *testing.T) {
	t.Parallel()
	c := newCatalog(t, catalog.Options{})
	var tools []string
	for i := range 200 {
		tools = append(tools, fmt.Sprintf("tool-%03d", i))
	}
	attach(t, c, "s", junctor.ModeBuiltin, server(t, "s", tools...))
	list := func() {
		var wg sync.WaitGroup
		for i := range 50 {
			p := reader(fmt.Sprint("agent-", i))
			if i%2 == 0 { // another way to the same rights
				p.Scopes = []junctor.Scope{junctor.ScopeToolsCall}
			}
			wg.Go(func() {
				for range 20 {
					shelf(c).List(p, catalog.Scope{}, catalog.ListTools)
				}
			})
		}
		wg.Wait()
	}
	list()
	if got := c.Renders(); got != 1 {
		t.Errorf("1000 lists were rendered %d times", got)
	}
	shelf(c).List(stranger(), catalog.Scope{}, catalog.ListTools)
	shelf(c).List(reader("r"), catalog.Scope{}, catalog.ListPrompts)
	shelf(c).List(reader("r"), catalog.Scope{Plain: true}, catalog.ListTools)
	if got := c.Renders(); got != 4 {
		t.Errorf("%d renders with another set, list and view", got)
	}
	attach(t, c, "t", junctor.ModeBuiltin, server(t, "t", "x"))
	list()
	if got := c.Renders(); got != 5 {
		t.Errorf("%d renders after a change", got)
	}
}

func TestListsAllocateNothing(t *testing.T) { // not parallel: allocations are counted
	c := newCatalog(t, catalog.Options{})
	attach(t, c, "s", junctor.ModeBuiltin, server(t, "s", "t"))
	p, sh := reader("r"), shelf(c)
	if n := testing.AllocsPerRun(100, func() { sh.List(p, catalog.Scope{}, catalog.ListTools) }); n != 0 {
		t.Errorf("%v allocations a list", n)
	}
}

func TestListsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	c := newCatalog(t, catalog.Options{})
	for i := range 9 {
		id := fmt.Sprintf("s%d", (i*7)%9)
		attach(t, c, id, junctor.ModeBuiltin, server(t, id, "z", "a", "m"))
	}
	var want []string
	for i := range 9 {
		want = append(want, fmt.Sprintf("s%d__z", i), fmt.Sprintf("s%d__a", i), fmt.Sprintf("s%d__m", i))
	}
	for i := range 5 {
		if got := toolNames(t, c, catalog.Scope{}); !slices.Equal(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
		id := fmt.Sprintf("r%d", 9-i) // before all that are there
		attach(t, c, id, junctor.ModeBuiltin, server(t, id, "t"))
		want = slices.Insert(want, 0, id+"__t")
	}
}

// What is shown is the server's own object but for the name.
func TestListsCarryBytes(t *testing.T) {
	t.Parallel()
	c := newCatalog(t, catalog.Options{})
	own := `{"name":"t","inputSchema":{"type":"object","default":1.50},"unknown":{"b":1,"a":"\u00e9"}}`
	attach(t, c, "s", junctor.ModeBYO, &scripted{offer: &catalog.Offer{Tools: []catalog.ToolDef{{Name: "t", JSON: []byte(own)}}}})
	if got := string(shelf(c).List(reader("r"), catalog.Scope{Server: "s"}, catalog.ListTools)); got != `{"tools":[`+own+`]}` {
		t.Error(got)
	}
	want := `{"tools":[` + strings.Replace(own, `"t"`, `"s__t"`, 1) + `]}`
	if got := string(shelf(c).List(reader("r"), catalog.Scope{}, catalog.ListTools)); got != want {
		t.Error(got)
	}
}

// A name that does not stand there once and plainly is put in its place all the
// same: what is shown is what can be called.
func TestListsNameOnce(t *testing.T) {
	t.Parallel()
	for _, own := range []string{
		`{"name":"t"}`, `{"name":"other","name":"t"}`, `{"name":"t","name":"other"}`, `{"n\u0061me":"t"}`, `{"n\u0061me":"x","name":"t"}`,
		`{"description":"none"}`, `{"name":7}`, `{"name":"","nested":{"name":"deep"}}`, ` { "name" : "t" } `, `{}`,
	} {
		c := newCatalog(t, catalog.Options{})
		attach(t, c, "s", junctor.ModeBYO, &scripted{offer: &catalog.Offer{Tools: []catalog.ToolDef{{Name: "t", JSON: []byte(own)}}}})
		got := shelf(c).List(reader("r"), catalog.Scope{}, catalog.ListTools)
		if shown := names(t, got); len(shown) != 1 || shown[0] != "s__t" || strings.Count(string(got), `"s__t"`) != 1 || strings.Contains(string(got), `other`) {
			t.Errorf("%s: %s", own, got)
		}
	}
}

// Lists that each see for themselves do not add up without end, and are right
// however often they were let go.
func TestListsAreBounded(t *testing.T) {
	t.Parallel()
	c := newCatalog(t, catalog.Options{})
	long := strings.Repeat("long ", 1<<20/5)
	attach(t, c, "shared", junctor.ModeBYO, &scripted{offer: &catalog.Offer{Tools: []catalog.ToolDef{{Name: "t", JSON: []byte(`{"name":"t","description":"` + long + `"}`)}}}})
	const owners = 80
	for n := range owners {
		id := fmt.Sprintf("of%d", n)
		if err := c.Attach(t.Context(), tenant, id, junctor.ModeBYO, server(t, id, "own"), catalog.OwnedBy(reader(id).ID())); err != nil {
			t.Fatal(err)
		}
	}
	list := func(n int) {
		id := fmt.Sprintf("of%d", n)
		got := string(shelf(c).List(reader(id), catalog.Scope{}, catalog.ListTools))
		if !strings.Contains(got, `"`+id+`__own"`) || strings.Count(got, "__own") != 1 || !strings.Contains(got, "shared__t") {
			t.Fatalf("%s sees %.200s", id, got)
		}
	}
	for n := range owners {
		list(n)
	}
	list(owners - 1)
	if n := c.Renders(); n != owners {
		t.Errorf("%d lists were rendered for %d parties", n, owners)
	}
	list(0)
	if n := c.Renders(); n != owners+1 {
		t.Error("80 MiB of lists are kept")
	}
}

func TestNobodySeesWithoutScope(t *testing.T) {
	t.Parallel()
	c := newCatalog(t, catalog.Options{})
	attach(t, c, "s", junctor.ModeBuiltin, server(t, "s", "t"))
	p := stranger()
	for _, v := range []catalog.Scope{{}, {Plain: true}, {Server: "s"}} {
		for kind := catalog.ListTools; kind <= catalog.ListTemplates; kind++ {
			if got := names(t, shelf(c).List(p, v, kind)); len(got) != 0 {
				t.Errorf("%+v: %q", v, got)
			}
		}
		for _, name := range []string{"t", "s__t"} {
			_, there := shelf(c).Tool(p, v, name, "")
			_, absent := catalog.New(catalog.Options{}).Snapshot().For(tenant).Tool(p, v, name, "")
			if there == nil || there.Error() != absent.Error() {
				t.Errorf("what may not be seen answers %q, and what does not exist %q", there, absent)
			}
		}
	}
	if got := shelf(c).Describe(p, catalog.Filter{}); len(got) != 0 {
		t.Errorf("described: %+v", got)
	}
	if _, err := shelf(c).Server(p, "s"); junctor.CodeOf(err) != junctor.CodeNotFound {
		t.Error(err)
	}
	// Another tenant's shelf is another world.
	q := reader("r")
	q.Tenant = "elsewhere"
	if _, err := c.Snapshot().For(q.Tenant).Tool(q, catalog.Scope{}, "s__t", ""); junctor.CodeOf(err) != junctor.CodeNotFound {
		t.Error(err)
	}
}

func TestVersions(t *testing.T) {
	t.Parallel()
	s := server(t, "s", "plain")
	for _, v := range []string{"1.0", "1.1", "2.0"} {
		addTool(t, s, builtin.Tool{Name: "t", Version: v, Default: v == "1.1", Description: "is " + v})
	}
	c := newCatalog(t, catalog.Options{})
	attach(t, c, "s", junctor.ModeBuiltin, s)
	p := reader("r")
	for asked, want := range map[string]string{"": "1.1", "1.0": "1.0", "1.1": "1.1", "2.0": "2.0"} {
		if item, err := shelf(c).Tool(p, catalog.Scope{}, "s__t", asked); err != nil || item.Tool.Version != want {
			t.Errorf("version %q: %v", asked, err)
		}
	}
	item, err := shelf(c).Tool(p, catalog.Scope{}, "s__t", "3"+strings.Repeat("0", 1000))
	if junctor.CodeOf(err) != junctor.CodeInvalid || !strings.Contains(err.Error(), "1.0, 1.1, 2.0") || len(err.Error()) > 400 {
		t.Errorf("unknown version: %v", err)
	}
	if item.Shown != "s__t" {
		t.Errorf("a wrong version still says which tool it was about: %+v", item)
	}
	if _, err := shelf(c).Tool(p, catalog.Scope{}, "s__plain", "1"); junctor.CodeOf(err) != junctor.CodeInvalid || !strings.Contains(err.Error(), "no versions") {
		t.Errorf("%v", err)
	}
	list := shelf(c).List(p, catalog.Scope{}, catalog.ListTools)
	var shown json.RawMessage
	for tool := range wire.Elements(wire.Get(list, "tools")) {
		if name, _ := wire.String(wire.Get(tool, "name")); name == "s__t" {
			if shown != nil {
				t.Error("each version is listed")
			}
			shown = wire.Get(tool, "_meta")
		}
	}
	if got := string(wire.Get(shown, wire.MetaJunctorVersion+"s")); got != `["1.0","1.1","2.0"]` {
		t.Errorf("_meta %s", shown)
	}
	if got, _ := wire.String(wire.Get(shown, wire.MetaJunctorVersion)); got != "1.1" {
		t.Errorf("_meta %s", shown)
	}
	d, err := shelf(c).DescribeOne(p, "t")
	if err != nil || d.Version != "1.1" || d.Description != "is 1.1" || !slices.Equal(d.Versions, []string{"1.0", "1.1", "2.0"}) {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestSuggestions(t *testing.T) {
	t.Parallel()
	c := newCatalog(t, catalog.Options{})
	attach(t, c, "weather", junctor.ModeBYO, server(t, "weather", "forecast", "forecasts", "history"))
	attach(t, c, "hidden-from-view", junctor.ModeBYO, server(t, "hidden-from-view", "forecost"))
	p := reader("r")
	_, err := shelf(c).Tool(p, catalog.Scope{}, "weather__forcast", "")
	if err == nil || !strings.Contains(err.Error(), "did you mean weather__forecast, weather__forecasts") {
		t.Error(err)
	}
	_, err = shelf(c).Tool(p, catalog.Scope{}, "forecast", "") // without its server
	if err == nil || !strings.Contains(err.Error(), "weather__forecast") {
		t.Error(err)
	}
	_, err = shelf(c).Tool(p, catalog.Scope{Server: "weather"}, "forecost", "")
	if err == nil || !strings.Contains(err.Error(), "mean forecast, forecasts") || strings.Contains(err.Error(), "hidden") {
		t.Errorf("a server's own view: %v", err)
	}
	attach(t, c, "maths", junctor.ModeBuiltin, server(t, "maths", "add"))
	for _, name := range []string{"maths__ad", "ad"} { // the plain view answers to both forms
		_, err = shelf(c).Tool(p, catalog.Scope{Plain: true}, name, "")
		if err == nil || !strings.Contains(err.Error(), name+"d?") {
			t.Errorf("the plain view: %v", err)
		}
	}
	_, err = shelf(c).Tool(stranger(), catalog.Scope{}, "weather__forcast", "")
	if err == nil || strings.Contains(err.Error(), "mean") {
		t.Errorf("to one who sees nothing: %v", err)
	}
	for _, far := range []string{"", "q", strings.Repeat("x", 1<<20), "\x00\xff"} {
		_, err := shelf(c).Tool(p, catalog.Scope{}, far, "")
		if err == nil || strings.Contains(err.Error(), "mean") || len(err.Error()) > 800 {
			t.Errorf("%.20q: %.900v", far, err)
		}
	}
	if _, err := shelf(c).Resource(p, catalog.Scope{}, strings.Repeat("u", 1<<20)); len(err.Error()) > 400 {
		t.Errorf("a message of %d bytes", len(err.Error()))
	}
	if _, err := shelf(c).Prompt(p, catalog.Scope{}, strings.Repeat("u", 1<<20)); len(err.Error()) > 400 {
		t.Errorf("a message of %d bytes", len(err.Error()))
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	s := server(t, "s")
	addTool(t, s, builtin.Tool{Name: "forecast", Title: "Weather", Description: "How it will RAIN", Annotations: &builtin.Annotations{Title: "x"}})
	addTool(t, s, builtin.Tool{Name: "add", Description: "Adds numbers"})
	c := newCatalog(t, catalog.Options{})
	attach(t, c, "s", junctor.ModeBuiltin, s)
	attach(t, c, "u", junctor.ModeBuiltin, server(t, "u", "add"))
	p := reader("r")
	for _, tt := range []struct{ server, query, want string }{
		{"", "", "[s__forecast s__add u__add]"},
		{"s", "", "[s__forecast s__add]"},
		{"", "rain weather", "[s__forecast]"},
		{"", "ADD", "[s__add u__add]"},
		{"", "add numbers", "[s__add]"},
		{"none", "", "[]"},
	} {
		got := []string{}
		for _, d := range shelf(c).Describe(p, catalog.Filter{Server: tt.server, Query: tt.query}) {
			got = append(got, d.Exposed)
			if len(d.Digest) != 64 || !bytes.Contains(d.InputSchema, []byte("object")) {
				t.Errorf("%+v", d)
			}
		}
		if fmt.Sprint(got) != tt.want {
			t.Errorf("%q, %q: %q, want %s", tt.server, tt.query, got, tt.want)
		}
	}
}
