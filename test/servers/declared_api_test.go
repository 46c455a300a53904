package servers

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// petsDocument describes an API with a key in its query and the operations that
// are named.
func petsDocument(paths ...string) string {
	text := "openapi: 3.1.0\ninfo: {title: Pets, version: '1'}\nservers: [{url: 'https://pets.example.com/v1'}]\n" +
		"components: {securitySchemes: {key: {type: apiKey, in: query, name: pet_key}}}\nsecurity: [{key: []}]\npaths:\n"
	for _, path := range paths {
		text += "  /" + path + ":\n    get: {operationId: " + path + ", summary: Gives " + path + ", responses: {'200': {description: OK}}}\n"
	}
	return text
}

// pets is an API that says which path it was asked for, and whether with its key.
func pets(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		proof := map[bool]string{true: "proved", false: "unproved"}[r.URL.Query().Get("pet_key") == "pet-canary"]
		_, _ = w.Write([]byte(`{"path":"` + proof + r.URL.Path + `"}`))
	}))
	t.Cleanup(s.Close)
	return s
}

func toolsOf(t *testing.T, i *testkit.Instance, server string) (names []string) {
	t.Helper()
	var page struct{ Items []struct{ Name string } }
	r := i.Do(t, "GET", "/api/v1/tools?server="+server, "")
	if err := json.Unmarshal([]byte(r.Body), &page); err != nil {
		t.Fatalf("%v: %s", err, r.Body)
	}
	for _, one := range page.Items {
		names = append(names, one.Name)
	}
	slices.Sort(names)
	return names
}

