package generated

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/junctor-mcp/junctor/internal/testkit"
)

// credentialServer is an API that remembers where it was shown which keys.
type credentialServer struct {
	*httptest.Server
	mu   sync.Mutex
	seen string
}

func newKeeper(t *testing.T) *credentialServer {
	t.Helper()
	k := &credentialServer{}
	k.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.seen = fmt.Sprintf("%s|%s|%s", r.URL.RawQuery, r.Header.Get("Cookie"), r.Header.Get("X-Pets"))
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"said":"`+k.seen+`"}`)
	}))
	t.Cleanup(k.Close)
	return k
}

// last is what the last request showed.
func (k *credentialServer) last() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	seen := k.seen
	k.seen = ""
	return seen
}

func document(place, name string) string {
	return fmt.Sprintf(`{"openapi":"3.1.0","info":{"title":"Pets","version":"1"},"security":[{"key":[]}],
		"components":{"securitySchemes":{"key":{"type":"apiKey","in":%q,"name":%q}}},
		"paths":{"/pets":{"get":{"operationId":"listPets","description":"List pets.","parameters":[
			{"name":"q","in":"query","schema":{"type":"string"}},{"name":"theme","in":"cookie","schema":{"type":"string"}}],"responses":{"200":{"description":"ok"}}}}}}`, place, name)
}

func addServer(t *testing.T, i *testkit.Instance, body string) {
	t.Helper()
	if r := i.Do(t, http.MethodPost, "/api/v1/servers", body); r.Status != http.StatusCreated {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
}

// credentialPlaces are where documents want a key, and what a request looks like that has
// key in it beside its arguments.
func credentialPlaces(key string) []struct{ place, name, want string } {
	return []struct{ place, name, want string }{
		{"query", "api_key", "q=x&api_key=" + key + "|theme=dark|"},
		{"cookie", "sid", "q=x|theme=dark; sid=" + key + "|"},
		{"header", "X-Pets", "q=x|theme=dark|" + key},
	}
}

// A key goes where the document says, beside what arguments put there, and is
// taken out of what the API answers.
func TestKeyWhereTheDocumentSays(t *testing.T) {
	t.Parallel()
	instance := testkit.Start(t, testkit.Settings{"egress-allow": "127.0.0.0/8"})
	for _, c := range credentialPlaces("shared-secret-key") {
		api := newKeeper(t)
		addServer(t, instance, fmt.Sprintf(`{"id":%q,"mode":"auto-generated","document":%q,"base_url":%q,"auth":{"type":"api-key","key":"shared-secret-key"}}`, c.place, document(c.place, c.name), api.URL))
		r := instance.Do(t, http.MethodPost, "/api/v1/tools/"+c.place+"__list_pets/call", `{"arguments":{"q":"x","theme":"dark"}}`)
		if got := api.last(); got != c.want {
			t.Errorf("in %s: the API saw %q, want %q: %s", c.place, got, c.want, r.Body)
		}
		if strings.Contains(r.Body, "shared-secret-key") {
			t.Errorf("in %s: the answer has the key: %s", c.place, r.Body)
		}
	}
}

// Each user's calls carry that user's key, where the document says; who has
// entered none calls with none.
func TestKeyOfEachUser(t *testing.T) {
	t.Parallel()
	instance := testkit.Start(t, testkit.Settings{"egress-allow": "127.0.0.0/8"})
	keys := map[string]string{}
	for _, name := range []string{"ann", "bob", "eve"} {
		if r := instance.Do(t, http.MethodPost, "/api/v1/users", `{"name":"`+name+`","role":"developer","tier":"unlimited"}`); r.Status != http.StatusCreated {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		r := instance.Do(t, http.MethodPost, "/api/v1/keys", `{"name":"`+name+`","user":"`+name+`","scopes":["tools:read","tools:call"]}`)
		_, key, _ := strings.Cut(r.Body, `"key":"`)
		keys[name], _, _ = strings.Cut(key, `"`)
	}
	for i, c := range credentialPlaces("KEY") {
		api := newKeeper(t)
		shared := []string{`,"auth":{"type":"api-key","key":"of-nobody"}`, "", ""}[i]
		addServer(t, instance, fmt.Sprintf(`{"id":%q,"mode":"auto-generated","document":%q,"base_url":%q,"credentials":"per-user"%s}`, c.place, document(c.place, c.name), api.URL, shared))
		as := func(who string) string { return "Authorization: Bearer " + keys[who] }
		for _, who := range []string{"ann", "bob"} {
			r := instance.Do(t, http.MethodPut, "/api/v1/servers/"+c.place+"/credentials/me", `{"auth":{"type":"api-key","key":"key-of-`+who+`"}}`, as(who))
			if r.Status != http.StatusOK {
				t.Fatalf("%d %s", r.Status, r.Body)
			}
		}
		call := func(who string) testkit.Reply {
			return instance.Do(t, http.MethodPost, "/api/v1/tools/"+c.place+"__list_pets/call", `{"arguments":{"q":"x","theme":"dark"}}`, as(who))
		}
		for _, who := range []string{"ann", "bob", "ann"} {
			r := call(who)
			if got, want := api.last(), strings.ReplaceAll(c.want, "KEY", "key-of-"+who); got != want {
				t.Errorf("in %s, %s: the API saw %q, want %q: %s", c.place, who, got, want, r.Body)
			}
			if strings.Contains(r.Body, "key-of-") {
				t.Errorf("in %s, %s: the answer has the key: %s", c.place, who, r.Body)
			}
		}
		if r := call("eve"); api.last() != "" || !strings.Contains(r.Body, "credentials") {
			t.Errorf("in %s, without a key: %d %s", c.place, r.Status, r.Body)
		}
	}
}
