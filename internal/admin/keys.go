package admin

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/identity"
)

type keyID struct {
	ID string `path:"id" doc:"The key's id."`
}

type newKey struct {
	Body struct {
		Name      string          `json:"name" minLength:"1" maxLength:"100" doc:"What the key is for."`
		Scopes    []junctor.Scope `json:"scopes" doc:"What the key may do; nothing that the caller's own credential may not."`
		User      string          `json:"user,omitempty" doc:"The user whose key it is, by name or id. What their role has not, the key has not either."`
		Agent     string          `json:"agent,omitempty" doc:"The agent whose key it is, by name."`
		ExpiresAt time.Time       `json:"expires_at,omitzero" doc:"When the key stops working; absent for never."`
	}
}

type rotation struct {
	ID   string `path:"id" doc:"The key's id."`
	Body struct {
		GraceSeconds int64 `json:"grace_seconds,omitempty" minimum:"0" maximum:"604800" doc:"How long the former token works on."`
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

type oneToken struct{ Body CreatedKey }

func (a *api) keyRoutes() {
	tags := []string{"keys"}
	route(a, huma.Operation{
		OperationID: "list-keys", Method: http.MethodGet, Path: "/keys", Summary: "List keys: an admin all, others their own", Tags: tags,
	}, func(ctx context.Context, _ *none) (*pageOf[junctor.Key], error) {
		p := caller(ctx)
		keys, err := a.Keys.ListKeys(ctx, p.Tenant)
		keys = slices.DeleteFunc(keys, func(k junctor.Key) bool { return !a.Keys.Manages(p, &k) })
		return newPage(keys, ""), err
	})
	route(a, huma.Operation{
		OperationID: "create-key", Method: http.MethodPost, Path: "/keys", Summary: "Make a key of a user, an agent or a service", Tags: tags,
		DefaultStatus: http.StatusCreated,
	}, a.createKey)
	route(a, huma.Operation{
		OperationID: "rotate-key", Method: http.MethodPost, Path: "/keys/{id}/rotate", Summary: "Give a key a new token", Tags: tags,
	}, func(ctx context.Context, in *rotation) (*oneToken, error) {
		if err := a.managed(ctx, in.ID); err != nil {
			return nil, err
		}
		key, token, err := a.Keys.RotateKey(ctx, caller(ctx).Tenant, in.ID, time.Duration(in.Body.GraceSeconds)*time.Second)
		return &oneToken{CreatedKey{Key: key, Token: token}}, err
	})
	route(a, huma.Operation{
		OperationID: "delete-key", Method: http.MethodDelete, Path: "/keys/{id}", Summary: "Revoke a key", Tags: tags,
		DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *keyID) (*none, error) {
		if err := a.managed(ctx, in.ID); err != nil {
			return nil, err
		}
		return &none{}, a.Keys.RevokeKey(ctx, caller(ctx).Tenant, in.ID)
	})
}

// managed refuses a key that is not the caller's to change, as if there were
// none.
func (a *api) managed(ctx context.Context, id string) error {
	p := caller(ctx)
	keys, err := a.Keys.ListKeys(ctx, p.Tenant)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(keys, func(k junctor.Key) bool { return k.ID == id && a.Keys.Manages(p, &k) }) {
		return junctor.Errorf(junctor.CodeNotFound, "there is no such key; junctor key ls shows their ids")
	}
	return nil
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
	n := identity.NewKey{Name: in.Body.Name, Agent: in.Body.Agent, Scopes: in.Body.Scopes, ExpiresAt: in.Body.ExpiresAt}
	if err := a.ownKey(ctx, p, &n, in.Body.User); err != nil {
		return nil, err
	}
	key, token, err := a.Keys.CreateKey(ctx, p.Tenant, n)
	if err != nil {
		return nil, err
	}
	return &oneNewKey{Location: Prefix + "/keys/" + key.ID, Body: CreatedKey{Key: key, Token: token}}, nil
}

// ownKey says whose a new key is: whose an admin says; for others their own, or
// that of an agent they made.
func (a *api) ownKey(ctx context.Context, p *junctor.Principal, n *identity.NewKey, user string) error {
	if n.Agent != "" {
		owner, err := a.Keys.AgentOwner(p.Tenant, n.Agent)
		if err == nil && owner != p.ID() && !p.Has(junctor.ScopeAdmin) {
			err = junctor.Errorf(junctor.CodeDenied, "a key of the agent %s can be made by who made the agent, or by an admin", n.Agent)
		}
		if err != nil {
			return err
		}
	}
	switch {
	case user != "":
		u, err := a.Users.User(ctx, p.Tenant, user)
		if err != nil && p.Has(junctor.ScopeAdmin) {
			return err
		}
		if (err != nil || u.ID != p.User) && !p.Has(junctor.ScopeAdmin) {
			return junctor.Errorf(junctor.CodeDenied, "a key of another user can be made by an admin only")
		}
		n.User = u.ID
	case n.Agent == "" && p.Issuer == junctor.IssuerUser && !p.Has(junctor.ScopeAdmin):
		n.User = p.User
	}
	return nil
}
