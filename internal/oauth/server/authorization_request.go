package server

import (
	"net/url"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// singleValue returns a parameter that may occur at most once; "" if it is missing.
// OAuth forbids repeated parameters, since two parsers could choose different ones.
func singleValue(v url.Values, name string) (string, *oauthError) {
	switch list := v[name]; len(list) {
	case 0:
		return "", nil
	case 1:
		return list[0], nil
	}
	return "", newOAuthError("invalid_request", "the parameter "+name+" is given more than once")
}

// readParameters reads several parameters, each of which may occur at most once.
func readParameters(v url.Values, to map[string]*string) *oauthError {
	for name, text := range to {
		value, oerr := singleValue(v, name)
		if oerr != nil {
			return oerr
		}
		*text = value
	}
	return nil
}

// authorizationRequest is the request of a program at the authorization endpoint.
// It is part of a sealed pendingConsent.
type authorizationRequest struct {
	Client    string          `json:"client"`
	Name      string          `json:"name"`
	Redirect  string          `json:"redirect"`
	State     *string         `json:"state,omitempty"`
	Challenge string          `json:"challenge"`
	Resource  string          `json:"resource"`
	Scopes    []junctor.Scope `json:"scopes"`

	forceConsent bool // prompt=consent: ask even if the person consented before
}

// maxStateLength bounds the state parameter, which the redirect address repeats.
const maxStateLength = 2000

// parseAuthorizationRequest parses all parameters except client_id and
// redirect_uri, which the caller has checked before. It requires PKCE with S256 and
// a resource of this instance.
func (srv *Server) parseAuthorizationRequest(v url.Values) (*authorizationRequest, *oauthError) {
	var kind, method, scope, prompt string
	var r authorizationRequest
	if oerr := readParameters(v, map[string]*string{
		"response_type": &kind, "code_challenge": &r.Challenge, "code_challenge_method": &method, "resource": &r.Resource, "scope": &scope, "prompt": &prompt,
	}); oerr != nil {
		return nil, oerr
	}
	state, oerr := singleValue(v, "state")
	if oerr != nil {
		return nil, oerr
	}
	if v.Has("state") {
		r.State = &state
	}
	switch {
	case kind == "":
		return nil, newOAuthError("invalid_request", "response_type is missing; it must be code")
	case kind != "code":
		return nil, newOAuthError("unsupported_response_type", "response_type must be code")
	case v.Has("request"):
		return nil, newOAuthError("request_not_supported", "the parameter request is not supported")
	case v.Has("request_uri"):
		return nil, newOAuthError("request_uri_not_supported", "the parameter request_uri is not supported")
	case r.Challenge == "":
		return nil, newOAuthError("invalid_request", "code_challenge is missing: PKCE with S256 is required")
	case method != "S256":
		return nil, newOAuthError("invalid_request", "code_challenge_method must be S256")
	case !isChallenge(r.Challenge):
		return nil, newOAuthError("invalid_request", "code_challenge must be the SHA-256 of a verifier in base64url")
	case len(state) > maxStateLength:
		return nil, newOAuthError("invalid_request", "state is too long")
	}
	if r.Resource == "" { // programs older than MCP 2025-06-18 do not send it
		r.Resource = srv.Issuer() + "/mcp"
	}
	if !srv.isMCPEndpoint(r.Resource) {
		return nil, newOAuthError("invalid_target", "resource must be an endpoint of this instance, such as "+srv.Issuer()+"/mcp")
	}
	r.forceConsent = slices.Contains(strings.Fields(prompt), "consent")
	r.Scopes, oerr = srv.parseScopes(scope)
	return &r, oerr
}

// isChallenge reports whether a text is a SHA-256 in base64url without padding.
func isChallenge(text string) bool { return len(text) == 43 && isURLSafe(text) }

// isURLSafe reports whether a text has only characters of base64url.
func isURLSafe(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && r != '-' && r != '_'
	})
}

// parseScopes returns the requested scopes that tokens can have; all of them if
// none are requested. Unknown scopes are ignored, unless all are unknown.
func (srv *Server) parseScopes(asked string) ([]junctor.Scope, *oauthError) {
	if strings.TrimSpace(asked) == "" {
		return slices.Clone(srv.allScopes), nil
	}
	var out []junctor.Scope
	names := strings.Fields(asked)
	for _, s := range srv.options.Scopes {
		if slices.Contains(names, s.Name) && !slices.Contains(out, s.Scope) {
			out = append(out, s.Scope)
		}
	}
	if len(out) == 0 {
		return nil, newOAuthError("invalid_scope", "scope names no scope that tokens can have; use one of: "+srv.scopeNames(srv.allScopes))
	}
	return out, nil
}

// scopeNames returns the OAuth names of scopes, separated by blanks.
func (srv *Server) scopeNames(scopes []junctor.Scope) string {
	var names []string
	for _, s := range srv.options.Scopes {
		if slices.Contains(scopes, s.Scope) {
			names = append(names, s.Name)
		}
	}
	return strings.Join(names, " ")
}
