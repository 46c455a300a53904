package attention_test

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/attention"
	"github.com/junctor-mcp/junctor/internal/store"
)

// An outage begins when a server is found not to work, and ends when it is found to work. It is
// in the list of each period that it overlaps, also after it has ended.
func TestOutages(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, st *store.Store) {
		t.Helper()
		for _, tenant := range []junctor.TenantID{"acme", "other"} {
			if err := st.EnsureTenant(t.Context(), tenant, string(tenant)); err != nil {
				t.Fatal(err)
			}
		}
		w := newWorld(t, st)
		w.keep = st
		watcher := w.watcher("one", true)
		begin := w.clock()
		at := func(minutes int) time.Time { return begin.Add(time.Duration(minutes) * time.Minute) }
		pass := func(minute int, found ...attention.Finding) {
			w.mu.Lock()
			w.found, w.now = found, at(minute)
			w.mu.Unlock()
			w.list(watcher, tenants)
		}
		shop, notes := finding("acme", "shop", junctor.SeverityCritical), finding("acme", "notes", junctor.SeverityWarning)
		notes.Owner = "user:ann"
		pass(10, shop)
		pass(20, shop, notes)
		pass(30, notes, finding("other", "secret", junctor.SeverityCritical))
		pass(40)
		pass(50, shop)

		for _, c := range []struct {
			server   string
			from, to int
			want     []string
		}{
			{"", 0, 60, []string{"shop 50 -", "notes 20 40", "shop 10 30"}},
			{"", 0, 20, []string{"shop 10 30"}},
			{"", 31, 50, []string{"notes 20 40"}},
			{"shop", 0, 60, []string{"shop 50 -", "shop 10 30"}},
			{"shop", 31, 50, nil},
			{"secret", 0, 60, nil},
		} {
			list, err := watcher.Outages(t.Context(), tenants, c.server, at(c.from), at(c.to))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, o := range list {
				end := "-"
				if !o.To.IsZero() {
					end = strconv.Itoa(int(o.To.Sub(begin).Minutes()))
				}
				got = append(got, o.Server+" "+strconv.Itoa(int(o.From.Sub(begin).Minutes()))+" "+end)
				if o.Problem != "it is down" || o.Name != o.Server || (o.Severity == junctor.SeverityWarning) != (o.Server == "notes") {
					t.Errorf("%+v", o)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%s from %d to %d: %q, want %q", c.server, c.from, c.to, got, c.want)
			}
		}
		list, err := watcher.Outages(t.Context(), auditor, "", at(0), at(60))
		if err != nil || len(list) != 0 {
			t.Errorf("an auditor who knows of no server sees %+v, %v", list, err)
		}
	})
}

// keepEvent stores an event, as the instance does.
func (w *world) keepEvent(ctx context.Context, on store.Statements, tenant junctor.TenantID, e *junctor.RaisedEvent) error {
	w.kept++
	_, _, err := w.keep.For(tenant).AddEvent(ctx, on, &junctor.Event{
		ID: strconv.Itoa(w.kept), Tenant: tenant, Source: e.Source, Type: e.Type, DedupeKey: strconv.Itoa(w.kept), Data: e.Data, ReceivedAt: w.clock(),
	})
	return err
}
