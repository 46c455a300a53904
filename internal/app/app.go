package app

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/a2a"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/agents"
	"github.com/junctor-mcp/junctor/internal/apps"
	"github.com/junctor-mcp/junctor/internal/attention"
	"github.com/junctor-mcp/junctor/internal/audit"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/chains"
	"github.com/junctor-mcp/junctor/internal/cluster"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/console"
	"github.com/junctor-mcp/junctor/internal/declare"
	"github.com/junctor-mcp/junctor/internal/egress"
	"github.com/junctor-mcp/junctor/internal/events"
	"github.com/junctor-mcp/junctor/internal/gateway"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/history"
	"github.com/junctor-mcp/junctor/internal/identity"
	"github.com/junctor-mcp/junctor/internal/instance"
	"github.com/junctor-mcp/junctor/internal/judge"
	"github.com/junctor-mcp/junctor/internal/limit"
	oauthresource "github.com/junctor-mcp/junctor/internal/oauth/resource"
	oauthserver "github.com/junctor-mcp/junctor/internal/oauth/server"
	"github.com/junctor-mcp/junctor/internal/policies"
	"github.com/junctor-mcp/junctor/internal/policy"
	"github.com/junctor-mcp/junctor/internal/proc"
	"github.com/junctor-mcp/junctor/internal/queue"
	"github.com/junctor-mcp/junctor/internal/quota"
	"github.com/junctor-mcp/junctor/internal/room"
	"github.com/junctor-mcp/junctor/internal/seal"
	"github.com/junctor-mcp/junctor/internal/series"
	"github.com/junctor-mcp/junctor/internal/servers"
	"github.com/junctor-mcp/junctor/internal/signin"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/telemetry"
)

const (
	parkFor = 10 * time.Minute // a call may wait for its client's input
	chore   = time.Minute      // interval of housekeeping
)

// App is one instance: the endpoints, and everything behind them.
type App struct {
	cfg     *config.Config
	version string
	log     *slog.Logger
	opts    options

	store     *store.Store
	ring      *seal.SessionRing
	vault     *seal.Vault
	identity  *identity.Identity
	catalog   *catalog.Catalog
	judge     *judge.Judge
	guard     *guard.Guard
	gateway   *gateway.Gateway
	metrics   *telemetry.Metrics
	egress    *egress.Egress
	bytes     *limit.ByteBudget // bytes of requests and results in flight
	anonymous *limit.ByteBudget // the part of bytes that callers without a credential may take
	journal   *audit.Journal
	changes   *audit.ChangeLog
	history   *history.History
	series    *series.Recorder
	servers   *servers.Registry
	agents    *agents.Registry
	signIn    *signin.SignIn
	authority *oauthserver.Server
	tokens    *oauthresource.Verifier // nil if no tokens are accepted
	limits    *quota.Quotas
	newAdmin  func(admin.Options) (*admin.Handler, error) // replaced by tests to make it fail
	pool      *cluster.LimitPool                          // nil if limits are not shared
	streams   *cluster.StreamStore                        // nil if streams end with this process
	file      *declare.File
	tails     audit.Tails
	listFeed  admin.ListFeed
	calls     *audit.CallReader
	people    *identity.Directory
	sources   declare.Sources
	console   *console.Console
	chains    *chains.Follower
	replica   string // id of this replica
	clock     *cluster.Clock
	replicas  *cluster.Replicas // nil without other replicas
	leases    leases
	queue     *queue.Queue
	events    *events.Service
	apps      *apps.Host
	rooms     *room.Rooms
	a2a       *a2a.Server
	attention *attention.Watcher
	policies  *policies.Policies
	cert      *gateway.Certificate // nil if a proxy speaks TLS

	closers []func(context.Context) // run last to first

	listening atomic.Pointer[listeners]
	draining  atomic.Bool                        // shutdown has begun
	startLink atomic.Pointer[identity.StartLink] // the link whose file is in the data directory
}

