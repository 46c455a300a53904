package routes

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/testkit"
)

// A key never becomes a password, whatever scopes it has and whether or not its
// user has a password: who finds a narrow key of an admin must not become the admin.
func TestKeySetsNoPassword(t *testing.T) {
	t.Parallel()
	s := start(t)
	const word = "a password of a thief"
	for _, scopes := range []string{`["tools:read"]`, `["keys:write"]`, `["admin"]`} {
		name := s.name()
		s.add("POST", "/users", fmt.Sprintf(`{"name":%q,"role":"admin"}`, name))
		key := s.add("POST", "/keys", fmt.Sprintf(`{"name":"k","user":%q,"scopes":%s}`, name, scopes)).Key
		r := s.ask("PUT", "/api/v1/me/password", `{"password":"`+word+`"}`, "Authorization: Bearer "+key)
		if r.Status != http.StatusForbidden {
			t.Errorf("a key with %s sets its user's first password: %d %s", scopes, r.Status, r.Body)
		}
		form := url.Values{"name": {name}, "password": {word}}.Encode()
		if r := s.ask("POST", "/login", form, "Content-Type: application/x-www-form-urlencoded"); r.Status != http.StatusUnauthorized {
			t.Errorf("and signs in as the user: %d", r.Status)
		}
	}
	if r := s.ask("PUT", "/api/v1/me/password", `{"password":"a fine long password"}`, s.callers["login"]...); r.Status != http.StatusNoContent {
		t.Errorf("a browser that signed in with a link sets the first password: %d %s", r.Status, r.Body)
	}
}

// The password until now can be guessed as often as at the sign-in page, and both
// share their tries.
func TestCurrentPasswordTriesAreLimited(t *testing.T) {
	t.Parallel()
	s := start(t)
	const word = "a fine long password"
	if r := s.ask("PUT", "/api/v1/me/password", `{"password":"`+word+`"}`, s.callers["login"]...); r.Status != http.StatusNoContent {
		t.Fatalf("the first password: %d %s", r.Status, r.Body)
	}
	try := func(current string) testkit.Reply {
		return s.ask("PUT", "/api/v1/me/password", `{"current":"`+current+`","password":"another long password"}`, s.callers["login"]...)
	}
	limited := 0
	for range 20 {
		switch r := try("wrong"); r.Status {
		case http.StatusForbidden:
		case http.StatusTooManyRequests:
			limited++
			if r.Header.Get("Retry-After") == "" {
				t.Errorf("says not when to come back: %s", r.Body)
			}
		default:
			t.Fatalf("%d %s", r.Status, r.Body)
		}
	}
	if limited < 9 {
		t.Errorf("%d of 20 guesses were refused, want 10 or so", limited)
	}
	if r := try(word); r.Status != http.StatusTooManyRequests {
		t.Errorf("the right one after too many: %d %s", r.Status, r.Body)
	}
	form := url.Values{"name": {"lou-" + within}, "password": {word}}.Encode()
	if r := s.ask("POST", "/login", form, "Content-Type: application/x-www-form-urlencoded"); r.Status != http.StatusTooManyRequests {
		t.Errorf("the sign-in page after too many guesses elsewhere: %d", r.Status)
	}
	s.browser() // a link still signs the owner in
}

