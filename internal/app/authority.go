package app

import (
	"context"
	"errors"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/authority"
	"github.com/junctor-mcp/junctor/internal/egress"
	"github.com/junctor-mcp/junctor/internal/gateway"
)

// openAuthority joins what gives programs tokens for people who consent. It is
// there also where it issues none: what was given can be looked at and revoked.
func (a *App) openAuthority() (err error) {
	client := a.egress.Client(egress.ClientOptions{Timeout: 5 * time.Second, MaxBytes: 64 << 10})
	a.onClose(func(context.Context) { client.CloseIdleConnections() })
	o := authority.Options{
		Identity: a.identity, Store: a.store, Sealer: sealer{a.ring}, URL: a.URL, Client: client,
		Address: gateway.Proxies(a.cfg.TrustedProxy).Client, Ended: a.consentEnded, Now: a.clock.Now, Log: a.log,
	}
	if a.pool != nil {
		o.Pool = a.pool
	}
	for _, s := range a.cfg.OAuth.Scopes {
		o.Scopes = append(o.Scopes, authority.Scope{Name: s.Name, Means: s.Scope})
	}
	a.authority, err = authority.New(o)
	return err
}

// consentEnded ends what is open by tokens that are not good any more.
func (a *App) consentEnded(ctx context.Context, tenant junctor.TenantID, consent string) error {
	return errors.Join(a.recheckTokens(ctx), a.gateway.EndOf(ctx, func(q *junctor.Principal) bool {
		return q.Tenant == tenant && q.Consent == consent
	}))
}

// followConsents ends what is open here by consents that are not there any more.
func (a *App) followConsents(ctx context.Context) error {
	type consent struct {
		tenant junctor.TenantID
		id     string
	}
	there := map[consent]bool{}
	tenants, err := a.store.Tenants(ctx)
	if err != nil {
		return err
	}
	for _, tenant := range tenants {
		list, err := a.authority.ListConsents(ctx, tenant.ID, "")
		if err != nil {
			return err
		}
		for _, c := range list {
			there[consent{tenant.ID, c.ID}] = true
		}
	}
	err = a.recheckTokens(ctx)
	a.gateway.EndStreams(func(q *junctor.Principal) bool { return q.Consent != "" && !there[consent{q.Tenant, q.Consent}] })
	return err
}

// recheckTokens forgets tokens that are not good any more.
func (a *App) recheckTokens(ctx context.Context) error {
	if a.tokens == nil {
		return nil
	}
	return a.tokens.Recheck(ctx)
}
