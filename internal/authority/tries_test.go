package authority

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
	memory *limit.Memory
}

func (p sharedPool) Tokens(_ context.Context, key string, r limit.Rate, _ int, _ time.Duration) (limit.Grant, error) {
	ok, wait := p.memory.Take(key, r, time.Unix(1e9, 0))
	if ok {
		return limit.Grant{N: 1}, nil
	}
	return limit.Grant{Wait: wait}, nil
}

// newCounting makes an Authority that does nothing but count, at a moment that
// stays.
func newCounting(pool limit.Pool) *Authority {
	return &Authority{o: Options{
		Now: func() time.Time { return time.Unix(1e9, 0) },
		Address: func(r *http.Request) netip.Addr {
			at, _ := netip.ParseAddrPort(r.RemoteAddr)
			return at.Addr()
		},
	}, tries: limit.NewCounter(pool)}
}

// come has a request come from an address, and says whether it may.
func come(t *testing.T, a *Authority, what string, rate limit.Rate, from string) bool {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/oauth/"+what, nil)
	r.RemoteAddr = from
	w := httptest.NewRecorder()
	ok := a.may(w, r, what, rate)
	if !ok && (w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "") {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	return ok
}

// TestTriesAreShared has two replicas count together what comes from one address.
func TestTriesAreShared(t *testing.T) {
	t.Parallel()
	pool := sharedPool{memory: limit.NewMemory()}
	replicas := []*Authority{newCounting(pool), newCounting(pool)}
	for what, rate := range map[string]limit.Rate{"register": toRegister(), "token": forTokens()} {
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
	if !come(t, replicas[0], "register", toRegister(), "198.51.100.8:1") {
		t.Error("another address is refused")
	}
}

// TestUnknownTokensAreShared has two replicas count together the tokens that are
// looked up.
func TestUnknownTokensAreShared(t *testing.T) {
	t.Parallel()
	pool := sharedPool{memory: limit.NewMemory()}
	replicas := []*Authority{newCounting(pool), newCounting(pool)}
	token, looked := accessMark+strings.Repeat("x", maxToken), 0 // too long to be looked for, and counted
	for n := range 2 * unknown().Burst {
		if _, _, _, err := replicas[n%2].Prove(t.Context(), token); junctor.CodeOf(err) == junctor.CodeUnauthenticated {
			looked++
		}
	}
	if looked != unknown().Burst {
		t.Errorf("%d tokens were looked up, want %d", looked, unknown().Burst)
	}
}

// TestTriesOfASite comes from ever other networks of one site of IPv6, which are
// counted together, too, and from another site.
func TestTriesOfASite(t *testing.T) {
	t.Parallel()
	for what, rate := range map[string]limit.Rate{"register": toRegister(), "token": forTokens()} {
		a, passed := newCounting(nil), 0
		for n := range 10 * rate.Burst {
			if come(t, a, what, rate, fmt.Sprintf("[2001:db8:1:%x::1]:1", n)) {
				passed++
			}
		}
		if want := ofSite(rate).Burst; passed != want || passed >= 10*rate.Burst {
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
