// Package usercredentials holds what is promised of servers that are called with the
// credentials of each user, against whole instances and real MCP servers: nobody
// ever acts with another's.
package usercredentials

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/internal/testkit/upstreams"
	"github.com/junctor-mcp/junctor/test/program"
)

const lists = "discovery-token" // that the server itself has

// upstream is an MCP server that knows whose token is whose. It wants each call
// to carry the token of the user that the call says it is by, and each connection and
// session to be one user's.
type upstream struct {
	URL string

	calls  atomic.Int64
	mu     sync.Mutex
	faults []string
	refuse map[string]bool   // tokens that are not taken any more
	whose  map[string]string // a connection or a session -> its user
	tokens map[string]int    // how many calls came with each
}

var nonceIn = regexp.MustCompile(`"nonce":"([a-z]+)-`)

// tokenOwner of a token user.generation.
func tokenOwner(token string) string {
	user, _, _ := strings.Cut(token, ".")
	return user
}

func serve(t *testing.T, way upstreams.Way) *upstream {
	t.Helper()
	u := &upstream{refuse: map[string]bool{}, whose: map[string]string{}, tokens: map[string]int{}}
	gone := make(chan struct{})
	sdk := upstreams.New(&upstreams.Counts{}, gone)
	get := func(*http.Request) *mcp.Server { return sdk }
	var h http.Handler
	switch way {
	case upstreams.SSE:
		h = mcp.NewSSEHandler(get, nil)
	case upstreams.Legacy:
		h = mcp.NewStreamableHTTPHandler(get, nil)
	case upstreams.JSON:
		h = mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{JSONResponse: true})
	case upstreams.Modern:
		h = mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: true})
	}
	hs := httptest.NewServer(u.guard(h))
	u.URL = hs.URL
	t.Cleanup(func() {
		close(gone)
		for ss := range sdk.Sessions() {
			_ = ss.Close()
		}
		_ = hs.Config.Close()
		hs.Close()
	})
	return u
}

func (u *upstream) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if bytes.Contains(body, []byte(`"tools/call"`)) { // lists are read, and listened for, besides
			u.calls.Add(1)
		}
		if !ok || !u.admitRequest(r, token, body) {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// admitRequest says whether a token is taken, and notes what must not be.
func (u *upstream) admitRequest(r *http.Request, token string, body []byte) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.refuse[token] {
		return false
	}
	if m := nonceIn.FindSubmatch(body); m != nil {
		u.tokens[token]++
		if string(m[1]) != tokenOwner(token) {
			u.faults = append(u.faults, fmt.Sprintf("a call of %s came with %s", m[1], token))
		}
	}
	for _, name := range []string{"connection " + r.RemoteAddr, "session " + r.Header.Get("Mcp-Session-Id") + r.URL.Query().Get("sessionid")} {
		if name == "session " {
			continue
		}
		if was, known := u.whose[name]; known && was != tokenOwner(token) {
			u.faults = append(u.faults, fmt.Sprintf("the %s was %s's, and %s used it", name, was, token))
		}
		u.whose[name] = tokenOwner(token)
	}
	return true
}

func (u *upstream) usesOf(token string) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.tokens[token]
}

func (u *upstream) checkUpstream(t *testing.T) {
	t.Helper()
	u.mu.Lock()
	defer u.mu.Unlock()
	for i, f := range u.faults {
		if i < 5 {
			t.Error(f)
		}
	}
	if len(u.faults) > 0 {
		t.Errorf("%d faults", len(u.faults))
	}
}

// rig is an instance with such a server.
type rig struct {
	*testkit.Instance
	t  *testing.T
	up *upstream
}

func start(t *testing.T, way upstreams.Way) *rig {
	t.Helper()
	r := &rig{testkit.Start(t, testkit.Settings{"egress-allow": "127.0.0.0/8"}), t, serve(t, way)}
	r.request(201, "POST", "/servers", fmt.Sprintf(`{"id":"notes","transport":%q,"url":%q,"credentials":"per-user","auth":{"type":"bearer","token":%q}}`, way.Transport(), r.up.URL, lists), "")
	return r
}

