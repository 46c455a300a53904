package attention_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admission"
	"github.com/junctor-mcp/junctor/internal/attention"
	"github.com/junctor-mcp/junctor/internal/audit"
	"github.com/junctor-mcp/junctor/internal/queue"
	"github.com/junctor-mcp/junctor/internal/store"
)

// begin is the time of these tests.
func begin() time.Time { return time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC) }

// findAll returns what a source finds.
func findAll(t *testing.T, s attention.Source) []attention.Finding {
	t.Helper()
	report, err := s.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range report.Findings {
		f := &report.Findings[i]
		if f.Problem == "" || f.Command == "" || !strings.HasPrefix(f.Console, "/") || f.Severity == "" || f.Kind == "" || f.Object.Kind == "" || f.Object.ID == "" || f.Object.Name == "" {
			t.Errorf("%s: the item does not say what it is, or what to do: %+v", s.Name, f)
		}
	}
	return report.Findings
}

// wantFindings compares findings, each as its tenant, kind, severity, object and time.
func wantFindings(t *testing.T, what string, got []attention.Finding, want ...string) {
	t.Helper()
	var texts []string
	for i := range got {
		f := &got[i]
		text := strings.Join([]string{string(f.Tenant), string(f.Kind), string(f.Severity), f.Object.Name}, " ")
		if !f.Since.IsZero() {
			text += " " + f.Since.UTC().Format("01-02T15:04")
		}
		texts = append(texts, text)
	}
	if strings.Join(texts, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s: found\n%s\nwant\n%s", what, strings.Join(texts, "\n"), strings.Join(want, "\n"))
	}
}

// A call that waits in a room is an item until it is decided, in the tenant of the room.
func TestApprovalsAreFound(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, st *store.Store) {
		t.Helper()
		ctx := t.Context()
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		must(st.EnsureTenant(ctx, "acme", "Acme"))
		on := st.For("acme")
		_, err := on.AddRoom(ctx, junctor.Room{Tenant: "acme", ID: "kitchen", Name: "Kitchen", Policy: junctor.PolicyRouter, MaxRounds: 3, Approvals: junctor.ApproveAsk, Owner: "user:u1"})
		must(err)
		run := junctor.RoomRun{Tenant: "acme", Room: "kitchen", ID: "r1", State: junctor.RunRunning, By: "user:u1", Replica: "n", BegunAt: begin()}
		must(on.BeginRun(ctx, &run, &junctor.Message{Tenant: "acme", Room: "kitchen", ID: "m", At: begin(), Author: junctor.Author{Kind: junctor.AuthorUser, Name: "Ada", ID: "user:u1"}, Run: "r1", Text: "cook"}))
		source := attention.Approvals(st)
		wantFindings(t, "before the agent asks", findAll(t, source))
		asked := junctor.CallApproval{
			Tenant: "acme", Room: "kitchen", ID: "a1", Run: "r1", Agent: "cook", State: junctor.CallOpen, At: begin().Add(time.Minute),
			Call: junctor.RequestedCall{ID: "c1", Name: "notes__add", Server: "notes", Tool: "add"},
		}
		run.State = junctor.RunWaiting
		must(on.EndRun(ctx, &run, []junctor.CallApproval{asked}))
		found := findAll(t, source)
		wantFindings(t, "while it waits", found, "acme approval warning Kitchen 05-04T03:03")
		if len(found) == 1 && (!strings.Contains(found[0].Problem, "cook") || !strings.Contains(found[0].Problem, "notes__add") || found[0].Console != "/chat/kitchen") {
			t.Errorf("%+v", found[0])
		}
		asked.State, asked.DecidedBy, asked.DecidedAt = junctor.CallAllowed, "user:u1", begin().Add(time.Hour)
		_, _, err = on.ContinueRun(ctx, "r1", []junctor.CallApproval{asked}, &junctor.RoomRun{Tenant: "acme", Room: "kitchen", ID: "r2", State: junctor.RunRunning, By: "user:u1", Replica: "n", BegunAt: begin()})
		must(err)
		wantFindings(t, "after the decision", findAll(t, source))
	})
}

