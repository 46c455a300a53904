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
	// StartedLogin returns the server of a login that the caller has started and not
	// finished, and whether the login is shared.
	StartedLogin(p *junctor.Principal, login string) (server string, shared bool, err error)
	// ServerLogin returns the state of a login.
	ServerLogin(ctx context.Context, p *junctor.Principal, server string, shared bool) (junctor.ServerLogin, error)
	// EndLogin revokes the tokens of a login and forgets them.
	EndLogin(ctx context.Context, p *junctor.Principal, server string, shared bool) error
	// Traces lists the newest logins and renewals at a server, step by step.
	Traces(ctx context.Context, p *junctor.Principal, server string) ([]junctor.Trace, error)
}

// LoginStart is how a login begins.
type LoginStart struct {
	RedirectURI string `json:"redirect_uri,omitempty" maxLength:"2048" doc:"URL that the browser returns to. By default, a URL of this instance. For a program on the user's machine: http://127.0.0.1:PORT/path."`
	Shared      bool   `json:"shared,omitempty" doc:"Use the shared login, which lists the tools of a server with credentials per-user."`
}

// LoginStarted is a login that the user continues in a browser.
type LoginStarted struct {
	AuthorizationURL string    `json:"authorization_url" doc:"URL that the user opens in a browser."`
	RedirectURI      string    `json:"redirect_uri"`
	Login            string    `json:"login" doc:"Secret state of the login. Send it with the URL that the browser returned to."`
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
		Login string `json:"login" maxLength:"16384" format:"password" doc:"The login value of the response that started the login."`
		URL   string `json:"url" maxLength:"16384" format:"password" doc:"The complete URL that the browser returned to."`
	}
}

// serverLoginResponse is the state of a login.
type serverLoginResponse struct{ Body junctor.ServerLogin }

// serverLoginQuery names a login: the caller's own or the shared one.
type serverLoginQuery struct {
	ID     string `path:"id" doc:"The server's id."`
	Shared bool   `query:"shared" doc:"Use the shared login of a server with credentials per-user."`
}

// registerServerLoginRoutes registers the routes of logins at a server.
func (a *api) registerServerLoginRoutes() {
	tags := []string{"servers"}
	registerRoute(a, huma.Operation{
		OperationID: "start-server-login", Method: http.MethodPost, Path: "/servers/{id}/login", Summary: "Start a login at a server", Tags: tags,
		DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, in *startLogin) (*startedLoginResponse, error) {
		started, err := a.ServerLogins.StartLogin(ctx, callerOf(ctx), in.ID, in.Body)
		return &startedLoginResponse{started}, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "finish-server-login", Method: http.MethodPost, Path: "/servers/{id}/login/finish", Summary: "Finish a login with the URL that the browser returned to", Tags: tags,
	}, func(ctx context.Context, in *finishLogin) (*serverLoginResponse, error) {
		login, err := a.ServerLogins.FinishLogin(ctx, callerOf(ctx), in.ID, in.Body.Login, in.Body.URL)
		return &serverLoginResponse{login}, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "get-server-login", Method: http.MethodGet, Path: "/servers/{id}/login", Summary: "Show the state of the login at a server", Tags: tags,
	}, func(ctx context.Context, in *serverLoginQuery) (*serverLoginResponse, error) {
		login, err := a.ServerLogins.ServerLogin(ctx, callerOf(ctx), in.ID, in.Shared)
		return &serverLoginResponse{login}, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "delete-server-login", Method: http.MethodDelete, Path: "/servers/{id}/login", Summary: "Log out of a server: revoke and delete its tokens", Tags: tags,
		DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *serverLoginQuery) (*empty, error) {
		return &empty{}, a.ServerLogins.EndLogin(ctx, callerOf(ctx), in.ID, in.Shared)
	})
	registerList(a, huma.Operation{
		OperationID: "list-server-traces", Method: http.MethodGet, Path: "/servers/{id}/traces", Summary: "Show the steps of the last logins and token renewals at a server", Tags: tags,
	}, traceList(), func(ctx context.Context, in *serverListQuery) ([]junctor.Trace, error) {
		all, err := a.ServerLogins.Traces(ctx, callerOf(ctx), in.ID)
		return all, err
	})
}

// traceList is the shape of list-server-traces.
func traceList() listShape[junctor.Trace] {
	return listShape[junctor.Trace]{
		id: func(v *junctor.Trace) string { return v.ID },
		orders: []listOrder[junctor.Trace]{
			byTime("at", func(v *junctor.Trace) time.Time { return v.At }),
		},
		newest: true,
		text:   func(v *junctor.Trace) []string { return []string{v.Verdict, v.Remedy} },
	}
}
