package generated

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

func patchServer(t *testing.T, i *testkit.Instance, server, body string) {
	t.Helper()
	if r := i.Do(t, http.MethodPatch, "/api/v1/servers/"+server, body); r.Status != http.StatusOK {
		t.Fatalf("%s: %d %s", body, r.Status, r.Body)
	}
}

// What people say of a tool stays with it when it is renamed, also when two tools
// exchange their names, and when they get their own back.
func TestRolesSurviveARename(t *testing.T) {
	t.Parallel()
	instance := testkit.Start(t, nil)
	document := "openapi: 3.1.0\ninfo: {title: T, version: '1'}\nservers: [{url: 'https://pets.example.com'}]\npaths:\n" +
		"  /cats: {get: {operationId: cats, responses: {'200': {description: ok}}}}\n  /dogs: {get: {operationId: dogs, responses: {'200': {description: ok}}}}\n"
	addServer(t, instance, fmt.Sprintf(`{"id":"pets","mode":"auto-generated","document":%q}`, document))
	for tool, role := range map[string]string{"cats": "Finance", "dogs": "Security"} {
		if r := instance.Do(t, http.MethodPut, "/api/v1/tools/pets__"+tool+"/tag", `{"roles":["`+role+`"]}`); r.Status != http.StatusOK {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
	}
	for _, step := range []struct{ overrides, finance, security string }{
		{`{"cats":{"name":"list_cats"}}`, "list_cats", "dogs"},
		{`{"cats":{"name":"felines"}}`, "felines", "dogs"},
		{`{"cats":{"name":"dogs"},"dogs":{"name":"cats"}}`, "dogs", "cats"},
		{`{}`, "cats", "dogs"},
	} {
		patchServer(t, instance, "pets", `{"overrides":`+step.overrides+`}`)
		for tool, role := range map[string]string{step.finance: "Finance", step.security: "Security"} {
			r := instance.Do(t, http.MethodGet, "/api/v1/tools/pets__"+tool, "")
			if !strings.Contains(r.Body, `"roles":["`+role+`"]`) {
				t.Errorf("%s: %s is not for %s: %s", step.overrides, tool, role, r.Body)
			}
		}
	}
}

// Another way to authenticate gets from the document what nobody says of it.
func TestChangedAuthIsCompleted(t *testing.T) {
	t.Parallel()
	instance := testkit.Start(t, testkit.Settings{"egress-allow": "127.0.0.0/8"})
	api := newKeeper(t)
	text := strings.Replace(document("query", "api_key"), `"securitySchemes":{`, `"securitySchemes":{"login":{"type":"oauth2","flows":{"clientCredentials":{"tokenUrl":"https://login.example.com/token","scopes":{}}}},`, 1)
	addServer(t, instance, fmt.Sprintf(`{"id":"pets","mode":"auto-generated","document":%q,"base_url":%q}`, text, api.URL))
	patchServer(t, instance, "pets", `{"auth":{"type":"oauth-client","client_id":"us","client_secret":"ours"}}`)
	if r := instance.Do(t, http.MethodGet, "/api/v1/servers/pets", ""); !strings.Contains(r.Body, `"token_url":"https://login.example.com/token"`) {
		t.Errorf("where tokens are got: %s", r.Body)
	}
	patchServer(t, instance, "pets", `{"auth":{"type":"api-key","key":"the-key-of-pets"}}`)
	instance.Do(t, http.MethodPost, "/api/v1/tools/pets__list_pets/call", `{"arguments":{"q":"x"}}`)
	if got := api.last(); got != "q=x&api_key=the-key-of-pets||" {
		t.Errorf("the API saw %q", got)
	}
	// A caller who names another header means that.
	patchServer(t, instance, "pets", `{"auth":{"type":"api-key","key":"the-key-of-pets","header":"X-Pets"}}`)
	instance.Do(t, http.MethodPost, "/api/v1/tools/pets__list_pets/call", `{"arguments":{"q":"x"}}`)
	if got := api.last(); got != "q=x||the-key-of-pets" {
		t.Errorf("the API saw %q", got)
	}
}

// A document that is not there when the file that names it is read is waited for.
func TestMissingDocumentIsAwaited(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	settings, text := filepath.Join(folder, "junctor.yaml"), filepath.Join(folder, "docs", "api.yaml")
	write := func(path, content string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Dir(text), 0o700); err != nil {
		t.Fatal(err)
	}
	write(settings, "servers: {}\n")
	instance := testkit.Start(t, testkit.Settings{"config": settings})
	write(settings, "servers:\n  pets:\n    document: docs/api.yaml\n    base_url: https://pets.example.com\n")
	poll.Until(t, "the missing document is told of", 2*time.Minute, func() bool { return strings.Contains(instance.Log.String(), "the file does not exist") })
	write(text, document("header", "X-Pets"))
	poll.Until(t, "the server is there", 2*time.Minute, func() bool {
		return instance.Do(t, http.MethodGet, "/api/v1/servers/pets", "").Status == http.StatusOK
	})
}
