package app

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/egress"
	"github.com/junctor-mcp/junctor/internal/gateway"
	"github.com/junctor-mcp/junctor/internal/httpfast"
	"github.com/junctor-mcp/junctor/internal/proc"
	"github.com/junctor-mcp/junctor/internal/telemetry"
)

// SocketName is the unix socket in the data directory through which the command
// line reaches a running instance. Everybody who may open the file acts as the
// operator.
const SocketName = "junctor.sock"

// localKey marks the context of a request from the socket.
type localKey struct{}

// listeners are the public address, the operator's socket, and the address for
// pages of Apps, which may be nil.
type listeners struct{ public, local, sandbox net.Listener }

// Addr returns the address that the instance listens on; "" before Listen.
func (a *App) Addr() string {
	if l := a.listening.Load(); l != nil {
		return l.public.Addr().String()
	}
	return ""
}

// URL returns where clients reach the instance.
func (a *App) URL() string {
	if a.cfg.PublicURL != nil {
		return a.cfg.PublicURL.String()
	}
	scheme := "http://"
	if a.cfg.TLSCert != "" {
		scheme = "https://"
	}
	return scheme + a.Addr()
}

// ConsoleURL returns where browsers reach the instance. On loopback it has a
// host name of its own, so that its cookies are separate from those of other
// programs on this machine.
func (a *App) ConsoleURL() string {
	addr, err := netip.ParseAddrPort(a.Addr())
	if a.cfg.PublicURL != nil || err != nil || !addr.Addr().IsLoopback() {
		return a.URL()
	}
	u := url.URL{Scheme: "http", Host: "console.junctor.localhost:" + strconv.Itoa(int(addr.Port()))}
	if a.cfg.TLSCert != "" {
		u.Scheme = "https"
	}
	return u.String()
}

