//go:build unix

package deliveries

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver

	"github.com/junctor-mcp/junctor/internal/queue"
	"github.com/junctor-mcp/junctor/internal/store/pgtest"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/mcpagent"
	"github.com/junctor-mcp/junctor/test/program"
)

// visit is one call of the agent, as the agent saw it.
type visit struct {
	id         string
	begun, end time.Time // end is zero while it lasts
}

// busyEndpoint is an agent whose calls last until they are let go.
type busyEndpoint struct {
	url  string
	mu   sync.Mutex
	all  []*visit
	gate chan struct{} // calls that come in now wait until it is closed
}

func newBusy(t *testing.T) *busyEndpoint {
	t.Helper()
	b := &busyEndpoint{gate: make(chan struct{})}
	agent := mcpagent.New("busy", mcpagent.Options{Deduplicator: always{}})
	mcpagent.AddHandler(agent, "work", "Works", func(ctx context.Context, d mcpagent.Delivery, _ struct{}) error {
		v := &visit{id: d.ID, begun: time.Now()}
		b.mu.Lock()
		b.all = append(b.all, v)
		gate := b.gate
		b.mu.Unlock()
		select {
		case <-gate:
		case <-ctx.Done():
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		v.end = time.Now()
		return nil
	})
	server := httptest.NewServer(agent)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	b.url = server.URL
	return b
}

// replaceGate has calls from now on wait at another gate, and gives the one of those
// that wait already.
func (b *busyEndpoint) replaceGate(open bool) (former chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	former, b.gate = b.gate, make(chan struct{})
	if open {
		close(b.gate)
	}
	return former
}

func (b *busyEndpoint) listVisits() []visit {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]visit, len(b.all))
	for i, v := range b.all {
		out[i] = *v
	}
	return out
}

// heldLease is a lease as the database had it: who, until when at most.
type heldLease struct {
	owner string
	until time.Time
}

type leaseOf struct {
	id    string
	token int64
}

// watcher looks at the leases in the database all the time.
type watcher struct {
	db   *sql.DB
	mu   sync.Mutex
	seen map[leaseOf]heldLease
}

func watch(t *testing.T, db *sql.DB) *watcher {
	t.Helper()
	w := &watcher{db: db, seen: map[leaseOf]heldLease{}}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			w.look(ctx, t)
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return w
}

// look notes every lease that there is: nobody else may have the same one.
func (w *watcher) look(ctx context.Context, t *testing.T) {
	t.Helper()
	rows, err := w.db.QueryContext(ctx, `SELECT id, lease, owner, lease_until FROM jobs WHERE state = 'leased'`)
	if err != nil {
		if ctx.Err() == nil {
			t.Errorf("look at leases: %v", err)
		}
		return
	}
	defer rows.Close() // Err tells what went wrong
	w.mu.Lock()
	defer w.mu.Unlock()
	for rows.Next() {
		var l leaseOf
		var h heldLease
		var until int64
		if err := rows.Scan(&l.id, &l.token, &h.owner, &until); err != nil {
			t.Errorf("look at leases: %v", err)
			return
		}
		h.until = time.UnixMicro(until)
		had, ok := w.seen[l]
		if ok && had.owner != h.owner {
			t.Errorf("the lease %d of %s is %s's and was %s's", l.token, l.id, h.owner, had.owner)
		}
		if had.until.After(h.until) {
			h.until = had.until
		}
		w.seen[l] = h
	}
	if err := rows.Err(); err != nil && ctx.Err() == nil {
		t.Errorf("look at leases: %v", err)
	}
}

// leases gives what is known of the leases of a delivery, first first.
func (w *watcher) leases(id string) (out []heldLease) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var tokens []int64
	for l := range w.seen {
		if l.id == id {
			tokens = append(tokens, l.token)
		}
	}
	slices.Sort(tokens)
	for _, token := range tokens {
		out = append(out, w.seen[leaseOf{id, token}])
	}
	return out
}