// Option changes how an App is made.
type Option func(*options)

type options struct {
	logTo      io.Writer
	now        func() time.Time
	servers    []*servers.BuiltinServer
	pollAfter  time.Duration
	unrecorded bool
	ungated    bool
	uncounted  bool
	statements func(context.Context)
	undeclared bool
	bare       bool
	listening  bool
}

// AsItIs ignores what the settings file declares, for commands that inspect an
// instance without running it.
func AsItIs() Option { return func(o *options) { o.undeclared = true } }

// WithLog sends the log to w instead of standard error.
func WithLog(w io.Writer) Option { return func(o *options) { o.logTo = w } }

// WithClock replaces the system clock.
func WithClock(now func() time.Time) Option { return func(o *options) { o.now = now } }

// WithServer attaches one more built-in server.
func WithServer(s *servers.BuiltinServer) Option {
	return func(o *options) { o.servers = append(o.servers, s) }
}

// Listening has New call Listen before it opens or changes anything else, so
// that an instance whose address is taken leaves nothing behind. Connections
// wait until Run.
func Listening() Option { return func(o *options) { o.listening = true } }

// WithPollAfter sets how long a legacy stream stays open before its client must
// resume it.
func WithPollAfter(d time.Duration) Option { return func(o *options) { o.pollAfter = d } }

// WithStatements calls f for each statement of the store, with its context.
func WithStatements(f func(context.Context)) Option { return func(o *options) { o.statements = f } }

// New opens the store and connects all parts. Close releases them. The parts of
// a failed New are closed before it returns.
func New(ctx context.Context, cfg *config.Config, version string, opts ...Option) (*App, error) {
	a := &App{cfg: cfg, version: version, newAdmin: admin.New, opts: options{logTo: os.Stderr, now: time.Now}}
	for _, o := range opts {
		o(&a.opts)
	}
	a.clock = cluster.NewClock(a.opts.now)
	if err := a.open(ctx); err != nil {
		_ = a.Close() //nolint:contextcheck // what was opened is closed even if ctx has ended
		return nil, err
	}
	return a, nil
}