func (r *rig) request(status int, method, path, body, key string) string {
	r.t.Helper()
	var header []string
	if key != "" {
		header = []string{"Authorization: Bearer " + key}
	}
	a := r.Do(r.t, method, "/api/v1"+path, body, header...)
	if a.Status != status {
		r.t.Fatalf("%s %s %s: %d, want %d\n%s", method, path, body, a.Status, status, a.Body)
	}
	return a.Body
}

// user makes a user and gives their id and key.
func (r *rig) user(name string, role junctor.UserRole) (id, key string) {
	r.t.Helper()
	var user struct{ ID string }
	read(r.t, r.request(201, "POST", "/users", fmt.Sprintf(`{"name":%q,"role":%q,"tier":"unlimited"}`, name, role), ""), &user)
	var made struct{ Key string }
	scopes, err := json.Marshal(role.Scopes())
	if err != nil {
		r.t.Fatal(err)
	}
	read(r.t, r.request(201, "POST", "/keys", fmt.Sprintf(`{"name":%q,"user":%q,"scopes":%s}`, name, name, scopes), ""), &made)
	return user.ID, made.Key
}

func read(t *testing.T, body string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), into); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
}

// enterToken stores a user's token.
func (r *rig) enterToken(key, token string) {
	r.t.Helper()
	if got := r.request(200, "PUT", "/servers/notes/credentials/me", fmt.Sprintf(`{"auth":{"type":"bearer","token":%q}}`, token), key); strings.Contains(got, token) {
		r.t.Errorf("the answer has the token: %s", got)
	}
}

