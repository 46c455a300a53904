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
}

// Setting gives one setting; not_found when it was never put.
func (t *Tenant) Setting(ctx context.Context, key string) (Setting, error) {
	set, err := one(ctx, t.s, scanSetting, `SELECT name, value, updated_at FROM settings WHERE tenant_id = ? AND name = ?`, string(t.id), key)
	if errors.Is(err, sql.ErrNoRows) {
		return Setting{}, missing("the setting %q is not set", key)
	}
	if err != nil {
		return Setting{}, t.s.fail(ctx, err, "read the setting %q", key)
	}
	return set, nil
}

// PutSetting stores a setting in place of a former one; invalid when the key is
// empty or the value is not JSON.
func (t *Tenant) PutSetting(ctx context.Context, key string, value json.RawMessage) error {
	if key == "" {
		return junctor.Errorf(junctor.CodeInvalid, "a setting needs a key")
	}
	if !json.Valid(value) {
		return junctor.Errorf(junctor.CodeInvalid, "the value of the setting %q is not JSON", key)
	}
	_, err := t.s.do(ctx, `INSERT INTO settings (tenant_id, name, value, updated_at) VALUES (?, ?, ?, ?)
		ON CONFLICT (tenant_id, name) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at`,
		string(t.id), key, string(value), micros(time.Now()))
	if err != nil {
		return t.s.fail(ctx, err, "store the setting %q", key)
	}
	return nil
}

// Settings lists the tenant's settings by key.
func (t *Tenant) Settings(ctx context.Context) ([]Setting, error) {
	list, err := all(ctx, t.s, scanSetting, `SELECT name, value, updated_at FROM settings WHERE tenant_id = ? ORDER BY name`, string(t.id))
	if err != nil {
		return nil, t.s.fail(ctx, err, "list the settings")
	}
	return list, nil
}

func scanSetting(row scanner) (Setting, error) {
	var set Setting
	var value string
	var updated int64
	err := row.Scan(&set.Key, &value, &updated)
	set.Value, set.UpdatedAt = json.RawMessage(value), fromMicros(updated)
	return set, err
}
