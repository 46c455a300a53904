package admin

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/identity"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// Users is what can be done with the people of a tenant. Except where it says
// otherwise they are named by id.
type Users interface {
	CreateUser(ctx context.Context, tenant junctor.TenantID, n identity.NewUser) (junctor.User, error)
	ListUsers(ctx context.Context, tenant junctor.TenantID) ([]junctor.User, error)
	// User gives one by id or by name.
	User(ctx context.Context, tenant junctor.TenantID, who string) (junctor.User, error)
	ChangeUser(ctx context.Context, tenant junctor.TenantID, id string, change func(*junctor.User) error) (junctor.User, error)
	// RemoveUser deletes one for good. What others use of theirs goes to p.
	RemoveUser(ctx context.Context, p *junctor.Principal, id string) (RemovedUser, error)
	// SetPassword ends the user's logins except the one that is named.
	SetPassword(ctx context.Context, tenant junctor.TenantID, id, password, except string) error
	SamePassword(ctx context.Context, tenant junctor.TenantID, id, password string) (bool, error)
	// CreateLink gives an address that signs the user in, once and soon.
	CreateLink(ctx context.Context, tenant junctor.TenantID, id string) (url string, expires time.Time, err error)
}

// RemovedUser is what became of what a user had.
type RemovedUser struct {
	User           string   `json:"user" doc:"The user's id."`
	RemovedServers []string `json:"removed_servers" nullable:"false" doc:"Servers that the user alone saw; they are gone, with their credentials."`
	Servers        []string `json:"servers" nullable:"false" doc:"Servers that the caller owns now."`
	Agents         []string `json:"agents" nullable:"false" doc:"Agents that the caller owns now. Their keys work on: rotate those that the user knew."`
}

// SignInLink signs a user in, once.
type SignInLink struct {
	URL       string    `json:"url" doc:"To be opened in a browser. Whoever has it is let in."`
	ExpiresAt time.Time `json:"expires_at"`
}

type userRef struct {
	User string `path:"user" maxLength:"100" doc:"The user's id or name."`
}

type newUser struct {
	Body struct {
		Name    string           `json:"name" minLength:"1" maxLength:"100" doc:"To sign in with, such as an e-mail address."`
		Role    junctor.UserRole `json:"role,omitempty" doc:"What the user may do; absent for viewer."`
		Sources junctor.Sources  `json:"sources,omitempty" doc:"Whose tools the user's default door shows; absent for both."`
		Tier    string           `json:"tier,omitempty" maxLength:"40" doc:"How much the user may do; absent for free."`
	}
}

type userPatch struct {
	Precondition
	User string `path:"user" maxLength:"100" doc:"The user's id or name."`
	Body struct {
		Name     *string           `json:"name,omitempty" minLength:"1" maxLength:"100"`
		Role     *junctor.UserRole `json:"role,omitempty"`
		Sources  *junctor.Sources  `json:"sources,omitempty"`
		Tier     *string           `json:"tier,omitempty" maxLength:"40"`
		Disabled *bool             `json:"disabled,omitempty" doc:"Whether the user's keys and logins open nothing."`
	}
}

type newPassword struct {
	User string `path:"user" maxLength:"100" doc:"The user's id or name."`
	Body struct {
		Password seal.Secret `json:"password" doc:"12 characters or more. Only its hash is kept."`
	}
}

type oneUser = versioned[junctor.User]

type createdUser struct {
	Location string `header:"Location"`
	ETag     string `header:"ETag"`
	Body     junctor.User
}

type removedUser struct{ Body RemovedUser }

type oneLink struct{ Body SignInLink }

