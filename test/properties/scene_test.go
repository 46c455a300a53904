// Package properties holds whole instances, on both engines, to what has to be
// true of any server that people bring: it is reached before anything is saved,
// and what it offers is listed the same however often it is asked. Properties 1,
// 4, 5 and 8 are in test/people and test/access, 6 is in internal/seal.
package properties

import (
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"

	"github.com/junctor-mcp/junctor/internal/store/pgtest"
	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/upstreams"
)

var postgres pgtest.Pool

func TestMain(m *testing.M) { os.Exit(postgres.Main(m)) }

// scene is an instance.
type scene struct {
	*testkit.Instance
	t      *testing.T
	engine string
}

// onBoth runs a test on an instance over each engine.
func onBoth(t *testing.T, test func(*scene)) {
	t.Helper()
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			settings := testkit.Settings{"egress-allow": "127.0.0.0/8"}
			if engine == "postgres" {
				settings["db"] = postgres.Database(t)
			}
			test(&scene{testkit.Start(t, settings), t, engine})
		})
	}
}

// request asks the admin API, and reads the answer where it is good.
func (s *scene) request(method, path, body string, into any) testkit.Reply {
	s.t.Helper()
	r := s.Do(s.t, method, "/api/v1"+path, body)
	if into != nil && r.Status < 300 {
		if err := json.Unmarshal([]byte(r.Body), into); err != nil {
			s.t.Fatalf("%s %s: %v\n%s", method, path, err, r.Body)
		}
	}
	return r
}

func (s *scene) must(rt rapid.TB, status int, r testkit.Reply) {
	rt.Helper()
	if r.Status != status {
		rt.Fatalf("%d, want %d: %s", r.Status, status, r.Body)
	}
}

// all is everything that is stored of servers, as people can see it.
func (s *scene) all() string {
	s.t.Helper()
	var b strings.Builder
	for _, path := range []string{"/servers", "/secrets", "/tools", "/tools/changes"} {
		b.WriteString(s.Do(s.t, "GET", "/api/v1"+path, "").Body)
	}
	return b.String()
}

// handler serves MCP in a way.
func handler(way upstreams.Way, sdk *mcp.Server) http.Handler {
	get := func(*http.Request) *mcp.Server { return sdk }
	switch way {
	case upstreams.SSE:
		return mcp.NewSSEHandler(get, nil)
	case upstreams.JSON:
		return mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{JSONResponse: true})
	case upstreams.Modern:
		return mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: true})
	}
	return mcp.NewStreamableHTTPHandler(get, nil)
}

// listen serves until end is called.
func listen(h http.Handler) (url string, end func()) {
	web := httptest.NewServer(h)
	return web.URL, func() {
		_ = web.Config.Close() // streams too, which Close would wait for
		web.Close()
	}
}

// login is how a server wants to be asked, or how it is asked.
type login struct{ kind, secret, header, user string }

func (l login) body() string {
	return quoteJSON(struct {
		Type     string `json:"type"`
		Secret   string `json:"secret,omitempty"`
		Header   string `json:"header,omitempty"`
		Username string `json:"username,omitempty"`
	}{l.kind, l.secret, l.header, l.user})
}

// holds says whether a request shows the login.
func (l login) holds(r *http.Request) bool {
	same := func(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
	switch l.kind {
	case "bearer":
		return same(r.Header.Get("Authorization"), "Bearer "+l.secret)
	case "api-key":
		return same(r.Header.Get(l.header), l.secret)
	case "basic":
		user, password, ok := r.BasicAuth()
		return ok && same(user, l.user) && same(password, l.secret)
	}
	return true
}

func drawLogin(rt *rapid.T) login {
	secret := rapid.StringMatching(`[!-~]{1,60}`).Filter(func(s string) bool {
		return s != "***" && !strings.HasPrefix(s, "env:") && !strings.HasPrefix(s, "file:") && !strings.HasPrefix(s, "cmd:")
	}).Draw(rt, "secret")
	switch kind := rapid.SampledFrom([]string{"none", "bearer", "api-key", "basic"}).Draw(rt, "auth"); kind {
	case "api-key":
		return login{kind, secret, rapid.SampledFrom([]string{"X-API-Key", "X-Token", "Api-Token"}).Draw(rt, "header"), ""}
	case "basic":
		return login{kind, secret, "", rapid.StringMatching(`[a-z]{1,10}`).Draw(rt, "user")}
	case "bearer":
		return login{kind, secret, "", ""}
	}
	return login{kind: "none"}
}

// gate lets requests through that show the login, and counts them.
type gate struct {
	login
	next    http.Handler
	through atomic.Int64
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !g.holds(r) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	g.through.Add(1)
	g.next.ServeHTTP(w, r)
}

func quoteJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}
