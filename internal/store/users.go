package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

const userColumns = `tenant_id, id, name, role, sources, tier, password, disabled, created_at, updated_at, updated_by`

// Users lists the users of all tenants: what identity builds its snapshot from.
func (s *Store) Users(ctx context.Context) ([]junctor.User, error) {
	list, err := all(ctx, s, scanUser, `SELECT `+userColumns+` FROM users ORDER BY tenant_id, name`)
	if err != nil {
		return nil, s.fail(ctx, err, "read the users")
	}
	return list, nil
}

// Users lists the tenant's users by name.
func (t *Tenant) Users(ctx context.Context) ([]junctor.User, error) {
	list, err := all(ctx, t.s, scanUser, `SELECT `+userColumns+` FROM users WHERE tenant_id = ? ORDER BY name`, string(t.id))
	if err != nil {
		return nil, t.s.fail(ctx, err, "list the users")
	}
	return list, nil
}

// User gives one user; not_found when the tenant has none with that id.
func (t *Tenant) User(ctx context.Context, id string) (junctor.User, error) {
	return t.user(ctx, `id = ?`, id)
}

// UserByName gives one user; not_found when the tenant has none of that name.
func (t *Tenant) UserByName(ctx context.Context, name string) (junctor.User, error) {
	return t.user(ctx, `name = ?`, name)
}

func (t *Tenant) user(ctx context.Context, where, value string) (junctor.User, error) {
	u, err := one(ctx, t.s, scanUser, `SELECT `+userColumns+` FROM users WHERE tenant_id = ? AND `+where, string(t.id), value)
	if errors.Is(err, sql.ErrNoRows) {
		return junctor.User{}, noUser(value)
	}
	if err != nil {
		return junctor.User{}, t.s.fail(ctx, err, "read the user %q", value)
	}
	return u, nil
}

// CreateUser stores a new user under this tenant, whatever u.Tenant says;
// conflict when the id or the name is taken.
func (t *Tenant) CreateUser(ctx context.Context, u junctor.User) error {
	if err := u.Check(); err != nil {
		return err
	}
	_, err := t.s.do(ctx, `INSERT INTO users (`+userColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		string(t.id), u.ID, u.Name, string(u.Role), string(u.Sources), u.Tier, u.Password, flag(u.Disabled), micros(u.CreatedAt), micros(u.UpdatedAt), t.by)
	if err != nil {
		return t.s.fail(ctx, err, "create the user %q", u.Name)
	}
	return nil
}

// UpdateUser stores what u says of a user other than its id and when it was
// made, and gives it back as stored. u is what User gave, changed: precondition
// where somebody else changed it meanwhile, and nothing is stored. Conflict
// when the name is another's, not_found when there is no such user.
func (t *Tenant) UpdateUser(ctx context.Context, u junctor.User) (junctor.User, error) {
	if err := u.Check(); err != nil {
		return junctor.User{}, err
	}
	row := &versionedRow{table: "users", where: "id = ?", key: []any{u.ID}, version: u.UpdatedAt, called: fmt.Sprintf("the user %q", u.Name), missing: noUser(u.ID)}
	if _, err := t.update(ctx, row, `name = ?, role = ?, sources = ?, tier = ?, password = ?, disabled = ?`,
		u.Name, string(u.Role), string(u.Sources), u.Tier, u.Password, flag(u.Disabled)); err != nil {
		return junctor.User{}, err
	}
	return t.User(ctx, u.ID)
}

// DeleteUser deletes a user in one transaction: their keys are revoked, and
// their logins, links and secrets go. not_found when the tenant has none with
// that id.
func (t *Tenant) DeleteUser(ctx context.Context, id string, at time.Time) error {
	err := t.s.tx(ctx, func(tx *sql.Tx) error {
		if err := t.hold(ctx, tx); err != nil {
			return err
		}
		if _, err := t.s.exec(ctx, tx, `UPDATE keys SET revoked_at = COALESCE(revoked_at, ?) WHERE tenant_id = ? AND user_id = ?`,
			micros(at), string(t.id), id); err != nil {
			return err
		}
		if _, err := t.s.exec(ctx, tx, `DELETE FROM secrets WHERE tenant_id = ? AND owner = ?`, string(t.id), junctor.UserOwner(id)); err != nil {
			return err
		}
		if err := t.leaveWorkspaces(ctx, tx, "user", id); err != nil {
			return err
		}
		n, err := t.s.exec(ctx, tx, `DELETE FROM users WHERE tenant_id = ? AND id = ?`, string(t.id), id)
		if err == nil && n == 0 {
			return noUser(id)
		}
		return err
	})
	if err != nil {
		return t.s.fail(ctx, err, "delete the user %q", id)
	}
	return nil
}

