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
	"github.com/junctor-mcp/junctor/internal/egress"
	"github.com/junctor-mcp/junctor/internal/gateway"
	"github.com/junctor-mcp/junctor/internal/httpfast"
	"github.com/junctor-mcp/junctor/internal/telemetry"
)

// SocketName is the unix socket in the data directory through which the command
// line reaches a running instance. Whoever may open it is the operator.
const SocketName = "junctor.sock"

// localKey marks the context of a request that came through the socket.
type localKey struct{}

// listeners are what an instance answers on: the public address, the operator's
// socket, and the address where the pages of Apps are shown, which may be nil.
type listeners struct{ public, local, sandbox net.Listener }

// Addr is the address that the instance listens on; "" before Listen.
func (a *App) Addr() string {
	if l := a.listening.Load(); l != nil {
		return l.public.Addr().String()
	}
	return ""
}

// URL is where clients reach the instance.
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

// ConsoleURL is where people reach the instance with a browser. On loopback it
// has a name of its own, so that its cookies are not those of whatever else
// listens on this machine.
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

// Listen takes the address and the socket, so that a failure is known before
// Run, and the first request is not lost.
func (a *App) Listen(ctx context.Context) error {
	if a.cfg.TLSCert != "" {
		cert, err := openCertificate(a.cfg.TLSCert, a.cfg.TLSKey, a.log)
		if err != nil {
			return err
		}
		a.cert = cert
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", a.cfg.Listen)
	if err != nil {
		return junctor.Errorf(junctor.CodeUnavailable, "%s cannot be listened on (is another instance running there?); choose another with --listen: %w", a.cfg.Listen, err)
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

// collectAt is how far the heap of a serving process grows, in percent of what
// lives, before it is collected. What lives is small beside the program itself,
// so the usual 100 saves a few megabytes for a part of the processor time of a
// busy instance.
const collectAt = 125

// Run serves until ctx ends, then lets what runs come to its end. It listens
// first where Listen was not called.
func (a *App) Run(ctx context.Context) error {
	if os.Getenv("GOGC") == "" { // the operator knows better
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
	public, channels := a.publicServer(handler), a.channelServer(handler)
	local, pages := a.localServer(mux), a.sandboxServer()
	a.rooms.Begin(ctx)
	a.a2a.Begin(ctx)
	a.peers.begin(ctx, a.peerURL())
	failed := make(chan error, 4)
	go func() { failed <- public.Serve(l.public) }()
	go func() { failed <- local.Serve(l.local) }()
	if a.peers != nil {
		go func() { failed <- channels.Serve(a.peers.arrived) }()
	}
	if l.sandbox != nil {
		go func() { failed <- pages.Serve(l.sandbox) }()
	}
	// Told to end, it goes on until it is drained; only deliveries are not begun
	// any more: others take them.
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
		a.intake.Run(chores)
	}()
	talking := make(chan struct{})
	go func() {
		defer close(talking)
		a.rooms.Run(chores)
	}()
	meeting := make(chan struct{})
	go func() {
		defer close(meeting)
		a.peers.run(chores)
	}()
	turning := make(chan struct{})
	go func() {
		defer close(turning)
		a.turns.run(chores)
	}()
	// What streams say at their end is kept, too.
	streams, stopKeeping := context.WithCancel(context.WithoutCancel(ctx))
	defer stopKeeping()
	keeping := make(chan struct{})
	go func() {
		defer close(keeping)
		a.replay.run(streams)
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
		<-serving
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

// server is what serves a listener: an http.Server, or what stands before one.
type server interface {
	Serve(l net.Listener) error
	Shutdown(ctx context.Context) error
	Close() error
}

// tlsServer serves with the certificate of its TLSConfig.
type tlsServer struct{ *http.Server }

func (s tlsServer) Serve(l net.Listener) error { return httpfast.ServeTLS(s.Server, l) }

// framedServer serves with net/http alone: requests with an ambiguous length are
// refused, and nothing else is read before it.
type framedServer struct{ *http.Server }

func (s framedServer) Serve(l net.Listener) error {
	return s.Server.Serve(httpfast.NewFramingListener(l, s.MaxHeaderBytes))
}

// stop lets a server's requests come to their end, for a while. Connections on
// which nothing was asked yet are cut.
func (a *App) stop(ctx context.Context, s server) error {
	ctx, cancel := context.WithTimeout(ctx, closeFor)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		a.log.Warn("some requests did not end in time and were cut off", telemetry.Err(err))
		return s.Close()
	}
	return nil
}

func (a *App) flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, closeFor)
	defer cancel()
	return errors.Join(a.identity.Flush(ctx), a.limits.flush(ctx))
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

// publicHandler is what every request passes that clients or other replicas send.
func (a *App) publicHandler(h http.Handler) (http.Handler, error) {
	front, err := gateway.NewFront(gateway.FrontOptions{
		Addr: a.Addr(), PublicURL: a.cfg.PublicURL, Hosts: a.hosts(), Origins: a.cfg.AllowedOrigins, Proxies: a.cfg.TrustedProxy, Log: a.log,
	})
	if err != nil {
		return nil, err
	}
	if a.traced() {
		h = telemetry.Received(h)
	}
	return front.Wrap(a.leaving(a.peers.arriving(a.countBodies(h)))), nil
}

// publicServer serves the address that clients reach.
func (a *App) publicServer(h http.Handler) server {
	s := newServer(h)
	if a.cert != nil {
		s.TLSConfig = a.cert.config()
		return tlsServer{s}
	}
	if !a.cfg.HTTPFastPath {
		return framedServer{s}
	}
	return httpfast.NewServer(s, httpfast.ServerEvents{
		OnAcceptError: func(err error) {
			a.log.Warn("a connection could not be taken; trying again", telemetry.Err(err))
		},
		OnHandlerPanic: func(value any) { a.log.Error("a handler panicked", telemetry.Panic(value)) },
	})
}

// localServer serves the operator's socket.
func (a *App) localServer(h http.Handler) server {
	s := newServer(a.countBodies(h))
	s.ConnContext = func(ctx context.Context, _ net.Conn) context.Context { return context.WithValue(ctx, localKey{}, true) }
	return framedServer{s}
}

// listenSocket takes the operator's socket. One that a dead process left behind
// is replaced.
func (a *App) listenSocket(ctx context.Context) (net.Listener, error) {
	path := filepath.Join(a.cfg.DataDir, SocketName)
	if c, err := egress.DialUnix(ctx, path); err == nil {
		_ = c.Close()
		return nil, junctor.Errorf(junctor.CodeConflict, "another instance runs on the data directory %s; stop it, or choose another with --data-dir", a.cfg.DataDir)
	}
	_ = os.Remove(path)
	l, err := egress.ListenUnix(ctx, path)
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeUnavailable, "the socket %s cannot be made; choose another --data-dir: %w", path, err)
	}
	return l, nil
}

// chores does what has to be done now and then.
func (a *App) chores(ctx context.Context) {
	if _, err := a.vault.Resume(ctx); err != nil && ctx.Err() == nil { // a rotation that was cut short
		a.log.Warn("a rotation of keys is unfinished; junctor secret rotate goes on with it", telemetry.Err(err))
	}
	tick := time.NewTicker(chore)
	defer tick.Stop()
	for {
		a.stateJournal(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := errors.Join(a.identity.Flush(ctx), a.identity.Reload(ctx), a.rights.load(ctx), a.ring.Rotate(ctx), a.limits.flush(ctx), a.recheckTokens(ctx)); err != nil && ctx.Err() == nil {
			a.log.Warn("housekeeping failed; it is tried again in a minute", telemetry.Err(err))
		}
		a.apps.Sweep()
		if !a.turns.retention.mine() {
			continue
		}
		_, err := a.store.Sweep(ctx, a.clock.Now())
		if err = errors.Join(err, a.pruneHistory(ctx), a.pruneDeliveries(ctx)); err != nil && ctx.Err() == nil {
			a.log.Warn("what has expired could not be removed; it is tried again in a minute", telemetry.Err(err))
		}
	}
}

// only lets a handler be used by principals of the default tenant that may: what
// it shows is of all tenants, and so for nobody who is of one.
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

// authenticate names the principal of a request: the operator on the socket,
// and whoever the credential says everywhere else.
func (a *App) authenticate(r *http.Request) (*junctor.Principal, error) {
	if r.Context().Value(localKey{}) != nil && r.Header.Get("Authorization") == "" && r.Header.Get("X-Api-Key") == "" {
		return a.identity.Local(), nil
	}
	p, err := a.identity.Authenticate(r)
	if err != nil {
		a.metrics.Unauthenticated()
	}
	return p, err
}

// ready says whether calls can be served: the store answers, and the journal
// takes records, without which no call is made. An instance that was told to end
// is not ready, whatever it still does.
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
		"Every door wants a key: Authorization: Bearer <key>\n"))
}
