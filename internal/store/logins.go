package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// loginColumns are the columns that scanLogin reads. The column kind tells a session of a
// browser from a link that becomes one.
const loginColumns = `tenant_id, id, user_id, how, hash, created_at, expires_at, revoked_at, last_used_at`

// Logins lists the live logins of all tenants: not revoked, and not expired at now.
// identity builds its snapshot from it.
func (s *Store) Logins(ctx context.Context, now time.Time) ([]junctor.Login, error) {
	list, err := readAll(ctx, s, scanLogin, `SELECT `+loginColumns+` FROM logins
		WHERE kind = 'session' AND revoked_at IS NULL AND expires_at > ? ORDER BY created_at, tenant_id, id`, toMicros(now))
	if err != nil {
		return nil, s.wrapError(ctx, err, "read the logins")
	}
	return list, nil
}

// AddLogin stores a login under this tenant; not_found if it has no such user.
func (t *Tenant) AddLogin(ctx context.Context, l junctor.Login) error {
	return t.addLogin(ctx, l, "session")
}

// AddLink stores a link that UseLink turns into a login, once.
func (t *Tenant) AddLink(ctx context.Context, l junctor.Login) error {
	return t.addLogin(ctx, l, "link")
}

// addLogin stores a row of either kind in a transaction of its own.
func (t *Tenant) addLogin(ctx context.Context, l junctor.Login, kind string) error {
	err := t.s.runTx(ctx, func(tx *sql.Tx) error {
		if err := t.insertLogin(ctx, tx, l, kind); err != nil || kind != "session" {
			return err
		}
		return t.recordSignIn(ctx, tx, l.CreatedAt)
	})
	if err != nil && t.s.dialect.Code(err) == junctor.CodeNotFound {
		return userNotFound(l.User)
	}
	if err != nil {
		return t.s.wrapError(ctx, err, "store a login")
	}
	return nil
}

// insertLogin stores a row of either kind.
func (t *Tenant) insertLogin(ctx context.Context, tx *sql.Tx, l junctor.Login, kind string) error {
	_, err := t.s.exec(ctx, tx, `INSERT INTO logins (kind, `+loginColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		kind, string(t.id), l.ID, l.User, l.How, l.Hash[:], toMicros(l.CreatedAt), toMicros(l.ExpiresAt), toNullMicros(l.RevokedAt), toNullMicros(l.LastUsedAt))
	return err
}

// HowStart is the value of Login.How of a link that the start of an instance makes. It
// ends when anybody signs in.
const HowStart = "start"

// signedInSetting is the setting that records that somebody has signed in. Logins are
// swept when they expire, so they cannot tell.
const signedInSetting = "signed_in"

// HasSignedIn reports whether anybody of the tenant has ever signed in.
func (t *Tenant) HasSignedIn(ctx context.Context) (bool, error) {
	n, err := readOne(ctx, t.s, scanCount, `SELECT COUNT(*) FROM settings WHERE tenant_id = ? AND name = ?`, string(t.id), signedInSetting)
	if err != nil {
		return false, t.s.wrapError(ctx, err, "read whether anybody has signed in")
	}
	return n > 0, nil
}

// recordSignIn records within a transaction that somebody has signed in, and ends the
// links that starts made for the first one.
func (t *Tenant) recordSignIn(ctx context.Context, tx *sql.Tx, at time.Time) error {
	_, err := t.s.exec(ctx, tx, `INSERT INTO settings (tenant_id, name, value, updated_at, updated_by) VALUES (?, ?, 'true', ?, '')
		ON CONFLICT (tenant_id, name) DO NOTHING`, string(t.id), signedInSetting, toMicros(at))
	if err != nil {
		return err
	}
	_, err = t.s.exec(ctx, tx, endStartLinks, toMicros(at), string(t.id), HowStart)
	return err
}

// endStartLinks ends the links of starts that were not used.
const endStartLinks = `UPDATE logins SET revoked_at = ? WHERE tenant_id = ? AND kind = 'link' AND how = ? AND revoked_at IS NULL`

// ReplaceStartLink stores a link of a start, and ends those of former starts.
func (t *Tenant) ReplaceStartLink(ctx context.Context, l junctor.Login) error {
	l.How = HowStart
	err := t.s.runTx(ctx, func(tx *sql.Tx) error {
		if _, err := t.s.exec(ctx, tx, endStartLinks, toMicros(l.CreatedAt), string(t.id), HowStart); err != nil {
			return err
		}
		return t.insertLogin(ctx, tx, l, "link")
	})
	if err != nil && t.s.dialect.Code(err) == junctor.CodeNotFound {
		return userNotFound(l.User)
	}
	if err != nil {
		return t.s.wrapError(ctx, err, "store a sign-in link")
	}
	return nil
}

