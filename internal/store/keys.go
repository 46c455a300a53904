package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// AdminName is the reserved name of a tenant's admin key. A tenant has at most one.
const AdminName = "admin"

// keyColumns are the columns that scanKey reads. The former hash is that of the token
// before a rotation, while it is still valid.
const keyColumns = `tenant_id, id, name, user_id, agent, prefix, hash, scopes, created_at, expires_at, revoked_at, last_used_at, former_hash, former_until`

// Keys lists the keys of all tenants, with revoked and expired ones. identity builds its
// snapshot from it.
func (s *Store) Keys(ctx context.Context) ([]junctor.Key, error) {
	list, err := readAll(ctx, s, scanKey, `SELECT `+keyColumns+` FROM keys ORDER BY created_at, tenant_id, id`)
	if err != nil {
		return nil, s.wrapError(ctx, err, "read the keys")
	}
	return list, nil
}

// Keys lists the tenant's keys, oldest first.
func (t *Tenant) Keys(ctx context.Context) ([]junctor.Key, error) {
	list, err := readAll(ctx, t.s, scanKey, `SELECT `+keyColumns+` FROM keys WHERE tenant_id = ? ORDER BY created_at, id`, string(t.id))
	if err != nil {
		return nil, t.s.wrapError(ctx, err, "list the keys")
	}
	return list, nil
}

// Key returns one key; not_found if the tenant has none with that id.
func (t *Tenant) Key(ctx context.Context, id string) (junctor.Key, error) {
	k, err := readOne(ctx, t.s, scanKey, `SELECT `+keyColumns+` FROM keys WHERE tenant_id = ? AND id = ?`, string(t.id), id)
	if errors.Is(err, sql.ErrNoRows) {
		return junctor.Key{}, notFound("key not found; junctor key ls lists the ids of the keys")
	}
	if err != nil {
		return junctor.Key{}, t.s.wrapError(ctx, err, "read the key %q", id)
	}
	return k, nil
}

// CreateKey stores a new key under this tenant, whatever k.Tenant is. It is a conflict if
// the id, the hash or the admin name is taken, and not_found if the key's user or agent
// does not exist.
func (t *Tenant) CreateKey(ctx context.Context, k junctor.Key) error {
	err := t.s.runTx(ctx, func(tx *sql.Tx) error {
		if err := t.checkKeyOwner(ctx, tx, k); err != nil {
			return err
		}
		return t.insertKey(ctx, tx, k)
	})
	if err != nil {
		return t.s.wrapError(ctx, err, "create the key %q", k.Name)
	}
	return nil
}

// checkKeyOwner refuses a key whose user or agent does not exist, and locks the tenant so
// that the owner stays until the transaction ends. Without the lock, a key could be stored
// for an agent that is being deleted, and would open the next agent of that name.
func (t *Tenant) checkKeyOwner(ctx context.Context, tx *sql.Tx, k junctor.Key) error {
	var query, owner string
	var otherwise error
	switch {
	case k.User != "":
		query, owner, otherwise = `SELECT COUNT(*) FROM users WHERE tenant_id = ? AND id = ?`, k.User, userNotFound(k.User)
	case k.Agent != "":
		query, owner, otherwise = `SELECT COUNT(*) FROM agents WHERE tenant_id = ? AND name = ?`, k.Agent, notFound("unknown agent %q; junctor agent ls lists the agents", k.Agent)
	default:
		return nil
	}
	if err := t.lockTenant(ctx, tx); err != nil {
		return err
	}
	n, err := scanCount(tx.QueryRowContext(ctx, t.s.dialect.Bind(query), string(t.id), owner))
	if err == nil && n == 0 {
		err = otherwise
	}
	return err
}

// KeyAgent is the part of an agent that its keys depend on.
type KeyAgent struct {
	Tenant   junctor.TenantID
	Name     string
	Owner    string // as junctor.Agent has it
	Disabled bool
}

// KeyAgents lists the agents of all tenants, for identity.
func (s *Store) KeyAgents(ctx context.Context) ([]KeyAgent, error) {
	list, err := readAll(ctx, s, func(row scanner) (KeyAgent, error) {
		var a KeyAgent
		var disabled int64
		err := row.Scan(&a.Tenant, &a.Name, &a.Owner, &disabled)
		a.Disabled = disabled != 0
		return a, err
	}, `SELECT tenant_id, name, owner, disabled FROM agents`)
	if err != nil {
		return nil, s.wrapError(ctx, err, "read the owners of keys")
	}
	return list, nil
}

// RotateKey replaces the hash and the prefix of a key by those of k. If until is after
// now, the former hash stays valid until then; the hash before that one is deleted at
// once. It returns the key as stored; not_found if the tenant has no such key that is live
// at now.
func (t *Tenant) RotateKey(ctx context.Context, k junctor.Key, until, now time.Time) (junctor.Key, error) {
	former := `former_hash = NULL, former_until = NULL`
	args := []any{}
	if until.After(now) {
		former = `former_hash = hash, former_until = ?`
		args = append(args, toMicros(until))
	}
	args = append(args, k.Hash[:], k.Prefix, string(t.id), k.ID, toMicros(now))
	n, err := t.s.execWrite(ctx, `UPDATE keys SET `+former+`, hash = ?, prefix = ?
		WHERE tenant_id = ? AND id = ? AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)`, args...)
	if err != nil {
		return junctor.Key{}, t.s.wrapError(ctx, err, "rotate the key %q", k.ID)
	}
	if n == 0 {
		return junctor.Key{}, notFound("no valid key with this id; junctor key ls lists the keys")
	}
	return t.Key(ctx, k.ID)
}

