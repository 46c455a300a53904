package junctor

import (
	"slices"
	"strings"
	"time"
)

// Scope is one right that a key carries.
type Scope string

// All scopes. ScopeAdmin implies every other.
const (
	ScopeToolsRead    Scope = "tools:read"    // list and describe tools, resources, prompts
	ScopeToolsCall    Scope = "tools:call"    // call tools, read resources, get prompts
	ScopeBridgeCall   Scope = "bridge:call"   // call endpoints that are no registered server
	ScopeEventsSend   Scope = "events:send"   // send events
	ScopeServersWrite Scope = "servers:write" // add, change and remove servers
	ScopeAgentsWrite  Scope = "agents:write"  // add, change and remove agents
	ScopeKeysWrite    Scope = "keys:write"    // create and revoke keys
	ScopeAuditRead    Scope = "audit:read"    // read calls and the journal
	ScopeAdmin        Scope = "admin"         // everything
)

// Scopes lists every scope, in the order they are shown.
func Scopes() []Scope {
	return []Scope{
		ScopeToolsRead, ScopeToolsCall, ScopeBridgeCall, ScopeEventsSend, ScopeServersWrite,
		ScopeAgentsWrite, ScopeKeysWrite, ScopeAuditRead, ScopeAdmin,
	}
}

// CheckScopes refuses an empty list and names the first unknown scope, with
// the known ones.
func CheckScopes(scopes []Scope) error {
	if len(scopes) == 0 {
		return Errorf(CodeInvalid, "a key needs at least one scope; known scopes: %s", joinScopes(Scopes()))
	}
	for _, s := range scopes {
		if !slices.Contains(Scopes(), s) {
			return Errorf(CodeInvalid, "unknown scope %q; known scopes: %s", string(s), joinScopes(Scopes()))
		}
	}
	return nil
}

func joinScopes(scopes []Scope) string {
	names := make([]string, len(scopes))
	for i, s := range scopes {
		names[i] = string(s)
	}
	return strings.Join(names, ", ")
}

// Key is a credential that Junctor issued. The token itself is shown once, when
// the key is made; only its SHA-256 is kept.
type Key struct {
	ID         string    `json:"id"`
	Tenant     TenantID  `json:"-"`
	Name       string    `json:"name"`
	User       string    `json:"user,omitempty"`  // whose it is, by id
	Agent      string    `json:"agent,omitempty"` // whose it is, by name; a service's key has neither
	Prefix     string    `json:"prefix"`          // the token's first characters, to recognise it by
	Hash       [32]byte  `json:"-"`
	Scopes     []Scope   `json:"scopes"`
	CreatedAt  time.Time `json:"created_at"`
	ExpiresAt  time.Time `json:"expires_at,omitzero"`
	RevokedAt  time.Time `json:"revoked_at,omitzero"`
	LastUsedAt time.Time `json:"last_used_at,omitzero"`

	// After a rotation the token before works on until FormerUntil.
	Former      [32]byte  `json:"-"`
	FormerUntil time.Time `json:"former_until,omitzero"`
}

// Live says whether the key opens doors at this moment.
func (k *Key) Live(now time.Time) bool {
	return k.RevokedAt.IsZero() && (k.ExpiresAt.IsZero() || now.Before(k.ExpiresAt))
}
