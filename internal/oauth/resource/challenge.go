package resource

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// metadataPath starts the well-known addresses of the resource metadata (RFC 9728).
const metadataPath = "/.well-known/oauth-protected-resource"

// Routes mounts the resource metadata of the MCP endpoints; the path without a
// suffix describes /mcp. The routes need no authentication, as their standard
// requires. They answer for every name, so they do not reveal which servers and
// agents exist.
func (v *Verifier) Routes(mux junctor.Mux) {
	mux.HandleFunc("GET "+metadataPath, func(w http.ResponseWriter, _ *http.Request) { v.writeMetadata(w, "/mcp") })
	for _, endpoint := range endpointPatterns() {
		mux.HandleFunc("GET "+metadataPath+endpoint, func(w http.ResponseWriter, r *http.Request) {
			v.writeMetadata(w, strings.TrimPrefix(r.URL.Path, metadataPath))
		})
	}
}

// writeMetadata writes the metadata of the MCP endpoint at path.
func (v *Verifier) writeMetadata(w http.ResponseWriter, path string) {
	var issuers []string
	if v.options.LocalIssuer != nil {
		issuers = append(issuers, v.options.LocalIssuer.Issuer())
	}
	for i := range v.options.Issuers {
		issuers = append(issuers, v.options.Issuers[i].Issuer)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{ // a client that went away needs no answer
		"resource":                 v.baseURL() + path,
		"resource_name":            "Junctor",
		"authorization_servers":    issuers,
		"scopes_supported":         strings.Fields(v.scopeParameter),
		"bearer_methods_supported": []string{"header"},
	})
}

// Challenge returns the WWW-Authenticate header for a request that was refused with
// err. It says where the metadata is, which scopes to request and, if the request
// had a credential, why it is invalid. It is "" if the route accepts no tokens.
func (v *Verifier) Challenge(r *http.Request, err error) string {
	if !isMCPEndpoint(r) {
		return ""
	}
	var c strings.Builder
	c.WriteString("Bearer ")
	if len(r.Header["Authorization"]) > 0 || len(r.Header["X-Api-Key"]) > 0 {
		c.WriteString(`error="invalid_token", error_description="` + quotableText(junctor.AsError(err).Message) + `", `)
	}
	c.WriteString(`resource_metadata="` + v.baseURL() + metadataPath + quotableText(r.URL.Path) + `", scope="` + v.scopeParameter + `"`)
	return c.String()
}

// ScopeChallenge returns the WWW-Authenticate header for a request that was refused
// because p lacks a scope. It names the scopes to request: those that the token
// has, and the missing one. It is "" if no token could give p the scope.
func (v *Verifier) ScopeChallenge(r *http.Request, p *junctor.Principal, lacks junctor.Scope) string {
	if !isMCPEndpoint(r) || p == nil || !slices.Contains(p.Could, lacks) {
		return ""
	}
	var names []string
	for _, s := range v.options.Scopes {
		if s.Scope == lacks || slices.Contains(p.Scopes, s.Scope) {
			names = append(names, s.Name)
		}
	}
	if len(p.Scopes) == 0 {
		names = strings.Fields(v.scopeParameter)
	}
	return `Bearer error="insufficient_scope", error_description="the token lacks the scope ` + v.scopeName(lacks) + `", ` +
		`resource_metadata="` + v.baseURL() + metadataPath + quotableText(r.URL.Path) + `", scope="` + strings.Join(slices.Compact(names), " ") + `"`
}

// scopeName returns the OAuth name of a scope.
func (v *Verifier) scopeName(scope junctor.Scope) string {
	for _, s := range v.options.Scopes {
		if s.Scope == scope {
			return s.Name
		}
	}
	return string(scope)
}

// quotableText replaces the characters that a quoted string of a header cannot
// contain.
func quotableText(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '"' || r == '\\':
			return '\''
		case r < ' ' || r > '~':
			return '?'
		}
		return r
	}, text)
}