// HandOverAgents gives the agents of one owner to another, and says which they
// are, by name.
func (t *Tenant) HandOverAgents(ctx context.Context, from, to string) ([]string, error) {
	var names []string
	err := t.s.tx(ctx, func(tx *sql.Tx) error {
		names = nil
		if err := t.hold(ctx, tx); err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, t.s.dialect.Bind(`SELECT name FROM agents WHERE tenant_id = ? AND owner = ? ORDER BY name`), string(t.id), from)
		if err != nil {
			return err
		}
		defer rows.Close() // rows.Err tells what went wrong
		for rows.Next() {
			var name string
			if err := rows.Scan(&name); err != nil {
				return err
			}
			names = append(names, name)
		}
		if err := rows.Err(); err != nil {
			return err
		}
		_, err = t.s.exec(ctx, tx, `UPDATE agents SET owner = ?, updated_at = updated_at + 1, updated_by = ? WHERE tenant_id = ? AND owner = ?`, to, t.by, string(t.id), from)
		return err
	})
	if err != nil {
		return nil, t.s.fail(ctx, err, "hand over the agents of %q", from)
	}
	return names, nil
}

// LinkUser notes who a user is at an identity provider. Conflict when that
// party is somebody here already, not_found when there is no such user.
func (t *Tenant) LinkUser(ctx context.Context, id, issuer, subject string, at time.Time) error {
	_, err := t.s.do(ctx, `INSERT INTO user_links (issuer, subject, tenant_id, user_id, created_at) VALUES (?, ?, ?, ?, ?)`,
		issuer, subject, string(t.id), id, micros(at))
	if err != nil && t.s.dialect.Code(err) == junctor.CodeNotFound {
		return noUser(id)
	}
	if err != nil {
		return t.s.fail(ctx, err, "link the user %q to %s", id, issuer)
	}
	return nil
}

// UserLinked says whether a user is some party of an identity provider.
func (t *Tenant) UserLinked(ctx context.Context, id, issuer string) (bool, error) {
	n, err := one(ctx, t.s, scanCount, `SELECT COUNT(*) FROM user_links WHERE tenant_id = ? AND user_id = ? AND issuer = ?`, string(t.id), id, issuer)
	if err != nil {
		return false, t.s.fail(ctx, err, "look up who the user %q is at %s", id, issuer)
	}
	return n > 0, nil
}

// LinkedUser gives the user who a party at an identity provider is;
// not_found when it is nobody.
func (s *Store) LinkedUser(ctx context.Context, issuer, subject string) (junctor.User, error) {
	u, err := one(ctx, s, scanUser, `SELECT u.tenant_id, u.id, u.name, u.role, u.sources, u.tier, u.password, u.disabled, u.created_at, u.updated_at, u.updated_by
		FROM users u, user_links l WHERE l.issuer = ? AND l.subject = ? AND u.tenant_id = l.tenant_id AND u.id = l.user_id`, issuer, subject)
	if errors.Is(err, sql.ErrNoRows) {
		return junctor.User{}, missing("nobody here is that party of %s", issuer)
	}
	if err != nil {
		return junctor.User{}, s.fail(ctx, err, "look up a party of %s", issuer)
	}
	return u, nil
}

func noUser(who string) error {
	return missing("there is no user %q; junctor user ls lists them", who)
}

func scanUser(row scanner) (junctor.User, error) {
	var u junctor.User
	var disabled, created, updated int64
	err := row.Scan(&u.Tenant, &u.ID, &u.Name, &u.Role, &u.Sources, &u.Tier, &u.Password, &disabled, &created, &updated, &u.UpdatedBy)
	u.Disabled, u.CreatedAt, u.UpdatedAt = disabled != 0, fromMicros(created), fromMicros(updated)
	return u, err
}

// flag is how a boolean is stored.
func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}
