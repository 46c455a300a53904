package gateway

import (
	"net/http"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// authenticate returns the principal of a request. If there is none, it answers 401 and
// returns nil. At the endpoint of an agent, the result is the principal acting as that
// agent; the answer is 404 if it may not. A token without any scope that is valid here is
// answered with a challenge, so that the client gets another one.
func (g *Gateway) authenticate(w http.ResponseWriter, r *http.Request) *junctor.Principal {
	// Without this check such a client would see empty lists and refusals, and never
	// learn that another token would help.
	p, err := g.options.Authenticate(r)
	if err == nil && len(p.Scopes) == 0 && len(p.Could) > 0 {
		e := junctor.Errorf(junctor.CodeDenied, "the token has no scope of this instance")
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

// challengeHeader returns the WWW-Authenticate header for a request without a valid
// credential.
func (g *Gateway) challengeHeader(r *http.Request, err error) string {
	if g.options.Challenger != nil {
		if c := g.options.Challenger.Challenge(r, err); c != "" {
			return c
		}
	}
	return `Bearer realm="junctor"`
}

// setScopeChallenge tells a client whose token lacks a scope which scope to request. It
// returns true if another token would help; the status is then 403 in both eras.
func (g *Gateway) setScopeChallenge(w http.ResponseWriter, r *http.Request, p *junctor.Principal, err error) bool {
	if g.options.Challenger == nil || p == nil || len(p.Could) == 0 || err == nil {
		return false
	}
	e := junctor.AsError(err)
	if e.Code != junctor.CodeDenied || e.Scope == "" {
		return false
	}
	c := g.options.Challenger.ScopeChallenge(r, p, e.Scope)
	if c != "" {
		w.Header().Set("WWW-Authenticate", c)
	}
	return c != ""
}

// authenticateMethod is authenticate for an endpoint with one HTTP method. It answers 405
// to other methods.
func (g *Gateway) authenticateMethod(w http.ResponseWriter, r *http.Request, method string) *junctor.Principal {
	p := g.authenticate(w, r)
	if p != nil && r.Method != method {
		methodNotAllowed(w, method)
		return nil
	}
	return p
}

// resolveAgent returns the principal acting as the agent in the request's path, or p if
// the path names none. If the agent does not exist, or p may not act as it, the error is
// not_found and the refusal is recorded.
func (g *Gateway) resolveAgent(r *http.Request, p *junctor.Principal) (*junctor.Principal, error) {
	name := r.PathValue("agent")
	if name == "" {
		return p, nil
	}
	as, err := g.options.Catalog.Snapshot().For(p.Tenant).Acting(p, name)
	if err != nil {
		entryPoint := junctor.EntryMCP
		switch {
		case strings.HasSuffix(r.URL.Path, "/call"):
			entryPoint = junctor.EntryBridge
		case r.URL.Path != "/mcp/a/"+name:
			entryPoint = junctor.EntryPlain
		}
		g.recordRefusal(r, p, entryPoint, junctor.KindAgent, name, err)
	}
	return as, err
}

// recordRefusal records a POST to an endpoint that does not exist for this principal.
func (g *Gateway) recordRefusal(r *http.Request, p *junctor.Principal, entryPoint junctor.EntryPoint, kind junctor.Kind, name string, err error) {
	if r.Method == http.MethodPost {
		_ = g.options.Pipeline.RecordRefusal(r.Context(), p, entryPoint, kind, name, err)
	}
}
