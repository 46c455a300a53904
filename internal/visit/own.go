package visit

import (
	"context"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/credential"
)

// Credential is what a user has entered for a server, without what is secret.
type Credential struct {
	Server    string
	Wanted    bool // the server is called with the credentials of each user
	Entered   bool
	Auth      *junctor.Auth
	Headers   map[string]string
	Problem   string // why they cannot be used
	UpdatedAt time.Time
}

// Credentials lists the servers that a user has entered credentials for, or
// may enter some for.
func (d *Desk) Credentials(ctx context.Context, p *junctor.Principal) ([]Credential, error) {
	rows, err := d.Servers.Servers(ctx, p)
	if err != nil {
		return nil, err
	}
	var out []Credential
	for i := range rows {
		one, err := d.credential(ctx, p, &rows[i])
		if err != nil {
			return nil, err
		}
		if one.Entered || one.Wanted {
			out = append(out, one)
		}
	}
	return out, nil
}

// Credential says what a user has entered for a server, without the secret.
func (d *Desk) Credential(ctx context.Context, p *junctor.Principal, id string) (Credential, error) {
	row, err := d.Servers.Seen(ctx, p, id)
	if err != nil {
		return Credential{}, err
	}
	return d.credential(ctx, p, &row)
}

func (d *Desk) credential(ctx context.Context, p *junctor.Principal, row *junctor.Server) (Credential, error) {
	out := Credential{Server: row.ID, Wanted: row.PerUser()}
	owner, name := junctor.UserOwner(p.User), junctor.UserSecret(row.ID)
	packed, ok, err := d.Vault.Get(ctx, row.Tenant, owner, name)
	if err != nil || !ok {
		return out, err
	}
	info, err := d.Vault.Info(ctx, row.Tenant, owner, name)
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

// PutCredential seals what a user enters for a server, in place of what they
// entered before. The next call is made with it.
func (d *Desk) PutCredential(ctx context.Context, p *junctor.Principal, id string, auth *junctor.Auth, headers map[string]string) (Credential, error) {
	row, err := d.Servers.Seen(ctx, p, id)
	if err != nil {
		return Credential{}, err
	}
	if !row.PerUser() {
		return Credential{}, junctor.Errorf(junctor.CodeInvalid, "the server %q is called with the same credentials for everybody; who added it can change that with: junctor server set %s --credentials per-user", id, id)
	}
	packed, err := credential.PackUser(&row.Connection, auth, headers)
	if err != nil {
		return Credential{}, err
	}
	if err := d.Vault.Put(ctx, p.Tenant, junctor.UserOwner(p.User), junctor.UserSecret(id), packed); err != nil {
		return Credential{}, err
	}
	if err := d.userPins(&row, p.User).forget(ctx); err != nil {
		return Credential{}, err
	}
	// A server or a user that went meanwhile took along what was stored until then.
	if _, err := d.Servers.Seen(ctx, p, id); err != nil {
		return Credential{}, d.erase(ctx, p, id, err)
	}
	if _, err := d.Users.User(ctx, p.Tenant, p.User); err != nil {
		return Credential{}, d.erase(ctx, p, id, err)
	}
	d.Servers.Changed(&row, p.User)
	return d.credential(ctx, p, &row)
}

// erase takes back what was stored too late, and gives why.
func (d *Desk) erase(ctx context.Context, p *junctor.Principal, id string, why error) error {
	err := d.Vault.Delete(context.WithoutCancel(ctx), p.Tenant, junctor.UserOwner(p.User), junctor.UserSecret(id))
	if err != nil && junctor.CodeOf(err) != junctor.CodeNotFound {
		return err
	}
	return why
}

// RemoveCredential erases what a user entered for a server. The next call has
// none.
func (d *Desk) RemoveCredential(ctx context.Context, p *junctor.Principal, id string) error {
	row, err := d.Servers.Seen(ctx, p, id)
	if err != nil {
		return err
	}
	err = d.Vault.Delete(ctx, p.Tenant, junctor.UserOwner(p.User), junctor.UserSecret(id))
	if junctor.CodeOf(err) == junctor.CodeNotFound {
		return junctor.Errorf(junctor.CodeNotFound, "you have entered no credentials for the server %q", id)
	}
	if err != nil {
		return err
	}
	d.Servers.Changed(&row, p.User)
	return d.userPins(&row, p.User).forget(ctx)
}
