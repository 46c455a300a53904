package app_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/internal/testkit"
)

// sourceWorld is an instance with a second tenant, and keys that send events.
type sourceWorld struct {
	*testkit.Instance
	ours, theirs string // headers of keys with the scope events:send
	admin        string // of the second tenant
}

func newSourceWorld(t *testing.T) sourceWorld {
	t.Helper()
	w := sourceWorld{Instance: testkit.Start(t, nil)}
	made := func(path, body string, header ...string) (key string) {
		t.Helper()
		r := w.Do(t, http.MethodPost, "/api/v1"+path, body, header...)
		var out struct {
			Key      string `json:"key"`
			AdminKey struct {
				Key string `json:"key"`
			} `json:"admin_key"`
		}
		if err := json.Unmarshal([]byte(r.Body), &out); err != nil || r.Status != http.StatusCreated {
			t.Fatalf("%s: %d %s", path, r.Status, r.Body)
		}
		return "Authorization: Bearer " + out.Key + out.AdminKey.Key
	}
	const key = `{"name":"sender","scopes":["events:send"]}`
	w.ours = made("/keys", key)
	w.admin = made("/tenants", `{"id":"acme"}`)
	w.theirs = made("/keys", key, w.admin)
	return w
}

// Who sends events learns nothing of the sources of other tenants, and cannot
// send in the name of a source of their own tenant whose messages are signed.
func TestSendingInTheNameOfASource(t *testing.T) {
	t.Parallel()
	w := newSourceWorld(t)
	for _, id := range []string{"shop", "api"} {
		if r := w.Do(t, http.MethodPost, "/api/v1/sources", fmt.Sprintf(`{"id":%q,"style":"hmac","secret":"a fine long secret"}`, id)); r.Status != http.StatusCreated {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
	}
	for _, c := range []struct {
		name, key, body string
		status          int
	}{
		{"their tenant has no such source", w.theirs, `{"type":"x","source":"shop"}`, http.StatusAccepted},
		{"nobody has such a source", w.theirs, `{"type":"x","source":"nowhere"}`, http.StatusAccepted},
		{"our signed source", w.ours, `{"type":"x","source":"shop"}`, http.StatusForbidden},
		{"our signed source, by leaving it out", w.ours, `{"type":"x"}`, http.StatusForbidden},
		{"a source of ours that is none", w.ours, `{"type":"x","source":"nowhere"}`, http.StatusAccepted},
		{"a chain", w.ours, `{"type":"NewFeedback","source":"chain:base"}`, http.StatusUnprocessableEntity},
	} {
		if r := w.Do(t, http.MethodPost, "/api/v1/events", c.body, c.key); r.Status != c.status {
			t.Errorf("%s: %d %s", c.name, r.Status, r.Body)
		}
	}
}

// A secret that others can guess is refused by every way in, with the field's name.
func TestWeakSecretsAreRefused(t *testing.T) {
	t.Parallel()
	w := newSourceWorld(t)
	if r := w.Do(t, http.MethodPost, "/api/v1/sources", `{"id":"there","style":"standard","secret":"a fine long secret"}`); r.Status != http.StatusCreated {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	for _, secret := range []string{"whpk_AAAAAAAAAAAAAAAAAAAAAAAA", "whsec_YQ==", strings.Repeat(" ", 40), "env:A_VARIABLE_WITH_A_LONG_NAME"} {
		for _, c := range []struct{ method, path, body string }{
			{http.MethodPost, "/sources", `{"id":"new","style":"standard","secret":%q}`},
			{http.MethodPost, "/sources", `{"id":"new","style":"github","secret":%q}`},
			{http.MethodPatch, "/sources/there", `{"secret":%q}`},
		} {
			if r := w.Do(t, c.method, "/api/v1"+c.path, fmt.Sprintf(c.body, secret)); r.Status != http.StatusUnprocessableEntity || !strings.Contains(r.Body, "secret") {
				t.Errorf("%s %s takes %q: %d %s", c.method, c.path, secret, r.Status, r.Body)
			}
		}
		file, err := json.Marshal(map[string]any{"file": fmt.Sprintf("sources: {filed: {style: standard, secret: %q}}", secret)})
		if err != nil {
			t.Fatal(err)
		}
		if r := w.Do(t, http.MethodPost, "/api/v1/apply", string(file)); !strings.Contains(r.Body, `"done":false,"error":"`) {
			t.Errorf("a file with %q is applied: %d %s", secret, r.Status, r.Body)
		}
	}
}

// Whether another tenant has a source of that name is not told when one is made:
// both can have it.
func TestSourceIDsBelongToATenant(t *testing.T) {
	t.Parallel()
	w := newSourceWorld(t)
	const body = `{"id":"shop","style":"hmac","secret":"a fine long secret"}`
	if r := w.Do(t, http.MethodPost, "/api/v1/sources", body); r.Status != http.StatusCreated || !strings.Contains(r.Body, `"path":"/hooks/shop"`) {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	if r := w.Do(t, http.MethodPost, "/api/v1/sources", body); r.Status != http.StatusConflict {
		t.Errorf("a second one: %d %s", r.Status, r.Body)
	}
	if r := w.Do(t, http.MethodPost, "/api/v1/sources", body, w.admin); r.Status != http.StatusCreated || !strings.Contains(r.Body, `"path":"/hooks/acme/shop"`) {
		t.Fatalf("the other tenant's: %d %s", r.Status, r.Body)
	}
	for path, tenant := range map[string]string{"/hooks/shop": "Authorization: Bearer " + testkit.AdminKey, "/hooks/acme/shop": w.admin} {
		mac := hmac.New(sha256.New, []byte("a fine long secret"))
		mac.Write([]byte(`{"type":"paid"}`))
		r := w.Do(t, http.MethodPost, path, `{"type":"paid"}`, "X-Signature-256: "+hex.EncodeToString(mac.Sum(nil)))
		var taken struct {
			ID string `json:"id"`
		}
		if err := json.Unmarshal([]byte(r.Body), &taken); err != nil || r.Status != http.StatusAccepted {
			t.Fatalf("%s: %d %s", path, r.Status, r.Body)
		}
		if r := w.Do(t, http.MethodGet, "/api/v1/events/"+taken.ID, "", tenant); r.Status != http.StatusOK {
			t.Errorf("%s is no event of its tenant: %d %s", path, r.Status, r.Body)
		}
	}
	if r := w.Do(t, http.MethodDelete, "/api/v1/sources/shop", "", w.admin); r.Status != http.StatusNoContent {
		t.Errorf("%d %s", r.Status, r.Body)
	}
	if r := w.Do(t, http.MethodGet, "/api/v1/sources/shop", ""); r.Status != http.StatusOK {
		t.Errorf("ours is gone with theirs: %d %s", r.Status, r.Body)
	}
}
