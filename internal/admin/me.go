package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// Whoami is the principal of the caller's credential.
type Whoami struct {
	Tenant  junctor.TenantID `json:"tenant"`
	Issuer  string           `json:"issuer" doc:"Issuer of the identity: agent, user, key for a service, local for the operator's socket, or an identity provider."`
	Subject string           `json:"subject"`
	Name    string           `json:"name,omitempty"`
	Scopes  []junctor.Scope  `json:"scopes"`
	Agent   string           `json:"agent,omitempty" doc:"Name of the agent, if the caller is an agent."`
	User    string           `json:"user,omitempty" doc:"ID of the user that the caller is or acts for."`
	Key     string           `json:"key,omitempty" doc:"ID of the key that authenticated the request."`
	Login   string           `json:"login,omitempty" doc:"ID of the browser login."`
}

// Me is the caller, and the user that the caller is.
type Me struct {
	Whoami
	Person *junctor.User `json:"person,omitempty" doc:"The user. Absent if the caller is not a user."`

	RunsCommands bool `json:"runs_commands" doc:"Whether servers that the caller adds may run a command on the machine of the instance."`
}

// whoamiResponse is the answer to get-whoami.
type whoamiResponse struct{ Body Whoami }

// meResponse is the answer to get-me.
type meResponse struct{ Body Me }

// mySources is the request that chooses the sources of the caller's default catalog scope.
type mySources struct {
	Precondition
	Body struct {
		Sources junctor.Sources `json:"sources" doc:"Owners whose tools the default endpoint shows, in addition to the built-in tools."`
	}
}

// myPassword is the request that sets the caller's password.
type myPassword struct {
	Body struct {
		Current  seal.Secret `json:"current,omitzero" doc:"Current password. Required if a password is set."`
		Password seal.Secret `json:"password" doc:"New password, at least 12 characters. Only its hash is stored."`
	}
}

// describeCaller returns a principal for an answer. Its scopes are never null in JSON.
func describeCaller(p *junctor.Principal) Whoami {
	return Whoami{
		Tenant: p.Tenant, Issuer: p.Issuer, Subject: p.Subject, Name: p.Name, Scopes: append([]junctor.Scope{}, p.Scopes...),
		Agent: p.Agent, User: p.User, Key: p.Key, Login: p.Login,
	}
}

// registerMeRoutes registers the routes about the caller.
func (a *api) registerMeRoutes() {
	tags := []string{"me"}
	registerRoute(a, huma.Operation{
		OperationID: "get-whoami", Method: http.MethodGet, Path: "/whoami", Summary: "Show the identity of the caller", Tags: tags,
	}, func(ctx context.Context, _ *empty) (*whoamiResponse, error) {
		return &whoamiResponse{describeCaller(callerOf(ctx))}, nil
	})
	registerRoute(a, huma.Operation{
		OperationID: "get-me", Method: http.MethodGet, Path: "/me", Summary: "Show the identity and preferences of the caller", Tags: tags,
	}, func(ctx context.Context, _ *empty) (*meResponse, error) {
		p := callerOf(ctx)
		me := Me{Whoami: describeCaller(p), RunsCommands: a.RunsCommands(p)}
		if id := callerUserID(p); id != "" {
			u, err := a.Users.User(ctx, p.Tenant, id)
			if err != nil {
				return nil, err
			}
			me.Person = &u
		}
		return &meResponse{me}, nil
	})
	registerRoute(a, huma.Operation{
		OperationID: "put-my-sources", Method: http.MethodPut, Path: "/me/sources", Summary: "Choose whose tools my default endpoint shows", Tags: tags,
	}, func(ctx context.Context, in *mySources) (*userResponse, error) {
		p := callerOf(ctx)
		id, err := requireUser(p)
		if err != nil {
			return nil, err
		}
		u, err := a.Users.ChangeUser(ctx, p.Tenant, id, func(u *junctor.User) error {
			if err := in.checkVersion(u.UpdatedAt); err != nil {
				return err
			}
			u.Sources, u.UpdatedBy = in.Body.Sources, p.ID()
			return nil
		})
		return withVersion(u, u.UpdatedAt), a.explainConflict(ctx, err, a.storedUser(ctx, id))
	})
	registerRoute(a, huma.Operation{
		OperationID: "put-my-password", Method: http.MethodPut, Path: "/me/password", Summary: "Set my password, and end my other logins", Tags: tags,
		DefaultStatus: http.StatusNoContent,
	}, a.putMyPassword)
}

// putMyPassword handles put-my-password. It requires the former password if there is one,
// and counts the attempt: an unattended login must neither become a password nor a place
// to guess it.
func (a *api) putMyPassword(ctx context.Context, in *myPassword) (*empty, error) {
	p := callerOf(ctx)
	id, err := requireUser(p)
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
		if err := a.TryPassword(requestOf(ctx), p.Tenant, u.Name); err != nil {
			return nil, err
		}
		same, err := a.Users.CheckPassword(ctx, p.Tenant, id, in.Body.Current.Reveal())
		if err == nil && !same {
			err = junctor.Errorf(junctor.CodeDenied, "current is not the current password; if you forgot it, ask an admin to set a new one")
		}
		if err != nil {
			return nil, err
		}
	}
	return &empty{}, a.Users.SetPassword(ctx, p.Tenant, id, in.Body.Password.Reveal(), p.Login)
}

// requireUser returns the id of the user that the caller is, and refuses agents and
// services.
func requireUser(p *junctor.Principal) (string, error) {
	if id := callerUserID(p); id != "" {
		return id, nil
	}
	return "", junctor.Errorf(junctor.CodeDenied, "this operation requires the credential of a user; sign in, or use a key created with junctor key create --user")
}