// Suggestions for the tools of a server are an item until a person decides on them.
func TestSuggestionsAreFound(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, st *store.Store) {
		t.Helper()
		on := st.For(junctor.DefaultTenant)
		if _, err := on.AddServer(t.Context(), admission.Stored(junctor.Server{Tenant: junctor.DefaultTenant, ID: "pets", Mode: junctor.ModeBYO, Owner: "user:u1"})); err != nil {
			t.Fatal(err)
		}
		source := attention.Suggestions(st)
		wantFindings(t, "without suggestions", findAll(t, source))
		if err := on.PutSuggestions(t.Context(), "pets", []junctor.ToolSuggestion{
			{ID: "1", Tool: "list", To: junctor.ToolFace{Name: "list_pets"}, Model: "m", MadeAt: begin().Add(time.Hour)}, {ID: "2", Tool: "del", To: junctor.ToolFace{Name: "delete_pet"}, Model: "m", MadeAt: begin()},
		}); err != nil {
			t.Fatal(err)
		}
		found := findAll(t, source)
		wantFindings(t, "with suggestions", found, "default approval info pets 05-04T03:02")
		if len(found) == 1 && (!strings.Contains(found[0].Problem, "2 tools") || found[0].Command != "junctor server suggestions pets" || found[0].Owner != "user:u1" || found[0].Server != "") {
			t.Errorf("%+v", found[0])
		}
		if err := on.DeleteSuggestions(t.Context(), "pets", []string{"1", "2"}); err != nil {
			t.Fatal(err)
		}
		wantFindings(t, "after the decision", findAll(t, source))
	})
}

// A server whose tools changed is an item for three days, and a further change is another one.
func TestChangedToolsAreFound(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, st *store.Store) {
		t.Helper()
		now := begin()
		if _, err := st.For(junctor.DefaultTenant).AddServer(t.Context(), admission.Stored(junctor.Server{Tenant: junctor.DefaultTenant, ID: "shop", Mode: junctor.ModeBYO})); err != nil {
			t.Fatal(err)
		}
		source := attention.ChangedTools(st, func() time.Time { return now })
		change := func(id, server, tool string) {
			t.Helper()
			if err := st.For(junctor.DefaultTenant).AddChanges(t.Context(), []junctor.ToolChange{{ID: id, Server: server, Tool: tool, BeforeDigest: "a", AfterDigest: "b", Before: []byte(`{}`), After: []byte(`{}`), SeenAt: now}}); err != nil {
				t.Fatal(err)
			}
		}
		change("1", "shop", "buy")
		change("2", "shop", "sell")
		first := findAll(t, source)
		wantFindings(t, "two tools", first, "default tools info shop 05-04T03:02")
		now = now.Add(time.Hour)
		change("3", "shop", "buy")
		second := findAll(t, source)
		wantFindings(t, "another change", second, "default tools info shop 05-04T04:02")
		if !strings.Contains(first[0].Problem, "2 tools") || first[0].Key == second[0].Key {
			t.Errorf("%+v, then %+v", first, second)
		}
		now = now.Add(3*24*time.Hour + time.Second)
		wantFindings(t, "three days later", findAll(t, source))
	})
}

