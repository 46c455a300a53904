package app

import (
	"context"
	"encoding/json"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/audit"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/gateway"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/limit"
	"github.com/junctor-mcp/junctor/internal/seal"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/telemetry"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Ground packages do not know each other; the types below join them.

// ringStore keeps the keys of seal's ring in the store.
type ringStore struct{ *store.Store }

func (r ringStore) RingKeys(ctx context.Context) ([]seal.StoredKey, error) {
	rows, err := r.Store.RingKeys(ctx)
	keys := make([]seal.StoredKey, len(rows))
	for i, k := range rows {
		keys[i] = seal.StoredKey(k)
	}
	return keys, err
}

func (r ringStore) AddRingKey(ctx context.Context, k seal.StoredKey) error {
	return r.Store.AddRingKey(ctx, store.RingKey(k))
}

// sealer gives the ring the shape that guard and gateway want.
type sealer struct{ ring *seal.Ring }

func (s sealer) Seal(purpose string, plaintext []byte) string {
	return string(s.ring.Seal(nil, purpose, plaintext))
}

func (s sealer) Open(purpose, text string) ([]byte, error) { return s.ring.Open(purpose, text) }

// shipper keeps the copy of the journal in the store.
type shipper struct {
	store *store.Store
	rows  []store.AuditRecord // of one batch; there is one at a time
}

func (s *shipper) Shipped(ctx context.Context, node string) (uint64, error) {
	return s.store.AuditShipped(ctx, node)
}

func (s *shipper) Ship(ctx context.Context, records []audit.Record) error {
	s.rows = s.rows[:0]
	for i := range records {
		r := &records[i]
		s.rows = append(s.rows, store.AuditRecord{Node: r.Node, Seq: r.Seq, Hash: r.Hash, Line: r.Line})
	}
	return s.store.AddAudit(ctx, s.rows)
}

func (s *shipper) Prune(ctx context.Context, node string, upTo uint64) error {
	_, err := s.store.PruneAudit(ctx, node, upTo)
	return err
}

// Known implements audit.Witness.
func (s *shipper) Known(ctx context.Context, node string) (audit.Known, error) {
	return knownOf(ctx, s.store, node)
}

// KeepHead implements audit.Witness.
func (s *shipper) KeepHead(ctx context.Context, head audit.Head, replace bool) error {
	text, err := json.Marshal(head)
	if err != nil {
		return err
	}
	return s.store.KeepAuditHead(ctx, head.Node, head.Seq, string(text), replace)
}

// knownOf is what the database knows of a node's journal.
func knownOf(ctx context.Context, st *store.Store, node string) (k audit.Known, err error) {
	if k.Copied, k.CopiedHash, err = st.AuditLast(ctx, node); err != nil {
		return k, err
	}
	text, err := st.AuditHead(ctx, node)
	if err != nil || text == "" {
		return k, err
	}
	k.Head = new(audit.Head)
	if err := json.Unmarshal([]byte(text), k.Head); err != nil {
		k.Head = &audit.Head{Node: node} // nobody signed that, and whoever looks says so
	}
	return k, nil
}

// states keeps used request states in the store.
type states struct{ store *store.Store }

func (s states) UseState(ctx context.Context, tenant junctor.TenantID, id string, expires time.Time) (bool, error) {
	return s.store.For(tenant).UseState(ctx, id, expires)
}

// tasks keeps the tasks of callers in the store.
type tasks struct{ store *store.Store }

func (t tasks) AddTask(ctx context.Context, tenant junctor.TenantID, task junctor.Task) error {
	return t.store.For(tenant).AddTask(ctx, task)
}

func (t tasks) Task(ctx context.Context, tenant junctor.TenantID, id string) (junctor.Task, error) {
	return t.store.For(tenant).Task(ctx, id)
}

func (t tasks) SetTask(ctx context.Context, tenant junctor.TenantID, id string, state []byte, expires time.Time) error {
	return t.store.For(tenant).SetTask(ctx, id, state, expires)
}

func (t tasks) TasksOf(ctx context.Context, p *junctor.Principal, after string, now time.Time, most int) ([]junctor.Task, error) {
	return t.store.For(p.Tenant).TasksOf(ctx, p.Issuer, p.Subject, after, now, most)
}

// sessions keeps the rows of gateway's sessions in the store.
type sessions struct{ store *store.Store }

func (s sessions) SaveSession(ctx context.Context, tenant junctor.TenantID, row gateway.SavedSession) error {
	return s.store.For(tenant).SaveSession(ctx, store.Session{
		ID: row.ID, Issuer: row.Issuer, Subject: row.Subject, LogLevel: row.LogLevel,
		Subscriptions: row.Subscriptions, Capabilities: row.Capabilities, ExpiresAt: row.Expires,
	})
}

func (s sessions) LoadSession(ctx context.Context, tenant junctor.TenantID, id string) (gateway.SavedSession, bool, error) {
	row, err := soon(ctx, func(ctx context.Context) (store.Session, error) { return s.store.For(tenant).Session(ctx, id) })
	if junctor.CodeOf(err) == junctor.CodeNotFound {
		return gateway.SavedSession{}, false, nil
	}
	return gateway.SavedSession{
		ID: row.ID, Issuer: row.Issuer, Subject: row.Subject, LogLevel: row.LogLevel,
		Subscriptions: row.Subscriptions, Capabilities: row.Capabilities, Expires: row.ExpiresAt,
	}, err == nil, err
}

func (s sessions) RevokeSession(ctx context.Context, tenant junctor.TenantID, id string, expires time.Time) error {
	return s.store.For(tenant).RevokeSession(ctx, id, expires)
}

func (s sessions) SessionRevoked(ctx context.Context, tenant junctor.TenantID, id string) (bool, error) {
	return soon(ctx, func(ctx context.Context) (bool, error) { return s.store.For(tenant).Revoked(ctx, id) })
}

// storeTime is how long a client waits for a database that says nothing.
const storeTime = 5 * time.Second

// soon asks the database for what a client waits for. One that is cut off without
// a word would keep it waiting for minutes.
func soon[T any](ctx context.Context, ask func(context.Context) (T, error)) (T, error) {
	bound, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	answer, err := ask(bound)
	if err != nil && bound.Err() != nil && ctx.Err() == nil {
		err = &junctor.Error{Code: junctor.CodeUnavailable, Message: "the database does not answer; try again", RetryAfter: time.Second, Cause: err}
	}
	return answer, err
}

// limiter applies the configured rate to every party, and then their own limits.
type limiter struct {
	memory *limit.Memory
	rate   limit.Rate
	book   *limit.Book
}

func newLimiter(cfg *config.Config, book *limit.Book) limiter {
	return limiter{limit.NewMemory(), limit.Rate{PerSecond: cfg.RateLimit, Burst: cfg.RateBurst}, book}
}

func (l limiter) Enter(ctx context.Context, p *junctor.Principal, server, name string, now time.Time) (limit.Pass, error) {
	if err := l.memory.Check(p, l.rate, now); err != nil {
		return limit.Pass{}, err
	}
	return l.book.Enter(ctx, p, server, name, now)
}

// meter finds the counters of a tool without a lock or an allocation.
type meter struct {
	metrics *telemetry.Metrics
	routes  atomic.Pointer[map[string]*telemetry.Route]
	mu      sync.Mutex
}

func newMeter(m *telemetry.Metrics) *meter {
	mt := &meter{metrics: m}
	mt.routes.Store(&map[string]*telemetry.Route{})
	return mt
}

// maxRoutes bounds the map; the metrics have a bound of their own for labels.
const maxRoutes = 20000

func (m *meter) Observe(name string, status junctor.Status, d time.Duration) {
	r := (*m.routes.Load())[name]
	if r == nil {
		r = m.add(name)
	}
	r.Done(status, d)
}

func (m *meter) add(name string) *telemetry.Route {
	r := m.metrics.Route(name)
	m.mu.Lock()
	defer m.mu.Unlock()
	old := *m.routes.Load()
	if len(old) >= maxRoutes || r.Other() && telemetry.IsAdhoc(name) { // names that callers choose have no end
		return r
	}
	next := make(map[string]*telemetry.Route, len(old)+1)
	maps.Copy(next, old)
	next[name] = r
	m.routes.Store(&next)
	return r
}

// traceCalls makes a span of every operation, as part of the trace that its
// caller names in _meta, or in the headers of its request, and names that span to
// whom the operation reaches.
func traceCalls(tracer trace.Tracer) func(context.Context, *guard.Op) (context.Context, func(error)) {
	return func(ctx context.Context, op *guard.Op) (context.Context, func(error)) {
		parent, _ := wire.String(wire.Get(op.Meta, wire.MetaTraceparent))
		state, _ := wire.String(wire.Get(op.Meta, wire.MetaTracestate))
		ctx, span := tracer.Start(telemetry.Extract(ctx, parent, state), "junctor "+string(op.Kind), trace.WithSpanKind(trace.SpanKindServer),
			trace.WithAttributes(attribute.String("mcp.name", op.Name), attribute.String("junctor.door", string(op.Door))))
		op.Meta = handOn(ctx, op.Meta)
		return ctx, func(err error) {
			if err != nil {
				span.SetStatus(codes.Error, string(junctor.CodeOf(err)))
			}
			span.End()
		}
	}
}

// handOn puts the trace that ctx is part of in the place of the one in meta.
func handOn(ctx context.Context, meta []byte) []byte {
	parent, state := telemetry.Inject(ctx)
	if parent == "" {
		return meta
	}
	members := []wire.Member{{Key: wire.MetaTraceparent, Value: wire.AppendString(nil, parent)}}
	if state != "" {
		members = append(members, wire.Member{Key: wire.MetaTracestate, Value: wire.AppendString(nil, state)})
	}
	return wire.AppendObject(nil, meta, []string{wire.MetaTracestate}, members...)
}
