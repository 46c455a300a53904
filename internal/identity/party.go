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
	identity *Identity
	user     ref
	scopes   []junctor.Scope
	most     []junctor.Scope
	via      via
	expires  time.Time
	last     atomic.Pointer[standing]
}

// via is the program that acts for a party, where one does.
type via struct{ consent, client string }

// standing is what a party was as of a snapshot; nil where it may not act.
type standing struct {
	of        uint64
	principal *junctor.Principal
}

// Party is the user u with the scopes of a token, until that expires. most is what
// tokens can carry at all.
func (i *Identity) Party(u junctor.User, scopes, most []junctor.Scope, expires time.Time) *Party {
	return &Party{identity: i, user: ref{u.Tenant, u.ID}, scopes: scopes, most: most, expires: expires}
}

// Via makes it a program's token: for which consent, and whose program. It is called
// before the party is used.
func (p *Party) Via(consent, client string) *Party {
	p.via = via{consent, client}
	return p
}

// Principal is the party at this moment. It is shared: callers must not change
// it. Denied once the user is gone or switched off.
func (p *Party) Principal() (*junctor.Principal, error) {
	s := p.identity.snapshot.Load()
	last := p.last.Load()
	if last == nil || last.of != s.number {
		last = &standing{s.number, p.as(s)}
		p.last.Store(last)
	}
	if last.principal == nil {
		return nil, switchedOff()
	}
	return last.principal, nil
}

func (p *Party) as(s *snapshot) *junctor.Principal {
	u := s.userOf[p.user]
	if u == nil || u.Disabled {
		return nil
	}
	who := person(u)
	who.Scopes = u.Role.Cut(p.scopes)
	who.Consent, who.Client, who.Expires = p.via.consent, p.via.client, p.expires
	who.Could = slices.DeleteFunc(u.Role.Cut(p.most), who.Has)
	return who
}
