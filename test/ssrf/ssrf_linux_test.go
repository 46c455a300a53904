package ssrf

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/cli"
	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/upstreams"
)

// rig is an instance in the network where every address answers.
type rig struct {
	t      *testing.T
	in     *testkit.Instance
	traps  *traps
	dns    *dns
	home   *upstreams.Server // the server at the allowed address
	lead   string            // a server at the allowed address that leads to ?to=
	writer string            // a key that may add servers and call endpoints
	asked  int
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, traps: setTraps(t), dns: startDNS(t)}
	r.home = upstreams.StartOn(t, upstreams.Legacy, listen(t))
	lead := httptest.NewUnstartedServer(http.HandlerFunc(mislead))
	_ = lead.Listener.Close()
	lead.Listener = listen(t)
	lead.Start()
	t.Cleanup(func() { lead.CloseClientConnections(); lead.Close() })
	r.lead = lead.URL
	// With a proxy in front, not even admins may name loopback addresses.
	r.in = testkit.Start(t, testkit.Settings{"egress-allow": allowed + "/32", "trusted-proxy": "192.0.2.1"})
	var made struct{ Key string }
	a := r.in.Do(t, "POST", "/api/v1/keys", `{"name":"w","scopes":["servers:write","tools:call","bridge:call"]}`)
	if err := json.Unmarshal([]byte(a.Body), &made); err != nil {
		t.Fatal(err)
	}
	r.writer = made.Key
	return r
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", allowed+":0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// mislead is a server that sends its clients elsewhere, in each way there is.
func mislead(w http.ResponseWriter, r *http.Request) {
	to := r.URL.Query().Get("to")
	switch r.URL.Path {
	case "/endpoint": // of HTTP+SSE
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "event: endpoint\ndata: %s\n\n", to)
	default:
		status := http.StatusTemporaryRedirect
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &status); err != nil {
			status = http.StatusFound
		}
		w.Header().Set("Location", to)
		w.WriteHeader(status)
	}
}

// offer sends a request that must not lead anywhere.
func (r *rig) offer(method, path, body string, key string) {
	r.t.Helper()
	r.asked++
	a := r.in.Do(r.t, method, path, body, "Authorization: Bearer "+key)
	if a.Status < 300 && !strings.Contains(a.Body, `"failed":"`) && !strings.Contains(a.Body, `"done":false`) {
		r.t.Errorf("%s %s %s: %d %s", method, path, body, a.Status, a.Body)
	}
	if strings.Contains(a.Body, `"internal"`) || a.Status == http.StatusInternalServerError && path != "/mcp/call" {
		r.t.Errorf("%s %s %s: %d %s", method, path, body, a.Status, a.Body)
	}
	r.quiet(method + " " + path + " " + body)
}

// quiet says that nobody was dialled who must not be.
func (r *rig) quiet(after string) {
	r.t.Helper()
	if got := r.traps.take(); len(got) > 0 {
		r.t.Errorf("%s: dialled %v", after, got)
	}
}

// everywhere offers a URL at every endpoint that takes one.
func (r *rig) everywhere(url string) {
	r.t.Helper()
	text, _ := json.Marshal(url)
	for _, transport := range []string{"http", "sse"} {
		r.offer("POST", "/api/v1/servers", fmt.Sprintf(`{"id":"x","transport":%q,"url":%s}`, transport, text), r.writer)
		r.offer("POST", "/api/v1/servers/probe", fmt.Sprintf(`{"transport":%q,"url":%s}`, transport, text), r.writer)
		r.offer("PATCH", "/api/v1/servers/mine", fmt.Sprintf(`{"transport":%q,"url":%s}`, transport, text), r.writer)
		r.offer("POST", "/mcp/call", fmt.Sprintf(`{"endpoint":{"url":%s,"transport":%q},"tool_name":"x","timeout_ms":5000}`, text, transport), r.writer)
	}
	r.offer("POST", "/api/v1/apply", fmt.Sprintf(`{"servers":{"x":{"url":%s}}}`, text), r.writer)
	r.unseen(fmt.Sprintf(`{"servers":{"z":{"url":%s}},"unseen":true}`, text))
	oauth := fmt.Sprintf(`"auth":{"type":"oauth-client","client_id":"a","secret":"bbbbbbbb","token_url":%s}`, text)
	r.offer("POST", "/api/v1/servers", fmt.Sprintf(`{"id":"x","url":%q,%s}`, r.home.URL, oauth), r.writer)
	r.offer("PATCH", "/api/v1/servers/mine", `{`+oauth+`}`, r.writer)
}

