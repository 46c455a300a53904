package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/a2a"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/apps"
	"github.com/junctor-mcp/junctor/internal/audit"
	"github.com/junctor-mcp/junctor/internal/authority"
	"github.com/junctor-mcp/junctor/internal/bearer"
	"github.com/junctor-mcp/junctor/internal/builtin"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/console"
	"github.com/junctor-mcp/junctor/internal/declare"
	"github.com/junctor-mcp/junctor/internal/egress"
	"github.com/junctor-mcp/junctor/internal/gateway"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/history"
	"github.com/junctor-mcp/junctor/internal/identity"
	"github.com/junctor-mcp/junctor/internal/intake"
	"github.com/junctor-mcp/junctor/internal/limit"
	"github.com/junctor-mcp/junctor/internal/queue"
	"github.com/junctor-mcp/junctor/internal/room"
	"github.com/junctor-mcp/junctor/internal/seal"
	"github.com/junctor-mcp/junctor/internal/servers"
	"github.com/junctor-mcp/junctor/internal/signin"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/store/postgres"
	"github.com/junctor-mcp/junctor/internal/store/sqlite"
	"github.com/junctor-mcp/junctor/internal/telemetry"
	"github.com/junctor-mcp/junctor/internal/worker"
)

const (
	parkFor = 10 * time.Minute // a call may wait for its client's input
	chore   = time.Minute      // between housekeeping rounds
)

// App is one instance: everything behind the doors, and the doors.
type App struct {
	cfg     *config.Config
	version string
	log     *slog.Logger
	opts    options

	store      *store.Store
	ring       *seal.Ring
	vault      *seal.Vault
	identity   *identity.Identity
	catalog    *catalog.Catalog
	guard      *guard.Guard
	gateway    *gateway.Gateway
	metrics    *telemetry.Metrics
	egress     *egress.Egress
	bytes      *limit.ByteBudget // of requests and results in flight
	anonymous  *limit.ByteBudget // the part of bytes that callers without a credential may take
	journal    *audit.Journal
	history    *history.History
	servers    *servers.Registry
	rights     *rights
	elsewhere  *elsewhere
	models     *models
	components *componentCatalogs
	signIn     *signin.SignIn
	authority  *authority.Authority
	tokens     *bearer.Bearer // nil where no tokens are taken
	limits     *quotas
	newAdmin   func(admin.Options) (*admin.Handler, error) // a test lets it fail
	pool       *pool                                       // nil where limits are not shared
	replay     *replay                                     // nil where streams are gone with this process
	file       *declare.File
	tails      tails
	console    *console.Console
	chains     *chains
	node       string // this one's name
	clock      *clock
	peers      *peers // nil where this process is alone
	turns      turns
	queue      *queue.Queue
	worker     *worker.Worker
	endpoints  *endpoints
	apps       *apps.Host
	intake     *intake.Intake
	rooms      *room.Rooms
	a2a        *a2a.Server
	cert       *certificate // nil where TLS is not ours to speak

	adminKey string
	closers  []func(context.Context) // run last to first

	listening atomic.Pointer[listeners]
	draining  atomic.Bool // told to end
}

// Option changes how an App is made.
type Option func(*options)

type options struct {
	logTo      io.Writer
	now        func() time.Time
	servers    []*builtin.Server
	pollAfter  time.Duration
	unrecorded bool
	ungated    bool
	statements func(context.Context)
	undeclared bool
	bare       bool
	dashboard  bool
}

// AsItIs leaves what the settings file declares alone: the instance is looked
// at, not run.
func AsItIs() Option { return func(o *options) { o.undeclared = true } }

// WithLog sends the log somewhere else than standard error.
func WithLog(w io.Writer) Option { return func(o *options) { o.logTo = w } }

// WithClock has the machine's clock show another time.
func WithClock(now func() time.Time) Option { return func(o *options) { o.now = now } }

// WithServer attaches one more built-in server.
func WithServer(s *builtin.Server) Option {
	return func(o *options) { o.servers = append(o.servers, s) }
}

// WithPollAfter sets how long a legacy stream stays open before its client has
// to resume it.
func WithPollAfter(d time.Duration) Option { return func(o *options) { o.pollAfter = d } }

