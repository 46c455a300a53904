package generated

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/internal/testkit"
)

// A pack holds an API: its document or where that is, what people changed of its
// tools, and what they are for. A user who adds it has the same tools, and is asked for
// the credential.
func TestPackHoldsAnAPI(t *testing.T) {
	t.Parallel()
	api := newKeeper(t)
	from, to := testkit.Start(t, nil), testkit.Start(t, testkit.Settings{"egress-allow": "127.0.0.0/8"})
	documents := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(document("query", "api_key"))) }))
	t.Cleanup(documents.Close)
	for _, source := range []map[string]any{{"document": document("query", "api_key")}, {"document_url": documents.URL + "/openapi.json?v=1"}} {
		body := map[string]any{
			"id": "pets", "mode": "auto-generated", "base_url": api.URL, "auth": map[string]string{"type": "api-key", "key": "the-key-of-pets"},
			"overrides": map[string]any{"list_pets": map[string]any{"name": "pets", "description": "All the pets."}}, "include": []string{"GET"},
		}
		maps.Copy(body, source)
		instance := from
		if source["document_url"] != nil {
			instance = to // which may fetch it
		}
		addServer(t, instance, toJSON(t, body))
		if r := instance.Do(t, http.MethodPut, "/api/v1/tools/pets__pets/tag", `{"roles":["Finance"],"category":"Animals"}`); r.Status != http.StatusOK {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		r := instance.Do(t, http.MethodGet, "/api/v1/packs/export?server=pets&id=zoo", "")
		var exported struct {
			Text      string
			Questions []struct {
				Name   string
				Secret bool
			}
		}
		if err := json.Unmarshal([]byte(r.Body), &exported); err != nil || len(exported.Questions) == 0 || strings.Contains(exported.Text, "?v=1") || strings.Contains(exported.Text, "the-key-of-pets") {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		answers := map[string]string{}
		for _, q := range exported.Questions {
			answers[q.Name] = map[bool]string{true: "another-key", false: "v=1"}[q.Secret]
		}
		choice := map[string]any{"file": exported.Text, "answers": answers, "names": map[string]string{"pets": "zoo"}}
		if r := to.Do(t, http.MethodPost, "/api/v1/packs/plan", toJSON(t, choice)); !strings.Contains(r.Body, `"document":"`) || !strings.Contains(r.Body, `"tool":"pets"`) {
			t.Errorf("the plan: %d %s", r.Status, r.Body)
		}
		if r := to.Do(t, http.MethodPost, "/api/v1/packs/add", toJSON(t, choice)); r.Status != http.StatusCreated {
			t.Fatalf("%d %s\n%s", r.Status, r.Body, exported.Text)
		}
		tool := to.Do(t, http.MethodGet, "/api/v1/tools/zoo__pets", "")
		for _, want := range []string{"All the pets.", `"roles":["Finance"]`, `"category":"Animals"`} {
			if !strings.Contains(tool.Body, want) {
				t.Errorf("%s is lost: %s", want, tool.Body)
			}
		}
		to.Do(t, http.MethodPost, "/api/v1/tools/zoo__pets/call", `{"arguments":{"q":"x"}}`)
		if got := api.last(); !strings.Contains(got, "api_key=another-key") {
			t.Errorf("the API saw %q", got)
		}
		if r := to.Do(t, http.MethodDelete, "/api/v1/servers/zoo", ""); r.Status >= 300 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
	}
}

// A pack with a broken document, or with a tool that its API does not have, adds
// nothing.
func TestPackOfABrokenAPIAddsNothing(t *testing.T) {
	t.Parallel()
	instance := testkit.Start(t, nil)
	for name, c := range map[string]struct{ servers, want string }{
		"broken":                {"servers: {pets: {base_url: https://pets.example.com, document: \"openapi: 3.1.0\\npaths: {\\n\"}}", "line 2"},
		"no such tool":          {"servers: {pets: {document: \"openapi: 3.1.0\\nservers: [{url: https://pets.example.com}]\\npaths: {/a: {get: {operationId: a, responses: {}}}}\\n\"}}\ntools: {pets/b: {roles: [Finance]}}", "no such tool"},
		"a file of the machine": {"servers: {pets: {base_url: https://pets.example.com, document_url: \"file:///etc/passwd\"}}", "https://host/path"},
		"no such server":        {"servers: {pets: {document_url: https://pets.example.com/openapi.json}}\ntools: {cats/b: {roles: [Finance]}}", "no server"},
	} {
		r := instance.Do(t, http.MethodPost, "/api/v1/packs/add", toJSON(t, map[string]any{"file": "pack: zoo\ntitle: Zoo\nsummary: Pets.\n" + c.servers + "\n"}))
		if r.Status < 400 || !strings.Contains(r.Body, c.want) {
			t.Errorf("%s: %d %s", name, r.Status, r.Body)
		}
		if r := instance.Do(t, http.MethodGet, "/api/v1/servers/pets", ""); r.Status != http.StatusNotFound {
			t.Errorf("%s: a server is left: %s", name, r.Body)
		}
	}
}
