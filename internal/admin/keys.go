package admin

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/identity"
)

// keyID is the path of one key.
type keyID struct {
	ID string `path:"id" doc:"The key's ID, or its name if no other active key has that name."`
}

// newKey is the request that makes a key.
type newKey struct {
	Body struct {
		Name      string          `json:"name" minLength:"1" maxLength:"100" doc:"Purpose of the key."`
		Scopes    []junctor.Scope `json:"scopes" doc:"Scopes of the key. The caller's own credential must have all of them."`
		User      string          `json:"user,omitempty" doc:"ID or name of the user who owns the key. The user's role limits the key's scopes."`
		Agent     string          `json:"agent,omitempty" doc:"Name of the agent that owns the key."`
		ExpiresAt time.Time       `json:"expires_at,omitzero" doc:"When the key expires. If absent, the key expires with the caller's own key, or never. It must not be later than the expiry of the caller's own key."`
	}
}

// rotation is the request that gives a key another token.
type rotation struct {
	ID   string `path:"id" doc:"The key's ID, or its name if no other active key has that name."`
	Body struct {
		GraceSeconds int64 `json:"grace_seconds,omitempty" minimum:"0" maximum:"604800" doc:"How long the previous token stays valid, in seconds."`
	}
}

// CreatedKey is a key with its token. Only the answers that create or rotate a key show
// the token.
type CreatedKey struct {
	junctor.Key
	Token string `json:"key" doc:"The key itself. It is not shown again."`
}

// newKeyResponse is the answer to newKey.
type newKeyResponse struct {
	Location string `header:"Location"`
	Body     CreatedKey
}

// tokenResponse is the answer to rotation.
type tokenResponse struct{ Body CreatedKey }

// keyQuery is the query of list-keys.
type keyQuery struct {
	ListQuery
	User  string `query:"user" maxLength:"100" doc:"Only the keys of this user, by id."`
	Agent string `query:"agent" maxLength:"300" doc:"Only the keys of this agent."`
}

