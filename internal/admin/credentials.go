package admin

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
)

// Credentials stores the credentials that each user enters for servers with per-user
// credentials. The user is the one of the principal. No method returns a secret.
type Credentials interface {
	// MyCredentials lists the servers with per-user credentials that the user sees, and
	// those for which the user has entered some.
	MyCredentials(ctx context.Context, p *junctor.Principal) ([]MyCredential, error)
	// MyCredential returns the state for one server; not_found if the user does not see
	// it.
	MyCredential(ctx context.Context, p *junctor.Principal, server string) (MyCredential, error)
	// PutMyCredential stores credentials for a server, in place of former ones.
	PutMyCredential(ctx context.Context, p *junctor.Principal, server string, auth *junctor.Auth, headers map[string]string) (MyCredential, error)
	// RemoveMyCredential deletes the user's credentials for a server.
	RemoveMyCredential(ctx context.Context, p *junctor.Principal, server string) error
}

// MyCredential is the state of a user's credentials for a server, without the secret
// parts.
type MyCredential struct {
	Server    string            `json:"server"`
	Wanted    bool              `json:"wanted" doc:"Whether the server is called with the credentials of each user."`
	Entered   bool              `json:"entered" doc:"Whether the caller has entered credentials."`
	Auth      *junctor.Auth     `json:"auth,omitempty"`
	Headers   map[string]string `json:"headers,omitempty"`
	Problem   string            `json:"problem,omitempty" doc:"Why the credentials cannot be used. Enter them again."`
	UpdatedAt time.Time         `json:"updated_at,omitzero"`
}

// credentialResponse is the state of the caller's credentials for one server.
type credentialResponse struct{ Body MyCredential }

// putCredential is the request that stores the caller's credentials for a server.
type putCredential struct {
	ID   string `path:"id" doc:"The server's id."`
	Body struct {
		Auth    *AuthBody         `json:"auth,omitempty"`
		Headers map[string]string `json:"headers,omitempty" doc:"Headers of every request that is made with your credentials."`
	}
}

// registerCredentialRoutes registers the routes for a user's own credentials. Each of them
// requires a user: an agent or a service has no credentials of its own.
func (a *api) registerCredentialRoutes() {
	tags := []string{"credentials"}
	const path = "/servers/{id}/credentials/me"
	registerList(a, huma.Operation{
		OperationID: "list-my-credentials", Method: http.MethodGet, Path: "/me/credentials", Summary: "List the servers that require my credentials, and the credentials that I entered", Tags: tags,
	}, myCredentialList(), func(ctx context.Context, _ *ListQuery) ([]MyCredential, error) {
		if _, err := requireUser(callerOf(ctx)); err != nil {
			return nil, err
		}
		list, err := a.Credentials.MyCredentials(ctx, callerOf(ctx))
		return list, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "get-my-credential", Method: http.MethodGet, Path: path, Summary: "Show my credentials for a server, without the secret", Tags: tags,
	}, func(ctx context.Context, in *serverID) (*credentialResponse, error) {
		if _, err := requireUser(callerOf(ctx)); err != nil {
			return nil, err
		}
		one, err := a.Credentials.MyCredential(ctx, callerOf(ctx), in.ID)
		return &credentialResponse{one}, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "put-my-credential", Method: http.MethodPut, Path: path, Summary: "Set my credentials for a server", Tags: tags, MaxBodyBytes: maxServerBody,
	}, func(ctx context.Context, in *putCredential) (*credentialResponse, error) {
		if _, err := requireUser(callerOf(ctx)); err != nil {
			return nil, err
		}
		var auth *junctor.Auth
		if in.Body.Auth != nil {
			var err error
			if auth, err = in.Body.Auth.toAuth(); err != nil {
				return nil, err
			}
		}
		one, err := a.Credentials.PutMyCredential(ctx, callerOf(ctx), in.ID, auth, in.Body.Headers)
		return &credentialResponse{one}, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "delete-my-credential", Method: http.MethodDelete, Path: path, Summary: "Delete my credentials for a server", Tags: tags, DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *serverID) (*empty, error) {
		if _, err := requireUser(callerOf(ctx)); err != nil {
			return nil, err
		}
		return &empty{}, a.Credentials.RemoveMyCredential(ctx, callerOf(ctx), in.ID)
	})
}

// myCredentialList is the shape of list-my-credentials.
func myCredentialList() listShape[MyCredential] {
	return listShape[MyCredential]{
		id: func(v *MyCredential) string { return v.Server },
		orders: []listOrder[MyCredential]{
			byText("server", func(v *MyCredential) string { return v.Server }),
			byTime("updated_at", func(v *MyCredential) time.Time { return v.UpdatedAt }),
		},
		text: func(v *MyCredential) []string { return []string{v.Server} },
	}
}
