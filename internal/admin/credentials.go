package admin

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
)

// Credentials keeps what users enter for servers that are called with the
// credentials of each. Nothing here gives a secret back.
type Credentials interface {
	MyCredentials(ctx context.Context, p *junctor.Principal) ([]MyCredential, error)
	MyCredential(ctx context.Context, p *junctor.Principal, server string) (MyCredential, error)
	PutMyCredential(ctx context.Context, p *junctor.Principal, server string, auth *junctor.Auth, headers map[string]string) (MyCredential, error)
	RemoveMyCredential(ctx context.Context, p *junctor.Principal, server string) error
}

// MyCredential is what a user has entered for a server, without what is secret.
type MyCredential struct {
	Server    string            `json:"server"`
	Wanted    bool              `json:"wanted" doc:"The server is called with the credentials of each user."`
	Entered   bool              `json:"entered" doc:"You have entered some."`
	Auth      *junctor.Auth     `json:"auth,omitempty"`
	Headers   map[string]string `json:"headers,omitempty"`
	Problem   string            `json:"problem,omitempty" doc:"Why they cannot be used; enter them again."`
	UpdatedAt time.Time         `json:"updated_at,omitzero"`
}

type oneCredential struct{ Body MyCredential }

type putCredential struct {
	ID   string `path:"id" doc:"The server's id."`
	Body struct {
		Auth    *AuthBody         `json:"auth,omitempty"`
		Headers map[string]string `json:"headers,omitempty" doc:"Sent with every request of yours."`
	}
}

func (a *api) credentialRoutes() {
	tags := []string{"credentials"}
	const path = "/servers/{id}/credentials/me"
	route(a, huma.Operation{
		OperationID: "list-my-credentials", Method: http.MethodGet, Path: "/me/credentials", Summary: "List the servers that want credentials of mine, and what I have entered", Tags: tags,
	}, func(ctx context.Context, _ *none) (*pageOf[MyCredential], error) {
		if _, err := mustBePerson(caller(ctx)); err != nil {
			return nil, err
		}
		list, err := a.Credentials.MyCredentials(ctx, caller(ctx))
		return newPage(list, ""), err
	})
	route(a, huma.Operation{
		OperationID: "get-my-credential", Method: http.MethodGet, Path: path, Summary: "Show what I have entered for a server, without the secret", Tags: tags,
	}, func(ctx context.Context, in *serverID) (*oneCredential, error) {
		if _, err := mustBePerson(caller(ctx)); err != nil {
			return nil, err
		}
		one, err := a.Credentials.MyCredential(ctx, caller(ctx), in.ID)
		return &oneCredential{one}, err
	})
	route(a, huma.Operation{
		OperationID: "put-my-credential", Method: http.MethodPut, Path: path, Summary: "Enter my credentials for a server", Tags: tags, MaxBodyBytes: maxServerBody,
	}, func(ctx context.Context, in *putCredential) (*oneCredential, error) {
		if _, err := mustBePerson(caller(ctx)); err != nil {
			return nil, err
		}
		var auth *junctor.Auth
		if in.Body.Auth != nil {
			var err error
			if auth, err = in.Body.Auth.auth(); err != nil {
				return nil, err
			}
		}
		one, err := a.Credentials.PutMyCredential(ctx, caller(ctx), in.ID, auth, in.Body.Headers)
		return &oneCredential{one}, err
	})
	route(a, huma.Operation{
		OperationID: "delete-my-credential", Method: http.MethodDelete, Path: path, Summary: "Erase my credentials for a server", Tags: tags, DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *serverID) (*none, error) {
		if _, err := mustBePerson(caller(ctx)); err != nil {
			return nil, err
		}
		return &none{}, a.Credentials.RemoveMyCredential(ctx, caller(ctx), in.ID)
	})
}
