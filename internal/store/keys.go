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

// AdminName is the reserved name of a tenant's admin key. A tenant has one at
// most.
const AdminName = "admin"

const keyColumns = `tenant_id, id, name, user_id, agent, prefix, hash, scopes, created_at, expires_at, revoked_at, last_used_at, former_hash, former_until`

// Keys lists the keys of all tenants, revoked and expired ones included: what
// identity builds its snapshot from.
func (s *Store) Keys(ctx context.Context) ([]junctor.Key, error) {
	list, err := all(ctx, s, scanKey, `SELECT `+keyColumns+` FROM keys ORDER BY created_at, tenant_id, id`)
	if err != nil {
		return nil, s.fail(ctx, err, "read the keys")
	}
	return list, nil
}

// Keys lists the tenant's keys, oldest first.
func (t *Tenant) Keys(ctx context.Context) ([]junctor.Key, error) {
	list, err := all(ctx, t.s, scanKey, `SELECT `+keyColumns+` FROM keys WHERE tenant_id = ? ORDER BY created_at, id`, string(t.id))
	if err != nil {
		return nil, t.s.fail(ctx, err, "list the keys")
	}
	return list, nil
}

// Key gives one key; not_found when the tenant has none with that id.
func (t *Tenant) Key(ctx context.Context, id string) (junctor.Key, error) {
	k, err := one(ctx, t.s, scanKey, `SELECT `+keyColumns+` FROM keys WHERE tenant_id = ? AND id = ?`, string(t.id), id)
	if errors.Is(err, sql.ErrNoRows) {
		return junctor.Key{}, missing("there is no such key; junctor key ls shows their ids")
	}
	if err != nil {
		return junctor.Key{}, t.s.fail(ctx, err, "read the key %q", id)
	}
	return k, nil
}

// CreateKey stores a new key under this tenant, whatever k.Tenant says;
// conflict when its id, its hash or the admin name is taken, not_found when
// there is no user or agent whose it would be.
func (t *Tenant) CreateKey(ctx context.Context, k junctor.Key) error {
	err := t.s.tx(ctx, func(tx *sql.Tx) error {
		if err := t.checkOwner(ctx, tx, k); err != nil {
			return err
		}
		return t.insertKey(ctx, tx, k)
	})
	if err != nil {
		return t.s.fail(ctx, err, "create the key %q", k.Name)
	}
	return nil
}

// checkOwner makes sure that a new key's owner is there, and stays there until
// the transaction ends: an agent's name may be given again after it was deleted.
func (t *Tenant) checkOwner(ctx context.Context, tx *sql.Tx, k junctor.Key) error {
	var query, owner string
	var otherwise error
	switch {
	case k.User != "":
		query, owner, otherwise = `SELECT COUNT(*) FROM users WHERE tenant_id = ? AND id = ?`, k.User, noUser(k.User)
	case k.Agent != "":
		query, owner, otherwise = `SELECT COUNT(*) FROM agents WHERE tenant_id = ? AND name = ?`, k.Agent, missing("there is no agent %q; junctor agent ls lists them", k.Agent)
	default:
		return nil
	}
	if err := t.hold(ctx, tx); err != nil {
		return err
	}
	n, err := scanCount(tx.QueryRowContext(ctx, t.s.dialect.Bind(query), string(t.id), owner))
	if err == nil && n == 0 {
		err = otherwise
	}
	return err
}

// KeyAgent is what a key of an agent depends on.
type KeyAgent struct {
	Tenant   junctor.TenantID
	Name     string
	Owner    string // as junctor.Agent has it
	Disabled bool
}

// KeyAgents lists the agents of all tenants: what identity needs of them.
func (s *Store) KeyAgents(ctx context.Context) ([]KeyAgent, error) {
	list, err := all(ctx, s, func(row scanner) (KeyAgent, error) {
		var a KeyAgent
		var disabled int64
		err := row.Scan(&a.Tenant, &a.Name, &a.Owner, &disabled)
		a.Disabled = disabled != 0
		return a, err
	}, `SELECT tenant_id, name, owner, disabled FROM agents`)
	if err != nil {
		return nil, s.fail(ctx, err, "read the owners of keys")
	}
	return list, nil
}

// RotateKey gives a key the hash and the prefix that k has. With an until after
// now the former hash is kept until then; the one before that is forgotten at
// once. The key is given back as stored; not_found when the tenant has no such
// key that is live at now.
func (t *Tenant) RotateKey(ctx context.Context, k junctor.Key, until, now time.Time) (junctor.Key, error) {
	former := `former_hash = NULL, former_until = NULL`
	args := []any{}
	if until.After(now) {
		former = `former_hash = hash, former_until = ?`
		args = append(args, micros(until))
	}
	args = append(args, k.Hash[:], k.Prefix, string(t.id), k.ID, micros(now))
	n, err := t.s.do(ctx, `UPDATE keys SET `+former+`, hash = ?, prefix = ?
		WHERE tenant_id = ? AND id = ? AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)`, args...)
	if err != nil {
		return junctor.Key{}, t.s.fail(ctx, err, "rotate the key %q", k.ID)
	}
	if n == 0 {
		return junctor.Key{}, missing("there is no such key that is live; junctor key ls shows them")
	}
	return t.Key(ctx, k.ID)
}

