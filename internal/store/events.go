package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Statements is a transaction of somebody else, in which events are stored
// together with what they lead to. Placeholders are question marks.
type Statements interface {
	Exec(ctx context.Context, query string, args ...any) (int64, error)
	Query(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

const eventColumns = `tenant_id, id, source, type, agent, dedupe_key, data, depth, raised, faults, received_at, type_unsigned`

// AddEvent stores an event within a transaction. Where one of the same source and
// key is there it stores nothing, and gives that one's id and false.
func (t *Tenant) AddEvent(ctx context.Context, on Statements, e *junctor.Event) (id string, added bool, err error) {
	data := []byte(e.Data)
	if data == nil {
		data = []byte{}
	}
	faults, err := configText(slices.Concat([]string{}, e.Faults))
	if err != nil {
		return "", false, err
	}
	n, err := on.Exec(ctx, `INSERT INTO events (`+eventColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (tenant_id, source, dedupe_key) DO NOTHING`,
		string(t.id), e.ID, e.Source, e.Type, e.Agent, e.DedupeKey, data, e.Depth, e.Raised, faults, micros(e.ReceivedAt), number(e.TypeUnsigned))
	if err != nil {
		return "", false, t.s.fail(ctx, err, "store an event")
	}
	if n > 0 {
		return e.ID, true, nil
	}
	ids, err := inside(ctx, on, scanText, `SELECT id FROM events WHERE tenant_id = ? AND source = ? AND dedupe_key = ?`, string(t.id), e.Source, e.DedupeKey)
	if err != nil || len(ids) != 1 {
		return "", false, t.s.fail(ctx, errors.Join(err, sql.ErrNoRows), "store an event")
	}
	return ids[0], false, nil
}

// inside reads every row of a query within a transaction.
func inside[T any](ctx context.Context, on Statements, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	rows, err := on.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close() // rows.Err tells what went wrong
	var list []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, rows.Err()
}

func scanText(row scanner) (s string, err error) {
	err = row.Scan(&s)
	return s, err
}

// EventFilter says which events are wanted; zero members do not filter.
type EventFilter struct {
	Source, Type, Agent string
	Since               time.Time
	Before              string // only events older than the one with this id
	Limit               int
}

// Events lists events, newest first.
func (t *Tenant) Events(ctx context.Context, f EventFilter) ([]junctor.Event, error) {
	where, args := []string{`tenant_id = ?`}, []any{string(t.id)}
	for _, one := range []struct{ column, text string }{{`source = ?`, f.Source}, {`type = ?`, f.Type}, {`agent = ?`, f.Agent}, {`id < ?`, f.Before}} {
		if one.text != "" {
			where, args = append(where, one.column), append(args, one.text)
		}
	}
	if !f.Since.IsZero() {
		where, args = append(where, `received_at >= ?`), append(args, micros(f.Since))
	}
	list, err := all(ctx, t.s, scanEvent, `SELECT `+eventColumns+` FROM events WHERE `+strings.Join(where, ` AND `)+` ORDER BY id DESC LIMIT ?`, append(args, f.Limit)...)
	if err != nil {
		return nil, t.s.fail(ctx, err, "list the events")
	}
	return list, nil
}

// Event gives one event; not_found when the tenant has none with that id.
func (t *Tenant) Event(ctx context.Context, id string) (junctor.Event, error) {
	e, err := one(ctx, t.s, scanEvent, `SELECT `+eventColumns+` FROM events WHERE tenant_id = ? AND id = ?`, string(t.id), id)
	if errors.Is(err, sql.ErrNoRows) {
		return e, missing("there is no event %q", id)
	}
	if err != nil {
		return e, t.s.fail(ctx, err, "read the event %q", id)
	}
	return e, nil
}

// EventOf gives the event that a source sent under a key; not_found where there
// is none.
func (t *Tenant) EventOf(ctx context.Context, source, key string) (junctor.Event, error) {
	e, err := one(ctx, t.s, scanEvent, `SELECT `+eventColumns+` FROM events WHERE tenant_id = ? AND source = ? AND dedupe_key = ?`, string(t.id), source, key)
	if errors.Is(err, sql.ErrNoRows) {
		return e, missing("the source %q sent no event with this key", source)
	}
	if err != nil {
		return e, t.s.fail(ctx, err, "read an event")
	}
	return e, nil
}

// SetEventOutcome stores within a transaction what an event led to, where its
// triggers were asked again.
func (t *Tenant) SetEventOutcome(ctx context.Context, on Statements, id string, raised int, faults []string) error {
	text, err := configText(slices.Concat([]string{}, faults))
	if err != nil {
		return err
	}
	n, err := on.Exec(ctx, `UPDATE events SET raised = ?, faults = ? WHERE tenant_id = ? AND id = ?`, raised, text, string(t.id), id)
	if err == nil && n == 0 {
		err = missing("there is no event %q", id)
	}
	if err != nil {
		return t.s.fail(ctx, err, "store what the event %q led to", id)
	}
	return nil
}

// PruneEvents forgets the events of all tenants that were taken before a moment
// and wait for nothing.
func (s *Store) PruneEvents(ctx context.Context, before time.Time) (int64, error) {
	n, err := s.do(ctx, `DELETE FROM events WHERE received_at < ? AND NOT EXISTS
		(SELECT 1 FROM event_waits WHERE event_waits.tenant_id = events.tenant_id AND event_waits.event_id = events.id)`, micros(before))
	if err != nil {
		return 0, s.fail(ctx, err, "forget old events")
	}
	return n, nil
}

func scanEvent(row scanner) (junctor.Event, error) {
	var e junctor.Event
	var received, unsigned int64
	var data []byte
	var faults string
	if err := row.Scan(&e.Tenant, &e.ID, &e.Source, &e.Type, &e.Agent, &e.DedupeKey, &data, &e.Depth, &e.Raised, &faults, &received, &unsigned); err != nil {
		return e, err
	}
	e.ReceivedAt, e.TypeUnsigned = fromMicros(received), unsigned != 0
	if len(data) > 0 {
		e.Data = data
	}
	if err := json.Unmarshal([]byte(faults), &e.Faults); err != nil {
		return e, fmt.Errorf("the faults of the event %q cannot be read: %w", e.ID, err)
	}
	if len(e.Faults) == 0 {
		e.Faults = nil
	}
	return e, nil
}

// EventWait is an event that waits for others, to go out in one call with them.
type EventWait struct {
	Tenant        junctor.TenantID
	Trigger, Line string
	Event         string
	Since         time.Time
}

// AddEventWait stores within a transaction that an event waits.
func (t *Tenant) AddEventWait(ctx context.Context, on Statements, w EventWait) error {
	_, err := on.Exec(ctx, `INSERT INTO event_waits (tenant_id, trigger_name, line, event_id, since) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		string(t.id), w.Trigger, w.Line, w.Event, micros(w.Since))
	if err != nil {
		return t.s.fail(ctx, err, "store that an event waits")
	}
	return nil
}

// EventWaits lists what waits, in the order in which it came.
func (s *Store) EventWaits(ctx context.Context, limit int) ([]EventWait, error) {
	list, err := all(ctx, s, scanWait, `SELECT tenant_id, trigger_name, line, event_id, since FROM event_waits ORDER BY event_id LIMIT ?`, limit)
	if err != nil {
		return nil, s.fail(ctx, err, "list the events that wait")
	}
	return list, nil
}

// EndEventWait takes an event out of those that wait, within a transaction; false
// where somebody else has.
func (t *Tenant) EndEventWait(ctx context.Context, on Statements, w EventWait) (bool, error) {
	n, err := on.Exec(ctx, `DELETE FROM event_waits WHERE tenant_id = ? AND trigger_name = ? AND event_id = ?`, string(t.id), w.Trigger, w.Event)
	if err != nil {
		return false, t.s.fail(ctx, err, "take up an event that waits")
	}
	return n > 0, nil
}

func scanWait(row scanner) (EventWait, error) {
	var w EventWait
	var since int64
	err := row.Scan(&w.Tenant, &w.Trigger, &w.Line, &w.Event, &since)
	w.Since = fromMicros(since)
	return w, err
}

// Together runs fn in one transaction of the store's own, for those who have
// none. fn may run more than once, each time on what the transaction before it
// left.
func (s *Store) Together(ctx context.Context, fn func(Statements) error) error {
	err := s.tx(ctx, func(tx *sql.Tx) error { return fn(statements{s, tx}) })
	if err != nil {
		return s.fail(ctx, err, "store events")
	}
	return nil
}

// statements is a transaction of the store's own.
type statements struct {
	s  *Store
	tx *sql.Tx
}

func (st statements) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	return st.s.exec(ctx, st.tx, query, args...)
}

func (st statements) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	st.s.begins(ctx)
	return st.tx.QueryContext(ctx, st.s.dialect.Bind(query), args...)
}
