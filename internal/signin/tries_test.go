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

// desk is a sign-in page with one user, ann, on the clock of the test.
type desk struct {
	t   *testing.T
	id  *identity.Identity
	ann junctor.User
	now time.Time

	page *signin.SignIn
	mux  *http.ServeMux
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	st, err := sqlite.Open(t.Context(), storetest.Fresh(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	d := &desk{t: t, now: time.Now(), mux: http.NewServeMux()}
	if d.id, err = identity.New(t.Context(), identity.Config{Store: st}); err != nil {
		t.Fatal(err)
	}
	if d.ann, err = d.id.CreateUser(t.Context(), junctor.DefaultTenant, identity.NewUser{Name: "ann", Role: junctor.UserViewer}); err != nil {
		t.Fatal(err)
	}
	if err := d.id.SetPassword(t.Context(), d.ann.Tenant, d.ann.ID, password, ""); err != nil {
		t.Fatal(err)
	}
	d.page, err = signin.New(signin.Options{
		Identity: d.id, URL: func() string { return "https://junctor.example" }, Sealer: open{}, Now: func() time.Time { return d.now },
		UseState: func(context.Context, string, time.Time) (bool, error) { return true, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	d.page.Routes(d.mux)
	return d
}

// post sends the form of the page, and gives the status and the seconds to wait.
func (d *desk) post(form url.Values, from string) (int, int) {
	d.t.Helper()
	r := httptest.NewRequest(http.MethodPost, "https://junctor.example/login", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.RemoteAddr = from
	w := httptest.NewRecorder()
	d.mux.ServeHTTP(w, r)
	wait, _ := strconv.Atoi(w.Header().Get("Retry-After"))
	return w.Code, wait
}

func (d *desk) try(name, word, from string) (int, int) {
	d.t.Helper()
	return d.post(url.Values{"name": {name}, "password": {word}}, from)
}

// However a name is written, its tries are counted together.
func TestTriesCountTheResolvedName(t *testing.T) {
	t.Parallel()
	for _, names := range [][]string{
		{"ann", "ann ", " ann", "\u00a0ann", "ann\u3000", "default/ann", "/ann", " default/ann\t", "ANN", "DEFAULT/Ann"},
		{"zo\u00eb", "zoe\u0308", "ZO\u00cb", "default/zoe\u0308 "},
		{"\ufb01n", "fin", "FIN"},
	} {
		d := newDesk(t)
		for n := range 10 {
			if code, _ := d.try(names[n%len(names)], "wrong", "10.0."+strconv.Itoa(n)+".1:1"); code != 401 {
				t.Fatalf("try %d for %q: %d", n, names[n%len(names)], code)
			}
		}
		for n, name := range names {
			if code, _ := d.try(name, password, "10.1."+strconv.Itoa(n)+".1:1"); code != 429 {
				t.Errorf("%q after too many tries for its other forms: %d", name, code)
			}
		}
		if code, _ := d.try("acme/ann", "wrong", "10.2.0.1:1"); code != 401 {
			t.Errorf("a user of another tenant: %d", code)
		}
	}
}

// A site of IPv6 with 2^16 networks has tries of its own, too.
func TestTriesOfASite(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	try := func(name, from string) error {
		r := httptest.NewRequest(http.MethodPost, "https://junctor.example/login", nil)
		r.RemoteAddr = from
		return d.page.TryPassword(r, junctor.DefaultTenant, name)
	}
	refused := 0
	for n := range 130 { // ever other networks, and ever other names
		err := try("name "+strconv.Itoa(n), "[2001:db8:1:"+strconv.FormatInt(int64(n+1), 16)+"::1]:1")
		if junctor.CodeOf(err) == junctor.CodeLimited && junctor.AsError(err).RetryAfter > 0 {
			refused++
		}
	}
	if refused != 30 {
		t.Errorf("%d of 130 tries from ever other networks of one site were refused, want 30", refused)
	}
	if err := try("eve", "[2001:db8:2::1]:1"); err != nil {
		t.Errorf("from another site: %v", err)
	}
}

// Who uses up the tries of a name keeps its owner from the password alone: a link
// signs them in.
func TestTriesLockNoOwnerOut(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for n := range 20 {
		d.try("ann", "wrong", "10.0."+strconv.Itoa(n)+".1:1")
	}
	if code, _ := d.try("ann", password, "10.9.0.1:1"); code != 429 {
		t.Fatalf("the password: %d", code)
	}
	token, _, err := d.id.CreateLink(t.Context(), d.ann.Tenant, d.ann.ID)
	if err != nil {
		t.Fatal(err)
	}
	if code, _ := d.post(url.Values{"token": {token}}, "10.0.1.1:1"); code != 200 {
		t.Errorf("a link: %d", code)
	}
}

// Passwords can be tried a few times, then once in a while, for a name from
// anywhere and from an address for any name; whether there is such a user makes
// no difference.
func TestTries(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	try := d.try
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
	d.now = d.now.Add(30 * time.Second)
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
