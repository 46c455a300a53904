package authority

import (
	"log/slog"
	"net/http"
	"net/netip"
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

// may says whether an address may do something once more, and answers where it
// may not.
func (a *Authority) may(w http.ResponseWriter, r *http.Request, what string, rate limit.Rate) bool {
	ok, wait := a.tries.Take(what+" "+origin(a.o.Address(r)), rate, a.o.Now())
	if !ok {
		w.Header().Set("Retry-After", strconv.FormatInt(int64((wait+time.Second-1)/time.Second), 10))
		answer(w, http.StatusTooManyRequests, faultf("temporarily_unavailable", "too many requests from this address: wait and try again"))
	}
	return ok
}

// origin is an address as far as one party has it: who has one of the long ones
// has 2^64.
func origin(at netip.Addr) string {
	at = at.Unmap()
	if at.Is6() {
		prefix, _ := at.WithZone("").Prefix(64)
		return prefix.String()
	}
	return at.String()
}