// An endpoint whose token is suspended is an item until the token is entered again.
func TestSuspendedTokensAreFound(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, st *store.Store) {
		t.Helper()
		on := st.For(junctor.DefaultTenant)
		e := junctor.AgentEndpoint{Tenant: junctor.DefaultTenant, Agent: "42", Origin: "https://one.example", URL: "https://one.example/mcp", Header: junctor.TokenHeaderAuto}
		if _, err := on.PutEndpoint(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		source := attention.SuspendedTokens(st)
		wantFindings(t, "with a token", findAll(t, source))
		if err := st.Together(t.Context(), func(tx store.Statements) error {
			return store.SuspendEndpoints(t.Context(), tx, junctor.DefaultTenant, "42", "the owner changed")
		}); err != nil {
			t.Fatal(err)
		}
		found := findAll(t, source)
		if len(found) != 1 || found[0].Severity != junctor.SeverityCritical || !strings.Contains(found[0].Problem, "the owner changed") || found[0].Since.IsZero() || !strings.Contains(found[0].Command, "--url https://one.example/mcp") {
			t.Errorf("%+v", found)
		}
	})
}

// A server that fails is critical; one whose login ended is a warning with the command that
// logs in. One of which nothing is known yet keeps the item that it had.
func TestBrokenServersAreFound(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, st *store.Store) {
		t.Helper()
		if err := st.EnsureTenant(t.Context(), "acme", "Acme"); err != nil {
			t.Fatal(err)
		}
		broken := map[junctor.TenantID][]attention.BrokenServer{
			junctor.DefaultTenant: {{ServerHealth: junctor.ServerHealth{Server: "shop", State: junctor.HealthBroken, Problem: "connection refused", Fix: "junctor server test shop shows each step"}}},
			"acme": {
				{ServerHealth: junctor.ServerHealth{Server: "notes", State: junctor.HealthBroken, Problem: "the login has ended", Fix: "junctor server login notes"}, Title: "Notes", LoggedOut: true},
				{ServerHealth: junctor.ServerHealth{Server: "new", State: junctor.HealthUnknown}},
			},
		}
		source := attention.Servers(st, func(_ context.Context, tenant junctor.TenantID) ([]attention.BrokenServer, error) {
			return broken[tenant], nil
		})
		found := findAll(t, source)
		if len(found) == 2 && found[0].Tenant != junctor.DefaultTenant {
			found[0], found[1] = found[1], found[0]
		}
		wantFindings(t, "servers", found, "default server critical shop", "acme server warning Notes")
		if len(found) == 2 && (found[1].Command != "junctor server login notes" || found[0].Command != "junctor server test shop" || found[0].Advice == "") {
			t.Errorf("%+v", found)
		}
		report, err := source.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for id, want := range map[string]bool{"new": true, "notes": false, "shop": false} {
			if got := report.Keeps(&junctor.AttentionItem{Tenant: "acme", Object: junctor.AttentionObject{Kind: "server", ID: id}}); got != want {
				t.Errorf("the former item of %s stays: %v", id, got)
			}
		}
	})
}

// A certificate is an item in its last two weeks, urgent in its last three days, and while its
// new files cannot be used.
func TestCertificateIsFound(t *testing.T) {
	t.Parallel()
	expires := begin().Add(90 * 24 * time.Hour)
	var now time.Time
	var fails error
	source := attention.Certificate("/tls/cert.pem", func() (time.Time, error) { return expires, fails }, func() time.Time { return now })
	for _, c := range []struct {
		name  string
		left  time.Duration
		fails error
		want  []string
	}{
		{"fresh", 30 * 24 * time.Hour, nil, nil},
		{"in its last two weeks", 10 * 24 * time.Hour, nil, []string{" certificate warning /tls/cert.pem 07-19T03:02"}},
		{"in its last days", 24 * time.Hour, nil, []string{" certificate critical /tls/cert.pem 07-19T03:02"}},
		{"expired", -time.Hour, nil, []string{" certificate critical /tls/cert.pem 08-02T03:02"}},
		{"with new files that do not match", 30 * 24 * time.Hour, errors.New("the key does not match"), []string{" certificate warning /tls/cert.pem"}},
	} {
		now, fails = expires.Add(-c.left), c.fails
		wantFindings(t, c.name, findAll(t, source), c.want...)
	}
}

