package server

import (
	"context"
	"log/slog"
	"net/http"

	junctor "github.com/junctor-mcp/junctor"
)

// serveRevoke revokes a token (RFC 7009) and all other tokens that came of the same
// code. An unknown token and a token of another program get the same response, so
// that tokens cannot be probed.
func (srv *Server) serveRevoke(w http.ResponseWriter, r *http.Request) {
	if !srv.allowRequest(w, r, "tokens", tokenRate()) {
		return
	}
	v, oerr := parseForm(w, r)
	var token, client string
	if oerr == nil {
		oerr = readParameters(v, map[string]*string{"token": &token, "client_id": &client})
	}
	if oerr == nil && (token == "" || client == "") {
		oerr = newOAuthError("invalid_request", "token or client_id is missing")
	}
	if oerr != nil {
		writeOAuthError(w, oerr)
		return
	}
	if len(token) <= maxTokenLength {
		t, c, err := srv.options.Store.ConsentToken(r.Context(), hashToken(token))
		if err == nil && c.Client == client {
			err = srv.endFamily(r.Context(), &c, t.Family)
			srv.options.Log.LogAttrs(r.Context(), slog.LevelInfo, "OAuth client revoked its tokens", slog.String("tenant", string(c.Tenant)), slog.String("user", c.User),
				slog.String("client", c.Client), slog.String("consent", c.ID))
		}
		if err != nil && junctor.CodeOf(err) != junctor.CodeNotFound {
			srv.writeInternalError(w, r, err)
			return
		}
	}
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
}

// ListConsents lists the consents of a tenant. A user id limits them to that user.
func (srv *Server) ListConsents(ctx context.Context, tenant junctor.TenantID, user string) ([]junctor.Consent, error) {
	return srv.options.Store.For(tenant).Consents(ctx, user)
}

// RevokeConsent revokes a consent. Its tokens are invalid when RevokeConsent
// returns. Errors: not_found if the tenant has no such consent.
func (srv *Server) RevokeConsent(ctx context.Context, tenant junctor.TenantID, id string) error {
	if err := srv.options.Store.For(tenant).RevokeConsent(ctx, id); err != nil {
		return err
	}
	srv.options.Log.LogAttrs(ctx, slog.LevelInfo, "OAuth consent revoked", slog.String("tenant", string(tenant)), slog.String("consent", id))
	return srv.options.OnTokensEnded(context.WithoutCancel(ctx), tenant, id)
}
