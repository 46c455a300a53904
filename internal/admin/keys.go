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
		ExpiresAt time.Time       `json:"expires_at,omitzero" doc:"When the key stops working; absent for never, or, if the caller's own key expires, for when that does. No later than that."`
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
		k, err := a.managed(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		if err := mayHold(caller(ctx), &k); err != nil {
			return nil, err
		}
		key, token, err := a.Keys.RotateKey(ctx, caller(ctx).Tenant, in.ID, time.Duration(in.Body.GraceSeconds)*time.Second)
		return &oneToken{CreatedKey{Key: key, Token: token}}, err
	})
	route(a, huma.Operation{
		OperationID: "delete-key", Method: http.MethodDelete, Path: "/keys/{id}", Summary: "Revoke a key", Tags: tags,
		DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *keyID) (*none, error) {
		if _, err := a.managed(ctx, in.ID); err != nil {
			return nil, err
		}
		return &none{}, a.Keys.RevokeKey(ctx, caller(ctx).Tenant, in.ID)
	})
}

// managed gives a key that is the caller's to change. Any other is refused as if
// there were none.
func (a *api) managed(ctx context.Context, id string) (junctor.Key, error) {
	p := caller(ctx)
	keys, err := a.Keys.ListKeys(ctx, p.Tenant)
	if err != nil {
		return junctor.Key{}, err
	}
	i := slices.IndexFunc(keys, func(k junctor.Key) bool { return k.ID == id && a.Keys.Manages(p, &k) })
	if i < 0 {
		return junctor.Key{}, junctor.Errorf(junctor.CodeNotFound, "there is no such key; junctor key ls shows their ids")
	}
	return keys[i], nil
}

// mayHold refuses a caller who would hold more than their own credential by the
// token of a key: one that works for longer, that is another service, or that has
// scopes which its user's role merely suspends.
func mayHold(p *junctor.Principal, k *junctor.Key) error {
	if outlives(p, k.ExpiresAt) {
		return junctor.Errorf(junctor.CodeDenied, "the key %s works for longer than the credential of the caller, which expires at %s: rotate it with one that does not expire before", k.ID, p.Expires.Format(time.RFC3339))
	}
	if p.Login != "" || p.Key == k.ID {
		return nil
	}
	if k.User == "" && k.Agent == "" && !p.Has(junctor.ScopeAdmin) {
		// Who has its token is that service, with what it owns and has open.
		return junctor.Errorf(junctor.CodeDenied, "the key %s is another service: rotate it with its own token, or with the scope %s", k.ID, junctor.ScopeAdmin)
	}
	for _, s := range k.Scopes {
		if !p.Has(s) {
			return junctor.Errorf(junctor.CodeDenied, "the key %s was made with the scope %s, which the credential of the caller lacks; it has %s", k.ID, s, list(p.Scopes))
		}
	}
	return nil
}

// outlives says whether something that ends at expires, or never where that is
// zero, would work for longer than the caller's credential.
func outlives(p *junctor.Principal, expires time.Time) bool {
	return !p.Expires.IsZero() && (expires.IsZero() || expires.After(p.Expires))
}

// createKey gives away only what the caller has, and for no longer: otherwise
// keys:write would be every scope, for ever, in disguise.
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
	switch { // a key that was stolen for an hour must not last for longer by its children
	case n.ExpiresAt.IsZero():
		n.ExpiresAt = p.Expires
	case outlives(p, n.ExpiresAt):
		return nil, junctor.Errorf(junctor.CodeDenied, "expires_at is later than %s, when the key that makes this one expires: name an earlier time, or none", p.Expires.Format(time.RFC3339))
	}
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
