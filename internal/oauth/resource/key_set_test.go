package resource

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/google/go-cmp/cmp"

	"github.com/junctor-mcp/junctor/internal/identity"
	"github.com/junctor-mcp/junctor/internal/testkit/oauthserver"
)

// ring returns the key set of a test issuer, with a clock of its own.
func ring(t *testing.T, a *oauthserver.Server) (k *keySet, now *time.Time) {
	t.Helper()
	at := time.Now()
	return &keySet{
		issuer: &Issuer{AdmissionPolicy: identity.AdmissionPolicy{Issuer: a.URL}, Client: http.DefaultClient},
		now:    func() time.Time { return at }, log: slog.New(slog.DiscardHandler),
	}, &at
}

func holds(t *testing.T, k *keySet, a *oauthserver.Server, header map[string]any) bool {
	t.Helper()
	text, err := a.Sign(a.Claims("x", ""), header)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := jwt.ParseSigned(text, signatureAlgorithms())
	if err != nil {
		t.Fatal(err)
	}
	_, err = k.verifySignature(context.Background(), parsed, new(jwt.Claims))
	return err == nil
}

func TestNewKeysAreFetched(t *testing.T) {
	t.Parallel()
	a := oauthserver.Start(t)
	k, now := ring(t, a)
	if !holds(t, k, a, nil) {
		t.Fatal("the first key does not hold")
	}
	if err := a.Rotate(); err != nil {
		t.Fatal(err)
	}
	if holds(t, k, a, nil) || a.CountRequests("/jwks") != 1 {
		t.Errorf("the issuer was asked again at once: %d times", a.CountRequests("/jwks"))
	}
	*now = now.Add(minRefreshInterval)
	if !holds(t, k, a, nil) || a.CountRequests("/jwks") != 2 {
		t.Errorf("the new key does not hold after %d fetches", a.CountRequests("/jwks"))
	}
	if !holds(t, k, a, map[string]any{"kid": ""}) {
		t.Error("a token that names no key does not hold")
	}
	if holds(t, k, a, map[string]any{"kid": rand.Text()}) {
		t.Error("a token that names another key holds")
	}
	// Keys that were taken back are noticed, and while the issuer is away those
	// that are known go on.
	*now = now.Add(keyLife)
	a.Hide(true, "/jwks")
	if !holds(t, k, a, nil) || a.CountRequests("/jwks") != 3 {
		t.Errorf("while the issuer is away nobody comes in; it was asked %d times", a.CountRequests("/jwks"))
	}
}

func TestMetadataOf(t *testing.T) {
	t.Parallel()
	for issuer, want := range map[string][]string{
		"https://a.example":  {"https://a.example/.well-known/oauth-authorization-server", "https://a.example/.well-known/openid-configuration"},
		"https://a.example/": {"https://a.example/.well-known/oauth-authorization-server", "https://a.example/.well-known/openid-configuration"},
		"https://a.example/t/1": {
			"https://a.example/.well-known/oauth-authorization-server/t/1", "https://a.example/t/1/.well-known/openid-configuration",
			"https://a.example/.well-known/openid-configuration/t/1",
		},
	} {
		got, err := metadataURLs(issuer)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", issuer, err, diff)
		}
	}
}

func TestAnotherIssuersMetadata(t *testing.T) {
	t.Parallel()
	a := oauthserver.Start(t)
	k, _ := ring(t, a)
	k.issuer.Issuer = a.URL + "/" // the same place, another name
	if holds(t, k, a, nil) || a.CountRequests("/jwks") != 0 {
		t.Error("the keys of another issuer are taken")
	}
}

func TestProvenAreBounded(t *testing.T) {
	t.Parallel()
	var p tokenCache
	now := time.Now()
	old := hashToken("old")
	p.put(old, &verifiedToken{expires: now.Add(time.Minute)}, now)
	if p.get(old, now) == nil || p.get(old, now.Add(time.Minute)) != nil {
		t.Error("a token is known until it expires, and no longer")
	}
	for range 3 * maxCachedTokens {
		p.put(hashToken(rand.Text()), &verifiedToken{expires: now.Add(time.Hour)}, now.Add(time.Minute))
	}
	if n := len(p.tokens); n > maxCachedTokens || n < maxCachedTokens/2 {
		t.Errorf("%d tokens are known", n)
	}
	if p.tokens[old] != nil {
		t.Error("one that has expired takes room")
	}
	last := hashToken("last")
	p.put(last, &verifiedToken{expires: now.Add(time.Hour)}, now)
	if p.get(last, now) == nil {
		t.Error("the last one is not known")
	}
}