func TestADeclaredAPIFollowsItsDocument(t *testing.T) {
	t.Setenv("PET_KEY", "pet-canary")
	api := pets(t)
	text := "servers:\n  pets:\n    document: api.yaml\n    base_url: " + api.URL + "\n    auth: {type: api-key, key: 'env:PET_KEY'}\n    include: ['!/hidden', GET]\n"
	s := newSettings(t, text)
	document := filepath.Join(filepath.Dir(s.path), "api.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(document, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(petsDocument("cats", "dogs", "hidden"))
	i := start(t, testkit.Settings{"config": s.path, "egress-allow": "127.0.0.0/8"})
	if st := s.state(t, i); !st.OK {
		t.Fatalf("%+v", st)
	}
	if got := toolsOf(t, i, "pets"); !slices.Equal(got, []string{"cats", "dogs"}) {
		t.Fatalf("%v", got)
	}
	ask := func(tool string) string {
		t.Helper()
		return i.Do(t, "POST", "/api/v1/tools/"+tool+"/call", `{"arguments":{}}`).Body
	}
	if got := ask("pets__cats"); !strings.Contains(got, `"proved/cats`) {
		t.Errorf("%s", got)
	}
	if r := i.Do(t, "POST", "/api/v1/servers/pets/import", "{}"); r.Status != 409 || !strings.Contains(r.Body, "change it in that file") {
		t.Errorf("%d %s", r.Status, r.Body)
	}

	// Another document is taken over without the settings file being touched.
	write(petsDocument("cats", "birds"))
	poll.Until(t, "the tools birds and cats", time.Minute, func() bool { return slices.Equal(toolsOf(t, i, "pets"), []string{"birds", "cats"}) })
	if got := ask("pets__birds"); !strings.Contains(got, "/birds") {
		t.Errorf("%s", got)
	}

	// One that nobody can read is a problem, and what was there stays.
	write("openapi: 3.1.0\npaths: [\n")
	poll.Until(t, "a file that is refused", time.Minute, func() bool { return !s.state(t, i).OK })
	if st := s.state(t, i); len(st.Problems) != 1 || st.Problems[0].Where != s.path+":2:3" || !strings.Contains(st.Problems[0].Message, "servers.pets") {
		t.Errorf("%+v", st)
	}
	if err := os.Remove(document); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "the problem: the file does not exist", time.Minute, func() bool {
		st := s.state(t, i)
		return len(st.Problems) == 1 && st.Problems[0].Where == s.path+":3:15" && strings.Contains(st.Problems[0].Message, "the file does not exist")
	})
	if got := toolsOf(t, i, "pets"); !slices.Equal(got, []string{"birds", "cats"}) {
		t.Errorf("%v", got)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(s.path), "fish.yaml"), []byte("get: {operationId: fish, responses: {'200': {description: OK}}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	write(petsDocument() + "  /fish: {$ref: fish.yaml}\n") // beside it
	poll.Until(t, "the tools fish", time.Minute, func() bool { return slices.Equal(toolsOf(t, i, "pets"), []string{"fish"}) })

	// It goes with its lines.
	if st := s.becomes(t, i, "servers: {}\n"); !st.OK || len(toolsOf(t, i, "pets")) != 0 {
		t.Errorf("%+v", st)
	}
}

// What is exported of servers made of documents makes another instance have the
// same tools, whose calls prove themselves in the same place.
func TestAPIsAreExportedAndApplied(t *testing.T) {
	t.Parallel()
	api := pets(t)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(petsDocument("ants", "bees")))
	}))
	t.Cleanup(site.Close)
	settings := testkit.Settings{"egress-allow": "127.0.0.0/8"}
	one, two := start(t, settings), start(t, settings)
	body := func(v map[string]any) string {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, server := range []map[string]any{
		{"id": "pets", "document": petsDocument("cats", "dogs", "hidden"), "base_url": api.URL, "auth": map[string]any{"type": "api-key", "key": "pet-canary"}, "include": []string{"!/hidden", "GET"}, "overrides": map[string]any{"cats": map[string]any{"name": "felines"}}},
		{"id": "insects", "document_url": site.URL + "/api.yaml", "base_url": api.URL, "exposure": "all", "rate": 5.5},
	} {
		if r := one.Do(t, "POST", "/api/v1/servers", body(server)); r.Status != 201 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
	}
	export := func(i *testkit.Instance) string {
		var out struct{ Text string }
		if err := json.Unmarshal([]byte(i.Do(t, "GET", "/api/v1/export", "").Body), &out); err != nil {
			t.Fatal(err)
		}
		return out.Text
	}
	text := export(one)
	if strings.Contains(text, "canary") || !strings.Contains(text, "document_url: "+site.URL) || strings.Count(text, "openapi: 3.1.0") != 1 {
		t.Fatalf("%s", text)
	}
	text = strings.ReplaceAll(text, "env:MCP_PETS_SECRET", "pet-canary")
	apply := func(i *testkit.Instance, text string, dry bool) string {
		r := i.Do(t, "POST", "/api/v1/apply", body(map[string]any{"file": text, "dry_run": dry, "prune": true}))
		if r.Status != 200 || strings.Contains(r.Body, "canary") {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		return r.Body
	}
	if got := apply(one, text, true); !strings.Contains(got, `"changes":[]`) {
		t.Errorf("what was exported is not what is there: %s", got)
	}
	if got := apply(two, text, false); strings.Count(got, `"action":"add","where"`) != 2 || strings.Count(got, `"done":true`) != 2 {
		t.Fatalf("%s", got)
	}
	for _, id := range []string{"pets", "insects"} {
		if a, b := toolsOf(t, one, id), toolsOf(t, two, id); len(a) != 2 || !slices.Equal(a, b) {
			t.Errorf("%s: %v, %v", id, a, b)
		}
	}
	for _, i := range []*testkit.Instance{one, two} {
		if got := i.Do(t, "POST", "/api/v1/tools/pets__felines/call", `{"arguments":{}}`).Body; !strings.Contains(got, `"proved/cats`) {
			t.Errorf("%s", got)
		}
	}
	if again := export(two); strings.ReplaceAll(again, "env:MCP_PETS_SECRET", "pet-canary") != text {
		t.Errorf("%s\n%s", text, again)
	}

	// What differs is shown tool by tool, and done.
	changed := strings.ReplaceAll(text, "dogs", "wolves")
	if got := apply(two, changed, true); !strings.Contains(got, `{"field":"tools.wolves","to":"added"}`) || !strings.Contains(got, `{"field":"tools.dogs","to":"removed"}`) || strings.Contains(got, `"done":true`) {
		t.Errorf("%s", got)
	}
	apply(two, changed, false)
	if got := toolsOf(t, two, "pets"); !slices.Equal(got, []string{"felines", "wolves"}) {
		t.Errorf("%v", got)
	}
	if got := apply(two, "servers:\n  pets: {url: 'https://x'}\n", true); !strings.Contains(got, `"action":"conflict"`) || !strings.Contains(got, "is auto-generated, and the change requires one that is bring-your-own") {
		t.Errorf("%s", got)
	}
	if got := apply(two, "servers: {}\n", false); strings.Count(got, `"action":"remove"`) != 2 || len(toolsOf(t, two, "pets")) != 0 {
		t.Errorf("%s", got)
	}
}
