package identity

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// firstUser is the name of the user who signs in before any was added.
const firstUser = "admin"

// StartLink is an address that the start of an instance gives, so that its operator can
// sign in. It works once, until ExpiresAt, until the next start, or until anybody signs
// in.
type StartLink struct {
	URL       string
	ExpiresAt time.Time
}

// CreateStartLink returns an address that signs an admin in, and ends those of former
// starts. If there are no users yet, it adds one. The link is empty if somebody has signed
// in before, unless always is set, and if no user is an admin.
func (d *Directory) CreateStartLink(ctx context.Context, always bool) (StartLink, error) {
	if signedIn, err := d.HasSignedIn(ctx, junctor.DefaultTenant); err != nil || signedIn && !always {
		return StartLink{}, err
	}
	user, err := d.chooseStartUser(ctx)
	if err != nil || user == "" {
		return StartLink{}, err
	}
	token, expires, err := d.createStartLink(ctx, junctor.DefaultTenant, user)
	if err != nil {
		return StartLink{}, err
	}
	query := url.Values{"token": {token}}.Encode() + "&" + url.Values{"next": {"/start"}}.Encode() // where the first steps are
	return StartLink{URL: d.o.ConsoleURL() + "/login?" + query, ExpiresAt: expires}, nil
}

// chooseStartUser returns the id of the user whom a start lets in: of the admins the one
// named firstUser, or else the oldest; "" if there are users and none is an admin.
func (d *Directory) chooseStartUser(ctx context.Context) (string, error) {
	users, err := d.ListUsers(ctx, junctor.DefaultTenant)
	if err != nil {
		return "", err
	}
	if len(users) == 0 {
		u, err := d.CreateUser(ctx, junctor.DefaultTenant, NewUser{Name: firstUser, Role: junctor.UserAdmin})
		if junctor.CodeOf(err) == junctor.CodeConflict { // another replica was first
			u, err = d.UserByName(ctx, junctor.DefaultTenant, firstUser)
		}
		return u.ID, err
	}
	users = slices.DeleteFunc(users, func(u junctor.User) bool { return u.Role != junctor.UserAdmin || u.Disabled })
	if len(users) == 0 {
		return "", nil
	}
	rank := func(u junctor.User) int {
		if u.Name == firstUser {
			return 0
		}
		return 1
	}
	return slices.MinFunc(users, func(a, b junctor.User) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	}).ID, nil
}