// open makes the parts in the order of their dependencies: store and journal
// first, then catalog, guard and identity, then servers and the endpoints, and
// last the parts that call through the pipeline on their own (events, rooms).
// Every part that was opened registers itself with onClose, so that an error in
// a later one closes it.
func (a *App) open(ctx context.Context) (err error) {
	if a.log, err = telemetry.NewLogger(a.opts.logTo, a.cfg.LogLevel, a.cfg.LogFormat); err != nil {
		return err
	}
	if err := os.MkdirAll(a.cfg.DataDir, 0o700); err != nil {
		return junctor.Errorf(junctor.CodeUnavailable, "cannot create the data directory %s; choose another with --data-dir: %w", a.cfg.DataDir, err)
	}
	if a.opts.listening {
		if err := a.Listen(ctx); err != nil {
			return err
		}
		a.onClose(func(context.Context) { // Run closes them too
			l := a.listening.Load()
			_ = closeAll(l.public, l.local, l.sandbox)
		})
	}
	if err := a.openStore(ctx); err != nil {
		return err
	}
	a.metrics = telemetry.NewMetrics(telemetry.MetricsOptions{Version: a.version, GoVersion: runtime.Version()})
	a.bytes, a.anonymous = limit.NewInFlightBudgets(limit.InFlightOptions{
		Capacity: proc.MemoryCapacity(), Total: a.cfg.MaxInFlight, PerCaller: a.cfg.MaxPerCaller, MaxResult: a.cfg.MaxResult,
	})
	if a.egress, err = egress.New(egress.Options{Allow: a.cfg.EgressAllow, Proxy: a.cfg.EgressProxy, Logger: a.log, NoFastPath: !a.cfg.HTTPFastPath}); err != nil {
		return err
	}
	if err := a.openJournal(ctx); err != nil {
		return err
	}
	if err := a.openSeries(); err != nil { //nolint:contextcheck // its goroutines live until Close, not until ctx ends
		return err
	}
	if err := a.openReplicas(); err != nil {
		return err
	}
	a.catalog = catalog.New(catalog.Options{NameLimit: a.cfg.NameLimit, Exposure: junctor.Exposure(a.cfg.Exposure), Logger: a.log})
	a.judge = judge.New(judge.Options{Catalog: a.catalog, Now: a.clock.Now, Subject: func(p *junctor.Principal) policy.Subject { return a.policies.SubjectOf(p) }})
	a.onClose(func(context.Context) { a.catalog.Close() })
	a.agents = a.newAgents()
	if err := a.agents.Load(ctx); err != nil {
		return err
	}
	if err := a.openHistory(ctx); err != nil {
		return err
	}
	if err := a.openPolicies(ctx); err != nil {
		return err
	}
	if err := a.openGuard(ctx); err != nil {
		return err
	}
	if err := a.openIdentity(ctx); err != nil {
		return err
	}
	a.onClose(func(context.Context) { a.agents.Close() })
	a.servers = a.newServers()
	a.onClose(func(context.Context) { a.servers.Close() })
	if err := a.openAuthority(); err != nil {
		return err
	}
	if err := errors.Join(a.openSignIn(), a.openApps(), a.openConsole()); err != nil {
		return err
	}
	if err := a.openTokens(); err != nil {
		return err
	}
	a.file = a.newFile()
	if err := a.openGateway(); err != nil {
		return err
	}
	a.people = identity.NewDirectory(identity.DirectoryOptions{
		Identity: a.identity, Sessions: a.gateway, Tiers: a.limits, Servers: a.servers, Agents: a.agents, ConsoleURL: a.ConsoleURL,
	})
	a.attachAgents()
	if err := a.openEvents(ctx); err != nil {
		return err
	}
	if err := errors.Join(a.openRooms(), a.openA2A()); err != nil {
		return err
	}
	a.calls = audit.NewCallReader(audit.CallReaderOptions{
		Journal: a.journal, Tails: &a.tails, Servers: a.servers, Rooms: a.rooms,
		ExposedName: func(server, tool string) string { return catalog.Exposed(server, tool, a.cfg.NameLimit) },
	})
	if err := a.openAttention(); err != nil {
		return err
	}
	if err := a.gauges(); err != nil {
		return err
	}
	a.attachReplicas()
	return a.attachServers(ctx)
}

// openStore opens the database, agrees on its clock, and opens what seals and
// limits with keys and rows of the store.
func (a *App) openStore(ctx context.Context) error {
	st, err := instance.OpenDatabase(ctx, a.cfg)
	if err != nil {
		return err
	}
	a.store = st
	st.Observe(a.opts.statements)
	a.onClose(func(context.Context) {
		if err := st.Close(); err != nil { //nolint:contextcheck // Close takes no context
			a.log.Error("cannot close the database", telemetry.ErrorAttr(err))
		}
	})
	if a.cfg.DB != nil {
		if err := a.clock.Agree(ctx, st, a.log); err != nil {
			return err
		}
	}
	if a.ring, a.vault, err = instance.OpenSecrets(ctx, a.cfg, st, a.clock.Now); err != nil {
		return err
	}
	var shared limit.Pool
	if a.cfg.Redis != nil {
		if a.pool, err = cluster.NewLimitPool(a.cfg.Redis, a.log); err != nil {
			return err
		}
		a.onClose(func(context.Context) { _ = a.pool.Close() })
		shared = a.pool
	}
	a.limits, err = quota.Open(ctx, st, shared)
	return err
}

