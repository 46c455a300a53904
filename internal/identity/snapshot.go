package identity

import (
	"slices"
	"strings"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"
)

// rowSet is the rows of all tenants that a snapshot is built from.
type rowSet struct {
	keys   []junctor.Key
	users  []junctor.User
	agents []store.KeyAgent
	logins []junctor.Login // neither revoked nor expired when they were read
}

// clone copies the lists, so that a change of the copy leaves published rows alone.
func (r rowSet) clone() rowSet {
	return rowSet{slices.Clone(r.keys), slices.Clone(r.users), slices.Clone(r.agents), slices.Clone(r.logins)}
}

// snapshot is all credentials and their owners at one moment. It is immutable; a change
// publishes a new one.
type snapshot struct {
	rowSet
	version uint64 // counts snapshots; lets a TokenUser notice a change
	// keysByHash holds the keys that are not revoked and whose owner may act, by token
	// hash, including former tokens in their grace period. Expiry is checked at use.
	keysByHash      map[[32]byte]*credentialEntry
	loginsByHash    map[[32]byte]*credentialEntry  // likewise for logins, by the hash of the cookie
	credentialsByID map[tenantRef]*credentialEntry // the same entries by the ids of keys and logins
	agentsByName    map[tenantRef]store.KeyAgent
	usersByID       map[tenantRef]*junctor.User
	keyUsage        map[tenantRef]*usage // of all keys
	loginUsage      map[tenantRef]*usage // of all logins
}

// tenantRef names a row of a tenant by its id or name.
type tenantRef struct {
	tenant junctor.TenantID
	id     string
}

// credentialEntry is the part of a credential that a check needs.
type credentialEntry struct {
	principal *junctor.Principal // shared by all requests
	expires   time.Time          // zero: never
	usage     *usage
}

// usage is the time of a credential's last use. It outlives snapshots: a check that still
// runs on an older snapshot updates the same value.
type usage struct {
	lastUsed       atomic.Int64 // microseconds since 1970; 0 if not used since the start
	storedLastUsed atomic.Int64 // the value of lastUsed that is stored
}

// keepUsage returns the usage that the former snapshot has for r, or a new one, and
// enters it into the map of the new snapshot.
func keepUsage(former, now map[tenantRef]*usage, r tenantRef) *usage {
	u := former[r]
	if u == nil {
		u = new(usage)
	}
	now[r] = u
	return u
}

// buildSnapshot makes a snapshot from r, which it then owns. It takes the usage times
// over from the former snapshot, which may be nil.
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
		// After a rotation the former token works until its grace period ends, but
		// not longer than the key itself.
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

// keyPrincipal returns the principal that a key authenticates: its agent or user, or the
// service that the key itself is. It returns nil if the owner is deleted or disabled, or
// if the user for whom an agent acts is disabled.
func (s *snapshot) keyPrincipal(k *junctor.Key) *junctor.Principal {
	switch {
	case k.Agent != "":
		a, ok := s.agentsByName[tenantRef{k.Tenant, k.Agent}]
		if !ok || a.Disabled {
			return nil
		}
		// An agent acts for the user who created it, while that user may act.
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
			p.User, p.Groups = u.ID, u.Groups
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

// userPrincipal returns a user as a principal with all scopes of the role.
func userPrincipal(u *junctor.User) *junctor.Principal {
	return &junctor.Principal{Tenant: u.Tenant, Issuer: junctor.IssuerUser, Subject: u.ID, Name: u.Name, User: u.ID, Groups: u.Groups, Scopes: u.Role.Scopes()}
}

// addLogin enters a login into the snapshot, unless its user may not act.
func (s *snapshot) addLogin(l *junctor.Login, former *snapshot) {
	usage := keepUsage(former.loginUsage, s.loginUsage, tenantRef{l.Tenant, l.ID})
	// Another replica may have used and stored it since.
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
