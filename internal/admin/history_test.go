package admin

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/history"
	"github.com/junctor-mcp/junctor/internal/series"
)

// pastCalls notes what it was asked, and has one call.
type pastCalls struct {
	written bool // Flush was called: the call "late" is there
	filter  history.Filter
	// Of each page.
	searchedTo time.Time
	export     func(w io.Writer, format history.Format) error
}

// moreCalls is the cursor behind pastCall.
const moreCalls = "MTc2NzMyMzA0NTAwMDAwMCBjMQ"

func pastPosition() junctor.CallPosition {
	c := pastCall()
	return c.Position()
}

func pastCall() history.Entry {
	return history.Entry{
		Call: junctor.Call{
			ID: "c1", Kind: junctor.KindTool, EntryPoint: junctor.EntryMCP, Server: "demo", Name: "echo", Issuer: "key", Subject: "k1",
			Status: junctor.StatusSuccess, Start: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Duration: time.Millisecond, BytesIn: 10, BytesOut: 20,
		},
		Params: json.RawMessage(`{"text":"x"}`),
	}
}

func (p *pastCalls) Flush(context.Context) error {
	p.written = true
	return nil
}

func (p *pastCalls) Query(_ context.Context, _ junctor.CallAccess, f history.Filter) (history.Page, error) {
	p.filter = f
	return history.Page{Calls: []history.Entry{pastCall()}, Next: moreCalls, SearchedTo: p.searchedTo}, nil
}

func (p *pastCalls) Count(context.Context, junctor.CallAccess, history.Filter) (junctor.RowTotal, error) {
	return junctor.RowTotal{Rows: 5, AtLeast: true}, nil
}

func (p *pastCalls) Known(_ context.Context, _ junctor.TenantID, ids []string) (map[string]bool, error) {
	known := map[string]bool{}
	for _, id := range ids {
		known[id] = strings.HasPrefix(id, "moved")
	}
	return known, nil
}

func (p *pastCalls) Get(_ context.Context, _ junctor.CallAccess, id string) (history.Entry, error) {
	if id == "nope" || id == "late" && !p.written {
		return history.Entry{}, junctor.Errorf(junctor.CodeNotFound, "no call %s", id)
	}
	e := pastCall()
	e.Policy = []junctor.PolicyHit{{Rule: "no-deletes", Version: "v1", Verdict: junctor.VerdictDeny, Mode: junctor.ModeAudit, Value: "true"}}
	return e, nil
}

func (p *pastCalls) Export(_ context.Context, w io.Writer, _ junctor.CallAccess, f history.Filter, format history.Format) error {
	p.filter = f
	if p.export == nil {
		return nil
	}
	return p.export(w, format)
}

