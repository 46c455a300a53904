package authority

import (
	"log/slog"
	"net/http"
	"strconv"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/limit"
)

// fault is an error in the words of OAuth (RFC 6749 and those after it).
type fault struct {
	Code string `json:"error"`
	Text string `json:"error_description"`
}

func (f *fault) Error() string { return f.Text }

func faultf(code, text string) *fault { return &fault{code, text} }

// refuse answers a program's request that is not followed.
func refuse(w http.ResponseWriter, f *fault) { answer(w, http.StatusBadRequest, f) }

// broken answers a request that something of ours is in the way of, and logs
// what.
func (a *Authority) broken(w http.ResponseWriter, r *http.Request, err error) {
	e := junctor.AsError(err)
	a.o.Log.LogAttrs(r.Context(), slog.LevelError, "a client's request for tokens could not be followed", slog.String("path", r.URL.Path),
		slog.String("error", e.Message), slog.Any("cause", e.Cause))
	answer(w, http.StatusServiceUnavailable, faultf("temporarily_unavailable", "this does not work just now; the log of this instance says why"))
}

// How often somebody may come: to register from one address, for tokens from one
// address, and with documents for one user. Some programs reach us for many
// people from few addresses.
func toRegister() limit.Rate { return limit.Rate{PerSecond: 1.0 / 5, Burst: 30} }
func forTokens() limit.Rate  { return limit.Rate{PerSecond: 10, Burst: 200} }
func toFetch() limit.Rate    { return limit.Rate{PerSecond: 1.0 / 5, Burst: 10} }

// ofSite is how often all networks of one site of IPv6 may come together.
func ofSite(r limit.Rate) limit.Rate {
	return limit.Rate{PerSecond: 4 * r.PerSecond, Burst: 4 * r.Burst}
}

// may says whether an address may do something once more, and answers where it
// may not.
func (a *Authority) may(w http.ResponseWriter, r *http.Request, what string, rate limit.Rate) bool {
	ok, wait := a.countTry(r, what, rate)
	if !ok {
		w.Header().Set("Retry-After", strconv.FormatInt(int64((wait+time.Second-1)/time.Second), 10))
		answer(w, http.StatusTooManyRequests, faultf("temporarily_unavailable", "too many requests from this address: wait and try again"))
	}
	return ok
}

// countTry counts what an address does, and says how long to wait where that was too
// often. Who has one address of IPv6 has 2^64, and a site has 2^16 networks of those:
// both are counted. The network comes first, so that one that is refused uses nothing
// up of what its site has.
func (a *Authority) countTry(r *http.Request, what string, rate limit.Rate) (ok bool, wait time.Duration) {
	at, now := a.o.Address(r).Unmap().WithZone(""), a.o.Now()
	if !at.Is6() {
		return a.tries.Take(r.Context(), "authority:"+what+":from:"+at.String(), rate, now)
	}
	network, _ := at.Prefix(64)
	if ok, wait = a.tries.Take(r.Context(), "authority:"+what+":from:"+network.String(), rate, now); !ok {
		return false, wait
	}
	site, _ := at.Prefix(48)
	return a.tries.Take(r.Context(), "authority:"+what+":site:"+site.String(), ofSite(rate), now)
}
