package admin

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
)

type keyID struct {
	ID string `path:"id" doc:"The key's id."`
}

type newKey struct {
	Body struct {
		Name      string          `json:"name" minLength:"1" maxLength:"100" doc:"What the key is for."`
		Scopes    []junctor.Scope `json:"scopes" doc:"What the key may do; nothing that the caller's own credential may not."`
		ExpiresAt time.Time       `json:"expires_at,omitzero" doc:"When the key stops working; absent for never."`
	}
}

// CreatedKey is a key at the one moment its token can be seen.
type CreatedKey struct {
	junctor.Key
	Token string `json:"key" doc:"The credential itself. It is not shown again."`
}

type oneNewKey struct {
	Location string `header:"Location"`
	Body     CreatedKey
}

func (a *api) keyRoutes() {
	tags := []string{"keys"}
	route(a, huma.Operation{
		OperationID: "list-keys", Method: http.MethodGet, Path: "/keys", Summary: "List keys", Tags: tags,
	}, func(ctx context.Context, _ *none) (*pageOf[junctor.Key], error) {
		keys, err := a.Keys.ListKeys(ctx, caller(ctx).Tenant)
		return newPage(keys, ""), err
	})
	route(a, huma.Operation{
		OperationID: "create-key", Method: http.MethodPost, Path: "/keys", Summary: "Make a key", Tags: tags,
		DefaultStatus: http.StatusCreated,
	}, a.createKey)
	route(a, huma.Operation{
		OperationID: "delete-key", Method: http.MethodDelete, Path: "/keys/{id}", Summary: "Revoke a key", Tags: tags,
		DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *keyID) (*none, error) {
		return &none{}, a.Keys.RevokeKey(ctx, caller(ctx).Tenant, in.ID)
	})
}

// createKey gives away only what the caller has: otherwise keys:write would be
// every scope in disguise.
func (a *api) createKey(ctx context.Context, in *newKey) (*oneNewKey, error) {
	if err := junctor.CheckScopes(in.Body.Scopes); err != nil {
		return nil, err
	}
	p := caller(ctx)
	for _, s := range in.Body.Scopes {
		if !p.Has(s) {
			return nil, junctor.Errorf(junctor.CodeDenied, "a key with the scope %s can be made only by a credential that has it; this one has %s", s, list(p.Scopes))
		}
	}
	key, token, err := a.Keys.CreateKey(ctx, p.Tenant, in.Body.Name, in.Body.Scopes, in.Body.ExpiresAt)
	if err != nil {
		return nil, err
	}
	return &oneNewKey{Location: Prefix + "/keys/" + key.ID, Body: CreatedKey{Key: key, Token: token}}, nil
}
