package servers

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/testkit"
)

// applied sends a file to an instance, as the command line does, and gives what
// was changed.
func applied(t testing.TB, i *testkit.Instance, d config.Declared, more string) (actions []string, answer string) {
	t.Helper()
	text, err := d.JSON()
	if err != nil {
		t.Fatal(err)
	}
	status, body := operator(t, i, "POST", "/api/v1/apply", strings.TrimSuffix(strings.TrimSpace(string(text)), "}")+more+"}")
	var out struct {
		Changes []struct{ Action, ID, Error string }
	}
	if err := json.Unmarshal([]byte(body), &out); err != nil || status != 200 {
		t.Fatalf("%d %s\n%s", status, body, text)
	}
	for _, c := range out.Changes {
		actions = append(actions, c.Action+" "+c.ID+c.Error)
	}
	return actions, body
}

func exported(t testing.TB, i *testkit.Instance) string {
	t.Helper()
	var page struct{ Items []junctor.Server }
	if err := json.Unmarshal([]byte(i.Do(t, "GET", "/api/v1/servers", "").Body), &page); err != nil {
		t.Fatal(err)
	}
	var rows []junctor.Server
	for _, s := range page.Items {
		if s.Mode == junctor.ModeBYO {
			rows = append(rows, s)
		}
	}
	d, _ := config.FromRows(rows)
	var agents struct{ Items []junctor.Agent }
	if err := json.Unmarshal([]byte(i.Do(t, "GET", "/api/v1/agents", "").Body), &agents); err != nil {
		t.Fatal(err)
	}
	d.Agents = config.FromAgents(agents.Items)
	text, err := d.YAML()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// drawServers makes servers as people write them, credentials and all. None can
// be reached.
func drawServers(t *rapid.T) config.Declared {
	name := rapid.SampledFrom([]string{"a", "b", "a-b", "junctor", "c"})
	secret := rapid.SampledFrom([]string{"plain-canary", "other-canary", "env:SOME", "file:/run/secrets/x", ""})
	text := rapid.SampledFrom([]string{"", "A title", "true", "- x: y", "#", "é\n\t\"'"})
	d := config.Declared{Servers: []config.Server{}}
	for _, id := range rapid.SliceOfNDistinct(name, 0, 4, rapid.ID).Draw(t, "ids") {
		s := junctor.Server{ID: id, Title: text.Draw(t, "title"), Private: rapid.Bool().Draw(t, "private"), State: junctor.StateActive}
		if rapid.Bool().Draw(t, "off") {
			s.State = junctor.StateInactive
		}
		c := &s.Connection
		c.CallTimeout, c.MaxSessions = junctor.DurationOfMS(int64(rapid.IntRange(0, 9).Draw(t, "timeout"))), rapid.IntRange(0, 9).Draw(t, "sessions")
		c.BelieveAnnotations = rapid.Bool().Draw(t, "believe")
		c.Isolation = rapid.SampledFrom([]junctor.Isolation{"", "shared", "session", "user"}).Draw(t, "isolation")
		c.Overrides = rapid.MapOfN(rapid.SampledFrom([]string{"x", "y z"}), rapid.Custom(func(t *rapid.T) junctor.Override {
			return junctor.Override{Hide: rapid.Bool().Draw(t, "hide"), Name: rapid.SampledFrom([]string{"", "renamed", "a-b_C"}).Draw(t, "name"), ReadOnly: rapid.SampledFrom([]*bool{nil, new(true), new(false)}).Draw(t, "read only")}
		}), 0, 2).Draw(t, "overrides")
		if rapid.Bool().Draw(t, "command") {
			c.Transport, c.Command, c.Cwd = junctor.TransportStdio, []string{"/nowhere/x", text.Draw(t, "arg")}, text.Draw(t, "cwd")
			c.Env = rapid.MapOfN(rapid.SampledFrom([]string{"A", "B_C", "_"}), secret, 0, 3).Draw(t, "env")
		} else {
			c.Transport = rapid.SampledFrom([]junctor.Transport{"http", "sse"}).Draw(t, "transport")
			c.URL = "http://127.0.0.1:1/mcp" + rapid.SampledFrom([]string{"", "?key=query-canary", "?env:QUERY"}).Draw(t, "query")
			c.Headers = rapid.MapOfN(rapid.SampledFrom([]string{"X-A", "B-C"}), secret, 0, 2).Draw(t, "headers")
			if s := secret.Draw(t, "auth"); s != "" {
				c.Auth = &junctor.Auth{Type: rapid.SampledFrom([]junctor.AuthType{"bearer", "api-key"}).Draw(t, "type"), Secret: s}
			}
		}
		d.Servers = append(d.Servers, config.NewServer(s))
	}
	return d
}

// drawAgents makes agents that may use what is built in and the servers of d.
func drawAgents(t *rapid.T, d *config.Declared) {
	given := []junctor.Grant{{Server: "demo", Item: "echo"}, {Server: "demo", Item: junctor.AnyItem}}
	for _, s := range d.Servers {
		given = append(given, junctor.Grant{Server: s.ID, Item: junctor.AnyItem}, junctor.Grant{Server: s.ID, Item: "not/seen yet"})
	}
	grants := rapid.Custom(func(t *rapid.T) []junctor.Grant {
		list := rapid.SliceOfNDistinct(rapid.SampledFrom(given), 0, len(given), rapid.ID).Draw(t, "grants")
		slices.SortFunc(list, junctor.Grant.Compare)
		return list
	})
	var rows []junctor.Agent
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"x", "y", "z-1"}), 0, 3, rapid.ID).Draw(t, "agents") {
		a := junctor.Agent{
			Name: name, Role: rapid.SampledFrom([]junctor.Role{"QA", "Ops", junctor.RoleGeneral}).Draw(t, "role"), Title: rapid.SampledFrom([]string{"", "true", "é"}).Draw(t, "title"),
			Tools: grants.Draw(t, "tools"), Tier: rapid.SampledFrom([]string{"", "pro"}).Draw(t, "tier"), Disabled: rapid.Bool().Draw(t, "off"),
		}
		if rapid.Bool().Draw(t, "limited") {
			a.Limits = &junctor.Limits{PerSecond: rapid.SampledFrom([]float64{0, 0.5, 3}).Draw(t, "rate"), PerDay: rapid.IntRange(0, 2).Draw(t, "day")}
		}
		rows = append(rows, a)
	}
	d.Agents = config.FromAgents(rows)
}

