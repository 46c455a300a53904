package identity_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/identity"

	"pgregory.net/rapid"
)

func TestAuthenticate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	k, token := b.key(t, "ci", time.Time{})
	_, other := b.key(t, "other", time.Time{})
	for name, c := range map[string]struct {
		header http.Header
		target string
		fine   bool
	}{
		"bearer":                          {header: header("Authorization", "Bearer "+token), fine: true},
		"bearer, any case":                {header: header("Authorization", "bEaReR "+token), fine: true},
		"bearer, spaces":                  {header: header("Authorization", "  Bearer   "+token+" "), fine: true},
		"x-api-key":                       {header: header("x-api-key", token), fine: true},
		"both, the same":                  {header: header("Authorization", "Bearer "+token, "X-API-Key", token), fine: true},
		"basic for a proxy, and a key":    {header: header("Authorization", "Basic dTpw", "X-API-Key", token), fine: true},
		"nothing":                         {},
		"both, different":                 {header: header("Authorization", "Bearer "+token, "X-API-Key", other)},
		"twice":                           {header: header("Authorization", "Bearer "+token, "Authorization", "Bearer "+token)},
		"x-api-key twice":                 {header: header("X-API-Key", token, "X-API-Key", other)},
		"basic":                           {header: header("Authorization", "Basic "+token)},
		"no scheme":                       {header: header("Authorization", token)},
		"no space":                        {header: header("Authorization", "Bearer"+token)},
		"empty bearer":                    {header: header("Authorization", "Bearer")},
		"empty header":                    {header: header("Authorization", "")},
		"empty x-api-key":                 {header: header("X-API-Key", "")},
		"two tokens":                      {header: header("Authorization", "Bearer "+token+" "+token)},
		"a list":                          {header: header("Authorization", "Bearer "+token+", Bearer "+other)},
		"cut":                             {header: header("Authorization", "Bearer "+token[:len(token)-1])},
		"upper case":                      {header: header("Authorization", "Bearer "+strings.ToUpper(token))},
		"prefix only":                     {header: header("Authorization", "Bearer "+k.Prefix)},
		"key id":                          {header: header("Authorization", "Bearer "+k.ID)},
		"endless":                         {header: header("Authorization", "Bearer "+strings.Repeat("x", 1<<20))},
		"in the query":                    {target: "/mcp?key=" + token + "&access_token=" + token + "&api_key=" + token},
		"in the path":                     {target: "/mcp/" + token},
		"in a cookie":                     {header: header("Cookie", "key="+token)},
		"in a header of another name":     {header: header("X-Forwarded-Authorization", "Bearer "+token, "X-Auth-Token", token, "X-User", "admin")},
		"in the proxy's header":           {header: header("Proxy-Authorization", "Bearer "+token)},
		"empty bearer beside an api key":  {header: header("Authorization", "Bearer", "X-API-Key", token)},
		"wrong bearer beside an api key":  {header: header("Authorization", "Bearer x", "X-API-Key", token)},
		"userinfo of the URL":             {target: "http://bearer:" + token + "@example.com/"},
		"a NUL after the token":           {header: header("Authorization", "Bearer "+token+"\x00")},
		"another encoding of the letters": {header: header("Authorization", "Bearer "+strings.ReplaceAll(token, "_", "%5F"))},
	} {
		if c.target == "" {
			c.target = "/mcp"
		}
		p, err := b.Authenticate(request(t, c.target, c.header))
		switch {
		case c.fine && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.fine && (p.Subject != k.ID || p.Issuer != junctor.IssuerKey || p.Tenant != junctor.DefaultTenant || p.Name != "ci" || !p.Has(junctor.ScopeToolsCall) || p.Has(junctor.ScopeAdmin)):
			t.Errorf("%s: got %+v", name, p)
		case !c.fine && (p != nil || junctor.CodeOf(err) != junctor.CodeUnauthenticated):
			t.Errorf("%s: got %+v, %v", name, p, err)
		case !c.fine && !strings.Contains(err.Error(), "Authorization: Bearer <key>"):
			t.Errorf("%s: the message does not say how to send a key: %v", name, err)
		}
	}
}