// call calls the tool as somebody, and says what came.
func call(t *testing.T, c *program.Caller, nonce string) program.Answer {
	t.Helper()
	a, err := c.Call(t.Context(), "notes__tag", fmt.Sprintf(`{"nonce":%q}`, nonce))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Users call at the same time, in every era of client and server: the server
// never sees one's token, connection or session with another's call.
func TestNeverAnothersCredentials(t *testing.T) {
	t.Parallel()
	for _, way := range upstreams.Ways() {
		t.Run(string(way), func(t *testing.T) {
			t.Parallel()
			r := start(t, way)
			keys := map[string][]string{}
			for _, name := range []string{"ann", "bob"} {
				_, key := r.user(name, junctor.UserDeveloper)
				r.enterToken(key, name+".1")
				var agent struct{ Key string }
				read(t, r.request(201, "POST", "/agents", fmt.Sprintf(`{"name":"of-%s","tools":["notes/*"]}`, name), key), &agent)
				keys[name] = []string{key, agent.Key} // what an agent does, it does with its user's
			}
			calls := 12
			if program.Long() {
				calls = 500
			}
			var group sync.WaitGroup
			for g := range 64 {
				name := []string{"ann", "bob"}[g%2]
				c := program.NewCaller(t, program.Eras()[g/2%3], r.URL, keys[name][g/6%2])
				group.Go(func() {
					for n := range calls {
						nonce := fmt.Sprintf("%s-%d-%d", name, g, n)
						if a, err := c.Call(t.Context(), "notes__tag", fmt.Sprintf(`{"nonce":%q}`, nonce)); err != nil || !strings.Contains(a.Body, nonce) {
							t.Errorf("%s: %v %s", nonce, err, a.Body)
							return
						}
					}
				})
			}
			group.Wait()
			r.up.checkUpstream(t)
			if ann, bob := r.up.usesOf("ann.1"), r.up.usesOf("bob.1"); ann != 32*calls || bob != 32*calls || r.up.usesOf(lists) != 0 {
				t.Errorf("%d calls of ann, %d of bob, %d with the server's own", ann, bob, r.up.usesOf(lists))
			}
		})
	}
}

// Two who have entered the same share nothing all the same.
func TestSameTokenIsNoReasonToShare(t *testing.T) {
	t.Parallel()
	for _, way := range upstreams.Ways() {
		t.Run(string(way), func(t *testing.T) {
			t.Parallel()
			r := start(t, way)
			var after []int
			for _, name := range []string{"ann", "bob"} {
				_, key := r.user(name, junctor.UserDeveloper)
				r.enterToken(key, "team.1")
				for range 2 {
					if a := call(t, program.NewCaller(t, program.Plain, r.URL, key), "team-1"); !a.OK {
						t.Fatal(a.Body)
					}
				}
				after = append(after, r.sessions())
			}
			if after[1] != after[0]+1 { // the server's own link may open at any time before
				t.Errorf("%d links after ann called, %d after bob did", after[0], after[1])
			}
		})
	}
}

// A credential that is changed under load holds for the next call, fails none,
// and what was opened with the former is closed.
func TestChangedUnderLoad(t *testing.T) {
	t.Parallel()
	for _, way := range upstreams.Ways() {
		t.Run(string(way), func(t *testing.T) {
			t.Parallel()
			r := start(t, way)
			_, key := r.user("ann", junctor.UserDeveloper)
			r.enterToken(key, "ann.0")
			const generations = 6
			var now atomic.Int64 // the generation that is stored for certain
			stop := make(chan struct{})
			var group sync.WaitGroup
			for g := range 8 {
				c := program.NewCaller(t, program.Eras()[g%3], r.URL, key)
				group.Go(func() {
					for n := 0; ; n++ {
						select {
						case <-stop:
							return
						default:
						}
						nonce := fmt.Sprintf("ann-%d-%d", g, n)
						if a, err := c.Call(t.Context(), "notes__tag", fmt.Sprintf(`{"nonce":%q}`, nonce)); err != nil || !strings.Contains(a.Body, nonce) {
							t.Errorf("generation %d: %v %s", now.Load(), err, a.Body)
							return
						}
					}
				})
			}
			c := program.NewCaller(t, program.Plain, r.URL, key)
			for gen := 1; gen < generations; gen++ {
				token := fmt.Sprint("ann.", gen)
				r.enterToken(key, token)
				now.Store(int64(gen))
				before := r.up.usesOf(token)
				if a := call(t, c, "ann-next"); !a.OK {
					t.Errorf("%s", a.Body)
				}
				if r.up.usesOf(token) <= before {
					t.Errorf("the call after the change was not made with %s", token)
				}
			}
			close(stop)
			group.Wait()
			r.up.checkUpstream(t)
			r.request(204, "DELETE", "/servers/notes/credentials/me", "", key)
			r.until("no connection of ann is left", func() bool { return r.sessions() <= 1 })
			if a := call(t, c, "ann-none"); a.OK || !strings.Contains(a.Body, `"unauthenticated"`) {
				t.Errorf("after it was erased: %s", a.Body)
			}
		})
	}
}

// sessions is how many links the instance has to the server.
func (r *rig) sessions() int {
	var d struct {
		Diagnostics struct{ Sessions int }
	}
	read(r.t, r.request(200, "GET", "/servers/notes", "", ""), &d)
	return d.Diagnostics.Sessions
}

func (r *rig) until(what string, holds func() bool) {
	r.t.Helper()
	poll.Until(r.t, what, time.Minute, holds)
}

// Who has entered nothing is told where to, on every endpoint, and the server hears
// nothing of it. There is no falling back on anybody's.
func TestMissing(t *testing.T) {
	t.Parallel()
	r := start(t, upstreams.Modern)
	_, ann := r.user("ann", junctor.UserAdmin)
	r.enterToken(ann, "ann.1")
	_, bob := r.user("bob", junctor.UserDeveloper)
	var agent, orphan struct{ Key string }
	read(t, r.request(201, "POST", "/agents", `{"name":"his","tools":["notes/*"]}`, bob), &agent)
	read(t, r.request(201, "POST", "/agents", `{"name":"nobodys","tools":["notes/*"]}`, ""), &orphan)

	at := r.URL + "/api/v1/servers/notes/credentials/me"
	heard := r.up.calls.Load()
	for _, era := range program.Eras() {
		for key, want := range map[string][]string{
			bob:              {at, "junctor server credential set notes", "with your own credentials"},
			agent.Key:        {at, "the agent his"},
			orphan.Key:       {"the agent nobodys"},
			testkit.AdminKey: {"belongs to no user"},
		} {
			a := call(t, program.NewCaller(t, era, r.URL, key), "bob-1")
			if a.OK || a.Status != http.StatusOK || !strings.Contains(a.Body, `"code":"unauthenticated"`) {
				t.Errorf("%s: %d %s", era, a.Status, a.Body)
			}
			for _, text := range want {
				if !strings.Contains(a.Body, text) {
					t.Errorf("%s: %q is not in %s", era, text, a.Body)
				}
			}
		}
	}
	// An admin at the endpoint of an agent is that admin still.
	as := r.Do(t, "POST", "/mcp/a/his/request", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"notes__tag","arguments":{"nonce":"bob-2"}}}`)
	if !strings.Contains(as.Body, "unauthenticated") || !strings.Contains(as.Body, "this key belongs to no user") {
		t.Errorf("the admin key as an agent: %s", as.Body)
	}
	rest := r.Do(t, "POST", "/api/v1/tools/notes__tag/call", `{"arguments":{"nonce":"bob-3"}}`, "Authorization: Bearer "+bob)
	if rest.Status != http.StatusForbidden || !strings.Contains(rest.Body, `"code":"unauthenticated"`) || rest.Header.Get("WWW-Authenticate") != "" {
		t.Errorf("by the API: %d %s", rest.Status, rest.Body)
	}
	if n := r.up.calls.Load() - heard; n != 0 {
		t.Errorf("the server heard %d calls", n)
	}
	var page struct{ Items []junctor.Call }
	read(t, r.request(200, "GET", "/calls?user=bob&server=notes", "", ""), &page)
	if len(page.Items) != 7 {
		t.Errorf("%d calls of bob on record", len(page.Items))
	}
	for _, c := range page.Items {
		if c.Code != junctor.CodeUnauthenticated || c.Status != junctor.StatusError || !strings.Contains(c.Reason, "credential set notes") {
			t.Errorf("on record: %+v", c)
		}
	}
	// Who has, calls: ann at the endpoint of his agent, with hers.
	as = r.Do(t, "POST", "/mcp/a/his/request", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"notes__tag","arguments":{"nonce":"ann-1"}}}`, "Authorization: Bearer "+ann)
	if !strings.Contains(as.Body, "ann-1") {
		t.Errorf("ann as his: %s", as.Body)
	}
	r.up.checkUpstream(t)

	// One whose token is refused is told so; for others the server is well.
	r.up.mu.Lock()
	r.up.refuse["bob.1"] = true
	r.up.mu.Unlock()
	r.enterToken(bob, "bob.1")
	if a := call(t, program.NewCaller(t, program.Plain, r.URL, bob), "bob-4"); a.OK || !strings.Contains(a.Body, "unauthenticated") || strings.Contains(a.Body, "bob.1") {
		t.Errorf("a refused token: %s", a.Body)
	}
	if d := r.request(200, "GET", "/servers/notes", "", ""); !strings.Contains(d, `"state":"active"`) {
		t.Errorf("a user's refused token: %s", d)
	}
	r.enterToken(bob, "bob.2")
	if a := call(t, program.NewCaller(t, program.Plain, r.URL, bob), "bob-5"); !a.OK {
		t.Errorf("with another: %s", a.Body)
	}
}

