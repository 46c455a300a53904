package servers

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admission"
	"github.com/junctor-mcp/junctor/internal/apigen"
	"github.com/junctor-mcp/junctor/internal/apigen/call"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/telemetry"
	"github.com/junctor-mcp/junctor/internal/upstream"
	"github.com/junctor-mcp/junctor/internal/upstreamauth"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// generatedServer is an attached generated server: a backend over the current tools.
// Running calls end on the tools they began with.
type generatedServer struct {
	mu     sync.Mutex
	row    junctor.Server // the row that it was attached with
	with   *upstreamauth.ServerAuth
	now    catalog.Backend
	notify func(catalog.Event)
}

// newGenerated returns the backend for a row and its stored tools.
func (s *Registry) newGenerated(ctx context.Context, admitted admission.Server) (*generatedServer, error) {
	of := admitted.Row()
	row := &of
	stored, err := s.o.Store.For(row.Tenant).Document(ctx, row.ID)
	if err != nil {
		return nil, err
	}
	tools, err := apigen.DecodeTools(stored.Tools)
	if err != nil {
		return nil, err
	}
	with := s.Auth.NewServerAuth(admitted, s.Auth.StoredLiterals(*row))
	document := func(ctx context.Context) ([]byte, error) {
		stored, err := s.o.Store.For(row.Tenant).Document(ctx, row.ID)
		return stored.Text, err
	}
	backend, err := s.newAPIBackend(row, tools, document, with)
	if err != nil {
		return nil, err
	}
	return &generatedServer{row: *row, with: with, now: withOverrides(backend, row)}, nil
}

// Offer implements catalog.Backend.
func (g *generatedServer) Offer(ctx context.Context) (*catalog.Offer, error) {
	return g.currentBackend().Offer(ctx)
}

// Do implements catalog.Backend.
func (g *generatedServer) Do(ctx context.Context, req *catalog.Request, sink catalog.Sink) (catalog.Result, error) {
	g.mu.Lock()
	now, with := g.now, g.with
	g.mu.Unlock()
	if with.UsesLogins() {
		return with.Do(ctx, now, req, sink)
	}
	return now.Do(ctx, req, sink)
}

// Watch implements catalog.Backend.
func (g *generatedServer) Watch(notify func(catalog.Event)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.notify = notify
}

// KeeperFor implements junctor.Keepers.
func (g *generatedServer) KeeperFor(p *junctor.Principal) junctor.Keeper {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.with.KeeperFor(p)
}

// currentBackend returns the backend that new calls use.
func (g *generatedServer) currentBackend() catalog.Backend {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.now
}

// attachedRow returns the attached row.
func (g *generatedServer) attachedRow() junctor.Server {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.row
}

// takeOverTools takes over row and tools of next. The next call uses them.
func (g *generatedServer) takeOverTools(next *generatedServer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	next.with.InheritSecrets(g.with)
	g.row, g.with, g.now = next.row, next.with, next.now
}

// canServeRow reports whether a row can be served without attaching it again. The
// catalog decides visibility and listing when a server is attached.
func (g *generatedServer) canServeRow(row *junctor.Server) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.row.Private == row.Private && g.row.API.Exposure == row.API.Exposure
}

// attachGenerated attaches a generated server, or replaces its tools.
func (s *Registry) attachGenerated(ctx context.Context, admitted admission.Server) error {
	row := admitted.Row()
	key := serverKey{row.Tenant, row.ID}
	err := s.attachGeneratedRow(ctx, key, admitted)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.broken, key)
	if err != nil {
		s.broken[key] = junctor.AsError(err).Message
		s.o.Log.Warn("cannot attach a server", slog.String("server", row.ID), telemetry.ErrorAttr(err))
	}
	return err
}

// attachGeneratedRow makes the backend of a row and attaches it. If only tools
// changed, it replaces those of the attached backend and refreshes the catalog.
func (s *Registry) attachGeneratedRow(ctx context.Context, key serverKey, admitted admission.Server) error {
	row := admitted.Row()
	next, err := s.newGenerated(ctx, admitted)
	if err != nil {
		return err
	}
	s.mu.Lock()
	had := s.made[key]
	if had == nil || !had.canServeRow(&row) {
		s.made[key] = next
	}
	s.mu.Unlock()
	if had != nil && had.canServeRow(&row) {
		had.takeOverTools(next)
		return s.o.Catalog.Refresh(ctx, row.Tenant, row.ID)
	}
	if had != nil {
		s.o.Catalog.Detach(row.Tenant, row.ID)
	}
	opts := []catalog.AttachOption{catalog.ExposedAs(row.API.Exposure)}
	if row.Private {
		opts = append(opts, catalog.OwnedBy(row.Owner))
	}
	return s.o.Catalog.Attach(ctx, row.Tenant, row.ID, row.Mode, next, opts...)
}

