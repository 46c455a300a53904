package servers

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admission"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/egress"
	"github.com/junctor-mcp/junctor/internal/gateway"
	"github.com/junctor-mcp/junctor/internal/proc"
	"github.com/junctor-mcp/junctor/internal/seal"
	"github.com/junctor-mcp/junctor/internal/upstream"
	"github.com/junctor-mcp/junctor/internal/upstreamauth"
)

// Clients are the HTTP clients under one set of address rules: Plain with time
// bounds, Stream without, for streams.
type Clients struct{ Plain, Stream *http.Client }

// longestCall is more than any call_timeout_max, so that no HTTP client ends a call.
const longestCall = 8 * 24 * time.Hour

func (s *Registry) newClients(allow ...netip.Prefix) Clients {
	return Clients{
		// The guard limits calls; this bound only ends abandoned requests.
		Plain:  s.o.Egress.Client(egress.ClientOptions{Timeout: longestCall, MaxBytes: s.o.MaxResult, Allow: allow}),
		Stream: s.o.Egress.Client(egress.ClientOptions{Timeout: -1, MaxBytes: -1, Allow: allow}),
	}
}

// PublicClients returns the clients for URLs that any caller may supply. They
// cannot reach loopback or private addresses.
func (s *Registry) PublicClients() Clients { return s.public }

// LocalClients returns the clients that can also reach this machine.
func (s *Registry) LocalClients() Clients { return s.local }

func (c Clients) close() {
	c.Plain.CloseIdleConnections()
	c.Stream.CloseIdleConnections()
}

// clientsFor returns the clients for a connection. A server that the operator
// put on this machine can be reached only while the instance listens on
// loopback.
func (s *Registry) clientsFor(row *junctor.Server) Clients {
	if s.isLocal(row) {
		return s.local
	}
	return s.public
}

// newClientsFor returns new clients under the same rules, with connections of
// their own.
func (s *Registry) newClientsFor(row *junctor.Server) Clients {
	if s.isLocal(row) {
		return s.newClients(egress.LoopbackPrefixes()...)
	}
	return s.newClients()
}

func (s *Registry) isLocal(row *junctor.Server) bool {
	return row.Trusted && s.o.Loopback && egress.NamesLoopback(row.URL)
}

// serverRoute leads to a server: an upstream, or the replica that runs it
// (remoteBackend).
type serverRoute interface {
	upstreamauth.Backend
	Watch(notify func(catalog.Event))
	Connect(ctx context.Context) (upstream.Report, error)
	Probe(ctx context.Context) (upstream.Report, error)
	State() upstream.State
	HoldsCall(state string) bool
	EndSession(client string)
	EndUser(user string)
	MarkRootsChanged(p *junctor.Principal, client string)
	Close()
}

// authenticatedRoute is a route to a server with credentials, and the command
// if it runs here.
type authenticatedRoute struct {
	serverRoute
	command *upstream.Command // nil for a URL, and for a command on another replica
	with    *upstreamauth.ServerAuth
}

// Close ends the upstream and the connections of its users.
func (r authenticatedRoute) Close() {
	r.serverRoute.Close()
	r.with.Close()
}

// lastErrorLines returns the last lines that the command wrote to standard error.
func (r authenticatedRoute) lastErrorLines() []string {
	if r.command == nil {
		return nil
	}
	lines := strings.Split(strings.TrimRight(r.with.Scrub(r.command.Output()), "\n"), "\n")
	if len(lines) == 1 && lines[0] == "" {
		return nil
	}
	return lines[max(0, len(lines)-maxErrorLines):]
}

// maxErrorLines bounds the shown lines of standard error.
const maxErrorLines = 50