func TestHistory(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.keys = append(w.keys, junctor.Key{ID: "k9", Name: "laptop"})
	h := w.handler(t)
	const query = "?tool=demo__echo&server=demo&user=ann&agent=qa&caller=k1&view=v1&key=k9&kind=tool&entry_point=mcp&status=error&since=2026-01-01T00:00:00Z&until=2026-02-01T00:00:00Z&text=needle"
	want := history.Filter{
		Tool: "demo__echo", Server: "demo", User: "u1", Agent: "qa", Caller: "k1", View: "v1", Key: "k9", Kind: junctor.KindTool, EntryPoint: junctor.EntryMCP, Status: junctor.StatusError,
		Since: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Until: time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC), Text: "needle",
	}
	if rec := ask(h, "audit:read", "GET", "/calls/export"+query, ""); rec.Code != 200 {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	if diff := cmp.Diff(want, w.history.filter); diff != "" {
		t.Error(diff)
	}
	rec := ask(h, "audit:read", "GET", "/calls/history"+query+"&limit=7&cursor=abc", "") // the history knows which cursors are its own
	if rec.Code != 200 || !strings.Contains(rec.Body.String(), `"params":{"text":"x"}`) || !strings.Contains(rec.Body.String(), `"next":"`+moreCalls+`"`) {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	want.Limit, want.Cursor = 7, "abc"
	if diff := cmp.Diff(want, w.history.filter); diff != "" {
		t.Error(diff)
	}
	if rec := ask(h, "audit:read", "GET", "/calls/c1", ""); rec.Code != 200 || !strings.Contains(rec.Body.String(), `"params":{"text":"x"}`) ||
		!strings.Contains(rec.Body.String(), `"policy":[{"rule":"no-deletes","version":"v1","verdict":"deny","mode":"audit","value":"true"}]`) {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	if rec := ask(h, "audit:read", "GET", "/calls/late", ""); rec.Code != 200 {
		t.Errorf("a call that was answered and is not written yet: %d %s", rec.Code, rec.Body)
	}
	if rec := ask(h, "audit:read", "GET", "/calls/nope", ""); rec.Code != 404 {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	rec = ask(h, "audit:read", "GET", "/usage?by=agent&user=ann&agent=qa&caller=k1&server=demo&tool=echo&entry_point=mcp&since=2026-01-01T00:00:00Z&until=2026-01-31T00:00:00Z", "")
	if rec.Code != 200 || !strings.Contains(rec.Body.String(), `"calls":3,"errors":1`) {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	sums := series.UsageFilter{
		Since: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Until: time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC),
		Tool: "echo", Server: "demo", User: "u1", Agent: "qa", Caller: "k1", EntryPoint: junctor.EntryMCP,
	}
	if diff := cmp.Diff(sums, w.numbers.usage); diff != "" || w.numbers.by != series.UsageByAgent {
		t.Errorf("by %s: %s", w.numbers.by, diff)
	}
	ask(h, "audit:read", "GET", "/usage", "")
	if w.numbers.by != series.UsageByTool || w.numbers.usage != (series.UsageFilter{}) {
		t.Errorf("%+v", w.history)
	}
	for _, path := range []string{"/usage?by=moon", "/calls/export?format=xml", "/calls/history?limit=0"} {
		if rec := ask(h, "audit:read", "GET", path, ""); rec.Code != 422 {
			t.Errorf("%s: %d", path, rec.Code)
		}
	}
}

func TestExport(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.history.export = func(w io.Writer, format history.Format) error {
		_, err := io.WriteString(w, string(format)+" line\n")
		return err
	}
	srv := httptest.NewServer(w.handler(t))
	t.Cleanup(srv.Close)
	get := func(format string) (*http.Response, string, error) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+Prefix+"/calls/export?format="+format, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer audit:read")
		res, err := srv.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		return res, string(body), err
	}
	for format, want := range map[string][2]string{"jsonl": {"application/jsonl", "json line\n"}, "csv": {"text/csv; charset=utf-8", "csv line\n"}} {
		res, body, err := get(format)
		if err != nil || res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != want[0] || body != want[1] {
			t.Errorf("%s: %v %v %q", format, err, res.Header, body)
		}
		if res.Header.Get("Cache-Control") != "no-store" || !strings.Contains(res.Header.Get("Content-Disposition"), "calls."+format) {
			t.Errorf("%v", res.Header)
		}
	}

	w.history.export = func(io.Writer, history.Format) error { return junctor.Errorf(junctor.CodeUnavailable, "locked") }
	res, body, err := get("csv")
	if p := readProblem(t, res.Header, []byte(body)); err != nil || res.StatusCode != http.StatusServiceUnavailable || p.Detail != "locked" {
		t.Errorf("%v %d %s", err, res.StatusCode, body)
	}

	// What breaks off later must not look whole.
	w.history.export = func(w io.Writer, _ history.Format) error {
		_, _ = io.WriteString(w, strings.Repeat("x", 1<<16))
		return errors.New("away")
	}
	if _, body, err := get("jsonl"); err == nil || strings.Contains(body, "problem") {
		t.Errorf("an export that was cut off was read to its end: %d bytes", len(body))
	}
}
