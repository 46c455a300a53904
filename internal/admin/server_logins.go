package admin

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
)

// ServerLogins logs in to servers with OAuth: a shared login for everybody, or the
// caller's own. Shared ones require the right to change the server.
type ServerLogins interface {
	// StartLogin begins a login and returns the address that the user opens.
	StartLogin(ctx context.Context, p *junctor.Principal, server string, in LoginStart) (LoginStarted, error)
	// FinishLogin takes the login that StartLogin returned, and the address to which the
	// browser was sent back.
	FinishLogin(ctx context.Context, p *junctor.Principal, server, login, url string) (junctor.ServerLogin, error)
	// ServerLogin returns the state of a login.
	ServerLogin(ctx context.Context, p *junctor.Principal, server string, shared bool) (junctor.ServerLogin, error)
	// EndLogin revokes the tokens of a login and forgets them.
	EndLogin(ctx context.Context, p *junctor.Principal, server string, shared bool) error
	// Traces lists the newest logins and renewals at a server, step by step.
	Traces(ctx context.Context, p *junctor.Principal, server string) ([]junctor.Trace, error)
}

// LoginStart is how a login begins.
type LoginStart struct {
	RedirectURI string `json:"redirect_uri,omitempty" maxLength:"2048" doc:"Where the browser comes back to: absent for this instance, or a program on the person's own machine, http://127.0.0.1:PORT/path."`
	Shared      bool   `json:"shared,omitempty" doc:"Of a server with credentials per-user: the server's own login, which its lists are read with."`
}

// LoginStarted is a login that the user continues in a browser.
type LoginStarted struct {
	AuthorizationURL string    `json:"authorization_url" doc:"What the person opens."`
	RedirectURI      string    `json:"redirect_uri"`
	Login            string    `json:"login" doc:"Has to be brought back with the address that the browser was sent to. It is secret."`
	ExpiresAt        time.Time `json:"expires_at"`
}

// startLogin is the request that begins a login.
type startLogin struct {
	ID   string `path:"id" doc:"The server's id."`
	Body LoginStart
}

// startedLoginResponse is the answer to startLogin.
type startedLoginResponse struct{ Body LoginStarted }

// finishLogin is the request that finishes a login.
type finishLogin struct {
	ID   string `path:"id" doc:"The server's id."`
	Body struct {
		Login string `json:"login" maxLength:"16384" format:"password" doc:"What the beginning of the login gave."`
		URL   string `json:"url" maxLength:"16384" format:"password" doc:"The whole address that the browser was sent to."`
	}
}

// serverLoginResponse is the state of a login.
type serverLoginResponse struct{ Body junctor.ServerLogin }

// serverLoginQuery names a login: the caller's own or the shared one.
type serverLoginQuery struct {
	ID     string `path:"id" doc:"The server's id."`
	Shared bool   `query:"shared" doc:"Of a server with credentials per-user: the server's own login."`
}

// registerServerLoginRoutes registers the routes of logins at a server.
func (a *api) registerServerLoginRoutes() {
	tags := []string{"servers"}
	registerRoute(a, huma.Operation{
		OperationID: "start-server-login", Method: http.MethodPost, Path: "/servers/{id}/login", Summary: "Begin to log in to a server", Tags: tags,
		DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, in *startLogin) (*startedLoginResponse, error) {
		started, err := a.ServerLogins.StartLogin(ctx, callerOf(ctx), in.ID, in.Body)
		return &startedLoginResponse{started}, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "finish-server-login", Method: http.MethodPost, Path: "/servers/{id}/login/finish", Summary: "Finish a login with the address that the browser was sent to", Tags: tags,
	}, func(ctx context.Context, in *finishLogin) (*serverLoginResponse, error) {
		login, err := a.ServerLogins.FinishLogin(ctx, callerOf(ctx), in.ID, in.Body.Login, in.Body.URL)
		return &serverLoginResponse{login}, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "get-server-login", Method: http.MethodGet, Path: "/servers/{id}/login", Summary: "Say how the login at a server stands", Tags: tags,
	}, func(ctx context.Context, in *serverLoginQuery) (*serverLoginResponse, error) {
		login, err := a.ServerLogins.ServerLogin(ctx, callerOf(ctx), in.ID, in.Shared)
		return &serverLoginResponse{login}, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "delete-server-login", Method: http.MethodDelete, Path: "/servers/{id}/login", Summary: "Log out of a server: its tokens are revoked and forgotten", Tags: tags,
		DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *serverLoginQuery) (*empty, error) {
		return &empty{}, a.ServerLogins.EndLogin(ctx, callerOf(ctx), in.ID, in.Shared)
	})
	registerRoute(a, huma.Operation{
		OperationID: "list-server-traces", Method: http.MethodGet, Path: "/servers/{id}/traces", Summary: "Show what the last logins and renewals at a server came to, step by step", Tags: tags,
	}, func(ctx context.Context, in *serverID) (*pageResponse[junctor.Trace], error) {
		all, err := a.ServerLogins.Traces(ctx, callerOf(ctx), in.ID)
		return newPage(all, ""), err
	})
}
