package admin

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
)

// ServerLogins logs in to servers, for everybody or for the user who asks.
type ServerLogins interface {
	StartLogin(ctx context.Context, p *junctor.Principal, server string, in LoginStart) (LoginStarted, error)
	// FinishLogin takes what StartLogin gave, and the address that the browser was
	// sent to.
	FinishLogin(ctx context.Context, p *junctor.Principal, server, login, url string) (junctor.ServerLogin, error)
	ServerLogin(ctx context.Context, p *junctor.Principal, server string, shared bool) (junctor.ServerLogin, error)
	EndLogin(ctx context.Context, p *junctor.Principal, server string, shared bool) error
	Traces(ctx context.Context, p *junctor.Principal, server string) ([]junctor.Trace, error)
}

// LoginStart says how a login begins.
type LoginStart struct {
	RedirectURI string `json:"redirect_uri,omitempty" maxLength:"2048" doc:"Where the browser comes back to: absent for this instance, or a program on the person's own machine, http://127.0.0.1:PORT/path."`
	Shared      bool   `json:"shared,omitempty" doc:"Of a server with credentials per-user: the server's own login, which its lists are read with."`
}

// LoginStarted is a login that a person is to go on with.
type LoginStarted struct {
	AuthorizationURL string    `json:"authorization_url" doc:"What the person opens."`
	RedirectURI      string    `json:"redirect_uri"`
	Login            string    `json:"login" doc:"Has to be brought back with the address that the browser was sent to. It is secret."`
	ExpiresAt        time.Time `json:"expires_at"`
}

type startLogin struct {
	ID   string `path:"id" doc:"The server's id."`
	Body LoginStart
}

type startedLogin struct{ Body LoginStarted }

type finishLogin struct {
	ID   string `path:"id" doc:"The server's id."`
	Body struct {
		Login string `json:"login" maxLength:"16384" format:"password" doc:"What the beginning of the login gave."`
		URL   string `json:"url" maxLength:"16384" format:"password" doc:"The whole address that the browser was sent to."`
	}
}

type serverLogin struct{ Body junctor.ServerLogin }

type whichLogin struct {
	ID     string `path:"id" doc:"The server's id."`
	Shared bool   `query:"shared" doc:"Of a server with credentials per-user: the server's own login."`
}

func (a *api) serverLoginRoutes() {
	tags := []string{"servers"}
	route(a, huma.Operation{
		OperationID: "start-server-login", Method: http.MethodPost, Path: "/servers/{id}/login", Summary: "Begin to log in to a server", Tags: tags,
		DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, in *startLogin) (*startedLogin, error) {
		started, err := a.ServerLogins.StartLogin(ctx, caller(ctx), in.ID, in.Body)
		return &startedLogin{started}, err
	})
	route(a, huma.Operation{
		OperationID: "finish-server-login", Method: http.MethodPost, Path: "/servers/{id}/login/finish", Summary: "Finish a login with the address that the browser was sent to", Tags: tags,
	}, func(ctx context.Context, in *finishLogin) (*serverLogin, error) {
		login, err := a.ServerLogins.FinishLogin(ctx, caller(ctx), in.ID, in.Body.Login, in.Body.URL)
		return &serverLogin{login}, err
	})
	route(a, huma.Operation{
		OperationID: "get-server-login", Method: http.MethodGet, Path: "/servers/{id}/login", Summary: "Say how the login at a server stands", Tags: tags,
	}, func(ctx context.Context, in *whichLogin) (*serverLogin, error) {
		login, err := a.ServerLogins.ServerLogin(ctx, caller(ctx), in.ID, in.Shared)
		return &serverLogin{login}, err
	})
	route(a, huma.Operation{
		OperationID: "delete-server-login", Method: http.MethodDelete, Path: "/servers/{id}/login", Summary: "Log out of a server: its tokens are revoked and forgotten", Tags: tags,
		DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *whichLogin) (*none, error) {
		return &none{}, a.ServerLogins.EndLogin(ctx, caller(ctx), in.ID, in.Shared)
	})
	route(a, huma.Operation{
		OperationID: "list-server-traces", Method: http.MethodGet, Path: "/servers/{id}/traces", Summary: "Show what the last logins and renewals at a server came to, step by step", Tags: tags,
	}, func(ctx context.Context, in *serverID) (*pageOf[junctor.Trace], error) {
		all, err := a.ServerLogins.Traces(ctx, caller(ctx), in.ID)
		return newPage(all, ""), err
	})
}
