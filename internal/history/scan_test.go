package history_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/history"
)

// searchable is a call whose columns have few values, so that any two filters meet.
func searchable(n int) junctor.Call {
	c := call(n)
	c.Start = moment(n / 3) // several calls start in the same microsecond
	c.Kind = []junctor.Kind{junctor.KindTool, junctor.KindResource, junctor.KindPrompt}[n%7%3]
	c.Server = []string{"demo", "files", "private", ""}[n/2%4]
	c.Name = []string{"echo", "rare", "demo__echo"}[min(n%41, 2)%3]
	if n%5 > 0 {
		c.Name = "echo"
	}
	switch n % 4 {
	case 0:
		c.Issuer, c.Subject, c.User = junctor.IssuerUser, "u1", "u1"
	case 1:
		c.Issuer, c.Subject, c.User, c.Agent = junctor.IssuerAgent, "qa", "u1", "qa"
	case 2:
		c.Issuer, c.Subject = junctor.IssuerKey, "k1"
	}
	c.Status = []junctor.Status{junctor.StatusSuccess, junctor.StatusSuccess, junctor.StatusError, junctor.StatusDenied}[n%9%4]
	c.Reason = []string{"", "needle", "Über den Wolken"}[n%11%3]
	c.Room = []string{"", "", "r1", "r2"}[n/5%4]
	if n%13 == 0 {
		c.View = "v1"
	}
	return c
}

// selects reports whether a filter selects a call for an access. It is the rule that the
// SQL of a search has to follow.
func selects(f *history.Filter, access *junctor.CallAccess, c *junctor.Call) bool {
	is := func(want, value string) bool { return want == "" || want == value }
	reads := access.Reads(c)
	if !access.Sees(c) || !reads && (f.View != "" || f.Tool != "" && !junctor.NamesItem(c.Kind)) {
		return false
	}
	texts := []string{c.Server, c.Agent, c.Subject}
	if reads || junctor.NamesItem(c.Kind) {
		texts = append(texts, c.Server+"__"+c.Name)
	}
	if reads {
		texts = append(texts, c.Reason)
	}
	hasText := func(text string) bool { return strings.Contains(strings.ToLower(text), strings.ToLower(f.Text)) }
	return (is(f.Tool, c.Name) || f.Tool == c.Server+"__"+c.Name) && is(f.Server, c.Server) && is(f.User, c.User) && is(f.Agent, c.Agent) && is(f.View, c.View) &&
		is(f.Caller, c.Subject) && is(string(f.Kind), string(c.Kind)) && is(string(f.Status), string(c.Status)) && is(string(f.EntryPoint), string(c.EntryPoint)) &&
		(f.Since.IsZero() || !c.Start.Before(f.Since)) && (f.Until.IsZero() || c.Start.Before(f.Until)) &&
		slices.ContainsFunc(texts, hasText)
}

// drawFilter draws a filter over searchable calls.
func drawFilter(rt *rapid.T) history.Filter {
	text := func(name string, values ...string) string {
		return rapid.SampledFrom(append([]string{"", "", ""}, values...)).Draw(rt, name)
	}
	f := history.Filter{
		Tool: text("tool", "echo", "rare", "demo__echo", "none"), Server: text("server", "demo", "files"), User: text("user", "u1"), Agent: text("agent", "qa"),
		View: text("view", "v1"), Caller: text("caller", "u1", "qa", "k1"), Kind: junctor.Kind(text("kind", "tool", "resource")),
		Status: junctor.Status(text("status", "success", "error", "denied")), EntryPoint: junctor.EntryPoint(text("entry point", "mcp", "sse")), Text: text("text", "NEEDLE", "über", "files__RARE", "Rare", "qa", "é"),
		Limit: rapid.IntRange(1, 60).Draw(rt, "limit"), WithoutPayloads: rapid.Bool().Draw(rt, "without payloads"),
	}
	if rapid.Bool().Draw(rt, "bounded") {
		f.Since = moment(rapid.IntRange(-5, 200).Draw(rt, "since"))
		f.Until = f.Since.Add(time.Duration(rapid.IntRange(0, 150).Draw(rt, "period")) * time.Second)
	}
	return f
}