// openJournal opens the journal of calls in this replica's data directory, from
// which it is copied to the database.
func (a *App) openJournal(ctx context.Context) error {
	replica, err := instance.EnsureReplicaName(a.cfg.DataDir, newID)
	if err != nil {
		return err
	}
	a.replica = replica
	restored, err := instance.ReadRestoredNote(a.cfg.DataDir)
	if err != nil {
		return err
	}
	a.journal, err = audit.Open(ctx, audit.Options{
		Dir: filepath.Join(a.cfg.DataDir, instance.JournalDir), Replica: replica, Strict: a.cfg.Journal == "strict",
		Retention: time.Duration(a.cfg.AuditDays) * 24 * time.Hour, Shipper: instance.NewJournalStore(a.store), Logger: a.log, Now: a.clock.Now,
		RestoredFrom: restored,
	})
	if err != nil {
		return err
	}
	if restored != "" {
		if err := instance.RemoveRestoredNote(a.cfg.DataDir); err != nil {
			a.log.Warn("cannot remove the mark of a restored backup; the next start records the restore again", telemetry.ErrorAttr(err))
		}
	}
	a.changes = audit.NewChangeLog(audit.ChangeLogOptions{Store: a.store, Journal: a.journal, Replica: replica, Now: a.clock.Now, Log: a.log})
	a.onClose(func(ctx context.Context) {
		if err := a.journal.Close(ctx); err != nil {
			a.log.Error("cannot close the journal", telemetry.ErrorAttr(err))
		}
		a.announceJournal(ctx)
	})
	return nil
}

// openGuard makes the pipeline that every call passes.
func (a *App) openGuard(ctx context.Context) error {
	trace, err := a.tracing(ctx)
	if err != nil {
		return err
	}
	a.guard, err = guard.New(guard.Options{
		Catalog: a.catalog, Limiter: limit.NewCallLimiter(limit.Rate{PerSecond: a.cfg.RateLimit, Burst: a.cfg.RateBurst}, a.limits.Enforcer()), Journal: a.record(), Recorder: a.recorder(), Sealer: a.ring, States: states{a.store}, Tasks: tasks{a.store}, Policy: confirmedPolicy{a.judge, a.policies},
		Meter: telemetry.NewCallMeter(a.metrics), Logger: a.log, Now: a.clock.Now, NewID: newID, Limits: guard.CallLimits{Idle: a.cfg.CallTimeout, Total: a.cfg.CallTimeoutMax}, InputTimeout: parkFor, Replica: a.replicas.Self(), Trace: trace,
	})
	if err != nil {
		return err
	}
	a.onClose(func(context.Context) { a.guard.Close() })
	return nil
}

// traced reports whether calls carry trace contexts.
func (a *App) traced() bool { return a.cfg.OTelEndpoint != "" }

// tracing returns the function that starts a span for each call; nil if no
// collector is set.
func (a *App) tracing(ctx context.Context) (func(context.Context, *guard.Op) (context.Context, func(error)), error) {
	if !a.traced() {
		return nil, nil
	}
	endpoint, err := url.Parse(a.cfg.OTelEndpoint)
	if err != nil {
		return nil, err
	}
	client, err := egress.Remote(endpoint) // the operator set the address
	if err != nil {
		return nil, err
	}
	shutdown, tracer, err := telemetry.StartTracing(ctx, telemetry.TracingOptions{
		Endpoint: a.cfg.OTelEndpoint, Client: client, Logger: a.log, Version: a.version,
	})
	if err != nil {
		return nil, err
	}
	a.onClose(func(ctx context.Context) { _ = shutdown(ctx) })
	return guard.TraceCalls(tracer), nil
}

// openIdentity loads keys, users and logins, and sets the admin key that the
// environment names. MakeAdminKey makes one where it names none.
func (a *App) openIdentity(ctx context.Context) (err error) {
	c := identity.Config{Store: a.store, Logger: a.log, Open: a.cfg.Open, OnUsersChanged: a.usersChanged(), OnSignedIn: a.noteSignIn, Now: a.clock.Now}
	if a.cfg.DB != nil {
		c.OnUnknownToken = cluster.NewMissLookup(a.reloadIdentities).LookUp
	}
	a.identity, err = identity.New(ctx, c)
	if err != nil {
		return err
	}
	if key := a.cfg.AdminKey(); key != "" {
		return a.recordAdminKey(ctx, func(ctx context.Context) error { return a.identity.SetAdminKey(ctx, key) })
	}
	return nil
}

