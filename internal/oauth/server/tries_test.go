package server

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/limit"
)

// sharedPool counts for several replicas.
type sharedPool struct {
	limit.Pool
	memory *limit.RateLimiter
}

func (p sharedPool) TakeTokens(_ context.Context, key string, r limit.Rate, _ int, _ time.Duration) (limit.Grant, error) {
	ok, wait := p.memory.Take(key, r, time.Unix(1e9, 0))
	if ok {
		return limit.Grant{Count: 1}, nil
	}
	return limit.Grant{Wait: wait}, nil
}

// newCounting returns a Server that does nothing but count, at a moment that
// stays.
func newCounting(pool limit.Pool) *Server {
	return &Server{options: Options{
		Now: func() time.Time { return time.Unix(1e9, 0) },
		Address: func(r *http.Request) netip.Addr {
			at, _ := netip.ParseAddrPort(r.RemoteAddr)
			return at.Addr()
		},
	}, rateLimiter: limit.NewSharedRateLimiter(pool)}
}

// come has a request come from an address, and says whether it may.
func come(t *testing.T, a *Server, what string, rate limit.Rate, from string) bool {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/oauth/"+what, nil)
	r.RemoteAddr = from
	w := httptest.NewRecorder()
	ok := a.allowRequest(w, r, what, rate)
	if !ok && (w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "") {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	return ok
}

// TestTriesAreShared has two replicas count together what comes from one address.
func TestTriesAreShared(t *testing.T) {
	t.Parallel()
	pool := sharedPool{memory: limit.NewRateLimiter()}
	replicas := []*Server{newCounting(pool), newCounting(pool)}
	for what, rate := range map[string]limit.Rate{"register": registrationRate(), "token": tokenRate()} {
		passed := 0
		for n := range 2 * rate.Burst {
			if come(t, replicas[n%2], what, rate, "198.51.100.7:1") {
				passed++
			}
		}
		if passed != rate.Burst {
			t.Errorf("%s: %d of %d passed, want %d", what, passed, 2*rate.Burst, rate.Burst)
		}
	}
	if !come(t, replicas[0], "register", registrationRate(), "198.51.100.8:1") {
		t.Error("another address is refused")
	}
}

// TestUnknownTokensAreShared has two replicas count together the tokens that are
// looked up.
func TestUnknownTokensAreShared(t *testing.T) {
	t.Parallel()
	pool := sharedPool{memory: limit.NewRateLimiter()}
	replicas := []*Server{newCounting(pool), newCounting(pool)}
	token, looked := accessPrefix+strings.Repeat("x", maxTokenLength), 0 // too long to be looked for, and counted
	for n := range 2 * lookupRate().Burst {
		if _, _, _, err := replicas[n%2].LookupToken(t.Context(), token); junctor.CodeOf(err) == junctor.CodeUnauthenticated {
			looked++
		}
	}
	if looked != lookupRate().Burst {
		t.Errorf("%d tokens were looked up, want %d", looked, lookupRate().Burst)
	}
}

// TestTriesOfASite comes from ever other networks of one site of IPv6, which are
// counted together, too, and from another site.
func TestTriesOfASite(t *testing.T) {
	t.Parallel()
	for what, rate := range map[string]limit.Rate{"register": registrationRate(), "token": tokenRate()} {
		a, passed := newCounting(nil), 0
		for n := range 10 * rate.Burst {
			if come(t, a, what, rate, fmt.Sprintf("[2001:db8:1:%x::1]:1", n)) {
				passed++
			}
		}
		if want := siteRate(rate).Burst; passed != want || passed >= 10*rate.Burst {
			t.Errorf("%s: %d passed from one site, want %d", what, passed, want)
		}
		if !come(t, a, what, rate, "[2001:db8:2::1]:1") {
			t.Errorf("%s: another site is refused", what)
		}

		// One network cannot use up what its site has.
		a = newCounting(nil)
		for n := range 10 * rate.Burst {
			come(t, a, what, rate, fmt.Sprintf("[2001:db8:1:1::%x]:1", n))
		}
		if !come(t, a, what, rate, "[2001:db8:1:2::1]:1") {
			t.Errorf("%s: one network used up what its site has", what)
		}
	}
}
