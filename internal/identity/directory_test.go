package identity_test

import (
	"context"
	"slices"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/identity"
)

// neighbours are everything that a Directory tells of a change. They keep what they were
// told.
type neighbours struct {
	open    []*junctor.Principal // what has a session
	changed []string             // users whom servers were told to forget
}

func (*neighbours) EndRotatedStreams(*junctor.Key) {}

func (n *neighbours) EndSessions(_ context.Context, match func(*junctor.Principal) bool) error {
	n.open = slices.DeleteFunc(n.open, match)
	return nil
}

func (*neighbours) CheckTier(context.Context, junctor.TenantID, string) error { return nil }

func (*neighbours) HandOverServers(context.Context, *junctor.Principal, string) (removed, handedOver []string, err error) {
	return nil, nil, nil
}

func (n *neighbours) UserChanged(_ junctor.TenantID, user string) {
	n.changed = append(n.changed, user)
}

func (*neighbours) AgentsOf(context.Context, junctor.TenantID, string) ([]string, error) {
	return []string{"hers"}, nil
}

func (*neighbours) HandOverAgents(context.Context, *junctor.Principal, string) ([]string, error) {
	return nil, nil
}

func (n *neighbours) subjects() (list []string) {
	for _, p := range n.open {
		list = append(list, p.Subject)
	}
	return list
}

func newDirectory(t *testing.T, b *bundle) (*identity.Directory, *neighbours) {
	t.Helper()
	n := &neighbours{}
	return identity.NewDirectory(identity.DirectoryOptions{
		Identity: b.Identity, Sessions: n, Tiers: n, Servers: n, Agents: n, ConsoleURL: func() string { return "http://127.0.0.1" },
	}), n
}

// When a key is revoked, its own sessions end: those of the key itself and those that its
// holder opened with it, in its tenant, and no others.
func TestRevokedKeysSessionsEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d, n := newDirectory(t, b)
	k, _ := b.key(t, "ci", time.Time{})
	const tenant = junctor.DefaultTenant
	n.open = []*junctor.Principal{
		{Tenant: tenant, Issuer: junctor.IssuerKey, Subject: k.ID, Key: k.ID},
		{Tenant: tenant, Issuer: junctor.IssuerKey, Subject: k.ID},
		{Tenant: tenant, Issuer: junctor.IssuerUser, Subject: "its-holder", Key: k.ID},
		{Tenant: tenant, Issuer: junctor.IssuerUser, Subject: "other", Key: "other"},
		{Tenant: tenant, Issuer: junctor.IssuerKey, Subject: "other-key", Key: "other-key"},
		{Tenant: "acme", Issuer: junctor.IssuerKey, Subject: "elsewhere", Key: k.ID},
	}
	if err := d.RevokeKey(t.Context(), tenant, k.ID); err != nil {
		t.Fatal(err)
	}
	if got, want := n.subjects(), []string{"other", "other-key", "elsewhere"}; !slices.Equal(got, want) {
		t.Errorf("open after the revocation: %q, want %q", got, want)
	}
}

// A deleted user has nothing open, signs in nowhere, and servers forget them a second time
// after the row is gone: a connection may have opened in between.
func TestRemoveUser(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d, n := newDirectory(t, b)
	u, admin := b.user(t, "ann", junctor.UserDeveloper), b.user(t, "bob", junctor.UserAdmin)
	cookie, _, err := b.CreateLogin(t.Context(), u.Tenant, u.ID, "https://idp")
	if err != nil {
		t.Fatal(err)
	}
	n.open = []*junctor.Principal{
		{Tenant: u.Tenant, Issuer: junctor.IssuerUser, Subject: u.ID},
		{Tenant: u.Tenant, Issuer: junctor.IssuerAgent, Subject: "hers"},
		{Tenant: u.Tenant, Issuer: junctor.IssuerUser, Subject: admin.ID},
		{Tenant: u.Tenant, Issuer: junctor.IssuerAgent, Subject: "his"},
	}
	if _, err := d.RemoveUser(t.Context(), &junctor.Principal{Tenant: u.Tenant, Issuer: junctor.IssuerUser, Subject: admin.ID}, u.ID); err != nil {
		t.Fatal(err)
	}
	if got, want := n.subjects(), []string{admin.ID, "his"}; !slices.Equal(got, want) {
		t.Errorf("open after the deletion: %q, want %q", got, want)
	}
	if want := []string{u.ID, u.ID}; !slices.Equal(n.changed, want) {
		t.Errorf("servers forgot %q, want %q", n.changed, want)
	}
	if p, err := b.AuthenticateCookie(cookie); err == nil {
		t.Errorf("the browser of a deleted user is still %+v", p)
	}
}

// DeleteUser alone ends the user's logins at once, without a reload.
func TestDeletedUsersLoginsEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	u, other := b.user(t, "ann", junctor.UserDeveloper), b.user(t, "bob", junctor.UserDeveloper)
	sign := func(id string) string {
		t.Helper()
		cookie, _, err := b.CreateLogin(t.Context(), junctor.DefaultTenant, id, "https://idp")
		if err != nil {
			t.Fatal(err)
		}
		return cookie
	}
	hers, his := sign(u.ID), sign(other.ID)
	if err := b.DeleteUser(t.Context(), u.Tenant, u.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := b.AuthenticateCookie(hers); err == nil {
		t.Error("the login of a deleted user opens")
	}
	if _, err := b.AuthenticateCookie(his); err != nil {
		t.Errorf("the login of another user: %v", err)
	}
}
