package gateway

import (
	"net/http"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// authenticate names the principal, or answers 401. On a door that names an
// agent the principal is that agent, or may act as it, or hears 404. Who shows a
// token that can do nothing here is sent back for another.
func (g *Gateway) authenticate(w http.ResponseWriter, r *http.Request) *junctor.Principal {
	p, err := g.options.Authenticate(r)
	if err == nil && len(p.Scopes) == 0 && len(p.Could) > 0 {
		e := junctor.Errorf(junctor.CodeDenied, "the token has no scope that means anything here")
		e.Scope = p.Could[0]
		err = e
	}
	if err == nil {
		as, err := g.resolveAgent(r, p)
		if err != nil {
			g.writeError(w, http.StatusNotFound, nil, &wire.Error{Code: wire.CodeInvalidRequest, Message: junctor.AsError(err).Message})
		}
		return as
	}
	e := junctor.AsError(err)
	status := http.StatusUnauthorized
	if e.Code != junctor.CodeUnauthenticated {
		_, status = mapErrorCode(e.Code)
		setRetryAfter(w.Header(), e.RetryAfter)
		g.setScopeChallenge(w, r, p, err)
	} else {
		w.Header().Set("WWW-Authenticate", g.challengeHeader(r, err))
	}
	g.writeError(w, status, nil, &wire.Error{Code: codeDenied, Message: e.Message, Data: errorData(e)})
	return nil
}

func (g *Gateway) challengeHeader(r *http.Request, err error) string {
	if g.options.Challenger != nil {
		if c := g.options.Challenger.Challenge(r, err); c != "" {
			return c
		}
	}
	return `Bearer realm="junctor"`
}

// setScopeChallenge tells a client whose token lacks a scope which to ask for. It says
// whether a token would help: then the answer is 403, in both eras.
func (g *Gateway) setScopeChallenge(w http.ResponseWriter, r *http.Request, p *junctor.Principal, err error) bool {
	if g.options.Challenger == nil || p == nil || len(p.Could) == 0 || err == nil {
		return false
	}
	e := junctor.AsError(err)
	if e.Code != junctor.CodeDenied || e.Scope == "" {
		return false
	}
	c := g.options.Challenger.StepUp(r, p, e.Scope)
	if c != "" {
		w.Header().Set("WWW-Authenticate", c)
	}
	return c != ""
}

// authenticateMethod is authenticate for a door of one method; it answers 405 for others.
func (g *Gateway) authenticateMethod(w http.ResponseWriter, r *http.Request, method string) *junctor.Principal {
	p := g.authenticate(w, r)
	if p != nil && r.Method != method {
		methodNotAllowed(w, method)
		return nil
	}
	return p
}

// resolveAgent is the principal as the agent that the door names, and itself where it
// names none. The error is that there is no such agent.
func (g *Gateway) resolveAgent(r *http.Request, p *junctor.Principal) (*junctor.Principal, error) {
	name := r.PathValue("agent")
	if name == "" {
		return p, nil
	}
	as, err := g.options.Catalog.Snapshot().For(p.Tenant).Acting(p, name)
	if err != nil {
		door := junctor.DoorMCP
		switch {
		case strings.HasSuffix(r.URL.Path, "/call"):
			door = junctor.DoorCall
		case r.URL.Path != "/mcp/a/"+name:
			door = junctor.DoorPlain
		}
		g.recordRefusal(r, p, door, junctor.KindAgent, name, err)
	}
	return as, err
}

// recordRefusal records who posted to a door that is not there for them.
func (g *Gateway) recordRefusal(r *http.Request, p *junctor.Principal, door junctor.Door, kind junctor.Kind, name string, err error) {
	if r.Method == http.MethodPost {
		_ = g.options.Pipeline.Refuse(r.Context(), p, door, kind, name, err)
	}
}
