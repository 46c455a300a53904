// Package servers tests bring-your-own servers through whole instances: adding
// and changing them, commands, credentials, and the bridge.
package servers

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junctor-mcp/junctor/internal/proc"
	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
)

// TestMain lets this binary be a server over stdio, and the guard of one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == proc.ReaperVerb {
		os.Exit(proc.RunReaper(os.Args[2:]))
	}
	if os.Getenv("PLAY_SERVER") == "" {
		os.Exit(program.Main(m))
	}
	if roll := os.Getenv("ROLL"); roll != "" {
		if err := enroll(roll); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "child", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "env"}, func(_ context.Context, _ *mcp.CallToolRequest, in struct {
		Name string `json:"name"`
	},
	) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: os.Getenv(in.Name)}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "echo"}, func(_ context.Context, _ *mcp.CallToolRequest, in struct {
		Text string `json:"text"`
	},
	) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "quit"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		os.Exit(0)
		return nil, nil, nil
	})
	fmt.Fprintln(os.Stderr, "the child says hello with", os.Getenv("TOKEN"))
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		os.Exit(1)
	}
}

func files(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		out[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func command(t testing.TB, id, env string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`{"id":%q,"transport":"stdio","command":[%q],"env":{"PLAY_SERVER":"1"%s}}`, id, self, env)
}

// A command comes from the operator, or from an admin where the operator said
// so; from anyone else it is refused, run never, and on record.
func TestWhoCanDefineACommand(t *testing.T) {
	t.Parallel()
	for _, allow := range []string{"false", "true"} {
		i := testkit.Start(t, testkit.Settings{"allow-commands": allow})
		writer := key(t, i, "servers:write")
		marker := filepath.Join(t.TempDir(), "ran")
		touch := fmt.Sprintf(`{"id":"evil","transport":"stdio","command":["touch",%q]}`, marker)
		for name, tt := range map[string]struct {
			who  string
			fine bool
		}{"writer": {writer, false}, "admin": {testkit.AdminKey, allow == "true"}} {
			for _, path := range []string{"/api/v1/servers", "/api/v1/servers/probe"} {
				r := i.Do(t, "POST", path, touch, as(tt.who))
				if (r.Status == 403) == tt.fine {
					t.Errorf("allow %s, %s, %s: %d %s", allow, name, path, r.Status, r.Body)
				}
				if _, err := os.Stat(marker); (err == nil) != tt.fine {
					t.Errorf("allow %s, %s, %s: it ran: %v", allow, name, path, err == nil)
				}
				_ = os.Remove(marker)
			}
		}
		for _, bad := range []string{"cmd:touch " + marker, "env:HOME", "file:/etc/hostname"} {
			if r := i.Do(t, "POST", "/api/v1/servers", `{"id":"x","url":"https://example.com/","auth":{"type":"bearer","token":"`+bad+`"}}`, as(writer)); r.Status != 403 {
				t.Errorf("%s: %d %s", bad, r.Status, r.Body)
			}
		}
		if _, err := os.Stat(marker); err == nil {
			t.Error("a reference ran")
		}
		if r := i.Do(t, "GET", "/api/v1/calls?status=denied", ""); !strings.Contains(r.Body, `"kind":"server"`) || !strings.Contains(r.Body, `"server":"evil"`) {
			t.Errorf("no record: %s", r.Body)
		}
	}
}

func TestOperatorDefinesACommand(t *testing.T) {
	t.Parallel()
	i := testkit.Start(t, nil)
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("from-a-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	status, body := operator(t, i, "POST", "/api/v1/servers", command(t, "child", `,"TOKEN":"canary-env-1","OTHER":"file:`+file+`"`))
	if status != 201 || strings.Contains(body, "canary") {
		t.Fatalf("%d %s", status, body)
	}
	get := func(name string) string {
		r := i.Do(t, "POST", "/api/v1/tools/child__env/call", `{"arguments":{"name":"`+name+`"}}`)
		var res struct{ Content []struct{ Text string } }
		if err := json.Unmarshal([]byte(r.Body), &res); err != nil || len(res.Content) != 1 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		return res.Content[0].Text
	}
	if get("TOKEN") != "canary-env-1" || get("OTHER") != "from-a-file" || get("JUNCTOR_ADMIN_KEY") != "" {
		t.Errorf("%q %q", get("TOKEN"), get("OTHER"))
	}
	r := i.Do(t, "GET", "/api/v1/servers/child", "")
	if !strings.Contains(r.Body, "the child says hello with ***") || strings.Contains(r.Body, "canary") || !strings.Contains(r.Body, `"OTHER":"file:`) {
		t.Errorf("%s", r.Body)
	}
	// References are read anew for each process, and none is shown.
	if err := os.WriteFile(file, []byte("canary-anew\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if get("OTHER") != "from-a-file" {
		t.Error("a running process has another environment")
	}
	i.Do(t, "POST", "/api/v1/tools/child__quit/call", `{"arguments":{}}`)
	if got := get("OTHER"); got != "canary-anew" {
		t.Errorf("the next process has %q", got)
	}
	if err := os.WriteFile(file, []byte("from-a-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	i.Do(t, "POST", "/api/v1/tools/child__quit/call", `{"arguments":{}}`)
	// An admin may describe a tool of it, but not change what is run. A service may
	// change neither: it did not add the server.
	changes := []string{`{"command":["touch","/tmp/x"]}`, `{"env":{"PLAY_SERVER":"2"}}`, `{"cwd":"/tmp"}`}
	const describe = `{"overrides":{"env":{"description":"d"}}}`
	admin, writer := key(t, i, "admin"), key(t, i, "servers:write")
	if r := i.Do(t, "PATCH", "/api/v1/servers/child", describe, as(admin)); r.Status != 200 {
		t.Errorf("%d %s", r.Status, r.Body)
	}
	for who, these := range map[string][]string{admin: changes, writer: append(changes, describe)} {
		for _, change := range these {
			if r := i.Do(t, "PATCH", "/api/v1/servers/child", change, as(who)); r.Status != 403 {
				t.Errorf("%s: %d %s", change, r.Status, r.Body)
			}
		}
	}
	// /mcp/call may name it, and may not bring one.
	if r := i.Do(t, "POST", "/mcp/call", `{"endpoint":{"server":"child"},"tool_name":"env","arguments":{"name":"OTHER"}}`); r.Status != 200 || !strings.Contains(r.Body, "from-a-file") {
		t.Errorf("%d %s", r.Status, r.Body)
	}
}

// The list of a server that is gone is there after a restart, at once, and calls
// work when it is back.
func TestADeadServerDelaysNothing(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	dir := t.TempDir()
	i := start(t, testkit.Settings{"data-dir": dir})
	add(t, i, "notes", p, "")
	if r := call(t, i, "notes__echo", "x"); r.Status != 200 {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	i.Stop()
	p.down.Store(true)
	i = start(t, testkit.Settings{"data-dir": dir})
	if r := i.Do(t, "GET", "/api/v1/tools?server=notes", ""); !strings.Contains(r.Body, "notes__echo") {
		t.Errorf("the list is not there: %s", r.Body)
	}
	if r := i.Do(t, "POST", "/api/v1/tools/demo__echo/call", `{"arguments":{"text":"x"}}`); r.Status != 200 {
		t.Errorf("another server: %d %s", r.Status, r.Body)
	}
	if r := call(t, i, "notes__echo", "x"); r.Status < 500 {
		t.Errorf("it is down: %d %s", r.Status, r.Body)
	}
	poll.Until(t, "a server that is shown as bad", time.Minute, func() bool {
		return strings.Contains(i.Do(t, "GET", "/api/v1/servers/notes", "").Body, `"state":"error"`)
	})
	p.down.Store(false)
	poll.Until(t, "an answer of notes__echo", time.Minute, func() bool { return call(t, i, "notes__echo", "x").Status == 200 })
}

func TestTheBridge(t *testing.T) {
	t.Parallel()
	i, p := start(t, nil), newPeer(t)
	p.wants("their-token")
	add(t, i, "notes", p, `,"auth":{"type":"bearer","token":"their-token"}`)
	bridge, tools, neither := key(t, i, "bridge:call"), key(t, i, "tools:call"), key(t, i, "audit:read")
	endpoint := fmt.Sprintf(`{"url":%q,"transport":"http","command":null,"args":null,"headers":{"Authorization":"Bearer their-token"}}`, p.URL)
	const nobody = ""
	for name, tt := range map[string]struct {
		who, body string
		status    int
		part      string
	}{
		"an endpoint":            {bridge, `{"endpoint":` + endpoint + `,"tool_name":"echo","arguments":{"text":"hi"},"timeout_ms":30000}`, 200, `{"success":true,"result":{`},
		"a server":               {tools, `{"endpoint":{"server":"notes"},"tool_name":"echo","arguments":{"text":"hi"}}`, 200, `"text":"hi"`},
		"a tool that failed":     {bridge, `{"endpoint":` + endpoint + `,"tool_name":"echo","arguments":{"text":"fail"}}`, 200, `"isError":true`},
		"no credential":          {nobody, `{}`, 401, `"success":false,"error":"`},
		"a wrong one":            {"nonsense", `{}`, 401, `"success":false`},
		"an endpoint, no scope":  {tools, `{"endpoint":` + endpoint + `,"tool_name":"echo"}`, 403, "bridge:call"},
		"a server, no scope":     {neither, `{"endpoint":{"server":"notes"},"tool_name":"echo"}`, 400, `"success":false`},
		"an unknown server":      {tools, `{"endpoint":{"server":"nope"},"tool_name":"echo"}`, 400, `"success":false`},
		"an unknown tool":        {tools, `{"endpoint":{"server":"notes"},"tool_name":"eco"}`, 400, "echo"},
		"wrong arguments":        {tools, `{"endpoint":{"server":"notes"},"tool_name":"echo","arguments":{"text":5}}`, 400, `"success":false`},
		"an unknown tool there":  {bridge, `{"endpoint":` + endpoint + `,"tool_name":"nope"}`, 500, `"success":false`},
		"a refusal of the other": {bridge, fmt.Sprintf(`{"endpoint":{"url":%q},"tool_name":"echo"}`, p.URL), 500, `"success":false`},
		"nobody there":           {bridge, `{"endpoint":{"url":"http://127.0.0.1:1/"},"tool_name":"echo"}`, 500, `"success":false`},
		"a forbidden address":    {bridge, `{"endpoint":{"url":"http://10.0.0.1/"},"tool_name":"echo"}`, 403, `"success":false`},
		"too slow":               {bridge, `{"endpoint":` + endpoint + `,"tool_name":"wait","timeout_ms":50}`, 500, "50ms"},
		"a command":              {bridge, `{"endpoint":{"transport":"stdio","command":"touch","args":["x"]},"tool_name":"x"}`, 400, "command"},
		"stdio":                  {bridge, `{"endpoint":{"transport":"stdio","url":"x"},"tool_name":"x"}`, 400, "called by its ID"},
		"no endpoint":            {bridge, `{"tool_name":"x"}`, 400, "endpoint"},
		"no tool":                {bridge, `{"endpoint":` + endpoint + `}`, 400, "tool_name"},
		"long":                   {bridge, `{"endpoint":` + endpoint + `,"tool_name":"x","timeout_ms":300001}`, 400, "300000"},
		"twice":                  {bridge, `{"tool_name":"x","tool_name":"y"}`, 400, "duplicate members"},
		"our header":             {bridge, fmt.Sprintf(`{"endpoint":{"url":%q,"headers":{"Mcp-Session-Id":"x"}},"tool_name":"x"}`, p.URL), 400, "header"},
		"no JSON":                {bridge, `hello`, 400, "JSON"},
	} {
		header := as(tt.who)
		if tt.who == nobody {
			header = "Authorization:"
		}
		r := i.Do(t, "POST", "/mcp/call", tt.body, header)
		if r.Status != tt.status || !strings.Contains(r.Body, tt.part) || !json.Valid([]byte(r.Body)) {
			t.Errorf("%s: %d %s", name, r.Status, r.Body)
		}
	}
	// The key as the password of a URL.
	req := strings.Replace(i.URL, "http://", "http://x:"+bridge+"@", 1)
	i2 := &testkit.Instance{URL: req}
	if r := i2.Do(t, "POST", "/mcp/call", `{"endpoint":`+endpoint+`,"tool_name":"echo","arguments":{"text":"basic"}}`, "Authorization:"); r.Status != 200 || !strings.Contains(r.Body, "basic") {
		t.Errorf("%d %s", r.Status, r.Body)
	}
	// Every call is on record, under the reserved server where it is no other's.
	r := i.Do(t, "GET", "/api/v1/calls?limit=100", "")
	if !strings.Contains(r.Body, `"entry_point":"call","server":"adhoc","name":"echo"`) || !strings.Contains(r.Body, `"entry_point":"call","server":"notes"`) {
		t.Errorf("%s", r.Body)
	}
	if r := i.Do(t, "POST", "/api/v1/servers", fmt.Sprintf(`{"id":"adhoc","url":%q}`, p.URL)); r.Status != 422 {
		t.Errorf("the reserved id: %d %s", r.Status, r.Body)
	}
}
