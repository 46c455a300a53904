package identity_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/identity"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/store/sqlite"
	"github.com/junctor-mcp/junctor/internal/store/storetest"
)

// clock stands still until a test moves it.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// bundle is an Identity over a real database, and what it stands on.
type bundle struct {
	*identity.Identity
	store *store.Store
	clock *clock
	log   *bytes.Buffer
	path  string
}

func setup(t testing.TB, change ...func(*identity.Config)) *bundle {
	t.Helper()
	b := &bundle{
		clock: &clock{now: time.Date(2026, 5, 4, 3, 2, 1, 987654321, time.FixedZone("", 7200))},
		log:   new(bytes.Buffer), path: storetest.Fresh(t),
	}
	var err error
	if b.store, err = sqlite.Open(t.Context(), b.path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.store.Close() })
	b.Identity = another(t, b, change...)
	return b
}

// another makes a second Identity over the same database, as another process
// would.
func another(t testing.TB, b *bundle, change ...func(*identity.Config)) *identity.Identity {
	t.Helper()
	c := identity.Config{
		Store: b.store, Now: b.clock.Now,
		Logger: slog.New(slog.NewJSONHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, f := range change {
		f(&c)
	}
	i, err := identity.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// addAgent writes an agent's row, as the registry of agents does.
func (b *bundle) addAgent(ctx context.Context, name, owner string) error {
	raw, err := sqlite.Raw(ctx, b.path)
	if err != nil {
		return err
	}
	defer raw.Close()
	_, err = raw.Write.ExecContext(ctx, `INSERT INTO agents (tenant_id, name, role, tier, owner, disabled, created_at, updated_at) VALUES ('default', ?, 'QA', '', ?, 0, 1, 1)`, name, owner)
	return err
}

func opened(c *identity.Config) { c.Open = true }

// key makes a key that may call tools.
func (b *bundle) key(t testing.TB, name string, expires time.Time) (junctor.Key, string) {
	t.Helper()
	k, token, err := b.CreateKey(t.Context(), junctor.DefaultTenant, identity.NewKey{Name: name, Scopes: []junctor.Scope{junctor.ScopeToolsCall}, ExpiresAt: expires})
	if err != nil {
		t.Fatal(err)
	}
	return k, token
}

func request(t testing.TB, target string, header http.Header) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, target, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header
	return r
}

// header makes headers as net/http does when it reads them.
func header(pairs ...string) http.Header {
	h := http.Header{}
	for n := 0; n < len(pairs); n += 2 {
		h.Add(pairs[n], pairs[n+1])
	}
	return h
}

// gone is a context that has ended: what needs the database fails with it.
func gone(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func fails(t testing.TB, err error, want junctor.Code) {
	t.Helper()
	if got := junctor.CodeOf(err); got != want {
		t.Fatalf("got code %q (%v), want %q", got, err, want)
	}
}
