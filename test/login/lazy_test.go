package login

import (
	"bytes"
	"html"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
)

// TestLazyServer has the official example of a server that wants a login for some
// of its tools behind an instance: public tools work without one, the others
// after a login on demand, beyond the end of the token, and again after the
// login was revoked.
func TestLazyServer(t *testing.T) {
	t.Parallel()
	node := program.FindNode(t)
	addr := program.FreeAddr(t)
	_, port, _ := strings.Cut(addr, ":")
	server := node.Module("@modelcontextprotocol/server-lazy-auth/dist/index.js")
	if _, err := os.Stat(server); err != nil {
		program.Missing(t, "the npm package server-lazy-auth; tools/install.sh node fetches it")
	}
	cmd := exec.CommandContext(t.Context(), node.Bin(), server)
	var heard bytes.Buffer
	cmd.Env = program.Env("PORT="+port, "ACCESS_TOKEN_TTL_SECONDS=2", "REACTIVE_AUTH_ONLY=1", "JWT_SECRET=0123456789abcdef0123456789abcdef")
	cmd.Stdout, cmd.Stderr = &heard, &heard
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if !poll.Holds(time.Minute, func() bool {
		resp, err := http.Get("http://" + addr + "/")
		if err == nil {
			resp.Body.Close()
		}
		return err == nil
	}) {
		t.Fatalf("the server does not start: %s", &heard)
	}
	in := program.Start(t, program.FreeAddr(t), t.TempDir())
	newCommand(t, in, "server", "add", "lazy", "http://localhost:"+port+"/mcp", "--oauth", "--client-id", "junctor-test")(0, "")
	newCommand(t, in, "tool", "call", "lazy__show_auth_button")(0, "")
	newCommand(t, in, "tool", "call", "lazy__get_secret")(4, "junctor server login lazy")

	paste := func(address string) string { return approveAt(t, address) + "\n" }
	out := logIn(t, in, nil, "", paste, "server", "login", "lazy", "--paste")
	if !strings.Contains(out, "live") {
		t.Fatal(out)
	}
	newCommand(t, in, "tool", "call", "lazy__get_secret")(0, "")
	poll.Pause(3*time.Second, "the token expires by the server's own clock")
	newCommand(t, in, "tool", "call", "lazy__get_secret")(0, "")
	newCommand(t, in, "server", "trace", "lazy")(0, "the token was renewed")
	newCommand(t, in, "tool", "call", "lazy__revoke_auth_token")(0, "")
	newCommand(t, in, "tool", "call", "lazy__get_secret")(4, "rejected the refresh token")
	logIn(t, in, nil, "", paste, "server", "login", "lazy", "--paste")
	newCommand(t, in, "tool", "call", "lazy__get_secret")(0, "")
}

var approval = regexp.MustCompile(`class="btn approve"[^>]*href="([^"]*)"`)

// approveAt is a person who agrees on the page of the server.
func approveAt(t *testing.T, address string) string {
	t.Helper()
	client := http.Client{CheckRedirect: func(r *http.Request, _ []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	page, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	found := approval.FindSubmatch(page)
	if err != nil || found == nil {
		t.Fatalf("there is no page to agree on: %v\n%s", err, page)
	}
	to, err := url.Parse(html.UnescapeString(string(found[1])))
	if err != nil {
		t.Fatal(err)
	}
	if resp, err = client.Get(to.String()); err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	back, err := resp.Location()
	if err != nil {
		t.Fatal(err)
	}
	return back.String()
}