// newRoute makes the upstream of a row. literals supplies its credentials; known
// is its stored offer, or nil if the server must answer first.
func (s *Registry) newRoute(ctx context.Context, admitted admission.Server, literals upstreamauth.LiteralSource, known *catalog.Offer, isolated string) (authenticatedRoute, error) {
	of := admitted.Row()
	row := &of
	http := s.clientsFor(row)
	up := authenticatedRoute{with: s.Auth.NewServerAuth(admitted, literals)}
	o := upstream.Options{
		ID: row.ID, Transport: upstream.Transport(row.Transport), Client: http.Plain, StreamClient: http.Stream,
		KnownOffer: known, Isolation: row.Isolation, MaxSessions: row.MaxSessions, IsolationReason: isolated,
		OnRefusedInput: func(why string) { s.recordRefusedInput(row, why) },              //nolint:contextcheck // called later, outside the request
		OnIsolated:     func(string) { s.storeIsolation(serverKey{row.Tenant, row.ID}) }, //nolint:contextcheck // called later, outside the request
		Scrub:          up.with.Scrub,
		Version:        s.o.Version, Logger: s.o.Log, MaxBytes: s.o.MaxResult, ByteBudget: s.o.Bytes, Tenant: row.Tenant, SendTraceHeaders: s.o.Traced,
	}
	if row.Transport == junctor.TransportStdio {
		program, err := admitted.Connection().Command().Resolve(programOf)
		if err != nil {
			return authenticatedRoute{}, err
		}
		o.Command = &upstream.Command{Program: program, OpenArgs: up.with.CommandArgs, MoreEnv: up.with.Env}
	} else {
		var err error
		if o.URL, err = up.with.URL(ctx); err != nil {
			return authenticatedRoute{}, err
		}
		o.Header, o.OnRefused, o.UserClients, o.LoginOnDemand = up.with.Header, up.with.ForgetRefused, up.with.UserClients(), up.with.UsesLogins()
		if o.LoginOnDemand {
			o.Login = func(ctx context.Context, p *junctor.Principal) (l upstream.Login, err error) {
				l.Header, l.Name, l.TokenNumber, err = up.with.LoginHeader(ctx, p)
				return l, err
			}
		}
	}
	var err error
	up.command = o.Command
	up.serverRoute, err = upstream.New(o)
	return up, err
}

// programOf returns the file that a command names. junctor is this program,
// wherever its file is, so that definitions with its built-in commands work on
// every machine.
func programOf(word string) (string, error) {
	if word == "junctor" {
		return proc.ExecutablePath()
	}
	return word, nil
}

// Do calls the upstream, and logs in again if the server requires it.
func (r authenticatedRoute) Do(ctx context.Context, req *catalog.Request, sink catalog.Sink) (catalog.Result, error) {
	return r.with.Do(ctx, r.serverRoute, req, sink)
}

// Offer reads the lists of the upstream with the server's own login, if there
// is one.
func (r authenticatedRoute) Offer(ctx context.Context) (*catalog.Offer, error) {
	return r.with.Offer(ctx, r.serverRoute)
}

// Bridge makes the backend of an unregistered server for one call. It cannot
// reach loopback or private addresses.
func (s *Registry) Bridge(e gateway.BridgeEndpoint) (catalog.Backend, func(), error) {
	u, err := url.Parse(e.URL)
	if err != nil {
		return nil, nil, junctor.Errorf(junctor.CodeInvalid, "endpoint.url is not a URL")
	}
	given := seal.ScrubberForRequest(e.Header, u.RawQuery)
	up, err := upstream.New(upstream.Options{
		ID: junctor.AdhocServer, Transport: upstream.Transport(e.Transport), URL: u, Client: s.public.Plain, StreamClient: s.public.Stream,
		Header:  func(context.Context, *junctor.Principal) (http.Header, error) { return e.Header, nil },
		Version: s.o.Version, Logger: s.o.Log, MaxBytes: s.o.MaxResult, ByteBudget: s.o.Bytes, Scrub: given.Scrub, SendTraceHeaders: s.o.Traced,
	})
	if err != nil {
		return nil, nil, err
	}
	return &adhocBackend{up, given}, up.Close, nil
}

// adhocBackend is the backend of an unregistered server, with the credentials that its
// caller supplied.
type adhocBackend struct {
	*upstream.Server
	given *seal.Scrubber
}

// Secrets implements junctor.Keeper.
func (a *adhocBackend) Secrets() []string { return a.given.Secrets() }
