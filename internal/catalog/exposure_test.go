package catalog_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
)

func manyOffer(n int, words string) *catalog.Offer {
	o := &catalog.Offer{}
	for i := range n {
		name := fmt.Sprintf("tool_%d", i)
		o.Tools = append(o.Tools, catalog.ToolDef{Name: name, JSON: fmt.Appendf(nil, `{"name":%q,"description":"%s number %d","inputSchema":{"type":"object"}}`, name, words, i)})
	}
	return o
}

// Above 128 tools, or where it is asked for, three tools stand for the others;
// servers that say nothing of it are listed always.
func TestExposure(t *testing.T) {
	t.Parallel()
	c := newCatalog(t, catalog.Options{})
	meta := []string{catalog.FindTools, catalog.DescribeTool, catalog.CallTool}
	add := func(id string, e junctor.Exposure, n int) {
		t.Helper()
		if err := c.Attach(t.Context(), tenant, id, junctor.ModeGenerated, &scripted{offer: manyOffer(n, id)}, catalog.ExposedAs(e)); err != nil {
			t.Fatal(err)
		}
	}
	attach(t, c, "byo", junctor.ModeBYO, &scripted{offer: manyOffer(200, "byo")})
	if got := toolNames(t, c, catalog.Scope{}); len(got) != 200 {
		t.Fatalf("%d tools without exposure", len(got))
	}
	c.Detach(tenant, "byo")
	add("small", "", 3)
	add("wanted", junctor.ExposureAll, 129)
	if got := toolNames(t, c, catalog.Scope{Server: "wanted"}); len(got) != 129 {
		t.Errorf("%d tools where all are wanted", len(got))
	}
	c.Detach(tenant, "wanted")
	if got := toolNames(t, c, catalog.Scope{}); len(got) != 3 {
		t.Errorf("few: %q", got)
	}
	add("large", junctor.ExposureAuto, 129)
	if got := toolNames(t, c, catalog.Scope{}); !slices.Equal(got, append(slices.Clone(meta), "small__tool_0", "small__tool_1", "small__tool_2")) {
		t.Errorf("with a large one: %q", got)
	}
	if got := toolNames(t, c, catalog.Scope{Server: "large"}); !slices.Equal(got, meta) {
		t.Errorf("the large one itself: %q", got)
	}
	add("asked", junctor.ExposureSearch, 2)
	if got := toolNames(t, c, catalog.Scope{Server: "asked"}); !slices.Equal(got, meta) {
		t.Errorf("one that is to be searched: %q", got)
	}
	c.Detach(tenant, "large")
	c.Detach(tenant, "asked")
	add("half", junctor.ExposureAuto, 70)
	add("more", junctor.ExposureAuto, 80)
	got := toolNames(t, c, catalog.Scope{})
	if len(got) != 3+3+70 || slices.Contains(got, "more__tool_0") {
		t.Errorf("two that are too many together: %d", len(got))
	}
}

// Where servers are joined, those that say nothing of exposure are shown as the
// catalog is told; their own endpoint shows all of them.
func TestExposureOfJoinedEndpoints(t *testing.T) {
	t.Parallel()
	meta := []string{catalog.FindTools, catalog.DescribeTool, catalog.CallTool}
	for _, c := range []struct {
		exposure junctor.Exposure
		sizes    []int // of servers that are brought
		want     int   // tools of servers that are listed
	}{
		{junctor.ExposureAuto, []int{100, 28}, 128},
		{junctor.ExposureAuto, []int{100, 29}, 29},
		{junctor.ExposureAuto, []int{129, 5, 6}, 11},
		{junctor.ExposureAuto, []int{90, 80, 70}, 70},
		{junctor.ExposureAll, []int{100, 100}, 200},
		{junctor.ExposureSearch, []int{1, 2}, 0},
	} {
		cat := newCatalog(t, catalog.Options{Exposure: c.exposure})
		all := 0
		for i, n := range c.sizes {
			attach(t, cat, fmt.Sprintf("s%d", i), junctor.ModeBYO, &scripted{offer: manyOffer(n, "notes")})
			all += n
		}
		for _, v := range []catalog.Scope{{}, {Plain: true}, {Profile: junctor.ProfileGemini}} {
			got := toolNames(t, cat, v)
			want := c.want
			if want < all {
				if len(got) < len(meta) || !slices.Equal(got[:len(meta)], meta) {
					t.Errorf("%s of %v: no way to find the others: %d", c.exposure, c.sizes, len(got))
				}
				want += len(meta)
			}
			if len(got) != want {
				t.Errorf("%s of %v in %+v: %d are listed, want %d", c.exposure, c.sizes, v, len(got), want)
			}
		}
		if got := toolNames(t, cat, catalog.Scope{Server: "s0"}); len(got) != c.sizes[0] {
			t.Errorf("%s of %v: its own endpoint lists %d", c.exposure, c.sizes, len(got))
		}
	}
}

