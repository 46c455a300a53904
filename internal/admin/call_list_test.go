package admin

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/history"
)

// twoSources has calls in memory and in the history. A source returns one page at a time.
type twoSources struct {
	Calls
	History
	memory, past []junctor.Call
	// Calls that the history has after it was read once.
	late []junctor.Call
	// Calls of the history that one search reads.
	stretch int
	failure error
}

func (s *twoSources) CallAccess(context.Context, *junctor.Principal) (junctor.CallAccess, error) {
	return junctor.AllCalls("acme"), nil
}

func asAcme(t *testing.T) context.Context {
	t.Helper()
	return context.WithValue(t.Context(), principalKey{}, &junctor.Principal{Tenant: "acme"})
}

// behind returns the calls behind a position in the order of a list.
func behind(calls []junctor.Call, before junctor.CallPosition) []junctor.Call {
	calls = slices.Clone(calls)
	slices.SortFunc(calls, func(a, b junctor.Call) int { return a.Position().Compare(b.Position()) })
	return slices.DeleteFunc(calls, func(c junctor.Call) bool { return !before.IsZero() && before.Compare(c.Position()) >= 0 })
}

func (s *twoSources) RecentCalls(_ context.Context, _ *junctor.Principal, f CallFilter) ([]junctor.Call, bool, error) {
	calls := behind(s.memory, f.Before)
	if len(calls) > f.Limit {
		return calls[:f.Limit], true, nil
	}
	return calls, false, nil
}

func (s *twoSources) Query(_ context.Context, _ junctor.CallAccess, f history.Filter) (page history.Page, err error) {
	if s.failure != nil {
		return page, s.failure
	}
	defer s.writeLate()
	before, err := junctor.ParseCallCursor(f.Cursor)
	for i, c := range behind(s.past, before) {
		switch {
		case len(page.Calls) == f.Limit:
			page.Next = page.Calls[f.Limit-1].Position().Cursor()
			return page, err
		case i == s.stretch:
			last := page.Calls[len(page.Calls)-1].Position()
			page.Next, page.SearchedTo = last.Cursor(), time.UnixMicro(last.At).UTC()
			return page, err
		}
		page.Calls = append(page.Calls, history.Entry{Call: c})
	}
	return page, err
}

func (s *twoSources) Count(context.Context, junctor.CallAccess, history.Filter) (junctor.RowTotal, error) {
	return junctor.RowTotal{Rows: len(s.past)}, s.failure
}

func (s *twoSources) writeLate() {
	s.past, s.late = append(s.past, s.late...), nil
}

func (s *twoSources) Known(_ context.Context, _ junctor.TenantID, ids []string) (map[string]bool, error) {
	if s.failure != nil {
		return nil, s.failure
	}
	defer s.writeLate()
	known := map[string]bool{}
	for _, c := range s.past {
		known[c.ID] = slices.Contains(ids, c.ID)
	}
	return known, nil
}

// TestOneListOfTwoSources pages through calls that are in memory, in the history or in
// both, some at another position since the process began again, some written while the list
// is read: each is listed once, in order, and those of the history as it has them.
func TestOneListOfTwoSources(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := &twoSources{stretch: rapid.IntRange(1, 40).Draw(rt, "stretch")}
		want := []junctor.Call{}
		for n := range rapid.IntRange(0, 60).Draw(rt, "calls") {
			c := junctor.Call{ID: fmt.Sprintf("c%02d", n), Tenant: "acme", Status: junctor.StatusSuccess, Start: time.UnixMicro(int64(rapid.IntRange(1, 30).Draw(rt, "start"))).UTC()}
			switch rapid.SampledFrom([]string{"memory", "past", "both", "late", "moved", "running"}).Draw(rt, "where") {
			case "memory":
				s.memory = append(s.memory, c)
			case "past":
				s.past = append(s.past, c)
			case "both":
				s.memory, s.past = append(s.memory, c), append(s.past, c)
			case "late":
				s.memory, s.late = append(s.memory, c), append(s.late, c)
			case "moved":
				s.past = append(s.past, c)
				moved := c
				moved.Start = time.UnixMicro(int64(rapid.IntRange(1, 30).Draw(rt, "other start"))).UTC()
				s.memory = append(s.memory, moved)
			case "running":
				c.Status = junctor.StatusRunning
				s.memory = append(s.memory, c)
			}
			want = append(want, c)
		}
		a := &api{Options: Options{Calls: s, History: s}}
		got := []junctor.Call{}
		in := callQuery{Limit: rapid.IntRange(1, 30).Draw(rt, "limit")}
		for pages := 0; ; pages++ {
			out, err := a.listCalls(asAcme(t), &in)
			if err != nil || len(out.Body.Items) > in.Limit || pages > 200 {
				rt.Fatalf("page %d: %d calls, %v", pages, len(out.Body.Items), err)
			}
			if at := out.Body.SearchedTo; !at.IsZero() && (out.Body.Next == "" || len(out.Body.Items) == in.Limit) {
				rt.Fatalf("%d calls (limit %d), next %q, searched to %v", len(out.Body.Items), in.Limit, out.Body.Next, at)
			}
			// The first page has the total, unless memory has more calls than one page.
			switch total := out.Body.Total; {
			case (total != nil) != (pages == 0):
				rt.Fatalf("page %d has the total %v", pages, total)
			case total != nil && (*total > len(want) || *total != len(want) && !out.Body.TotalIsMinimum):
				rt.Fatalf("the total is %d (minimum: %v), want %d", *total, out.Body.TotalIsMinimum, len(want))
			}
			got = append(got, out.Body.Items...)
			if in.Cursor = out.Body.Next; in.Cursor == "" {
				break
			}
		}
		if d := cmp.Diff(behind(want, junctor.CallPosition{}), got, cmpopts.EquateComparable(netip.Addr{})); d != "" {
			rt.Fatalf("(-want +got):\n%s", d)
		}
	})
}

// TestCallsWithoutHistory lists the calls in memory if the database is gone, and says that
// they are not all.
func TestCallsWithoutHistory(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := &twoSources{memory: []junctor.Call{{ID: "c1", Start: start}}, failure: junctor.Errorf(junctor.CodeUnavailable, "gone")}
	a := &api{Options: Options{Calls: s, History: s}}
	in := callQuery{Limit: 10}
	out, err := a.listCalls(asAcme(t), &in)
	if err != nil || len(out.Body.Items) != 1 || out.Body.Next == "" || !out.Body.SearchedTo.Equal(start) {
		t.Errorf("%+v, %v", out, err)
	}
	in.Cursor = out.Body.Next
	if _, err := a.listCalls(asAcme(t), &in); junctor.CodeOf(err) != junctor.CodeUnavailable {
		t.Errorf("the next page: %v", err)
	}
}
