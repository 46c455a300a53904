package identity

import (
	"slices"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Party is a user who comes with scopes of their own, as a token says them:
// what they may do is some of what their role has at each moment.
type Party struct {
	identity  *Identity
	user      tenantRef
	scopes    []junctor.Scope
	maxScopes []junctor.Scope
	grant     clientGrant
	expires   time.Time
	resolved  atomic.Pointer[resolvedParty]
}

// clientGrant is the program that acts for a party, where one does.
type clientGrant struct{ consent, client string }

// resolvedParty is what a party was as of a snapshot; nil where it may not act.
type resolvedParty struct {
	snapshotVersion uint64
	principal       *junctor.Principal
}

// Party is the user u with the scopes of a token, until that expires. most is what
// tokens can carry at all.
func (i *Identity) Party(u junctor.User, scopes, most []junctor.Scope, expires time.Time) *Party {
	return &Party{identity: i, user: tenantRef{u.Tenant, u.ID}, scopes: scopes, maxScopes: most, expires: expires}
}

// Via makes it a program's token: for which consent, and whose program. It is called
// before the party is used.
func (p *Party) Via(consent, client string) *Party {
	p.grant = clientGrant{consent, client}
	return p
}

// Principal is the party at this moment. It is shared: callers must not change
// it. Denied once the user is gone or switched off.
func (p *Party) Principal() (*junctor.Principal, error) {
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

func (p *Party) resolveIn(s *snapshot) *junctor.Principal {
	u := s.usersByID[p.user]
	if u == nil || u.Disabled {
		return nil
	}
	who := userPrincipal(u)
	who.Scopes = u.Role.Cut(p.scopes)
	who.Consent, who.Client, who.Expires = p.grant.consent, p.grant.client, p.expires
	who.Could = slices.DeleteFunc(u.Role.Cut(p.maxScopes), who.Has)
	return who
}
