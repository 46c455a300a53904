package admin

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
)

// Logins is the sessions of people in browsers.
type Logins interface {
	// ListLogins lists those that are live, of one user by id or, with "", of all.
	ListLogins(ctx context.Context, tenant junctor.TenantID, user string) ([]junctor.Login, error)
	RevokeLogin(ctx context.Context, tenant junctor.TenantID, id string) error
}

type loginQuery struct {
	User string `query:"user" maxLength:"100" doc:"Only the logins of this user, by id or name."`
}

type loginID struct {
	ID string `path:"id" doc:"The login's id."`
}

func (a *api) loginRoutes() {
	tags := []string{"logins"}
	route(a, huma.Operation{
		OperationID: "list-logins", Method: http.MethodGet, Path: "/logins", Summary: "List logins that are live: an admin all, others their own", Tags: tags,
	}, func(ctx context.Context, in *loginQuery) (*pageOf[junctor.Login], error) {
		logins, err := a.logins(ctx, in.User)
		return newPage(logins, ""), err
	})
	route(a, huma.Operation{
		OperationID: "delete-login", Method: http.MethodDelete, Path: "/logins/{id}", Summary: "End a login", Tags: tags,
		DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *loginID) (*none, error) {
		logins, err := a.logins(ctx, "")
		if err == nil && !slices.ContainsFunc(logins, func(l junctor.Login) bool { return l.ID == in.ID }) {
			err = junctor.Errorf(junctor.CodeNotFound, "there is no such login; junctor login ls shows their ids")
		}
		if err != nil {
			return nil, err
		}
		return &none{}, a.Logins.RevokeLogin(ctx, caller(ctx).Tenant, in.ID)
	})
}

// logins lists what the caller may see, of the one user where one is named.
func (a *api) logins(ctx context.Context, user string) ([]junctor.Login, error) {
	user, some, err := a.whose(ctx, user)
	if err != nil || !some {
		return nil, err
	}
	return a.Logins.ListLogins(ctx, caller(ctx).Tenant, user)
}

// whose says of whom the caller may see what belongs to people: of the user that
// is named, and else of all ("") or of themselves; some is false where it is of
// nobody.
func (a *api) whose(ctx context.Context, user string) (id string, some bool, err error) {
	p := caller(ctx)
	own := ""
	if !p.Has(junctor.ScopeAdmin) {
		if own = person(p); own == "" {
			return "", false, nil
		}
		if err := a.whole(ctx, p); err != nil {
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

// whole refuses a key that has less than its user's role: what a person has signed
// in with, and which programs they let in, is not for a key with a few scopes.
func (a *api) whole(ctx context.Context, p *junctor.Principal) error {
	if p.Login != "" {
		return nil
	}
	u, err := a.Users.User(ctx, p.Tenant, p.User)
	if err != nil {
		return err
	}
	for _, s := range u.Role.Scopes() {
		if !p.Has(s) {
			return junctor.Errorf(junctor.CodeDenied, "this is for a browser login, or a key with all scopes of its user's role: the key lacks %s", s)
		}
	}
	return nil
}

// person is the id of the user that a principal is, and not merely acts for.
func person(p *junctor.Principal) string {
	if p.Issuer != junctor.IssuerUser {
		return ""
	}
	return p.User
}
