package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// scheduleColumns are the columns that scanSchedule reads.
const scheduleColumns = `tenant_id, name, config, disabled, declared, next_at, last_at, created_at, updated_at, updated_by`

// scheduleConfig is the JSON of the column config.
type scheduleConfig struct {
	Cron     string          `json:"cron"`
	Timezone string          `json:"timezone,omitempty"`
	Type     string          `json:"type"`
	Agent    string          `json:"agent,omitempty"`
	Data     json.RawMessage `json:"data,omitempty"`
}

// Schedules lists the tenant's schedules by name.
func (t *Tenant) Schedules(ctx context.Context) ([]junctor.Schedule, error) {
	return listNamed(ctx, t.s, kindSchedule, scanSchedule, `SELECT `+scheduleColumns+` FROM schedules WHERE tenant_id = ? ORDER BY name`, string(t.id))
}

// DueSchedules lists up to 100 schedules of all tenants whose time has come, the oldest
// first.
func (s *Store) DueSchedules(ctx context.Context, now time.Time) ([]junctor.Schedule, error) {
	return listNamed(ctx, s, kindSchedule, scanSchedule, `SELECT `+scheduleColumns+` FROM schedules WHERE disabled = 0 AND next_at <= ? ORDER BY next_at, tenant_id, name LIMIT 100`, toMicros(now))
}

// Schedule returns one schedule; not_found if the tenant has none of that name.
func (t *Tenant) Schedule(ctx context.Context, name string) (junctor.Schedule, error) {
	return readNamed(ctx, t, kindSchedule, name, scanSchedule, `SELECT `+scheduleColumns+` FROM schedules WHERE tenant_id = ? AND name = ?`)
}

// PutSchedule stores a schedule and returns it. If its UpdatedAt is zero, it is new.
// Otherwise it is a changed copy of what Schedule returned, and replaces the one of its
// name. The error is precondition if somebody else added or changed it meanwhile, and
// not_found if it was deleted. A schedule without NextAt keeps the stored one.
func (t *Tenant) PutSchedule(ctx context.Context, sch junctor.Schedule) (junctor.Schedule, error) {
	config, err := encodeConfig(scheduleConfig{sch.Cron, sch.Timezone, sch.Type, sch.Agent, sch.Data})
	if err != nil {
		return sch, err
	}
	row := kindSchedule.versionedRow("schedules", "name = ?", sch.Name, sch.UpdatedAt)
	if !sch.UpdatedAt.IsZero() {
		if _, err := t.updateVersioned(ctx, row, `config = ?, disabled = ?, declared = ?, next_at = COALESCE(CAST(? AS BIGINT), next_at)`,
			config, boolToInt(sch.Disabled), sch.Declared, toNullMicros(sch.NextAt)); err != nil {
			return sch, err
		}
		return t.Schedule(ctx, sch.Name)
	}
	now := toMicros(time.Now())
	err = t.s.runTx(ctx, func(tx *sql.Tx) error {
		n, err := t.s.exec(ctx, tx, `INSERT INTO schedules (`+scheduleColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (tenant_id, name) DO NOTHING`,
			string(t.id), sch.Name, config, boolToInt(sch.Disabled), sch.Declared, toMicros(sch.NextAt), toNullMicros(sch.LastAt), now, now, t.changedBy)
		if err == nil && n == 0 {
			err = t.staleRowError(ctx, tx, row)
		}
		return err
	})
	if err != nil {
		return sch, t.s.wrapError(ctx, err, "store the schedule %q", sch.Name)
	}
	return t.Schedule(ctx, sch.Name)
}

// MoveSchedule records within a transaction that a schedule's time came, and when it comes
// next. It returns false if another replica has done so, or the schedule was disabled.
func (t *Tenant) MoveSchedule(ctx context.Context, on Statements, name string, due, next time.Time) (bool, error) {
	n, err := on.Exec(ctx, `UPDATE schedules SET last_at = ?, next_at = ? WHERE tenant_id = ? AND name = ? AND next_at = ? AND disabled = 0`,
		toMicros(due), toMicros(next), string(t.id), name, toMicros(due))
	if err != nil {
		return false, t.s.wrapError(ctx, err, "move the schedule %q", name)
	}
	return n > 0, nil
}

// DeleteSchedule deletes a schedule; not_found if there is none of that name.
func (t *Tenant) DeleteSchedule(ctx context.Context, name string) error {
	return t.changeNamed(ctx, "delete", kindSchedule, name, `DELETE FROM schedules WHERE tenant_id = ? AND name = ?`, string(t.id), name)
}

// scanSchedule reads the columns of scheduleColumns.
func scanSchedule(row scanner) (junctor.Schedule, error) {
	var s junctor.Schedule
	var text string
	var disabled, next, created, updated int64
	var last sql.NullInt64
	if err := row.Scan(&s.Tenant, &s.Name, &text, &disabled, &s.Declared, &next, &last, &created, &updated, &s.UpdatedBy); err != nil {
		return s, err
	}
	var c scheduleConfig
	if err := kindSchedule.decodeConfig(s.Name, text, &c); err != nil {
		return s, err
	}
	s.Cron, s.Timezone, s.Type, s.Agent, s.Data = c.Cron, c.Timezone, c.Type, c.Agent, c.Data
	s.Disabled, s.NextAt, s.LastAt = disabled != 0, fromMicros(next), fromNullMicros(last)
	s.CreatedAt, s.UpdatedAt = fromMicros(created), fromMicros(updated)
	return s, nil
}
