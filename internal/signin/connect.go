package signin

import (
	"context"
	"net/http"
	"net/url"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Connector logs people in to the servers of others: it knows what a link to do
// so is for, and what to do with the answer.
type Connector interface {
	// About says what a link is for, to the person who follows it. An error says
	// why it is not for them.
	About(ctx context.Context, p *junctor.Principal, server, ticket string) (string, error)
	// Start gives the address that the browser goes on to, and what it has to
	// bring back.
	Start(ctx context.Context, p *junctor.Principal, server, ticket string) (address, sealed string, err error)
	// End makes a login of the answer that the browser comes back with.
	End(ctx context.Context, p *junctor.Principal, sealed string, answer url.Values) (server string, err error)
}

// Paths of the pages.
const (
	connectPath   = "/connect/"
	ConnectedPath = "/connected" // where browsers come back to
)

const (
	connectCookie = "junctor-connect"
	connectLife   = 10 * time.Minute
)

// connectRoutes puts the pages into a mux that log people in to servers.
func (s *SignIn) connectRoutes(mux Mux) {
	mux.HandleFunc("GET "+connectPath+"{server}", s.offer)
	mux.HandleFunc("POST "+connectPath+"{server}", s.own(s.connect))
	mux.HandleFunc("GET "+ConnectedPath, s.connected)
}

// person is who is signed in with the browser that sent a request.
func (s *SignIn) person(r *http.Request) *junctor.Principal {
	cookie, found := s.cookie(r, sessionCookie)
	if !found || !sameOrigin(r) {
		return nil
	}
	p, err := s.Identity.Session(cookie)
	if err != nil {
		return nil
	}
	return p
}

// stranger asks a browser to sign in first. A page elsewhere that led here keeps
// the cookie back: the link leads here again, from a page of ours.
func (s *SignIn) stranger(w http.ResponseWriter, r *http.Request) {
	s.render(w, r, http.StatusUnauthorized, page{Again: r.URL.RequestURI()})
}

// offer says what a link to log in to a server is for. It changes nothing.
func (s *SignIn) offer(w http.ResponseWriter, r *http.Request) {
	p := s.person(r)
	if p == nil {
		s.stranger(w, r)
		return
	}
	about, err := s.Connector.About(r.Context(), p, r.PathValue("server"), r.URL.Query().Get("ticket"))
	if err != nil {
		s.unconnected(w, r, err)
		return
	}
	s.render(w, r, http.StatusOK, page{About: about, Person: p.Name, Ticket: r.URL.Query().Get("ticket"), Server: r.PathValue("server")})
}

// connect sends a person to the authorization server.
func (s *SignIn) connect(w http.ResponseWriter, r *http.Request) {
	p := s.person(r)
	if p == nil {
		s.stranger(w, r)
		return
	}
	address, sealed, err := s.Connector.Start(r.Context(), p, r.PathValue("server"), r.PostForm.Get("ticket"))
	if err != nil {
		s.unconnected(w, r, err)
		return
	}
	// The other page is of another site: on the way back only a lax cookie is
	// shown.
	s.setCookie(w, r, connectCookie, sealed, connectLife, http.SameSiteLaxMode)
	s.render(w, r, http.StatusOK, page{Away: address})
}

// connected takes a person back from the authorization server.
func (s *SignIn) connected(w http.ResponseWriter, r *http.Request) {
	sealed, found := s.cookie(r, connectCookie)
	p := s.person(r)
	switch {
	case !found:
		s.render(w, r, http.StatusForbidden, page{Paste: true})
		return
	case p == nil && r.URL.Query().Get("here") == "":
		// The cookie of the session is not shown to who comes from another site.
		to := *r.URL
		query := to.Query()
		query.Set("here", "1")
		to.RawQuery = query.Encode()
		s.render(w, r, http.StatusOK, page{Away: to.RequestURI()})
		return
	case p == nil:
		s.refuse(w, r, http.StatusUnauthorized, "You are not signed in any more. Sign in, and log in to the server again.")
		return
	}
	s.setCookie(w, r, connectCookie, "", 0, http.SameSiteLaxMode)
	answer := r.URL.Query()
	answer.Del("here")
	server, err := s.Connector.End(r.Context(), p, sealed, answer)
	if err != nil {
		s.unconnected(w, r, err)
		return
	}
	s.render(w, r, http.StatusOK, page{Connected: server})
}

// unconnected says why a login did not come about.
func (s *SignIn) unconnected(w http.ResponseWriter, r *http.Request, err error) {
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
	s.Log.WarnContext(r.Context(), "a person could not log in to a server", "why", e.Message)
	s.render(w, r, status, page{Trouble: e.Message})
}