// Listen opens the address and the socket, so that a failure is known before
// Run, and early requests wait instead of failing.
func (a *App) Listen(ctx context.Context) error {
	if a.cfg.TLSCert != "" {
		cert, err := gateway.OpenCertificate(a.cfg.TLSCert, a.cfg.TLSKey, a.log)
		if err != nil {
			return err
		}
		a.cert = cert
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", a.cfg.Listen)
	if err != nil {
		return junctor.Errorf(junctor.CodeUnavailable, "cannot listen on %s, perhaps because another instance uses it, or listens on the port before it and uses this one for App pages; choose another address with --listen: %w", a.cfg.Listen, err)
	}
	sock, err := a.listenSocket(ctx)
	if err != nil {
		_ = l.Close()
		return err
	}
	pages, err := a.listenSandbox(ctx, l.Addr())
	if err != nil {
		return errors.Join(err, l.Close(), sock.Close())
	}
	a.listening.Store(&listeners{public: l, local: sock, sandbox: pages})
	return nil
}

// collectAt is GOGC of a serving process. Its live heap is small beside the
// program itself, so the usual 100 would save a few megabytes at the cost of
// processor time of a busy instance.
const collectAt = 125

// Run serves until ctx ends and then drains. It calls Listen if that has not
// been done.
func (a *App) Run(ctx context.Context) error {
	if os.Getenv("GOGC") == "" { // a value from the operator takes precedence
		debug.SetGCPercent(collectAt)
	}
	limitMemory()
	if a.Addr() == "" {
		if err := a.Listen(ctx); err != nil {
			return err
		}
	}
	l := a.listening.Load()
	mux, err := a.mux()
	if err != nil {
		return errors.Join(err, closeAll(l.public, l.local, l.sandbox))
	}
	handler, err := a.publicHandler(mux)
	if err != nil {
		return errors.Join(err, closeAll(l.public, l.local, l.sandbox))
	}
	public, channels := a.publicServer(handler), newServer(handler)
	local, pages := a.localServer(mux), a.sandboxServer()
	a.rooms.RecoverRuns(ctx)
	a.a2a.RecoverTasks(ctx)
	a.replicas.Begin(ctx, a.replicaURL())
	failed := make(chan error, 4)
	go func() { failed <- public.Serve(l.public) }()
	go func() { failed <- local.Serve(l.local) }()
	if a.replicas != nil {
		go func() { failed <- a.replicas.ServeChannels(channels) }()
	}
	if l.sandbox != nil {
		go func() { failed <- pages.Serve(l.sandbox) }()
	}
	// During shutdown it serves until drained, but starts no new deliveries:
	// other replicas take them.
	chores, stopChores := context.WithCancel(context.WithoutCancel(ctx))
	defer stopChores()
	work, stopWork := context.WithCancel(chores)
	defer stopWork()
	defer context.AfterFunc(ctx, stopWork)()
	go a.chores(chores)
	go a.apps.Run(chores)
	delivering := make(chan struct{})
	go func() {
		defer close(delivering)
		a.deliver(chores, work)
	}()
	taking := make(chan struct{})
	go func() {
		defer close(taking)
		a.events.Intake.Run(chores)
	}()
	talking := make(chan struct{})
	go func() {
		defer close(talking)
		a.rooms.Run(chores)
	}()
	looking := make(chan struct{})
	go func() {
		defer close(looking)
		a.attention.Run(chores)
	}()
	confirming := make(chan struct{})
	go func() {
		defer close(confirming)
		a.policies.Follow(chores)
	}()
	meeting := make(chan struct{})
	go func() {
		defer close(meeting)
		a.replicas.Run(chores)
	}()
	turning := make(chan struct{})
	go func() {
		defer close(turning)
		a.leases.run(chores)
	}()
	// Record what streams send at their end, too.
	streams, stopKeeping := context.WithCancel(context.WithoutCancel(ctx))
	defer stopKeeping()
	keeping := make(chan struct{})
	go func() {
		defer close(keeping)
		a.streams.Run(streams)
	}()
	serving := make(chan struct{})
	go func() {
		defer close(serving)
		a.a2a.Run(chores)
	}()
	defer func() {
		stopChores()
		<-delivering
		<-taking
		<-talking
		<-looking
		<-serving
		<-confirming
		<-meeting
		<-turning
		stopKeeping()
		<-keeping
	}()
	if a.cfg.File() != "" {
		watching := make(chan struct{})
		go func() {
			defer close(watching)
			a.file.Watch(chores)
		}()
		defer func() {
			stopChores()
			<-watching
		}()
	}

	select {
	case err = <-failed:
	case <-ctx.Done():
		err = a.drain(failed)
	}
	stopChores()
	// Streams would keep the servers open: end them first.
	a.gateway.Close()
	a.rooms.Close()
	a.a2a.Close()
	return errors.Join(notClosed(err), a.stop(context.WithoutCancel(ctx), public), a.stop(context.WithoutCancel(ctx), channels), a.stop(context.WithoutCancel(ctx), local), a.stop(context.WithoutCancel(ctx), pages), a.flush(context.WithoutCancel(ctx)))
}

// server serves a listener: an http.Server, or a wrapper around one.
type server interface {
	Serve(l net.Listener) error
	Shutdown(ctx context.Context) error
	Close() error
}

// tlsServer serves with the certificate of its TLSConfig.
type tlsServer struct{ *http.Server }

func (s tlsServer) Serve(l net.Listener) error { return httpfast.ServeTLS(s.Server, l) }

// framedServer serves with net/http alone (--http-fast-path off). It refuses
// requests with an ambiguous length before net/http reads them.
type framedServer struct{ *http.Server }

func (s framedServer) Serve(l net.Listener) error {
	return s.Server.Serve(httpfast.NewFramingListener(l, s.MaxHeaderBytes))
}

// stop waits for the requests of a server, within a bound. Connections without
// a request are closed.
func (a *App) stop(ctx context.Context, s server) error {
	ctx, cancel := context.WithTimeout(ctx, closeFor)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		a.log.Warn("shutdown timed out: requests that still ran were closed", telemetry.ErrorAttr(err))
		return s.Close()
	}
	return nil
}

