package identity_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/identity"
	"github.com/junctor-mcp/junctor/internal/store/sqlite"

	"github.com/google/go-cmp/cmp"
)

func TestNewNeedsAStore(t *testing.T) {
	t.Parallel()
	if _, err := identity.New(t.Context(), identity.Config{}); err == nil {
		t.Error("made without a store")
	}
	_, err := identity.New(gone(t), identity.Config{Store: setup(t).store})
	fails(t, err, junctor.CodeCanceled)
}

func TestCreateKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	scopes := []junctor.Scope{junctor.ScopeToolsCall, junctor.ScopeAuditRead, junctor.ScopeToolsCall}
	k, token, err := b.CreateKey(t.Context(), junctor.DefaultTenant, identity.NewKey{Name: "ci", Scopes: scopes, ExpiresAt: b.clock.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^jct_[a-z2-7]{8}_[0-9A-Za-z]{43}$`).MatchString(token) {
		t.Errorf("the token looks like %q", token)
	}
	if len(k.Prefix) != 12 || !strings.HasPrefix(token, k.Prefix) || !strings.HasPrefix("jct_"+k.ID, k.Prefix) {
		t.Errorf("the prefix is %q, the id %q", k.Prefix, k.ID)
	}
	if !slices.Equal(k.Scopes, scopes[:2]) {
		t.Errorf("the scopes are %v", k.Scopes)
	}
	list, err := b.ListKeys(t.Context(), junctor.DefaultTenant)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]junctor.Key{k}, list); diff != "" {
		t.Errorf("what was made and what is listed differ (-made +listed):\n%s", diff)
	}
}

func TestCreateKeyRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	call := []junctor.Scope{junctor.ScopeToolsCall}
	for name, c := range map[string]struct {
		tenant  junctor.TenantID
		name    string
		scopes  []junctor.Scope
		expires time.Time
		want    junctor.Code
		says    string
	}{
		"no name":           {scopes: call, want: junctor.CodeInvalid, says: "1 to 64"},
		"blank name":        {name: "  ", scopes: call, want: junctor.CodeInvalid, says: "1 to 64"},
		"long name":         {name: strings.Repeat("ü", 65), scopes: call, want: junctor.CodeInvalid, says: "65"},
		"control character": {name: "a\nb", scopes: call, want: junctor.CodeInvalid, says: "control"},
		"not UTF-8":         {name: "a\xff", scopes: call, want: junctor.CodeInvalid, says: "plain text"},
		"reserved name":     {name: "admin", scopes: call, want: junctor.CodeInvalid, says: "reserved"},
		"no scope":          {name: "a", want: junctor.CodeInvalid, says: "tools:call"},
		"unknown scope":     {name: "a", scopes: []junctor.Scope{"tools:cal"}, want: junctor.CodeInvalid, says: "tools:cal"},
		"expired":           {name: "a", scopes: call, expires: b.clock.Now(), want: junctor.CodeInvalid, says: "in the past"},
		"unknown tenant":    {tenant: "nobody", name: "a", scopes: call, want: junctor.CodeNotFound, says: "tenant"},
	} {
		if c.tenant == "" {
			c.tenant = junctor.DefaultTenant
		}
		_, token, err := b.CreateKey(t.Context(), c.tenant, identity.NewKey{Name: c.name, Scopes: c.scopes, ExpiresAt: c.expires})
		if token != "" || junctor.CodeOf(err) != c.want || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %q: %v", name, junctor.CodeOf(err), err)
		}
	}
	if _, _, err := b.CreateKey(t.Context(), junctor.DefaultTenant, identity.NewKey{Name: strings.Repeat("ü", 64), Scopes: call}); err != nil {
		t.Errorf("64 characters: %v", err)
	}
	list, err := b.ListKeys(t.Context(), junctor.DefaultTenant)
	if err != nil || len(list) != 1 {
		t.Errorf("listed %v, %v", list, err)
	}
}

func TestTenantsKeepToThemselves(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if err := b.store.EnsureTenant(t.Context(), "acme", "Acme"); err != nil {
		t.Fatal(err)
	}
	k, token, err := b.CreateKey(t.Context(), "acme", identity.NewKey{Name: "ci", Scopes: []junctor.Scope{junctor.ScopeAdmin}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := b.AuthenticateToken(token)
	if err != nil || p.Tenant != "acme" {
		t.Errorf("the key of acme is %+v, %v", p, err)
	}
	if list, err := b.ListKeys(t.Context(), junctor.DefaultTenant); err != nil || len(list) != 0 {
		t.Errorf("another tenant sees %v, %v", list, err)
	}
	fails(t, b.RevokeKey(t.Context(), junctor.DefaultTenant, k.ID), junctor.CodeNotFound)
	if _, err := b.AuthenticateToken(token); err != nil {
		t.Errorf("another tenant revoked it: %v", err)
	}
}

func TestRevokeKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	fails(t, b.RevokeKey(t.Context(), junctor.DefaultTenant, "nobody"), junctor.CodeNotFound)
	k, token := b.key(t, "ci", time.Time{})
	_, stays := b.key(t, "stays", time.Time{})

	// What is not stored is not done: after a restart it would be undone.
	fails(t, b.RevokeKey(gone(t), junctor.DefaultTenant, k.ID), junctor.CodeCanceled)
	if _, err := b.AuthenticateToken(token); err != nil {
		t.Errorf("a key whose revocation failed: %v", err)
	}

	for range 2 {
		if err := b.RevokeKey(t.Context(), junctor.DefaultTenant, k.ID); err != nil {
			t.Fatal(err)
		}
		_, err := b.AuthenticateToken(token)
		fails(t, err, junctor.CodeUnauthenticated)
	}
	if _, err := b.AuthenticateToken(stays); err != nil {
		t.Errorf("another key: %v", err)
	}
	_, err := another(t, b).AuthenticateToken(token)
	fails(t, err, junctor.CodeUnauthenticated)
}

func TestReloadSeesOtherProcesses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	other := another(t, b)
	k, token := b.key(t, "ci", time.Time{})
	if _, err := other.AuthenticateToken(token); err == nil {
		t.Fatal("seen without a reload")
	}
	if err := other.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := other.AuthenticateToken(token); err != nil {
		t.Errorf("after the reload: %v", err)
	}
	if err := b.RevokeKey(t.Context(), junctor.DefaultTenant, k.ID); err != nil {
		t.Fatal(err)
	}
	if err := other.Reload(gone(t)); err == nil {
		t.Error("a failed reload says nothing")
	}
	if _, err := other.AuthenticateToken(token); err != nil {
		t.Errorf("a failed reload changed the snapshot: %v", err)
	}
	if err := other.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := other.AuthenticateToken(token)
	fails(t, err, junctor.CodeUnauthenticated)
}

func TestLastUse(t *testing.T) {
	t.Parallel()
	b := setup(t)
	k, token := b.key(t, "ci", time.Time{})
	_, _ = b.key(t, "idle", time.Time{})
	lastUse := func(keys []junctor.Key, err error) time.Time {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		n := slices.IndexFunc(keys, func(other junctor.Key) bool { return other.ID == k.ID })
		if idle := keys[1-n]; !idle.LastUsedAt.IsZero() {
			t.Errorf("a key that nobody used was used at %s", idle.LastUsedAt)
		}
		return keys[n].LastUsedAt
	}
	stored := func() time.Time { t.Helper(); return lastUse(b.store.Keys(t.Context())) }

	b.clock.add(time.Minute)
	used := b.clock.Now().Truncate(time.Microsecond)
	if _, err := b.AuthenticateToken(token); err != nil {
		t.Fatal(err)
	}
	if got := lastUse(b.ListKeys(t.Context(), junctor.DefaultTenant)); !got.Equal(used) {
		t.Errorf("listed as used at %s, want %s", got, used)
	}
	if got := stored(); !got.IsZero() {
		t.Errorf("stored before the flush: %s", got)
	}
	if err := b.FlushUsage(gone(t)); err == nil {
		t.Error("a failed flush says nothing")
	}

	// Neither a failed flush, nor a new snapshot, nor revocation loses a use.
	if err := b.RevokeKey(t.Context(), junctor.DefaultTenant, k.ID); err != nil {
		t.Fatal(err)
	}
	if err := b.FlushUsage(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := stored(); !got.Equal(used) {
		t.Errorf("stored as used at %s, want %s", got, used)
	}
	if err := b.FlushUsage(gone(t)); err != nil {
		t.Errorf("a flush with nothing to do went to the store: %v", err)
	}
}

// What was revoked opens nothing more, also where the database can no longer be
// read at that moment: what is known here is cut then.
func TestRevokedWhileTheDatabaseCannotBeRead(t *testing.T) {
	t.Parallel()
	b := setup(t)
	u := b.user(t, "dev", junctor.UserDeveloper)
	b.agent(t, "qa", "")
	k, key := b.key(t, "ci", time.Time{})
	rotated, former := b.key(t, "rotated", time.Time{})
	_, stays := b.key(t, "stays", time.Time{})
	_, agents := b.keyOf(t, identity.NewKey{Agent: "qa", Scopes: scopes(junctor.ScopeToolsCall)})
	_, theirs := b.keyOf(t, identity.NewKey{User: u.ID, Scopes: scopes(junctor.ScopeToolsCall)})
	cookie, keeps, err := b.CreateLogin(t.Context(), u.Tenant, u.ID, junctor.LoginLink)
	if err != nil {
		t.Fatal(err)
	}
	remote, _, err := b.CreateLogin(t.Context(), u.Tenant, u.ID, junctor.LoginLink)
	if err != nil {
		t.Fatal(err)
	}
	ended, l, err := b.CreateLogin(t.Context(), u.Tenant, u.ID, junctor.LoginLink)
	if err != nil {
		t.Fatal(err)
	}

	raw, err := sqlite.Raw(t.Context(), b.path)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	if _, err := raw.Write.ExecContext(t.Context(), `ALTER TABLE agents RENAME TO agents_away`); err != nil {
		t.Fatal(err)
	}
	if err := b.Reload(t.Context()); err == nil {
		t.Fatal("the database can be read")
	}
	if err := b.RevokeKey(t.Context(), junctor.DefaultTenant, k.ID); err != nil {
		t.Error(err)
	}
	_, now, err := b.RotateKey(t.Context(), junctor.DefaultTenant, rotated.ID, 0)
	if err != nil {
		t.Error(err)
	}
	if err := b.RevokeAgentKeys(t.Context(), junctor.DefaultTenant, "qa"); err != nil {
		t.Error(err)
	}
	if err := b.RevokeLogin(t.Context(), u.Tenant, l.ID); err != nil {
		t.Error(err)
	}
	for name, token := range map[string]string{"a key": key, "a former token": former, "a key of an agent": agents} {
		if _, err := b.AuthenticateToken(token); junctor.CodeOf(err) != junctor.CodeUnauthenticated {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err = b.AuthenticateCookie(ended)
	fails(t, err, junctor.CodeUnauthenticated)
	for name, token := range map[string]string{"another key": stays, "the new token": now, "a key of the user": theirs} {
		if _, err := b.AuthenticateToken(token); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := b.AuthenticateCookie(cookie); err != nil {
		t.Errorf("another login: %v", err)
	}
	// A new password ends the logins in other browsers.
	if err := b.SetPassword(t.Context(), u.Tenant, u.ID, "a fine long password", keeps.ID); err != nil {
		t.Error(err)
	}
	_, err = b.AuthenticateCookie(remote)
	fails(t, err, junctor.CodeUnauthenticated)
	if _, err := b.AuthenticateCookie(cookie); err != nil {
		t.Errorf("the login that set the password: %v", err)
	}

	if err := b.DeleteUser(t.Context(), junctor.DefaultTenant, u.ID); err != nil {
		t.Error(err)
	}
	_, err = b.AuthenticateToken(theirs)
	fails(t, err, junctor.CodeUnauthenticated)
	_, err = b.AuthenticateCookie(cookie)
	fails(t, err, junctor.CodeUnauthenticated)
}
