package app

import (
	"context"
	"errors"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/egress"
	"github.com/junctor-mcp/junctor/internal/gateway"
	oauthserver "github.com/junctor-mcp/junctor/internal/oauth/server"
)

// openAuthority makes the OAuth authorization server. It exists even if it
// issues no tokens, so that earlier consents can be listed and revoked.
func (a *App) openAuthority() (err error) {
	client := a.egress.Client(egress.ClientOptions{Timeout: 5 * time.Second, MaxBytes: 64 << 10})
	a.onClose(func(context.Context) { client.CloseIdleConnections() })
	o := oauthserver.Options{
		Identity: a.identity, Store: a.store, Sealer: a.ring, URL: a.URL, Client: client,
		Address: gateway.TrustedProxies(a.cfg.TrustedProxy).Client, OnTokensEnded: a.consentEnded, Now: a.clock.Now, Log: a.log,
	}
	if a.pool != nil {
		o.Pool = a.pool
	}
	for _, s := range a.cfg.OAuth.Scopes {
		o.Scopes = append(o.Scopes, oauthserver.Scope{Name: s.Name, Scope: s.Scope})
	}
	a.authority, err = oauthserver.New(o)
	return err
}

// consentEnded ends streams and sessions of tokens that are no longer valid.
func (a *App) consentEnded(ctx context.Context, tenant junctor.TenantID, consent string) error {
	return errors.Join(a.recheckTokens(ctx), a.gateway.EndSessions(ctx, func(q *junctor.Principal) bool {
		return q.Tenant == tenant && q.Consent == consent
	}))
}

// followConsents ends local streams and sessions of consents that were revoked
// on another replica.
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

// recheckTokens drops cached tokens that are no longer valid.
func (a *App) recheckTokens(ctx context.Context) error {
	if a.tokens == nil {
		return nil
	}
	return a.tokens.ForgetEndedTokens(ctx)
}
