package apis

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/apigen"
	"github.com/junctor-mcp/junctor/internal/apigen/doc"
	"github.com/junctor-mcp/junctor/internal/apigen/tool"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/test/program"
)

// shelved is the tools of one document in a catalog, on a server whose id says
// nothing of the API.
type shelved struct {
	*catalog.Shelf
	who  *junctor.Principal
	keys map[string]string // tool -> operation
	ids  map[string]string // tool -> id of the operation in the document
}

func loadShelved(t *testing.T, file string) *shelved {
	t.Helper()
	d, err := apigen.ReadDocument(t.Context(), doc.Source{Name: filepath.Base(file), Text: readFile(t, file)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	tools, _ := tool.Build(d, tool.Options{Server: "api", BaseURL: "https://api.test"})
	ids := map[string]string{}
	for _, op := range d.Operations {
		ids[op.Key] = op.ID
	}
	s := &shelved{keys: map[string]string{}, ids: map[string]string{}}
	for i := range tools {
		s.keys[tools[i].Name], s.ids[tools[i].Name] = tools[i].Key, ids[tools[i].Key]
	}
	c := catalog.New(catalog.Options{Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(c.Close)
	if err := c.Attach(t.Context(), "t", "api", junctor.ModeGenerated, apigen.New(apigen.Options{Tools: tools})); err != nil {
		t.Fatal(err)
	}
	s.Shelf = c.Snapshot().For("t")
	s.who = &junctor.Principal{Tenant: "t", Issuer: junctor.IssuerKey, Subject: "k", Scopes: []junctor.Scope{junctor.ScopeToolsRead, junctor.ScopeAdmin}}
	return s
}

// labels reads lines of "what | label label".
func labels(t *testing.T, file string) (all [][2]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("labels", file))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if what, label, ok := strings.Cut(strings.TrimSpace(line), " | "); ok && !strings.HasPrefix(line, "#") {
			all = append(all, [2]string{what, label})
		}
	}
	return all
}

// TestRoles compares the first role that the rules give with what a person says.
// The words of the rules were chosen with these operations in sight.
func TestRoles(t *testing.T) {
	files := map[string]string{"github": program.FindNode(t).Module("@octokit/openapi/generated/api.github.com.json")}
	shared := filepath.Join(program.Root(t), "..", "shared", "data", "specs")
	for api, name := range map[string]string{"stripe": "stripe-2022.yaml.gz", "digitalocean": "digitalocean.yaml.gz", "slack": "slack-v2.json.gz", "box": "box.json.gz", "figma": "figma.yaml.gz"} {
		if _, err := os.Stat(filepath.Join(shared, name)); err == nil && program.Long() {
			files[api] = filepath.Join(shared, name)
		}
	}
	want := map[string]map[string]string{}
	for _, l := range labels(t, "roles.txt") {
		api, key, _ := strings.Cut(l[0], " ")
		if want[api] == nil {
			want[api] = map[string]string{}
		}
		want[api][key] = l[1]
	}
	right, all := 0, 0
	for api, file := range files {
		s, n := loadShelved(t, file), 0
		for _, x := range s.Describe(s.who, catalog.Filter{}) {
			label, labelled := want[api][s.keys[x.Name]]
			if !labelled {
				continue
			}
			n++
			if slices.Contains(strings.Fields(label), string(x.Roles[0])) {
				right++
			} else {
				t.Logf("%s %s: %v, a person says %s", api, s.keys[x.Name], x.Roles, label)
			}
		}
		if n != len(want[api]) {
			t.Errorf("%d of %d labelled operations of %s have a tool", n, len(want[api]), api)
		}
		all += n
	}
	t.Logf("figure: roles: the first is right for %d of %d operations of %d APIs (%.1f %%)", right, all, len(files), 100*float64(right)/float64(all))
	if right*100 < all*80 {
		t.Error("fewer than 80 %")
	}
}

// TestSearch asks for tools among more than a thousand, in people's words.
func TestSearch(t *testing.T) {
	s := loadShelved(t, program.FindNode(t).Module("@octokit/openapi/generated/api.github.com.json"))
	first, five, questions := 0, 0, labels(t, "questions.txt")
	for _, q := range questions {
		var got []string
		for _, m := range s.Search(s.who, catalog.Scope{}, q[0], 5) {
			got = append(got, s.ids[m.Tool.Name])
		}
		switch slices.IndexFunc(got, func(id string) bool { return slices.Contains(strings.Fields(q[1]), id) }) {
		case -1:
			t.Logf("%q finds %v, not %s", q[0], got, q[1])
		case 0:
			first++
			five++
		default:
			five++
		}
	}
	t.Logf("figure: search: of %d questions the right tool is among the first five for %d, and the first for %d, among %d tools", len(questions), five, first, len(s.ids))
	if five*100 < len(questions)*95 {
		t.Error("fewer than 95 %")
	}
}
