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
	"github.com/junctor-mcp/junctor/internal/instance"
	"github.com/junctor-mcp/junctor/internal/signin"
	"github.com/junctor-mcp/junctor/internal/upstreamauth"
)

// openSignIn makes the sign-in pages.
func (a *App) openSignIn() error {
	provider, err := a.provider()
	if err != nil {
		return err
	}
	o := signin.Options{
		Identity: a.identity, URL: a.ConsoleURL, Sealer: a.ring, Provider: provider, Connector: recordedLogins{upstreamauth.LoginPages{Manager: a.servers.Auth}, a.changes}, Now: a.clock.Now, Log: a.log,
		Address: gateway.TrustedProxies(a.cfg.TrustedProxy).Client,
		UseState: func(ctx context.Context, id string, expires time.Time) (bool, error) {
			return a.store.For(junctor.DefaultTenant).UseState(ctx, id, expires)
		},
	}
	if a.pool != nil {
		o.Pool = a.pool
	}
	if a.cfg.IssuesTokens() {
		o.Authority = recordedAuthority{a.authority, a.changes}
	}
	a.signIn, err = signin.New(o)
	return err
}

// provider returns the identity provider; nil if the settings name none.
func (a *App) provider() (*signin.Provider, error) {
	o := a.cfg.OIDC
	if o.Issuer == "" {
		return nil, nil
	}
	c := signin.ProviderConfig{AdmissionPolicy: signUpRules(o.Issuer, o.Name, o.Admission), ClientID: o.ClientID, Scopes: o.Scopes, Pin: signin.VaultPin{Vault: a.vault, Issuer: o.Issuer, ClientID: o.ClientID}}
	if ref := o.ClientSecret; ref != "" {
		if err := instance.NewReferenceReader(a.cfg).Check(ref); err != nil {
			return nil, err
		}
		c.Secret = func(ctx context.Context) (string, error) {
			s, err := instance.ReadSetting(ctx, a.cfg, ref)
			return s.Reveal(), err
		}
	}
	return signin.NewProvider(c, a.providerClient(o.Issuer))
}

// signUpRules returns which users of the identity provider are admitted.
func signUpRules(issuer, name string, c config.Admission) identity.AdmissionPolicy {
	a := identity.AdmissionPolicy{
		Issuer: issuer, Name: name, Tenant: c.Tenant, CreateUsers: c.Users == config.UsersCreate, Domains: c.Domains, DefaultRole: c.Role, GroupsClaim: c.GroupsClaim,
	}
	for _, r := range c.Roles {
		a.RoleRules = append(a.RoleRules, identity.RoleRule(r))
	}
	return a
}

// providerClient returns the HTTP client for an identity provider. The operator
// named its address, so it may be on this machine while the instance listens on
// loopback.
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
	if !isLocal(r) && !hasKey(r) {
		if p, found, err := a.signIn.Authenticate(r); found {
			if err != nil {
				a.metrics.CountUnauthenticated()
			}
			return p, err
		}
	}
	return a.authenticate(r)
}
