package junctor

import (
	"slices"
	"time"
)

// UserRole is what a user may do in their tenant.
type UserRole string

// The roles of users.
const (
	UserAdmin     UserRole = "admin"     // everything inside the tenant
	UserDeveloper UserRole = "developer" // servers, agents, calls, keys of their own
	UserViewer    UserRole = "viewer"    // reads, and changes nothing
)

// UserRoles lists every role of a user, strongest first.
func UserRoles() []UserRole { return []UserRole{UserAdmin, UserDeveloper, UserViewer} }

// Scopes returns the scopes that the role allows. A key of the user carries
// some of them.
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

// Cut returns those of a key's scopes that the role allows.
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

// Sources selects the servers whose tools a user sees on the default endpoint,
// beside the built-in ones.
type Sources string

// The selections.
const (
	SourcesGenerated Sources = "auto-generated" // servers made from API documents
	SourcesBYO       Sources = "bring-your-own" // upstream servers
	SourcesBoth      Sources = "both"
)

// Shows reports whether the selection includes servers of a mode. Built-in
// servers are always included; the zero value includes all.
func (s Sources) Shows(m Mode) bool {
	return m == ModeBuiltin || s == "" || s == SourcesBoth || string(s) == string(m)
}

// User is a person's account.
type User struct {
	ID       string   `json:"id"`
	Tenant   TenantID `json:"-"`
	Name     string   `json:"name"` // name to sign in with; unique in the tenant
	Role     UserRole `json:"role"`
	Sources  Sources  `json:"sources"`
	Tier     string   `json:"tier"`
	Disabled bool     `json:"disabled,omitempty"`
	// What the identity provider stated when the user signed in last, in order.
	Groups    []string  `json:"groups,omitempty" nullable:"false" doc:"Groups of the user, as the identity provider stated them last. Rules about calls can read them."`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	UpdatedBy string    `json:"updated_by,omitempty"` // who changed it last, as Principal.ID says; "" is unknown

	Password string `json:"-"` // argon2id in PHC form; "" if the user has no password
}

// UserOwner returns the owner text of a user in rows. It equals Principal.ID.
func UserOwner(id string) string { return IssuerUser + ":" + id }

// UserSecret returns the name of the sealed credentials that a user entered for
// a server. Their owner is the user.
func UserSecret(server string) string { return "mine-" + server }

// UserPins returns the name of the stored destinations to which the user's
// OAuth client for a server sent its secret. Their owner is the user.
func UserPins(server string) string { return "pins-" + server }

// Check returns an error that names the first invalid member, if there is one.
func (u *User) Check() error {
	switch {
	case !nameFits(u.Name, 100):
		return Errorf(CodeInvalid, "%q is not a valid user name; use 1 to 100 characters without control characters, slashes or leading and trailing spaces", u.Name)
	case !slices.Contains(UserRoles(), u.Role):
		return Errorf(CodeInvalid, "unknown user role %q; use admin, developer or viewer", string(u.Role))
	case !slices.Contains([]Sources{SourcesGenerated, SourcesBYO, SourcesBoth}, u.Sources):
		return Errorf(CodeInvalid, "unknown sources %q; use auto-generated, bring-your-own or both", string(u.Sources))
	}
	return nil
}
