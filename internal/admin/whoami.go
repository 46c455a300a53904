package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// Whoami is who the credential says is asking.
type Whoami struct {
	Tenant  junctor.TenantID `json:"tenant"`
	Issuer  string           `json:"issuer" doc:"Who vouches: agent, user, key for a service, local for the operator's socket, or an identity provider."`
	Subject string           `json:"subject"`
	Name    string           `json:"name,omitempty"`
	Scopes  []junctor.Scope  `json:"scopes"`
	Agent   string           `json:"agent,omitempty" doc:"The agent that it is, by name."`
	User    string           `json:"user,omitempty" doc:"The user that it is or acts for, by id."`
	Key     string           `json:"key,omitempty" doc:"The key that was shown, by id."`
	Login   string           `json:"login,omitempty" doc:"The browser's login, by id."`
}

// Me is the caller, and the user that the caller is.
type Me struct {
	Whoami
	Person *junctor.User `json:"person,omitempty" doc:"Absent where the caller is no user."`
}

type oneWhoami struct{ Body Whoami }

type oneMe struct{ Body Me }

type mySources struct {
	Precondition
	Body struct {
		Sources junctor.Sources `json:"sources" doc:"Whose tools the default door shows, beside the built-in ones."`
	}
}

type myPassword struct {
	Body struct {
		Current  seal.Secret `json:"current,omitzero" doc:"The password until now; needed where there is one."`
		Password seal.Secret `json:"password" doc:"12 characters or more. Only its hash is kept."`
	}
}

func whoami(p *junctor.Principal) Whoami {
	return Whoami{
		Tenant: p.Tenant, Issuer: p.Issuer, Subject: p.Subject, Name: p.Name, Scopes: append([]junctor.Scope{}, p.Scopes...),
		Agent: p.Agent, User: p.User, Key: p.Key, Login: p.Login,
	}
}

func (a *api) meRoutes() {
	tags := []string{"me"}
	route(a, huma.Operation{
		OperationID: "get-whoami", Method: http.MethodGet, Path: "/whoami", Summary: "Say who is asking", Tags: tags,
	}, func(ctx context.Context, _ *none) (*oneWhoami, error) {
		return &oneWhoami{whoami(caller(ctx))}, nil
	})
	route(a, huma.Operation{
		OperationID: "get-me", Method: http.MethodGet, Path: "/me", Summary: "Say who is asking, and what they chose", Tags: tags,
	}, func(ctx context.Context, _ *none) (*oneMe, error) {
		p := caller(ctx)
		me := Me{Whoami: whoami(p)}
		if id := person(p); id != "" {
			u, err := a.Users.User(ctx, p.Tenant, id)
			if err != nil {
				return nil, err
			}
			me.Person = &u
		}
		return &oneMe{me}, nil
	})
	route(a, huma.Operation{
		OperationID: "put-my-sources", Method: http.MethodPut, Path: "/me/sources", Summary: "Choose whose tools my default door shows", Tags: tags,
	}, func(ctx context.Context, in *mySources) (*oneUser, error) {
		p := caller(ctx)
		id, err := mustBePerson(p)
		if err != nil {
			return nil, err
		}
		u, err := a.Users.ChangeUser(ctx, p.Tenant, id, func(u *junctor.User) error {
			if err := in.check(u.UpdatedAt); err != nil {
				return err
			}
			u.Sources, u.UpdatedBy = in.Body.Sources, p.ID()
			return nil
		})
		return withVersion(u, u.UpdatedAt), a.refuse(ctx, err, a.storedUser(ctx, id))
	})
	route(a, huma.Operation{
		OperationID: "put-my-password", Method: http.MethodPut, Path: "/me/password", Summary: "Set my password, and end my other logins", Tags: tags,
		DefaultStatus: http.StatusNoContent,
	}, a.putMyPassword)
}

func (a *api) putMyPassword(ctx context.Context, in *myPassword) (*none, error) {
	p := caller(ctx)
	id, err := mustBePerson(p)
	if err != nil {
		return nil, err
	}
	u, err := a.Users.User(ctx, p.Tenant, id)
	if err != nil {
		return nil, err
	}
	if u.Password != "" {
		// A login that was left lying about must not become a password, nor a place
		// to guess it more often than at the sign-in page.
		if err := a.TryPassword(httpRequest(ctx), p.Tenant, u.Name); err != nil {
			return nil, err
		}
		same, err := a.Users.SamePassword(ctx, p.Tenant, id, in.Body.Current.Reveal())
		if err == nil && !same {
			err = junctor.Errorf(junctor.CodeDenied, "current is not the password until now; an admin can set another")
		}
		if err != nil {
			return nil, err
		}
	}
	return &none{}, a.Users.SetPassword(ctx, p.Tenant, id, in.Body.Password.Reveal(), p.Login)
}

func mustBePerson(p *junctor.Principal) (string, error) {
	if id := person(p); id != "" {
		return id, nil
	}
	return "", junctor.Errorf(junctor.CodeDenied, "this is for users, and the credential is not one's: sign in, or use a key that junctor key create --user made")
}
