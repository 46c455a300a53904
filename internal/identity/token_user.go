package identity

import (
	"slices"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// TokenUser is a user who acts with the scopes of a token. At each moment its scopes are
// those of the token that the user's role still has. It is safe for concurrent use.
type TokenUser struct {
	identity  *Identity
	user      tenantRef
	scopes    []junctor.Scope // of the token
	maxScopes []junctor.Scope // scopes that any token could carry
	grant     clientGrant
	groups    []string                      // nil if the token states none
	expires   time.Time                     // when the token expires
	resolved  atomic.Pointer[resolvedParty] // the principal as of the latest snapshot that was used
}

// clientGrant names the client program that acts for a user, and the consent of the user
// to it. It is empty if no program acts.
type clientGrant struct{ consent, client string }

// resolvedParty is a party's principal as of one snapshot. principal is nil if the user
// may not act.
type resolvedParty struct {
	snapshotVersion uint64
	principal       *junctor.Principal
}

// NewTokenUser returns the user u with the scopes of a token until the token expires. most lists
// the scopes that tokens can carry at all; the principal reports those that it lacks.
func (i *Identity) NewTokenUser(u junctor.User, scopes, most []junctor.Scope, expires time.Time) *TokenUser {
	return &TokenUser{identity: i, user: tenantRef{u.Tenant, u.ID}, scopes: scopes, maxScopes: most, expires: expires}
}

// WithClient marks the token as one of a client program: under which consent, and which program.
// Call it before the party is used.
func (p *TokenUser) WithClient(consent, client string) *TokenUser {
	p.grant = clientGrant{consent, client}
	return p
}

// WithGroups says in which groups the token states the user to be. nil are those that are
// known of the user. Call it before the party is used.
func (p *TokenUser) WithGroups(groups []string) *TokenUser {
	p.groups = groups
	return p
}

// Principal returns the party as a principal at this moment. The principal is shared:
// callers must not change it. The error is denied after the user was deleted or disabled.
func (p *TokenUser) Principal() (*junctor.Principal, error) {
	s := p.identity.snapshot.Load()
	last := p.resolved.Load()
	if last == nil || last.snapshotVersion != s.version {
		last = &resolvedParty{s.version, p.resolveIn(s)}
		p.resolved.Store(last)
	}
	if last.principal == nil {
		return nil, errUserDisabled()
	}
	return last.principal, nil
}

// resolveIn returns the principal of the party in a snapshot, or nil if the user may not
// act.
func (p *TokenUser) resolveIn(s *snapshot) *junctor.Principal {
	u := s.usersByID[p.user]
	if u == nil || u.Disabled {
		return nil
	}
	who := userPrincipal(u)
	who.Scopes = u.Role.Cut(p.scopes)
	if p.groups != nil {
		who.Groups = p.groups
	}
	who.Consent, who.Client, who.Expires = p.grant.consent, p.grant.client, p.expires
	who.Could = slices.DeleteFunc(u.Role.Cut(p.maxScopes), who.Has)
	return who
}
