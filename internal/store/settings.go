package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Setting is one stored setting of a tenant.
type Setting struct {
	Key       string
	Value     json.RawMessage // kept byte for byte
	UpdatedAt time.Time
	UpdatedBy string // who put it, as Principal.ID says; "" is unknown
}

// Setting returns one setting; not_found if it was never stored.
func (t *Tenant) Setting(ctx context.Context, key string) (Setting, error) {
	set, err := readOne(ctx, t.s, scanSetting, `SELECT name, value, updated_at, updated_by FROM settings WHERE tenant_id = ? AND name = ?`, string(t.id), key)
	if errors.Is(err, sql.ErrNoRows) {
		return Setting{}, notFound("the setting %q is not set", key)
	}
	if err != nil {
		return Setting{}, t.s.wrapError(ctx, err, "read the setting %q", key)
	}
	return set, nil
}

// PutSetting stores a setting, in place of a former one; invalid if the key is empty or
// the value is not JSON.
func (t *Tenant) PutSetting(ctx context.Context, key string, value json.RawMessage) error {
	if key == "" {
		return junctor.Errorf(junctor.CodeInvalid, "a setting needs a key")
	}
	if !json.Valid(value) {
		return junctor.Errorf(junctor.CodeInvalid, "the value of the setting %q is not JSON", key)
	}
	err := retryWhileBusy(ctx, t.s.dialect, func() error { return t.putSetting(ctx, t.s.write, key, value) })
	if err != nil {
		return t.s.wrapError(ctx, err, "store the setting %q", key)
	}
	return nil
}

// putSetting stores a setting on a connection or within a transaction. UpdatedAt always
// grows, since it is the version.
func (t *Tenant) putSetting(ctx context.Context, on execer, key string, value json.RawMessage) error {
	_, err := t.s.exec(ctx, on, `INSERT INTO settings (tenant_id, name, value, updated_at, updated_by) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (tenant_id, name) DO UPDATE SET value = excluded.value, updated_by = excluded.updated_by,
			updated_at = CASE WHEN settings.updated_at < excluded.updated_at THEN excluded.updated_at ELSE settings.updated_at + 1 END`,
		string(t.id), key, string(value), toMicros(time.Now()), t.changedBy)
	return err
}

// ChangeSetting runs change on a setting, stores the value that it returns, and returns
// the stored setting. If the setting was never stored, change gets one without a value.
// Nobody else changes the setting meanwhile. change may run more than once and must not
// use the store.
func (t *Tenant) ChangeSetting(ctx context.Context, key string, change func(Setting) (json.RawMessage, error)) (Setting, error) {
	read := func(tx *sql.Tx) (Setting, error) {
		set, err := scanSetting(tx.QueryRowContext(ctx, t.s.dialect.Bind(`SELECT name, value, updated_at, updated_by FROM settings WHERE tenant_id = ? AND name = ?`), string(t.id), key))
		if errors.Is(err, sql.ErrNoRows) {
			return Setting{Key: key}, nil
		}
		return set, err
	}
	var stored Setting
	err := t.s.runTx(ctx, func(tx *sql.Tx) error {
		if err := t.lockTenant(ctx, tx); err != nil {
			return err
		}
		now, err := read(tx)
		if err != nil {
			return err
		}
		value, err := change(now)
		if err != nil {
			return err
		}
		if !json.Valid(value) {
			return junctor.Errorf(junctor.CodeInvalid, "the value of the setting %q is not JSON", key)
		}
		if err := t.putSetting(ctx, tx, key, value); err != nil {
			return err
		}
		stored, err = read(tx)
		return err
	})
	if err != nil {
		return Setting{}, t.s.wrapError(ctx, err, "change the setting %q", key)
	}
	return stored, nil
}

// Settings lists the tenant's settings by key.
func (t *Tenant) Settings(ctx context.Context) ([]Setting, error) {
	list, err := readAll(ctx, t.s, scanSetting, `SELECT name, value, updated_at, updated_by FROM settings WHERE tenant_id = ? ORDER BY name`, string(t.id))
	if err != nil {
		return nil, t.s.wrapError(ctx, err, "list the settings")
	}
	return list, nil
}

// scanSetting reads the columns of a setting.
func scanSetting(row scanner) (Setting, error) {
	var set Setting
	var value string
	var updated int64
	err := row.Scan(&set.Key, &value, &updated, &set.UpdatedBy)
	set.Value, set.UpdatedAt = json.RawMessage(value), fromMicros(updated)
	return set, err
}

// SettingOf is a setting with its tenant.
type SettingOf struct {
	Tenant junctor.TenantID
	Setting
}

// SettingsNamed lists a setting of all tenants that have it, by tenant.
func (s *Store) SettingsNamed(ctx context.Context, key string) ([]SettingOf, error) {
	list, err := readAll(ctx, s, scanSettingOf, `SELECT tenant_id, name, value, updated_at, updated_by FROM settings WHERE name = ? ORDER BY tenant_id`, key)
	if err != nil {
		return nil, s.wrapError(ctx, err, "read the setting %q of all tenants", key)
	}
	return list, nil
}

// SettingVersions returns when a setting was last changed in each tenant that has it. It
// reads no values.
func (s *Store) SettingVersions(ctx context.Context, key string) (map[junctor.TenantID]time.Time, error) {
	list, err := readAll(ctx, s, scanSettingOf, `SELECT tenant_id, name, '', updated_at, updated_by FROM settings WHERE name = ?`, key)
	if err != nil {
		return nil, s.wrapError(ctx, err, "read the versions of the setting %q", key)
	}
	out := make(map[junctor.TenantID]time.Time, len(list))
	for _, set := range list {
		out[set.Tenant] = set.UpdatedAt
	}
	return out, nil
}

// scanSettingOf reads the tenant and the columns of a setting.
func scanSettingOf(row scanner) (SettingOf, error) {
	var set SettingOf
	var value string
	var updated int64
	err := row.Scan(&set.Tenant, &set.Key, &value, &updated, &set.UpdatedBy)
	set.Value, set.UpdatedAt = json.RawMessage(value), fromMicros(updated)
	return set, err
}