// newAPIBackend returns the backend for tools that call an API with the credentials
// in with.
func (s *Registry) newAPIBackend(row *junctor.Server, tools []apigen.Tool, document func(context.Context) ([]byte, error), with *upstreamauth.ServerAuth) (*apigen.Server, error) {
	filter, err := apigen.NewFilter(row.API)
	if err != nil {
		return nil, err
	}
	base, _, _ := strings.Cut(row.URL, "?")
	var login func(*call.Answer) error
	if with.UsesLogins() {
		login = func(a *call.Answer) error { return loginError(row, a.Status, a.Header) }
	}
	return apigen.New(apigen.Options{
		Tools: tools, Filter: filter, Instructions: row.API.Title, HasCredentials: row.PerUser() || row.Auth != nil && row.Auth.Type != junctor.AuthNone, Scrub: with.Scrub, LoadDocument: document,
		ReadResource: s.readResource,
		SenderOptions: call.Options{
			Base: base, Client: s.clientsFor(row).Plain, MaxPerSecond: row.API.Rate, UserAgent: "Junctor/" + s.o.Version, PerUser: row.PerUser(),
			ByteBudget: s.o.Bytes, MaxBytes: s.o.MaxResult,
			Credentials: credentialSource(row, with), LoginError: login,
			OnUnauthorized: func(p *junctor.Principal) {
				if row.PerUser() && p != nil && p.User != "" {
					with.ForgetRefused(p.User)
				} else if !row.PerUser() {
					with.ForgetRefused("")
				}
			},
		},
	}), nil
}

// readResource reads a resource for the caller of a tool. It goes through the
// pipeline, so that the caller's rights apply and the read is recorded.
func (s *Registry) readResource(ctx context.Context, req *catalog.Request, uri string) (catalog.Result, error) {
	params := wire.AppendObject(nil, []byte("{}"), nil, wire.Member{Key: "uri", Value: wire.AppendString(nil, uri)})
	return s.o.Pipeline.Do(ctx, &guard.Op{
		Principal: req.Principal, EntryPoint: req.EntryPoint, Address: req.Address, Kind: junctor.KindResource, Name: uri, Params: params, Caller: catalog.Caller{Protocol: wire.ModernVersion},
	}, catalog.Discard{})
}

// loginError returns the error for an API that refused the credentials of a
// call. If users can log in, it explains how.
func loginError(row *junctor.Server, status int, header http.Header) error {
	refusal := &upstream.Refusal{Status: status, Challenge: header.Get("WWW-Authenticate")}
	refusal.Date, _ = http.ParseTime(header.Get("Date"))
	return &junctor.Error{Code: junctor.CodeUnauthenticated, Cause: refusal, Message: "the API of the server " + row.ID + " requires a login, or a new one: junctor server login " + row.ID}
}

// defaultKeyHeader is the header of API keys if the definition names none.
const defaultKeyHeader = "X-API-Key"

// credentialSource returns a function that gives the credentials for calls of a
// principal, in the place that the API requires.
func credentialSource(row *junctor.Server, with *upstreamauth.ServerAuth) func(context.Context, *junctor.Principal) (call.Credentials, error) {
	if with.UsesLogins() {
		return loginSource(row, with)
	}
	name := defaultKeyHeader
	switch {
	case row.Auth != nil && row.Auth.Header != "":
		name = row.Auth.Header
	case row.PerUser() && row.API.KeyName != "":
		name = row.API.KeyName
	}
	return func(ctx context.Context, p *junctor.Principal) (call.Credentials, error) {
		header, err := with.Header(ctx, p)
		if err != nil {
			return call.Credentials{}, err
		}
		u, err := with.URL(ctx)
		if err != nil {
			return call.Credentials{}, err
		}
		c := call.Credentials{Header: header.Clone(), Query: u.RawQuery}
		if _, token, ok := strings.Cut(header.Get("Authorization"), " "); ok {
			c.Secret = token
		}
		if strings.EqualFold(name, "Authorization") {
			return c, nil
		}
		key := header.Get(name)
		if own := header.Get(defaultKeyHeader); key == "" && row.PerUser() && own != "" { // users need not know the name of the header
			key = own
			c.Header.Del(defaultKeyHeader)
		}
		if key != "" {
			putKey(&c, row.API.KeyIn, name, key)
		}
		return c, nil
	}
}

// loginSource returns a function that gives the OAuth login for calls of a
// principal. Without a login it sends nothing.
func loginSource(row *junctor.Server, with *upstreamauth.ServerAuth) func(context.Context, *junctor.Principal) (call.Credentials, error) {
	return func(ctx context.Context, p *junctor.Principal) (call.Credentials, error) {
		header, name, _, err := with.LoginHeader(ctx, p)
		if err == nil && name == "" {
			err = loginError(row, http.StatusUnauthorized, nil)
		}
		if err != nil {
			return call.Credentials{}, err
		}
		_, token, _ := strings.Cut(header.Get("Authorization"), " ")
		return call.Credentials{Header: header, Secret: token}, nil
	}
}

// putKey puts an API key in the place that the API requires.
func putKey(c *call.Credentials, in, name, key string) {
	c.Secret = key
	c.Header.Del(name)
	switch in {
	case "query":
		c.Query = strings.Trim(c.Query+"&"+url.QueryEscape(name)+"="+url.QueryEscape(key), "&")
	case "cookie":
		c.Header.Set("Cookie", (&http.Cookie{Name: name, Value: key}).String()) //nolint:gosec // a cookie of a request
	default:
		c.Header.Set(name, key)
	}
}

// findGenerated returns the generated server under a key; nil if there is none.
func (s *Registry) findGenerated(key serverKey) *generatedServer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.made[key]
}

// dropGenerated removes a detached generated server. The caller holds mu.
func (s *Registry) dropGenerated(key serverKey) {
	if g := s.made[key]; g != nil {
		delete(s.made, key)
		g.with.Close()
	}
}

// keysOf lists the attached servers of a tenant. The caller holds mu.
func (s *Registry) keysOf(tenant junctor.TenantID) []serverKey {
	var keys []serverKey
	for key := range s.live {
		if key.tenant == tenant {
			keys = append(keys, key)
		}
	}
	for key := range s.made {
		if key.tenant == tenant && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}