func (a *App) flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, closeFor)
	defer cancel()
	return errors.Join(a.identity.FlushUsage(ctx), a.limits.Flush(ctx))
}

func notClosed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

func newServer(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10}
}

// publicHandler wraps the handler of all requests from clients and other
// replicas.
func (a *App) publicHandler(h http.Handler) (http.Handler, error) {
	front, err := gateway.NewEdgeMiddleware(gateway.EdgeOptions{
		Addr: a.Addr(), PublicURL: a.cfg.PublicURL, Hosts: a.allowedHosts(), Origins: a.cfg.AllowedOrigins, Proxies: a.cfg.TrustedProxy, Log: a.log,
	})
	if err != nil {
		return nil, err
	}
	if a.traced() {
		h = telemetry.TraceFromHeaders(h)
	}
	return front.Wrap(a.leaving(a.replicas.AcceptForwarded(a.bodyBudget().Wrap(h)))), nil
}

// publicServer returns the server of the public address.
func (a *App) publicServer(h http.Handler) server {
	s := newServer(h)
	if a.cert != nil {
		s.TLSConfig = a.cert.TLSConfig()
		return tlsServer{s}
	}
	if !a.cfg.HTTPFastPath {
		return framedServer{s}
	}
	return httpfast.NewServer(s, httpfast.ServerEvents{
		OnAcceptError: func(err error) {
			a.log.Warn("cannot accept a connection; retrying", telemetry.ErrorAttr(err))
		},
		OnHandlerPanic: func(value any) { a.log.Error("HTTP handler panicked", telemetry.PanicAttr(value)) },
	})
}

// localServer returns the server of the operator's socket.
func (a *App) localServer(h http.Handler) server {
	s := newServer(a.bodyBudget().Wrap(h))
	s.ConnContext = func(ctx context.Context, _ net.Conn) context.Context { return context.WithValue(ctx, localKey{}, true) }
	return framedServer{s}
}

// listenSocket opens the operator's socket. It replaces the socket of a process
// that has died.
func (a *App) listenSocket(ctx context.Context) (net.Listener, error) {
	path := filepath.Join(a.cfg.DataDir, SocketName)
	if c, err := egress.DialUnix(ctx, path); err == nil {
		_ = c.Close()
		return nil, junctor.Errorf(junctor.CodeConflict, "another instance uses the data directory %s; stop it, or choose another directory with --data-dir", a.cfg.DataDir)
	}
	_ = os.Remove(path)
	l, err := egress.ListenUnix(ctx, path)
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeUnavailable, "cannot create the socket %s; choose another directory with --data-dir: %w", path, err)
	}
	return l, nil
}

