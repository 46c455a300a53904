package identity_test

import (
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/identity"
)

// A user's name is given to the person whom the provider knows by that address, once: to
// nobody who only says that it is theirs, and to no second person.
func TestNamesAreGivenToWhoProvesThem(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ann := b.user(t, "ann@example.com", junctor.UserAdmin)
	a := identity.AdmissionPolicy{Issuer: "https://idp", Name: "the provider", Tenant: junctor.DefaultTenant, CreateUsers: true, DefaultRole: junctor.UserViewer}
	person := func(subject string, claims map[string]any) identity.Claims {
		return identity.Claims{Subject: subject, Values: claims}
	}
	address := func(verified bool) map[string]any {
		return map[string]any{"email": "Ann@example.com", "email_verified": verified, "preferred_username": "ann@example.com"}
	}

	_, err := b.AdmitUser(t.Context(), a, person("1", address(false)))
	fails(t, err, junctor.CodeDenied)
	_, err = b.AdmitUser(t.Context(), a, person("1", map[string]any{"preferred_username": "ann@example.com"}))
	fails(t, err, junctor.CodeDenied)
	for range 2 { // and known by the subject from then on
		if u, err := b.AdmitUser(t.Context(), a, person("2", address(true))); err != nil || u.ID != ann.ID {
			t.Errorf("%+v, %v", u, err)
		}
	}
	_, err = b.AdmitUser(t.Context(), a, person("3", address(true)))
	fails(t, err, junctor.CodeDenied)

	bob := map[string]any{"preferred_username": "bob"}
	if u, err := b.AdmitUser(t.Context(), a, person("4", bob)); err != nil || u.Name != "bob" || u.Role != junctor.UserViewer {
		t.Errorf("%+v, %v", u, err)
	}
	_, err = b.AdmitUser(t.Context(), a, person("5", bob))
	fails(t, err, junctor.CodeDenied)
	a.CreateUsers = false
	_, err = b.AdmitUser(t.Context(), a, person("6", map[string]any{"email": "carl@example.com", "email_verified": true}))
	fails(t, err, junctor.CodeDenied)
}

// Of the roles that the rules give a person, the strongest counts. A person whom no rule
// matches gets the default role, and is refused if there is none.
func TestRoleRules(t *testing.T) {
	t.Parallel()
	rules := []identity.RoleRule{
		{Claim: "groups", Value: "readers", Role: junctor.UserViewer},
		{Claim: "groups", Value: "platform", Role: junctor.UserAdmin},
		{Claim: "team", Value: "tools", Role: junctor.UserDeveloper},
	}
	for name, c := range map[string]struct {
		standard junctor.UserRole
		claims   map[string]any
		want     junctor.UserRole // "": refused
	}{
		"one rule":             {"", map[string]any{"groups": []any{"readers"}}, junctor.UserViewer},
		"the strongest of two": {"", map[string]any{"groups": []any{"readers", "platform"}}, junctor.UserAdmin},
		"a claim of one value": {"", map[string]any{"team": "tools"}, junctor.UserDeveloper},
		"another claim":        {"", map[string]any{"team": "platform"}, ""},
		"no claim":             {"", map[string]any{}, ""},
		"the default role":     {junctor.UserViewer, map[string]any{"groups": []any{"others"}}, junctor.UserViewer},
		"above the default":    {junctor.UserDeveloper, map[string]any{"groups": []any{"readers", "platform"}}, junctor.UserAdmin},
		"below the default":    {junctor.UserDeveloper, map[string]any{"groups": []any{"readers"}}, junctor.UserDeveloper},
	} {
		b := setup(t)
		c.claims["preferred_username"] = "ann"
		a := identity.AdmissionPolicy{Issuer: "https://idp", Name: "the provider", Tenant: junctor.DefaultTenant, CreateUsers: true, DefaultRole: c.standard, RoleRules: rules}
		u, err := b.AdmitUser(t.Context(), a, identity.Claims{Subject: "1", Values: c.claims})
		if c.want == "" {
			if junctor.CodeOf(err) != junctor.CodeDenied {
				t.Errorf("%s: %+v, %v", name, u, err)
			}
			continue
		}
		if err != nil || u.Role != c.want {
			t.Errorf("%s: role %q, want %q; %v", name, u.Role, c.want, err)
		}
	}
}
