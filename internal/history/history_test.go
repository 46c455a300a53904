package history_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/history"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/store/pgtest"
	"github.com/junctor-mcp/junctor/internal/store/postgres"
	"github.com/junctor-mcp/junctor/internal/store/sqlite"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

var server pgtest.Pool

func TestMain(m *testing.M) { os.Exit(server.LeakCheckedMain(m)) }

// opener opens one database of a history, again and again.
type opener func(t testing.TB, o history.Options) *history.History

// trial is a test on one engine.
type trial struct {
	*testing.T
	open opener
}

// each runs a test on both engines, each time on an empty database.
func each(t *testing.T, test func(t *trial)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "history.db")
		test(&trial{t, func(t testing.TB, o history.Options) *history.History {
			t.Helper()
			db, err := sqlite.OpenHistory(t.Context(), path)
			return start(t, db, err, o)
		}})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		url := server.Database(t)
		test(&trial{t, func(t testing.TB, o history.Options) *history.History {
			t.Helper()
			db, err := postgres.OpenHistory(t.Context(), url)
			return start(t, db, err, o)
		}})
	})
}

func start(t testing.TB, db store.Database, err error, o history.Options) *history.History {
	t.Helper()
	if err != nil {
		t.Fatalf("open: %v (cause %v)", err, junctor.AsError(err).Cause)
	}
	o.Write, o.Read, o.Dialect = db.Write, db.Read, db.Dialect
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	h, err := history.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close(context.Background()) }) // some tests have closed it already
	return h
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("unexpected error: %v (cause %v)", err, junctor.AsError(err).Cause)
	}
}

// diffEntries returns how calls differ from the ones that are wanted; "" if they do not.
func diffEntries(want, got []history.Entry) string {
	return cmp.Diff(want, got, cmpopts.EquateComparable(netip.Addr{}))
}

func moment(seconds int) time.Time {
	return time.Date(2026, 5, 4, 3, 2, 1, 123456000, time.UTC).Add(time.Duration(seconds) * time.Second)
}

func call(n int) junctor.Call {
	return junctor.Call{
		ID: fmt.Sprintf("id%04d", n), Tenant: "acme", Kind: junctor.KindTool, EntryPoint: junctor.EntryMCP, Server: "demo", Name: "echo", Version: "1.0.0",
		Issuer: "key", Subject: "ann", Status: junctor.StatusSuccess, Start: moment(n), Duration: 1500 * time.Microsecond, BytesIn: 20, BytesOut: 30,
	}
}

