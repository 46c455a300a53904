package app

import (
	"context"
	"net/http"
	"net/netip"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/egress"
	"github.com/junctor-mcp/junctor/internal/gateway"
	"github.com/junctor-mcp/junctor/internal/identity"
	"github.com/junctor-mcp/junctor/internal/signin"
	"github.com/junctor-mcp/junctor/internal/visit"
)

// openSignIn joins the pages that people sign in with.
func (a *App) openSignIn() error {
	provider, err := a.provider()
	if err != nil {
		return err
	}
	o := signin.Options{
		Identity: a.identity, URL: a.ConsoleURL, Sealer: sealer{a.ring}, Provider: provider, Connector: visit.Pages{Desk: a.servers.Auth}, Now: a.clock.Now, Log: a.log,
		Address: gateway.Proxies(a.cfg.TrustedProxy).Client,
		UseState: func(ctx context.Context, id string, expires time.Time) (bool, error) {
			return a.store.For(junctor.DefaultTenant).UseState(ctx, id, expires)
		},
	}
	if a.pool != nil {
		o.Pool = a.pool
	}
	if a.cfg.IssuesTokens() {
		o.Authority = a.authority
	}
	a.signIn, err = signin.New(o)
	return err
}

// provider is who vouches for people; nil where the settings name nobody.
func (a *App) provider() (*signin.Provider, error) {
	o := a.cfg.OIDC
	if o.Issuer == "" {
		return nil, nil
	}
	c := signin.ProviderConfig{Admission: signUpRules(o.Issuer, o.Name, o.Admission), ClientID: o.ClientID, Scopes: o.Scopes, Pin: providerPin{a.vault, o.Issuer, o.ClientID}}
	if ref := o.ClientSecret; ref != "" {
		if err := a.reader().Check(ref); err != nil {
			return nil, err
		}
		c.Secret = func(ctx context.Context) (string, error) {
			s, err := a.readSetting(ctx, ref)
			return s.Reveal(), err
		}
	}
	return signin.NewProvider(c, a.providerClient(o.Issuer))
}

// signUpRules is whom to let in of those that a provider vouches for.
func signUpRules(issuer, name string, c config.Admission) identity.Admission {
	a := identity.Admission{
		Issuer: issuer, Name: name, Tenant: c.Tenant, Create: c.Users == config.UsersCreate, Domains: c.Domains, Role: c.Role,
	}
	for _, r := range c.Roles {
		a.Roles = append(a.Roles, identity.RoleRule(r))
	}
	return a
}

// providerClient is the way to an identity provider. The operator named it: it
// may be on this machine while only this machine reaches us.
func (a *App) providerClient(issuer string) *http.Client {
	var allow []netip.Prefix
	if a.cfg.Loopback() && egress.NamesLoopback(issuer) {
		allow = egress.LoopbackPrefixes()
	}
	client := a.egress.Client(egress.ClientOptions{Timeout: 15 * time.Second, MaxBytes: 1 << 20, Allow: allow})
	a.onClose(func(context.Context) { client.CloseIdleConnections() })
	return client
}

// authenticatePerson is authenticate for the admin API, which takes the cookie
// of a login too. A key in a header counts before it.
func (a *App) authenticatePerson(r *http.Request) (*junctor.Principal, error) {
	if r.Context().Value(localKey{}) == nil && r.Header.Get("Authorization") == "" && r.Header.Get("X-Api-Key") == "" {
		if p, found, err := a.signIn.Authenticate(r); found {
			if err != nil {
				a.metrics.Unauthenticated()
			}
			return p, err
		}
	}
	return a.authenticate(r)
}
