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

// maxTokenLength is longer than any token of ours. Longer values are refused without
// hashing them.
const maxTokenLength = 512

// usageResolution is the precision of last-used times, in microseconds. It keeps a key in
// constant use from costing a shared memory write per request.
const usageResolution = int64(time.Second / time.Microsecond)

const sendKeyHint = `send one as "Authorization: Bearer <key>" or "X-API-Key: <key>"; "junctor key create" makes one`

// Authenticate returns the principal that sent a request. Only the key in Authorization
// (Bearer) or in X-API-Key counts, and nothing else of the request. If there is neither
// and the instance is open, it is the anonymous principal. The principal is shared:
// callers must not change it. Errors are unauthenticated; they are the same for keys that
// are unknown, expired or revoked.
func (i *Identity) Authenticate(r *http.Request) (*junctor.Principal, error) {
	token, found, err := findCredential(r.Header)
	switch {
	case err != nil:
		return nil, err
	case found:
		return i.AuthenticateToken(token)
	case i.anonymousPrincipal != nil:
		return i.anonymousPrincipal, nil
	}
	return nil, junctor.Errorf(junctor.CodeUnauthenticated, "this endpoint requires a key: %s", sendKeyHint)
}

// AuthenticateToken returns the principal of a token, for entry points that are not HTTP. Errors are
// those of Authenticate.
func (i *Identity) AuthenticateToken(token string) (*junctor.Principal, error) {
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

// AuthenticateCookie returns the principal of a browser session by the value of its cookie. A
// session ends when it expires or is idle for too long. Errors are those of Authenticate.
func (i *Identity) AuthenticateCookie(cookie string) (*junctor.Principal, error) {
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
	return nil, junctor.Errorf(junctor.CodeUnauthenticated, "the session has ended; sign in again")
}

// IsStillValid reports whether the credential of a principal is still valid: its login has not
// ended, its key or token has neither expired nor been revoked, and its owner may still
// act. It does not count as a use of the credential. Long-lived streams ask it to end
// when their caller loses access.
func (i *Identity) IsStillValid(p *junctor.Principal) bool {
	now := i.now()
	id := cmp.Or(p.Login, p.Key)
	known := i.snapshot.Load()
	if id == "" { // a token of an identity provider, or no credential
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

// findCredential returns the one credential of a request. A request with two different
// credentials is refused: a proxy in front of us, or a server behind us, might use the
// other one. If there is an X-API-Key, another scheme in Authorization is left to a
// proxy.
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

// parseBearer returns the token of an Authorization header. ok is false for another
// scheme.
func parseBearer(header string) (token string, ok bool) {
	scheme, rest, _ := strings.Cut(strings.TrimSpace(header), " ")
	return strings.TrimSpace(rest), strings.EqualFold(scheme, "bearer")
}

// hashToken returns the hash by which a token is stored and found. Looking up a hash
// takes a time that says nothing about how much of a token was right. The token must not
// be longer than maxTokenLength; the copy on the stack saves an allocation per request.
func hashToken(token string) [32]byte {
	var onStack [maxTokenLength]byte
	return sha256.Sum256(onStack[:copy(onStack[:], token)])
}

// markUsed notes a use at the time now, in microseconds, unless one was noted a moment
// ago.
func (u *usage) markUsed(now int64) {
	if last := u.lastUsed.Load(); now-last >= usageResolution {
		u.lastUsed.CompareAndSwap(last, now) // if it fails, another use at the same moment was noted
	}
}
