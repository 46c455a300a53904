package servers

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
)

// settings is a file with settings that a test rewrites.
type settings struct{ path string }

// newSettings begins with a text. The instance is told its path as config.
func newSettings(t testing.TB, text string) *settings {
	t.Helper()
	s := &settings{path: filepath.Join(t.TempDir(), "junctor.yaml")}
	s.put(t, text)
	return s
}

// put replaces the file as editors do.
func (s *settings) put(t testing.TB, text string) {
	t.Helper()
	next := s.path + ".next"
	if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, s.path); err != nil {
		t.Fatal(err)
	}
}

type fileState struct {
	OK       bool
	Loads    int
	Problems []struct{ Where, Message string }
	Restart  []string
}

func (s *settings) state(t testing.TB, i *testkit.Instance) (st fileState) {
	t.Helper()
	r := i.Do(t, "GET", "/api/v1/settings/file", "")
	if err := json.Unmarshal([]byte(r.Body), &st); err != nil || r.Status != 200 {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	return st
}

// becomes puts a text and waits until it is in force.
func (s *settings) becomes(t testing.TB, i *testkit.Instance, text string) fileState {
	t.Helper()
	before := s.state(t, i).Loads
	s.put(t, text)
	poll.Until(t, "another reading of the file", time.Minute, func() bool { return s.state(t, i).Loads > before })
	return s.state(t, i)
}

func declared(id string, p *peer, more string) string {
	return fmt.Sprintf("  %s:\n    url: %s\n%s", id, p.URL, more)
}

func TestADeclaredServerIsTheFiles(t *testing.T) {
	t.Parallel()
	p, other := newPeer(t), newPeer(t)
	p.wants("file-canary")
	auth := "    auth: {type: bearer, token: file-canary}\n"
	s := newSettings(t, "servers:\n"+declared("notes", p, auth))
	dir := t.TempDir()
	i := start(t, testkit.Settings{"config": s.path, "data-dir": dir})
	poll.Until(t, "an answer of notes__echo", time.Minute, func() bool { return call(t, i, "notes__echo", "hello").Status == 200 })
	shown := i.Do(t, "GET", "/api/v1/servers/notes", "").Body
	if !strings.Contains(shown, `"declared":"`+s.path+`"`) || !strings.Contains(shown, `"secret":"***"`) {
		t.Errorf("%s", shown)
	}

	// It is changed in its file and nowhere else.
	for _, ask := range [][3]string{
		{"PATCH", "/api/v1/servers/notes", `{"title":"x"}`},
		{"PATCH", "/api/v1/servers/notes", `{"state":"inactive"}`},
		{"POST", "/api/v1/servers/notes/disable", ""},
		{"DELETE", "/api/v1/servers/notes", ""},
	} {
		if r := i.Do(t, ask[0], ask[1], ask[2]); r.Status != 409 || !strings.Contains(r.Body, "change it in that file") || !strings.Contains(r.Body, s.path) {
			t.Errorf("%v: %d %s", ask, r.Status, r.Body)
		}
	}

	// One that people added stays theirs, and the file says where it is wrong.
	add(t, i, "mine", other, "")
	st := s.becomes(t, i, "servers:\n"+declared("notes", p, auth)+declared("mine", p, "")+declared("demo", p, ""))
	if st.OK || len(st.Problems) != 2 || st.Problems[1].Where != s.path+":5:3" || !strings.Contains(st.Problems[1].Message, "junctor server rm mine") ||
		!strings.Contains(st.Problems[0].Message, "built in") {
		t.Errorf("%+v", st)
	}
	if r := i.Do(t, "GET", "/api/v1/servers/mine", ""); !strings.Contains(r.Body, other.URL) {
		t.Errorf("%s", r.Body)
	}
	if m := i.Do(t, "GET", "/metrics", "").Body; !strings.Contains(m, "\njunctor_file_ok 0\n") {
		t.Errorf("the metrics do not know")
	}

	// A bad file changes nothing, and says why.
	s.put(t, "servers:\n  notes:\n    ulr: "+p.URL+"\n")
	poll.Until(t, "the problem: did you mean url?", time.Minute, func() bool { return strings.Contains(fmt.Sprint(s.state(t, i).Problems), "did you mean url?") })
	s.put(t, "")
	poll.Until(t, "the problem: is empty", time.Minute, func() bool { return strings.Contains(fmt.Sprint(s.state(t, i).Problems), "is empty") })
	if r := call(t, i, "notes__echo", "still"); r.Status != 200 {
		t.Errorf("%d %s", r.Status, r.Body)
	}

	// Settings wait for a restart, by name; a change of what a tool is called does not.
	st = s.becomes(t, i, "call_timeout: 29s\nservers:\n"+declared("notes", p, auth+"    overrides: {echo: {name: say}}\n"))
	if !st.OK || len(st.Restart) != 1 || st.Restart[0] != "call-timeout" {
		t.Errorf("%+v", st)
	}
	poll.Until(t, "an answer of notes__say", time.Minute, func() bool { return call(t, i, "notes__say", "x").Status == 200 })

	// What the file no longer has is gone, with its credentials.
	st = s.becomes(t, i, "servers: {}\n")
	if r := i.Do(t, "GET", "/api/v1/servers/notes", ""); !st.OK || r.Status != 404 {
		t.Errorf("%+v, %d %s", st, r.Status, r.Body)
	}
	if r := i.Do(t, "GET", "/api/v1/secrets?owner=notes", ""); strings.Contains(r.Body, "conn-") {
		t.Errorf("credentials outlive their server: %s", r.Body)
	}
	if strings.Contains(i.Log.String(), "canary") {
		t.Error("a credential is in the log")
	}
}

// A restart finds what changed meanwhile, and a start without the file touches
// nothing that it declared.
func TestDeclaredServersAcrossStarts(t *testing.T) {
	t.Parallel()
	p, dir := newPeer(t), t.TempDir()
	s := newSettings(t, "servers:\n"+declared("one", p, "")+declared("two", p, "    disabled: true\n"))
	i := start(t, testkit.Settings{"config": s.path, "data-dir": dir})
	poll.Until(t, "an answer of one__echo", time.Minute, func() bool { return call(t, i, "one__echo", "x").Status == 200 })
	if r := call(t, i, "two__echo", "x"); r.Status != 404 {
		t.Errorf("switched off: %d %s", r.Status, r.Body)
	}
	i.Stop()
	s.put(t, "servers:\n"+declared("two", p, ""))
	i = start(t, testkit.Settings{"data-dir": dir})
	if r := call(t, i, "one__echo", "x"); r.Status != 200 {
		t.Errorf("without the file: %d %s", r.Status, r.Body)
	}
	i.Stop()
	i = start(t, testkit.Settings{"config": s.path, "data-dir": dir})
	poll.Until(t, "an answer of two__echo", time.Minute, func() bool { return call(t, i, "two__echo", "x").Status == 200 })
	if r := call(t, i, "one__echo", "x"); r.Status != 404 {
		t.Errorf("no longer declared: %d %s", r.Status, r.Body)
	}
	i.Stop()

	// Without its file it belongs to nobody, and can be removed.
	i = start(t, testkit.Settings{"data-dir": dir})
	if r := i.Do(t, "DELETE", "/api/v1/servers/two", ""); r.Status != 204 {
		t.Errorf("%d %s", r.Status, r.Body)
	}
}

// Calls go on while the file is rewritten: none of those on servers that stay
// as they are fails, their connections stay, and a call on one that changes ends
// on the connection it began with.
func TestReloadsDropNoCall(t *testing.T) {
	t.Parallel()
	steady := []*peer{newPeer(t), newPeer(t), newPeer(t)}
	changing, moved := newPeer(t), newPeer(t)
	began, finish := make(chan struct{}, 64), make(chan struct{})
	mcp.AddTool(changing.sdk, &mcp.Tool{Name: "hold"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		began <- struct{}{}
		select {
		case <-finish:
		case <-ctx.Done():
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "held"}}}, nil, ctx.Err()
	})
	base := "servers:\n"
	for n, p := range steady {
		base += declared(fmt.Sprintf("steady-%d", n), p, "")
	}
	s := newSettings(t, base+declared("changing", changing, ""))
	i := start(t, testkit.Settings{"config": s.path, "call-timeout": "10m"})
	for n := range steady {
		poll.Until(t, fmt.Sprintf("an answer of steady-%d", n), time.Minute, func() bool { return call(t, i, fmt.Sprintf("steady-%d__echo", n), "x").Status == 200 })
	}
	poll.Until(t, "the tool changing__hold", time.Minute, func() bool { return i.Do(t, "GET", "/api/v1/tools/changing__hold", "").Status == 200 })
	created := make([]string, len(steady))
	for n := range steady {
		created[n] = updated(t, i, fmt.Sprintf("steady-%d", n))
	}

	held := make(chan string, 1)
	go func() {
		resp := i.Open(t.Context(), t, "POST", "/api/v1/tools/changing__hold/call", `{"arguments":{}}`)
		defer func() { _ = resp.Body.Close() }()
		body, err := io.ReadAll(resp.Body)
		held <- fmt.Sprint(resp.StatusCode, " ", string(body), err)
	}()
	<-began

	var calls, failed atomic.Int64
	stop := make(chan struct{})
	var callers sync.WaitGroup
	for n := range steady {
		for range 2 {
			callers.Go(func() {
				for text := 0; ; text++ {
					select {
					case <-stop:
						return
					default:
					}
					want := fmt.Sprintf("%d-%d", n, text)
					r := call(t, i, fmt.Sprintf("steady-%d__echo", n), want)
					calls.Add(1)
					if r.Status != 200 || !strings.Contains(r.Body, want) {
						failed.Add(1)
						t.Errorf("%d %s", r.Status, r.Body)
						return
					}
				}
			})
		}
	}
	for n := range 50 {
		next := base
		switch n % 5 {
		case 0: // another address, and a new one
			next += declared("changing", moved, "") + declared(fmt.Sprintf("new-%d", n), moved, "")
		case 1: // a header, and a name
			next += declared("changing", moved, fmt.Sprintf("    headers: {X-Round: r%d}\n", n)) + declared(fmt.Sprintf("new-%d", n-1), moved, "    overrides: {echo: {name: say}}\n")
		case 2:
			s.put(t, base+"  changing: {url: [}\n")
			poll.Until(t, "a file that is refused", time.Minute, func() bool { return !s.state(t, i).OK })
			continue
		case 3: // all others gone
		case 4:
			next += declared("changing", changing, "    disabled: true\n")
		}
		if st := s.becomes(t, i, next); !st.OK {
			t.Fatalf("round %d: %+v", n, st)
		}
	}
	close(stop)
	callers.Wait()
	if calls.Load() < 300 || failed.Load() > 0 {
		t.Errorf("%d of %d calls failed", failed.Load(), calls.Load())
	}
	for n := range steady {
		if now := updated(t, i, fmt.Sprintf("steady-%d", n)); now != created[n] {
			t.Errorf("steady-%d was touched: %s, then %s", n, created[n], now)
		}
	}
	close(finish)
	if answer := <-held; !strings.HasPrefix(answer, "200 ") || !strings.Contains(answer, "held") {
		t.Errorf("the call that was under way: %s", answer)
	}
	t.Logf("%d calls during 50 changes", calls.Load())
}

