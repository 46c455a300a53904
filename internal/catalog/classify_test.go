package catalog_test

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
)

// labelled is a tool of which a person has said what it is for.
type labelled struct {
	server, name, about string
	roles               []junctor.Role
}

func readLabelled(t testing.TB) []labelled {
	t.Helper()
	data, err := os.ReadFile("testdata/tools.txt")
	if err != nil {
		t.Fatal(err)
	}
	var out []labelled
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.Split(strings.TrimSpace(line), " | ")
		if len(parts) != 4 {
			t.Fatalf("%q", line)
		}
		l := labelled{server: parts[0], name: parts[1], about: parts[2]}
		for role := range strings.FieldsSeq(parts[3]) {
			if !slices.Contains(junctor.Roles(), junctor.Role(role)) {
				t.Fatalf("%q is no role", role)
			}
			l.roles = append(l.roles, junctor.Role(role))
		}
		out = append(out, l)
	}
	return out
}

func (l labelled) def() catalog.ToolDef {
	name, _ := json.Marshal(l.name)
	about, _ := json.Marshal(l.about)
	return catalog.ToolDef{Name: l.name, JSON: []byte(`{"name":` + string(name) + `,"description":` + string(about) + `,"inputSchema":{"type":"object"}}`)}
}

// classOf classifies one definition on a server of its own.
func classOf(t testing.TB, server string, def catalog.ToolDef) junctor.Class {
	t.Helper()
	c := newCatalog(t, catalog.Options{})
	attach(t, c, server, junctor.ModeBYO, &scripted{offer: &catalog.Offer{Tools: []catalog.ToolDef{def}}})
	tool, err := shelf(c).DescribeOne(reader("r"), catalog.Exposed(server, def.Name, 64))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(tool.Roles, tool.Class.Roles) || tool.Category != tool.Class.Category {
		t.Errorf("%s: %v and %v", def.Name, tool, tool.Class)
	}
	return *tool.Class
}

func TestClassifyLabelled(t *testing.T) {
	t.Parallel()
	all := readLabelled(t)
	right, general, given, wrong := 0, 0, 0, 0
	for _, l := range all {
		class := classOf(t, l.server, l.def())
		if !slices.Contains(class.Roles, junctor.RoleGeneral) {
			given++
			if slices.ContainsFunc(class.Roles, func(role junctor.Role) bool { return !slices.Contains(l.roles, role) }) {
				wrong++
			}
		}
		fine := class.Category == string(l.roles[0]) || l.roles[len(l.roles)-1] == junctor.RoleGeneral && class.Category == string(junctor.RoleGeneral)
		for _, role := range class.Roles {
			fine = fine && slices.Contains(l.roles, role)
		}
		if fine {
			right++
		} else {
			t.Logf("%s/%s: %v, a person says %v (%v)", l.server, l.name, class.Roles, l.roles, class.Evidence)
		}
		if l.roles[0] == junctor.RoleGeneral {
			general++
			if !slices.Contains(class.Roles, junctor.RoleGeneral) && len(l.roles) == 1 {
				t.Errorf("%s/%s is for everybody, not for %v: %v", l.server, l.name, class.Roles, class.Evidence)
			}
		}
	}
	// A wrong role costs an agent a tool in the picker; General costs it nothing.
	if precision := 100 * float64(given-wrong) / float64(given); precision < 97 {
		t.Errorf("%d of %d tools with a role have a wrong one (%.1f %% are right)", wrong, given, precision)
	}
	share := 100 * float64(right) / float64(len(all))
	t.Logf("figure: %d of %d tools (%.1f %%) have the category and roles that a human assigned; %d of them are for everybody", right, len(all), share, general)
	if len(all) < 120 || share < 80 {
		t.Errorf("%.1f %% of %d is too few", share, len(all))
	}
}

// The tool of a generated server has its name again in its title and its path. A word
// that many kinds of work use gives no role, however often a definition has it.
func TestClassifySharedWordRepeated(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, title, about, topic string }{
		{"stage_instance", "Stage instance", "Create a stage instance", "stage instance"},
		{"get_stock", "Get stock", "Returns the stock", "stock"},
		{"list_cards", "List cards", "Lists the cards of a board", "boards cards"},
		{"get_balance", "Balance", "Returns the balance", "balance"},
		{"toggle-subscriber-updates", "Toggle Subscriber Updates", "Toggles simulated resource subscription updates on or off for the subscriber.", ""},
	} {
		def, err := json.Marshal(map[string]string{"name": tt.name, "title": tt.title, "description": tt.about})
		if err != nil {
			t.Fatal(err)
		}
		if class := classOf(t, "acme", catalog.ToolDef{Name: tt.name, JSON: def, Topic: tt.topic}); !slices.Equal(class.Roles, []junctor.Role{junctor.RoleGeneral}) {
			t.Errorf("%s is for %v: %+v", tt.name, class.Roles, class.Evidence)
		}
	}
}

// What the rules say is the same every time, whatever other tools there are.
func TestClassifyIsStable(t *testing.T) {
	t.Parallel()
	for _, l := range readLabelled(t)[:40] {
		first := classOf(t, l.server, l.def())
		for range 3 {
			if again := classOf(t, l.server, l.def()); !reflect.DeepEqual(first, again) {
				t.Fatalf("%s: %+v, then %+v", l.name, first, again)
			}
		}
	}
}

