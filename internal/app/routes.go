package app

import (
	"net/http"
	"net/http/pprof"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/visit"
)

// mux is a http.ServeMux that knows what is registered on it.
type mux struct {
	http.ServeMux
	patterns []string
	api      *admin.Handler // has routes of its own; nil where it is off
}

func (m *mux) Handle(pattern string, h http.Handler) {
	m.patterns = append(m.patterns, pattern)
	m.ServeMux.Handle(pattern, h)
}

func (m *mux) HandleFunc(pattern string, h func(http.ResponseWriter, *http.Request)) {
	m.Handle(pattern, http.HandlerFunc(h))
}

// Routes lists every route that the instance answers on, as "METHOD /path", or
// as "/path" where the handler looks at the method itself.
func (a *App) Routes() []string {
	m, err := a.mux()
	if err != nil { // then it does not start either
		return nil
	}
	if m.api == nil {
		return m.patterns
	}
	return append(m.patterns, m.api.Routes()...)
}

// mux holds every route. It is an error when one of them cannot be served: an
// instance without its API must not look as if it were whole.
func (a *App) mux() (*mux, error) {
	mux := &mux{}
	a.gateway.Routes(mux)
	if a.cfg.DoorOn("hooks") {
		a.intake.Routes(mux)
	}
	if a.tokens != nil && a.cfg.DoorOn("mcp") {
		a.tokens.Routes(mux)
	}
	if a.cfg.IssuesTokens() {
		a.authority.Routes(mux)
	}
	if a.cfg.DoorOn("plain") {
		a.completions().Routes(mux)
	}
	if a.cfg.DoorOn("a2a") {
		a.a2a.Routes(mux)
		mux.HandleFunc("GET "+componentCatalogPath+"{file}", a.components.serveDocument)
	}
	if a.cfg.DoorOn("admin") {
		api, err := a.admin()
		if err != nil { // a part is missing: a fault in this package
			return nil, junctor.Errorf(junctor.CodeInternal, "the admin API could not be made: %w", err)
		}
		mux.ServeMux.Handle(admin.Prefix+"/", a.peers.atHome(api))
		mux.api = api
		a.signIn.Routes(mux)
		mux.HandleFunc("GET "+visit.DocumentPath, a.servers.Auth.Document)
		a.console.Routes(mux)
	} else {
		mux.HandleFunc("GET /{$}", a.welcome)
	}
	if a.cfg.DoorOn("metrics") {
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
	if a.peers != nil {
		mux.HandleFunc(channelPath, a.peers.openChannel)
	}
	mux.HandleFunc("GET /stdio", a.relay)
	return mux, nil
}

// mayMeasure says who may read the metrics, which name tools of every tenant:
// admins, and the service that an admin made a key for, but not each user who
// may look at the tenant's own records.
func mayMeasure(p *junctor.Principal) bool {
	return p.Operator() || p.Issuer == junctor.IssuerKey && p.Has(junctor.ScopeAuditRead)
}
