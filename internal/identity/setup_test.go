package identity_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/identity"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/store/sqlite"
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

// faulty is a place for keys that can be told to fail.
type faulty struct {
	identity.Keys
	err error
}

func (f *faulty) All(ctx context.Context) ([]junctor.Key, error) {
	if f.err != nil {
		return nil, f.err
	}
	return f.Keys.All(ctx)
}

func (f *faulty) Revoke(ctx context.Context, tenant junctor.TenantID, id string, at time.Time) error {
	if f.err != nil {
		return f.err
	}
	return f.Keys.Revoke(ctx, tenant, id, at)
}

func (f *faulty) Touch(ctx context.Context, tenant junctor.TenantID, used map[string]time.Time) error {
	if f.err != nil {
		return f.err
	}
	return f.Keys.Touch(ctx, tenant, used)
}

// bundle is an Identity over a real database, and what it stands on.
type bundle struct {
	*identity.Identity
	store *store.Store
	keys  *faulty
	clock *clock
	log   *bytes.Buffer
	path  string
}

func setup(t testing.TB, change ...func(*identity.Config)) *bundle {
	t.Helper()
	b := &bundle{
		clock: &clock{now: time.Date(2026, 5, 4, 3, 2, 1, 987654321, time.FixedZone("", 7200))},
		log:   new(bytes.Buffer), path: filepath.Join(t.TempDir(), "junctor.db"),
	}
	var err error
	if b.store, err = sqlite.Open(t.Context(), b.path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.store.Close() })
	b.keys = &faulty{Keys: identity.Stored(b.store)}
	b.Identity = another(t, b, change...)
	return b
}

// another makes a second Identity over the same database, as another process
// would.
func another(t testing.TB, b *bundle, change ...func(*identity.Config)) *identity.Identity {
	t.Helper()
	c := identity.Config{
		Keys: b.keys, Now: b.clock.Now,
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

func opened(c *identity.Config) { c.Open = true }

// key makes a key that may call tools.
func (b *bundle) key(t testing.TB, name string, expires time.Time) (junctor.Key, string) {
	t.Helper()
	k, token, err := b.CreateKey(t.Context(), junctor.DefaultTenant, name, []junctor.Scope{junctor.ScopeToolsCall}, expires)
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

func fails(t testing.TB, err error, want junctor.Code) {
	t.Helper()
	if got := junctor.CodeOf(err); got != want {
		t.Fatalf("got code %q (%v), want %q", got, err, want)
	}
}
