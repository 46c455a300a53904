package attention_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/attention"
	"github.com/junctor-mcp/junctor/internal/queue"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/store/pgtest"
	"github.com/junctor-mcp/junctor/internal/store/postgres"
	"github.com/junctor-mcp/junctor/internal/store/sqlite"
	"github.com/junctor-mcp/junctor/internal/store/storetest"
)

var server pgtest.Pool

func TestMain(m *testing.M) { os.Exit(server.LeakCheckedMain(m)) }

// each runs a test on both engines, each on an empty database.
func each(t *testing.T, test func(t *testing.T, st *store.Store)) {
	t.Helper()
	open := func(t *testing.T, st *store.Store, err error) *store.Store {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() })
		return st
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		st, err := sqlite.Open(t.Context(), storetest.Fresh(t))
		test(t, open(t, st, err))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		st, err := postgres.Open(t.Context(), pgtest.Seeded(t, &server, postgres.Open))
		test(t, open(t, st, err))
	})
}

// world is a database with watchers of what a test says needs attention.
type world struct {
	t     *testing.T
	queue *queue.Queue
	db    store.Database

	mu     sync.Mutex
	now    time.Time
	found  []attention.Finding
	fails  error // of the source
	broken error // of the transaction
	events []string

	keep *store.Store // stores events if it is not nil
	kept int
}

func newWorld(t *testing.T, st *store.Store) *world {
	t.Helper()
	w := &world{t: t, db: st.Database(), now: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)}
	q, err := queue.New(queue.Options{DB: w.db, Owner: "a", Logger: slog.New(slog.DiscardHandler), Now: w.clock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	w.queue = q
	return w
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

// tx is a transaction that notes the events of items once it is committed.
type tx struct {
	*queue.Tx
	events *[]string
	of     *world
}

func (x tx) Raise(ctx context.Context, tenant junctor.TenantID, e junctor.RaisedEvent) error {
	var item junctor.AttentionItem
	if err := json.Unmarshal(e.Data, &item); err != nil {
		return err
	}
	*x.events = append(*x.events, string(tenant)+" "+e.Source+" "+e.Type+" "+item.Object.Name+" "+string(item.Severity))
	if x.of.keep != nil {
		return x.of.keepEvent(ctx, x.Tx, tenant, &e)
	}
	return nil
}

// watcher returns a watcher of one replica.
func (w *world) watcher(replica string, leads bool) *attention.Watcher {
	w.t.Helper()
	out, err := attention.New(attention.Options{
		DB: w.db, Replica: replica, IsLeader: func() bool { return leads }, Now: w.clock, Log: slog.New(slog.DiscardHandler),
		Shared: []attention.Source{{Name: "things", Title: "the things", List: func(context.Context) (attention.Report, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			return attention.Report{Findings: slices.Clone(w.found)}, w.fails
		}}},
		Write: func(ctx context.Context, fn func(context.Context, attention.Transaction) error) error {
			var events []string
			err := w.queue.Write(ctx, func(ctx context.Context, on *queue.Tx) error {
				events = nil
				if w.broken != nil {
					return w.broken
				}
				return fn(ctx, tx{on, &events, w})
			})
			if err == nil {
				w.mu.Lock()
				w.events = append(w.events, events...)
				w.mu.Unlock()
			}
			return err
		},
		Visible: func(context.Context, *junctor.Principal) (func(string, string, *junctor.AttentionItem) bool, error) {
			return func(owner, server string, _ *junctor.AttentionItem) bool {
				return owner == "user:ann" || server == "known"
			}, nil
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// set replaces what the source finds, a second later.
func (w *world) set(found ...attention.Finding) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.found, w.now = found, w.now.Add(time.Second)
}

// list returns what a principal sees, right after the sources were asked.
func (w *world) list(of *attention.Watcher, p *junctor.Principal) attention.List {
	w.t.Helper()
	out, err := of.LookAndList(w.t.Context(), p)
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

func (w *world) wantEvents(want ...string) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Equal(w.events, want) {
		w.t.Errorf("events %q, want %q", w.events, want)
	}
	w.events = nil
}

func names(l attention.List) (out []string) {
	for i := range l.Items {
		out = append(out, string(l.Items[i].Kind)+" "+l.Items[i].Object.Name)
	}
	return out
}

func finding(tenant junctor.TenantID, name string, severity junctor.AttentionSeverity) attention.Finding {
	return attention.Finding{Key: name, AttentionItem: junctor.AttentionItem{
		Tenant: tenant, Kind: junctor.AttentionServer, Severity: severity, Object: junctor.AttentionObject{Kind: "server", ID: name, Name: name}, Problem: "it is down", Command: "x", Console: "/",
	}}
}

var (
	operator = &junctor.Principal{Tenant: junctor.DefaultTenant, Issuer: "key", Subject: "a", Scopes: []junctor.Scope{junctor.ScopeAdmin}}
	tenants  = &junctor.Principal{Tenant: "acme", Issuer: "key", Subject: "b", Scopes: []junctor.Scope{junctor.ScopeAdmin}}
	auditor  = &junctor.Principal{Tenant: "acme", Issuer: "user", Subject: "bob", User: "bob", Scopes: []junctor.Scope{junctor.ScopeAuditRead}}
)

// Items keep their ID and time, also over a restart and on another replica, and each change
// causes one event whichever replica sees it first.
func TestItemsAreRaisedOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, st *store.Store) {
		t.Helper()
		w := newWorld(t, st)
		one, two := w.watcher("one", true), w.watcher("two", true) // the moment in which a lease changes hands
		if l := w.list(one, operator); len(l.Items) != 0 || l.Total != 0 {
			t.Fatalf("%+v", l)
		}
		w.set(finding("acme", "shop", junctor.SeverityWarning), finding("", "disk", junctor.SeverityCritical))
		first := w.list(one, tenants)
		w.set(w.found...)
		second := w.list(two, tenants)
		if len(first.Items) != 1 || !slices.Equal(first.Items, second.Items) || first.Items[0].Object.Name != "shop" || first.Items[0].Instance {
			t.Errorf("%+v, then %+v", first, second)
		}
		if got := names(w.list(two, operator)); !slices.Equal(got, []string{"server disk"}) {
			t.Errorf("an operator sees %q", got)
		}
		if got := names(w.list(two, auditor)); len(got) != 0 {
			t.Errorf("an auditor sees %q", got)
		}
		w.wantEvents("acme attention:server attention.raised shop warning", "default attention:server attention.raised disk critical")

		w.set(finding("acme", "shop", junctor.SeverityCritical))
		again := w.list(w.watcher("one", true), tenants)
		if len(again.Items) != 1 || again.Items[0].ID != first.Items[0].ID || !again.Items[0].Since.Equal(first.Items[0].Since) || again.Items[0].Severity != junctor.SeverityCritical {
			t.Errorf("%+v, want the item of %+v", again, first)
		}
		w.list(two, tenants)
		w.wantEvents("acme attention:server attention.raised shop critical", "default attention:server attention.cleared disk critical")
		w.set()
		if l := w.list(one, tenants); l.Total != 0 {
			t.Errorf("%+v", l)
		}
		w.list(two, tenants)
		w.wantEvents("acme attention:server attention.cleared shop critical")
		w.set(finding("acme", "shop", junctor.SeverityWarning))
		w.list(one, tenants)
		w.wantEvents("acme attention:server attention.raised shop warning")
	})
}

// A list knows of everything that happened before it was asked for, also right after another
// list.
func TestListsKnowWhatHappenedBefore(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, st *store.Store) {
		t.Helper()
		w := newWorld(t, st)
		watcher := w.watcher("one", true)
		for i := range 6 {
			var want []string
			w.set()
			if i%2 == 0 {
				w.set(finding("acme", "shop", junctor.SeverityWarning))
				want = []string{"server shop"}
			}
			l, err := watcher.List(t.Context(), tenants, attention.Filter{})
			if err != nil {
				t.Fatal(err)
			}
			if got := names(l); !slices.Equal(got, want) {
				t.Fatalf("list %d has %q, want %q", i, got, want)
			}
		}
	})
}

