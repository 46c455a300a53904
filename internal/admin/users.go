package admin

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/identity"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// Users manages the users of a tenant. Users are named by id, except where a method says
// otherwise.
type Users interface {
	// CreateUser stores a new user; conflict if the name is taken.
	CreateUser(ctx context.Context, tenant junctor.TenantID, n identity.NewUser) (junctor.User, error)
	// ListUsers lists the users of a tenant by name.
	ListUsers(ctx context.Context, tenant junctor.TenantID) ([]junctor.User, error)
	// User returns a user by id or by name.
	User(ctx context.Context, tenant junctor.TenantID, who string) (junctor.User, error)
	// ChangeUser runs change on the stored user and stores the result. change may run more
	// than once.
	ChangeUser(ctx context.Context, tenant junctor.TenantID, id string, change func(*junctor.User) error) (junctor.User, error)
	// RemoveUser deletes a user for good. Servers and agents of the user that others use
	// go to p.
	RemoveUser(ctx context.Context, p *junctor.Principal, id string) (identity.RemovedUser, error)
	// SetPassword sets a password and ends the user's logins, except the one with the id
	// except.
	SetPassword(ctx context.Context, tenant junctor.TenantID, id, password, except string) error
	// CheckPassword reports whether a password is the user's. The caller has to count the
	// attempt with TryPassword first.
	CheckPassword(ctx context.Context, tenant junctor.TenantID, id, password string) (bool, error)
	// CreateLink returns an address that signs the user in, once and for a short time.
	CreateLink(ctx context.Context, tenant junctor.TenantID, id string) (url string, expires time.Time, err error)
}

// SignInLink is an address that signs a user in, once.
type SignInLink struct {
	URL       string    `json:"url" doc:"Sign-in URL to open in a browser. Anyone who has it can sign in."`
	ExpiresAt time.Time `json:"expires_at"`
}

// userRef is the path of one user.
type userRef struct {
	User string `path:"user" maxLength:"100" doc:"The user's id or name."`
}

// newUser is the request that adds a user.
type newUser struct {
	Body struct {
		Name    string           `json:"name" minLength:"1" maxLength:"100" doc:"Name to sign in with, such as an e-mail address."`
		Role    junctor.UserRole `json:"role,omitempty" doc:"Role of the user. By default viewer."`
		Sources junctor.Sources  `json:"sources,omitempty" doc:"Owners whose tools the user's default endpoint shows. By default both."`
		Tier    string           `json:"tier,omitempty" maxLength:"40" doc:"Tier that sets the user's limits. By default free."`
	}
}

// userPatch is the request that changes a user.
type userPatch struct {
	Precondition
	User string `path:"user" maxLength:"100" doc:"The user's id or name."`
	Body struct {
		Name     *string           `json:"name,omitempty" minLength:"1" maxLength:"100"`
		Role     *junctor.UserRole `json:"role,omitempty"`
		Sources  *junctor.Sources  `json:"sources,omitempty"`
		Tier     *string           `json:"tier,omitempty" maxLength:"40"`
		Disabled *bool             `json:"disabled,omitempty" doc:"Whether the user's keys and logins are rejected."`
	}
}

// newPassword is the request that sets a user's password.
type newPassword struct {
	User string `path:"user" maxLength:"100" doc:"The user's id or name."`
	Body struct {
		Password seal.Secret `json:"password" doc:"New password, at least 12 characters. Only its hash is stored."`
	}
}

// userResponse is one user with its version.
type userResponse = versionedResponse[junctor.User]

// createdUser is the answer to newUser.
type createdUser struct {
	Location string `header:"Location"`
	ETag     string `header:"ETag"`
	Body     junctor.User
}

// removedUserResponse is the answer to delete-user.
type removedUserResponse struct{ Body identity.RemovedUser }

// linkResponse is the answer to create-user-link.
type linkResponse struct{ Body SignInLink }

// userQuery is the query of list-users.
type userQuery struct {
	ListQuery
	Role junctor.UserRole `query:"role" doc:"Only users with this role."`
}

