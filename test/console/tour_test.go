package console

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
)

// lazy starts the official example of a server that wants a login for some of
// its tools, and gives its address.
func (r *rig) lazy(t *testing.T) string {
	t.Helper()
	return r.listen(t, []string{"REACTIVE_AUTH_ONLY=1", "JWT_SECRET=0123456789abcdef0123456789abcdef"}, r.server("lazy-auth")...)
}

// listen starts a server that listens on the port of its variable PORT, and gives
// its address.
func (r *rig) listen(t *testing.T, env []string, command ...string) string {
	t.Helper()
	addr := program.FreeAddr(t)
	_, port, _ := strings.Cut(addr, ":")
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	var heard bytes.Buffer
	cmd.Env = program.Env(append(env, "PORT="+port)...)
	cmd.Stdout, cmd.Stderr = &heard, &heard
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if !poll.Holds(30*time.Second, func() bool { // another process: nothing to wait on but its port
		resp, err := http.Get("http://" + addr + "/")
		if err == nil {
			resp.Body.Close()
		}
		return err == nil
	}) {
		t.Fatalf("the server does not start: %s", &heard)
	}
	return "http://localhost:" + port + "/mcp"
}

// furnish puts something on every screen: servers, an agent, calls that worked,
// failed and were refused.
func (r *rig) furnish(t *testing.T) {
	t.Helper()
	for _, name := range []string{"everything", "memory"} {
		r.Tell(t, append([]string{"server", "add", name, "--yes", "--"}, r.server(name)...)...)
	}
	r.Tell(t, "server", "add", "shop", filepath.Join(program.Root(t), "test", "apis", "testdata", "shop-30.yaml"))
	r.Tell(t, "server", "add", "lazy", r.lazy(t), "--oauth", "--client-id", "junctor-test")
	// Somebody begins to log in, and does not go on.
	if a, err := r.Request(t.Context(), "POST", "/api/v1/servers/lazy/login", `{}`); err != nil || a.Status != http.StatusCreated {
		t.Fatalf("a login does not begin: %v %+v", err, a)
	}
	r.Tell(t, "agent", "add", "helper", "--role", "QA", "--tool", "demo/echo", "--tool", "everything/*", "--tool", "memory/*", "--per-second", "5")
	// One of its tools is hidden, so that the agent cannot call it.
	if a, err := r.Request(t.Context(), "PATCH", "/api/v1/servers/memory", `{"overrides":{"read_graph":{"hide":true,"call_timeout":"2m"}}}`); err != nil || a.Status != http.StatusOK {
		t.Fatalf("a tool is not hidden: %v %+v", err, a)
	}
	r.Tell(t, "trigger", "add", "hello", "--type", "greeting", "--server", "demo", "--tool", "echo", "--template", `{"text":"hello {{data.name}}"}`)
	r.Tell(t, "policy", "set", "no-plans", "--item", "demo/echo", "--when", `args.text.contains("secret plans")`, "--verdict", "deny", "--message", "Talk about plans in person.")
	_, _, _ = r.Operate(t, "tool", "call", "demo__echo", "--arg", "text=our secret plans")
	r.Tell(t, "event", "send", "greeting", "--data", `{"name":"Ann"}`)
	for i := range 12 {
		r.Tell(t, "tool", "call", "demo__add", "--arg", fmt.Sprintf("a=%d", i), "--arg", "b=40")
		r.Tell(t, "tool", "call", "everything__echo", "--json", `{"message":"hello"}`)
	}
	_, _, _ = r.Operate(t, "tool", "call", "demo__fail")
	_, _, _ = r.Operate(t, "tool", "call", "demo__echo", "--json", `{}`)
}

// The pictures of the documents: go test ./test/console -run Pictures -shots docs.
func TestPictures(t *testing.T) {
	t.Parallel()
	if *shots == "" {
		t.Skip("pictures are taken with -shots FOLDER")
	}
	folder, err := filepath.Abs(filepath.Join(program.Root(t), *shots))
	if err != nil {
		t.Fatal(err)
	}
	r := start(t)
	r.furnish(t)
	url := r.listen(t, nil, append(r.server("everything"), "streamableHttp")...)
	ctx, stop := context.WithCancel(t.Context())
	caller, done := program.NewCaller(t, program.Modern, r.URL, program.AdminKey), make(chan struct{})
	go func() { // so that there is something to be seen
		defer close(done)
		for i := 0; ctx.Err() == nil; i++ {
			_, _ = caller.Call(ctx, "demo__echo", `{"text":"again"}`)
			poll.Pause(time.Duration(40+(i*37)%160)*time.Millisecond, "calls that come now and then look real in the pictures")
		}
	}()
	r.run(t, "pictures.mjs", r.Link(t, "ada"), folder, url, newShop(t).URL)
	stop()
	<-done
}

func TestEveryScreen(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.furnish(t)
	r.run(t, "tour_console.mjs", "screens", r.Link(t, "ada"))
}

func TestByKeyboard(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.run(t, "tour_console.mjs", "keyboard", r.Link(t, "ada"), strings.Join(r.server("everything"), " "))
}

func TestLogins(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.run(t, "tour_console.mjs", "login", r.Link(t, "ada"), r.lazy(t))
}

func TestPlayground(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.Tell(t, append([]string{"server", "add", "everything", "--yes", "--"}, r.server("everything")...)...)
	r.run(t, "tour_console.mjs", "playground", r.Link(t, "ada"))
}

// TestFirstSteps is `junctor demo` as somebody starts it for the first time.
func TestFirstSteps(t *testing.T) {
	t.Parallel()
	node, addr := program.FindNode(t), program.FreeAddr(t)
	program.NeedChromium(t)
	demo := program.Serve(t, addr, nil, program.Binary(t), "demo", "--listen", addr, "--data-dir", t.TempDir())
	r := &rig{&program.Console{Node: node}}
	r.run(t, "tour_console.mjs", "first", demo.SignInLink(t), "http://"+addr+"/mcp")
}
