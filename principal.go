package junctor

import (
	"slices"
	"time"
)

// Principal is who is asking, as the verified credential says. It is made by
// identity, shared between requests and never changed. Sessions, states and
// records are bound to (Tenant, Issuer, Subject), never to the bytes of a
// token, so that a renewed token goes on where the old one stopped.
type Principal struct {
	Tenant  TenantID
	Issuer  string // who vouches: one of the constants below, or the address of an identity provider
	Subject string // who: an agent's name, a user's or a service key's id, or the issuer's own name for the party
	Name    string // for display only
	Scopes  []Scope

	Agent string // the agent that it is, by name; "" for people and services
	User  string // the person that it is or acts for, by id; "" for services
	Key   string // the key that was shown, by id; "" where none was
	Login string // the session of a browser, by id; "" where it is none

	Consent string // what lets a program act for the person, by id; "" where it is none
	Client  string // that program, by its id

	Expires time.Time // when the key or token that was shown does; zero where it does not, or none was

	Could []Scope // what it could do beside Scopes with another token of its identity provider
}

// Issuers of principals that are not a foreign identity provider.
const (
	IssuerAgent = "agent" // one of our agents, by any of its keys
	IssuerUser  = "user"  // one of our users, by a login or any of their keys
	IssuerKey   = "key"   // a service, by its key
	IssuerLocal = "local" // the operator's socket
	IssuerOpen  = "open"  // nobody

	IssuerTrigger = "trigger" // a trigger, by its name, whose event is delivered
)

// Has says whether the principal carries the scope; admin carries all.
func (p *Principal) Has(s Scope) bool {
	return slices.Contains(p.Scopes, s) || slices.Contains(p.Scopes, ScopeAdmin)
}

// Operator says whether the principal may do what concerns the instance as a
// whole, and so every tenant: an admin of the default tenant may.
func (p *Principal) Operator() bool { return p.Tenant == DefaultTenant && p.Has(ScopeAdmin) }

// Same says whether two principals are the same party.
func (p *Principal) Same(q *Principal) bool {
	return p.Tenant == q.Tenant && p.Issuer == q.Issuer && p.Subject == q.Subject
}

// ID is the party as one text, for rows that name their owner.
func (p *Principal) ID() string { return p.Issuer + ":" + p.Subject }

// Is says whether a text is the principal's ID.
func (p *Principal) Is(id string) bool {
	n := len(p.Issuer)
	return len(id) == n+1+len(p.Subject) && id[:n] == p.Issuer && id[n] == ':' && id[n+1:] == p.Subject
}

// Party is the party as one text that no other tenant's has. A subject may hold
// any character, so what is before it ends in one that neither a tenant nor an
// issuer has.
func (p *Principal) Party() string {
	return string(p.Tenant) + "\x00" + p.Issuer + "\x00" + p.Subject
}
