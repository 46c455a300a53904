package admin

import (
	"context"
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
}

func (c *countedCalls) Usage(_ context.Context, _ junctor.CallAccess, f series.UsageFilter, by series.UsageGroup) ([]series.Usage, error) {
	c.usage, c.by = f, by
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
