package junctor

import (
	"slices"
	"time"
)

// Principal is the caller of a request, as its verified credential proves.
// Package identity makes it; it is shared between requests and never changed.
// Sessions, states and records are bound to (Tenant, Issuer, Subject) and never
// to the bytes of a token, so that a renewed token continues where the old one
// stopped.
type Principal struct {
	Tenant  TenantID
	Issuer  string // who identified the party: one of the constants below, or the URL of an identity provider
	Subject string // an agent's name, the id of a user or service key, or the issuer's name for the party
	Name    string // for display only
	Scopes  []Scope

	Agent string // name of the agent that it is; "" for users and services
	User  string // id of the user that it is or acts for; "" for services
	Key   string // id of the presented key; "" if there was none
	Login string // id of the browser login; "" if there is none

	Groups []string // groups of the user, as the identity provider stated them; never changed

	Consent string // id of the consent by which a program acts for the user; "" if there is none
	Client  string // id of that program

	Expires time.Time // when the presented key or token expires; zero if it does not, or none was presented

	Could []Scope // scopes that another token of the identity provider could add, for the step-up hint
}

// Issuers of principals that are not a foreign identity provider.
const (
	IssuerAgent = "agent" // an agent, by any of its keys
	IssuerUser  = "user"  // a user, by a login or any of their keys
	IssuerKey   = "key"   // a service, by its key
	IssuerLocal = "local" // the local socket of the operator
	IssuerOpen  = "open"  // a caller without credentials

	IssuerTrigger = "trigger" // a trigger, by name, while its delivery is made
)

// Has reports whether the principal carries the scope; ScopeAdmin implies every
// scope.
func (p *Principal) Has(s Scope) bool {
	return slices.Contains(p.Scopes, s) || slices.Contains(p.Scopes, ScopeAdmin)
}

// Operator reports whether the principal may manage the instance and so every
// tenant: admins of the default tenant may.
func (p *Principal) Operator() bool { return p.Tenant == DefaultTenant && p.Has(ScopeAdmin) }

// Same reports whether two principals are the same party.
func (p *Principal) Same(q *Principal) bool {
	return p.Tenant == q.Tenant && p.Issuer == q.Issuer && p.Subject == q.Subject
}

// ID returns the party as one text, for rows that name their owner. It is
// unique within the tenant.
func (p *Principal) ID() string { return p.Issuer + ":" + p.Subject }

// Is reports whether id is the ID of the principal.
func (p *Principal) Is(id string) bool {
	n := len(p.Issuer)
	return len(id) == n+1+len(p.Subject) && id[:n] == p.Issuer && id[n] == ':' && id[n+1:] == p.Subject
}

// Party returns the party as one text that is unique across tenants. A subject
// may contain any character, so the separator before it is one that neither a
// tenant nor an issuer contains.
func (p *Principal) Party() string {
	return string(p.Tenant) + "\x00" + p.Issuer + "\x00" + p.Subject
}