// Calls that have much in common are written together; each keeps what is its own,
// and none gets what is another's.
func TestMixedCallsComeBackWhole(t *testing.T) {
	t.Parallel()
	each(t, func(t *trial) {
		h := t.open(t, history.Options{})
		long := []byte(`{"arguments":{"text":"` + strings.Repeat("so on ", 300) + `"}}`) // a group of them is several lists of rows
		var want []history.Entry
		for n := range 240 {
			c := call(n)
			c.Server, c.Agent, c.Name = fmt.Sprint("server", n%3), fmt.Sprint("agent", n%5), fmt.Sprint("tool", n%7)
			c.Duration, c.BytesIn = time.Duration(n)*time.Millisecond, n
			if n%11 == 0 {
				c.Status, c.Code, c.Reason = junctor.StatusError, junctor.CodeUpstream, fmt.Sprint("reason ", n)
			}
			params := fmt.Appendf(nil, `{"arguments":{"n":%d}}`, n)
			if n%2 == 0 {
				params = long
			}
			h.Record(&c, params, nil)
			want = append(want, history.Entry{Call: c, Params: json.RawMessage(params), HasFacts: true})
		}
		ok(t, h.Flush(t.Context()))
		slices.Reverse(want)
		page, err := h.Query(t.Context(), junctor.AllCalls("acme"), history.Filter{Limit: 1000})
		ok(t, err)
		if diff := diffEntries(want, page.Calls); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestComesBackWhole(t *testing.T) {
	t.Parallel()
	each(t, func(t *trial) {
		h := t.open(t, history.Options{})
		good := call(1)
		good.Timing = junctor.Timing{
			Admitted: 40 * time.Microsecond, Connected: 90 * time.Microsecond, Answered: 1400 * time.Microsecond,
			Failed: []junctor.Attempt{{At: 45 * time.Microsecond, Took: 20 * time.Microsecond, Code: junctor.CodeUnavailable}},
		}
		bad := call(2)
		bad.Status, bad.Code, bad.Reason = junctor.StatusError, junctor.CodeUpstream, "the server answered 500"
		bad.EntryPoint, bad.View = junctor.EntryAppView, "v1"
		odd := call(3)
		odd.Name, odd.Subject, odd.Reason = "nul\x00", "bad\xff", "password=hunter2 is wrong"
		params := []byte(`{"arguments":{"a":"b","password":"hunter2"}}`)
		h.Record(&good, params, []byte(`{"content":[]}`))
		clear(params) // the caller uses its buffer again
		h.Record(&bad, nil, nil)
		h.Record(&odd, []byte(`no JSON`), nil)
		ok(t, h.Flush(t.Context()))

		want := []history.Entry{
			{Call: odd, Params: json.RawMessage(`"no JSON"`), HasFacts: true},
			{Call: bad, HasFacts: true},
			{Call: good, Params: json.RawMessage(`{"arguments":{"a":"b","password":"[redacted]"}}`), Result: json.RawMessage(`{"content":[]}`), HasFacts: true},
		}
		want[0].Name, want[0].Subject, want[0].Reason = "nul\uFFFD", "bad\uFFFD", "password=[redacted] is wrong"
		page, err := h.Query(t.Context(), junctor.AllCalls("acme"), history.Filter{})
		ok(t, err)
		if diff := diffEntries(want, page.Calls); diff != "" || page.Next != "" {
			t.Errorf("next %q (-want +got):\n%s", page.Next, diff)
		}
		got, err := t.open(t, history.Options{}).Get(t.Context(), junctor.AllCalls("acme"), good.ID)
		if diff := diffEntries(want[2:], []history.Entry{got}); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		if _, err := h.Get(t.Context(), junctor.AllCalls("other"), good.ID); junctor.CodeOf(err) != junctor.CodeNotFound {
			t.Errorf("another tenant's call: %v", err)
		}
		if page, err := h.Query(t.Context(), junctor.AllCalls("other"), history.Filter{}); err != nil || len(page.Calls) != 0 {
			t.Errorf("another tenant sees %v, %v", page.Calls, err)
		}
		if n := h.Dropped(); n != 0 {
			t.Errorf("%d dropped", n)
		}
	})
}

type paths struct{}

func (paths) SecretPaths(server, tool, version string) (arguments, result []string) {
	if server == "demo" && tool == "echo" && version == "1.0.0" {
		return []string{"/a"}, []string{"/b"}
	}
	return nil, nil
}

func TestSchemasAndSizes(t *testing.T) {
	t.Parallel()
	each(t, func(t *trial) {
		h := t.open(t, history.Options{Paths: paths{}, MaxPayload: 300})
		one, two := call(1), call(2)
		two.Kind = junctor.KindPrompt
		for _, c := range []*junctor.Call{&one, &two} {
			h.Record(c, []byte(`{"arguments":{"a":"b"}}`), []byte(`{"structuredContent":{"b":1234567},"x":"`+strings.Repeat("long ", 9000)+`"}`))
		}
		ok(t, h.Flush(t.Context()))
		got, err := h.Get(t.Context(), junctor.AllCalls("acme"), one.ID)
		ok(t, err)
		if string(got.Params) != `{"arguments":{"a":"[redacted]"}}` || !strings.HasPrefix(string(got.Result), `{"structuredContent":{"b":"[redacted]"},"x":"long `) ||
			len(got.Result) > 300 || !json.Valid(got.Result) {
			t.Errorf("params %s, result %s", got.Params, got.Result)
		}
		if got, err := h.Get(t.Context(), junctor.AllCalls("acme"), two.ID); err != nil || string(got.Params) != `{"arguments":{"a":"b"}}` {
			t.Errorf("a prompt: %s, %v", got.Params, err)
		}
		none := t.open(t, history.Options{MaxPayload: -1})
		three := call(3)
		none.Record(&three, []byte(`{"a":1}`), []byte(`{}`))
		ok(t, none.Flush(t.Context()))
		if got, err := h.Get(t.Context(), junctor.AllCalls("acme"), three.ID); err != nil || got.Params != nil || got.Result != nil {
			t.Errorf("kept %s and %s, %v", got.Params, got.Result, err)
		}
	})
}

// A batch may be more than one statement holds; its sums are counted once.
func TestBigBatch(t *testing.T) {
	t.Parallel()
	each(t, func(t *trial) {
		h := t.open(t, history.Options{MaxPayload: 16 << 10})
		params := []byte(`{"a":"` + strings.Repeat(`word \"é\" `, 700) + `"}`)
		const calls = 120
		for n := range calls {
			c := call(n)
			c.Subject = fmt.Sprint("agent", n%7)
			h.Record(&c, params, params)
		}
		ok(t, h.Flush(t.Context()))
		for _, n := range []int{0, calls / 2, calls - 1} {
			c := call(n)
			if got, err := h.Get(t.Context(), junctor.AllCalls("acme"), c.ID); err != nil || string(got.Params) != string(params) || string(got.Result) != string(params) {
				t.Errorf("call %d: %.100s, %v", n, got.Params, err)
			}
		}
		usage, err := h.Usage(t.Context(), junctor.AllCalls("acme"), history.UsageFilter{}, history.ByCaller)
		total := int64(0)
		for _, u := range usage {
			total += u.Calls
		}
		if err != nil || len(usage) != 7 || total != calls || h.Dropped() != 0 {
			t.Errorf("%d agents, %d calls, %d dropped, %v", len(usage), total, h.Dropped(), err)
		}
	})
}

func TestQueryAgainstModel(t *testing.T) {
	t.Parallel()
	each(t, func(t *trial) {
		h := t.open(t, history.Options{})
		var all []junctor.Call
		texts := []string{"Alpha", "beta_1", "100%", `it's`}
		for n := range 240 {
			c := call(n)
			c.Start = moment(n / 3) // several at once
			c.Name = []string{"echo", "sum", "read__me"}[n%3]
			c.Server = []string{"demo", "files"}[n%2]
			c.Subject = []string{"ann", "bob", "cy"}[n%5%3]
			c.User, c.Agent = []string{"", "u1", "u2"}[n%3], []string{"", "qa"}[n%11%2]
			c.View = []string{"", "v1", "v2"}[n%13%3]
			c.Facts.Key = []string{"", "key1", "key10"}[n%17%3]
			c.EntryPoint = []junctor.EntryPoint{junctor.EntryMCP, junctor.EntryPlain}[n%7%2]
			c.Status = []junctor.Status{junctor.StatusSuccess, junctor.StatusError, junctor.StatusDenied}[n%4%3]
			c.Reason = texts[n%len(texts)]
			h.Record(&c, nil, nil)
			all = append(all, c)
		}
		ok(t, h.Flush(t.Context()))
		slices.SortFunc(all, func(a, b junctor.Call) int {
			if c := b.Start.Compare(a.Start); c != 0 {
				return c
			}
			return strings.Compare(b.ID, a.ID)
		})
		rapid.Check(t, func(rt *rapid.T) {
			pick := func(name string, values ...string) string {
				return rapid.SampledFrom(append(values, "", "")).Draw(rt, name)
			}
			f := history.Filter{
				Tool: pick("tool", "echo", "demo__sum", "read__me", "files__read__me", "none"), Server: pick("server", "demo"), Caller: pick("caller", "ann", "bob"), User: pick("user", "u1", "none"), Agent: pick("agent", "qa"), View: pick("view", "v1", "none"), Key: pick("key", "key1", "ke_1", "%"),
				EntryPoint: junctor.EntryPoint(pick("entry_point", "mcp")), Status: junctor.Status(pick("status", "error", "denied")), Text: pick("text", "ALPHA", "a_1", "%", "'S"),
				Limit: rapid.IntRange(1, 60).Draw(rt, "limit"),
			}
			if rapid.Bool().Draw(rt, "bounded") {
				f.Since, f.Until = moment(rapid.IntRange(0, 40).Draw(rt, "since")), moment(rapid.IntRange(30, 90).Draw(rt, "until"))
			}
			var want, got []string
			for _, c := range all {
				if matches(&c, f) {
					want = append(want, c.ID)
				}
			}
			for {
				page, err := h.Query(t.Context(), junctor.AllCalls("acme"), f)
				ok(t, err)
				for _, e := range page.Calls {
					got = append(got, e.ID)
				}
				if len(page.Calls) > f.Limit || len(page.Calls) == 0 && page.Next != "" {
					rt.Fatalf("a page of %d, next %q", len(page.Calls), page.Next)
				}
				if f.Cursor = page.Next; f.Cursor == "" {
					break
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				rt.Fatalf("%+v (-want +got):\n%s", f, diff)
			}
		})
		if _, err := h.Query(t.Context(), junctor.AllCalls("acme"), history.Filter{Cursor: "nonsense"}); junctor.CodeOf(err) != junctor.CodeInvalid {
			t.Errorf("a cursor that is none: %v", err)
		}
	})
}

func matches(c *junctor.Call, f history.Filter) bool {
	tool := f.Tool == "" || c.Name == f.Tool || c.Server+"__"+c.Name == f.Tool
	return tool && (f.Server == "" || c.Server == f.Server) && (f.Caller == "" || c.Subject == f.Caller) && (f.User == "" || c.User == f.User) && (f.Agent == "" || c.Agent == f.Agent) && (f.View == "" || c.View == f.View) && (f.Key == "" || c.Facts.Key == f.Key) && (f.EntryPoint == "" || c.EntryPoint == f.EntryPoint) &&
		(f.Status == "" || c.Status == f.Status) && !c.Start.Before(f.Since) && (f.Until.IsZero() || c.Start.Before(f.Until)) &&
		strings.Contains(strings.ToLower(c.Reason), strings.ToLower(f.Text))
}

func TestExport(t *testing.T) {
	t.Parallel()
	each(t, func(t *trial) {
		h := t.open(t, history.Options{QueueSize: 1203})
		for n := range 1203 {
			c := call(n)
			c.Subject = []string{"ann", "=HYPERLINK(1)", " +1", "-2", "@x", "\tx", "a,\"b\"\nc"}[n%7]
			h.Record(&c, []byte(`{"n":`+fmt.Sprint(n)+`}`), nil)
		}
		ok(t, h.Flush(t.Context()))
		var out bytes.Buffer
		ok(t, h.Export(t.Context(), &out, junctor.AllCalls("acme"), history.Filter{Limit: 3}, history.FormatJSONLines))
		var n int
		for dec := json.NewDecoder(&out); dec.More(); n++ {
			var e history.Entry
			if err := dec.Decode(&e); err != nil {
				t.Fatal(err)
			}
			if want := fmt.Sprint(1202 - n); string(e.Params) != `{"n":`+want+`}` {
				t.Fatalf("line %d: %s", n, e.Params)
			}
		}
		if n != 1203 {
			t.Errorf("%d lines", n)
		}
		out.Reset()
		ok(t, h.Export(t.Context(), &out, junctor.AllCalls("acme"), history.Filter{Since: moment(1000)}, history.FormatCSV))
		rows, err := csv.NewReader(&out).ReadAll()
		ok(t, err)
		if len(rows) != 204 || rows[0][8] != "subject" {
			t.Fatalf("%d rows, %v", len(rows), rows[0])
		}
		for _, row := range rows[1:] {
			for _, field := range row {
				if field != "" && strings.ContainsRune("=+-@\t", rune(field[0])) {
					t.Fatalf("%q is taken for a formula", field)
				}
			}
		}
		if err := h.Export(t.Context(), &out, junctor.AllCalls("acme"), history.Filter{}, "xml"); junctor.CodeOf(err) != junctor.CodeInvalid {
			t.Errorf("xml: %v", err)
		}
	})
}

func TestUsageOutlivesCalls(t *testing.T) {
	t.Parallel()
	each(t, func(t *trial) {
		// Two instances at once, as replicas have it.
		var wg sync.WaitGroup
		for _, h := range []*history.History{t.open(t, history.Options{}), t.open(t, history.Options{})} {
			wg.Go(func() {
				for n := range 300 {
					c := call(n)
					c.ID += fmt.Sprintf("%p", h)
					c.Duration = time.Duration(n+1) * time.Millisecond
					c.Start = c.Start.Add(time.Duration(n%2) * 24 * time.Hour)
					switch n % 10 {
					case 0:
						c.Status = junctor.StatusTimeout
					case 1:
						c.Status, c.Server, c.Name, c.Duration = junctor.StatusInvalid, "", fmt.Sprint("nonsense", n), 0
					case 2:
						c.Kind, c.Name, c.Subject = junctor.KindResource, fmt.Sprint("file:///", n), "bob"
					}
					h.Record(&c, nil, nil)
					if n == 150 {
						if err := h.Flush(t.Context()); err != nil {
							t.Error(err)
						}
					}
				}
				if err := h.Flush(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		h := t.open(t, history.Options{})
		if n, err := h.Prune(t.Context(), moment(0)); err != nil || n != 0 {
			t.Fatalf("pruned %d, %v", n, err)
		}
		if n, err := h.Prune(t.Context(), moment(100000)); err != nil || n != 600 {
			t.Fatalf("pruned %d, %v", n, err)
		}
		if page, err := h.Query(t.Context(), junctor.AllCalls("acme"), history.Filter{}); err != nil || len(page.Calls) != 0 {
			t.Fatalf("%d calls are left, %v", len(page.Calls), err)
		}
		tools, err := h.Usage(t.Context(), junctor.AllCalls("acme"), history.UsageFilter{}, history.ByTool)
		ok(t, err)
		type line struct {
			server, name           string
			calls, errors, refused int64
		}
		var got []line
		for _, u := range tools {
			got = append(got, line{u.Server, u.Name, u.Calls, u.Errors, u.Refused})
		}
		want := []line{{"demo", "echo", 480, 60, 0}, {"", "(unknown)", 60, 0, 60}, {"demo", "(resource)", 60, 0, 0}}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("by tool: %v, want %v", got, want)
		}
		if e := tools[0]; e.P50 < 100*time.Millisecond || e.P50 > 200*time.Millisecond || e.P95 < 200*time.Millisecond || e.P99 > 500*time.Millisecond || e.P99 < e.P95 ||
			e.BytesIn != 480*20 || e.Duration < 480*100*time.Millisecond {
			t.Errorf("echo: %+v", e)
		}
		agents, err := h.Usage(t.Context(), junctor.AllCalls("acme"), history.UsageFilter{}, history.ByCaller)
		if err != nil || len(agents) != 2 || agents[0].Subject != "ann" || agents[0].Calls != 540 || agents[1].Calls != 60 {
			t.Errorf("by agent: %+v, %v", agents, err)
		}
		days, err := h.Usage(t.Context(), junctor.AllCalls("acme"), history.UsageFilter{Since: moment(0), Until: moment(0)}, history.ByDay)
		if err != nil || len(days) != 1 || days[0].Calls != 300 || !days[0].Day.Equal(time.Date(2026, 5, 4, 0, 0, 0, 0, time.UTC)) {
			t.Errorf("by day: %+v, %v", days, err)
		}
		if none, err := h.Usage(t.Context(), junctor.AllCalls("other"), history.UsageFilter{}, history.ByDay); err != nil || len(none) != 0 {
			t.Errorf("another tenant: %+v, %v", none, err)
		}
		if _, err := h.Usage(t.Context(), junctor.AllCalls("acme"), history.UsageFilter{}, "hour"); junctor.CodeOf(err) != junctor.CodeInvalid {
			t.Errorf("by hour: %v", err)
		}
	})
}