// currentRows gives who has which deliveries at this moment, by owner.
func currentRows(t *testing.T, db *sql.DB) map[string][]string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), `SELECT owner, id FROM jobs WHERE state = 'leased' ORDER BY id`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close() // Err tells what went wrong
	out := map[string][]string{}
	for rows.Next() {
		var owner, id string
		if err := rows.Scan(&owner, &id); err != nil {
			t.Fatal(err)
		}
		out[owner] = append(out[owner], id)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestProcessesShareTheWork has three processes work on one PostgreSQL. One is
// killed and one stands still while both are at work. The third takes up what
// they had, not before their leases have run out and at once then; the one that
// stood still changes nothing when it goes on; and nothing is ever worked on
// under two leases at once.
func TestProcessesShareTheWork(t *testing.T) {
	pg, err := pgtest.Start(pgtest.Options{})
	pgtest.Need(t, err)
	t.Cleanup(pg.Stop)
	url := pg.Database(t)
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })

	agent, first := newBusy(t), t.TempDir()
	run := func(data string) *program.Instance {
		return program.Start(t, program.FreeAddr(t), data, "--db", url, "--seal-key-file", first+"/seal.key", "--rate-limit", "0", "--egress-allow", "127.0.0.0/8")
	}
	processes := map[string]*program.Instance{} // by the name under which they lease
	a := run(first)
	api(t, a, http.MethodPost, "/servers", fmt.Sprintf(`{"id":"bot","url":%q}`, agent.url), http.StatusCreated, nil)
	api(t, a, http.MethodPost, "/triggers", `{"name":"work","match":{"type":"work"},"action":{"server":"bot","tool":"work","template":{},"timeout_ms":120000}}`, http.StatusCreated, nil)
	all := []*program.Instance{a, run(t.TempDir()), run(t.TempDir())}
	for _, in := range all {
		processes[node(t, in)] = in
	}
	w := watch(t, db)
	send := func(to []*program.Instance, from, n int) {
		for i := range n {
			api(t, to[i%len(to)], http.MethodPost, "/events", fmt.Sprintf(`{"type":"work","agent":"a%d"}`, from+i), http.StatusAccepted, nil)
		}
	}

	// Each takes as many as it has places for one endpoint, and they wait.
	const places, jobs = 4, 40
	send(all, 0, jobs)
	poll.Until(t, "every process is at work", patient, func() bool { return len(agent.listVisits()) >= places*len(all) })
	var owners []string
	for owner := range currentRows(t, db) {
		owners = append(owners, owner)
	}
	if len(owners) != len(all) {
		t.Fatalf("%d processes are at work, want %d: %v", len(owners), len(all), owners)
	}
	slices.Sort(owners)
	dead, still := processes[owners[0]], processes[owners[1]]
	pauseDeliveries(t, db, still)
	had := currentRows(t, db)
	dead.Kill()
	killed := time.Now()
	waiting := agent.replaceGate(true)
	close(waiting) // the answers wait for the one that stands still

	done := func() (n int) {
		if err := db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM jobs WHERE state = 'done' AND attempt = 1`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	poll.Until(t, "the third does it all", patient, func() bool { return done() == jobs })
	var late time.Duration
	for _, id := range had[owners[0]] {
		leases := w.leases(id)
		if len(leases) == 0 || leases[0].until.After(killed.Add(queue.DefaultLease)) {
			t.Fatalf("%s: the leases %v of a process that was killed at %v last for longer than %v", id, leases, killed, queue.DefaultLease)
		}
		for _, v := range agent.listVisits() {
			if v.id == id && v.begun.After(killed) {
				late = max(late, v.begun.Sub(killed))
			}
		}
	}
	t.Logf("figure: three processes on one PostgreSQL: the work of a killed one was taken over within %.1f s, with leases of %v", late.Seconds(), queue.DefaultLease)
	if program.Long() && late > queue.DefaultLease+time.Second {
		t.Errorf("its deliveries were late by %v, which is more than the lease", late)
	}

	// What the one that stood still had is done. It hears of that, and of no more.
	still.Signal(t, syscall.SIGCONT)
	poll.Until(t, "it notices that its deliveries are another's", patient, func() bool {
		log := still.Log()
		return strings.Count(log, "delivery lost its lease")+strings.Count(log, "cannot store the result of a delivery") >= len(had[owners[1]])
	})
	send([]*program.Instance{still, processes[owners[2]]}, jobs, jobs)
	poll.Until(t, "two share the work", patient, func() bool { return done() == 2*jobs })
	var attempts, wrong int
	if err := db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM jobs WHERE length(tried) - length(replace(tried, chr(10), '')) = 1`).Scan(&attempts); err != nil || attempts != 2*jobs {
		t.Errorf("%d attempts are noted, want one for each of %d deliveries: %v", attempts, 2*jobs, err)
	}
	if err := db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM jobs WHERE state <> 'done' OR attempt <> 1`).Scan(&wrong); err != nil || wrong != 0 {
		t.Errorf("%d deliveries did not end well: %v", wrong, err)
	}
	notTwice(t, agent.listVisits(), w)
	for _, owner := range owners[1:] {
		processes[owner].Stop(t, patient)
	}
}

// notTwice holds that a call began only when the one before it, of the same
// delivery, had ended, or when its lease had run out.
func notTwice(t *testing.T, visits []visit, w *watcher) {
	t.Helper()
	by, again := map[string][]visit{}, 0
	for _, v := range visits {
		by[v.id] = append(by[v.id], v)
	}
	for id, list := range by {
		leases := w.leases(id)
		for i, v := range list[1:] {
			again++
			before := list[i]
			if !before.end.IsZero() && !before.end.After(v.begun) {
				continue
			}
			if i >= len(leases) || v.begun.Before(leases[i].until) {
				t.Errorf("%s was called at %v, while the call of %v was under way: %+v", id, v.begun, before.begun, leases)
			}
		}
	}
	t.Logf("figure: %d deliveries, %d calls, %d of them repeated after a lease expired, none under two leases at once", len(by), len(visits), again)
}

// node is the name under which a process leases.
func node(t *testing.T, in *program.Instance) string {
	t.Helper()
	name, err := os.ReadFile(filepath.Join(in.DataDir, "replica"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(name))
}

// pauseDeliveries has a process stand still, outside of any transaction: locks of one that
// is half done would keep the others waiting as a database does, not as a lease.
func pauseDeliveries(t *testing.T, db *sql.DB, in *program.Instance) {
	t.Helper()
	poll.Until(t, "it stands still outside of a transaction", patient, func() bool {
		in.Signal(t, syscall.SIGSTOP)
		for range 4 {
			poll.Pause(50*time.Millisecond, "what is on its way to the database arrives, and the stopped process cannot say so")
			var open int
			if err := db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM pg_stat_activity WHERE application_name = 'junctor' AND state <> 'idle'`).Scan(&open); err != nil {
				t.Fatal(err)
			}
			if open > 0 {
				in.Signal(t, syscall.SIGCONT)
				return false
			}
		}
		return true
	})
}