// chores runs the periodic housekeeping.
func (a *App) chores(ctx context.Context) {
	if _, err := a.vault.Resume(ctx); err != nil && ctx.Err() == nil { // finish an interrupted rotation
		a.log.Warn("key rotation is unfinished: run junctor secret rotate to complete it", telemetry.ErrorAttr(err))
	}
	settingsRecorded := false
	recordSettings := func() (err error) {
		if !settingsRecorded {
			err = a.recordSettings(ctx)
			settingsRecorded = err == nil
		}
		return err
	}
	if err := errors.Join(a.changes.RecordPending(ctx), recordSettings()); err != nil && ctx.Err() == nil {
		a.log.Warn("cannot record the changes of the last run; retrying in a minute", telemetry.ErrorAttr(err))
	}
	tick := time.NewTicker(chore)
	defer tick.Stop()
	for {
		a.announceJournal(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := errors.Join(a.identity.FlushUsage(ctx), a.identity.Reload(ctx), a.agents.Load(ctx), a.ring.Rotate(ctx), a.limits.Flush(ctx), a.recheckTokens(ctx), a.dropStartLink(ctx), a.changes.RecordPending(ctx), recordSettings()); err != nil && ctx.Err() == nil {
			a.log.Warn("housekeeping failed; retrying in a minute", telemetry.ErrorAttr(err))
		}
		a.apps.DropDeadViews()
		if !a.leases.retention.Held() {
			continue
		}
		_, err := a.store.Sweep(ctx, a.clock.Now())
		if err = errors.Join(err, a.pruneHistory(ctx), a.pruneDeliveries(ctx)); err != nil && ctx.Err() == nil {
			a.log.Warn("cannot remove expired rows; retrying in a minute", telemetry.ErrorAttr(err))
		}
	}
}

// only restricts a handler to principals of the default tenant that pass may,
// because the handler shows data of all tenants.
func (a *App) only(may func(*junctor.Principal) bool, needs string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, err := a.authenticate(r)
		switch {
		case err != nil:
			w.Header().Set("WWW-Authenticate", `Bearer realm="junctor"`)
			http.Error(w, junctor.AsError(err).Message, http.StatusUnauthorized)
		case !may(p) || p.Tenant != junctor.DefaultTenant:
			http.Error(w, "this needs "+needs+" of the tenant "+string(junctor.DefaultTenant), http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// isLocal reports whether a request came through the operator's socket.
func isLocal(r *http.Request) bool { return r.Context().Value(localKey{}) != nil }

// hasKey reports whether a request has a header with a credential.
func hasKey(r *http.Request) bool {
	return r.Header.Get("Authorization") != "" || r.Header.Get("X-Api-Key") != ""
}

// authenticate returns the principal of a request: the operator on the socket, and the
// party of the credential everywhere else. It counts failures.
func (a *App) authenticate(r *http.Request) (*junctor.Principal, error) {
	p, err := a.identify(r)
	if err != nil {
		a.metrics.CountUnauthenticated()
	}
	return p, err
}

// identify is authenticate without the count.
func (a *App) identify(r *http.Request) (*junctor.Principal, error) {
	if isLocal(r) && !hasKey(r) {
		return a.identity.OperatorPrincipal(), nil
	}
	return a.identity.Authenticate(r)
}

// bodyBudget makes the handler that counts the bodies of requests.
func (a *App) bodyBudget() *gateway.BodyBudget {
	return &gateway.BodyBudget{
		Bytes: a.bytes, Anonymous: a.anonymous, Proxies: a.cfg.TrustedProxy, Authenticate: a.identify, Refuse: admin.Refuse,
		IsLocal: func(r *http.Request) bool { return isLocal(r) && !hasKey(r) },
	}
}

// limitMemory has the collector work harder before the memory there is runs out, unless
// the operator set a limit.
func limitMemory() {
	if capacity := proc.MemoryCapacity(); capacity > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(capacity / 4 * 3)
	}
}

// ready reports whether calls can be served: the store answers, and the journal
// accepts records, without which no call is made. An instance that is shutting
// down is not ready.
func (a *App) ready(w http.ResponseWriter, r *http.Request) {
	if a.draining.Load() {
		http.Error(w, "this instance is stopping", http.StatusServiceUnavailable)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
	defer cancel()
	if _, err := a.store.Tenants(ctx); err != nil {
		http.Error(w, "the database does not answer", http.StatusServiceUnavailable)
		return
	}
	if state := a.journal.State(); !state.OK {
		http.Error(w, "the journal cannot be written, so calls are refused: "+state.Error, http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte("ready\n"))
}

func (a *App) welcome(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("Junctor " + a.version + "\n\n" +
		"  MCP clients      " + a.URL() + "/mcp\n" +
		"  one server       " + a.URL() + "/mcp/s/{server}\n" +
		"  one agent        " + a.URL() + "/mcp/a/{agent}\n" +
		"  plain JSON-RPC   " + a.URL() + "/mcp/request\n" +
		"  tools as a list  " + a.URL() + "/mcp/tools\n" +
		"  one call         " + a.URL() + "/mcp/call\n" +
		"  admin API        " + a.URL() + "/api/v1/openapi.json\n" +
		"  console          " + a.ConsoleURL() + "\n\n" +
		"Every endpoint requires a key: Authorization: Bearer <key>\n"))
}