// WithStatements tells f of each statement that the store runs, with the context
// it runs for.
func WithStatements(f func(context.Context)) Option { return func(o *options) { o.statements = f } }

// New opens the store and joins all parts. Close gives everything back.
func New(ctx context.Context, cfg *config.Config, version string, opts ...Option) (*App, error) {
	a := &App{cfg: cfg, version: version, newAdmin: admin.New, opts: options{logTo: os.Stderr, now: time.Now}}
	for _, o := range opts {
		o(&a.opts)
	}
	a.clock = &clock{local: a.opts.now}
	if err := a.open(ctx); err != nil {
		_ = a.Close() //nolint:contextcheck // what was opened is closed whatever became of ctx
		return nil, err
	}
	return a, nil
}

func (a *App) open(ctx context.Context) (err error) {
	if a.log, err = telemetry.NewLogger(a.opts.logTo, a.cfg.LogLevel, a.cfg.LogFormat); err != nil {
		return err
	}
	if err := os.MkdirAll(a.cfg.DataDir, 0o700); err != nil {
		return junctor.Errorf(junctor.CodeUnavailable, "the data directory %s cannot be made; choose another with --data-dir: %w", a.cfg.DataDir, err)
	}
	if err := a.openStore(ctx); err != nil {
		return err
	}
	a.metrics = telemetry.NewMetrics(telemetry.MetricsOptions{Version: a.version, GoVersion: runtime.Version()})
	a.bytes, a.anonymous = a.newByteBudget(), a.newAnonymousBudget()
	if a.egress, err = egress.New(egress.Options{Allow: a.cfg.EgressAllow, Proxy: a.cfg.EgressProxy, Logger: a.log, NoFastPath: !a.cfg.HTTPFastPath}); err != nil {
		return err
	}
	if err := a.openJournal(ctx); err != nil {
		return err
	}
	if a.cfg.DB != nil {
		if a.peers, err = newPeers(a); err != nil {
			return err
		}
		a.onClose(func(context.Context) { a.peers.close() })
		if err := a.openReplay(); err != nil {
			return err
		}
	}
	a.turns = turns{schedules: a.newTurn("schedules"), documents: a.newTurn("documents"), retention: a.newTurn("retention"), chains: a.newTurn("chains")}
	a.catalog = catalog.New(catalog.Options{NameLimit: a.cfg.NameLimit, Exposure: junctor.Exposure(a.cfg.Exposure), Logger: a.log})
	a.onClose(func(context.Context) { a.catalog.Close() })
	a.elsewhere = newElsewhere(a)
	a.rights = &rights{store: a.store, catalog: a.catalog, limits: a.limits, tools: a.elsewhere}
	if err := a.rights.load(ctx); err != nil {
		return err
	}
	if err := a.openHistory(ctx); err != nil {
		return err
	}
	if err := a.openGuard(ctx); err != nil {
		return err
	}
	if err := a.openIdentity(ctx); err != nil {
		return err
	}
	a.components = newComponentCatalogs(a)
	a.models = &models{app: a}
	a.onClose(func(context.Context) { a.models.close() })
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
	if err := a.openDeliveries(ctx); err != nil {
		return err
	}
	if err := errors.Join(a.openEvents(), a.openRooms(), a.openA2A()); err != nil {
		return err
	}
	if err := errors.Join(a.gauges(), a.queueGauges()); err != nil { //nolint:contextcheck // they are read later
		return err
	}
	return a.attachServers(ctx)
}

func (a *App) openStore(ctx context.Context) error {
	st, err := a.database(ctx)
	if err != nil {
		return err
	}
	a.store = st
	st.Observe(a.opts.statements)
	a.onClose(func(context.Context) {
		if err := st.Close(); err != nil { //nolint:contextcheck // it takes none
			a.log.Error("the database could not be closed", telemetry.Err(err))
		}
	})
	if a.cfg.DB != nil {
		if err := a.agree(ctx); err != nil {
			return err
		}
	}
	keys, err := a.keyring(ctx)
	if err != nil {
		return err
	}
	if a.ring, err = seal.OpenRing(ctx, ringStore{st}, keys, seal.RingOptions{Now: a.clock.Now}); err != nil {
		return err
	}
	if a.vault, err = seal.NewVault(keys, secretStore{st}, ringStore{st}); err != nil {
		return err
	}
	var shared limit.Pool
	if a.cfg.Redis != nil {
		if a.pool, err = a.openPool(); err != nil {
			return err
		}
		shared = a.pool
	}
	a.limits, err = openLimits(ctx, st, shared)
	return err
}