// collect reads all pages of a filter, and checks what each says of itself.
func collect(t testing.TB, h *history.History, access junctor.CallAccess, f history.Filter, each func(page *history.Page)) []string {
	t.Helper()
	ids := []string{}
	for pages := 0; ; pages++ {
		page, err := h.Query(t.Context(), access, f)
		ok(t, err)
		switch {
		case len(page.Calls) > f.Limit:
			t.Fatalf("a page of %d calls, at most %d", len(page.Calls), f.Limit)
		case page.Next != "" && page.SearchedTo.IsZero() != (len(page.Calls) == f.Limit):
			t.Fatalf("a page of %d calls (limit %d) with next %q searched to %v", len(page.Calls), f.Limit, page.Next, page.SearchedTo)
		case pages > 5000:
			t.Fatal("the pages do not end")
		}
		for _, e := range page.Calls {
			ids = append(ids, e.ID)
		}
		if each != nil {
			each(&page)
		}
		if f.Cursor = page.Next; f.Cursor == "" {
			return ids
		}
	}
}

// TestPagesHaveEveryCallOnce pages through a history with any filter, access and page
// size, in steps that are smaller than a page and much larger, with searches that end after
// each step and ones that end by themselves.
func TestPagesHaveEveryCallOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *trial) {
		h := t.open(t, history.Options{})
		var all []junctor.Call
		for n := range 600 {
			c := searchable(n)
			h.Record(&c, nil, nil)
			all = append(all, c)
		}
		ok(t, h.Flush(t.Context()))
		slices.SortFunc(all, func(a, b junctor.Call) int { return a.Position().Compare(b.Position()) })
		rapid.Check(t, func(rt *rapid.T) {
			access := accesses()[rapid.SampledFrom([]string{"member", "owner in the room", "user", "user, own", "agent", "service", "open", "admin", "admin", "another tenant", "none"}).Draw(rt, "access")]
			f := drawFilter(rt)
			h.BoundSteps(rapid.SampledFrom([]int{1, 7, 50, 400, 2000}).Draw(rt, "rows"), rapid.SampledFrom([]time.Duration{time.Nanosecond, time.Hour}).Draw(rt, "search time"), time.Minute)
			want := []string{}
			for i := range all {
				if selects(&f, &access, &all[i]) {
					want = append(want, all[i].ID)
				}
			}
			if d := cmp.Diff(want, collect(t, h, access, f, nil)); d != "" {
				rt.Fatalf("%+v (-want +got):\n%s", f, d)
			}
			total, err := h.Count(t.Context(), access, f)
			if err != nil || total.Rows > len(want) || !total.AtLeast && total.Rows != len(want) || total.AtLeast && f.Text == "" && len(all) <= h.StepRows() {
				rt.Fatalf("%+v: the total is %+v, want %d; %v", f, total, len(want), err)
			}
		})
	})
}