// What a key makes ends with it: keys, keys of agents, and tokens that a rotation
// gives. What could not end with it, a key that expires does not make.
func TestShortLivedKeyMakesNothingThatOutlivesIt(t *testing.T) {
	t.Parallel()
	s := start(t)
	until := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	short := func(scopes string) []string {
		key := s.add("POST", "/keys", fmt.Sprintf(`{"name":"short","user":"ada-%s","scopes":%s,"expires_at":%q}`, within, scopes, until.Format(time.RFC3339))).Key
		return []string{"Authorization: Bearer " + key}
	}
	maker, admin := short(`["keys:write","agents:write","tools:read","tools:call"]`), short(`["admin"]`)
	expiry := func(body string) time.Time {
		t.Helper()
		var k struct {
			ExpiresAt time.Time `json:"expires_at"`
			AdminKey  struct {
				ExpiresAt time.Time `json:"expires_at"`
			} `json:"admin_key"`
		}
		if err := json.Unmarshal([]byte(body), &k); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		if k.ExpiresAt.IsZero() {
			return k.AdminKey.ExpiresAt
		}
		return k.ExpiresAt
	}
	later := until.Add(time.Second).Format(time.RFC3339)
	for who, caller := range map[string][]string{"keys:write": maker, "admin": admin} {
		r := s.ask("POST", "/api/v1/keys", `{"name":"x","scopes":["tools:read"]}`, caller...)
		if at := expiry(r.Body); r.Status != http.StatusCreated || at.IsZero() || at.After(until) {
			t.Errorf("%s makes a key: %d, until %v and not %v", who, r.Status, at, until)
		}
		if r := s.ask("POST", "/api/v1/keys", `{"name":"x","scopes":["tools:read"],"expires_at":"`+later+`"}`, caller...); r.Status != http.StatusForbidden {
			t.Errorf("%s makes a key that outlives it: %d %s", who, r.Status, r.Body)
		}
		r = s.ask("POST", "/api/v1/agents", `{"name":"`+s.name()+`"}`, caller...)
		if r.Status != http.StatusCreated && who == "admin" || r.Status == http.StatusCreated && s.agentKeyOutlives(r.Body, until) {
			t.Errorf("%s makes an agent whose key outlives it: %d %s", who, r.Status, r.Body)
		}
		lasting := s.add("POST", "/keys", `{"name":"lasting","user":"ada-`+within+`","scopes":["tools:read"]}`).ID
		if r := s.ask("POST", "/api/v1/keys/"+lasting+"/rotate", `{}`, caller...); r.Status != http.StatusForbidden {
			t.Errorf("%s rotates a key that outlives it: %d %s", who, r.Status, r.Body)
		}
	}
	user := s.add("POST", "/users", `{"name":"`+s.name()+`"}`).ID
	for _, c := range []struct{ method, path, body string }{
		{"PUT", "/users/" + user + "/password", `{"password":"a fine long password"}`},
		{"POST", "/users/" + user + "/link", ""},
		{"POST", "/tenants", `{"id":"` + s.name() + `"}`},
		{"POST", "/tenants/elsewhere/key", ""},
	} {
		if r := s.ask(c.method, "/api/v1"+c.path, c.body, admin...); r.Status != http.StatusForbidden {
			t.Errorf("an admin's key that expires: %s %s: %d %s", c.method, c.path, r.Status, r.Body)
		}
	}
	own := s.ask("POST", "/api/v1/keys", `{"name":"x","scopes":["tools:read"],"expires_at":"`+until.Add(-time.Minute).Format(time.RFC3339)+`"}`, maker...)
	var k made
	if err := json.Unmarshal([]byte(own.Body), &k); err != nil || own.Status != http.StatusCreated {
		t.Fatalf("a shorter key: %d %s", own.Status, own.Body)
	}
	if r := s.ask("POST", "/api/v1/keys/"+k.ID+"/rotate", `{}`, maker...); r.Status != http.StatusOK {
		t.Errorf("rotate a key that ends before: %d %s", r.Status, r.Body)
	}
}

// agentKeyOutlives says whether the key in the answer to a new agent ends later.
func (s *scene) agentKeyOutlives(body string, until time.Time) bool {
	s.t.Helper()
	var a made
	if err := json.Unmarshal([]byte(body), &a); err != nil || a.Key == "" {
		s.t.Fatalf("no key of an agent: %s", body)
	}
	var list struct{ Items []junctor.Key }
	if err := json.Unmarshal([]byte(s.Do(s.t, "GET", "/api/v1/keys", "").Body), &list); err != nil {
		s.t.Fatal(err)
	}
	for _, k := range list.Items {
		if k.Prefix != "" && strings.HasPrefix(a.Key, k.Prefix) {
			return k.ExpiresAt.IsZero() || k.ExpiresAt.After(until)
		}
	}
	s.t.Fatalf("the key of the agent is not listed: %s", body)
	return true
}

// The former token of a rotated key makes nothing that outlives its grace: who
// stole it would keep the key for good by rotating it again.
func TestFormerTokenRotatesNothing(t *testing.T) {
	t.Parallel()
	s := start(t)
	first := s.add("POST", "/keys", `{"name":"k","user":"dan-`+within+`","scopes":["keys:write","tools:read"]}`)
	s.add("POST", "/keys/"+first.ID+"/rotate", `{"grace_seconds":600}`)
	stolen := "Authorization: Bearer " + first.Key
	if r := s.ask("POST", "/api/v1/keys/"+first.ID+"/rotate", `{}`, stolen); r.Status != http.StatusForbidden {
		t.Errorf("the former token rotates its key: %d %s", r.Status, r.Body)
	}
	r := s.ask("POST", "/api/v1/keys", `{"name":"x","scopes":["tools:read"]}`, stolen)
	var k junctor.Key
	if err := json.Unmarshal([]byte(r.Body), &k); err != nil || k.ExpiresAt.IsZero() || time.Until(k.ExpiresAt) > 10*time.Minute {
		t.Errorf("the former token makes a key until %v: %d %s", k.ExpiresAt, r.Status, r.Body)
	}
}
