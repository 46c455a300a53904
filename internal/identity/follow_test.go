package identity_test

import (
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Another process learns which keys were rotated elsewhere, once, and how long the
// token that it knew is taken.
func TestFollowAnnouncesRotatedKeys(t *testing.T) {
	t.Parallel()
	b := setup(t)
	k, _ := b.key(t, "ci", time.Time{})
	b.key(t, "other", time.Time{})
	far := another(t, b)
	rotate := func(grace time.Duration) {
		t.Helper()
		if _, _, err := b.RotateKey(t.Context(), junctor.DefaultTenant, k.ID, grace); err != nil {
			t.Fatal(err)
		}
	}
	follow := func() []junctor.Key {
		t.Helper()
		rotated, err := far.ReloadRotated(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return rotated
	}
	if got := follow(); len(got) != 0 {
		t.Errorf("nothing was rotated: %+v", got)
	}
	b.key(t, "new", time.Time{})
	rotate(time.Minute)
	if got := follow(); len(got) != 1 || got[0].ID != k.ID || !got[0].FormerUntil.After(b.clock.Now()) {
		t.Errorf("rotated once: %+v", got)
	}
	if got := follow(); len(got) != 0 {
		t.Errorf("told twice: %+v", got)
	}
	rotate(time.Minute)
	rotate(time.Minute)
	if got := follow(); len(got) != 1 || !got[0].FormerUntil.IsZero() {
		t.Errorf("what was known here is not taken at all after two rotations: %+v", got)
	}
	if _, err := far.ReloadRotated(gone(t)); err == nil {
		t.Error("it says nothing of a database that does not answer")
	}
}

// A token stands while it has not expired and its user may act.
func TestTokensStandWithTheirUsers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	u := b.user(t, "ann", junctor.UserDeveloper)
	token := &junctor.Principal{Tenant: junctor.DefaultTenant, Issuer: junctor.IssuerUser, Subject: u.ID, Expires: b.clock.Now().Add(time.Hour)}
	if !b.IsStillValid(token) {
		t.Error("of a user who may act")
	}
	disable := func(off bool) {
		t.Helper()
		if _, err := b.ChangeUser(t.Context(), junctor.DefaultTenant, u.ID, func(u *junctor.User) error { u.Disabled = off; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	disable(true)
	if b.IsStillValid(token) {
		t.Error("of a user who was switched off")
	}
	disable(false)
	b.clock.add(2 * time.Hour)
	if b.IsStillValid(token) {
		t.Error("that has expired")
	}
}