func (a *api) userRoutes() {
	tags := []string{"users"}
	route(a, huma.Operation{
		OperationID: "list-users", Method: http.MethodGet, Path: "/users", Summary: "List users", Tags: tags,
	}, func(ctx context.Context, _ *none) (*pageOf[junctor.User], error) {
		users, err := a.Users.ListUsers(ctx, caller(ctx).Tenant)
		return newPage(users, ""), err
	})
	route(a, huma.Operation{
		OperationID: "create-user", Method: http.MethodPost, Path: "/users", Summary: "Add a user", Tags: tags, DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, in *newUser) (*createdUser, error) {
		n := identity.NewUser{Name: in.Body.Name, Role: in.Body.Role, Sources: in.Body.Sources, Tier: in.Body.Tier}
		if n.Role == "" {
			n.Role = junctor.UserViewer
		}
		u, err := a.Users.CreateUser(ctx, caller(ctx).Tenant, n)
		return &createdUser{Location: Prefix + "/users/" + u.ID, ETag: tagOf(u.UpdatedAt), Body: u}, err
	})
	route(a, huma.Operation{
		OperationID: "get-user", Method: http.MethodGet, Path: "/users/{user}", Summary: "Show a user", Tags: tags,
	}, func(ctx context.Context, in *userRef) (*oneUser, error) {
		u, err := a.Users.User(ctx, caller(ctx).Tenant, in.User)
		return withVersion(u, u.UpdatedAt), err
	})
	route(a, huma.Operation{
		OperationID: "patch-user", Method: http.MethodPatch, Path: "/users/{user}", Summary: "Change a user, or switch one off", Tags: tags,
	}, a.patchUser)
	route(a, huma.Operation{
		OperationID: "delete-user", Method: http.MethodDelete, Path: "/users/{user}", Summary: "Delete a user for good", Tags: tags,
	}, func(ctx context.Context, in *userRef) (*removedUser, error) {
		u, err := a.Users.User(ctx, caller(ctx).Tenant, in.User)
		if err != nil {
			return nil, err
		}
		removed, err := a.Users.RemoveUser(ctx, caller(ctx), u.ID)
		return &removedUser{removed}, err
	})
	route(a, huma.Operation{
		OperationID: "put-user-password", Method: http.MethodPut, Path: "/users/{user}/password", Summary: "Set a user's password, and sign them out", Tags: tags,
		DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *newPassword) (*none, error) {
		p := caller(ctx)
		u, err := a.Users.User(ctx, p.Tenant, in.User)
		if err != nil {
			return nil, err
		}
		return &none{}, a.Users.SetPassword(ctx, p.Tenant, u.ID, in.Body.Password.Reveal(), "")
	})
	route(a, huma.Operation{
		OperationID: "create-user-link", Method: http.MethodPost, Path: "/users/{user}/link", Summary: "Make a link that signs a user in once", Tags: tags,
	}, func(ctx context.Context, in *userRef) (*oneLink, error) {
		p := caller(ctx)
		u, err := a.Users.User(ctx, p.Tenant, in.User)
		if err != nil {
			return nil, err
		}
		if u.Disabled {
			return nil, junctor.Errorf(junctor.CodeConflict, "the user %s is disabled: switch them on first", u.Name)
		}
		url, expires, err := a.Users.CreateLink(ctx, p.Tenant, u.ID)
		return &oneLink{SignInLink{url, expires}}, err
	})
}

func (a *api) patchUser(ctx context.Context, in *userPatch) (*oneUser, error) {
	p := caller(ctx)
	u, err := a.Users.User(ctx, p.Tenant, in.User)
	if err != nil {
		return nil, err
	}
	b := &in.Body
	if b.Name == nil && b.Role == nil && b.Sources == nil && b.Tier == nil && b.Disabled == nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "the change is empty: say what is to be changed, such as role")
	}
	id := u.ID
	u, err = a.Users.ChangeUser(ctx, p.Tenant, id, func(u *junctor.User) error {
		if err := in.check(u.UpdatedAt); err != nil {
			return err
		}
		u.UpdatedBy = p.ID()
		put(&u.Name, b.Name)
		put(&u.Role, b.Role)
		put(&u.Sources, b.Sources)
		put(&u.Tier, b.Tier)
		put(&u.Disabled, b.Disabled)
		return nil
	})
	return withVersion(u, u.UpdatedAt), a.refuse(ctx, err, a.storedUser(ctx, id))
}

// storedUser reads a user for whom a change was refused.
func (a *api) storedUser(ctx context.Context, id string) func() (stored, error) {
	return func() (stored, error) {
		u, err := a.Users.User(ctx, caller(ctx).Tenant, id)
		return stored{fmt.Sprintf("the user %q", u.Name), u, u.UpdatedAt, u.UpdatedBy}, err
	}
}

// put changes a value where there is a new one.
func put[T any](at *T, value *T) {
	if value != nil {
		*at = *value
	}
}