// database opens the one that the settings name.
func (a *App) database(ctx context.Context) (*store.Store, error) {
	if a.cfg.DB != nil {
		return postgres.Open(ctx, a.cfg.DB.String())
	}
	return sqlite.Open(ctx, filepath.Join(a.cfg.DataDir, "junctor.db"))
}

// keyring opens the sealing keys: those in the environment, or where that says
// that they are (a file that another program keeps, or what a command prints, such
// as that of a key management service), or those of our own file.
func (a *App) keyring(ctx context.Context) (*seal.Keyring, error) {
	if text := a.cfg.SealKey(); text != "" {
		if junctor.IsReference("", text) {
			keys, err := a.readSetting(ctx, text)
			if err != nil {
				return nil, junctor.Errorf(junctor.CodeOf(err), "JUNCTOR_SEAL_KEY: %w", err)
			}
			text = keys.Reveal()
		}
		return seal.KeyringFromEnv(text)
	}
	return seal.OpenKeyring(a.sealKeyPath())
}

// sealKeyPath is where the file of the sealing keys is.
func (a *App) sealKeyPath() string {
	return cmp.Or(a.cfg.SealKeyFile, filepath.Join(a.cfg.DataDir, "seal.key"))
}

// openJournal opens the record of calls, which lies in the data directory of
// this node and is copied to the database.
func (a *App) openJournal(ctx context.Context) error {
	node, err := nodeID(filepath.Join(a.cfg.DataDir, nodeFile))
	if err != nil {
		return err
	}
	a.node = node
	restored, err := readRestored(a.cfg.DataDir)
	if err != nil {
		return err
	}
	a.journal, err = audit.Open(ctx, audit.Options{
		Dir: filepath.Join(a.cfg.DataDir, JournalDir), Node: node, Strict: a.cfg.Journal == "strict",
		Keep: time.Duration(a.cfg.AuditDays) * 24 * time.Hour, Ship: &shipper{store: a.store}, Logger: a.log, Now: a.clock.Now,
		Restored: restored,
	})
	if err != nil {
		return err
	}
	if restored != "" {
		if err := os.Remove(filepath.Join(a.cfg.DataDir, restoredFile)); err != nil {
			a.log.Warn("the note that this instance was restored could not be removed; the next start records it again", telemetry.Err(err))
		}
	}
	a.onClose(func(ctx context.Context) {
		if err := a.journal.Close(ctx); err != nil {
			a.log.Error("the journal could not be closed", telemetry.Err(err))
		}
		a.stateJournal(ctx)
	})
	return nil
}

// JournalDir is the folder of the journal, in the data directory.
const JournalDir = "journal"

// nodeFile holds the name of this node, in the data directory.
const nodeFile = "node"

// nodeID names this node for good: its chain of records goes on under the name.
func nodeID(path string) (string, error) {
	id, err := readNode(path)
	if err != nil || id != "" {
		return id, err
	}
	id = newID()
	if err := os.WriteFile(path, []byte(id+"\n"), 0o600); err != nil {
		return "", junctor.Errorf(junctor.CodeUnavailable, "the data directory cannot be written to; choose another with --data-dir: %w", err)
	}
	return id, nil
}

func (a *App) openGuard(ctx context.Context) error {
	trace, err := a.tracing(ctx)
	if err != nil {
		return err
	}
	a.guard, err = guard.New(guard.Options{
		Catalog: a.catalog, Limiter: newLimiter(a.cfg, a.limits.book), Journal: a.record(), Recorder: a.recorder(), Sealer: sealer{a.ring}, States: states{a.store}, Tasks: tasks{a.store},
		Meter: newMeter(a.metrics), Logger: a.log, Now: a.clock.Now, NewID: newID, Timeout: a.cfg.CallTimeout, Park: parkFor, Node: a.peers.Self(), Trace: trace,
	})
	if err != nil {
		return err
	}
	a.onClose(func(context.Context) { a.guard.Close() })
	return nil
}

