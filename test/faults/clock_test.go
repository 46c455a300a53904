package faults

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/audit"
	"github.com/junctor-mcp/junctor/internal/identity"
	"github.com/junctor-mcp/junctor/internal/seal"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/store/sqlite"
	"github.com/junctor-mcp/junctor/internal/testkit/clock"
)

// rings keeps ring keys in a store.
type rings struct{ *store.Store }

func (r rings) RingKeys(ctx context.Context) ([]seal.StoredKey, error) {
	rows, err := r.Store.RingKeys(ctx)
	keys := make([]seal.StoredKey, len(rows))
	for i, k := range rows {
		keys[i] = seal.StoredKey(k)
	}
	return keys, err
}

func (r rings) AddRingKey(ctx context.Context, k seal.StoredKey) error {
	return r.Store.AddRingKey(ctx, store.RingKey(k))
}

// testGround is what of an instance asks for the time and remembers it.
type testGround struct {
	store    *store.Store
	journal  *audit.Journal
	ring     *seal.SessionRing
	identity *identity.Identity
}

func openGround(t *testing.T, dir string, now func() time.Time) *testGround {
	t.Helper()
	ctx := t.Context()
	log := slog.New(slog.DiscardHandler)
	g := &testGround{}
	var err error
	if g.store, err = sqlite.Open(ctx, filepath.Join(dir, "junctor.db")); err != nil {
		t.Fatal(err)
	}
	master, err := seal.OpenKeyring(filepath.Join(dir, "seal.key"))
	if err != nil {
		t.Fatal(err)
	}
	if g.ring, err = seal.OpenSessionRing(ctx, rings{g.store}, master, seal.RingOptions{Now: now}); err != nil {
		t.Fatal(err)
	}
	if g.identity, err = identity.New(ctx, identity.Config{Store: g.store, Logger: log, Now: now}); err != nil {
		t.Fatal(err)
	}
	g.journal, err = audit.Open(ctx, audit.Options{Dir: filepath.Join(dir, "journal"), Replica: "one", Retention: 30 * time.Minute, Now: now, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func (g *testGround) close(t *testing.T) {
	t.Helper()
	if err := g.journal.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if err := g.store.Close(); err != nil {
		t.Error(err)
	}
}

// record puts a whole call on record.
func (g *testGround) record(t *testing.T, id string, at time.Time) {
	t.Helper()
	c := junctor.Call{ID: id, Tenant: junctor.DefaultTenant, Kind: junctor.KindTool, EntryPoint: junctor.EntryMCP, Name: "echo", Status: junctor.StatusRunning, Start: at}
	if err := g.journal.Append(t.Context(), &c); err != nil {
		t.Errorf("call %s: %v", id, err)
	}
	c.Status, c.Duration = junctor.StatusSuccess, time.Millisecond
	if err := g.journal.Append(t.Context(), &c); err != nil {
		t.Errorf("call %s: %v", id, err)
	}
}

// TestClockSetBack sets the clock back by an hour, under a running instance's
// parts and again between two runs: keys and sealed ids go on, records go on and
// verify, and the journal says what happened to the time.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := clock.New(time.Now().Round(0)) // a wall clock only
	g := openGround(t, dir, c.Now)
	_, token, err := g.identity.CreateKey(t.Context(), junctor.DefaultTenant, identity.NewKey{Name: "k", Scopes: []junctor.Scope{junctor.ScopeToolsCall}, ExpiresAt: c.Now().Add(90 * time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	var sealed []string
	check := func(when string) {
		t.Helper()
		if _, err := g.identity.AuthenticateToken(token); err != nil {
			t.Errorf("%s: the key: %v", when, err)
		}
		sealed = append(sealed, g.ring.Seal("session", []byte("me")))
		for i, text := range sealed {
			if b, err := g.ring.Open("session", text); err != nil || string(b) != "me" {
				t.Errorf("%s: sealed id %d: %q, %v", when, i, b, err)
			}
		}
		if err := g.ring.Rotate(t.Context()); err != nil {
			t.Errorf("%s: %v", when, err)
		}
		g.record(t, when, c.Now())
	}
	check("before")
	c.Back(time.Hour)
	check("set back")
	g.close(t)
	c.Back(time.Hour)
	g = openGround(t, dir, c.Now)
	check("set back between two runs")
	c.Advance(2*time.Hour + time.Minute)
	check("set right again")
	g.close(t)

	report, err := audit.Verify(t.Context(), filepath.Join(dir, "journal"), audit.VerifyOptions{})
	if err != nil || !report.OK {
		t.Fatalf("the journal does not verify: %+v, %v", report, err)
	}
	if !strings.Contains(strings.Join(report.Notes, "\n"), "clock") {
		t.Errorf("the report does not speak of the clock: %q", report.Notes)
	}
	c.Advance(2 * time.Hour)
	g = openGround(t, dir, c.Now)
	defer g.close(t)
	if _, err := g.identity.AuthenticateToken(token); err == nil {
		t.Error("the key outlived its time")
	}
}
