package bearer

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/identity"
)

// leeway is how far the clocks of an issuer and of this machine may differ.
const leeway = 30 * time.Second

// algorithms are those whose keys an issuer need not share with us.
func algorithms() []jose.SignatureAlgorithm {
	return []jose.SignatureAlgorithm{
		jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
	}
}

// prove verifies a token for the door at a path, and finds its user. Nobody is
// taken in before the token is known to be for us.
func (b *Bearer) prove(ctx context.Context, text, path string, now time.Time) (*token, error) {
	parsed, err := jwt.ParseSigned(text, algorithms())
	if err != nil || len(parsed.Headers) != 1 {
		return nil, invalid("the token is not a JWT that is signed with a public key's algorithm")
	}
	switch typ, _ := parsed.Headers[0].ExtraHeaders[jose.HeaderType].(string); strings.TrimPrefix(strings.ToLower(typ), "application/") {
	case "", "jwt", "at+jwt":
	default:
		return nil, invalid("the token is no access token")
	}
	var claims jwt.Claims
	if err := parsed.UnsafeClaimsWithoutVerification(&claims); err != nil {
		return nil, invalid("the token is not a JWT with claims")
	}
	keys := b.keys[claims.Issuer]
	if keys == nil {
		return nil, invalid("the token is of an issuer that is not trusted here")
	}
	all, err := keys.verify(ctx, parsed, &claims)
	if err != nil {
		return nil, err
	}
	if err := timely(&claims, now); err != nil {
		return nil, err
	}
	if err := b.meant(&token{audience: claims.Audience}, path); err != nil {
		return nil, err
	}
	if _, id := all["at_hash"]; claims.Subject == "" || id {
		return nil, invalid("the token is no access token of a person or program")
	}
	u, err := b.admit(ctx, keys.issuer.Admission, identity.Claims{Subject: claims.Subject, All: all})
	if err != nil {
		if e := junctor.AsError(err); e.Code == junctor.CodeDenied {
			b.o.Log.LogAttrs(ctx, slog.LevelWarn, "the holder of a token was not let in", slog.String("issuer", claims.Issuer), slog.String("why", e.Message))
		}
		return nil, err
	}
	expires := claims.Expiry.Time().Add(leeway)
	return &token{party: b.o.Identity.Party(u, b.scopes(all), b.most, expires), audience: claims.Audience, expires: expires}, nil
}

// timely says whether a token is good at a moment.
func timely(c *jwt.Claims, now time.Time) error {
	if c.Expiry == nil {
		return invalid("the token does not say when it expires")
	}
	err := c.ValidateWithLeeway(jwt.Expected{Time: now}, leeway)
	switch {
	case errors.Is(err, jwt.ErrExpired):
		return invalid("the token has expired")
	case errors.Is(err, jwt.ErrNotValidYet):
		return invalid("the token is not valid yet")
	case err != nil:
		return invalid("the token was issued in the future")
	}
	return nil
}

// scopes are those of a token that mean something here. Issuers say them as one
// text in scope (RFC 9068), or in scp.
func (b *Bearer) scopes(claims map[string]any) []junctor.Scope {
	given := map[string]bool{}
	for _, name := range []string{"scope", "scp"} {
		switch v := claims[name].(type) {
		case string:
			for s := range strings.FieldsSeq(v) {
				given[s] = true
			}
		case []any:
			for _, s := range v {
				if s, ok := s.(string); ok {
					given[s] = true
				}
			}
		}
	}
	var out []junctor.Scope
	for _, s := range b.o.Scopes {
		if given[s.Name] {
			out = append(out, s.Means)
		}
	}
	return out
}
