package identity

import (
	"cmp"
	"crypto/sha256"
	"net/http"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

const (
	headerAuthorization = "Authorization"
	headerAPIKey        = "X-Api-Key" //nolint:gosec // a header's name, as net/http keeps X-API-Key, and no credential
)

// maxToken is more than any token of ours has. Longer ones are not hashed.
const maxToken = 512

// usedEvery is how exact last-used times are, in microseconds: a key in
// constant use is not worth a shared write per request.
const usedEvery = int64(time.Second / time.Microsecond)

const howToSend = `send one as "Authorization: Bearer <key>" or "X-API-Key: <key>"; "junctor key create" makes one`

// Authenticate says who sent a request: the key in Authorization (Bearer) or in
// X-API-Key, and nothing else of the request, counts. Without either it is the
// anonymous principal where the instance is open. The principal is shared:
// callers must not change it. Errors are unauthenticated, and the same for a
// key that is unknown, expired or revoked.
func (i *Identity) Authenticate(r *http.Request) (*junctor.Principal, error) {
	token, found, err := credential(r.Header)
	switch {
	case err != nil:
		return nil, err
	case found:
		return i.Token(token)
	case i.anonymous != nil:
		return i.anonymous, nil
	}
	return nil, junctor.Errorf(junctor.CodeUnauthenticated, "this door wants a key: %s", howToSend)
}

// Token says whose a token is, for doors that are not HTTP. Errors as for
// Authenticate.
func (i *Identity) Token(token string) (*junctor.Principal, error) {
	if len(token) <= maxToken {
		now, sum := i.now(), hash(token)
		e := i.snapshot.Load().byHash[sum]
		if e == nil && prefixOf(token) != "" && i.missed(sum) {
			e = i.snapshot.Load().byHash[sum]
		}
		if e != nil && (e.expires.IsZero() || now.Before(e.expires)) {
			e.usage.mark(now.UnixMicro())
			return e.principal, nil
		}
	}
	return nil, junctor.Errorf(junctor.CodeUnauthenticated, "this key is not valid (unknown, expired or revoked): %s", howToSend)
}

// Session says whose session in a browser a cookie's value is. Errors as for
// Authenticate.
func (i *Identity) Session(cookie string) (*junctor.Principal, error) {
	if len(cookie) <= maxToken {
		now, sum := i.now(), hash(cookie)
		e := i.snapshot.Load().cookies[sum]
		if e == nil && strings.HasPrefix(cookie, cookieMark) && i.missed(sum) {
			e = i.snapshot.Load().cookies[sum]
		}
		if e != nil && now.Before(e.expires) && now.Before(time.UnixMicro(e.usage.last.Load()).Add(junctor.LoginIdle)) {
			e.usage.mark(now.UnixMicro())
			return e.principal, nil
		}
	}
	return nil, junctor.Errorf(junctor.CodeUnauthenticated, "the session has ended: sign in again")
}

// Stands says whether what a principal came in by still lets it in: its login has
// not ended, its key or token not expired, the key not been revoked, and whose they
// are may act. It uses neither.
func (i *Identity) Stands(p *junctor.Principal) bool {
	now := i.now()
	id := cmp.Or(p.Login, p.Key)
	known := i.snapshot.Load()
	if id == "" { // a token, or nothing
		if p.Issuer == junctor.IssuerUser {
			u := known.userOf[ref{p.Tenant, p.Subject}]
			if u == nil || u.Disabled {
				return false
			}
		}
		return p.Expires.IsZero() || now.Before(p.Expires)
	}
	e := known.stands[ref{p.Tenant, id}]
	if e == nil || !e.principal.Same(p) || !e.expires.IsZero() && !now.Before(e.expires) {
		return false
	}
	return p.Login == "" || now.Before(time.UnixMicro(e.usage.last.Load()).Add(junctor.LoginIdle))
}

// credential finds the one credential that a request carries. A request with
// two that differ is refused: whoever stands before or behind us might read the
// other one. Another scheme in Authorization is left to a proxy when there is
// an X-API-Key.
func credential(h http.Header) (token string, found bool, err error) {
	auth, keys := h[headerAuthorization], h[headerAPIKey]
	if len(auth) > 1 || len(keys) > 1 {
		return "", false, junctor.Errorf(junctor.CodeUnauthenticated, "the request has the same credential header more than once: %s", howToSend)
	}
	if len(auth) == 1 {
		token, found = bearer(auth[0])
	}
	switch {
	case len(keys) == 0 && (found || len(auth) == 0):
		return token, found, nil
	case len(keys) == 0:
		return "", false, junctor.Errorf(junctor.CodeUnauthenticated, "the Authorization header is not of the Bearer scheme: %s", howToSend)
	}
	key := strings.TrimSpace(keys[0])
	if found && key != token {
		return "", false, junctor.Errorf(junctor.CodeUnauthenticated, "the request has two different credentials: %s", howToSend)
	}
	return key, true, nil
}

// bearer takes the token out of an Authorization header; false for another
// scheme.
func bearer(header string) (token string, ok bool) {
	scheme, rest, _ := strings.Cut(strings.TrimSpace(header), " ")
	return strings.TrimSpace(rest), strings.EqualFold(scheme, "bearer")
}

// hash is what is kept of a token. Keys are found by it, so that the time a
// check takes says nothing about how much of a token was right. The token has
// maxToken bytes at most.
func hash(token string) [32]byte {
	var onStack [maxToken]byte
	return sha256.Sum256(onStack[:copy(onStack[:], token)])
}

func (u *usage) mark(now int64) {
	if last := u.last.Load(); now-last >= usedEvery {
		u.last.CompareAndSwap(last, now) // whoever loses was at the same moment
	}
}