// With ExposureAuto, a client that searches by itself is listed every tool. The
// other exposures hold for every client, and an agent's own wins.
func TestExposureByClient(t *testing.T) {
	t.Parallel()
	searching := catalog.Scope{SearchesTools: true}
	for _, test := range []struct {
		joined, own, agent junctor.Exposure // of the catalog, the server and the agent
		searching, other   int              // how many tools a client is listed
	}{
		{junctor.ExposureAuto, "", "", 130, 3},
		{junctor.ExposureAll, "", "", 130, 130},
		{junctor.ExposureSearch, "", "", 3, 3},
		{junctor.ExposureAuto, junctor.ExposureAuto, "", 130, 3},
		{junctor.ExposureAuto, junctor.ExposureSearch, "", 3, 3},
		{junctor.ExposureSearch, junctor.ExposureAll, "", 130, 130},
		{junctor.ExposureAuto, "", junctor.ExposureAll, 130, 130},
		{junctor.ExposureAuto, "", junctor.ExposureSearch, 3, 3},
		{junctor.ExposureSearch, "", junctor.ExposureAuto, 130, 3},
		{junctor.ExposureSearch, junctor.ExposureSearch, junctor.ExposureAll, 130, 130},
		{junctor.ExposureAll, junctor.ExposureAll, junctor.ExposureSearch, 3, 3},
	} {
		c := newCatalog(t, catalog.Options{Exposure: test.joined})
		var options []catalog.AttachOption
		if test.own != "" {
			options = append(options, catalog.ExposedAs(test.own))
		}
		if err := c.Attach(t.Context(), tenant, "many", junctor.ModeBYO, &scripted{offer: manyOffer(130, "many")}, options...); err != nil {
			t.Fatal(err)
		}
		// An agent with the same grants and another exposure must not get its list.
		grants := []junctor.Grant{{Server: "many", Item: junctor.AnyItem}}
		c.SetAgents(tenant, []junctor.Agent{{Name: "a", Tools: grants, Exposure: test.agent}, {Name: "plain", Tools: grants}})
		for scope, want := range map[catalog.Scope]int{searching: test.searching, {}: test.other} {
			if test.agent == "" {
				if got := toolNames(t, c, scope); len(got) != want {
					t.Errorf("%+v in %+v: %d are listed, want %d", test, scope, len(got), want)
				}
			}
			agent := reader("a")
			agent.Agent = "plain"
			shelf(c).List(agent, scope, catalog.ListTools)
			agent.Agent = "a"
			if got := names(t, shelf(c).List(agent, scope, catalog.ListTools)); len(got) != want {
				t.Errorf("%+v in %+v: %d are listed for the agent, want %d", test, scope, len(got), want)
			}
			if _, ok := shelf(c).Meta(agent, scope, catalog.FindTools); ok != (want == 3) {
				t.Errorf("%+v in %+v: find_tools is there: %v", test, scope, ok)
			}
		}
		// A turn of an agent has a budget of its own.
		agent := reader("a")
		agent.Agent = "a"
		if got := names(t, shelf(c).List(agent, catalog.Scope{Budget: 1000, SearchesTools: true}, catalog.ListTools)); len(got) != 3 && (test.own != junctor.ExposureAll || test.agent != "") {
			t.Errorf("%+v: %d are listed for a turn", test, len(got))
		}
	}
}

// A client that searches by itself shares the list of the others where nothing is
// too long.
func TestShortListsAreShared(t *testing.T) {
	t.Parallel()
	c := newCatalog(t, catalog.Options{Exposure: junctor.ExposureAuto})
	attach(t, c, "few", junctor.ModeBYO, &scripted{offer: manyOffer(128, "few")})
	a, b := shelf(c).List(reader("r"), catalog.Scope{}, catalog.ListTools), shelf(c).List(reader("r"), catalog.Scope{SearchesTools: true}, catalog.ListTools)
	if &a[0] != &b[0] {
		t.Error("the list was rendered twice")
	}
}

func TestMetaTools(t *testing.T) {
	t.Parallel()
	c := newCatalog(t, catalog.Options{})
	offer := manyOffer(3, "pets")
	offer.Tools[1].JSON = []byte(`{"name":"tool_1","description":"Adopt a giraffe","inputSchema":{"type":"object","properties":{"height":{"type":"number"}}}}`)
	if err := c.Attach(t.Context(), tenant, "zoo", junctor.ModeGenerated, &scripted{offer: offer}, catalog.ExposedAs(junctor.ExposureSearch)); err != nil {
		t.Fatal(err)
	}
	do := func(name, arguments string) (string, error) {
		item, ok := shelf(c).Meta(reader("r"), catalog.Scope{}, name)
		if !ok {
			t.Fatalf("no %s", name)
		}
		if err := item.Tool.Input.Check(t.Context(), []byte(arguments)); err != nil {
			return "", err
		}
		res, err := item.Server.Backend.Do(context.Background(), &catalog.Request{Name: name, Kind: junctor.KindTool, Arguments: []byte(arguments), Principal: reader("r")}, nil)
		return string(res.Body), err
	}
	if got, err := do(catalog.FindTools, `{"query":"adopt giraffes"}`); err != nil || !strings.Contains(got, `"tools":[{"name":"zoo__tool_1","description":"Adopt a giraffe"}`) {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := do(catalog.DescribeTool, `{"name":"zoo__tool_1"}`); err != nil || !strings.Contains(got, `"height"`) || !strings.Contains(got, `"name":"zoo__tool_1"`) {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := do(catalog.DescribeTool, `{"name":"zoo__nothing"}`); junctor.CodeOf(err) != junctor.CodeNotFound {
		t.Error(err)
	}
	for _, bad := range []string{`{}`, `{"name":7}`, `{"name":"x","arguments":[]}`} {
		if _, err := do(catalog.CallTool, bad); junctor.CodeOf(err) != junctor.CodeInvalid {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if _, ok := shelf(c).Meta(reader("r"), catalog.Scope{}, "zoo__tool_1"); ok {
		t.Error("a tool of its own is no meta tool")
	}
	c.Detach(tenant, "zoo")
	if _, ok := shelf(c).Meta(reader("r"), catalog.Scope{}, catalog.FindTools); ok {
		t.Error("there is nothing to find")
	}
}
