package identity

import (
	"slices"
	"strings"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"
)

// rows is what a snapshot is made of: all tenants' rows.
type rows struct {
	keys   []junctor.Key
	users  []junctor.User
	agents []store.KeyAgent
	logins []junctor.Login // those that were not revoked and had not expired
}

func (r rows) clone() rows {
	return rows{slices.Clone(r.keys), slices.Clone(r.users), slices.Clone(r.agents), slices.Clone(r.logins)}
}

// snapshot is who is who at one moment. It is never changed, only replaced.
type snapshot struct {
	rows
	number  uint64              // one more than that of the former
	byHash  map[[32]byte]*entry // of keys that were not revoked and whose owner may act; expiry is judged at use
	cookies map[[32]byte]*entry // of logins, likewise
	stands  map[ref]*entry      // the same by the ids of keys and logins
	agentOf map[ref]store.KeyAgent
	userOf  map[ref]*junctor.User
	used    map[ref]*usage // of all keys
	entered map[ref]*usage // of all logins
}

// ref names something that a tenant has.
type ref struct {
	tenant junctor.TenantID
	id     string
}

// entry is what a check needs of one credential.
type entry struct {
	principal *junctor.Principal // shared by all requests
	expires   time.Time          // zero: never
	usage     *usage
}

// usage is when a credential was last used. It outlives snapshots: a check that
// still runs on the former one counts too.
type usage struct {
	last    atomic.Int64 // microseconds since 1970; 0: not since the start
	flushed atomic.Int64 // the value of last that is stored
}

// keep gives the usage that a former snapshot had of r, or a new one.
func keep(former, now map[ref]*usage, r ref) *usage {
	u := former[r]
	if u == nil {
		u = new(usage)
	}
	now[r] = u
	return u
}

// build makes a snapshot of rows, which it owns from then on.
func build(r rows, former *snapshot) *snapshot {
	if former == nil {
		former = &snapshot{}
	}
	s := &snapshot{
		rows: r, number: former.number + 1, byHash: make(map[[32]byte]*entry, len(r.keys)), cookies: make(map[[32]byte]*entry, len(r.logins)),
		agentOf: make(map[ref]store.KeyAgent, len(r.agents)), userOf: make(map[ref]*junctor.User, len(r.users)),
		used: make(map[ref]*usage, len(r.keys)), entered: make(map[ref]*usage, len(r.logins)),
		stands: make(map[ref]*entry, len(r.keys)+len(r.logins)),
	}
	for n := range r.users {
		s.userOf[ref{r.users[n].Tenant, r.users[n].ID}] = &r.users[n]
	}
	for _, a := range r.agents {
		s.agentOf[ref{a.Tenant, a.Name}] = a
	}
	for n := range r.keys {
		k := &r.keys[n]
		u := keep(former.used, s.used, ref{k.Tenant, k.ID})
		p := s.holder(k)
		if p == nil || !k.RevokedAt.IsZero() {
			continue
		}
		p.Expires = k.ExpiresAt
		s.byHash[k.Hash] = &entry{p, k.ExpiresAt, u}
		s.stands[ref{k.Tenant, k.ID}] = s.byHash[k.Hash]
		if until := k.FormerUntil; !until.IsZero() {
			if !k.ExpiresAt.IsZero() && k.ExpiresAt.Before(until) {
				until = k.ExpiresAt
			}
			before := *p
			before.Expires = until
			s.byHash[k.Former] = &entry{&before, until, u}
		}
	}
	for n := range r.logins {
		s.enter(&r.logins[n], former)
	}
	return s
}

// holder is who shows a key: the agent or user whose it is, whichever of their
// keys it be, or the service that the key itself is. nil where its owner is
// gone or disabled, or the user whom an agent acts for is.
func (s *snapshot) holder(k *junctor.Key) *junctor.Principal {
	switch {
	case k.Agent != "":
		a, ok := s.agentOf[ref{k.Tenant, k.Agent}]
		if !ok || a.Disabled {
			return nil
		}
		// It acts for the person who made it, as long as they may act.
		var u *junctor.User
		if id, ok := strings.CutPrefix(a.Owner, junctor.UserOwner("")); ok {
			u = s.userOf[ref{k.Tenant, id}]
		}
		if u != nil && u.Disabled {
			return nil
		}
		p := &junctor.Principal{Tenant: k.Tenant, Issuer: junctor.IssuerAgent, Subject: k.Agent, Name: k.Agent, Agent: k.Agent, Key: k.ID}
		for _, scope := range junctor.AgentScopes() {
			if slices.Contains(k.Scopes, scope) {
				p.Scopes = append(p.Scopes, scope)
			}
		}
		if u != nil {
			p.User = u.ID
		}
		return p
	case k.User != "":
		u := s.userOf[ref{k.Tenant, k.User}]
		if u == nil || u.Disabled {
			return nil
		}
		p := person(u)
		p.Key, p.Scopes = k.ID, u.Role.Cut(k.Scopes)
		return p
	}
	return &junctor.Principal{Tenant: k.Tenant, Issuer: junctor.IssuerKey, Subject: k.ID, Name: k.Name, Scopes: slices.Clone(k.Scopes), Key: k.ID}
}

// person is a user as a principal, with all that their role has.
func person(u *junctor.User) *junctor.Principal {
	return &junctor.Principal{Tenant: u.Tenant, Issuer: junctor.IssuerUser, Subject: u.ID, Name: u.Name, User: u.ID, Scopes: u.Role.Scopes()}
}

func (s *snapshot) enter(l *junctor.Login, former *snapshot) {
	usage := keep(former.entered, s.entered, ref{l.Tenant, l.ID})
	// It may have been used elsewhere since.
	if at := max(l.CreatedAt.UnixMicro(), l.LastUsedAt.UnixMicro()); at > usage.last.Load() {
		usage.last.Store(at)
		usage.flushed.Store(at)
	}
	u := s.userOf[ref{l.Tenant, l.User}]
	if u == nil || u.Disabled || !l.RevokedAt.IsZero() {
		return
	}
	p := person(u)
	p.Login = l.ID
	s.cookies[l.Hash] = &entry{p, l.ExpiresAt, usage}
	s.stands[ref{l.Tenant, l.ID}] = s.cookies[l.Hash]
}
