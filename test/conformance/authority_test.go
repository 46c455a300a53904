package conformance

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/internal/testkit/visitor"
	"github.com/junctor-mcp/junctor/test/program"
)

// TestAuthorizationServer runs the suite's scenarios for authorization servers
// against Junctor's own, with a program that registered itself and with a person
// who signs in and consents when the suite asks for one.
func TestAuthorizationServer(t *testing.T) {
	t.Parallel()
	node := program.FindNode(t)
	i := testkit.Start(t, nil)
	_, port, err := net.SplitHostPort(program.FreeAddr(t))
	if err != nil {
		t.Fatal(err)
	}
	var client struct {
		ID string `json:"client_id"`
	}
	r := i.Do(t, http.MethodPost, "/oauth/register", `{"client_name":"The suite","redirect_uris":["http://127.0.0.1/callback"]}`)
	if err := json.Unmarshal([]byte(r.Body), &client); err != nil || r.Status != http.StatusCreated {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	i.Do(t, http.MethodPost, "/api/v1/users", `{"name":"ann","role":"developer"}`)
	var link struct{ URL string }
	if err := json.Unmarshal([]byte(i.Do(t, http.MethodPost, "/api/v1/users/ann/link", "").Body), &link); err != nil {
		t.Fatal(err)
	}
	person := visitor.New(t, i.URL)
	person.SignIn(link.URL, i.App.ConsoleURL())

	passes := 0
	for _, version := range []string{"2025-03-26", modern} {
		var want []string
		for _, line := range scenarioLines(t, node, "--authorization", "--spec-version", version) {
			name, _, _ := strings.Cut(line, " ")
			want = append(want, name)
		}
		if len(want) < 2 {
			t.Fatalf("the suite lists %q for %s: its output has changed", want, version)
		}
		dir := filepath.Join(t.TempDir(), version)
		talk(t, node, person, "authorization", "--url", i.URL, "--client-id", client.ID, "--port", port, "--resource", i.URL+"/mcp", "--spec-version", version, "-o", dir)
		got := readResults(t, dir, "authorization-server")
		for _, problem := range judge(got, want, nil) {
			t.Errorf("%s: %s", version, problem)
		}
		for _, w := range warnings(got) {
			t.Errorf("%s: %s", version, w)
		}
		p, _ := count(got)
		passes += p
	}
	t.Logf("figure: conformance of the authorization server: %d passed, 2 versions", passes)
}

// talk runs the suite, and does with a browser what it asks for.
func talk(t *testing.T, node *program.Node, person *visitor.Visitor, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, node.Bin(), append([]string{node.Module(suite)}, args...)...)
	cmd.Dir = t.TempDir()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewScanner(out)
	var all strings.Builder
	for said.Scan() {
		all.WriteString(said.Text() + "\n")
		if strings.HasPrefix(said.Text(), "http://") && strings.Contains(said.Text(), "/oauth/authorize?") {
			deliver(ctx, t, person.Consent(said.Text()).String())
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Logf("the suite says: %v\n%s", err, all.String()) // judged by what it wrote
	}
}

// deliver brings a code where the suite waits for it, as soon as it does.
func deliver(ctx context.Context, t *testing.T, address string) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true // the suite waits for connections to end
	poll.Until(t, "the client that listens at "+address, limit, func() bool {
		resp, err := http.DefaultClient.Do(req)
		if err != nil && ctx.Err() != nil {
			t.Fatal(err)
		}
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
		return err == nil
	})
}