// A source that cannot be read is an item and keeps its former ones; so is a database that
// stores nothing, and a leader that no longer looks.
func TestNothingIsHealthyThatWasNotChecked(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, st *store.Store) {
		t.Helper()
		w := newWorld(t, st)
		leader, other := w.watcher("one", true), w.watcher("two", false)
		w.set(finding("", "disk", junctor.SeverityWarning))
		if got := names(w.list(leader, operator)); !slices.Equal(got, []string{"server disk"}) {
			t.Fatalf("%q", got)
		}
		w.fails = errors.New("no answer")
		w.set()
		if got := names(w.list(leader, operator)); !slices.Equal(got, []string{"check the things", "server disk"}) {
			t.Errorf("a source that fails: %q", got)
		}
		w.fails = nil
		w.set()
		if got := names(w.list(leader, operator)); len(got) != 0 {
			t.Errorf("a source that works again: %q", got)
		}
		w.events = nil

		w.broken = errors.New("database or disk is full")
		w.set(finding("", "disk", junctor.SeverityCritical))
		if got := names(w.list(leader, operator)); !slices.Equal(got, []string{"check what changes", "server disk"}) {
			t.Errorf("what cannot be stored: %q", got)
		}
		w.wantEvents()
		w.broken = nil
		w.set(w.found...)
		if got := names(w.list(leader, operator)); !slices.Equal(got, []string{"server disk"}) {
			t.Errorf("what can be stored again: %q", got)
		}
		w.wantEvents("default attention:server attention.raised disk critical")

		w.set()
		w.list(leader, operator)
		if got := names(w.list(other, operator)); len(got) != 0 {
			t.Errorf("another replica sees %q", got)
		}
		w.mu.Lock()
		w.now = w.now.Add(time.Hour)
		w.mu.Unlock()
		if got := names(w.list(other, operator)); !slices.Equal(got, []string{"check servers, deliveries, keys and approvals"}) {
			t.Errorf("without a leader: %q", got)
		}
	})
}

// Who is no admin does not read errors of servers and deliveries, which quote addresses, and
// reads everything else as it is: an approval that waits is nothing that does not work.
func TestErrorsAreForOwnersAndAdmins(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, st *store.Store) {
		t.Helper()
		w := newWorld(t, st)
		watcher := w.watcher("one", true)
		var findings []attention.Finding
		for _, kind := range []junctor.AttentionKind{junctor.AttentionServer, junctor.AttentionDelivery, junctor.AttentionApproval, junctor.AttentionTools} {
			f := finding("acme", string(kind), junctor.SeverityWarning)
			f.Kind, f.Server = kind, "known"
			findings = append(findings, f)
		}
		w.set(findings...)
		for _, item := range w.list(watcher, auditor).Items {
			if hidden := item.Problem != "it is down"; hidden != (item.Kind == junctor.AttentionServer || item.Kind == junctor.AttentionDelivery) {
				t.Errorf("an auditor reads of %s: %q", item.Kind, item.Problem)
			}
		}
		for _, item := range w.list(watcher, tenants).Items {
			if item.Problem != "it is down" {
				t.Errorf("an admin reads of %s: %q", item.Kind, item.Problem)
			}
		}
	})
}
