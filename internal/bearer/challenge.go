package bearer

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// metadata is where clients look for who issues tokens for a resource.
const metadata = "/.well-known/oauth-protected-resource"

// Mux is what the metadata is registered on.
type Mux interface {
	HandleFunc(pattern string, handler func(http.ResponseWriter, *http.Request))
}

// Routes puts the metadata of the doors into a mux. Without a path it is that of
// /mcp. They are open, as their standard wants it, and say nothing of which
// servers and agents there are.
func (b *Bearer) Routes(mux Mux) {
	mux.HandleFunc("GET "+metadata, func(w http.ResponseWriter, _ *http.Request) { b.describe(w, "/mcp") })
	for _, door := range doors() {
		mux.HandleFunc("GET "+metadata+door, func(w http.ResponseWriter, r *http.Request) {
			b.describe(w, strings.TrimPrefix(r.URL.Path, metadata))
		})
	}
}

func (b *Bearer) describe(w http.ResponseWriter, path string) {
	var issuers []string
	if b.o.Own != nil {
		issuers = append(issuers, b.o.Own.Issuer())
	}
	for i := range b.o.Issuers {
		issuers = append(issuers, b.o.Issuers[i].Issuer)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{ // a client that went away needs no answer
		"resource":                 b.base() + path,
		"resource_name":            "Junctor",
		"authorization_servers":    issuers,
		"scopes_supported":         strings.Fields(b.ask),
		"bearer_methods_supported": []string{"header"},
	})
}

// Challenge is the WWW-Authenticate of an answer to a request that was not let
// in at a door, and err is why: where to find out who issues tokens, what to ask
// for, and what is wrong with the one that was shown. "" where a token is not
// the matter.
func (b *Bearer) Challenge(r *http.Request, err error) string {
	if !isDoor(r) {
		return ""
	}
	var c strings.Builder
	c.WriteString("Bearer ")
	if len(r.Header["Authorization"]) > 0 || len(r.Header["X-Api-Key"]) > 0 {
		c.WriteString(`error="invalid_token", error_description="` + plain(junctor.AsError(err).Message) + `", `)
	}
	c.WriteString(`resource_metadata="` + b.base() + metadata + plain(r.URL.Path) + `", scope="` + b.ask + `"`)
	return c.String()
}

// StepUp is the WWW-Authenticate of a refusal for a scope that p lacks and could
// have with another token: it names what to ask for, which is what the token has
// and what it lacks. "" where no token would help.
func (b *Bearer) StepUp(r *http.Request, p *junctor.Principal, lacks junctor.Scope) string {
	if !isDoor(r) || p == nil || !slices.Contains(p.Could, lacks) {
		return ""
	}
	var names []string
	for _, s := range b.o.Scopes {
		if s.Means == lacks || slices.Contains(p.Scopes, s.Means) {
			names = append(names, s.Name)
		}
	}
	if len(p.Scopes) == 0 {
		names = strings.Fields(b.ask)
	}
	return `Bearer error="insufficient_scope", error_description="the token lacks the scope ` + b.nameOf(lacks) + `", ` +
		`resource_metadata="` + b.base() + metadata + plain(r.URL.Path) + `", scope="` + strings.Join(slices.Compact(names), " ") + `"`
}

func (b *Bearer) nameOf(scope junctor.Scope) string {
	for _, s := range b.o.Scopes {
		if s.Means == scope {
			return s.Name
		}
	}
	return string(scope)
}

// plain is text that may stand in a quoted string of the header.
func plain(text string) string {
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
