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
	"github.com/junctor-mcp/junctor/internal/visit"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// generated is an auto-generated server that is attached: a backend over the
// tools of the moment. Calls that run end on those they began with.
type generated struct {
	mu     sync.Mutex
	row    junctor.Server // as it was attached
	with   *visit.Server
	now    catalog.Backend
	notify func(catalog.Event)
}

// newGenerated makes the backend of a row and the tools that are stored for it.
func (s *Registry) newGenerated(ctx context.Context, admitted admission.Server) (*generated, error) {
	of := admitted.Row()
	row := &of
	stored, err := s.o.Store.For(row.Tenant).Document(ctx, row.ID)
	if err != nil {
		return nil, err
	}
	tools, err := apigen.Decode(stored.Tools)
	if err != nil {
		return nil, err
	}
	with := s.Auth.Server(admitted, s.Auth.Stored(*row))
	document := func(ctx context.Context) ([]byte, error) {
		stored, err := s.o.Store.For(row.Tenant).Document(ctx, row.ID)
		return stored.Text, err
	}
	backend, err := s.generate(row, tools, document, with)
	if err != nil {
		return nil, err
	}
	return &generated{row: *row, with: with, now: changed(backend, row)}, nil
}

// Offer implements catalog.Backend.
func (g *generated) Offer(ctx context.Context) (*catalog.Offer, error) { return g.current().Offer(ctx) }

// Do implements catalog.Backend.
func (g *generated) Do(ctx context.Context, req *catalog.Request, sink catalog.Sink) (catalog.Result, error) {
	g.mu.Lock()
	now, with := g.now, g.with
	g.mu.Unlock()
	if with.LogsIn() {
		return with.Do(ctx, now, req, sink)
	}
	return now.Do(ctx, req, sink)
}

// Watch implements catalog.Backend.
func (g *generated) Watch(notify func(catalog.Event)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.notify = notify
}

// KeeperOf implements junctor.Keepers.
func (g *generated) KeeperOf(p *junctor.Principal) junctor.Keeper {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.with.KeeperOf(p)
}

func (g *generated) current() catalog.Backend {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.now
}

// served is the row that is attached.
func (g *generated) served() junctor.Server {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.row
}

// put takes over what another has: the next call is made with that.
func (g *generated) put(next *generated) {
	g.mu.Lock()
	defer g.mu.Unlock()
	next.with.After(g.with)
	g.row, g.with, g.now = next.row, next.with, next.now
}

// fits says whether a row can be served without being attached anew: who sees it
// and how is decided when it is attached.
func (g *generated) fits(row *junctor.Server) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.row.Private == row.Private && g.row.API.Exposure == row.API.Exposure
}

// attachGenerated attaches an auto-generated server, or puts its new tools in place of
// those it has.
func (s *Registry) attachGenerated(ctx context.Context, admitted admission.Server) error {
	row := admitted.Row()
	key := serverKey{row.Tenant, row.ID}
	err := s.attachGeneratedRow(ctx, key, admitted)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.broken, key)
	if err != nil {
		s.broken[key] = junctor.AsError(err).Message
		s.o.Log.Warn("a server could not be attached", slog.String("server", row.ID), telemetry.Err(err))
	}
	return err
}

