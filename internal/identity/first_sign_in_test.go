package identity_test

import (
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/identity"
)

// TestStartLinkChoosesAdmin checks whom the link of a start signs in: an admin who is not
// disabled, the one named admin before others; a user is added only where there are none.
func TestStartLinkChoosesAdmin(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := identity.NewDirectory(identity.DirectoryOptions{Identity: b.Identity, ConsoleURL: func() string { return "http://console" }})
	signsIn := func() string {
		t.Helper()
		link, err := d.CreateStartLink(t.Context(), true)
		if err != nil {
			t.Fatal(err)
		}
		if link.URL == "" {
			return ""
		}
		token, next, _ := strings.Cut(strings.TrimPrefix(link.URL, "http://console/login?token="), "&")
		if next != "next=%2Fstart" || link.ExpiresAt.Sub(b.clock.Now()) > identity.SignInLinkLifetime {
			t.Errorf("%q until %s", link.URL, link.ExpiresAt)
		}
		_, l, err := b.UseLink(t.Context(), token)
		if err != nil {
			t.Fatal(err)
		}
		u, err := b.User(t.Context(), junctor.DefaultTenant, l.User)
		if err != nil {
			t.Fatal(err)
		}
		return u.Name
	}
	if got := signsIn(); got != "admin" {
		t.Errorf("the first start signs %q in", got)
	}
	for _, n := range []identity.NewUser{{Name: "eve", Role: junctor.UserDeveloper}, {Name: "zoe", Role: junctor.UserAdmin}} {
		if _, err := b.CreateUser(t.Context(), junctor.DefaultTenant, n); err != nil {
			t.Fatal(err)
		}
	}
	if got := signsIn(); got != "admin" {
		t.Errorf("with other users, a start signs %q in", got)
	}
	for _, step := range []struct{ disable, want string }{{"admin", "zoe"}, {"zoe", ""}} {
		u, err := b.UserByName(t.Context(), junctor.DefaultTenant, step.disable)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.ChangeUser(t.Context(), junctor.DefaultTenant, u.ID, func(u *junctor.User) error { u.Disabled = true; return nil }); err != nil {
			t.Fatal(err)
		}
		if got := signsIn(); got != step.want {
			t.Errorf("without %s, a start signs %q in, want %q", step.disable, got, step.want)
		}
	}
	if link, err := d.CreateStartLink(t.Context(), false); err != nil || link.URL != "" {
		t.Errorf("after a sign-in: %+v, %v", link, err)
	}
}