// unseen has a server stored that nobody reached, and then used.
func (r *rig) unseen(body string) {
	r.t.Helper()
	by := "Authorization: Bearer " + r.writer
	if a := r.in.Do(r.t, "POST", "/api/v1/apply", body, by); a.Status == http.StatusOK {
		r.offer("POST", "/api/v1/servers/z/test", "", r.writer)
		r.in.Do(r.t, "DELETE", "/api/v1/servers/z", "", by)
	}
	r.quiet("apply " + body)
}

// misled offers addresses that are allowed and lead to one that is not.
func (r *rig) misled(url string) {
	r.t.Helper()
	for _, path := range []string{"/302", "/303", "/307", "/308", "/endpoint"} {
		from := r.lead + path + "?to=" + strings.NewReplacer("%", "%25", "&", "%26", "#", "%23", "+", "%2B").Replace(url)
		text, _ := json.Marshal(from)
		for _, transport := range []string{"http", "sse"} {
			r.offer("POST", "/api/v1/servers", fmt.Sprintf(`{"id":"x","transport":%q,"url":%s}`, transport, text), r.writer)
			r.offer("POST", "/mcp/call", fmt.Sprintf(`{"endpoint":{"url":%s,"transport":%q},"tool_name":"x","timeout_ms":5000}`, text, transport), r.writer)
		}
		if path != "/endpoint" {
			r.offer("POST", "/api/v1/servers", fmt.Sprintf(`{"id":"x","url":%q,"auth":{"type":"oauth-client","client_id":"a","secret":"bbbbbbbb","token_url":%s}}`, r.home.URL, text), r.writer)
		}
	}
}

// command runs the command line against the instance, as its operator.
func (r *rig) command(args ...string) (int, string) {
	r.t.Helper()
	var out strings.Builder
	env := []string{"JUNCTOR_DATA_DIR=" + r.in.Dir, "HOME=" + r.t.TempDir(), "PATH=" + os.Getenv("PATH")}
	code := cli.Main(context.Background(), args, env, strings.NewReader(""), &out, &out)
	return code, out.String()
}

func TestNoBlockedAddressIsDialled(t *testing.T) { //nolint:paralleltest // it has a network of its own
	if !isolate(t) {
		return
	}
	r := newRig(t)
	if a := r.in.Do(t, "POST", "/api/v1/servers", fmt.Sprintf(`{"id":"mine","url":%q}`, r.home.URL), "Authorization: Bearer "+r.writer); a.Status != http.StatusCreated {
		t.Fatalf("the allowed address: %d %s", a.Status, a.Body)
	}
	// The traps see what is dialled: a public address is.
	r.in.Do(t, "POST", "/api/v1/servers/probe", fmt.Sprintf(`{"url":"https://%s:%s/"}`, public, r.traps.port))
	if r.traps.dials(public) == 0 {
		t.Fatal("the traps see nothing")
	}
	all := hosts()
	for _, host := range all {
		for _, scheme := range []string{"http", "https"} {
			r.everywhere(scheme + "://" + host + ":" + r.traps.port + "/mcp")
		}
		r.everywhere("https://" + host + "/")
	}
	for _, url := range odd(r.traps.port) {
		r.everywhere(url)
	}
	for _, host := range slices.Concat(blocked(), spelled()) {
		if strings.Contains(host, ":") && !strings.HasPrefix(host, "[") {
			host = "[" + host + "]"
		}
		r.misled("http://" + host + ":" + r.traps.port + "/")
	}
	for _, url := range append(odd(r.traps.port), "https://"+rebinding+":"+r.traps.port+"/", "https://"+mixed+":"+r.traps.port+"/", "https://blocked0.test/") {
		r.misled(url)
	}
	// Nothing of it was stored.
	if a := r.in.Do(t, "GET", "/api/v1/servers/x", ""); a.Status != http.StatusNotFound {
		t.Errorf("stored: %s", a.Body)
	}
	if a := r.in.Do(t, "GET", "/api/v1/servers/mine", ""); !strings.Contains(a.Body, r.home.URL) {
		t.Errorf("moved: %s", a.Body)
	}
	t.Logf("figure: %d spellings of internal addresses, offered %d times at servers, probe, change, apply, /mcp/call and token_url, and by redirects and endpoint events of an allowed server: 0 dials in a network where each address answers", len(all)+len(odd("1")), r.asked)
}

