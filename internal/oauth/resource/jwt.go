package resource

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

// clockLeeway is how far the clocks of an issuer and of this machine may differ.
const clockLeeway = 30 * time.Second

// signatureAlgorithms lists the accepted algorithms, all asymmetric. HMAC and
// "none" are missing on purpose: they would let a client forge tokens.
func signatureAlgorithms() []jose.SignatureAlgorithm {
	return []jose.SignatureAlgorithm{
		jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
	}
}

// verifyJWT verifies a token for the endpoint at path and returns its user. The
// checks run in a fixed order: type, issuer, signature, times and audience. Only
// then is a user created, so that a token for another service cannot create one
// here. ID tokens are rejected.
func (v *Verifier) verifyJWT(ctx context.Context, text, path string, now time.Time) (*verifiedToken, error) {
	parsed, err := jwt.ParseSigned(text, signatureAlgorithms())
	if err != nil || len(parsed.Headers) != 1 {
		return nil, invalidTokenf("the token is not a JWT with an asymmetric signature")
	}
	switch typ, _ := parsed.Headers[0].ExtraHeaders[jose.HeaderType].(string); strings.TrimPrefix(strings.ToLower(typ), "application/") {
	case "", "jwt", "at+jwt":
	default:
		return nil, invalidTokenf("the token is not an access token")
	}
	var claims jwt.Claims
	if err := parsed.UnsafeClaimsWithoutVerification(&claims); err != nil {
		return nil, invalidTokenf("the token is not a JWT with a JSON object of claims")
	}
	keys := v.keySets[claims.Issuer]
	if keys == nil {
		return nil, invalidTokenf("this instance does not trust the issuer of the token")
	}
	all, err := keys.verifySignature(ctx, parsed, &claims)
	if err != nil {
		return nil, err
	}
	if err := checkTimes(&claims, now); err != nil {
		return nil, err
	}
	if err := v.checkAudience(&verifiedToken{audience: claims.Audience}, path); err != nil {
		return nil, err
	}
	if _, id := all["at_hash"]; claims.Subject == "" || id {
		return nil, invalidTokenf("the token is not an access token of a user or client")
	}
	stated := identity.Claims{Subject: claims.Subject, Values: all}
	u, err := v.admitUser(ctx, keys.issuer.AdmissionPolicy, stated)
	if err != nil {
		if e := junctor.AsError(err); e.Code == junctor.CodeDenied {
			v.options.Log.LogAttrs(ctx, slog.LevelWarn, "token rejected", slog.String("issuer", claims.Issuer), slog.String("reason", e.Message))
		}
		return nil, err
	}
	expires := claims.Expiry.Time().Add(clockLeeway)
	return &verifiedToken{user: v.options.Identity.NewTokenUser(u, v.tokenScopes(all), v.allScopes, expires).WithGroups(keys.issuer.GroupsOf(stated)), audience: claims.Audience, expires: expires}, nil
}

// checkTimes returns an error if a token is not valid at a time. A token without
// expiry is rejected.
func checkTimes(c *jwt.Claims, now time.Time) error {
	if c.Expiry == nil {
		return invalidTokenf("the token has no exp")
	}
	err := c.ValidateWithLeeway(jwt.Expected{Time: now}, clockLeeway)
	switch {
	case errors.Is(err, jwt.ErrExpired):
		return invalidTokenf("the token has expired")
	case errors.Is(err, jwt.ErrNotValidYet):
		return invalidTokenf("the token is not valid yet")
	case err != nil:
		return invalidTokenf("iat of the token is in the future")
	}
	return nil
}

// tokenScopes returns the known scopes of a token. Issuers put them into the claim
// scope, as a text (RFC 9068), or into scp, as a text or a list.
func (v *Verifier) tokenScopes(claims map[string]any) []junctor.Scope {
	given := map[string]bool{}
	for _, name := range []string{"scope", "scp"} {
		switch value := claims[name].(type) {
		case string:
			for s := range strings.FieldsSeq(value) {
				given[s] = true
			}
		case []any:
			for _, s := range value {
				if s, ok := s.(string); ok {
					given[s] = true
				}
			}
		}
	}
	var out []junctor.Scope
	for _, s := range v.options.Scopes {
		if given[s.Name] {
			out = append(out, s.Scope)
		}
	}
	return out
}
