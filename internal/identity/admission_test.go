package identity_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

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

// TestGroupsAtSignIn stores the groups that a provider states of a person, and gives them to
// the logins, keys and agents of the user at once.
func TestGroupsAtSignIn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := identity.AdmissionPolicy{Issuer: "https://idp", Name: "the provider", Tenant: junctor.DefaultTenant, CreateUsers: true, DefaultRole: junctor.UserDeveloper}
	admit := func(complete bool, claims map[string]any) junctor.User {
		t.Helper()
		claims["preferred_username"] = "ann"
		u, err := b.AdmitUser(t.Context(), a, identity.Claims{Subject: "1", Values: claims, Complete: complete})
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	u := admit(true, map[string]any{"groups": []any{"sales", "ops", "sales", 7, "", strings.Repeat("x", 300)}})
	b.agent(t, "hers", junctor.UserOwner(u.ID))
	_, key := b.keyOf(t, identity.NewKey{User: u.ID, Scopes: scopes(junctor.ScopeToolsCall)})
	_, agents := b.keyOf(t, identity.NewKey{Agent: "hers", Scopes: scopes(junctor.ScopeToolsCall)})
	cookie, _, err := b.CreateLogin(t.Context(), u.Tenant, u.ID, "https://idp")
	if err != nil {
		t.Fatal(err)
	}
	_, service := b.key(t, "ci", time.Time{})
	check := func(what string, want ...string) {
		t.Helper()
		token := b.NewTokenUser(u, scopes(junctor.ScopeToolsCall), nil, time.Time{})
		for name, authenticate := range map[string]func() (*junctor.Principal, error){
			"a login":   func() (*junctor.Principal, error) { return b.AuthenticateCookie(cookie) },
			"a key":     func() (*junctor.Principal, error) { return b.AuthenticateToken(key) },
			"an agent":  func() (*junctor.Principal, error) { return b.AuthenticateToken(agents) },
			"a program": token.Principal,
			"UserGroups": func() (*junctor.Principal, error) {
				return &junctor.Principal{Groups: b.UserGroups(u.Tenant, u.ID)}, nil
			},
		} {
			if p, err := authenticate(); err != nil || !slices.Equal(p.Groups, want) {
				t.Errorf("%s: %s: %+v, %v", what, name, p, err)
			}
		}
		if p, err := b.AuthenticateToken(service); err != nil || p.Groups != nil {
			t.Errorf("a service: %+v, %v", p, err)
		}
	}
	check("at first", "ops", "sales")
	if again := admit(true, map[string]any{"groups": []any{"ops", "sales"}}); !again.UpdatedAt.Equal(u.UpdatedAt) {
		t.Error("the same groups were stored again")
	}
	admit(false, map[string]any{})
	check("after a token that states none", "ops", "sales")
	admit(false, map[string]any{"groups": "ops"})
	check("after a token that states one", "ops")
	// What a token states counts with this token.
	token := b.NewTokenUser(u, nil, nil, time.Time{}).WithGroups([]string{})
	if p, err := token.Principal(); err != nil || len(p.Groups) != 0 {
		t.Errorf("a token of a user in no group: %+v, %v", p, err)
	}
	admit(true, map[string]any{})
	check("after a sign-in that states none")
	a.GroupsClaim = "teams"
	admit(true, map[string]any{"groups": []any{"ops"}, "teams": []any{"blue"}})
	check("by another claim", "blue")
	var many []any
	for i := range 300 {
		many = append(many, fmt.Sprintf("g%03d", i))
	}
	if u := admit(true, map[string]any{"teams": many}); len(u.Groups) != 200 {
		t.Errorf("%d groups", len(u.Groups))
	}
}
