package store

import (
	"context"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

const triggerColumns = `tenant_id, name, config, disabled, declared, created_at, updated_at, updated_by`

// triggerConfig is what the column config holds.
type triggerConfig struct {
	Title  string         `json:"title,omitempty"`
	Owner  string         `json:"owner,omitempty"`
	Match  junctor.Match  `json:"match"`
	Action junctor.Action `json:"action"`
}

// Triggers lists the tenant's triggers by name.
func (t *Tenant) Triggers(ctx context.Context) ([]junctor.Trigger, error) {
	return list(ctx, t.s, aTrigger, scanTrigger, `SELECT `+triggerColumns+` FROM triggers WHERE tenant_id = ? ORDER BY name`, string(t.id))
}

// Trigger gives one; not_found when the tenant has none of that name.
func (t *Tenant) Trigger(ctx context.Context, name string) (junctor.Trigger, error) {
	return named(ctx, t, aTrigger, name, scanTrigger, `SELECT `+triggerColumns+` FROM triggers WHERE tenant_id = ? AND name = ?`)
}

// AddTrigger stores a new trigger and gives it back; conflict where the name is
// taken.
func (t *Tenant) AddTrigger(ctx context.Context, trigger junctor.Trigger) (junctor.Trigger, error) {
	now := fromMicros(micros(time.Now()))
	trigger.Tenant, trigger.CreatedAt, trigger.UpdatedAt, trigger.UpdatedBy = t.id, now, now, t.by
	config, err := configText(triggerConfig{trigger.Title, trigger.Owner, trigger.Match, trigger.Action})
	if err != nil {
		return trigger, err
	}
	_, err = t.s.do(ctx, `INSERT INTO triggers (`+triggerColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		string(t.id), trigger.Name, config, number(trigger.Disabled), trigger.Declared, micros(now), micros(now), t.by)
	if err != nil {
		return trigger, t.s.fail(ctx, err, "add the trigger %q", trigger.Name)
	}
	return trigger, nil
}

// UpdateTrigger stores a trigger that Trigger gave, changed, in place of the one of its
// name, and gives it back. Precondition where somebody else changed it meanwhile,
// not_found where there is none.
func (t *Tenant) UpdateTrigger(ctx context.Context, trigger junctor.Trigger) (junctor.Trigger, error) {
	config, err := configText(triggerConfig{trigger.Title, trigger.Owner, trigger.Match, trigger.Action})
	if err != nil {
		return trigger, err
	}
	trigger.Tenant, trigger.UpdatedBy = t.id, t.by
	trigger.UpdatedAt, err = t.update(ctx, aTrigger.row("triggers", "name = ?", trigger.Name, trigger.UpdatedAt), `config = ?, disabled = ?, declared = ?`,
		config, number(trigger.Disabled), trigger.Declared)
	return trigger, err
}

// DeleteTrigger forgets a trigger; not_found where there is none of that name.
func (t *Tenant) DeleteTrigger(ctx context.Context, name string) error {
	return t.change(ctx, "delete", aTrigger, name, `DELETE FROM triggers WHERE tenant_id = ? AND name = ?`, string(t.id), name)
}

func scanTrigger(row scanner) (junctor.Trigger, error) {
	var t junctor.Trigger
	var text string
	var disabled, created, updated int64
	if err := row.Scan(&t.Tenant, &t.Name, &text, &disabled, &t.Declared, &created, &updated, &t.UpdatedBy); err != nil {
		return t, err
	}
	var config triggerConfig
	if err := aTrigger.read(t.Name, text, &config); err != nil {
		return t, err
	}
	t.Title, t.Owner, t.Match, t.Action = config.Title, config.Owner, config.Match, config.Action
	t.Disabled, t.CreatedAt, t.UpdatedAt = disabled != 0, fromMicros(created), fromMicros(updated)
	return t, nil
}

// number is how a truth is stored.
func number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
