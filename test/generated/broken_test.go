package generated

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/internal/cli"
	"github.com/junctor-mcp/junctor/internal/testkit"
)

const (
	soundDocument  = "openapi: 3.1.0\ninfo: {title: T, version: '1'}\nservers: [{url: 'https://pets.example.com'}]\npaths:\n  /cats: {get: {operationId: cats, summary: All cats, responses: {'200': {description: ok}}}}\n"
	brokenDocument = "openapi: 3.1.0\ninfo:\n  title: T\n\tversion: '1'\npaths: {/cats: {get: {responses: {}}}}\n"
	emptyDocument  = "openapi: 3.1.0\ninfo: {title: T, version: '1'}\nservers: [{url: 'https://pets.example.com'}]\npaths: {}\n"
)

func toJSON(t *testing.T, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// A document that cannot be read, or that yields no tool, becomes no server: the
// error names the line and column of the fault, and not what is missing because of
// it. The same holds for one that would take the place of a good one.
func TestBrokenDocumentBecomesNoServer(t *testing.T) {
	t.Parallel()
	instance := testkit.Start(t, nil)
	addServer(t, instance, toJSON(t, map[string]any{"id": "pets", "mode": "auto-generated", "document": soundDocument}))
	for name, c := range map[string]struct {
		body  map[string]any
		want  []string
		never string
	}{
		"syntax, with a base URL":    {map[string]any{"document": brokenDocument, "base_url": "https://pets.example.com"}, []string{"line 4, column 1", "invalid YAML"}, ""},
		"syntax, without a base URL": {map[string]any{"document": brokenDocument}, []string{"line 4, column 1", "invalid YAML"}, "base_url"},
		"syntax of JSON":             {map[string]any{"document": "{\"openapi\": \"3.1.0\",\n \"paths\": {\"/a\": {\"get\": {\"x\" 1}}}}"}, []string{"line 2, column 31", "invalid JSON"}, "base_url"},
		"syntax of GraphQL":          {map[string]any{"document": "type Query {\n  a: String\n  b(: Int\n}\n", "base_url": "https://pets.example.com", "format": "graphql"}, []string{"line 3"}, ""},
		"no paths":                   {map[string]any{"document": emptyDocument}, []string{"no tool", "allow_empty"}, ""},
		"all left out":               {map[string]any{"document": soundDocument, "include": []string{"tag:none"}}, []string{"no tool", "include", "allow_empty"}, ""},
		"no documentation at all":    {map[string]any{"document": "hello", "base_url": "https://pets.example.com"}, []string{"is not in a known format"}, ""},
	} {
		c.body["id"], c.body["mode"] = "broken", "auto-generated"
		r := instance.Do(t, http.MethodPost, "/api/v1/servers", toJSON(t, c.body))
		lower := strings.ToLower(r.Body)
		for _, want := range c.want {
			if !strings.Contains(lower, strings.ToLower(want)) {
				t.Errorf("%s: %q is not said: %d %s", name, want, r.Status, r.Body)
			}
		}
		if r.Status != http.StatusUnprocessableEntity || c.never != "" && strings.Contains(r.Body, c.never) {
			t.Errorf("%s: %d %s", name, r.Status, r.Body)
		}
		if r := instance.Do(t, http.MethodGet, "/api/v1/servers/broken", ""); r.Status != http.StatusNotFound {
			t.Fatalf("%s became a server: %s", name, r.Body)
		}
	}
	for _, document := range []string{brokenDocument, emptyDocument} {
		r := instance.Do(t, http.MethodPost, "/api/v1/servers/pets/import", toJSON(t, map[string]any{"document": document, "accept_breaking": true}))
		if r.Status != http.StatusUnprocessableEntity {
			t.Errorf("in place of a good one: %d %s", r.Status, r.Body)
		}
	}
	if r := instance.Do(t, http.MethodGet, "/api/v1/tools/pets__cats", ""); r.Status != http.StatusOK {
		t.Errorf("its tools are gone: %d %s", r.Status, r.Body)
	}
	addServer(t, instance, toJSON(t, map[string]any{"id": "empty", "mode": "auto-generated", "document": emptyDocument, "allow_empty": true}))
	pack := "pack: zoo\ntitle: Zoo\nsummary: Pets.\nservers: {zoo: {allow_empty: true, document: " + toJSON(t, emptyDocument) + "}}\n"
	if r := instance.Do(t, http.MethodPost, "/api/v1/packs/add", toJSON(t, map[string]any{"file": pack})); r.Status != http.StatusCreated {
		t.Errorf("an empty one of a pack: %d %s", r.Status, r.Body)
	}
	settings := "servers: {shop: {allow_empty: true, document: " + toJSON(t, emptyDocument) + "}}\n"
	if r := instance.Do(t, http.MethodPost, "/api/v1/apply", toJSON(t, map[string]any{"file": settings})); r.Status != http.StatusOK {
		t.Errorf("an empty one of the settings file: %d %s", r.Status, r.Body)
	}
	if r := instance.Do(t, http.MethodPost, "/api/v1/servers/pets/import", toJSON(t, map[string]any{"document": emptyDocument, "accept_breaking": true, "allow_empty": true})); r.Status != http.StatusOK || !strings.Contains(r.Body, `"applied":true`) {
		t.Errorf("an empty one that is wanted: %d %s", r.Status, r.Body)
	}
}

// The commands end with a failure, and say what is wrong where.
func TestBrokenDocumentOnTheCommandLine(t *testing.T) {
	t.Parallel()
	instance := testkit.Start(t, nil)
	folder := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	run := func(args ...string) (int, string) {
		var out, errs bytes.Buffer
		code := cli.Main(t.Context(), args, []string{"JUNCTOR_URL=" + instance.URL, "JUNCTOR_KEY=" + testkit.AdminKey}, strings.NewReader(""), &out, &errs)
		return code, out.String() + errs.String()
	}
	sound, broken, empty := file("sound.yaml", soundDocument), file("broken.yaml", brokenDocument), file("empty.yaml", emptyDocument)
	flawed := file("flawed.yaml", soundDocument+"  /dogs: {get: 3}\n")
	half := file("half.yaml", "openapi: 3.0.0\ninfo: {title: x, version: '1'}\npaths:\n  /a:\n    get:\n      responses:\n        '200': {description: ok\n  /b:\n    get: {}\n")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"server", "add", "broken", broken, "--base-url", "https://pets.example.com"}, 1, "line 4, column 1"},
		{[]string{"server", "add", "broken", broken}, 1, "line 4, column 1"},
		{[]string{"server", "add", "broken", broken, "--dry-run"}, 1, "4:1: error syntax"},
		{[]string{"server", "add", "broken", empty}, 1, "--allow-empty"},
		{[]string{"server", "add", "broken", empty, "--dry-run"}, 1, "no tool"},
		{[]string{"server", "add", "empty", empty, "--allow-empty"}, 0, "added empty"},
		{[]string{"server", "validate", "empty"}, 1, "no tool"},
		{[]string{"server", "add", "pets", sound}, 0, "added pets"},
		{[]string{"server", "validate", "pets"}, 0, ""},
		{[]string{"server", "reimport", "pets", broken, "--yes"}, 1, "line 4, column 1"},
		{[]string{"server", "reimport", "pets", empty, "--yes"}, 1, "--allow-empty"},
		{[]string{"server", "add", "flawed", flawed}, 0, "added flawed"},
		{[]string{"server", "validate", "flawed"}, 1, "wrong_type"},
		{[]string{"server", "add", "half", half, "--base-url", "https://pets.example.com"}, 0, "half.yaml:7:16: error syntax: Invalid YAML"}, // what was left out is said
	} {
		code, said := run(c.args...)
		if (code != 0) != (c.code != 0) || !strings.Contains(said, c.want) {
			t.Errorf("junctor %s: exit %d, want %d and %q: %s", strings.Join(c.args, " "), code, c.code, c.want, said)
		}
	}
}

