package app

import (
	"net/http"
	"net/http/pprof"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/agents"
	"github.com/junctor-mcp/junctor/internal/cluster"
	"github.com/junctor-mcp/junctor/internal/gateway"
	"github.com/junctor-mcp/junctor/internal/upstreamauth"
)

// mux is an http.ServeMux that can list its routes.
type mux struct {
	http.ServeMux
	patterns []string
	api      *admin.Handler // has routes of its own; nil if it is disabled
	// exact has the same routes without the one for unknown paths, so that a path without a
	// route is answered with 404, and one with another method with 405.
	exact http.ServeMux
}

func (m *mux) Handle(pattern string, h http.Handler) {
	m.patterns = append(m.patterns, pattern)
	m.handleUnlisted(pattern, h)
}

// handleUnlisted registers a route that Routes does not list.
func (m *mux) handleUnlisted(pattern string, h http.Handler) {
	m.exact.Handle(pattern, h)
	m.ServeMux.Handle(pattern, h)
}

// handleUnknown registers what answers a request without a route, if it wants to: it
// reports whether it did.
func (m *mux) handleUnknown(serve func(http.ResponseWriter, *http.Request) bool) {
	m.ServeMux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if !serve(w, r) {
			m.exact.ServeHTTP(w, r)
		}
	})
}

func (m *mux) HandleFunc(pattern string, h func(http.ResponseWriter, *http.Request)) {
	m.Handle(pattern, http.HandlerFunc(h))
}

// Routes lists every route of the instance, as "METHOD /path", or as "/path" if
// the handler checks the method itself.
func (a *App) Routes() []string {
	m, err := a.mux()
	if err != nil { // an instance with this error does not start
		return nil
	}
	if m.api == nil {
		return m.patterns
	}
	return append(m.patterns, m.api.Routes()...)
}

// mux registers every route. It fails if one cannot be served, because an
// instance without its API must not look complete.
func (a *App) mux() (*mux, error) {
	mux := &mux{}
	a.gateway.RegisterRoutes(mux)
	if a.cfg.IsEndpointOn("hooks") {
		a.events.Intake.Routes(mux)
	}
	if a.tokens != nil && a.cfg.IsEndpointOn("mcp") {
		a.tokens.Routes(mux)
	}
	if a.cfg.IssuesTokens() {
		a.authority.Routes(mux)
	}
	if a.cfg.IsEndpointOn("plain") {
		a.completions().RegisterRoutes(a.withAddress(mux))
	}
	if a.cfg.IsEndpointOn("a2a") {
		a.a2a.RegisterRoutes(a.withAddress(mux))
		mux.HandleFunc("GET "+agents.ComponentCatalogPath+"{file}", a.agents.Components.ServeDocument)
	}
	if a.cfg.IsEndpointOn("admin") {
		api, err := a.admin()
		if err != nil { // a part is missing: a bug in this package
			return nil, junctor.Errorf(junctor.CodeInternal, "cannot create the admin API: %w", err)
		}
		mux.handleUnlisted(admin.Prefix+"/", a.replicas.RouteToHome(a.addressHandler(api)))
		mux.HandleFunc("GET "+admin.ReferencePath, api.ServeReference)
		mux.api = api
		a.signIn.Routes(mux)
		mux.HandleFunc("GET "+upstreamauth.ClientDocumentPath, a.servers.Auth.ServeClientDocument)
		a.console.Routes(mux)
		mux.handleUnknown(a.console.ServeUnknown)
	} else {
		mux.HandleFunc("GET /{$}", a.welcome)
	}
	if a.cfg.IsEndpointOn("metrics") {
		mux.Handle("GET /metrics", a.only(mayMeasure, "an admin's key, or a service's with the scope audit:read,", a.metrics.Handler()))
	}
	if a.cfg.Pprof {
		admins, needs := (*junctor.Principal).Operator, "an admin's key"
		mux.Handle("/debug/pprof/", a.only(admins, needs, http.HandlerFunc(pprof.Index)))
		mux.Handle("/debug/pprof/profile", a.only(admins, needs, http.HandlerFunc(pprof.Profile)))
		mux.Handle("/debug/pprof/trace", a.only(admins, needs, http.HandlerFunc(pprof.Trace)))
	}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /readyz", a.ready)
	if a.replicas != nil {
		mux.HandleFunc(cluster.ChannelPath, a.replicas.OpenChannel)
	}
	mux.HandleFunc("GET "+gateway.RelayPath, a.serveRelay)
	return mux, nil
}

// addressedMux registers handlers that find the address of the client in the context of
// their requests.
type addressedMux struct {
	app *App
	mux junctor.Mux
}

// HandleFunc implements junctor.Mux.
func (m addressedMux) HandleFunc(pattern string, h func(http.ResponseWriter, *http.Request)) {
	m.mux.HandleFunc(pattern, m.app.addressHandler(http.HandlerFunc(h)).ServeHTTP)
}

// withAddress returns a mux whose handlers find the address of the client in the context of
// their requests, for calls that they begin.
func (a *App) withAddress(mux junctor.Mux) junctor.Mux { return addressedMux{a, mux} }

// addressHandler returns a handler that finds the address of the client in the context of a
// request.
func (a *App) addressHandler(h http.Handler) http.Handler {
	proxies := gateway.TrustedProxies(a.cfg.TrustedProxy)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if address := proxies.Client(r); address.IsValid() {
			r = r.WithContext(junctor.WithClientAddress(r.Context(), address))
		}
		h.ServeHTTP(w, r)
	})
}

// mayMeasure reports whether a principal may read the metrics, which name tools
// of every tenant: admins may, and services with a key from an admin, but not
// every user who may read the records of the tenant.
func mayMeasure(p *junctor.Principal) bool {
	return p.Operator() || p.Issuer == junctor.IssuerKey && p.Has(junctor.ScopeAuditRead)
}
