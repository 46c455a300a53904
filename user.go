package junctor

import (
	"slices"
	"time"
)

// UserRole is what a person may do in their tenant.
type UserRole string

// The roles of users.
const (
	UserAdmin     UserRole = "admin"     // everything inside the tenant
	UserDeveloper UserRole = "developer" // servers, agents, calls, keys of their own
	UserViewer    UserRole = "viewer"    // looks, and changes nothing
)

// UserRoles lists every role of a user, strongest first.
func UserRoles() []UserRole { return []UserRole{UserAdmin, UserDeveloper, UserViewer} }

// Scopes is what the role allows. A key of the user carries some of these.
func (r UserRole) Scopes() []Scope {
	switch r {
	case UserAdmin:
		return []Scope{ScopeAdmin}
	case UserDeveloper:
		return []Scope{
			ScopeToolsRead, ScopeToolsCall, ScopeBridgeCall, ScopeEventsSend, ScopeServersWrite,
			ScopeAgentsWrite, ScopeKeysWrite, ScopeAuditRead,
		}
	case UserViewer:
		return []Scope{ScopeToolsRead, ScopeAuditRead}
	}
	return nil
}

// Cut gives those of a key's scopes that the role has.
func (r UserRole) Cut(scopes []Scope) []Scope {
	var out []Scope
	has := r.Scopes()
	if slices.Contains(has, ScopeAdmin) {
		return slices.Clone(scopes)
	}
	for _, s := range has {
		if slices.Contains(scopes, s) || slices.Contains(scopes, ScopeAdmin) {
			out = append(out, s)
		}
	}
	return out
}

// Sources is whose tools a user's default door shows, beside the built-in ones.
type Sources string

// The choices of a user.
const (
	SourcesGenerated Sources = "auto-generated" // servers made from API documents
	SourcesBYO       Sources = "bring-your-own" // MCP servers that people brought
	SourcesBoth      Sources = "both"
)

// Shows says whether the choice shows servers of a mode. What is built in, it
// always shows. The zero choice is both.
func (s Sources) Shows(m Mode) bool {
	return m == ModeBuiltin || s == "" || s == SourcesBoth || string(s) == string(m)
}

// User is a person.
type User struct {
	ID        string    `json:"id"`
	Tenant    TenantID  `json:"-"`
	Name      string    `json:"name"` // to sign in with; unique in the tenant
	Role      UserRole  `json:"role"`
	Sources   Sources   `json:"sources"`
	Tier      string    `json:"tier"`
	Disabled  bool      `json:"disabled,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	UpdatedBy string    `json:"updated_by,omitempty"` // who changed it last, as Principal.ID says; "" is unknown

	Password string `json:"-"` // argon2id, in PHC form; "" where the user has none
}

// UserOwner is how rows name a user as their owner, the same as Principal.ID.
func UserOwner(id string) string { return IssuerUser + ":" + id }

// UserSecret names the sealed credentials that a user has entered for a server;
// their owner is the user.
func UserSecret(server string) string { return "mine-" + server }

// UserPins names where the OAuth client that a user has entered for a server sent its
// secret; their owner is the user.
func UserPins(server string) string { return "pins-" + server }

// Check refuses what is not a user, and says what is wrong.
func (u *User) Check() error {
	switch {
	case !nameFits(u.Name, 100):
		return Errorf(CodeInvalid, "the name of a user has 1 to 100 characters, no control characters, no slash and no space at its ends, not %q", u.Name)
	case !slices.Contains(UserRoles(), u.Role):
		return Errorf(CodeInvalid, "unknown role %q of a user: use admin, developer or viewer", string(u.Role))
	case !slices.Contains([]Sources{SourcesGenerated, SourcesBYO, SourcesBoth}, u.Sources):
		return Errorf(CodeInvalid, "unknown sources %q: use auto-generated, bring-your-own or both", string(u.Sources))
	}
	return nil
}
