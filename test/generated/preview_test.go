package generated

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/internal/testkit"
)

// What a document comes to can be followed while it is read, and its text looked
// at, before anything is stored.
func TestPreviewIsFollowed(t *testing.T) {
	t.Parallel()
	api := testkit.Start(t, nil)
	instance := testkit.Start(t, testkit.Settings{"egress-allow": "127.0.0.0/8"})
	body, err := json.Marshal(map[string]any{
		"document_url": api.URL + "/api/v1/openapi.json", "base_url": api.URL + "/api/v1", "auth": map[string]string{"type": "bearer", "token": testkit.AdminKey},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := instance.Do(t, http.MethodPost, "/api/v1/servers/preview/steps", string(body))
	at := 0
	for _, want := range []string{`"step":"fetch"`, `"step":"read"`, `"step":"tools"`, `"step":"preview"`, "event: result", `"file":"openapi.json"`} {
		i := strings.Index(r.Body[at:], want)
		if i < 0 {
			t.Fatalf("%d: no %s after %d bytes of %.2000s", r.Status, want, at, r.Body)
		}
		at += i
	}
	var got struct{ Document string }
	text := instance.Do(t, http.MethodPost, "/api/v1/servers/preview/document", string(body))
	if err := json.Unmarshal([]byte(text.Body), &got); err != nil || !strings.Contains(got.Document, `"openapi":"3.1.0"`) {
		t.Errorf("the text: %d %.300s", text.Status, text.Body)
	}
	if list := instance.Do(t, http.MethodGet, "/api/v1/servers", ""); strings.Contains(list.Body, "auto-generated") {
		t.Errorf("something was stored: %s", list.Body)
	}
}

// A text is fetched from where a document might be, and from nowhere else.
func TestTextsComeThroughEgress(t *testing.T) {
	t.Parallel()
	api, instance := testkit.Start(t, nil), testkit.Start(t, nil)
	user := instance.Do(t, http.MethodPost, "/api/v1/users", `{"name":"dev","role":"developer"}`)
	var made struct{ ID string }
	if err := json.Unmarshal([]byte(user.Body), &made); err != nil || made.ID == "" {
		t.Fatalf("%d %s", user.Status, user.Body)
	}
	key := instance.Do(t, http.MethodPost, "/api/v1/keys", `{"name":"k","user":"`+made.ID+`","scopes":["servers:write"]}`)
	var token struct{ Key string }
	if err := json.Unmarshal([]byte(key.Body), &token); err != nil || token.Key == "" {
		t.Fatalf("%d %s", key.Status, key.Body)
	}
	for _, address := range []string{api.URL + "/healthz", "file:///etc/hostname", "http://169.254.169.254/latest/meta-data", ""} {
		body, err := json.Marshal(map[string]string{"document_url": address})
		if err != nil {
			t.Fatal(err)
		}
		if r := instance.Do(t, http.MethodPost, "/api/v1/servers/preview/document", string(body), "Authorization: Bearer "+token.Key); r.Status < 400 {
			t.Errorf("%q: %d %s", address, r.Status, r.Body)
		}
	}
}
