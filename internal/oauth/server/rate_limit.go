package server

import (
	"net/http"
	"strconv"
	"time"

	"github.com/junctor-mcp/junctor/internal/limit"
)

// Rates of requests. registrationRate and tokenRate hold for one client address,
// documentRate for one user. They are generous, because some hosted programs
// connect for many people from few addresses.
func registrationRate() limit.Rate { return limit.Rate{PerSecond: 1.0 / 5, Burst: 30} }
func tokenRate() limit.Rate        { return limit.Rate{PerSecond: 10, Burst: 200} }
func documentRate() limit.Rate     { return limit.Rate{PerSecond: 1.0 / 5, Burst: 10} }

// lookupRate bounds how often tokens are looked up in the database, for all callers
// together. Random tokens must not overload it.
func lookupRate() limit.Rate { return limit.Rate{PerSecond: 100, Burst: 500} }

// siteRate returns the rate for all networks of one IPv6 site together.
func siteRate(r limit.Rate) limit.Rate {
	return limit.Rate{PerSecond: 4 * r.PerSecond, Burst: 4 * r.Burst}
}

// allowRequest counts a request and reports whether its address is within rate. If
// not, it writes the response.
func (srv *Server) allowRequest(w http.ResponseWriter, r *http.Request, what string, rate limit.Rate) bool {
	ok, wait := srv.countRequest(r, what, rate)
	if !ok {
		w.Header().Set("Retry-After", strconv.FormatInt(int64((wait+time.Second-1)/time.Second), 10))
		writeJSON(w, http.StatusTooManyRequests, newOAuthError("temporarily_unavailable", "too many requests from this address: wait, then try again"))
	}
	return ok
}

// countRequest counts a request of an address and returns how long to wait if it
// exceeds rate. An IPv6 client has a /64 network with 2^64 addresses, and a site
// has 2^16 such networks, so both /64 and /48 are counted. The network is counted
// first: its refused requests must not use up the rate of its site.
func (srv *Server) countRequest(r *http.Request, what string, rate limit.Rate) (ok bool, wait time.Duration) {
	at, now := srv.options.Address(r).Unmap().WithZone(""), srv.options.Now()
	if !at.Is6() {
		return srv.rateLimiter.Take(r.Context(), "authority:"+what+":from:"+at.String(), rate, now)
	}
	network, _ := at.Prefix(64)
	if ok, wait = srv.rateLimiter.Take(r.Context(), "authority:"+what+":from:"+network.String(), rate, now); !ok {
		return false, wait
	}
	site, _ := at.Prefix(48)
	return srv.rateLimiter.Take(r.Context(), "authority:"+what+":site:"+site.String(), siteRate(rate), now)
}
