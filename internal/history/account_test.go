package history_test

import (
	"cmp"
	"database/sql"
	"path/filepath"
	"slices"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/history"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/store/postgres"
	"github.com/junctor-mcp/junctor/internal/store/sqlite"

	diff "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Whatever is asked for, the sums are those of the calls themselves.
func TestUsageAgainstModel(t *testing.T) {
	t.Parallel()
	each(t, func(t *trial) {
		h := t.open(t, history.Options{})
		var all []junctor.Call
		for n := range 210 {
			c := call(n)
			c.Name, c.Server = []string{"echo", "sum"}[n%2], []string{"demo", "files", "notes"}[n%3]
			c.EntryPoint = []junctor.EntryPoint{junctor.EntryMCP, junctor.EntryStdio, junctor.EntryAdmin}[n%5%3]
			switch n % 4 {
			case 0:
				c.Issuer, c.Subject, c.User = junctor.IssuerUser, "u1", "u1"
			case 1: // u1 at the endpoint of an agent
				c.Issuer, c.Subject, c.User, c.Agent = junctor.IssuerUser, "u1", "u1", "qa"
			case 2:
				c.Issuer, c.Subject, c.User, c.Agent = junctor.IssuerAgent, "qa", "u2", "qa"
			case 3:
				c.Issuer, c.Subject = junctor.IssuerKey, "k1"
			}
			h.Record(&c, nil, nil)
			all = append(all, c)
		}
		ok(t, h.Flush(t.Context()))
		rapid.Check(t, func(rt *rapid.T) {
			pick := func(name string, values ...string) string {
				return rapid.SampledFrom(append(values, "", "")).Draw(rt, name)
			}
			f := history.UsageFilter{
				Tool: pick("tool", "echo", "demo__sum", "none"), Server: pick("server", "demo", "files"), User: pick("user", "u1", "u2"),
				Agent: pick("agent", "qa", "none"), Caller: pick("caller", "u1", "qa", "k1"), EntryPoint: junctor.EntryPoint(pick("entry_point", "mcp", "admin")),
			}
			by := rapid.SampledFrom(history.UsageGroups()).Draw(rt, "by")
			want := map[history.Usage]int64{}
			for _, c := range all {
				tool := f.Tool == "" || c.Name == f.Tool || c.Server+"__"+c.Name == f.Tool
				if tool && (f.Server == "" || c.Server == f.Server) && (f.User == "" || c.User == f.User) && (f.Agent == "" || c.Agent == f.Agent) &&
					(f.Caller == "" || c.Subject == f.Caller) && (f.EntryPoint == "" || c.EntryPoint == f.EntryPoint) {
					want[place(&c, by)]++
				}
			}
			usage, err := h.Usage(t.Context(), junctor.AllCalls("acme"), f, by)
			ok(t, err)
			got := map[history.Usage]int64{}
			for _, u := range usage {
				got[history.Usage{Server: u.Server, Name: u.Name, EntryPoint: u.EntryPoint, Issuer: u.Issuer, Subject: u.Subject, User: u.User, Agent: u.Agent, Day: u.Day}] = u.Calls
			}
			if d := diff.Diff(want, got); d != "" {
				rt.Fatalf("%+v by %s (-want +got):\n%s", f, by, d)
			}
			if by != history.ByDay && !slices.IsSortedFunc(usage, func(a, b history.Usage) int { return cmp.Compare(b.Calls, a.Calls) }) {
				rt.Fatalf("not by calls: %+v", usage)
			}
		})
	})
}

// place is the row of the sums that a call is counted in.
func place(c *junctor.Call, by history.UsageGroup) (u history.Usage) {
	switch by {
	case history.ByTool:
		u.Server, u.Name = c.Server, c.Name
	case history.ByServer:
		u.Server = c.Server
	case history.ByUser:
		u.User = c.User
	case history.ByAgent:
		u.Agent = c.Agent
	case history.ByCaller:
		u.Issuer, u.Subject = c.Issuer, c.Subject
	case history.ByEntryPoint:
		u.EntryPoint = c.EntryPoint
	case history.ByDay:
		u.Day = moment(0).Truncate(24 * 3600e9)
	}
	return u
}

// What a version before wrote is counted on, by the person and the agent that
// it named as callers.
func TestFormerCallsHaveUserAndAgent(t *testing.T) {
	t.Parallel()
	former := func(t testing.TB, raw *store.Raw, err error) {
		t.Helper()
		ok(t, err)
		defer raw.Close()
		ok(t, raw.MigrateTo(t.Context(), 1))
		tx, err := raw.Begin(t.Context())
		ok(t, err)
		for _, who := range [][2]string{{"user", "u1"}, {"agent", "qa"}, {"key", "k1"}} {
			insert(t, tx, raw, `INSERT INTO history_calls (tenant_id, id, at, kind, door, server, name, version, issuer, subject, status, code, reason,
				duration, bytes_in, bytes_out, params, result) VALUES ('acme', ?, ?, 'tool', 'mcp', 'demo', 'echo', '', ?, ?, 'success', '', '', 1, 2, 3, '', '')`,
				"id-"+who[0], moment(0).UnixMicro(), who[0], who[1])
			insert(t, tx, raw, `INSERT INTO history_usage VALUES ('acme', ?, 'demo', 'echo', ?, ?, 5, 0, 0, 9, 2, 3, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)`,
				moment(0).Unix()/86400, who[0], who[1])
		}
		ok(t, tx.Commit())
	}
	check := func(t testing.TB, h *history.History) {
		t.Helper()
		c := call(1)
		c.Issuer, c.Subject, c.User, c.Agent = junctor.IssuerAgent, "qa", "u1", "qa"
		h.Record(&c, nil, nil)
		ok(t, h.Flush(t.Context()))
		for f, want := range map[history.UsageFilter]int64{{User: "u1"}: 6, {Agent: "qa"}: 6, {}: 16} {
			days, err := h.Usage(t.Context(), junctor.AllCalls("acme"), f, history.ByDay)
			if ok(t, err); len(days) != 1 || days[0].Calls != want {
				t.Errorf("%+v: %+v, want %d", f, days, want)
			}
		}
		page, err := h.Query(t.Context(), junctor.AllCalls("acme"), history.Filter{Agent: "qa"})
		if ok(t, err); len(page.Calls) != 2 {
			t.Errorf("calls of qa: %+v", page.Calls)
		}
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "history.db")
		raw, err := sqlite.RawHistory(t.Context(), path)
		former(t, raw, err)
		db, err := sqlite.OpenHistory(t.Context(), path)
		check(t, start(t, db, err, history.Options{}))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		url := server.Database(t)
		raw, err := postgres.RawHistory(t.Context(), url)
		former(t, raw, err)
		db, err := postgres.OpenHistory(t.Context(), url)
		check(t, start(t, db, err, history.Options{}))
	})
}

func insert(t testing.TB, tx *sql.Tx, raw *store.Raw, query string, args ...any) {
	t.Helper()
	if _, err := tx.ExecContext(t.Context(), raw.Dialect.Bind(query), args...); err != nil {
		t.Fatal(err)
	}
}
