package server_test

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/visitor"
)

// TestMain makes programs' sites trusted: all that httptest makes have one
// certificate.
func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "junctor-roots")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		srv := httptest.NewTLSServer(http.NotFoundHandler())
		defer srv.Close()
		file := filepath.Join(dir, "roots.pem")
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}), 0o600); err != nil {
			panic(err)
		}
		if err := os.Setenv("SSL_CERT_FILE", file); err != nil {
			panic(err)
		}
		return m.Run()
	}())
}

// site is where a program says who it is.
type site struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{}
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked = append(s.asked, r.URL.Path)
		s.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		doc := func(id, more string) string {
			return fmt.Sprintf(`{"client_id":%q,"client_name":"Far Pad","redirect_uris":[%q,"http://127.0.0.1/cb"]%s}`, id, s.URL+"/cb", more)
		}
		id := s.URL + r.URL.Path
		switch r.URL.Path {
		case "/client.json":
			_, _ = fmt.Fprint(w, doc(id, `,"token_endpoint_auth_method":"none","logo_uri":"https://x.example/"`))
		case "/other.json":
			_, _ = fmt.Fprint(w, doc(s.URL+"/client.json", ""))
		case "/key.json":
			_, _ = fmt.Fprint(w, doc(id, `,"token_endpoint_auth_method":"private_key_jwt"`))
		case "/moved.json":
			http.Redirect(w, r, "/client.json", http.StatusFound)
		case "/long.json":
			_, _ = fmt.Fprint(w, doc(id, `,"x":"`+strings.Repeat("x", 20<<10)+`"`))
		case "/page.json":
			w.Header().Set("Content-Type", "text/html")
			_, _ = fmt.Fprint(w, doc(id, ""))
		case "/script.json":
			_, _ = fmt.Fprintf(w, `{"client_id":%q,"redirect_uris":["javascript:alert(1)"]}`, id)
		case "/broken.json":
			_, _ = fmt.Fprint(w, `{"client_id":`)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *site) count(path string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.asked {
		if p == path {
			n++
		}
	}
	return n
}

// TestDocuments lets a program in that says at an address of its own who it is,
// and none that does not.
func TestDocuments(t *testing.T) {
	t.Parallel()
	far := newSite(t)
	s := start(t, testkit.Settings{"egress-allow": "127.0.0.0/8"})
	s.client = far.URL + "/client.json"
	there := far.URL + "/cb"

	// Nobody is signed in: nothing is fetched.
	page, back := visitor.New(t, s.URL).Open(s.request(newVerifier(), "redirect_uri", there), "none")
	if back != nil || !strings.Contains(page.Body, "Password") || far.count("/client.json") != 0 {
		t.Errorf("%d %s, and the document was read %d times", page.Status, page.Body, far.count("/client.json"))
	}

	ann, v := s.person("ann"), newVerifier()
	page, _ = ann.Open(s.request(v, "redirect_uri", there), "none")
	host := strings.TrimPrefix(far.URL, "https://")
	for _, says := range []string{"Far Pad", "confirmed by <strong>" + host + "</strong>"} {
		if !strings.Contains(page.Body, says) {
			t.Errorf("the page does not say %q: %s", says, page.Body)
		}
	}
	_, back = ann.Answer(page, "yes")
	if back == nil {
		t.Fatal("nobody is sent back")
	}
	got := s.trade(back.Query().Get("code"), v, "redirect_uri", there)
	if status, _ := s.call(got.Access, "/mcp"); status != 200 {
		t.Errorf("%d %+v", status, got)
	}
	if next := s.renew(got.Refresh); next.Status != 200 {
		t.Errorf("%+v", next)
	}
	if n := far.count("/client.json"); n != 1 {
		t.Errorf("the document was read %d times", n)
	}
	if page, back := ann.Open(s.request(v, "redirect_uri", "http://127.0.0.1:4711/cb"), "none"); back != nil || !strings.Contains(page.Body, "Any program on this computer") {
		t.Errorf("%v %s", back, page.Body)
	}
	if page, back := ann.Open(s.request(v, "redirect_uri", far.URL+"/elsewhere"), "none"); back != nil || page.Status != 400 {
		t.Errorf("%v %s", back, page.Body)
	}
	for path, why := range map[string]string{
		"/other.json": "another client", "/key.json": "private_key_jwt", "/moved.json": "HTTP 302", "/long.json": "bytes", "/page.json": "not JSON",
		"/script.json": "redirect URI", "/broken.json": "JSON object", "/absent.json": "HTTP 404",
	} {
		page, back := ann.Open(s.request(v, "client_id", far.URL+path, "redirect_uri", there), "none")
		if back != nil || page.Status != 400 || !strings.Contains(page.Body, why) || page.Question() != "" {
			t.Errorf("%s: %v, %d %s", path, back, page.Status, page.Body)
		}
	}
	for range 5 { // ten in a row are enough
		page, _ = ann.Open(s.request(v, "client_id", far.URL+"/absent.json", "redirect_uri", there), "none")
	}
	if !strings.Contains(page.Body, "Too many clients") {
		t.Errorf("%s", page.Body)
	}
}

// TestDocumentsDoNotReachPrivateAddresses holds that nobody makes an instance ask what only it
// can reach.
func TestDocumentsDoNotReachPrivateAddresses(t *testing.T) {
	t.Parallel()
	far := newSite(t)
	s := start(t, nil)
	ann := s.person("ann")
	page, back := ann.Open(s.request(newVerifier(), "client_id", far.URL+"/client.json", "redirect_uri", far.URL+"/cb"), "none")
	if back != nil || page.Status != 400 || far.count("/client.json") != 0 || strings.Contains(page.Body, "refused") {
		t.Errorf("%v %d %s", back, page.Status, page.Body)
	}
}
