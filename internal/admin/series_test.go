package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/series"
)

// countedCalls notes what it was asked, and has one series.
type countedCalls struct {
	query series.Query
	usage series.UsageFilter
	by    series.UsageGroup
	sums  []series.Usage // nil for one of demo/echo
}

func (c *countedCalls) Usage(_ context.Context, _ junctor.CallAccess, f series.UsageFilter, by series.UsageGroup) ([]series.Usage, error) {
	c.usage, c.by = f, by
	if c.sums != nil {
		return slices.Clone(c.sums), nil
	}
	return []series.Usage{{Server: "demo", Name: "echo", Calls: 3, Errors: 1, Duration: time.Second}}, nil
}

func (c *countedCalls) Read(_ context.Context, _ *junctor.Principal, q series.Query) (series.Answer, error) {
	c.query = q
	return series.Answer{From: q.From, To: q.To, Step: 60, Count: 1, Series: []series.Series{{First: "demo", Total: series.Numbers{Sums: series.Sums{Calls: 3, Errors: 1}, P50: 20}}}}, nil
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	w := newWorld()
	h := w.handler(t)
	from, to := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	rec := ask(h, "audit:read", "GET", "/metrics?by=tool&first=demo&first=shop&second=echo&from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z&step=15m&limit=7&points=false", "")
	if rec.Code != http.StatusOK {
		t.Fatalf("%d: %s", rec.Code, rec.Body)
	}
	q := w.numbers.query
	if q.By != series.ByTool || !slices.Equal(q.First, []string{"demo", "shop"}) || q.Second != "echo" || !q.From.Equal(from) || !q.To.Equal(to) || q.Step != 15*time.Minute || q.Limit != 7 || q.Points {
		t.Errorf("asked for %+v", q)
	}
	if rec := ask(h, "audit:read", "GET", "/metrics", ""); rec.Code != http.StatusOK {
		t.Fatalf("%d: %s", rec.Code, rec.Body)
	}
	if q := w.numbers.query; q.By != series.ByAll || q.First != nil || q.To.Sub(q.From) != defaultSeriesPeriod || q.Step != 0 || q.Limit != 20 || !q.Points {
		t.Errorf("asked by default for %+v", q)
	}
	for _, query := range []string{"?step=soon", "?step=-1m", "?by=color", "?limit=0", "?limit=1000", "?from=yesterday"} {
		if rec := ask(h, "audit:read", "GET", "/metrics"+query, ""); rec.Code != http.StatusUnprocessableEntity && rec.Code != http.StatusBadRequest {
			t.Errorf("%s: %d: %s", query, rec.Code, rec.Body)
		}
	}
}

// Usage is a list with pages: of days in their order, of all else with the most calls first.
func TestUsagePages(t *testing.T) {
	t.Parallel()
	w := newWorld()
	day := func(n int) series.Usage {
		return series.Usage{Day: time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC), Calls: int64(n % 3)}
	}
	w.numbers.sums = []series.Usage{day(3), day(1), day(2)}
	h := w.handler(t)
	read := func(query string) (got []int64, total int) {
		t.Helper()
		cursor := ""
		for range 10 {
			var page struct {
				Items []series.Usage
				Next  string
				Total int
			}
			rec := ask(h, "audit:read", "GET", "/usage?limit=2&"+query+"&cursor="+cursor, "")
			if err := json.Unmarshal(rec.Body.Bytes(), &page); err != nil || rec.Code != http.StatusOK {
				t.Fatalf("%s: %d %s", query, rec.Code, rec.Body)
			}
			for _, u := range page.Items {
				got = append(got, u.Calls)
			}
			if cursor, total = page.Next, page.Total; cursor == "" {
				return got, total
			}
		}
		t.Fatal("the pages do not end")
		return nil, 0
	}
	for query, want := range map[string][]int64{"by=day": {1, 2, 0}, "by=tool": {2, 1, 0}, "by=day&sort=-day": {0, 2, 1}, "by=tool&sort=calls": {0, 1, 2}} {
		if got, total := read(query); !slices.Equal(got, want) || total != 3 {
			t.Errorf("%s: %v of %d, want %v", query, got, total, want)
		}
	}
}

func TestDeliveryMetrics(t *testing.T) {
	t.Parallel()
	h := newWorld().handler(t)
	rec := ask(h, "audit:read", "GET", "/metrics/deliveries?from=2026-01-01T00:00:30Z&to=2026-01-01T01:00:00Z&step=15m&trigger=hello", "")
	var got DeliveryTimeline
	if err := json.Unmarshal(rec.Body.Bytes(), &got); rec.Code != http.StatusOK || err != nil {
		t.Fatalf("%d: %s", rec.Code, rec.Body)
	}
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if !got.From.Equal(from) || !got.To.Equal(from.Add(time.Hour)) || got.Step != 900 || got.Total != (DeliveryTotals{Done: 3, Dead: 1}) || len(got.Points) != 1 || got.Points[0].Open != 2 {
		t.Errorf("%+v", got)
	}
	if kept := time.Since(got.Kept); kept < 29*24*time.Hour || kept > 31*24*time.Hour {
		t.Errorf("kept for %s", kept)
	}
	for _, query := range []string{"?step=90s", "?step=soon", "?step=1m&from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z", "?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z"} {
		if rec := ask(h, "audit:read", "GET", "/metrics/deliveries"+query, ""); rec.Code != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d: %s", query, rec.Code, rec.Body)
		}
	}
	if rec := ask(h, "tools:read", "GET", "/metrics/deliveries", ""); rec.Code != http.StatusForbidden {
		t.Errorf("without audit:read: %d", rec.Code)
	}
}

func TestServerOutages(t *testing.T) {
	t.Parallel()
	h := newWorld().handler(t)
	rec := ask(h, "audit:read", "GET", "/metrics/servers?server=shop&from=2026-01-01T00:00:00Z", "")
	var got OutageList
	if err := json.Unmarshal(rec.Body.Bytes(), &got); rec.Code != http.StatusOK || err != nil || len(got.Outages) != 1 || got.Outages[0].Server != "shop" || !got.Outages[0].To.IsZero() {
		t.Fatalf("%d: %s", rec.Code, rec.Body)
	}
	if rec := ask(h, "audit:read", "GET", "/metrics/servers?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", ""); rec.Code != http.StatusUnprocessableEntity {
		t.Errorf("%d: %s", rec.Code, rec.Body)
	}
}
