package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// userColumns are the columns that scanUser reads.
const userColumns = `tenant_id, id, name, role, sources, tier, password, disabled, created_at, updated_at, updated_by, group_names`

// Users lists the users of all tenants. identity builds its snapshot from it.
func (s *Store) Users(ctx context.Context) ([]junctor.User, error) {
	list, err := readAll(ctx, s, scanUser, `SELECT `+userColumns+` FROM users ORDER BY tenant_id, name`)
	if err != nil {
		return nil, s.wrapError(ctx, err, "read the users")
	}
	return list, nil
}

// Users lists the tenant's users by name.
func (t *Tenant) Users(ctx context.Context) ([]junctor.User, error) {
	list, err := readAll(ctx, t.s, scanUser, `SELECT `+userColumns+` FROM users WHERE tenant_id = ? ORDER BY name`, string(t.id))
	if err != nil {
		return nil, t.s.wrapError(ctx, err, "list the users")
	}
	return list, nil
}

// User returns a user by id; not_found if the tenant has none.
func (t *Tenant) User(ctx context.Context, id string) (junctor.User, error) {
	return t.readUser(ctx, `id = ?`, id)
}

// UserByName returns a user by name; not_found if the tenant has none.
func (t *Tenant) UserByName(ctx context.Context, name string) (junctor.User, error) {
	return t.readUser(ctx, `name = ?`, name)
}

// readUser returns the user that a condition with one parameter selects.
func (t *Tenant) readUser(ctx context.Context, where, value string) (junctor.User, error) {
	u, err := readOne(ctx, t.s, scanUser, `SELECT `+userColumns+` FROM users WHERE tenant_id = ? AND `+where, string(t.id), value)
	if errors.Is(err, sql.ErrNoRows) {
		return junctor.User{}, userNotFound(value)
	}
	if err != nil {
		return junctor.User{}, t.s.wrapError(ctx, err, "read the user %q", value)
	}
	return u, nil
}

// CreateUser stores a new user under this tenant, whatever u.Tenant is; conflict if the id
// or the name is taken.
func (t *Tenant) CreateUser(ctx context.Context, u junctor.User) error {
	if err := u.Check(); err != nil {
		return err
	}
	_, err := t.s.execWrite(ctx, `INSERT INTO users (`+userColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		string(t.id), u.ID, u.Name, string(u.Role), string(u.Sources), u.Tier, u.Password, boolToInt(u.Disabled), toMicros(u.CreatedAt), toMicros(u.UpdatedAt), t.changedBy, encodeGroups(u.Groups))
	if err != nil {
		return t.s.wrapError(ctx, err, "create the user %q", u.Name)
	}
	return nil
}

// UpdateUser stores all members of a user except the id and CreatedAt, and returns the
// user as stored. u is a changed copy of what User returned. If somebody else changed the
// user since then, the error is precondition and nothing is stored. It is a conflict if
// another user has the name, and not_found if there is no such user.
func (t *Tenant) UpdateUser(ctx context.Context, u junctor.User) (junctor.User, error) {
	if err := u.Check(); err != nil {
		return junctor.User{}, err
	}
	row := &versionedRow{table: "users", where: "id = ?", key: []any{u.ID}, version: u.UpdatedAt, label: fmt.Sprintf("the user %q", u.Name), notFound: userNotFound(u.ID)}
	if _, err := t.updateVersioned(ctx, row, `name = ?, role = ?, sources = ?, tier = ?, password = ?, disabled = ?, group_names = ?`,
		u.Name, string(u.Role), string(u.Sources), u.Tier, u.Password, boolToInt(u.Disabled), encodeGroups(u.Groups)); err != nil {
		return junctor.User{}, err
	}
	return t.User(ctx, u.ID)
}

// DeleteUser deletes a user in one transaction: it revokes the keys, deletes logins, links
// and secrets, and takes the user out of rooms. It is not_found if the tenant has none
// with that id.
func (t *Tenant) DeleteUser(ctx context.Context, id string, at time.Time) error {
	err := t.s.runTx(ctx, func(tx *sql.Tx) error {
		if err := t.lockTenant(ctx, tx); err != nil {
			return err
		}
		if _, err := t.s.exec(ctx, tx, `UPDATE keys SET revoked_at = COALESCE(revoked_at, ?) WHERE tenant_id = ? AND user_id = ?`,
			toMicros(at), string(t.id), id); err != nil {
			return err
		}
		if _, err := t.s.exec(ctx, tx, `DELETE FROM secrets WHERE tenant_id = ? AND owner = ?`, string(t.id), junctor.UserOwner(id)); err != nil {
			return err
		}
		if err := t.leaveRooms(ctx, tx, "user", id); err != nil {
			return err
		}
		n, err := t.s.exec(ctx, tx, `DELETE FROM users WHERE tenant_id = ? AND id = ?`, string(t.id), id)
		if err == nil && n == 0 {
			return userNotFound(id)
		}
		return err
	})
	if err != nil {
		return t.s.wrapError(ctx, err, "delete the user %q", id)
	}
	return nil
}