// The forecast continues the line of the stored samples, also after a restart, and warns before
// little is left.
func TestDiskIsFound(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, st *store.Store) {
		t.Helper()
		const gib = 1 << 30
		now, free := begin(), uint64(100*gib)
		open := func() attention.Source {
			return attention.Disk(st.Database(), "one", "/data", func(string) (uint64, bool) { return free, true }, func() time.Time { return now })
		}
		source := open()
		wantFindings(t, "at first", findAll(t, source))
		now, free = now.Add(24*time.Hour), 95*gib
		wantFindings(t, "with 19 days left", findAll(t, source))
		now, free = now.Add(24*time.Hour), 80*gib
		source = open()
		found := findAll(t, source)
		wantFindings(t, "with 8 days left, after a restart", found, " disk warning /data")
		if len(found) == 1 && (!strings.Contains(found[0].Problem, "80.0 GiB are free") || !strings.Contains(found[0].Problem, "full in 8 days")) {
			t.Errorf("%s", found[0].Problem)
		}
		now, free = now.Add(12*time.Hour), 30*gib
		wantFindings(t, "with a day left", findAll(t, source), " disk critical /data")
		// Samples of more than three days ago do not count.
		for range 10 {
			now = now.Add(12 * time.Hour)
			findAll(t, source)
		}
		wantFindings(t, "once it no longer fills", findAll(t, source))
		for left, want := range map[uint64]string{gib / 2: " disk warning /data", gib / 8: " disk critical /data"} {
			full := attention.Disk(st.Database(), "two", "/data", func(string) (uint64, bool) { return left, true }, func() time.Time { return now })
			wantFindings(t, "with little room", findAll(t, full), want)
		}
	})
}

// The journal, the settings file, Redis and dead letters are items as their parts tell.
func TestPartsAreFound(t *testing.T) {
	t.Parallel()
	var journal audit.State
	for _, c := range []struct {
		state audit.State
		want  []string
	}{
		{audit.State{OK: true, Replica: "one"}, nil},
		{audit.State{Replica: "one", Error: "no space left on device"}, []string{" journal critical one"}},
		{audit.State{OK: true, Replica: "one", Problems: []string{"records 3 to 4 are missing"}}, []string{" journal warning one"}},
	} {
		journal = c.state
		wantFindings(t, "the journal", findAll(t, attention.Journal(func() audit.State { return journal })), c.want...)
	}
	for _, c := range []struct {
		state attention.SettingsState
		want  []string
	}{
		{attention.SettingsState{}, nil},
		{attention.SettingsState{Path: "/etc/junctor.yaml", OK: true}, nil},
		{attention.SettingsState{Path: "/etc/junctor.yaml", Problems: []string{"line 9: invalid YAML"}}, []string{" settings warning /etc/junctor.yaml"}},
	} {
		wantFindings(t, "the settings file", findAll(t, attention.Settings(func() attention.SettingsState { return c.state })), c.want...)
	}
	for answers, want := range map[bool][]string{true: nil, false: {" redis warning Redis"}} {
		wantFindings(t, "Redis", findAll(t, attention.Redis(func(context.Context) bool { return answers })), want...)
	}
	dead := []queue.DeadJobs{{Tenant: "acme", Lane: "server:demo", Trigger: "sum", Count: 2, Newest: "j2", Since: begin(), Error: "it is no number"}, {Tenant: "acme", Lane: "https://one.example", Count: 1, Newest: "j3", Since: begin()}}
	found := findAll(t, attention.DeadDeliveries(func(context.Context) ([]queue.DeadJobs, error) { return dead, nil }))
	wantFindings(t, "dead letters", found, "acme delivery warning sum 05-04T03:02", "acme delivery warning https://one.example 05-04T03:02")
	if found[0].Server != "demo" || found[1].Server != "" || !strings.Contains(found[0].Advice, "--trigger sum") {
		t.Errorf("%+v", found)
	}
}
