package upstreamauth

import (
	"context"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// CredentialInfo describes the credentials of a user for one server. Secrets are
// masked.
type CredentialInfo struct {
	Server    string
	Wanted    bool // the server is called with each user's own credentials
	Entered   bool
	Auth      *junctor.Auth
	Headers   map[string]string
	Problem   string // why the stored credentials cannot be used; else empty
	UpdatedAt time.Time
}

// ListCredentials lists the servers for which a user has entered credentials, or is
// expected to.
func (m *Manager) ListCredentials(ctx context.Context, p *junctor.Principal) ([]CredentialInfo, error) {
	rows, err := m.Servers.Servers(ctx, p)
	if err != nil {
		return nil, err
	}
	var out []CredentialInfo
	for i := range rows {
		one, err := m.readCredential(ctx, p, &rows[i])
		if err != nil {
			return nil, err
		}
		if one.Entered || one.Wanted {
			out = append(out, one)
		}
	}
	return out, nil
}

// GetCredential describes the credentials that a user has entered for a server.
func (m *Manager) GetCredential(ctx context.Context, p *junctor.Principal, id string) (CredentialInfo, error) {
	row, err := m.Servers.VisibleServer(ctx, p, id)
	if err != nil {
		return CredentialInfo{}, err
	}
	return m.readCredential(ctx, p, &row)
}

// readCredential describes the stored credentials of p for a server. Credentials
// that cannot be used are no error but a Problem, so that the user can see and
// replace them.
func (m *Manager) readCredential(ctx context.Context, p *junctor.Principal, row *junctor.Server) (CredentialInfo, error) {
	out := CredentialInfo{Server: row.ID, Wanted: row.PerUser()}
	owner, name := junctor.UserOwner(p.User), junctor.UserSecret(row.ID)
	packed, ok, err := m.Vault.Get(ctx, row.Tenant, owner, name)
	if err != nil || !ok {
		return out, err
	}
	info, err := m.Vault.Info(ctx, row.Tenant, owner, name)
	if err != nil {
		return out, err
	}
	out.Entered, out.UpdatedAt = true, info.UpdatedAt
	conn, _, err := UnpackUserCredential(packed, &row.Connection)
	if err != nil {
		out.Problem = junctor.AsError(err).Message
		return out, nil
	}
	out.Auth, out.Headers = conn.Auth, conn.Headers
	return out, nil
}

// PutCredential stores the credentials of a user for a server and replaces former
// ones. The next call uses them. The pin of the user's former OAuth client is
// deleted with it.
func (m *Manager) PutCredential(ctx context.Context, p *junctor.Principal, id string, auth *junctor.Auth, headers map[string]string) (CredentialInfo, error) {
	row, err := m.Servers.VisibleServer(ctx, p, id)
	if err != nil {
		return CredentialInfo{}, err
	}
	if !row.PerUser() {
		return CredentialInfo{}, junctor.Errorf(junctor.CodeInvalid, "the server %q is called with the same credentials for all users; its owner can change that with: junctor server set %s --credentials per-user", id, id)
	}
	packed, err := PackUserCredential(&row.Connection, auth, headers)
	if err != nil {
		return CredentialInfo{}, err
	}
	if err := m.Vault.Put(ctx, p.Tenant, junctor.UserOwner(p.User), junctor.UserSecret(id), packed); err != nil {
		return CredentialInfo{}, err
	}
	if err := m.userPins(&row, p.User).deletePins(ctx); err != nil {
		return CredentialInfo{}, err
	}
	// If the server or the user was removed meanwhile, that removal did not see
	// this credential. It must not stay in the vault.
	if _, err := m.Servers.VisibleServer(ctx, p, id); err != nil {
		return CredentialInfo{}, m.deleteLateCredential(ctx, p, id, err)
	}
	if _, err := m.Users.User(ctx, p.Tenant, p.User); err != nil {
		return CredentialInfo{}, m.deleteLateCredential(ctx, p, id, err)
	}
	m.Servers.ResetCredentials(&row, p.User)
	return m.readCredential(ctx, p, &row)
}

// deleteLateCredential deletes a credential whose server or user was removed while
// it was stored. It returns why, or the error of the deletion.
func (m *Manager) deleteLateCredential(ctx context.Context, p *junctor.Principal, id string, why error) error {
	err := m.Vault.Delete(context.WithoutCancel(ctx), p.Tenant, junctor.UserOwner(p.User), junctor.UserSecret(id))
	if err != nil && junctor.CodeOf(err) != junctor.CodeNotFound {
		return err
	}
	return why
}

// RemoveCredential deletes the credentials of a user for a server, and the pin of
// their OAuth client. The next call has no credentials. Errors: not_found if there
// are none.
func (m *Manager) RemoveCredential(ctx context.Context, p *junctor.Principal, id string) error {
	row, err := m.Servers.VisibleServer(ctx, p, id)
	if err != nil {
		return err
	}
	err = m.Vault.Delete(ctx, p.Tenant, junctor.UserOwner(p.User), junctor.UserSecret(id))
	if junctor.CodeOf(err) == junctor.CodeNotFound {
		return junctor.Errorf(junctor.CodeNotFound, "you have entered no credentials for the server %q", id)
	}
	if err != nil {
		return err
	}
	m.Servers.ResetCredentials(&row, p.User)
	return m.userPins(&row, p.User).deletePins(ctx)
}
