package resource_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/identity"
	oauthresource "github.com/junctor-mcp/junctor/internal/oauth/resource"
	"github.com/junctor-mcp/junctor/internal/store/sqlite"
	"github.com/junctor-mcp/junctor/internal/store/storetest"
	"github.com/junctor-mcp/junctor/internal/testkit/oauthserver"
)

// TestKnownTokenCostsNothing holds that a token which was verified before costs
// neither a signature nor memory.
func TestKnownTokenCostsNothing(t *testing.T) {
	a := oauthserver.Start(t)
	st, err := sqlite.Open(t.Context(), storetest.Fresh(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	id, err := identity.New(t.Context(), identity.Config{Store: st})
	if err != nil {
		t.Fatal(err)
	}
	b, err := oauthresource.New(oauthresource.Options{
		Identity: id, URL: func() string { return "https://junctor.example" }, Scopes: []oauthresource.Scope{{Name: "tools:call", Scope: junctor.ScopeToolsCall}},
		Issuers: []oauthresource.Issuer{{
			Client:          http.DefaultClient,
			AdmissionPolicy: identity.AdmissionPolicy{Issuer: a.URL, Tenant: junctor.DefaultTenant, CreateUsers: true, DefaultRole: junctor.UserDeveloper},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := a.Sign(a.Claims("https://junctor.example/mcp", "tools:call"), nil)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", nil)
	r.Pattern = "/mcp"
	r.Header.Set("Authorization", "Bearer "+text)
	check := func() {
		token, found := b.TokenFromRequest(r)
		if p, err := b.Principal(r, token); !found || err != nil || p.User == "" {
			t.Fatalf("%+v, %v", p, err)
		}
	}
	check()
	if n := testing.AllocsPerRun(100, check); n != 0 {
		t.Errorf("a known token costs %v allocations", n)
	}
	if n := a.CountRequests("/jwks"); n != 1 {
		t.Errorf("the keys were fetched %d times", n)
	}

	key := r.Clone(t.Context())
	key.Header.Set("Authorization", "Bearer jct_abcdefgh_0123456789012345678901234567890123456789012")
	if n := testing.AllocsPerRun(100, func() {
		if _, found := b.TokenFromRequest(key); found {
			t.Fatal("a key is taken for a token")
		}
	}); n != 0 {
		t.Errorf("beside tokens a key costs %v allocations more", n)
	}
}