// HandOverAgents gives the agents of one owner to another, and returns their names.
func (t *Tenant) HandOverAgents(ctx context.Context, from, to string) ([]string, error) {
	var names []string
	err := t.s.runTx(ctx, func(tx *sql.Tx) error {
		names = nil
		if err := t.lockTenant(ctx, tx); err != nil {
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
		_, err = t.s.exec(ctx, tx, `UPDATE agents SET owner = ?, updated_at = updated_at + 1, updated_by = ? WHERE tenant_id = ? AND owner = ?`, to, t.changedBy, string(t.id), from)
		return err
	})
	if err != nil {
		return nil, t.s.wrapError(ctx, err, "hand over the agents of %q", from)
	}
	return names, nil
}

// LinkUser records which account at an identity provider a user is. It is a conflict if
// that account is linked already, and not_found if there is no such user.
func (t *Tenant) LinkUser(ctx context.Context, id, issuer, subject string, at time.Time) error {
	_, err := t.s.execWrite(ctx, `INSERT INTO user_links (issuer, subject, tenant_id, user_id, created_at) VALUES (?, ?, ?, ?, ?)`,
		issuer, subject, string(t.id), id, toMicros(at))
	if err != nil && t.s.dialect.Code(err) == junctor.CodeNotFound {
		return userNotFound(id)
	}
	if err != nil {
		return t.s.wrapError(ctx, err, "link the user %q to %s", id, issuer)
	}
	return nil
}

// UserLinked reports whether a user is linked to an account of an identity provider.
func (t *Tenant) UserLinked(ctx context.Context, id, issuer string) (bool, error) {
	n, err := readOne(ctx, t.s, scanCount, `SELECT COUNT(*) FROM user_links WHERE tenant_id = ? AND user_id = ? AND issuer = ?`, string(t.id), id, issuer)
	if err != nil {
		return false, t.s.wrapError(ctx, err, "look up the identity of the user %q at %s", id, issuer)
	}
	return n > 0, nil
}

// LinkedUser returns the user that is linked to an account at an identity provider, of any
// tenant; not_found if there is none.
func (s *Store) LinkedUser(ctx context.Context, issuer, subject string) (junctor.User, error) {
	u, err := readOne(ctx, s, scanUser, `SELECT u.tenant_id, u.id, u.name, u.role, u.sources, u.tier, u.password, u.disabled, u.created_at, u.updated_at, u.updated_by, u.group_names
		FROM users u, user_links l WHERE l.issuer = ? AND l.subject = ? AND u.tenant_id = l.tenant_id AND u.id = l.user_id`, issuer, subject)
	if errors.Is(err, sql.ErrNoRows) {
		return junctor.User{}, notFound("no user is linked to this identity of %s", issuer)
	}
	if err != nil {
		return junctor.User{}, s.wrapError(ctx, err, "look up an identity of %s", issuer)
	}
	return u, nil
}

// userNotFound is the error for a user that the tenant does not have.
func userNotFound(who string) error {
	return notFound("unknown user %q; junctor user ls lists the users", who)
}

// scanUser reads the columns of userColumns.
func scanUser(row scanner) (junctor.User, error) {
	var u junctor.User
	var disabled, created, updated int64
	var groups string
	err := row.Scan(&u.Tenant, &u.ID, &u.Name, &u.Role, &u.Sources, &u.Tier, &u.Password, &disabled, &created, &updated, &u.UpdatedBy, &groups)
	u.Disabled, u.CreatedAt, u.UpdatedAt = disabled != 0, fromMicros(created), fromMicros(updated)
	if err == nil && groups != "" {
		if err = json.Unmarshal([]byte(groups), &u.Groups); err != nil {
			err = fmt.Errorf("the groups of the user %s cannot be read: %w", u.ID, err)
		}
	}
	return u, err
}

// encodeGroups returns the groups of a user as they are stored.
func encodeGroups(groups []string) string {
	if len(groups) == 0 {
		return ""
	}
	text, _ := json.Marshal(groups) // a list of texts never fails
	return string(text)
}

// boolToInt returns a boolean as it is stored.
func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
