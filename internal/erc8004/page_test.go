package erc8004

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"
)

// pageID returns the ID of an event in a list, as the admin API makes it.
func pageID(e *Recorded) string {
	return fmt.Sprintf("%d/%d/%s", e.Block, e.LogIndex, e.BlockHash)
}

// readPages reads all pages of a list, and returns the ids of its events.
func readPages(t *testing.T, r *Records, f Filter, page junctor.RowPage, total int) (ids []string) {
	t.Helper()
	for {
		events, counted, err := r.Page(t.Context(), f, &page)
		if err != nil || counted != (junctor.RowTotal{Rows: total}) {
			t.Fatalf("%+v: %+v, want %d; %v", page, counted, total, err)
		}
		if len(events) > page.Limit+1 {
			t.Fatalf("%d events on a page of %d", len(events), page.Limit)
		}
		for i := range events[:min(len(events), page.Limit)] {
			ids = append(ids, pageID(&events[i]))
			page.ID = ids[len(ids)-1]
		}
		if len(events) <= page.Limit {
			return ids
		}
	}
}

// TestPagesOfRecords reads the events of a chain page by page on each engine: none is left out
// or repeated, in both orders and with every limit, also those of one block and of blocks that
// the chain has replaced.
func TestPagesOfRecords(t *testing.T) {
	onBoth(t, func(t *testing.T, db store.Database) {
		t.Helper()
		r, _ := records(t, db)
		c := newModelChain()
		w := newWatcher(testChain(0), c, r, quiet())
		poll := func() {
			t.Helper()
			if _, err := w.pollChain(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for _, events := range []int{3, 0, 1, 2} {
			c.mine(events)
		}
		poll()
		c.reorg(2, func() int { return 2 }) // the same numbers of blocks again, with other hashes
		poll()

		all, err := r.List(t.Context(), Filter{Limit: 1000})
		if err != nil || len(all) != 12 {
			t.Fatalf("%d events, %v", len(all), err)
		}
		slices.SortFunc(all, func(x, y Recorded) int {
			return cmp.Or(cmp.Compare(x.Block, y.Block), cmp.Compare(x.LogIndex, y.LogIndex), strings.Compare(x.BlockHash.String(), y.BlockHash.String()))
		})
		oldest := make([]string, len(all))
		orphaned := 0
		for i := range all {
			oldest[i] = pageID(&all[i])
			if all[i].State == "orphaned" {
				orphaned++
			}
		}
		newest := slices.Clone(oldest)
		slices.Reverse(newest)
		for limit := 1; limit <= len(all)+1; limit++ {
			if got := readPages(t, r, Filter{}, junctor.RowPage{Limit: limit, Ascending: true}, len(all)); !slices.Equal(got, oldest) {
				t.Errorf("oldest first, %d a page: %v, want %v", limit, got, oldest)
			}
			if got := readPages(t, r, Filter{}, junctor.RowPage{Limit: limit}, len(all)); !slices.Equal(got, newest) {
				t.Errorf("newest first, %d a page: %v, want %v", limit, got, newest)
			}
		}
		one := &all[0]
		ofAgent := 0
		for i := range all {
			if all[i].Of() == one.Of() {
				ofAgent++
			}
		}
		for _, q := range []struct {
			words []string
			f     Filter
			n     int
		}{
			{words: []string{"newfeedback"}, n: len(all)},
			{words: []string{"newfeedback", one.BlockHash.String()}, n: 3},
			{words: []string{"%"}, n: 0},
			{words: []string{"new_eedback"}, n: 0},
			{words: []string{"!"}, n: 0},
			{words: []string{`'`}, n: 0},
			{f: Filter{State: "orphaned"}, n: orphaned},
			{f: Filter{Agent: one.Of().String()}, n: ofAgent},
			{f: Filter{Chain: 31337}, n: len(all)},
			{f: Filter{Chain: 1}, n: 0},
		} {
			if got := readPages(t, r, q.f, junctor.RowPage{Limit: 2, Words: q.words}, q.n); len(got) != q.n {
				t.Errorf("%q %+v: %d events, want %d", q.words, q.f, len(got), q.n)
			}
		}
		if events, total, err := r.Page(t.Context(), Filter{}, &junctor.RowPage{}); err != nil || len(events) != 0 || total.Rows != len(all) {
			t.Errorf("only counted: %d events, %+v, %v", len(events), total, err)
		}
		for _, cursor := range []string{"x", "1/2", "one/2/0x", "1/two/0x"} {
			if _, _, err := r.Page(t.Context(), Filter{}, &junctor.RowPage{Limit: 1, ID: cursor}); junctor.CodeOf(err) != junctor.CodeInvalid {
				t.Errorf("the cursor %q: %v", cursor, err)
			}
		}
	})
}
