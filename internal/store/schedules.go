package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

const scheduleColumns = `tenant_id, name, config, disabled, declared, next_at, last_at, created_at, updated_at, updated_by`

// scheduleConfig is what the column config holds.
type scheduleConfig struct {
	Cron     string          `json:"cron"`
	Timezone string          `json:"timezone,omitempty"`
	Type     string          `json:"type"`
	Agent    string          `json:"agent,omitempty"`
	Data     json.RawMessage `json:"data,omitempty"`
}

// Schedules lists the tenant's schedules by name.
func (t *Tenant) Schedules(ctx context.Context) ([]junctor.Schedule, error) {
	return list(ctx, t.s, aSchedule, scanSchedule, `SELECT `+scheduleColumns+` FROM schedules WHERE tenant_id = ? ORDER BY name`, string(t.id))
}

// DueSchedules lists those of all tenants whose time has come.
func (s *Store) DueSchedules(ctx context.Context, now time.Time) ([]junctor.Schedule, error) {
	return list(ctx, s, aSchedule, scanSchedule, `SELECT `+scheduleColumns+` FROM schedules WHERE disabled = 0 AND next_at <= ? ORDER BY next_at, tenant_id, name LIMIT 100`, micros(now))
}

// Schedule gives one; not_found when the tenant has none of that name.
func (t *Tenant) Schedule(ctx context.Context, name string) (junctor.Schedule, error) {
	return named(ctx, t, aSchedule, name, scanSchedule, `SELECT `+scheduleColumns+` FROM schedules WHERE tenant_id = ? AND name = ?`)
}

// PutSchedule stores a schedule and gives it back. One whose UpdatedAt is zero is new;
// another one is what Schedule gave, changed, and takes the place of the one of its
// name. Precondition where somebody else added or changed it meanwhile, not_found where
// one that was read is gone. A schedule without NextAt stays due when it was.
func (t *Tenant) PutSchedule(ctx context.Context, sch junctor.Schedule) (junctor.Schedule, error) {
	config, err := configText(scheduleConfig{sch.Cron, sch.Timezone, sch.Type, sch.Agent, sch.Data})
	if err != nil {
		return sch, err
	}
	row := aSchedule.row("schedules", "name = ?", sch.Name, sch.UpdatedAt)
	if !sch.UpdatedAt.IsZero() {
		if _, err := t.update(ctx, row, `config = ?, disabled = ?, declared = ?, next_at = COALESCE(CAST(? AS BIGINT), next_at)`,
			config, number(sch.Disabled), sch.Declared, maybeMicros(sch.NextAt)); err != nil {
			return sch, err
		}
		return t.Schedule(ctx, sch.Name)
	}
	now := micros(time.Now())
	err = t.s.tx(ctx, func(tx *sql.Tx) error {
		n, err := t.s.exec(ctx, tx, `INSERT INTO schedules (`+scheduleColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (tenant_id, name) DO NOTHING`,
			string(t.id), sch.Name, config, number(sch.Disabled), sch.Declared, micros(sch.NextAt), maybeMicros(sch.LastAt), now, now, t.by)
		if err == nil && n == 0 {
			err = t.staleRow(ctx, tx, row)
		}
		return err
	})
	if err != nil {
		return sch, t.s.fail(ctx, err, "store the schedule %q", sch.Name)
	}
	return t.Schedule(ctx, sch.Name)
}

// MoveSchedule notes within a transaction that a schedule's time came, and when
// it comes next; false where somebody else has.
func (t *Tenant) MoveSchedule(ctx context.Context, on Statements, name string, due, next time.Time) (bool, error) {
	n, err := on.Exec(ctx, `UPDATE schedules SET last_at = ?, next_at = ? WHERE tenant_id = ? AND name = ? AND next_at = ? AND disabled = 0`,
		micros(due), micros(next), string(t.id), name, micros(due))
	if err != nil {
		return false, t.s.fail(ctx, err, "move the schedule %q", name)
	}
	return n > 0, nil
}

// DeleteSchedule forgets a schedule; not_found where there is none of that name.
func (t *Tenant) DeleteSchedule(ctx context.Context, name string) error {
	return t.change(ctx, "delete", aSchedule, name, `DELETE FROM schedules WHERE tenant_id = ? AND name = ?`, string(t.id), name)
}

func scanSchedule(row scanner) (junctor.Schedule, error) {
	var s junctor.Schedule
	var text string
	var disabled, next, created, updated int64
	var last sql.NullInt64
	if err := row.Scan(&s.Tenant, &s.Name, &text, &disabled, &s.Declared, &next, &last, &created, &updated, &s.UpdatedBy); err != nil {
		return s, err
	}
	var c scheduleConfig
	if err := aSchedule.read(s.Name, text, &c); err != nil {
		return s, err
	}
	s.Cron, s.Timezone, s.Type, s.Agent, s.Data = c.Cron, c.Timezone, c.Type, c.Agent, c.Data
	s.Disabled, s.NextAt, s.LastAt = disabled != 0, fromMicros(next), fromMaybeMicros(last)
	s.CreatedAt, s.UpdatedAt = fromMicros(created), fromMicros(updated)
	return s, nil
}