// usersChanged returns the function that receives all users after a change of them.
func (a *App) usersChanged() func([]junctor.User) {
	sources := catalog.NewUserSources(a.catalog)
	return func(users []junctor.User) {
		sources.SetUsers(users)
		a.limits.SetUsers(users)
		a.policies.SetUsers(users)
	}
}

// openGateway makes the MCP endpoints, with the stores that let any replica
// continue a session.
func (a *App) openGateway() (err error) {
	var others gateway.Replicas
	if a.replicas != nil {
		others = a.replicas
	}
	var kept gateway.ReplayStore
	if a.streams != nil {
		kept = a.streams
	}
	var carry func(from, ctx context.Context) context.Context
	if a.traced() {
		carry = telemetry.CopyTrace
	}
	a.gateway, err = gateway.New(gateway.Options{
		Replicas: others, ReplayStore: kept,
		Pipeline: a.pipeline(), Catalog: a.catalog, Authenticate: a.authenticateEndpoint, Challenger: a.challenger(), Sealer: a.ring, Sessions: sessions{a.store}, ClientAddress: gateway.TrustedProxies(a.cfg.TrustedProxy).Client,
		ServerInfo: gateway.ServerInfo{Name: "junctor", Title: "Junctor", Version: a.version},
		EntryPoints: gateway.EntryPoints{
			MCP: a.cfg.IsEndpointOn("mcp"), SSE: a.cfg.IsEndpointOn("sse"), Plain: a.cfg.IsEndpointOn("plain"), Bridge: a.cfg.IsEndpointOn("call"), Stdio: a.cfg.IsEndpointOn("stdio"),
		},
		Bridge: a.servers.Bridge, OnSessionEnded: a.servers.EndSession, OnRootsChanged: a.servers.RootsChanged, Logger: a.log, Now: a.clock.Now, NewID: newID, MaxBody: a.cfg.MaxBody, ByteBudget: a.bytes, PollAfter: a.opts.pollAfter, CopyContextValues: carry,
	})
	if err != nil {
		return err
	}
	a.onClose(func(context.Context) { a.gateway.Close() })
	return nil
}

func (a *App) onClose(f func(context.Context)) { a.closers = append(a.closers, f) }

// closeFor bounds how long the parts may take to end.
const closeFor = 5 * time.Second

// Close ends everything that New opened, last to first. It is safe to call
// twice.
func (a *App) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeFor)
	defer cancel()
	for len(a.closers) > 0 {
		last := a.closers[len(a.closers)-1]
		a.closers = a.closers[:len(a.closers)-1]
		last(ctx)
	}
	return nil
}

// MakeAdminKey makes the admin key of an instance that never had one. made is
// then true. Only the hash of the key is stored, so the caller must show token
// at once. Nothing that can fail may come between: an instance that cannot
// start must not use up its only key.
func (a *App) MakeAdminKey(ctx context.Context) (token string, made bool, err error) {
	if a.cfg.AdminKey() != "" {
		return "", false, nil
	}
	err = a.recordAdminKey(ctx, func(ctx context.Context) (err error) {
		token, made, err = a.identity.EnsureAdminKey(ctx)
		return err
	})
	return token, made, err
}

// newID returns an id that sorts by time. It uses nanoseconds, so that records
// within one millisecond keep their order, followed by random bytes.
func newID() string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(time.Now().UnixNano()))
	_, _ = rand.Read(b[8:]) // rand.Read never fails
	return hex.EncodeToString(b[:])
}