// What an invalid key was is nobody's business.
func TestOneMessageForAllInvalidKeys(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, expired := b.key(t, "short", b.clock.Now().Add(time.Minute))
	gone, revoked := b.key(t, "gone", time.Time{})
	b.clock.add(time.Hour)
	if err := b.RevokeKey(t.Context(), junctor.DefaultTenant, gone.ID); err != nil {
		t.Fatal(err)
	}
	var messages []string
	for _, token := range []string{expired, revoked, "never heard of", "", strings.Repeat("x", 1000)} {
		_, err := b.AuthenticateToken(token)
		fails(t, err, junctor.CodeUnauthenticated)
		messages = append(messages, err.Error())
	}
	if len(slices.Compact(messages)) != 1 {
		t.Errorf("the messages differ: %q", messages)
	}
}

func TestExpiryIsJudgedAtUse(t *testing.T) {
	t.Parallel()
	b := setup(t)
	k, token := b.key(t, "short", b.clock.Now().Add(time.Minute))
	if _, err := b.AuthenticateToken(token); err != nil {
		t.Fatal(err)
	}
	b.clock.add(k.ExpiresAt.Sub(b.clock.Now()) - 1)
	if _, err := b.AuthenticateToken(token); err != nil {
		t.Errorf("just before its expiry: %v", err)
	}
	b.clock.add(1)
	_, err := b.AuthenticateToken(token)
	fails(t, err, junctor.CodeUnauthenticated)
}

func TestOpen(t *testing.T) {
	t.Parallel()
	b := setup(t, opened)
	k, token := b.key(t, "ci", time.Time{})
	p, err := b.Authenticate(request(t, "/mcp", nil))
	if err != nil {
		t.Fatal(err)
	}
	want := []junctor.Scope{junctor.ScopeToolsRead, junctor.ScopeToolsCall}
	if p.Tenant != junctor.DefaultTenant || p.Issuer != junctor.IssuerOpen || p.Subject != "anonymous" || !slices.Equal(p.Scopes, want) {
		t.Errorf("nobody is %+v", p)
	}
	if p, err := b.Authenticate(request(t, "/mcp", header("X-API-Key", token))); err != nil || p.Subject != k.ID {
		t.Errorf("a key is %+v, %v", p, err)
	}
	for _, wrong := range []http.Header{
		header("Authorization", "Bearer x"), header("Authorization", ""), header("Authorization", "Basic x"), header("X-API-Key", ""),
	} {
		_, err := b.Authenticate(request(t, "/mcp", wrong))
		fails(t, err, junctor.CodeUnauthenticated)
	}
	if _, err := b.AuthenticateToken(""); err == nil {
		t.Error("an empty token is let in")
	}
}

func TestLocal(t *testing.T) {
	t.Parallel()
	p := setup(t).OperatorPrincipal()
	if p.Issuer != junctor.IssuerLocal || p.Subject != "operator" || p.Tenant != junctor.DefaultTenant || !p.Has(junctor.ScopeKeysWrite) {
		t.Errorf("got %+v", p)
	}
}

func TestPrincipalIsShared(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, token := b.key(t, "ci", time.Time{})
	first, err := b.AuthenticateToken(token)
	if err != nil {
		t.Fatal(err)
	}
	if second, _ := b.AuthenticateToken(token); second != first {
		t.Error("each check makes a principal of its own")
	}
}

func TestCheckAllocatesNothing(t *testing.T) {
	b := setup(t)
	_, token := b.key(t, "ci", time.Time{})
	for name, h := range map[string]http.Header{
		"bearer":    header("Authorization", "Bearer "+token),
		"x-api-key": header("X-API-Key", token),
	} {
		r := request(t, "/mcp", h)
		got := testing.AllocsPerRun(200, func() {
			if _, err := b.Authenticate(r); err != nil {
				t.Fatal(err)
			}
		})
		if got > 0 {
			t.Errorf("%s: a check makes %v allocations", name, got)
		}
	}
}

