package app

import (
	"net/http"
	"net/url"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/gateway"
	oauthresource "github.com/junctor-mcp/junctor/internal/oauth/resource"
)

// openTokens joins what verifies tokens: of identity providers, where the
// settings name issuers, and of our own.
func (a *App) openTokens() (err error) {
	c := a.cfg.OAuth
	o := oauthresource.Options{Identity: a.identity, URL: a.URL, Audiences: c.Audiences, Log: a.log, Now: a.clock.Now}
	if a.cfg.IssuesTokens() {
		o.LocalIssuer = a.authority
	} else if len(c.Issuers) == 0 {
		return nil
	}
	for _, issuer := range c.Issuers {
		u, err := url.Parse(issuer)
		if err != nil {
			return err
		}
		o.Issuers = append(o.Issuers, oauthresource.Issuer{AdmissionPolicy: signUpRules(issuer, u.Host, c.Admission), Client: a.providerClient(issuer)})
	}
	for _, s := range c.Scopes {
		o.Scopes = append(o.Scopes, oauthresource.Scope{Name: s.Name, Scope: s.Scope})
	}
	a.tokens, err = oauthresource.New(o)
	return err
}

// challenger is what tells clients of tokens; nil where none are taken.
func (a *App) challenger() gateway.Challenger {
	if a.tokens == nil {
		return nil
	}
	return a.tokens
}

// authenticateEndpoint is authenticate for the endpoints of the gateway, some of which
// take tokens beside keys.
func (a *App) authenticateEndpoint(r *http.Request) (*junctor.Principal, error) {
	if a.tokens != nil {
		if token, found := a.tokens.TokenFromRequest(r); found {
			p, err := a.tokens.Principal(r, token)
			if err != nil {
				a.metrics.CountUnauthenticated()
			}
			return p, err
		}
	}
	return a.authenticate(r)
}
