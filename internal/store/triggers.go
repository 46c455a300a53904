package store

import (
	"context"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// triggerColumns are the columns that scanTrigger reads.
const triggerColumns = `tenant_id, name, config, disabled, declared, created_at, updated_at, updated_by`

// triggerConfig is the JSON of the column config.
type triggerConfig struct {
	Title  string         `json:"title,omitempty"`
	Owner  string         `json:"owner,omitempty"`
	Match  junctor.Match  `json:"match"`
	Action junctor.Action `json:"action"`
}

// Triggers lists the tenant's triggers by name.
func (t *Tenant) Triggers(ctx context.Context) ([]junctor.Trigger, error) {
	return listNamed(ctx, t.s, kindTrigger, scanTrigger, `SELECT `+triggerColumns+` FROM triggers WHERE tenant_id = ? ORDER BY name`, string(t.id))
}

// Trigger returns one trigger; not_found if the tenant has none of that name.
func (t *Tenant) Trigger(ctx context.Context, name string) (junctor.Trigger, error) {
	return readNamed(ctx, t, kindTrigger, name, scanTrigger, `SELECT `+triggerColumns+` FROM triggers WHERE tenant_id = ? AND name = ?`)
}

// AddTrigger stores a new trigger and returns it; conflict if the name is taken.
func (t *Tenant) AddTrigger(ctx context.Context, trigger junctor.Trigger) (junctor.Trigger, error) {
	now := fromMicros(toMicros(time.Now()))
	trigger.Tenant, trigger.CreatedAt, trigger.UpdatedAt, trigger.UpdatedBy = t.id, now, now, t.changedBy
	config, err := encodeConfig(triggerConfig{trigger.Title, trigger.Owner, trigger.Match, trigger.Action})
	if err != nil {
		return trigger, err
	}
	_, err = t.s.execWrite(ctx, `INSERT INTO triggers (`+triggerColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		string(t.id), trigger.Name, config, boolToInt(trigger.Disabled), trigger.Declared, toMicros(now), toMicros(now), t.changedBy)
	if err != nil {
		return trigger, t.s.wrapError(ctx, err, "add the trigger %q", trigger.Name)
	}
	return trigger, nil
}

// UpdateTrigger stores a changed copy of what Trigger returned, and returns it. The error
// is precondition if somebody else changed the trigger meanwhile, and not_found if there
// is none.
func (t *Tenant) UpdateTrigger(ctx context.Context, trigger junctor.Trigger) (junctor.Trigger, error) {
	config, err := encodeConfig(triggerConfig{trigger.Title, trigger.Owner, trigger.Match, trigger.Action})
	if err != nil {
		return trigger, err
	}
	trigger.Tenant, trigger.UpdatedBy = t.id, t.changedBy
	trigger.UpdatedAt, err = t.updateVersioned(ctx, kindTrigger.versionedRow("triggers", "name = ?", trigger.Name, trigger.UpdatedAt), `config = ?, disabled = ?, declared = ?`,
		config, boolToInt(trigger.Disabled), trigger.Declared)
	return trigger, err
}

// DeleteTrigger deletes a trigger; not_found if there is none of that name. Its deliveries
// stay.
func (t *Tenant) DeleteTrigger(ctx context.Context, name string) error {
	return t.changeNamed(ctx, "delete", kindTrigger, name, `DELETE FROM triggers WHERE tenant_id = ? AND name = ?`, string(t.id), name)
}

// scanTrigger reads the columns of triggerColumns.
func scanTrigger(row scanner) (junctor.Trigger, error) {
	var t junctor.Trigger
	var text string
	var disabled, created, updated int64
	if err := row.Scan(&t.Tenant, &t.Name, &text, &disabled, &t.Declared, &created, &updated, &t.UpdatedBy); err != nil {
		return t, err
	}
	var config triggerConfig
	if err := kindTrigger.decodeConfig(t.Name, text, &config); err != nil {
		return t, err
	}
	t.Title, t.Owner, t.Match, t.Action = config.Title, config.Owner, config.Match, config.Action
	t.Disabled, t.CreatedAt, t.UpdatedAt = disabled != 0, fromMicros(created), fromMicros(updated)
	return t, nil
}