// RevokeKeysOf marks all keys of a user, by id, or of an agent, by name, as
// revoked. The other of the two is "".
func (t *Tenant) RevokeKeysOf(ctx context.Context, user, agent string, at time.Time) error {
	if (user == "") == (agent == "") {
		return junctor.Errorf(junctor.CodeInternal, "keys are revoked of one user or of one agent")
	}
	_, err := t.s.do(ctx, `UPDATE keys SET revoked_at = COALESCE(revoked_at, ?) WHERE tenant_id = ? AND user_id = ? AND agent = ?`,
		micros(at), string(t.id), user, agent)
	if err != nil {
		return t.s.fail(ctx, err, "revoke the keys of %q", user+agent)
	}
	return nil
}

// RevokeKey marks a key as revoked. Revoking twice keeps the first time;
// not_found when the tenant has no such key.
func (t *Tenant) RevokeKey(ctx context.Context, id string, at time.Time) error {
	n, err := t.s.do(ctx, `UPDATE keys SET revoked_at = COALESCE(revoked_at, ?) WHERE tenant_id = ? AND id = ?`,
		micros(at), string(t.id), id)
	if err != nil {
		return t.s.fail(ctx, err, "revoke the key %q", id)
	}
	if n == 0 {
		return missing("there is no such key; junctor key ls shows their ids")
	}
	return nil
}

// TouchKeys notes when keys were last used, in one transaction. A time older
// than the stored one changes nothing, and ids that the tenant does not have
// are passed over.
func (t *Tenant) TouchKeys(ctx context.Context, used map[string]time.Time) error {
	return t.touch(ctx, "keys", used)
}

// ReplaceAdmin makes k the tenant's admin key, in one transaction. A former one
// keeps its id, so that what is bound to it goes on, and gets everything else
// from k; where it is live and has the same hash already, nothing changes. It
// returns the key as it is stored; conflict when another key has that hash.
func (t *Tenant) ReplaceAdmin(ctx context.Context, k junctor.Key) (junctor.Key, error) {
	var stored junctor.Key
	err := t.s.tx(ctx, func(tx *sql.Tx) error {
		stored = k
		stored.Name, stored.Tenant = AdminName, t.id
		if err := t.hold(ctx, tx); err != nil {
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
			k.Prefix, k.Hash[:], joinScopes(k.Scopes), micros(k.CreatedAt), maybeMicros(k.ExpiresAt), string(t.id), former.ID)
		return err
	})
	if err != nil {
		return junctor.Key{}, t.s.fail(ctx, err, "replace the admin key")
	}
	return stored, nil
}

func (t *Tenant) insertKey(ctx context.Context, tx *sql.Tx, k junctor.Key) error {
	_, err := t.s.exec(ctx, tx, `INSERT INTO keys (`+keyColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL)`,
		string(t.id), k.ID, k.Name, k.User, k.Agent, k.Prefix, k.Hash[:], joinScopes(k.Scopes),
		micros(k.CreatedAt), maybeMicros(k.ExpiresAt), maybeMicros(k.RevokedAt), maybeMicros(k.LastUsedAt))
	return err
}

func scanKey(row scanner) (junctor.Key, error) {
	var k junctor.Key
	var hash, former []byte
	var scopes string
	var created int64
	var expires, revoked, used, until sql.NullInt64
	if err := row.Scan(&k.Tenant, &k.ID, &k.Name, &k.User, &k.Agent, &k.Prefix, &hash, &scopes, &created, &expires, &revoked, &used, &former, &until); err != nil {
		return k, err
	}
	k.FormerUntil = fromMaybeMicros(until)
	if copy(k.Hash[:], hash) != len(k.Hash) || former != nil && copy(k.Former[:], former) != len(k.Former) {
		return k, fmt.Errorf("the hash of key %q has %d bytes", k.ID, len(hash))
	}
	for s := range strings.FieldsSeq(scopes) {
		k.Scopes = append(k.Scopes, junctor.Scope(s))
	}
	k.CreatedAt = fromMicros(created)
	k.ExpiresAt, k.RevokedAt, k.LastUsedAt = fromMaybeMicros(expires), fromMaybeMicros(revoked), fromMaybeMicros(used)
	return k, nil
}

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