// registerUserRoutes registers the routes below /users, for admins.
func (a *api) registerUserRoutes() {
	tags := []string{"users"}
	registerList(a, huma.Operation{
		OperationID: "list-users", Method: http.MethodGet, Path: "/users", Summary: "List users", Tags: tags,
	}, userList(), func(ctx context.Context, in *userQuery) ([]junctor.User, error) {
		users, err := a.Users.ListUsers(ctx, callerOf(ctx).Tenant)
		return slices.DeleteFunc(users, func(u junctor.User) bool { return in.Role != "" && u.Role != in.Role }), err
	})
	registerRoute(a, huma.Operation{
		OperationID: "create-user", Method: http.MethodPost, Path: "/users", Summary: "Add a user", Tags: tags, DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, in *newUser) (*createdUser, error) {
		n := identity.NewUser{Name: in.Body.Name, Role: in.Body.Role, Sources: in.Body.Sources, Tier: in.Body.Tier}
		if n.Role == "" {
			n.Role = junctor.UserViewer
		}
		u, err := a.Users.CreateUser(ctx, callerOf(ctx).Tenant, n)
		return &createdUser{Location: Prefix + "/users/" + u.ID, ETag: etagOf(u.UpdatedAt), Body: u}, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "get-user", Method: http.MethodGet, Path: "/users/{user}", Summary: "Show a user", Tags: tags,
	}, func(ctx context.Context, in *userRef) (*userResponse, error) {
		u, err := a.Users.User(ctx, callerOf(ctx).Tenant, in.User)
		return withVersion(u, u.UpdatedAt), err
	})
	registerRoute(a, huma.Operation{
		OperationID: "patch-user", Method: http.MethodPatch, Path: "/users/{user}", Summary: "Change, enable or disable a user", Tags: tags,
	}, a.patchUser)
	registerRoute(a, huma.Operation{
		OperationID: "delete-user", Method: http.MethodDelete, Path: "/users/{user}", Summary: "Delete a user permanently", Tags: tags,
	}, func(ctx context.Context, in *userRef) (*removedUserResponse, error) {
		u, err := a.Users.User(ctx, callerOf(ctx).Tenant, in.User)
		if err != nil {
			return nil, err
		}
		removed, err := a.Users.RemoveUser(ctx, callerOf(ctx), u.ID)
		return &removedUserResponse{removed}, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "put-user-password", Method: http.MethodPut, Path: "/users/{user}/password", Summary: "Set a user's password, and end their logins", Tags: tags,
		DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *newPassword) (*empty, error) {
		p := callerOf(ctx)
		u, err := a.Users.User(ctx, p.Tenant, in.User)
		if err != nil {
			return nil, err
		}
		return &empty{}, a.Users.SetPassword(ctx, p.Tenant, u.ID, in.Body.Password.Reveal(), "")
	})
	registerRoute(a, huma.Operation{
		OperationID: "create-user-link", Method: http.MethodPost, Path: "/users/{user}/link", Summary: "Create a one-time sign-in link for a user", Tags: tags,
	}, func(ctx context.Context, in *userRef) (*linkResponse, error) {
		p := callerOf(ctx)
		u, err := a.Users.User(ctx, p.Tenant, in.User)
		if err != nil {
			return nil, err
		}
		if u.Disabled {
			return nil, junctor.Errorf(junctor.CodeConflict, "the user %s is disabled; enable the user first", u.Name)
		}
		url, expires, err := a.Users.CreateLink(ctx, p.Tenant, u.ID)
		return &linkResponse{SignInLink{url, expires}}, err
	})
}

// patchUser handles patch-user. It resolves a name to an id first, because the change may
// rename the user.
func (a *api) patchUser(ctx context.Context, in *userPatch) (*userResponse, error) {
	p := callerOf(ctx)
	u, err := a.Users.User(ctx, p.Tenant, in.User)
	if err != nil {
		return nil, err
	}
	b := &in.Body
	if b.Name == nil && b.Role == nil && b.Sources == nil && b.Tier == nil && b.Disabled == nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "the change is empty; send at least one field to change, such as role")
	}
	id := u.ID
	u, err = a.Users.ChangeUser(ctx, p.Tenant, id, func(u *junctor.User) error {
		if err := in.checkVersion(u.UpdatedAt); err != nil {
			return err
		}
		u.UpdatedBy = p.ID()
		setIfGiven(&u.Name, b.Name)
		setIfGiven(&u.Role, b.Role)
		setIfGiven(&u.Sources, b.Sources)
		setIfGiven(&u.Tier, b.Tier)
		setIfGiven(&u.Disabled, b.Disabled)
		return nil
	})
	return withVersion(u, u.UpdatedAt), a.explainConflict(ctx, err, a.storedUser(ctx, id))
}

// storedUser returns the function that reads a user for explainConflict.
func (a *api) storedUser(ctx context.Context, id string) func() (storedVersion, error) {
	return func() (storedVersion, error) {
		u, err := a.Users.User(ctx, callerOf(ctx).Tenant, id)
		return storedVersion{fmt.Sprintf("the user %q", u.Name), u, u.UpdatedAt, u.UpdatedBy}, err
	}
}

// userList is the shape of list-users.
func userList() listShape[junctor.User] {
	return listShape[junctor.User]{
		id: func(v *junctor.User) string { return v.ID },
		orders: []listOrder[junctor.User]{
			byText("name", func(v *junctor.User) string { return v.Name }),
			byText("role", func(v *junctor.User) string { return string(v.Role) }),
			byText("tier", func(v *junctor.User) string { return v.Tier }),
			byTime("created_at", func(v *junctor.User) time.Time { return v.CreatedAt }),
			byTime("updated_at", func(v *junctor.User) time.Time { return v.UpdatedAt }),
		},
		text: func(v *junctor.User) []string { return []string{v.ID, v.Name} },
	}
}