func (s *Registry) attachGeneratedRow(ctx context.Context, key serverKey, admitted admission.Server) error {
	row := admitted.Row()
	next, err := s.newGenerated(ctx, admitted)
	if err != nil {
		return err
	}
	s.mu.Lock()
	had := s.made[key]
	if had == nil || !had.fits(&row) {
		s.made[key] = next
	}
	s.mu.Unlock()
	if had != nil && had.fits(&row) {
		had.put(next)
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

// generate makes the backend of tools that call an API with what a visit.Server
// holds.
func (s *Registry) generate(row *junctor.Server, tools []apigen.Tool, document func(context.Context) ([]byte, error), with *visit.Server) (*apigen.Server, error) {
	filter, err := apigen.NewFilter(row.API)
	if err != nil {
		return nil, err
	}
	base, _, _ := strings.Cut(row.URL, "?")
	var login func(*call.Answer) error
	if with.LogsIn() {
		login = func(a *call.Answer) error { return wantsLogin(row, a.Status, a.Header) }
	}
	return apigen.New(apigen.Options{
		Tools: tools, Filter: filter, Instructions: row.API.Title, Bound: row.PerUser() || row.Auth != nil && row.Auth.Type != junctor.AuthNone, Scrub: with.Scrub, Document: document,
		Resource: s.resource,
		Send: call.Options{
			Base: base, Client: s.clientsFor(row).Plain, Rate: row.API.Rate, Agent: "Junctor/" + s.o.Version, PerUser: row.PerUser(),
			Bytes: s.o.Bytes, MaxBytes: s.o.MaxResult,
			Credentials: credentialsOf(row, with), Login: login,
			Refused: func(p *junctor.Principal) {
				if row.PerUser() && p != nil && p.User != "" {
					with.Refused(p.User)
				} else if !row.PerUser() {
					with.Refused("")
				}
			},
		},
	}), nil
}

// resource reads a resource for whoever calls a tool with it: through the
// pipeline, like every other reading of theirs.
func (s *Registry) resource(ctx context.Context, req *catalog.Request, uri string) (catalog.Result, error) {
	params := wire.AppendObject(nil, []byte("{}"), nil, wire.Member{Key: "uri", Value: wire.AppendString(nil, uri)})
	return s.o.Pipeline.Do(ctx, &guard.Op{
		Principal: req.Principal, Door: req.Door, Kind: junctor.KindResource, Name: uri, Params: params, Caller: catalog.Caller{Protocol: wire.Modern},
	}, catalog.Discard{})
}

// wantsLogin is the error of an API that did not take what a call was made with:
// whoever can log in is told so.
func wantsLogin(row *junctor.Server, status int, header http.Header) error {
	refusal := &upstream.Refusal{Status: status, Challenge: header.Get("WWW-Authenticate")}
	refusal.Date, _ = http.ParseTime(header.Get("Date"))
	return &junctor.Error{Code: junctor.CodeUnauthenticated, Cause: refusal, Message: "the API of the server " + row.ID + " wants a login, or another: junctor server login " + row.ID}
}

// usualKey is the header of a key that nobody named one for.
const usualKey = "X-API-Key"

// credentialsOf gives what the calls of a principal prove themselves with, put
// where the API wants it.
func credentialsOf(row *junctor.Server, with *visit.Server) func(context.Context, *junctor.Principal) (call.Credentials, error) {
	if with.LogsIn() {
		return loginsOf(row, with)
	}
	name := usualKey
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
		if own := header.Get(usualKey); key == "" && row.PerUser() && own != "" { // users need not know what it is called
			key = own
			c.Header.Del(usualKey)
		}
		if key != "" {
			putKey(&c, row.API.KeyIn, name, key)
		}
		return c, nil
	}
}

// loginsOf gives the login that the calls of a principal are made with. Without
// one nothing is sent.
func loginsOf(row *junctor.Server, with *visit.Server) func(context.Context, *junctor.Principal) (call.Credentials, error) {
	return func(ctx context.Context, p *junctor.Principal) (call.Credentials, error) {
		header, name, _, err := with.Login(ctx, p)
		if err == nil && name == "" {
			err = wantsLogin(row, http.StatusUnauthorized, nil)
		}
		if err != nil {
			return call.Credentials{}, err
		}
		_, token, _ := strings.Cut(header.Get("Authorization"), " ")
		return call.Credentials{Header: header, Secret: token}, nil
	}
}

// putKey puts a key where the API wants it.
func putKey(c *call.Credentials, in, name, key string) {
	c.Secret = key
	c.Header.Del(name)
	switch in {
	case "query":
		c.Query = strings.Trim(c.Query+"&"+url.QueryEscape(name)+"="+url.QueryEscape(key), "&")
	case "cookie":
		c.Header.Set("Cookie", (&http.Cookie{Name: name, Value: key}).String()) //nolint:gosec // it is sent, not set
	default:
		c.Header.Set(name, key)
	}
}

// made servers of a tenant whose users have credentials of their own.
func (s *Registry) generatedOf(key serverKey) *generated {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.made[key]
}

// dropGenerated forgets a server that is detached; mu is held.
func (s *Registry) dropGenerated(key serverKey) {
	if g := s.made[key]; g != nil {
		delete(s.made, key)
		g.with.Close()
	}
}

// keysOf lists the servers of a tenant that are attached; mu is held.
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
