package signin_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/identity"
	"github.com/junctor-mcp/junctor/internal/signin"
	"github.com/junctor-mcp/junctor/internal/store/sqlite"
	"github.com/junctor-mcp/junctor/internal/store/storetest"
)

// open seals nothing: no flow of an identity provider begins here.
type open struct{}

func (open) Seal(string, []byte) string { return "" }
func (open) Open(string, string) ([]byte, error) {
	return nil, junctor.Errorf(junctor.CodeInvalid, "nothing")
}

// Passwords can be tried a few times, then once in a while, for a name from
// anywhere and from an address for any name; whether there is such a user makes
// no difference.
func TestTries(t *testing.T) {
	t.Parallel()
	st, err := sqlite.Open(t.Context(), storetest.Fresh(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	id, err := identity.New(t.Context(), identity.Config{Store: st})
	if err != nil {
		t.Fatal(err)
	}
	ann, err := id.CreateUser(t.Context(), junctor.DefaultTenant, identity.NewUser{Name: "ann", Role: junctor.UserViewer})
	if err != nil {
		t.Fatal(err)
	}
	if err := id.SetPassword(t.Context(), ann.Tenant, ann.ID, password, ""); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	s, err := signin.New(signin.Options{
		Identity: id, URL: func() string { return "https://junctor.example" }, Sealer: open{}, Now: func() time.Time { return now },
		UseState: func(context.Context, string, time.Time) (bool, error) { return true, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	s.Routes(mux)
	try := func(name, word, from string) (int, int) {
		t.Helper()
		r := httptest.NewRequest(http.MethodPost, "https://junctor.example/login", strings.NewReader(url.Values{"name": {name}, "password": {word}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.RemoteAddr = from
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		wait, _ := strconv.Atoi(w.Header().Get("Retry-After"))
		return w.Code, wait
	}
	for _, name := range []string{"ann", "nobody"} {
		for n := range 10 { // from ever other places
			if code, _ := try(name, "wrong", "10.0."+strconv.Itoa(n)+".1:1"); code != 401 {
				t.Fatalf("try %d for %s: %d", n, name, code)
			}
		}
		if code, wait := try(strings.ToUpper(name), password, "10.1.0.1:1"); code != 429 || wait < 1 || wait > 30 {
			t.Errorf("one more for %s: %d, %d s", name, code, wait)
		}
	}
	now = now.Add(30 * time.Second)
	if code, _ := try("ann", password, "10.1.0.1:1"); code != 200 {
		t.Errorf("after a while: %d", code)
	}
	for n := range 30 { // one network, ever other names
		if code, _ := try("name "+strconv.Itoa(n), "wrong", "[2001:db8::"+strconv.Itoa(n+1)+"]:1"); code != 401 {
			t.Fatalf("try %d: %d", n, code)
		}
	}
	if code, wait := try("ann", password, "[2001:db8::ffff]:1"); code != 429 || wait < 1 || wait > 10 {
		t.Errorf("one more: %d, %d s", code, wait)
	}
	if code, _ := try("eve", "wrong", "[2001:db8:1::1]:1"); code != 401 {
		t.Errorf("from elsewhere: %d", code)
	}
}
