package signin

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Connector logs users in to upstream servers with OAuth. internal/upstreamauth implements it.
type Connector interface {
	// DescribeLogin returns the text that explains a link to the user who follows it. The error
	// says why the link is not for that user.
	DescribeLogin(ctx context.Context, p *junctor.Principal, server, ticket string) (string, error)
	// StartLogin returns the address to which the browser goes, and the sealed state that it
	// has to bring back.
	StartLogin(ctx context.Context, p *junctor.Principal, server, ticket string) (address, sealed string, err error)
	// EndLogin completes a login with the answer that the browser comes back with, and returns
	// the server's name.
	EndLogin(ctx context.Context, p *junctor.Principal, sealed string, answer url.Values) (server string, err error)
}

// Paths of the pages. Browsers come back to ConnectedPath from the authorization server.
const (
	connectPath   = "/connect/"
	ConnectedPath = "/connected" // where browsers come back to
)

// connectCookie holds the sealed state of a login, for connectLife.
const (
	connectCookie = "junctor-connect"
	connectLife   = 10 * time.Minute
)

// registerConnectRoutes registers the pages that log users in to upstream servers.
func (s *SignIn) registerConnectRoutes(mux junctor.Mux) {
	mux.HandleFunc("GET "+connectPath+"{server}", s.showConnectPage)
	mux.HandleFunc("POST "+connectPath+"{server}", s.requireOwnForm(s.startConnect))
	mux.HandleFunc("GET "+ConnectedPath, s.finishConnect)
}

// signedInUser returns the principal of the browser that sent a request; nil if nobody is
// signed in or a page of another origin led here.
func (s *SignIn) signedInUser(r *http.Request) *junctor.Principal {
	cookie, found := s.readCookie(r, sessionCookie)
	if !found || !sameOrigin(r) {
		return nil
	}
	p, err := s.Identity.AuthenticateCookie(cookie)
	if err != nil {
		return nil
	}
	return p
}

// askToSignIn shows a page that asks to sign in first. After a visit from another site the
// browser withholds the cookie; the link on this page leads here again with it.
func (s *SignIn) askToSignIn(w http.ResponseWriter, r *http.Request) {
	s.renderPage(w, r, http.StatusUnauthorized, pageData{RetryPath: r.URL.RequestURI()})
}

// showConnectPage explains what a link to log in to a server is for. It changes nothing.
func (s *SignIn) showConnectPage(w http.ResponseWriter, r *http.Request) {
	p := s.signedInUser(r)
	if p == nil {
		s.askToSignIn(w, r)
		return
	}
	about, err := s.Connector.DescribeLogin(r.Context(), p, r.PathValue("server"), r.URL.Query().Get("ticket"))
	if err != nil {
		s.renderConnectError(w, r, err)
		return
	}
	s.renderPage(w, r, http.StatusOK, pageData{ConnectPurpose: about, SignedInName: p.Name, Ticket: r.URL.Query().Get("ticket"), Server: r.PathValue("server")})
}

// startConnect sends a user to the authorization server.
func (s *SignIn) startConnect(w http.ResponseWriter, r *http.Request) {
	p := s.signedInUser(r)
	if p == nil {
		s.askToSignIn(w, r)
		return
	}
	address, sealed, err := s.Connector.StartLogin(r.Context(), p, r.PathValue("server"), r.PostForm.Get("ticket"))
	if err != nil {
		s.renderConnectError(w, r, err)
		return
	}
	// The other page is of another site: on the way back only a lax cookie is
	// shown.
	s.setCookie(w, r, connectCookie, sealed, connectLife, http.SameSiteLaxMode)
	s.renderPage(w, r, http.StatusOK, pageData{RedirectTo: address})
}

// finishConnect takes a user back from the authorization server. At the loopback address it
// leads on to the console, which has the cookies. The browser withholds the session cookie on
// the way back from another site, so the page reloads itself once with here=1.
func (s *SignIn) finishConnect(w http.ResponseWriter, r *http.Request) {
	sealed, found := s.readCookie(r, connectCookie)
	p := s.signedInUser(r)
	switch {
	case !found && !s.isConsole(r):
		s.renderPage(w, r, http.StatusOK, pageData{RedirectTo: s.URL() + r.URL.RequestURI()})
		return
	case !found:
		s.renderPage(w, r, http.StatusForbidden, pageData{PasteIntoTerminal: true})
		return
	case p == nil && r.URL.Query().Get("here") == "":
		// The cookie of the session is not shown to who comes from another site.
		to := *r.URL
		query := to.Query()
		query.Set("here", "1")
		to.RawQuery = query.Encode()
		s.renderPage(w, r, http.StatusOK, pageData{RedirectTo: to.RequestURI()})
		return
	case p == nil:
		s.renderRefusal(w, r, http.StatusUnauthorized, "You are no longer signed in. Sign in, then log in to the server again.")
		return
	}
	s.setCookie(w, r, connectCookie, "", 0, http.SameSiteLaxMode)
	answer := r.URL.Query()
	answer.Del("here")
	server, err := s.Connector.EndLogin(r.Context(), p, sealed, answer)
	if err != nil {
		s.renderConnectError(w, r, err)
		return
	}
	s.renderPage(w, r, http.StatusOK, pageData{ConnectedServer: server})
}

// isConsole reports whether a request was sent to the address of the console.
func (s *SignIn) isConsole(r *http.Request) bool {
	u, err := url.Parse(s.URL())
	return err == nil && strings.EqualFold(u.Host, r.Host)
}

// renderConnectError shows why a login failed.
func (s *SignIn) renderConnectError(w http.ResponseWriter, r *http.Request, err error) {
	e := junctor.AsError(err)
	status := http.StatusBadGateway
	switch e.Code {
	case junctor.CodeInvalid:
		status = http.StatusBadRequest
	case junctor.CodeDenied:
		status = http.StatusForbidden
	case junctor.CodeNotFound:
		status = http.StatusNotFound
	default:
	}
	s.Log.WarnContext(r.Context(), "login at a server failed in the browser", "reason", e.Message)
	s.renderPage(w, r, status, pageData{ConnectError: e.Message})
}
