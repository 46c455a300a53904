package junctor

import (
	"slices"
	"strings"
	"time"
)

// Scope is one permission that a key or token carries.
type Scope string

// All scopes. ScopeAdmin implies every other.
const (
	ScopeToolsRead    Scope = "tools:read"    // list and describe tools, resources, prompts
	ScopeToolsCall    Scope = "tools:call"    // call tools, read resources, get prompts
	ScopeBridgeCall   Scope = "bridge:call"   // call servers that are not registered, by URL
	ScopeEventsSend   Scope = "events:send"   // send events
	ScopeServersWrite Scope = "servers:write" // add, change and remove servers
	ScopeAgentsWrite  Scope = "agents:write"  // add, change and remove agents
	ScopeKeysWrite    Scope = "keys:write"    // create and revoke keys
	ScopeAuditRead    Scope = "audit:read"    // read calls and the journal
	ScopePolicyWrite  Scope = "policy:write"  // read and change the rules about calls
	ScopeAdmin        Scope = "admin"         // everything
)

// Scopes lists every scope, in the order they are shown.
func Scopes() []Scope {
	return []Scope{
		ScopeToolsRead, ScopeToolsCall, ScopeBridgeCall, ScopeEventsSend, ScopeServersWrite,
		ScopeAgentsWrite, ScopeKeysWrite, ScopeAuditRead, ScopePolicyWrite, ScopeAdmin,
	}
}

// CheckScopes returns an error for an empty list or an unknown scope. The error
// lists the known ones.
func CheckScopes(scopes []Scope) error {
	if len(scopes) == 0 {
		return Errorf(CodeInvalid, "a key requires at least one scope; known scopes: %s", joinScopes(Scopes()))
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

// Key is a credential that Junctor issued. The token is shown once, when the
// key is created; only its SHA-256 is stored.
type Key struct {
	ID         string    `json:"id"`
	Tenant     TenantID  `json:"-"`
	Name       string    `json:"name"`
	User       string    `json:"user,omitempty"`  // id of the user it belongs to
	Agent      string    `json:"agent,omitempty"` // name of the agent it belongs to; a service key has neither
	Prefix     string    `json:"prefix"`          // first characters of the token, for recognition
	Hash       [32]byte  `json:"-"`
	Scopes     []Scope   `json:"scopes"`
	CreatedAt  time.Time `json:"created_at"`
	ExpiresAt  time.Time `json:"expires_at,omitzero"`
	RevokedAt  time.Time `json:"revoked_at,omitzero"`
	LastUsedAt time.Time `json:"last_used_at,omitzero"`

	// After a rotation the former token stays valid until FormerUntil.
	Former      [32]byte  `json:"-"`
	FormerUntil time.Time `json:"former_until,omitzero"`
}

// Live reports whether the key is valid at the given time.
func (k *Key) Live(now time.Time) bool {
	return k.RevokedAt.IsZero() && (k.ExpiresAt.IsZero() || now.Before(k.ExpiresAt))
}
