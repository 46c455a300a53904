package gateway_test

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/gateway"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/limit"
	"github.com/junctor-mcp/junctor/internal/seal"
	"github.com/junctor-mcp/junctor/internal/testkit"
)

// stack is a gateway over a real guard, catalog and backend whose clock and
// patience are the test's. What would be on disk is in memory.
type stack struct {
	*testkit.Instance // its URL alone, for the helpers
	g                 *gateway.Gateway
	probe             *probe
	ground            *ground
}

func newStack(t testing.TB, set func(*gateway.Options)) *stack {
	t.Helper()
	m := &ground{now: time.Now(), used: map[string]bool{}, rows: map[string]gateway.SavedSession{}, revoked: map[string]bool{}}
	raw := make([]byte, 32)
	_, _ = rand.Read(raw)
	master, err := seal.KeyringFromEnv(base64.StdEncoding.EncodeToString(raw))
	if err != nil {
		t.Fatal(err)
	}
	if m.ring, err = seal.OpenSessionRing(t.Context(), m, master, seal.RingOptions{Now: m.Now}); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	cat := catalog.New(catalog.Options{Logger: log})
	t.Cleanup(cat.Close)
	p := newProbe(t)
	if err := cat.Attach(t.Context(), junctor.DefaultTenant, "probe", junctor.ModeBuiltin, p.server); err != nil {
		t.Fatal(err)
	}
	gd, err := guard.New(guard.Options{
		Catalog: cat, Limiter: m, Journal: m, Recorder: m, Sealer: m, States: m, Meter: m, Logger: log, Now: m.Now, NewID: newID,
		Limits: guard.CallLimits{Idle: time.Minute}, InputTimeout: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(gd.Close)
	who := &junctor.Principal{Tenant: junctor.DefaultTenant, Issuer: junctor.IssuerKey, Subject: "me", Scopes: []junctor.Scope{junctor.ScopeAdmin}}
	o := gateway.Options{
		Pipeline: gd, Catalog: cat, Authenticate: func(*http.Request) (*junctor.Principal, error) { return who, nil }, Sealer: m, Sessions: m,
		ServerInfo: gateway.ServerInfo{Name: "test"}, EntryPoints: gateway.EntryPoints{MCP: true, SSE: true, Plain: true, Stdio: true}, Logger: log, Now: m.Now, NewID: newID,
	}
	if set != nil {
		set(&o)
	}
	g, err := gateway.New(o)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	g.RegisterRoutes(mux)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	t.Cleanup(g.Close)
	return &stack{Instance: &testkit.Instance{URL: server.URL}, g: g, probe: p, ground: m}
}

func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// ground is what the store, the limits and the journal are to an instance.
type ground struct {
	ring *seal.SessionRing

	mu      sync.Mutex
	now     time.Time
	keys    []seal.StoredKey
	used    map[string]bool
	rows    map[string]gateway.SavedSession
	revoked map[string]bool
	ends    []junctor.Status
}

func (m *ground) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

func (m *ground) pass(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = m.now.Add(d)
}

func (m *ground) Enter(context.Context, *junctor.Principal, string, string, time.Time) (limit.Pass, error) {
	return limit.Pass{}, nil
}
func (m *ground) Record(*junctor.Call, []byte, []byte)            {}
func (m *ground) Observe(string, junctor.Status, time.Duration)   {}
func (m *ground) ObserveToolList(junctor.EntryPoint, int)         {}
func (m *ground) DeleteRingKeys(context.Context, time.Time) error { return nil }
func (m *ground) Open(purpose, text string) ([]byte, error)       { return m.ring.Open(purpose, text) }

func (m *ground) Seal(purpose string, plain []byte) string {
	return m.ring.Seal(purpose, plain)
}
func (m *ground) RingKeys(context.Context) ([]seal.StoredKey, error) { return m.keys, nil }
func (m *ground) AddRingKey(_ context.Context, k seal.StoredKey) error {
	m.keys = append(m.keys, k)
	return nil
}

func (m *ground) Append(_ context.Context, c *junctor.Call) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c.Status != junctor.StatusRunning {
		m.ends = append(m.ends, c.Status)
	}
	return nil
}

func (m *ground) UseState(_ context.Context, _ junctor.TenantID, id string, _ time.Time) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	first := !m.used[id]
	m.used[id] = true
	return first, nil
}

func (m *ground) SaveSession(_ context.Context, _ junctor.TenantID, s gateway.SavedSession) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rows[s.ID] = s
	return nil
}

func (m *ground) LoadSession(_ context.Context, _ junctor.TenantID, id string) (gateway.SavedSession, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.rows[id]
	return s, ok, nil
}

func (m *ground) RevokeSession(_ context.Context, _ junctor.TenantID, id string, _ time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.revoked[id] = true
	return nil
}

func (m *ground) SessionRevoked(_ context.Context, _ junctor.TenantID, id string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.revoked[id], nil
}
