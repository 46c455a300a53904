package admin

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
)

// Logins are the sessions of users in browsers.
type Logins interface {
	// ListLogins lists the live logins of one user by id or, with "", of all users.
	ListLogins(ctx context.Context, tenant junctor.TenantID, user string) ([]junctor.Login, error)
	// RevokeLogin ends a login; not_found if the tenant has none with that id.
	RevokeLogin(ctx context.Context, tenant junctor.TenantID, id string) error
}

// loginQuery is the query of list-logins.
type loginQuery struct {
	ListQuery
	User string `query:"user" maxLength:"100" doc:"Only the logins of this user, by id or name."`
}

// loginID is the path of one login.
type loginID struct {
	ID string `path:"id" doc:"The login's id."`
}

// registerLoginRoutes registers the routes below /logins.
func (a *api) registerLoginRoutes() {
	tags := []string{"logins"}
	registerList(a, huma.Operation{
		OperationID: "list-logins", Method: http.MethodGet, Path: "/logins", Summary: "List active logins: for admins all, for other users their own", Tags: tags,
	}, loginList(), func(ctx context.Context, in *loginQuery) ([]junctor.Login, error) {
		logins, err := a.listLogins(ctx, in.User)
		return logins, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "delete-login", Method: http.MethodDelete, Path: "/logins/{id}", Summary: "End a login", Tags: tags,
		DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *loginID) (*empty, error) {
		logins, err := a.listLogins(ctx, "")
		if err == nil && !slices.ContainsFunc(logins, func(l junctor.Login) bool { return l.ID == in.ID }) {
			err = junctor.Errorf(junctor.CodeNotFound, "login not found; junctor login ls lists the ids of the logins")
		}
		if err != nil {
			return nil, err
		}
		return &empty{}, a.Logins.RevokeLogin(ctx, callerOf(ctx).Tenant, in.ID)
	})
}

// listLogins lists the logins that the caller may see, of one user if one is named.
// resolveUserFilter says which those are.
func (a *api) listLogins(ctx context.Context, user string) ([]junctor.Login, error) {
	user, some, err := a.resolveUserFilter(ctx, user)
	if err != nil || !some {
		return nil, err
	}
	return a.Logins.ListLogins(ctx, callerOf(ctx).Tenant, user)
}

// resolveUserFilter returns the id of the user whose logins or consents the caller may
// list. user is the name or id in the request, or "". An admin may list those of any user,
// and without a user those of all: then id is "". Others may list their own. some is false
// if the caller may list nothing.
func (a *api) resolveUserFilter(ctx context.Context, user string) (id string, some bool, err error) {
	p := callerOf(ctx)
	own := ""
	if !p.Has(junctor.ScopeAdmin) {
		if own = callerUserID(p); own == "" {
			return "", false, nil
		}
		if err := a.requireFullRole(ctx, p); err != nil {
			return "", false, err
		}
	}
	if user != "" {
		u, err := a.Users.User(ctx, p.Tenant, user)
		if err != nil || own != "" && own != u.ID {
			return "", false, err
		}
		own = u.ID
	}
	return own, true, nil
}

// requireFullRole refuses a key that has fewer scopes than its user's role. The logins of
// a user, and the programs that act for them, are not for a key with a few scopes.
func (a *api) requireFullRole(ctx context.Context, p *junctor.Principal) error {
	if p.Login != "" {
		return nil
	}
	u, err := a.Users.User(ctx, p.Tenant, p.User)
	if err != nil {
		return err
	}
	for _, s := range u.Role.Scopes() {
		if !p.Has(s) {
			return junctor.Errorf(junctor.CodeDenied, "this operation requires a browser login, or a key with all scopes of its user's role; the key lacks %s", s)
		}
	}
	return nil
}

// callerUserID returns the id of the user that a principal is; "" for an agent or a
// program that only acts for one.
func callerUserID(p *junctor.Principal) string {
	if p.Issuer != junctor.IssuerUser {
		return ""
	}
	return p.User
}

// loginList is the shape of list-logins.
func loginList() listShape[junctor.Login] {
	return listShape[junctor.Login]{
		id: func(v *junctor.Login) string { return v.ID },
		orders: []listOrder[junctor.Login]{
			byTime("created_at", func(v *junctor.Login) time.Time { return v.CreatedAt }),
			byTime("expires_at", func(v *junctor.Login) time.Time { return v.ExpiresAt }),
			byTime("last_used_at", func(v *junctor.Login) time.Time { return v.LastUsedAt }),
			byText("user", func(v *junctor.Login) string { return v.User }),
		},
		text: func(v *junctor.Login) []string { return []string{v.ID, v.User, v.How} },
	}
}