// RevokeKeysOf revokes all keys of a user, by id, or of an agent, by name. Exactly one of
// the two is given.
func (t *Tenant) RevokeKeysOf(ctx context.Context, user, agent string, at time.Time) error {
	if (user == "") == (agent == "") {
		return junctor.Errorf(junctor.CodeInternal, "keys are revoked of one user or of one agent")
	}
	_, err := t.s.execWrite(ctx, `UPDATE keys SET revoked_at = COALESCE(revoked_at, ?) WHERE tenant_id = ? AND user_id = ? AND agent = ?`,
		toMicros(at), string(t.id), user, agent)
	if err != nil {
		return t.s.wrapError(ctx, err, "revoke the keys of %q", user+agent)
	}
	return nil
}

// RevokeKey revokes a key. Revoking it twice keeps the first time. It is not_found if the
// tenant has no such key.
func (t *Tenant) RevokeKey(ctx context.Context, id string, at time.Time) error {
	n, err := t.s.execWrite(ctx, `UPDATE keys SET revoked_at = COALESCE(revoked_at, ?) WHERE tenant_id = ? AND id = ?`,
		toMicros(at), string(t.id), id)
	if err != nil {
		return t.s.wrapError(ctx, err, "revoke the key %q", id)
	}
	if n == 0 {
		return notFound("key not found; junctor key ls lists the ids of the keys")
	}
	return nil
}

// TouchKeys stores when keys were last used, as touchRows does.
func (t *Tenant) TouchKeys(ctx context.Context, used map[string]time.Time) error {
	return t.touchRows(ctx, "keys", used)
}

// ReplaceAdmin makes k the tenant's admin key, in one transaction, and returns the key as
// stored. A former admin key keeps its id, so that what is bound to it stays valid, and
// takes everything else from k. If the former key is live and has the same hash, nothing
// changes. It is a conflict if another key has that hash.
func (t *Tenant) ReplaceAdmin(ctx context.Context, k junctor.Key) (junctor.Key, error) {
	var stored junctor.Key
	err := t.s.runTx(ctx, func(tx *sql.Tx) error {
		stored = k
		stored.Name, stored.Tenant = AdminName, t.id
		if err := t.lockTenant(ctx, tx); err != nil {
			return err
		}
		former, err := scanKey(tx.QueryRowContext(ctx, t.s.dialect.Bind(`SELECT `+keyColumns+` FROM keys WHERE tenant_id = ? AND name = ?`),
			string(t.id), AdminName))
		if errors.Is(err, sql.ErrNoRows) {
			return t.insertKey(ctx, tx, stored)
		}
		if err != nil {
			return err
		}
		if former.Hash == k.Hash && former.RevokedAt.IsZero() && former.ExpiresAt.IsZero() {
			stored = former
			return nil
		}
		stored.ID, stored.RevokedAt, stored.LastUsedAt = former.ID, time.Time{}, time.Time{}
		_, err = t.s.exec(ctx, tx, `UPDATE keys SET prefix = ?, hash = ?, scopes = ?, created_at = ?, expires_at = ?, revoked_at = NULL, last_used_at = NULL,
				former_hash = NULL, former_until = NULL
			WHERE tenant_id = ? AND id = ?`,
			k.Prefix, k.Hash[:], joinScopes(k.Scopes), toMicros(k.CreatedAt), toNullMicros(k.ExpiresAt), string(t.id), former.ID)
		return err
	})
	if err != nil {
		return junctor.Key{}, t.s.wrapError(ctx, err, "replace the admin key")
	}
	return stored, nil
}

// insertKey stores a new key without a former hash.
func (t *Tenant) insertKey(ctx context.Context, tx *sql.Tx, k junctor.Key) error {
	_, err := t.s.exec(ctx, tx, `INSERT INTO keys (`+keyColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL)`,
		string(t.id), k.ID, k.Name, k.User, k.Agent, k.Prefix, k.Hash[:], joinScopes(k.Scopes),
		toMicros(k.CreatedAt), toNullMicros(k.ExpiresAt), toNullMicros(k.RevokedAt), toNullMicros(k.LastUsedAt))
	return err
}

// scanKey reads the columns of keyColumns.
func scanKey(row scanner) (junctor.Key, error) {
	var k junctor.Key
	var hash, former []byte
	var scopes string
	var created int64
	var expires, revoked, used, until sql.NullInt64
	if err := row.Scan(&k.Tenant, &k.ID, &k.Name, &k.User, &k.Agent, &k.Prefix, &hash, &scopes, &created, &expires, &revoked, &used, &former, &until); err != nil {
		return k, err
	}
	k.FormerUntil = fromNullMicros(until)
	if copy(k.Hash[:], hash) != len(k.Hash) || former != nil && copy(k.Former[:], former) != len(k.Former) {
		return k, fmt.Errorf("the hash of key %q has %d bytes", k.ID, len(hash))
	}
	for s := range strings.FieldsSeq(scopes) {
		k.Scopes = append(k.Scopes, junctor.Scope(s))
	}
	k.CreatedAt = fromMicros(created)
	k.ExpiresAt, k.RevokedAt, k.LastUsedAt = fromNullMicros(expires), fromNullMicros(revoked), fromNullMicros(used)
	return k, nil
}

// joinScopes returns the column scopes: scopes have no spaces, so that a space separates
// them.
func joinScopes(scopes []junctor.Scope) string {
	var b strings.Builder
	for i, s := range scopes {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(string(s))
	}
	return b.String()
}