// What users entered goes with them, and with the server, and is nowhere in the
// clear.
func TestErased(t *testing.T) {
	t.Parallel()
	r := start(t, upstreams.Legacy)
	annID, ann := r.user("ann", junctor.UserDeveloper)
	_, bob := r.user("bob", junctor.UserDeveloper)
	const canary = "ann.canary-5d1f0c7e"
	r.enterToken(ann, canary)
	r.enterToken(bob, "bob.1")
	for _, key := range []string{ann, bob} {
		call(t, program.NewCaller(t, program.Modern, r.URL, key), map[string]string{ann: "ann", bob: "bob"}[key]+"-1")
	}
	if got := r.request(200, "GET", "/servers/notes/credentials/me", "", ann); strings.Contains(got, canary) || !strings.Contains(got, `"entered":true`) || !strings.Contains(got, `"secret":"***"`) {
		t.Errorf("shown: %s", got)
	}
	if got := r.request(200, "GET", "/me/credentials", "", bob); strings.Contains(got, "bob.1") || !strings.Contains(got, `"server":"notes"`) {
		t.Errorf("listed: %s", got)
	}
	stored := func() []string {
		var page struct {
			Items []struct{ Owner, Name string }
		}
		read(t, r.request(200, "GET", "/secrets", "", ""), &page)
		var out []string
		for _, s := range page.Items {
			if strings.HasPrefix(s.Owner, "user:") {
				out = append(out, s.Owner)
			}
		}
		return out
	}
	if n := len(stored()); n != 2 {
		t.Fatalf("%d stored", n)
	}
	// An address that is another's is not sent what was entered for this one.
	elsewhere := serve(t, upstreams.Legacy)
	r.request(200, "PATCH", "/servers/notes", fmt.Sprintf(`{"url":%q,"auth":{"type":"bearer","token":%q}}`, elsewhere.URL, lists), "")
	if a := call(t, program.NewCaller(t, program.Modern, r.URL, ann), "ann-2"); a.OK || !strings.Contains(a.Body, "another address") {
		t.Errorf("at another address: %s", a.Body)
	}
	if elsewhere.usesOf(canary) != 0 {
		t.Error("the other address heard it")
	}
	r.request(200, "DELETE", "/users/"+annID, "", "")
	if left := stored(); len(left) != 1 || slices.Contains(left, "user:"+annID) {
		t.Errorf("after ann was deleted: %v", left)
	}
	r.request(204, "DELETE", "/servers/notes", "", "")
	if left := stored(); len(left) != 0 {
		t.Errorf("after the server was deleted: %v", left)
	}
	r.Stop()
	if strings.Contains(r.Log.String(), "canary-5d1f0c7e") {
		t.Error("the token is in the log")
	}
	err := filepath.WalkDir(r.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte("canary-5d1f0c7e")) {
			t.Errorf("the token is in %s", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Credentials are entered by users for themselves, and read from nowhere.
func TestWhoCanEnterCredentials(t *testing.T) {
	t.Parallel()
	r := start(t, upstreams.Modern)
	_, ann := r.user("ann", junctor.UserDeveloper)
	_, eve := r.user("eve", junctor.UserViewer)
	var agent struct{ Key string }
	read(t, r.request(201, "POST", "/agents", `{"name":"hers","tools":["notes/*"]}`, ann), &agent)
	const at = "/servers/notes/credentials/me"
	good := `{"auth":{"type":"bearer","token":"ann.1"}}`
	r.request(403, "PUT", at, good, "")        // the admin key is no user's
	r.request(403, "PUT", at, good, eve)       // does not call
	r.request(403, "PUT", at, good, agent.Key) // nor does an agent enter anything
	r.request(404, "PUT", "/servers/none/credentials/me", good, ann)
	r.request(422, "PUT", "/servers/demo/credentials/me", good, ann)
	for _, bad := range []string{
		`{}`, `{"auth":{"type":"none"}}`, `{"auth":{"type":"bearer"}}`, `{"auth":{"type":"bearer","token":"***"}}`, `{"auth":{"type":"bearer","token":"env:HOME"}}`,
		`{"headers":{"X-Key":"file:/etc/passwd"}}`, `{"headers":{"Host":"x"}}`, `{"auth":{"type":"bearer","token":"cmd:id"}}`,
	} {
		r.request(422, "PUT", at, bad, ann)
	}
	r.request(404, "DELETE", at, "", ann)
	r.request(200, "PUT", at, `{"headers":{"Authorization":"Bearer ann.2"}}`, ann)
	if a := call(t, program.NewCaller(t, program.Modern, r.URL, agent.Key), "ann-1"); !a.OK {
		t.Errorf("by a header: %s", a.Body)
	}
	if r.up.usesOf("ann.2") != 1 {
		t.Error("the header did not come")
	}
	r.request(422, "POST", "/servers", `{"id":"odd","command":["true"],"credentials":"per-user"}`, "")
	r.request(422, "PATCH", "/servers/notes", `{"credentials":"some"}`, "")

	// Where everybody has the same again, the server's own are sent.
	r.request(200, "PATCH", "/servers/notes", `{"credentials":"shared"}`, "")
	before := r.up.calls.Load()
	a := call(t, program.NewCaller(t, program.Modern, r.URL, ann), "discovery-token-1")
	if !a.OK || r.up.calls.Load() == before {
		t.Errorf("shared: %s", a.Body)
	}
	r.request(204, "DELETE", at, "", ann)
}
