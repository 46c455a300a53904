package app

import (
	"context"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/credential"
)

// MyCredentials lists the servers that a user has entered credentials for, or
// may enter some for.
func (s *servers) MyCredentials(ctx context.Context, p *junctor.Principal) ([]admin.MyCredential, error) {
	rows, err := s.Servers(ctx, p)
	if err != nil {
		return nil, err
	}
	var out []admin.MyCredential
	for i := range rows {
		one, err := s.myCredential(ctx, p, &rows[i])
		if err != nil {
			return nil, err
		}
		if one.Entered || one.Wanted {
			out = append(out, one)
		}
	}
	return out, nil
}

// MyCredential says what a user has entered for a server, without the secret.
func (s *servers) MyCredential(ctx context.Context, p *junctor.Principal, id string) (admin.MyCredential, error) {
	row, err := s.mine(ctx, p, id)
	if err != nil {
		return admin.MyCredential{}, err
	}
	return s.myCredential(ctx, p, &row)
}

func (s *servers) myCredential(ctx context.Context, p *junctor.Principal, row *junctor.Server) (admin.MyCredential, error) {
	out := admin.MyCredential{Server: row.ID, Wanted: row.PerUser()}
	owner, name := junctor.UserOwner(p.User), junctor.UserSecret(row.ID)
	packed, ok, err := s.app.vault.Get(ctx, row.Tenant, owner, name)
	if err != nil || !ok {
		return out, err
	}
	info, err := s.app.vault.Info(ctx, row.Tenant, owner, name)
	if err != nil {
		return out, err
	}
	out.Entered, out.UpdatedAt = true, info.UpdatedAt
	conn, _, err := credential.UnpackUser(packed, &row.Connection)
	if err != nil {
		out.Problem = junctor.AsError(err).Message
		return out, nil
	}
	out.Auth, out.Headers = conn.Auth, conn.Headers
	return out, nil
}

// PutMyCredential seals what a user enters for a server, in place of what they
// entered before. The next call is made with it.
func (s *servers) PutMyCredential(ctx context.Context, p *junctor.Principal, id string, auth *junctor.Auth, headers map[string]string) (admin.MyCredential, error) {
	row, err := s.mine(ctx, p, id)
	if err != nil {
		return admin.MyCredential{}, err
	}
	if !row.PerUser() {
		return admin.MyCredential{}, junctor.Errorf(junctor.CodeInvalid, "the server %q is called with the same credentials for everybody; who added it can change that with: junctor server set %s --credentials per-user", id, id)
	}
	packed, err := credential.PackUser(&row.Connection, auth, headers)
	if err != nil {
		return admin.MyCredential{}, err
	}
	if err := s.app.vault.Put(ctx, p.Tenant, junctor.UserOwner(p.User), junctor.UserSecret(id), packed); err != nil {
		return admin.MyCredential{}, err
	}
	// A server or a user that went meanwhile took along what was stored until then.
	if _, err := s.mine(ctx, p, id); err != nil {
		return admin.MyCredential{}, s.eraseMine(ctx, p, id, err)
	}
	if _, err := s.app.store.For(p.Tenant).User(ctx, p.User); err != nil {
		return admin.MyCredential{}, s.eraseMine(ctx, p, id, err)
	}
	s.credentialChanged(serverKey{p.Tenant, id}, p.User)
	return s.myCredential(ctx, p, &row)
}

// eraseMine takes back what was stored too late, and gives why.
func (s *servers) eraseMine(ctx context.Context, p *junctor.Principal, id string, why error) error {
	err := s.app.vault.Delete(context.WithoutCancel(ctx), p.Tenant, junctor.UserOwner(p.User), junctor.UserSecret(id))
	if err != nil && junctor.CodeOf(err) != junctor.CodeNotFound {
		return err
	}
	return why
}

// RemoveMyCredential erases what a user entered for a server. The next call has
// none.
func (s *servers) RemoveMyCredential(ctx context.Context, p *junctor.Principal, id string) error {
	if _, err := s.mine(ctx, p, id); err != nil {
		return err
	}
	err := s.app.vault.Delete(ctx, p.Tenant, junctor.UserOwner(p.User), junctor.UserSecret(id))
	if junctor.CodeOf(err) == junctor.CodeNotFound {
		return junctor.Errorf(junctor.CodeNotFound, "you have entered no credentials for the server %q", id)
	}
	if err == nil {
		s.credentialChanged(serverKey{p.Tenant, id}, p.User)
	}
	return err
}

// credentialChanged makes the next call of a user to a server be made with what
// is stored now, and closes what was opened with what was before.
func (s *servers) credentialChanged(key serverKey, user string) {
	s.mu.Lock()
	b := s.live[key]
	s.mu.Unlock()
	if b == nil {
		return
	}
	up := b.current().up
	if up.purse != nil {
		up.purse.changed(user)
		up.EndUser(user)
	}
}

// userChanged is credentialChanged for all servers of a tenant: the user may act
// no more.
func (s *servers) userChanged(tenant junctor.TenantID, user string) {
	s.mu.Lock()
	var keys []serverKey
	for key := range s.live {
		if key.tenant == tenant {
			keys = append(keys, key)
		}
	}
	s.mu.Unlock()
	for _, key := range keys {
		s.credentialChanged(key, user)
	}
}