// TestPagesWhileCallsComeAndGo pages while calls are added at both ends of the time and
// the oldest are pruned: every call that is there all the time is found once.
func TestPagesWhileCallsComeAndGo(t *testing.T) {
	t.Parallel()
	each(t, func(t *trial) {
		h := t.open(t, history.Options{})
		const first, last = 200, 800 // these stay
		for n := range last {
			c := searchable(n)
			h.Record(&c, nil, nil)
			if n%256 == 0 {
				ok(t, h.Flush(t.Context()))
			}
		}
		ok(t, h.Flush(t.Context()))
		next, pruned := last, 0
		rapid.Check(t, func(rt *rapid.T) {
			access := accesses()[rapid.SampledFrom([]string{"user", "user, own", "admin", "member"}).Draw(rt, "access")]
			f := drawFilter(rt)
			f.Since, f.Until = time.Time{}, time.Time{}
			h.BoundSteps(rapid.SampledFrom([]int{7, 50, 400}).Draw(rt, "rows"), rapid.SampledFrom([]time.Duration{time.Nanosecond, time.Hour}).Draw(rt, "search time"), time.Minute)
			var want []string
			for n := last - 1; n >= first; n-- {
				if c := searchable(n); selects(&f, &access, &c) {
					want = append(want, c.ID)
				}
			}
			slices.SortFunc(want, comparePositions)
			got := collect(t, h, access, f, func(*history.Page) {
				if next-last > 3000 {
					return
				}
				c := searchable(next)
				next++
				h.Record(&c, nil, nil)
				if next%5 == 0 {
					ok(t, h.Flush(t.Context()))
				}
				if pruned < first/3-1 && next%7 == 0 {
					pruned++
					_, err := h.Prune(t.Context(), moment(pruned))
					ok(t, err)
				}
			})
			got = slices.DeleteFunc(got, func(id string) bool {
				n := numberOf(id)
				return n < first || n >= last
			})
			if d := cmp.Diff(want, got, cmp.Transformer("all", func(s []string) []string { return append([]string{}, s...) })); d != "" {
				rt.Fatalf("%+v (-want +got):\n%s", f, d)
			}
		})
	})
}

func numberOf(id string) (n int) {
	_, _ = fmt.Sscanf(id, "id%d", &n)
	return n
}

func comparePositions(a, b string) int {
	x, y := searchable(numberOf(a)), searchable(numberOf(b))
	return x.Position().Compare(y.Position())
}

// TestSearchesLeaveRoom has more endless searches than may run: the newest page and a rare
// tool do not wait for them, and a search that waits too long is told so.
func TestSearchesLeaveRoom(t *testing.T) {
	t.Parallel()
	each(t, func(t *trial) {
		h := t.open(t, history.Options{})
		for n := range 500 {
			c := searchable(n)
			h.Record(&c, nil, nil)
		}
		ok(t, h.Flush(t.Context()))
		release := h.HoldSearches()
		h.BoundSteps(100, time.Hour, time.Hour)
		var wg sync.WaitGroup
		var mu sync.Mutex
		waited := 0
		for range 8 {
			wg.Go(func() {
				page, err := h.Query(t.Context(), junctor.AllCalls("acme"), history.Filter{Text: "needle", Limit: 1000})
				mu.Lock()
				defer mu.Unlock()
				if waited++; err != nil || len(page.Calls) == 0 || page.Next != "" {
					t.Errorf("a search that waited: %d calls, next %q, %v", len(page.Calls), page.Next, err)
				}
			})
		}
		for _, f := range []history.Filter{{Limit: 50}, {Limit: 50, Tool: "rare"}, {Limit: 5, Agent: "qa"}, {Limit: 50, Status: junctor.StatusDenied}, {Limit: 5, Caller: "k1"}} {
			page, err := h.Query(t.Context(), junctor.AllCalls("acme"), f)
			if ok(t, err); len(page.Calls) == 0 {
				t.Errorf("%+v finds nothing", f)
			}
		}
		other := t.open(t, history.Options{})
		defer other.HoldSearches()()
		other.BoundSteps(100, time.Hour, time.Millisecond)
		if _, err := other.Query(t.Context(), junctor.AllCalls("acme"), history.Filter{Text: "needle"}); junctor.CodeOf(err) != junctor.CodeLimited || junctor.AsError(err).RetryAfter <= 0 {
			t.Errorf("a search beyond the limit: %v", err)
		}
		mu.Lock()
		if waited > 0 {
			t.Error("searches did not wait for their turn")
		}
		mu.Unlock()
		release()
		wg.Wait()
	})
}
