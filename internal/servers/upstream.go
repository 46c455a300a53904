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
	"github.com/junctor-mcp/junctor/internal/credential"
	"github.com/junctor-mcp/junctor/internal/egress"
	"github.com/junctor-mcp/junctor/internal/gateway"
	"github.com/junctor-mcp/junctor/internal/proc"
	"github.com/junctor-mcp/junctor/internal/upstream"
	"github.com/junctor-mcp/junctor/internal/visit"
)

// Clients are the HTTP clients of one set of rules: one with bounds, and one for
// streams, which have none.
type Clients struct{ Plain, Stream *http.Client }

func (s *Registry) newClients(allow ...netip.Prefix) Clients {
	return Clients{
		// The deadline of a call is the guard's; this one only ends what nobody waits for.
		Plain:  s.o.Egress.Client(egress.ClientOptions{Timeout: 10 * time.Minute, MaxBytes: s.o.MaxResult, Allow: allow}),
		Stream: s.o.Egress.Client(egress.ClientOptions{Timeout: -1, MaxBytes: -1, Allow: allow}),
	}
}

// PublicClients are for addresses that anybody may name.
func (s *Registry) PublicClients() Clients { return s.public }

// LocalClients may reach this machine, too.
func (s *Registry) LocalClients() Clients { return s.local }

func (c Clients) close() {
	c.Plain.CloseIdleConnections()
	c.Stream.CloseIdleConnections()
}

// clientsFor gives the clients for a connection. A server that the operator put
// on this machine may be reached while only this machine reaches us.
func (s *Registry) clientsFor(row *junctor.Server) Clients {
	if s.isLocal(row) {
		return s.local
	}
	return s.public
}

// newClientsFor gives new ones under the same rules, with connections of their
// own.
func (s *Registry) newClientsFor(row *junctor.Server) Clients {
	if s.isLocal(row) {
		return s.newClients(egress.LoopbackPrefixes()...)
	}
	return s.newClients()
}

func (s *Registry) isLocal(row *junctor.Server) bool {
	return row.Trusted && s.o.Loopback && egress.NamesLoopback(row.URL)
}

// serverRoute leads to a server: an upstream does, and another process that has one (afar).
type serverRoute interface {
	visit.Backend
	Watch(notify func(catalog.Event))
	Begin(ctx context.Context) (upstream.Report, error)
	Probe(ctx context.Context) (upstream.Report, error)
	State() upstream.State
	Holds(state string) bool
	EndSession(client string)
	EndUser(user string)
	RootsChanged(p *junctor.Principal, client string)
	Close()
}

// authenticatedRoute is a way to a server, and what its command says when it has one here.
type authenticatedRoute struct {
	serverRoute
	command *upstream.Command // nil for a URL, and for one that runs elsewhere
	with    *visit.Server
}

// Close ends the upstream, and the connections of its users.
func (r authenticatedRoute) Close() {
	r.serverRoute.Close()
	r.with.Close()
}

// said is the last lines that the command complained.
func (r authenticatedRoute) said() []string {
	if r.command == nil {
		return nil
	}
	lines := strings.Split(strings.TrimRight(r.with.Scrub(r.command.Said()), "\n"), "\n")
	if len(lines) == 1 && lines[0] == "" {
		return nil
	}
	return lines[max(0, len(lines)-saidLines):]
}

// saidLines is how much of what a command complains is shown.
const saidLines = 50