// A call that waits for its client's answer is under way, too: it ends on the
// connection that asked, although the server has moved meanwhile.
func TestReloadKeepsCallsThatWait(t *testing.T) {
	t.Parallel()
	asking := func(answer string) *httptest.Server {
		sdk := mcp.NewServer(&mcp.Implementation{Name: answer, Version: "1"}, nil)
		mcp.AddTool(sdk, &mcp.Tool{Name: "ask"}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			res, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "?", RequestedSchema: map[string]any{"type": "object"}})
			if err != nil {
				return nil, nil, err
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: answer + " " + res.Action}}}, nil, nil
		})
		srv := httptest.NewServer(mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return sdk }, nil))
		t.Cleanup(func() {
			_ = srv.Config.Close()
			srv.Close()
		})
		return srv
	}
	first, second := asking("first"), asking("second")
	file := func(s *httptest.Server) string { return "servers:\n  asks: {transport: sse, url: \"" + s.URL + "\"}\n" }
	s := newSettings(t, file(first))
	i := start(t, testkit.Settings{"config": s.path})
	poll.Until(t, "the tool asks__ask", time.Minute, func() bool { return i.Do(t, "GET", "/api/v1/tools/asks__ask", "").Status == 200 })
	ask := func(more string) string {
		return i.Do(t, "POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"asks__ask","arguments":{}`+more+
			`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`,
			"Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: asks__ask").Body
	}
	var waits struct {
		Result struct {
			InputRequests map[string]any
			RequestState  string
		}
	}
	body := ask("")
	if err := json.Unmarshal([]byte(body), &waits); err != nil || waits.Result.RequestState == "" {
		t.Fatalf("%v %s", err, body)
	}
	s.becomes(t, i, file(second))
	poll.Until(t, "the server's second tool", time.Minute, func() bool {
		return strings.Contains(i.Do(t, "GET", "/api/v1/servers/asks", "").Body, `"name":"second"`)
	})
	answers := map[string]any{}
	for name := range waits.Result.InputRequests {
		answers[name] = map[string]string{"action": "decline"}
	}
	said, err := json.Marshal(answers)
	if err != nil {
		t.Fatal(err)
	}
	state, err := json.Marshal(waits.Result.RequestState)
	if err != nil {
		t.Fatal(err)
	}
	if body := ask(`,"inputResponses":` + string(said) + `,"requestState":` + string(state)); !strings.Contains(body, "first decline") {
		t.Errorf("%s", body)
	}
}

