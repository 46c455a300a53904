package identity

import (
	"slices"
	"strings"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"
)

// rowSet is what a snapshot is made of: all tenants' rows.
type rowSet struct {
	keys   []junctor.Key
	users  []junctor.User
	agents []store.KeyAgent
	logins []junctor.Login // those that were not revoked and had not expired
}

func (r rowSet) clone() rowSet {
	return rowSet{slices.Clone(r.keys), slices.Clone(r.users), slices.Clone(r.agents), slices.Clone(r.logins)}
}

// snapshot is who is who at one moment. It is never changed, only replaced.
type snapshot struct {
	rowSet
	version         uint64                         // one more than that of the former
	keysByHash      map[[32]byte]*credentialEntry  // of keys that were not revoked and whose owner may act; expiry is judged at use
	loginsByHash    map[[32]byte]*credentialEntry  // of logins, likewise
	credentialsByID map[tenantRef]*credentialEntry // the same by the ids of keys and logins
	agentsByName    map[tenantRef]store.KeyAgent
	usersByID       map[tenantRef]*junctor.User
	keyUsage        map[tenantRef]*usage // of all keys
	loginUsage      map[tenantRef]*usage // of all logins
}

// tenantRef names something that a tenant has.
type tenantRef struct {
	tenant junctor.TenantID
	id     string
}

// credentialEntry is what a check needs of one credential.
type credentialEntry struct {
	principal *junctor.Principal // shared by all requests
	expires   time.Time          // zero: never
	usage     *usage
}

// usage is when a credential was last used. It outlives snapshots: a check that
// still runs on the former one counts too.
type usage struct {
	lastUsed       atomic.Int64 // microseconds since 1970; 0: not since the start
	storedLastUsed atomic.Int64 // the value of last that is stored
}

// keepUsage gives the usage that a former snapshot had of r, or a new one.
func keepUsage(former, now map[tenantRef]*usage, r tenantRef) *usage {
	u := former[r]
	if u == nil {
		u = new(usage)
	}
	now[r] = u
	return u
}

// buildSnapshot makes a snapshot of rows, which it owns from then on.
func buildSnapshot(r rowSet, former *snapshot) *snapshot {
	if former == nil {
		former = &snapshot{}
	}
	s := &snapshot{
		rowSet: r, version: former.version + 1, keysByHash: make(map[[32]byte]*credentialEntry, len(r.keys)), loginsByHash: make(map[[32]byte]*credentialEntry, len(r.logins)),
		agentsByName: make(map[tenantRef]store.KeyAgent, len(r.agents)), usersByID: make(map[tenantRef]*junctor.User, len(r.users)),
		keyUsage: make(map[tenantRef]*usage, len(r.keys)), loginUsage: make(map[tenantRef]*usage, len(r.logins)),
		credentialsByID: make(map[tenantRef]*credentialEntry, len(r.keys)+len(r.logins)),
	}
	for n := range r.users {
		s.usersByID[tenantRef{r.users[n].Tenant, r.users[n].ID}] = &r.users[n]
	}
	for _, a := range r.agents {
		s.agentsByName[tenantRef{a.Tenant, a.Name}] = a
	}
	for n := range r.keys {
		k := &r.keys[n]
		u := keepUsage(former.keyUsage, s.keyUsage, tenantRef{k.Tenant, k.ID})
		p := s.keyPrincipal(k)
		if p == nil || !k.RevokedAt.IsZero() {
			continue
		}
		p.Expires = k.ExpiresAt
		s.keysByHash[k.Hash] = &credentialEntry{p, k.ExpiresAt, u}
		s.credentialsByID[tenantRef{k.Tenant, k.ID}] = s.keysByHash[k.Hash]
		if until := k.FormerUntil; !until.IsZero() {
			if !k.ExpiresAt.IsZero() && k.ExpiresAt.Before(until) {
				until = k.ExpiresAt
			}
			before := *p
			before.Expires = until
			s.keysByHash[k.Former] = &credentialEntry{&before, until, u}
		}
	}
	for n := range r.logins {
		s.addLogin(&r.logins[n], former)
	}
	return s
}

// keyPrincipal is who shows a key: the agent or user whose it is, whichever of their
// keys it be, or the service that the key itself is. nil where its owner is
// gone or disabled, or the user whom an agent acts for is.
func (s *snapshot) keyPrincipal(k *junctor.Key) *junctor.Principal {
	switch {
	case k.Agent != "":
		a, ok := s.agentsByName[tenantRef{k.Tenant, k.Agent}]
		if !ok || a.Disabled {
			return nil
		}
		// It acts for the person who made it, as long as they may act.
		var u *junctor.User
		if id, ok := strings.CutPrefix(a.Owner, junctor.UserOwner("")); ok {
			u = s.usersByID[tenantRef{k.Tenant, id}]
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
		u := s.usersByID[tenantRef{k.Tenant, k.User}]
		if u == nil || u.Disabled {
			return nil
		}
		p := userPrincipal(u)
		p.Key, p.Scopes = k.ID, u.Role.Cut(k.Scopes)
		return p
	}
	return &junctor.Principal{Tenant: k.Tenant, Issuer: junctor.IssuerKey, Subject: k.ID, Name: k.Name, Scopes: slices.Clone(k.Scopes), Key: k.ID}
}

// userPrincipal is a user as a principal, with all that their role has.
func userPrincipal(u *junctor.User) *junctor.Principal {
	return &junctor.Principal{Tenant: u.Tenant, Issuer: junctor.IssuerUser, Subject: u.ID, Name: u.Name, User: u.ID, Scopes: u.Role.Scopes()}
}

func (s *snapshot) addLogin(l *junctor.Login, former *snapshot) {
	usage := keepUsage(former.loginUsage, s.loginUsage, tenantRef{l.Tenant, l.ID})
	// It may have been used elsewhere since.
	if at := max(l.CreatedAt.UnixMicro(), l.LastUsedAt.UnixMicro()); at > usage.lastUsed.Load() {
		usage.lastUsed.Store(at)
		usage.storedLastUsed.Store(at)
	}
	u := s.usersByID[tenantRef{l.Tenant, l.User}]
	if u == nil || u.Disabled || !l.RevokedAt.IsZero() {
		return
	}
	p := userPrincipal(u)
	p.Login = l.ID
	s.loginsByHash[l.Hash] = &credentialEntry{p, l.ExpiresAt, usage}
	s.credentialsByID[tenantRef{l.Tenant, l.ID}] = s.loginsByHash[l.Hash]
}