// connect makes the upstream of a row. literals gives its credentials; known is
// what it offered when it was last seen, nil where it has to answer first.
func (s *Registry) connect(ctx context.Context, admitted admission.Server, literals visit.Literals, known *catalog.Offer, isolated string) (authenticatedRoute, error) {
	of := admitted.Row()
	row := &of
	http := s.clientsFor(row)
	up := authenticatedRoute{with: s.Auth.Server(admitted, literals)}
	o := upstream.Options{
		ID: row.ID, Transport: upstream.Transport(row.Transport), Client: http.Plain, Stream: http.Stream,
		Known: known, Isolation: row.Isolation, MaxSessions: row.MaxSessions, Isolated: isolated,
		OnRefusedInput: func(why string) { s.recordRefusedInput(row, why) },        //nolint:contextcheck // it happens later
		OnIsolated:     func(string) { s.isolated(serverKey{row.Tenant, row.ID}) }, //nolint:contextcheck // it happens later
		Scrub:          up.with.Scrub,
		Version:        s.o.Version, Logger: s.o.Log, MaxBytes: s.o.MaxResult, Bytes: s.o.Bytes, Tenant: row.Tenant, Traced: s.o.Traced,
	}
	if row.Transport == junctor.TransportStdio {
		program, err := admitted.Connection().Command().Resolve(programOf)
		if err != nil {
			return authenticatedRoute{}, err
		}
		secrets := credential.SecretsOf(row.Command)
		o.Command = &upstream.Command{Program: program, Secrets: secrets, MoreEnv: up.with.Env}
		if len(secrets) > 0 { // the server may repeat them in its answers, too
			words := credential.NewScrubber(secrets...)
			o.Scrub = func(text string) string { return words.Scrub(up.with.Scrub(text)) }
		}
	} else {
		var err error
		if o.URL, err = up.with.URL(ctx); err != nil {
			return authenticatedRoute{}, err
		}
		o.Header, o.Refused, o.Own, o.OnDemand = up.with.Header, up.with.Refused, up.with.Own(), up.with.LogsIn()
		if o.OnDemand {
			o.Login = func(ctx context.Context, p *junctor.Principal) (l upstream.Login, err error) {
				l.Header, l.Name, l.Number, err = up.with.Login(ctx, p)
				return l, err
			}
		}
	}
	var err error
	up.command = o.Command
	up.serverRoute, err = upstream.New(o)
	return up, err
}

// programOf is the file that a command means. junctor is this program, wherever
// its file lies: what it brings itself runs on every machine.
func programOf(word string) (string, error) {
	if word == "junctor" {
		return proc.Self()
	}
	return word, nil
}

// Do is the upstream's, with a login where the server wants one.
func (r authenticatedRoute) Do(ctx context.Context, req *catalog.Request, sink catalog.Sink) (catalog.Result, error) {
	return r.with.Do(ctx, r.serverRoute, req, sink)
}

// Offer is the upstream's, with the server's own login where there is one.
func (r authenticatedRoute) Offer(ctx context.Context) (*catalog.Offer, error) {
	return r.with.Offer(ctx, r.serverRoute)
}

// Bridge makes the backend of an endpoint that is no registered server, for one
// call. It has no way to this machine.
func (s *Registry) Bridge(e gateway.Endpoint) (catalog.Backend, func(), error) {
	u, err := url.Parse(e.URL)
	if err != nil {
		return nil, nil, junctor.Errorf(junctor.CodeInvalid, "endpoint.url is not an address")
	}
	given := credential.OfRequest(e.Header, u.RawQuery)
	up, err := upstream.New(upstream.Options{
		ID: junctor.AdhocServer, Transport: upstream.Transport(e.Transport), URL: u, Client: s.public.Plain, Stream: s.public.Stream,
		Header:  func(context.Context, *junctor.Principal) (http.Header, error) { return e.Header, nil },
		Version: s.o.Version, Logger: s.o.Log, MaxBytes: s.o.MaxResult, Bytes: s.o.Bytes, Scrub: given.Scrub, Traced: s.o.Traced,
	})
	if err != nil {
		return nil, nil, err
	}
	return &adhoc{up, given}, up.Close, nil
}

// adhoc is the backend of an endpoint, with what its caller gave for it.
type adhoc struct {
	*upstream.Server
	given *credential.Scrubber
}

// Secrets implements junctor.Keeper.
func (a *adhoc) Secrets() []string { return a.given.Secrets() }
