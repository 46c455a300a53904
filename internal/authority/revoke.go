package authority

import (
	"context"
	"log/slog"
	"net/http"

	junctor "github.com/junctor-mcp/junctor"
)

// revoke takes a token back that a program does not need any more (RFC 7009),
// and all that came of the same code with it. What is not known here, or not the
// program's, is answered the same.
func (a *Authority) revoke(w http.ResponseWriter, r *http.Request) {
	if !a.may(w, r, "tokens", forTokens()) {
		return
	}
	v, f := form(w, r)
	var token, client string
	if f == nil {
		f = read(v, map[string]*string{"token": &token, "client_id": &client})
	}
	if f == nil && (token == "" || client == "") {
		f = faultf("invalid_request", "token or client_id is missing")
	}
	if f != nil {
		refuse(w, f)
		return
	}
	if len(token) <= maxToken {
		t, c, err := a.o.Store.ConsentToken(r.Context(), hash(token))
		if err == nil && c.Client == client {
			err = a.end(r.Context(), &c, t.Family)
			a.o.Log.LogAttrs(r.Context(), slog.LevelInfo, "a program gave its tokens back", slog.String("tenant", string(c.Tenant)), slog.String("user", c.User),
				slog.String("client", c.Client), slog.String("consent", c.ID))
		}
		if err != nil && junctor.CodeOf(err) != junctor.CodeNotFound {
			a.broken(w, r, err)
			return
		}
	}
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
}

// ListConsents lists what the users of a tenant let programs do, or one user, by
// id.
func (a *Authority) ListConsents(ctx context.Context, tenant junctor.TenantID, user string) ([]junctor.Consent, error) {
	return a.o.Store.For(tenant).Consents(ctx, user)
}

// RevokeConsent ends a consent. Its tokens open nothing any more once
// RevokeConsent returns. not_found when the tenant has no such consent.
func (a *Authority) RevokeConsent(ctx context.Context, tenant junctor.TenantID, id string) error {
	if err := a.o.Store.For(tenant).RevokeConsent(ctx, id); err != nil {
		return err
	}
	a.o.Log.LogAttrs(ctx, slog.LevelInfo, "a consent was revoked", slog.String("tenant", string(tenant)), slog.String("consent", id))
	return a.o.Ended(context.WithoutCancel(ctx), tenant, id)
}
