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

// maxTokenLength is more than any token of ours has. Longer ones are not hashed.
const maxTokenLength = 512

// usageResolution is how exact last-used times are, in microseconds: a key in
// constant use is not worth a shared write per request.
const usageResolution = int64(time.Second / time.Microsecond)

const sendKeyHint = `send one as "Authorization: Bearer <key>" or "X-API-Key: <key>"; "junctor key create" makes one`

// Authenticate says who sent a request: the key in Authorization (Bearer) or in
// X-API-Key, and nothing else of the request, counts. Without either it is the
// anonymous principal where the instance is open. The principal is shared:
// callers must not change it. Errors are unauthenticated, and the same for a
// key that is unknown, expired or revoked.
func (i *Identity) Authenticate(r *http.Request) (*junctor.Principal, error) {
	token, found, err := findCredential(r.Header)
	switch {
	case err != nil:
		return nil, err
	case found:
		return i.Token(token)
	case i.anonymousPrincipal != nil:
		return i.anonymousPrincipal, nil
	}
	return nil, junctor.Errorf(junctor.CodeUnauthenticated, "this door wants a key: %s", sendKeyHint)
}

// Token says whose a token is, for doors that are not HTTP. Errors as for
// Authenticate.
func (i *Identity) Token(token string) (*junctor.Principal, error) {
	if len(token) <= maxTokenLength {
		now, sum := i.now(), hashToken(token)
		e := i.snapshot.Load().keysByHash[sum]
		if e == nil && prefixOf(token) != "" && i.onUnknownToken(sum) {
			e = i.snapshot.Load().keysByHash[sum]
		}
		if e != nil && (e.expires.IsZero() || now.Before(e.expires)) {
			e.usage.markUsed(now.UnixMicro())
			return e.principal, nil
		}
	}
	return nil, junctor.Errorf(junctor.CodeUnauthenticated, "this key is not valid (unknown, expired or revoked): %s", sendKeyHint)
}

// Session says whose session in a browser a cookie's value is. Errors as for
// Authenticate.
func (i *Identity) Session(cookie string) (*junctor.Principal, error) {
	if len(cookie) <= maxTokenLength {
		now, sum := i.now(), hashToken(cookie)
		e := i.snapshot.Load().loginsByHash[sum]
		if e == nil && strings.HasPrefix(cookie, cookiePrefix) && i.onUnknownToken(sum) {
			e = i.snapshot.Load().loginsByHash[sum]
		}
		if e != nil && now.Before(e.expires) && now.Before(time.UnixMicro(e.usage.lastUsed.Load()).Add(junctor.LoginIdle)) {
			e.usage.markUsed(now.UnixMicro())
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
			u := known.usersByID[tenantRef{p.Tenant, p.Subject}]
			if u == nil || u.Disabled {
				return false
			}
		}
		return p.Expires.IsZero() || now.Before(p.Expires)
	}
	e := known.credentialsByID[tenantRef{p.Tenant, id}]
	if e == nil || !e.principal.Same(p) || !e.expires.IsZero() && !now.Before(e.expires) {
		return false
	}
	return p.Login == "" || now.Before(time.UnixMicro(e.usage.lastUsed.Load()).Add(junctor.LoginIdle))
}

// findCredential finds the one credential that a request carries. A request with
// two that differ is refused: whoever stands before or behind us might read the
// other one. Another scheme in Authorization is left to a proxy when there is
// an X-API-Key.
func findCredential(h http.Header) (token string, found bool, err error) {
	auth, keys := h[headerAuthorization], h[headerAPIKey]
	if len(auth) > 1 || len(keys) > 1 {
		return "", false, junctor.Errorf(junctor.CodeUnauthenticated, "the request has the same credential header more than once: %s", sendKeyHint)
	}
	if len(auth) == 1 {
		token, found = parseBearer(auth[0])
	}
	switch {
	case len(keys) == 0 && (found || len(auth) == 0):
		return token, found, nil
	case len(keys) == 0:
		return "", false, junctor.Errorf(junctor.CodeUnauthenticated, "the Authorization header is not of the Bearer scheme: %s", sendKeyHint)
	}
	key := strings.TrimSpace(keys[0])
	if found && key != token {
		return "", false, junctor.Errorf(junctor.CodeUnauthenticated, "the request has two different credentials: %s", sendKeyHint)
	}
	return key, true, nil
}

// parseBearer takes the token out of an Authorization header; false for another
// scheme.
func parseBearer(header string) (token string, ok bool) {
	scheme, rest, _ := strings.Cut(strings.TrimSpace(header), " ")
	return strings.TrimSpace(rest), strings.EqualFold(scheme, "bearer")
}

// hashToken is what is kept of a token. Keys are found by it, so that the time a
// check takes says nothing about how much of a token was right. The token has
// maxToken bytes at most.
func hashToken(token string) [32]byte {
	var onStack [maxTokenLength]byte
	return sha256.Sum256(onStack[:copy(onStack[:], token)])
}

func (u *usage) markUsed(now int64) {
	if last := u.lastUsed.Load(); now-last >= usageResolution {
		u.lastUsed.CompareAndSwap(last, now) // whoever loses was at the same moment
	}
}
