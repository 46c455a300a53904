package queue_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/queue"
)

// readPages reads all pages of a list, and returns the ids of its jobs. It checks that each page
// has the limit, says whether there is more, and counts the whole list.
func readPages(t *testing.T, q *queue.Queue, f queue.Filter, page junctor.RowPage, total int) (ids []string) {
	t.Helper()
	for {
		jobs, counted, err := q.Page(t.Context(), tenant, f, &page)
		if err != nil || counted != (junctor.RowTotal{Rows: total}) {
			t.Fatalf("%+v: %+v, %v (cause %v)", page, counted, err, junctor.AsError(err).Cause)
		}
		if len(jobs) > page.Limit+1 {
			t.Fatalf("%d jobs on a page of %d", len(jobs), page.Limit)
		}
		for i, j := range jobs[:min(len(jobs), page.Limit)] {
			if ids = append(ids, j.ID); i == page.Limit-1 {
				page.ID = j.ID
			}
		}
		if len(jobs) <= page.Limit {
			return ids
		}
	}
}

// TestPages reads the deliveries of a tenant page by page on each engine: no job is left out or
// repeated, in both orders and with every limit, also if jobs are added and removed meanwhile.
func TestPages(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		q := r.queue("one")
		const count = 7
		var ids []string
		for i := range count {
			j := job("", "lane")
			j.Event, j.Trigger, j.Agent, j.Tool = fmt.Sprintf("event-%d", i), "Low Stock", "clerk", "notes__add"
			if i%2 == 1 {
				j.Agent, j.Tool = "50%_off!", "shop__ärger"
			}
			ids = append(ids, add(r, q, j)...)
			r.clock.Add(time.Second)
		}
		if err := r.open().EnsureTenant(r.Context(), "acme", "Acme"); err != nil {
			r.Fatal(err)
		}
		another := job("", "lane")
		another.Tenant, another.Trigger = "acme", "Low Stock"
		add(r, q, another)
		elsewhere := job("", "lane")
		elsewhere.Queue, elsewhere.Trigger = "other", "Low Stock"
		add(r, q, elsewhere)

		newest := slices.Clone(ids)
		slices.Reverse(newest)
		odd := []string{ids[5], ids[3], ids[1]}
		all := queue.Filter{Queue: "q"}
		for limit := 1; limit <= count+1; limit++ {
			if got := readPages(r.T, q, all, junctor.RowPage{Limit: limit}, count); !slices.Equal(got, newest) {
				r.Errorf("newest first, %d a page: %v, want %v", limit, got, newest)
			}
			if got := readPages(r.T, q, all, junctor.RowPage{Limit: limit, Ascending: true}, count); !slices.Equal(got, ids) {
				r.Errorf("oldest first, %d a page: %v, want %v", limit, got, ids)
			}
			if got := readPages(r.T, q, all, junctor.RowPage{Limit: limit, Words: []string{"shop", "low"}}, 3); !slices.Equal(got, odd) {
				r.Errorf("search, %d a page: %v, want %v", limit, got, odd)
			}
		}
		for _, c := range []struct {
			words []string
			f     queue.Filter
			n     int
		}{
			{words: []string{"low stock"}, n: count}, // stored in capitals
			{words: []string{"event-3"}, n: 1},
			{words: []string{"event-3", "clerk"}, n: 0},
			{words: []string{"50%_off!"}, n: 3}, // signs of a pattern stand for themselves
			{words: []string{"%"}, n: 3},
			{words: []string{"_off"}, n: 3},
			{words: []string{"!"}, n: 3},
			{words: []string{"e_ent"}, n: 0},
			{words: []string{"ärger"}, n: 3},
			{words: []string{`'; --`}, n: 0},
			{words: []string{`\`}, n: 0},
			{words: []string{"lane"}, n: 0}, // it may be an address
			{f: queue.Filter{Tool: "notes__add"}, n: 4},
			{words: []string{"low"}, f: queue.Filter{Tool: "notes__add"}, n: 4},
			{f: queue.Filter{Event: "none"}, n: 0},
		} {
			c.f.Queue = "q"
			if got := readPages(r.T, q, c.f, junctor.RowPage{Limit: 2, Words: c.words}, c.n); len(got) != c.n {
				r.Errorf("%q %+v: %d jobs, want %d", c.words, c.f, len(got), c.n)
			}
		}
		if jobs, total, err := q.Page(r.Context(), tenant, all, &junctor.RowPage{}); err != nil || len(jobs) != 0 || total.Rows != count {
			r.Errorf("only counted: %d jobs, %+v, %v", len(jobs), total, err)
		}

		// A job that is added after the first page is not on the next ones, and none is repeated.
		first, _, err := q.Page(r.Context(), tenant, all, &junctor.RowPage{Limit: 3})
		if err != nil || len(first) != 4 {
			r.Fatalf("%d jobs, %v", len(first), err)
		}
		late := job("", "lane")
		add(r, q, late)
		rest, total, err := q.Page(r.Context(), tenant, all, &junctor.RowPage{Limit: 10, ID: first[2].ID})
		if err != nil || len(rest) != count-3 || rest[0].ID != first[3].ID || total.Rows != count+1 {
			r.Errorf("after a page: %d jobs, %+v, %v", len(rest), total, err)
		}
	})
}