// registerKeyRoutes registers the routes below /keys.
func (a *api) registerKeyRoutes() {
	tags := []string{"keys"}
	registerList(a, huma.Operation{
		OperationID: "list-keys", Method: http.MethodGet, Path: "/keys", Summary: "List keys: for admins all, for other users their own", Tags: tags,
	}, keyList(), func(ctx context.Context, in *keyQuery) ([]junctor.Key, error) {
		p := callerOf(ctx)
		keys, err := a.Keys.ListKeys(ctx, p.Tenant)
		keys = slices.DeleteFunc(keys, func(k junctor.Key) bool {
			return in.User != "" && k.User != in.User || in.Agent != "" && k.Agent != in.Agent || !a.Keys.CanManageKey(p, &k)
		})
		return keys, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "create-key", Method: http.MethodPost, Path: "/keys", Summary: "Create a key for a user, an agent or a service", Tags: tags,
		DefaultStatus: http.StatusCreated,
	}, a.createKey)
	registerRoute(a, huma.Operation{
		OperationID: "rotate-key", Method: http.MethodPost, Path: "/keys/{id}/rotate", Summary: "Replace the token of a key", Tags: tags,
	}, func(ctx context.Context, in *rotation) (*tokenResponse, error) {
		k, err := a.findManagedKey(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		if err := checkMayHold(callerOf(ctx), &k); err != nil {
			return nil, err
		}
		key, token, err := a.Keys.RotateKey(ctx, callerOf(ctx).Tenant, k.ID, time.Duration(in.Body.GraceSeconds)*time.Second)
		return &tokenResponse{CreatedKey{Key: key, Token: token}}, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "delete-key", Method: http.MethodDelete, Path: "/keys/{id}", Summary: "Revoke a key", Tags: tags,
		DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *keyID) (*empty, error) {
		k, err := a.findManagedKey(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		return &empty{}, a.Keys.RevokeKey(ctx, callerOf(ctx).Tenant, k.ID)
	})
}

// findManagedKey returns a key that the caller may change, by id or by name. Any other key
// is not_found, so that ids of other keys cannot be probed. If several keys have the name,
// it is that of the only one that is live; otherwise the error lists their ids.
func (a *api) findManagedKey(ctx context.Context, ref string) (junctor.Key, error) {
	keys, err := a.findKeys(ctx, ref)
	if err != nil {
		return junctor.Key{}, err
	}
	if len(keys) > 1 {
		now := time.Now()
		if live := slices.DeleteFunc(slices.Clone(keys), func(k junctor.Key) bool { return !k.Live(now) }); len(live) > 0 {
			keys = live
		}
	}
	switch len(keys) {
	case 0:
		return junctor.Key{}, junctor.Errorf(junctor.CodeNotFound, "key not found; junctor key ls lists the ids and names of the keys")
	case 1:
		return keys[0], nil
	}
	return junctor.Key{}, errSeveralKeys(ref, keys)
}

// errSeveralKeys is the error of a name that several keys have.
func errSeveralKeys(name string, keys []junctor.Key) error {
	ids := make([]string, len(keys))
	for i := range keys {
		ids[i] = keys[i].ID
	}
	return junctor.Errorf(junctor.CodeInvalid, "%d keys have the name %q; use one of these ids: %s", len(keys), name, strings.Join(ids, ", "))
}

// findKeys returns the keys that the caller may see and that ref means: the one with that
// id, or else all with that name, or else those whose token begins with it: lists show that
// part of a token as the prefix, with or without jct_.
func (a *api) findKeys(ctx context.Context, ref string) ([]junctor.Key, error) {
	p := callerOf(ctx)
	keys, err := a.Keys.ListKeys(ctx, p.Tenant)
	if err != nil {
		return nil, err
	}
	keys = slices.DeleteFunc(keys, func(k junctor.Key) bool { return !a.Keys.CanManageKey(p, &k) })
	if i := slices.IndexFunc(keys, func(k junctor.Key) bool { return k.ID == ref }); i >= 0 {
		return keys[i : i+1], nil
	}
	if named := slices.DeleteFunc(slices.Clone(keys), func(k junctor.Key) bool { return k.Name != ref }); len(named) > 0 {
		return named, nil
	}
	// The key that an operator chose has no prefix.
	return slices.DeleteFunc(keys, func(k junctor.Key) bool { return k.Prefix == "" || k.Prefix != ref && k.Prefix != "jct_"+ref }), nil
}

// checkMayHold refuses a caller who would gain more than their own credential has by the
// token of a key. That is a key that works for longer, that is another service, or that
// has scopes which the role of its user only suspends.
func checkMayHold(p *junctor.Principal, k *junctor.Key) error {
	if outlivesCaller(p, k.ExpiresAt) {
		return junctor.Errorf(junctor.CodeDenied, "the key %s expires later than the credential of the caller, which expires at %s; use a credential that does not expire before the key", k.ID, p.Expires.Format(time.RFC3339))
	}
	if p.Login != "" || p.Key == k.ID {
		return nil
	}
	if k.User == "" && k.Agent == "" && !p.Has(junctor.ScopeAdmin) {
		// A holder of its token is that service, with its servers and sessions.
		return junctor.Errorf(junctor.CodeDenied, "the key %s belongs to another service; rotate it with its own token, or with a credential that has the scope %s", k.ID, junctor.ScopeAdmin)
	}
	for _, s := range k.Scopes {
		if !p.Has(s) {
			return junctor.Errorf(junctor.CodeDenied, "the key %s has the scope %s, but the credential of the caller has only %s", k.ID, s, joinScopes(p.Scopes))
		}
	}
	return nil
}

// outlivesCaller reports whether a credential that expires at expires, or never if that is
// zero, would work for longer than the caller's own.
func outlivesCaller(p *junctor.Principal, expires time.Time) bool {
	return !p.Expires.IsZero() && (expires.IsZero() || expires.After(p.Expires))
}

// createKey handles create-key. A new key has only scopes that the caller has, and lives
// no longer than the caller's credential. Otherwise keys:write would amount to every
// scope, for ever.
func (a *api) createKey(ctx context.Context, in *newKey) (*newKeyResponse, error) {
	if err := junctor.CheckScopes(in.Body.Scopes); err != nil {
		return nil, err
	}
	p := callerOf(ctx)
	for _, s := range in.Body.Scopes {
		if !p.Has(s) {
			return nil, junctor.Errorf(junctor.CodeDenied, "only a credential with the scope %s can create a key with that scope; this credential has %s", s, joinScopes(p.Scopes))
		}
	}
	n := identity.NewKey{Name: in.Body.Name, Agent: in.Body.Agent, Scopes: in.Body.Scopes, ExpiresAt: in.Body.ExpiresAt}
	switch { // a stolen key that expires must not make keys that outlast it
	case n.ExpiresAt.IsZero():
		n.ExpiresAt = p.Expires
	case outlivesCaller(p, n.ExpiresAt):
		return nil, junctor.Errorf(junctor.CodeDenied, "expires_at is later than %s, when the credential of the caller expires; use an earlier time", p.Expires.Format(time.RFC3339))
	}
	if err := a.setKeyOwner(ctx, p, &n, in.Body.User); err != nil {
		return nil, err
	}
	key, token, err := a.Keys.CreateKey(ctx, p.Tenant, n)
	if err != nil {
		return nil, err
	}
	return &newKeyResponse{Location: Prefix + "/keys/" + key.ID, Body: CreatedKey{Key: key, Token: token}}, nil
}

// setKeyOwner sets the user of a new key. An admin names any user. Others make keys for
// themselves, or for an agent that they own.
func (a *api) setKeyOwner(ctx context.Context, p *junctor.Principal, n *identity.NewKey, user string) error {
	if n.Agent != "" {
		owner, err := a.Keys.AgentOwner(p.Tenant, n.Agent)
		if err == nil && owner != p.ID() && !p.Has(junctor.ScopeAdmin) {
			err = junctor.Errorf(junctor.CodeDenied, "only the owner of the agent %s or an admin can create a key for it", n.Agent)
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
			return junctor.Errorf(junctor.CodeDenied, "only an admin can create a key for another user")
		}
		n.User = u.ID
	case n.Agent == "" && p.Issuer == junctor.IssuerUser && !p.Has(junctor.ScopeAdmin):
		n.User = p.User
	}
	return nil
}

// keyList is the shape of list-keys.
func keyList() listShape[junctor.Key] {
	return listShape[junctor.Key]{
		id: func(v *junctor.Key) string { return v.ID },
		orders: []listOrder[junctor.Key]{
			byTime("created_at", func(v *junctor.Key) time.Time { return v.CreatedAt }),
			byText("name", func(v *junctor.Key) string { return v.Name }),
			byText("user", func(v *junctor.Key) string { return v.User }),
			byText("agent", func(v *junctor.Key) string { return v.Agent }),
			byTime("expires_at", func(v *junctor.Key) time.Time { return v.ExpiresAt }),
			byTime("last_used_at", func(v *junctor.Key) time.Time { return v.LastUsedAt }),
		},
		text: func(v *junctor.Key) []string { return []string{v.ID, v.Name, v.Agent, v.Prefix} },
	}
}
