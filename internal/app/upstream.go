package app

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/credential"
	"github.com/junctor-mcp/junctor/internal/egress"
	"github.com/junctor-mcp/junctor/internal/gateway"
	"github.com/junctor-mcp/junctor/internal/seal"
	"github.com/junctor-mcp/junctor/internal/upstream"
)

// maxMessage is how large an answer of a server may be.
const maxMessage = 32 << 20

// clients are the HTTP clients of one set of rules: one with bounds, and one for
// streams, which have none.
type clients struct{ plain, stream *http.Client }

func (a *App) newClients(allow ...netip.Prefix) clients {
	return clients{
		// The deadline of a call is the guard's; this one only ends what nobody waits for.
		plain:  a.egress.Client(egress.ClientOptions{Timeout: 10 * time.Minute, MaxBytes: maxMessage, Allow: allow}),
		stream: a.egress.Client(egress.ClientOptions{Timeout: -1, MaxBytes: -1, Allow: allow}),
	}
}

func (c clients) close() {
	c.plain.CloseIdleConnections()
	c.stream.CloseIdleConnections()
}

// clientsFor gives the clients for a connection. A server that the operator put
// on this machine may be reached while only this machine reaches us.
func (s *servers) clientsFor(row *junctor.Server) clients {
	if s.isLocal(row) {
		return s.local
	}
	return s.public
}

// newClientsFor gives new ones under the same rules, with connections of their
// own.
func (s *servers) newClientsFor(row *junctor.Server) clients {
	if s.isLocal(row) {
		return s.app.newClients(loopback()...)
	}
	return s.app.newClients()
}

func (s *servers) isLocal(row *junctor.Server) bool {
	return row.Trusted && s.app.cfg.Loopback() && namesLoopback(row.URL)
}

func namesLoopback(text string) bool {
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	host := u.Hostname()
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback()
	}
	return strings.EqualFold(host, "localhost")
}

func loopback() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
}

func (s *servers) reader() credential.Reader { return s.app.reader() }

func (a *App) reader() credential.Reader {
	return credential.Reader{Lookup: os.LookupEnv, DataDir: a.cfg.DataDir}
}

// stored opens the literals of a row's credentials.
func (s *servers) stored(row junctor.Server) func(context.Context) (credential.Set, error) {
	return func(ctx context.Context) (credential.Set, error) {
		if row.Credential == "" {
			return credential.Set{}, nil
		}
		packed, ok, err := s.app.vault.Get(ctx, row.Tenant, row.ID, row.Credential)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, junctor.Errorf(junctor.CodeUnavailable, "the credentials of the server %s are not stored any more: enter them again", row.ID)
		}
		return credential.Unpack(packed, row.Connection)
	}
}

// sourceOf gives the credentials of a row as it is stored.
func (s *servers) sourceOf(row *junctor.Server) *credential.Source {
	return credential.NewSource(row.Connection, s.stored(*row), s.reader(), s.asker(row, "", s.clientsFor(row).plain))
}

// reached is an upstream, and what its command says when it has one.
type reached struct {
	*upstream.Server
	command *upstream.Command // nil for a URL
	source  *credential.Source
	purse   *purse  // of a server whose users have credentials of their own; else nil
	visits  *visits // of a server that people log in to; else nil
}

// Close ends the upstream, and the connections of its users.
func (r reached) Close() {
	r.Server.Close()
	if r.purse != nil {
		r.purse.close()
	}
}

// scrub takes all credentials of the server away from a text.
func (r reached) scrub(text string) string {
	text = r.source.Scrub(text)
	if r.purse != nil {
		text = r.purse.scrub(text)
	}
	if r.visits != nil {
		text = r.visits.scrub(text)
	}
	return text
}

// said is the last lines that the command complained.
func (r reached) said() []string {
	if r.command == nil {
		return nil
	}
	lines := strings.Split(strings.TrimRight(r.scrub(r.command.Said()), "\n"), "\n")
	if len(lines) == 1 && lines[0] == "" {
		return nil
	}
	return lines[max(0, len(lines)-saidLines):]
}

// saidLines is how much of what a command complains is shown.
const saidLines = 50

