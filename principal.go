package junctor

import "slices"

// Principal is who is asking, as the verified credential says. It is made by
// identity, shared between requests and never changed. Sessions, states and
// records are bound to (Tenant, Issuer, Subject), never to the bytes of a
// token, so that a renewed token goes on where the old one stopped.
type Principal struct {
	Tenant  TenantID
	Issuer  string // who vouches: "key" for our own keys, "local" for the operator's socket, "open" for nobody
	Subject string // who: a key's id, or the issuer's own name for the party
	Name    string // for display only
	Scopes  []Scope
}

// Issuers of principals that are not a foreign identity provider.
const (
	IssuerKey   = "key"
	IssuerLocal = "local"
	IssuerOpen  = "open"
)

// Has says whether the principal carries the scope; admin carries all.
func (p *Principal) Has(s Scope) bool {
	return slices.Contains(p.Scopes, s) || slices.Contains(p.Scopes, ScopeAdmin)
}

// Same says whether two principals are the same party.
func (p *Principal) Same(q *Principal) bool {
	return p.Tenant == q.Tenant && p.Issuer == q.Issuer && p.Subject == q.Subject
}

// ID is the party as one text, for rows that name their owner.
func (p *Principal) ID() string { return p.Issuer + ":" + p.Subject }