// What one instance exports makes another one the same, whatever it had before,
// and applying it again changes nothing. No credential is in what is shown.
func TestExportAndApplyAreOneAnothersInverse(t *testing.T) {
	t.Parallel()
	one, two := start(t, nil), start(t, nil)
	const all = `,"prune":true,"unseen":true`
	rapid.Check(t, func(r *rapid.T) {
		d := drawServers(r)
		drawAgents(r, &d)
		planned, _ := applied(t, one, d, all+`,"dry_run":true`)
		before := exported(t, one)
		dry, shown := applied(t, one, d, all+`,"dry_run":true`)
		if got := exported(t, one); got != before || fmt.Sprint(planned) != fmt.Sprint(dry) {
			r.Fatalf("a dry run changed something:\n%s\n%s", before, got)
		}
		done, body := applied(t, one, d, all)
		if fmt.Sprint(done) != fmt.Sprint(planned) {
			r.Fatalf("planned %v, did %v", planned, done)
		}
		if again, _ := applied(t, one, d, all); len(again) != 0 {
			r.Fatalf("a second time: %v", again)
		}
		text := exported(t, one)
		if strings.Contains(text+shown+body, "canary") {
			r.Fatalf("a credential is shown:\n%s\n%s", text, body)
		}
		file, err := config.Parse("f", []byte(text))
		if err != nil {
			r.Fatalf("%v\n%s", err, text)
		}
		applied(t, two, file, all)
		if got := exported(t, two); got != text {
			r.Fatalf("one has:\n%s\nthe other:\n%s", text, got)
		}
		if again, _ := applied(t, two, file, all); len(again) != 0 {
			r.Fatalf("a second time: %v", again)
		}
	})
	for _, i := range []*testkit.Instance{one, two} {
		if strings.Contains(i.Log.String(), "canary") {
			t.Error("a credential is in the log")
		}
	}
}

// Apply judges as adding does: commands are the operator's, a declared server is
// its file's, and a bad connection is not stored.
func TestApplyJudges(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	s := newSettings(t, "servers:\n"+declared("filed", p, ""))
	i := start(t, testkit.Settings{"config": s.path})
	maker := key(t, i, "servers:write,tools:read")
	r := i.Do(t, "POST", "/api/v1/apply", `{"servers":{"x":{"command":["true"]}},"unseen":true}`, as(maker))
	if r.Status != 403 || !strings.Contains(r.Body, "servers.x: a command to run comes from the operator") {
		t.Errorf("%d %s", r.Status, r.Body)
	}
	if r := i.Do(t, "POST", "/api/v1/apply", `{"servers":{"x":{"url":"ftp://x"}}}`, as(maker)); r.Status != 422 {
		t.Errorf("%d %s", r.Status, r.Body)
	}
	if r := i.Do(t, "POST", "/api/v1/apply", `{}`, as(key(t, i, "tools:call"))); r.Status != 403 {
		t.Errorf("%d %s", r.Status, r.Body)
	}
	r = i.Do(t, "POST", "/api/v1/apply", fmt.Sprintf(`{"servers":{"filed":{"url":%q,"title":"x"},"demo":{"url":%q},"x":{"url":%q}},"prune":true}`, p.URL, p.URL, p.URL), as(key(t, i, "admin")))
	for _, want := range []string{`"id":"demo","action":"conflict"`, `"id":"filed","action":"conflict"`, "change it in that file", `"id":"x","action":"add","done":true`} {
		if !strings.Contains(r.Body, want) {
			t.Errorf("%s is not in %s", want, r.Body)
		}
	}
	if r := call(t, i, "x__echo", "hello"); r.Status != 200 {
		t.Errorf("%d %s", r.Status, r.Body)
	}
	// Prune leaves what the file declares and what is built in.
	r = i.Do(t, "POST", "/api/v1/apply", `{"prune":true}`)
	if strings.Count(r.Body, `"action"`) != 1 || !strings.Contains(r.Body, `"id":"x","action":"remove","done":true`) {
		t.Errorf("%d %s", r.Status, r.Body)
	}
}