// connect makes the upstream of a row. literals gives its credentials; known is
// what it offered when it was last seen, nil where it has to answer first.
func (s *servers) connect(ctx context.Context, row *junctor.Server, literals func(context.Context) (credential.Set, error), known *catalog.Offer, isolated string) (reached, error) {
	http := s.clientsFor(row)
	source := credential.NewSource(row.Connection, literals, s.reader(), s.asker(row, "", http.plain))
	up := reached{source: source}
	if row.PerUser() {
		up.purse = newPurse(s, row)
	}
	if row.LogsIn() {
		up.visits = s.newVisits(row, source)
	}
	o := upstream.Options{
		ID: row.ID, Transport: upstream.Transport(row.Transport), Client: http.plain, Stream: http.stream,
		Known: known, Isolation: row.Isolation, MaxSessions: row.MaxSessions, Isolated: isolated,
		OnIsolated: func(string) { s.isolated(serverKey{row.Tenant, row.ID}) }, //nolint:contextcheck // it happens later
		Scrub:      up.scrub,
		Version:    s.app.version, Logger: s.app.log, MaxBytes: maxMessage,
	}
	if row.Transport == junctor.TransportStdio {
		o.Command = &upstream.Command{Path: row.Command[0], Args: row.Command[1:], MoreEnv: source.Env, Dir: row.Cwd}
	} else {
		var err error
		if o.URL, err = source.URL(ctx); err != nil {
			return reached{}, err
		}
		o.Header, o.Refused, o.OnDemand = up.header, up.refused, up.visits != nil
		if up.purse != nil {
			o.Own = up.purse.own
		}
	}
	var err error
	up.command = o.Command
	up.Server, err = upstream.New(o)
	return up, err
}

// header gives the credentials of a call; of what nobody calls for, and where
// everybody has the same, the server's own.
func (r reached) header(ctx context.Context, p *junctor.Principal) (http.Header, error) {
	if r.visits != nil {
		return r.visits.header(ctx, p)
	}
	if r.purse == nil || p == nil {
		return r.source.Header(ctx)
	}
	return r.purse.header(ctx, p)
}

func (r reached) refused(user string) {
	if user == "" {
		r.source.Forget()
		return
	}
	r.purse.refused(user)
}

// Do is the upstream's, with a login where the server wants one.
func (r reached) Do(ctx context.Context, req *catalog.Request, sink catalog.Sink) (catalog.Result, error) {
	if r.visits != nil {
		return r.visits.do(ctx, r.Server, req, sink)
	}
	return r.Server.Do(ctx, req, sink)
}

// Offer is the upstream's, with the server's own login where there is one.
func (r reached) Offer(ctx context.Context) (offer *catalog.Offer, err error) {
	if r.visits == nil {
		return r.Server.Offer(ctx)
	}
	_, err = r.visits.of("").Through(ctx, challengeOf, func() error {
		offer, err = r.Server.Offer(ctx)
		return err
	})
	return offer, err
}

// bridge makes the backend of an endpoint that is no registered server, for one
// call. It has no way to this machine.
func (s *servers) bridge(e gateway.Endpoint) (catalog.Backend, func(), error) {
	u, err := url.Parse(e.URL)
	if err != nil {
		return nil, nil, junctor.Errorf(junctor.CodeInvalid, "endpoint.url is not an address")
	}
	given := credential.OfRequest(e.Header, u.RawQuery)
	up, err := upstream.New(upstream.Options{
		ID: junctor.AdhocServer, Transport: upstream.Transport(e.Transport), URL: u, Client: s.public.plain, Stream: s.public.stream,
		Header:  func(context.Context, *junctor.Principal) (http.Header, error) { return e.Header, nil },
		Version: s.app.version, Logger: s.app.log, MaxBytes: maxMessage, Scrub: given.Scrub,
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

// entrusted is the vault as people may write to it: what servers keep there is
// theirs.
type entrusted struct {
	*seal.Vault
	servers *servers
}

// Keeps implements admin.Secrets: who may change a server keeps its secrets, and
// admins and services those of owners that are no server, or none yet.
func (e entrusted) Keeps(ctx context.Context, p *junctor.Principal, owner string) error {
	_, err := e.servers.app.store.For(p.Tenant).Server(ctx, owner)
	if junctor.CodeOf(err) == junctor.CodeNotFound && (p.Issuer != junctor.IssuerUser || p.Has(junctor.ScopeAdmin)) {
		return nil
	}
	_, err = e.servers.own(ctx, p, owner)
	return err
}

func (e entrusted) Put(ctx context.Context, tenant junctor.TenantID, owner, name string, s seal.Secret) error {
	if strings.HasPrefix(name, credentialPrefix) {
		return junctor.Errorf(junctor.CodeDenied, "the secrets %s… belong to servers: change the server's auth, headers or env instead", credentialPrefix)
	}
	if err := notUsers(owner); err != nil {
		return err
	}
	return e.Vault.Put(ctx, tenant, owner, name, s)
}

func (e entrusted) Delete(ctx context.Context, tenant junctor.TenantID, owner, name string) error {
	if err := notUsers(owner); err != nil {
		return err
	}
	return e.Vault.Delete(ctx, tenant, owner, name)
}

// notUsers keeps people off each other's credentials.
func notUsers(owner string) error {
	if strings.HasPrefix(owner, junctor.UserOwner("")) {
		return junctor.Errorf(junctor.CodeDenied, "the secrets of %s… belong to a user, who alone enters them", junctor.UserOwner(""))
	}
	return nil
}