func TestClassifyByTags(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		def      string
		roles    []junctor.Role
		category string
		where    string
	}{
		{`{"name":"x","_meta":{"tags":["qa"]}}`, []junctor.Role{"QA"}, "QA", "tag"},
		{`{"name":"x","_meta":{"junctor/roles":["Finance","Support"]}}`, []junctor.Role{"Finance", "Support"}, "Finance", "tag"},
		{`{"name":"x","_meta":{"_fastmcp":{"tags":["invoices"]}}}`, []junctor.Role{"Finance"}, "Finance", "tag"},
		{`{"name":"x","_meta":{"tags":["General"]},"description":"pods of a kubernetes cluster"}`, []junctor.Role{"General"}, "General", "tag"},
		{`{"name":"x","_meta":{"tags":"QA"}}`, []junctor.Role{"General"}, "General", ""},
		{`{"name":"x","_meta":{"tags":[1,null,{}]}}`, []junctor.Role{"General"}, "General", ""},
		{`{"name":"x","annotations":{"title":"Roadmap and backlog"}}`, []junctor.Role{"Product"}, "Product", "title"},
		{`{"name":"x","title":"Payment and invoice"}`, []junctor.Role{"Finance"}, "Finance", "title"},
		{`{"name":"x","description":"mentions a payment once"}`, []junctor.Role{"General"}, "General", ""},
		{`{"name":"é"}`, []junctor.Role{"General"}, "General", ""},
	} {
		class := classOf(t, "srv", catalog.ToolDef{Name: "x", JSON: []byte(tt.def)})
		if !slices.Equal(class.Roles, tt.roles) || class.Category != tt.category {
			t.Errorf("%s: %+v", tt.def, class)
		}
		if (len(class.Evidence) > 0) != (tt.where != "") || tt.where != "" && class.Evidence[0].Where != tt.where || (class.Confidence > 0) != (tt.where != "") {
			t.Errorf("%s: evidence %+v, confidence %v", tt.def, class.Evidence, class.Confidence)
		}
	}
}

// People's word counts before the rules', and outlives what a server does.
func TestTagsCountBeforeRules(t *testing.T) {
	t.Parallel()
	c := newCatalog(t, catalog.Options{})
	b := &scripted{offer: toolOffer("create_invoice")}
	attach(t, c, "books", junctor.ModeBYO, b)
	look := func() junctor.Tool {
		tool, err := shelf(c).DescribeOne(reader("r"), "books__create_invoice")
		if err != nil {
			t.Fatal(err)
		}
		return tool
	}
	if got := look(); got.Category != "Finance" || got.Class.Tag != nil {
		t.Errorf("by the rules: %+v", got.Class)
	}
	tag := junctor.ToolTag{Server: "books", Tool: "create_invoice", Roles: []junctor.Role{"Support", "QA"}, By: "user:u"}
	c.SetTags(tenant, []junctor.ToolTag{tag})
	check := func(when string) {
		t.Helper()
		if got := look(); !slices.Equal(got.Roles, tag.Roles) || got.Category != "Support" || got.Class.Tag == nil || got.Class.Confidence != 1 || len(got.Class.Evidence) == 0 {
			t.Errorf("%s: %+v, %+v", when, got.Roles, got.Class)
		}
	}
	check("tagged")
	w := c.Watch()
	defer w.Stop()
	b.set(toolOffer("create_invoice", "other"), nil)
	b.send(catalog.Event{Kind: catalog.EventChanged})
	<-w.Ready()
	check("refreshed")
	c.Detach(tenant, "books")
	attach(t, c, "books", junctor.ModeBYO, b)
	check("attached again")
	for _, tt := range []struct {
		tag      junctor.ToolTag
		roles    []junctor.Role
		category string
	}{
		{junctor.ToolTag{Category: "Bills"}, []junctor.Role{"Finance"}, "Bills"},
		{junctor.ToolTag{Roles: []junctor.Role{"General"}}, []junctor.Role{"General"}, "General"},
	} {
		tt.tag.Server, tt.tag.Tool = "books", "create_invoice"
		c.SetTags(tenant, []junctor.ToolTag{tt.tag})
		if got := look(); !slices.Equal(got.Roles, tt.roles) || got.Category != tt.category {
			t.Errorf("%+v: %v, %s", tt.tag, got.Roles, got.Category)
		}
	}
	c.SetTags(tenant, nil)
	if got := look(); got.Category != "Finance" {
		t.Errorf("cleared: %+v", got.Class)
	}
}

// The time is printed and judged nowhere: it depends on who else is at work.
func TestClassifyCost(t *testing.T) {
	t.Parallel()
	all := readLabelled(t)
	offer := &catalog.Offer{}
	for n := range 5000 {
		l := all[n%len(all)]
		l.name += strings.Repeat("x", n/len(all))
		l.about += ". " + strings.Repeat("It takes an id and some more words that say little. ", 4)
		offer.Tools = append(offer.Tools, l.def())
	}
	c := newCatalog(t, catalog.Options{})
	attach(t, c, "big", junctor.ModeBYO, &scripted{offer: offer})
	start := time.Now()
	n := len(shelf(c).Describe(reader("r"), catalog.Filter{Role: "none"}))
	first := time.Since(start)
	start = time.Now()
	shelf(c).Describe(reader("r"), catalog.Filter{Role: "none"})
	t.Logf("figure: %d tools classified and filtered in %v, and filtered again in %v (%d for everybody)", len(offer.Tools), first, time.Since(start), n)
}