// No token but its own opens an endpoint as a key, whatever other keys there are.
func TestTokensNeverMeet(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tokens := map[string]string{} // token -> key id, of keys that live
	rapid.Check(t, func(rt *rapid.T) {
		k, token := b.key(t, "k", time.Time{})
		tokens[token] = k.ID
		if rapid.Bool().Draw(rt, "revoke one") {
			for token, id := range tokens {
				if err := b.RevokeKey(t.Context(), junctor.DefaultTenant, id); err != nil {
					rt.Fatal(err)
				}
				delete(tokens, token)
				if _, err := b.AuthenticateToken(token); err == nil {
					rt.Fatal("a revoked key opens endpoints")
				}
				break
			}
		}
		for token, id := range tokens {
			p, err := b.AuthenticateToken(token)
			if err != nil || p.Subject != id {
				rt.Fatalf("the token of %s is %+v, %v", id, p, err)
			}
		}
		// A token with any one character changed is nobody's.
		n := rapid.IntRange(0, len(token)-1).Draw(rt, "position")
		c := rapid.ByteRange(0, 255).Draw(rt, "character")
		if c != token[n] {
			if p, err := b.AuthenticateToken(token[:n] + string([]byte{c}) + token[n+1:]); err == nil {
				rt.Fatalf("a changed token is %+v", p)
			}
		}
	})
}

// Once RevokeKey has returned, no check succeeds, whatever runs beside it.
func TestRevocationIsAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	background := func(work func()) {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					work()
				}
			}
		})
	}
	background(func() {
		if err := b.Reload(t.Context()); err != nil {
			t.Errorf("Reload: %v", err)
		}
	})
	background(func() {
		if err := b.FlushUsage(t.Context()); err != nil {
			t.Errorf("Flush: %v", err)
		}
	})
	background(func() {
		if _, err := b.ListKeys(t.Context(), junctor.DefaultTenant); err != nil {
			t.Errorf("ListKeys: %v", err)
		}
	})
	for range 30 {
		k, token := b.key(t, "k", time.Time{})
		if _, err := b.AuthenticateToken(token); err != nil {
			t.Errorf("a new key: %v", err)
		}
		if err := b.RevokeKey(t.Context(), junctor.DefaultTenant, k.ID); err != nil {
			t.Errorf("RevokeKey: %v", err)
		}
		for range 20 {
			if _, err := b.AuthenticateToken(token); err == nil {
				t.Error("a revoked key opens endpoints")
			}
		}
	}
	close(stop)
	wg.Wait()
}

func FuzzAuthenticate(f *testing.F) {
	b := setup(f)
	_, token := b.key(f, "ci", time.Time{})
	for _, seed := range []string{"Bearer " + token, token, "bearer\t" + token, "Basic " + token, "Bearer ", "", "Bearer Bearer " + token, "\x00"} {
		f.Add(seed, "")
		f.Add("", seed)
	}
	f.Fuzz(func(t *testing.T, auth, key string) {
		p, err := b.Authenticate(request(t, "/mcp", header("Authorization", auth, "X-API-Key", key)))
		if err != nil {
			fails(t, err, junctor.CodeUnauthenticated)
			return
		}
		if p == nil || (strings.TrimSpace(key) != token && !strings.HasSuffix(strings.TrimSpace(auth), token)) {
			t.Fatalf("%q and %q are %+v", auth, key, p)
		}
	})
}

func BenchmarkAuthenticate(b *testing.B) {
	ids := setup(b)
	_, token := ids.key(b, "ci", time.Time{})
	r := request(b, "/mcp", header("Authorization", "Bearer "+token))
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := ids.Authenticate(r); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// Only what has the form of a token is looked for in the database: a stranger who sends
// anything else costs no query.
func TestUnknownTokensThatAreLookedFor(t *testing.T) {
	t.Parallel()
	asked := 0
	b := setup(t, func(c *identity.Config) { c.OnUnknownToken = func([32]byte) bool { asked++; return false } })
	_, token := b.key(t, "ci", time.Time{})
	for text, want := range map[string]int{
		token: 0, "": 0, "no-token": 0, "Bearer x": 0, token[:len(token)-1]: 0, "x" + token[1:]: 0, token[:len(token)-4] + "AAAA": 1,
	} {
		asked = 0
		_, err := b.AuthenticateToken(text)
		if asked != want || (err == nil) != (text == token) {
			t.Errorf("%q: looked for %d times, want %d; %v", text, asked, want, err)
		}
	}
}