// SIGHUP reads the settings file again, under nohup too. Without a file it ends the
// instance, as it does when a terminal is closed, except under nohup: that is how an
// operator asks for an instance that goes on.
func TestHangup(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there is no such signal")
	}
	// If these tests run under nohup themselves, an instance would inherit the
	// ignored signal. What a process handles is at its default in its children.
	handled := make(chan os.Signal, 1)
	signal.Notify(handled, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(handled) })
	launch := func(t *testing.T, nohup bool, args ...string) *program.Instance {
		t.Helper()
		spec := program.Spec{Addr: program.FreeAddr(t), DataDir: t.TempDir(), Args: args}
		if nohup {
			spec.Prefix = []string{"sh", "-c", `trap "" HUP && exec "$@"`, "sh", program.Binary(t)}
		}
		in := program.Launch(t, spec)
		in.WaitReady(t)
		return in
	}
	for name, nohup := range map[string]bool{"plain": false, "nohup": true} {
		t.Run(name, func(t *testing.T) {
			p := newPeer(t)
			s := newSettings(t, "servers:\n"+declared("notes", p, ""))
			in := launch(t, nohup, "--config", s.path)
			loads := func() int {
				a, err := in.Request(t.Context(), "GET", "/api/v1/settings/file", "")
				var st fileState
				if err == nil {
					err = json.Unmarshal([]byte(a.Body), &st)
				}
				if err != nil || !st.OK {
					t.Fatalf("%v %s", err, a.Body)
				}
				return st.Loads
			}
			before := loads()
			in.Signal(t, syscall.SIGHUP)
			poll.Until(t, "another reading of the file", time.Minute, func() bool { return loads() > before })
			in.Stop(t, time.Minute)

			in = launch(t, nohup)
			in.Signal(t, syscall.SIGHUP)
			if nohup {
				in.Stop(t, time.Minute) // it fails unless SIGTERM ended it
			} else if _, ended := in.Wait(time.Minute); !ended {
				t.Error("it goes on")
			}
		})
	}
}

func updated(t testing.TB, i *testkit.Instance, id string) string {
	t.Helper()
	var s struct {
		UpdatedAt string `json:"updated_at"`
	}
	if err := json.Unmarshal([]byte(i.Do(t, "GET", "/api/v1/servers/"+id, "").Body), &s); err != nil || s.UpdatedAt == "" {
		t.Fatal(err)
	}
	return s.UpdatedAt
}