// traced says whether calls are traced.
func (a *App) traced() bool { return a.cfg.OTelEndpoint != "" }

// tracing gives what starts a span for each call; nil when no collector is set.
func (a *App) tracing(ctx context.Context) (func(context.Context, *guard.Op) (context.Context, func(error)), error) {
	if !a.traced() {
		return nil, nil
	}
	endpoint, err := url.Parse(a.cfg.OTelEndpoint)
	if err != nil {
		return nil, err
	}
	client, err := egress.Remote(endpoint) // the operator named it
	if err != nil {
		return nil, err
	}
	shutdown, tracer, err := telemetry.Tracing(ctx, telemetry.TracingOptions{
		Endpoint: a.cfg.OTelEndpoint, Client: client, Logger: a.log, Version: a.version,
	})
	if err != nil {
		return nil, err
	}
	a.onClose(func(ctx context.Context) { _ = shutdown(ctx) })
	return traceCalls(tracer), nil
}

func (a *App) openIdentity(ctx context.Context) (err error) {
	c := identity.Config{Store: a.store, Logger: a.log, Open: a.cfg.Open, Changed: a.usersChanged(), Now: a.clock.Now}
	if a.cfg.DB != nil {
		c.Missed = newLate(a.people).missed
	}
	a.identity, err = identity.New(ctx, c)
	if err != nil {
		return err
	}
	if key := a.cfg.AdminKey(); key != "" {
		return a.identity.SetAdminKey(ctx, key)
	}
	token, made, err := a.identity.EnsureAdmin(ctx)
	if made {
		a.adminKey = token
	}
	return err
}

func (a *App) openGateway() (err error) {
	var others gateway.Peers
	if a.peers != nil {
		others = a.peers
	}
	var kept gateway.Replay
	if a.replay != nil {
		kept = a.replay
	}
	var carry func(from, ctx context.Context) context.Context
	if a.traced() {
		carry = telemetry.Carry
	}
	a.gateway, err = gateway.New(gateway.Options{
		Peers: others, Replay: kept,
		Pipeline: a.pipeline(), Catalog: a.catalog, Authenticate: a.authenticateDoor, Challenger: a.challenger(), Sealer: sealer{a.ring}, Sessions: sessions{a.store},
		Info: gateway.Info{Name: "junctor", Title: "Junctor", Version: a.version},
		Doors: gateway.Doors{
			MCP: a.cfg.DoorOn("mcp"), SSE: a.cfg.DoorOn("sse"), Plain: a.cfg.DoorOn("plain"), Call: a.cfg.DoorOn("call"), Stdio: a.cfg.DoorOn("stdio"),
		},
		Bridge: a.servers.Bridge, Ended: a.servers.EndSession, RootsChanged: a.servers.RootsChanged, Logger: a.log, Now: a.clock.Now, NewID: newID, MaxBody: a.cfg.MaxBody, Bytes: a.bytes, PollAfter: a.opts.pollAfter, Carry: carry,
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

// Close ends everything that New opened. It is safe to call twice.
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

// AdminKey is the admin key that was made at the first start: it is known only
// to the process that made it.
func (a *App) AdminKey() (token string, made bool) { return a.adminKey, a.adminKey != "" }

// readNode gives the name of this node; "" when it has none yet.
func readNode(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", junctor.Errorf(junctor.CodeUnavailable, "the file %s cannot be read: %w", path, err)
	}
	return strings.TrimSpace(string(b)), nil
}

// newID makes an id that sorts by time: nanoseconds, so that what follows another
// within a millisecond is listed after it too, then chance.
func newID() string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(time.Now().UnixNano()))
	_, _ = rand.Read(b[8:]) // never fails
	return hex.EncodeToString(b[:])
}

// isID says whether newID could have given a text.
func isID(text string) bool {
	b, err := hex.DecodeString(text)
	return err == nil && len(b) == 16
}
