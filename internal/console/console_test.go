package console

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
)

func serve(t *testing.T, o Options) *http.ServeMux {
	t.Helper()
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	c.Routes(mux)
	return mux
}

func ask(mux *http.ServeMux, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	return w
}

func plain() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "plain") })
}

var nonces = regexp.MustCompile(`nonce="([A-Z0-9]+)"`)

func TestEveryScreenIsThePage(t *testing.T) {
	t.Parallel()
	mux := serve(t, Options{Plain: plain()})
	seen := map[string]bool{}
	for _, path := range append([]string{"", "servers/x/y", "calls/0123"}, Screens()...) {
		w := ask(mux, "/"+path, "Accept", "text/html,*/*")
		found := nonces.FindStringSubmatch(w.Body.String())
		if w.Code != http.StatusOK || found == nil {
			t.Fatalf("/%s: %d without a nonce", path, w.Code)
		}
		if got := w.Header().Get("Referrer-Policy"); got != "same-origin" {
			t.Errorf("%s: Referrer-Policy is %q: a form of the page, such as the one that signs out, would have no origin", path, got)
		}
		policy := w.Header().Get("Content-Security-Policy")
		if !strings.Contains(policy, "'nonce-"+found[1]+"'") || strings.Contains(policy, "unsafe-eval") || !strings.Contains(policy, "script-src 'self';") {
			t.Errorf("/%s: policy %s for the nonce %s", path, policy, found[1])
		}
		if w.Header().Get("Cache-Control") != "no-store" || seen[found[1]] {
			t.Errorf("/%s: a nonce that may be seen twice", path)
		}
		seen[found[1]] = true
	}
	if w := ask(mux, "/"); w.Body.String() != "plain" {
		t.Errorf("who is no browser is answered %q", w.Body)
	}
	if w := ask(mux, "/nothing"); w.Code != http.StatusNotFound {
		t.Errorf("/nothing answers %d", w.Code)
	}
}

var assets = regexp.MustCompile(`(?:src|href)="(/assets/[^"]+)"`)

// A browser that asks for an unknown path gets the page, so that it can say so; other clients
// get no page.
func TestUnknownPaths(t *testing.T) {
	t.Parallel()
	c, err := New(Options{Plain: plain()})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		method, accept string
		want           bool
	}{{http.MethodGet, "text/html,*/*", true}, {http.MethodGet, "*/*", false}, {http.MethodGet, "", false}, {http.MethodPost, "text/html", false}} {
		r, w := httptest.NewRequest(test.method, "/nothing", nil), httptest.NewRecorder()
		r.Header.Set("Accept", test.accept)
		if got := c.ServeUnknown(w, r); got != test.want {
			t.Errorf("%s, Accept %q: answered %v", test.method, test.accept, got)
		}
		if test.want && (w.Code != http.StatusNotFound || !nonces.MatchString(w.Body.String()) || w.Header().Get("Content-Security-Policy") == "") {
			t.Errorf("%s, Accept %q: %d %v %s", test.method, test.accept, w.Code, w.Header(), w.Body)
		}
	}
}

// What the page names is there, may be kept for good, and the first load is
// small.
func TestAssets(t *testing.T) {
	t.Parallel()
	mux := serve(t, Options{})
	page := ask(mux, "/servers", "Accept", "text/html").Body.String()
	found := assets.FindAllStringSubmatch(page, -1)
	if len(found) < 2 {
		t.Fatalf("the page names %d parts", len(found))
	}
	first := 0
	for _, m := range found {
		w := ask(mux, m[1], "Accept-Encoding", "gzip, br")
		if w.Code != http.StatusOK || !strings.Contains(w.Header().Get("Cache-Control"), "immutable") || w.Header().Get("Content-Encoding") != "gzip" {
			t.Fatalf("%s: %d %v", m[1], w.Code, w.Header())
		}
		if strings.HasSuffix(m[1], ".js") || strings.HasSuffix(m[1], ".css") {
			first += w.Body.Len()
		}
		unzipped, err := gzip.NewReader(w.Body)
		if err != nil {
			t.Fatal(err)
		}
		a, _ := io.ReadAll(unzipped)
		if b := ask(mux, m[1]).Body.Bytes(); string(a) != string(b) {
			t.Errorf("%s differs when compressed", m[1])
		}
	}
	const most = 260_000
	t.Logf("first load: %d bytes, compressed", first)
	if first > most {
		t.Errorf("the first load is %d bytes; at most %d are wanted", first, most)
	}
	if w := ask(mux, "/assets/../index.html"); w.Code == http.StatusOK {
		t.Error("a path that leaves the folder is answered")
	}
}

// Nothing in the build leads to another host.
func TestNoForeignHost(t *testing.T) {
	t.Parallel()
	c, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	loads := regexp.MustCompile(`(?:src|href)="https?://|@import|url\(["']?https?://|import\("https?://`)
	links := regexp.MustCompile(`<a href="https?://`) // loads nothing until somebody follows it
	for name, f := range c.assets {
		if found := loads.Find(links.ReplaceAll(f.body(), nil)); found != nil {
			t.Errorf("%s loads from elsewhere: %s", name, found)
		}
	}
	if found := loads.Find(c.indexPage); found != nil {
		t.Errorf("the page loads from elsewhere: %s", found)
	}
}

// Maps have their pictures from where the operator says, and from nowhere else.
func TestTiles(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ tiles, source, content string }{
		"none":          {"", "img-src 'self' data:;", `content=""`},
		"an address":    {"https://t.example:8443/{z}/{x}/{y}.png", "img-src 'self' data: https://t.example:8443;", `content="https://t.example:8443/{z}/{x}/{y}.png"`},
		"with a credit": {`http://t.example/{z}/{x}/{y} "A" & <b>`, "img-src 'self' data: http://t.example;", `content="http://t.example/{z}/{x}/{y} &#34;A&#34; &amp; &lt;b&gt;"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := ask(serve(t, Options{Tiles: tt.tiles}), "/chat", "Accept", "text/html")
			if policy := w.Header().Get("Content-Security-Policy"); !strings.Contains(policy, tt.source) {
				t.Errorf("policy %s lacks %s", policy, tt.source)
			}
			if !strings.Contains(w.Body.String(), `name="map-tiles" `+tt.content) {
				t.Errorf("the page lacks %s:\n%s", tt.content, w.Body)
			}
		})
	}
}

func TestDevelopment(t *testing.T) {
	t.Parallel()
	vite := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.URL.Path+r.Header.Get("Cookie"))
	}))
	defer vite.Close()
	u, err := url.Parse(vite.URL)
	if err != nil {
		t.Fatal(err)
	}
	mux := serve(t, Options{Dev: u, Transport: vite.Client().Transport})
	for _, path := range []string{"/servers", "/src/main.tsx", "/@vite/client"} {
		if w := ask(mux, path, "Cookie", "session=x"); w.Body.String() != path {
			t.Errorf("%s: %q", path, w.Body)
		}
	}
}

// Screens knows what the menu knows.
func TestScreensAreThoseOfTheMenu(t *testing.T) {
	t.Parallel()
	places, err := os.ReadFile("web/src/app/navigation.ts")
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, m := range regexp.MustCompile(`path: '/([a-z-]+)'`).FindAllStringSubmatch(string(places), -1) {
		named = append(named, m[1])
	}
	if got, want := strings.Join(named, " "), strings.Join(Screens(), " "); got != want {
		t.Errorf("the menu has %s, Screens %s", got, want)
	}
}