// A name that was fine when it was entered, and later means something else.
func TestNameThatChangesItsMeaning(t *testing.T) { //nolint:paralleltest // it has a network of its own
	if !isolate(t) {
		return
	}
	r := newRig(t)
	r.dns.set("notes.test.", allowed)
	_, port, _ := net.SplitHostPort(r.home.Addr)
	if a := r.in.Do(t, "POST", "/api/v1/servers", `{"id":"notes","url":"http://notes.test:`+port+`/"}`, "Authorization: Bearer "+r.writer); a.Status != http.StatusCreated {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	for _, ip := range blocked() {
		if strings.Contains(ip, "ffff:") {
			continue
		}
		l, err := net.Listen("tcp", net.JoinHostPort(ip, port)) // somebody is there
		if err == nil {
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					r.traps.took(c.LocalAddr())
					_ = c.Close()
				}
			}()
		}
		r.dns.set("notes.test.", ip)
		// What is open leads where the name led before, and may be used until its
		// server has closed it, which it does once it knows it to be idle.
		var a testkit.Reply
		for end := time.Now().Add(time.Minute); ; {
			r.home.CloseIdle()
			a = r.in.Do(t, "POST", "/api/v1/servers/notes/test", "", "Authorization: Bearer "+r.writer)
			if strings.Contains(a.Body, `"failed":"address"`) {
				break
			}
			if time.Now().After(end) {
				t.Errorf("%s: %d %s", ip, a.Status, a.Body)
				break
			}
		}
		if strings.Contains(a.Body, ip+`"`) || strings.Contains(a.Body, ip+" ") {
			t.Errorf("%s: the answer says what the name means: %s", ip, a.Body)
		}
		r.quiet(ip)
		if l != nil {
			_ = l.Close()
		}
	}
	r.dns.set("notes.test.", allowed)
	if a := r.in.Do(t, "POST", "/api/v1/servers/notes/test", "", "Authorization: Bearer "+r.writer); strings.Contains(a.Body, `"failed"`) {
		t.Errorf("back at its address: %d %s", a.Status, a.Body)
	}
}

// The operator's own endpoints, the command line and files, may lead to this
// machine, where it is named as itself, and nowhere else within.
func TestOperatorsEndpoints(t *testing.T) { //nolint:paralleltest // it has a network of its own
	if !isolate(t) {
		return
	}
	r := newRig(t)
	own := func(host string) bool {
		host = strings.Trim(host, "[]")
		return host == "127.0.0.1" || host == "127.8.9.10" || host == "::1" || strings.EqualFold(host, "localhost")
	}
	asked, ownDials := 0, 0
	for _, host := range hosts() {
		for _, url := range []string{"http://" + host + ":" + r.traps.port + "/mcp", "https://" + host + ":" + r.traps.port + "/mcp"} {
			file := filepath.Join(t.TempDir(), "mcp.json")
			text, _ := json.Marshal(map[string]any{"mcpServers": map[string]any{"imported": map[string]any{"url": url}}})
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
			declared := filepath.Join(t.TempDir(), "servers.yaml")
			if err := os.WriteFile(declared, fmt.Appendf(nil, "servers:\n  imported:\n    url: %q\n", url), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{
				{"server", "add", "x", url}, {"server", "probe", url}, {"server", "import", "--yes", file}, {"apply", "--yes", declared},
			} {
				asked++
				if code, out := r.command(args...); code == 0 {
					t.Errorf("%v: %s", args, out)
				}
				got := r.traps.take()
				if ownDials += len(got); len(got) > 0 && !own(host) {
					t.Errorf("%v: dialled %v", args, got)
				}
			}
		}
	}
	if ownDials == 0 {
		t.Error("the operator cannot reach this machine, or the traps see nothing")
	}
	if a := r.in.Do(t, "GET", "/api/v1/servers", ""); strings.Contains(a.Body, "imported") {
		t.Errorf("stored: %s", a.Body)
	}
	t.Logf("figure: the same with the operator's command line (add, probe, import and apply), %d times: 0 dials except to this machine by its own name", asked)
}
