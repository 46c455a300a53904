package identity_test

import (
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/identity"
)

// A user's name is given to whoever the provider knows by that address, once: to
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