// Making a server of another document is a change of its tools, like one of a server
// that was brought.
func TestReimportIsAChangeOfTools(t *testing.T) {
	t.Parallel()
	instance := testkit.Start(t, nil)
	addServer(t, instance, toJSON(t, map[string]any{"id": "pets", "mode": "auto-generated", "document": soundDocument, "overrides": map[string]any{"cats": map[string]any{"name": "list_cats"}}}))
	if r := instance.Do(t, http.MethodGet, "/api/v1/tools/changes?server=pets", ""); !strings.Contains(r.Body, `"items":[]`) {
		t.Errorf("a new server has changed: %s", r.Body)
	}
	other := strings.Replace(soundDocument, "All cats", "Every cat there is", 1) + "  /dogs: {get: {operationId: dogs, responses: {'200': {description: ok}}}}\n"
	if r := instance.Do(t, http.MethodPost, "/api/v1/servers/pets/import", toJSON(t, map[string]any{"document": other})); !strings.Contains(r.Body, `"applied":true`) {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	r := instance.Do(t, http.MethodGet, "/api/v1/tools/changes?server=pets", "")
	var changes struct {
		Items []struct {
			Tool string
			What []string
		}
	}
	if err := json.Unmarshal([]byte(r.Body), &changes); err != nil || len(changes.Items) != 2 {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	for _, c := range changes.Items {
		if c.Tool == "list_cats" && strings.Join(c.What, " ") != "title description" || c.Tool != "list_cats" && c.Tool != "dogs" {
			t.Errorf("%+v", c)
		}
	}
	if r := instance.Do(t, http.MethodGet, "/api/v1/tools/changes?tool=pets__list_cats", ""); !strings.Contains(r.Body, `"tool":"list_cats"`) {
		t.Errorf("%d %s", r.Status, r.Body)
	}
}

// What a GraphQL endpoint answers in the place of its schema is in the error.
func TestIntrospectionFailureIsNamed(t *testing.T) {
	t.Parallel()
	instance := testkit.Start(t, testkit.Settings{"egress-allow": "127.0.0.0/8"})
	for _, c := range []struct {
		status int
		answer string
		want   []string
	}{
		{http.StatusOK, `{"errors":[{"message":"GraphQL introspection is not allowed, but the query contained __schema"}]}`, []string{"introspection is not allowed"}},
		{http.StatusUnauthorized, `{"message":"Bad credentials"}`, []string{"HTTP 401", "Bad credentials"}},
		{http.StatusOK, `<html>a page</html>`, []string{"no schema"}},
		{http.StatusForbidden, "Introspection is off for the key s3cr3t-k3y.\nAsk ops.", []string{"HTTP 403", "Introspection is off for the key"}},
		{http.StatusBadRequest, `{"errors":[{"message":"Must provide query string."}]}`, []string{"HTTP 400", "Must provide query string"}},
	} {
		api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.answer)
		}))
		r := instance.Do(t, http.MethodPost, "/api/v1/servers", toJSON(t, map[string]any{"id": "graph", "mode": "auto-generated", "url": api.URL, "document_url": api.URL, "format": "graphql", "auth": map[string]any{"type": "bearer", "secret": "s3cr3t-k3y"}}))
		plain := instance.Do(t, http.MethodPost, "/api/v1/servers", toJSON(t, map[string]any{"id": "plain", "mode": "auto-generated", "url": api.URL, "document_url": api.URL + "/openapi.json", "auth": map[string]any{"type": "bearer", "secret": "s3cr3t-k3y"}}))
		api.Close()
		if strings.Contains(r.Body+plain.Body, "s3cr3t") || strings.Contains(r.Body+plain.Body, "Ask ops") {
			t.Errorf("%d %s: more is said than the reason: %s %s", c.status, c.answer, r.Body, plain.Body)
		}
		if c.status == http.StatusForbidden && !strings.Contains(plain.Body, "HTTP 403: Introspection is off for the key") {
			t.Errorf("the reason of a document's server is not said: %s", plain.Body)
		}
		for _, want := range append(c.want, "introspection") {
			if r.Status < 400 || !strings.Contains(r.Body, want) {
				t.Errorf("%d %s: %q is not said: %d %s", c.status, c.answer, want, r.Status, r.Body)
			}
		}
	}
}