// UseLink uses up the link with that hash and stores l as the login of the link's user, in
// one transaction. Of any number of concurrent callers, on any number of replicas, one
// succeeds. It is not_found if there is no such link, it was used or has expired, or its
// user is disabled.
func (s *Store) UseLink(ctx context.Context, hash [32]byte, l junctor.Login, now time.Time) (junctor.Login, error) {
	err := s.runTx(ctx, func(tx *sql.Tx) error {
		row := tx.QueryRowContext(ctx, s.dialect.Bind(`UPDATE logins SET revoked_at = ?
			WHERE hash = ? AND kind = 'link' AND revoked_at IS NULL AND expires_at > ? AND EXISTS
				(SELECT 1 FROM users u WHERE u.tenant_id = logins.tenant_id AND u.id = logins.user_id AND u.disabled = 0)
			RETURNING tenant_id, user_id`), toMicros(now), hash[:], toMicros(now))
		if err := row.Scan(&l.Tenant, &l.User); err != nil {
			return err
		}
		l.How = junctor.LoginLink
		if err := s.For(l.Tenant).insertLogin(ctx, tx, l, "session"); err != nil {
			return err
		}
		return s.For(l.Tenant).recordSignIn(ctx, tx, l.CreatedAt)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return junctor.Login{}, notFound("this link is invalid, because it was already used or has expired")
	}
	if err != nil {
		return junctor.Login{}, s.wrapError(ctx, err, "use a link")
	}
	return l, nil
}

// RevokeLogin ends a login. Revoking it twice keeps the first time. It is not_found if the
// tenant has no such login.
func (t *Tenant) RevokeLogin(ctx context.Context, id string, at time.Time) error {
	n, err := t.s.execWrite(ctx, `UPDATE logins SET revoked_at = COALESCE(revoked_at, ?) WHERE tenant_id = ? AND id = ? AND kind = 'session'`,
		toMicros(at), string(t.id), id)
	if err != nil {
		return t.s.wrapError(ctx, err, "end the login %q", id)
	}
	if n == 0 {
		return notFound("login not found; junctor login ls lists the ids of the logins")
	}
	return nil
}

// RevokeLogins ends all logins and links of a user, except the one with the id except,
// which may be "".
func (t *Tenant) RevokeLogins(ctx context.Context, user, except string, at time.Time) error {
	_, err := t.s.execWrite(ctx, `UPDATE logins SET revoked_at = COALESCE(revoked_at, ?) WHERE tenant_id = ? AND user_id = ? AND id <> ?`,
		toMicros(at), string(t.id), user, except)
	if err != nil {
		return t.s.wrapError(ctx, err, "end the logins of %q", user)
	}
	return nil
}

// TouchLogins stores when logins were last used, as touchRows does.
func (t *Tenant) TouchLogins(ctx context.Context, used map[string]time.Time) error {
	return t.touchRows(ctx, "logins", used)
}

// touchRows stores when rows of a table were last used, in one transaction. A time older
// than the stored one changes nothing, and ids that the tenant does not have are skipped.
func (t *Tenant) touchRows(ctx context.Context, table string, used map[string]time.Time) error {
	if len(used) == 0 {
		return nil
	}
	err := t.s.runTx(ctx, func(tx *sql.Tx) error {
		stmt, err := tx.PrepareContext(ctx, t.s.dialect.Bind(`UPDATE `+table+` SET last_used_at = ?
			WHERE tenant_id = ? AND id = ? AND (last_used_at IS NULL OR last_used_at < ?)`))
		if err != nil {
			return err
		}
		defer stmt.Close()                                  // it ends with its transaction
		for _, id := range slices.Sorted(maps.Keys(used)) { // in one order, so that no two wait for each other
			at := toMicros(used[id])
			if _, err := stmt.ExecContext(ctx, at, string(t.id), id, at); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return t.s.wrapError(ctx, err, "note the last use of %d %s", len(used), table)
	}
	return nil
}

// scanLogin reads the columns of loginColumns.
func scanLogin(row scanner) (junctor.Login, error) {
	var l junctor.Login
	var hash []byte
	var created, expires int64
	var revoked, used sql.NullInt64
	if err := row.Scan(&l.Tenant, &l.ID, &l.User, &l.How, &hash, &created, &expires, &revoked, &used); err != nil {
		return l, err
	}
	if copy(l.Hash[:], hash) != len(l.Hash) {
		return l, fmt.Errorf("the hash of login %q has %d bytes", l.ID, len(hash))
	}
	l.CreatedAt, l.ExpiresAt = fromMicros(created), fromMicros(expires)
	l.RevokedAt, l.LastUsedAt = fromNullMicros(revoked), fromNullMicros(used)
	return l, nil
}
