package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Statements is a transaction in which events are stored together with the deliveries that
// they lead to. Package queue has one, and Store.Together makes one. Placeholders are
// question marks.
type Statements interface {
	// Exec runs a statement and returns the number of changed rows.
	Exec(ctx context.Context, query string, args ...any) (int64, error)
	// Query runs a query. The caller has to close the rows before the next statement.
	Query(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// eventColumns are the columns that scanEvent reads.
const eventColumns = `tenant_id, id, source, type, agent, dedupe_key, data, depth, raised, faults, received_at, type_unsigned`

// AddEvent stores an event within a transaction. If an event of the same source and key is
// stored already, it stores nothing, and returns that event's id and false.
func (t *Tenant) AddEvent(ctx context.Context, on Statements, e *junctor.Event) (id string, added bool, err error) {
	data := []byte(e.Data)
	if data == nil {
		data = []byte{}
	}
	faults, err := encodeConfig(slices.Concat([]string{}, e.Faults))
	if err != nil {
		return "", false, err
	}
	n, err := on.Exec(ctx, `INSERT INTO events (`+eventColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (tenant_id, source, dedupe_key) DO NOTHING`,
		string(t.id), e.ID, e.Source, e.Type, e.Agent, e.DedupeKey, data, e.Depth, e.Raised, faults, toMicros(e.ReceivedAt), boolToInt(e.TypeUnsigned))
	if err != nil {
		return "", false, t.s.wrapError(ctx, err, "store an event")
	}
	if n > 0 {
		return e.ID, true, nil
	}
	ids, err := readAllWithin(ctx, on, scanText, `SELECT id FROM events WHERE tenant_id = ? AND source = ? AND dedupe_key = ?`, string(t.id), e.Source, e.DedupeKey)
	if err != nil || len(ids) != 1 {
		return "", false, t.s.wrapError(ctx, errors.Join(err, sql.ErrNoRows), "store an event")
	}
	return ids[0], false, nil
}

// readAllWithin reads every row of a query within a transaction of the caller.
func readAllWithin[T any](ctx context.Context, on Statements, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	rows, err := on.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return scanRows(rows, scan)
}

// scanText reads a single column of text.
func scanText(row scanner) (s string, err error) {
	err = row.Scan(&s)
	return s, err
}

// EventFilter selects events. Zero members do not filter.
type EventFilter struct {
	Source, Type, Agent string
	Since               time.Time
}

// Events reads a page of events. Ids are in the order of time.
func (t *Tenant) Events(ctx context.Context, f EventFilter, page *junctor.RowPage) ([]junctor.Event, junctor.RowTotal, error) {
	rows := pagedRows{
		columns: eventColumns, table: `events`, where: []string{`tenant_id = ?`}, args: []any{string(t.id)},
		order: `id`, text: `LOWER(source || ' ' || type || ' ' || agent)`,
	}
	for _, one := range []struct{ column, text string }{{`source = ?`, f.Source}, {`type = ?`, f.Type}, {`agent = ?`, f.Agent}} {
		if one.text != "" {
			rows.where, rows.args = append(rows.where, one.column), append(rows.args, one.text)
		}
	}
	if !f.Since.IsZero() {
		rows.where, rows.args = append(rows.where, `received_at >= ?`), append(rows.args, toMicros(f.Since))
	}
	if page.ID != "" {
		rows.after = []any{page.ID}
	}
	list, total, err := readPage(ctx, t.s, scanEvent, rows, page)
	if err != nil {
		return nil, total, t.s.wrapError(ctx, err, "list the events")
	}
	return list, total, nil
}

// Event returns one event; not_found if the tenant has none with that id.
func (t *Tenant) Event(ctx context.Context, id string) (junctor.Event, error) {
	e, err := readOne(ctx, t.s, scanEvent, `SELECT `+eventColumns+` FROM events WHERE tenant_id = ? AND id = ?`, string(t.id), id)
	if errors.Is(err, sql.ErrNoRows) {
		return e, notFound("unknown event %q", id)
	}
	if err != nil {
		return e, t.s.wrapError(ctx, err, "read the event %q", id)
	}
	return e, nil
}

// EventOf returns the event that a source sent under a key; not_found if there is none.
func (t *Tenant) EventOf(ctx context.Context, source, key string) (junctor.Event, error) {
	e, err := readOne(ctx, t.s, scanEvent, `SELECT `+eventColumns+` FROM events WHERE tenant_id = ? AND source = ? AND dedupe_key = ?`, string(t.id), source, key)
	if errors.Is(err, sql.ErrNoRows) {
		return e, notFound("the source %q has no event with this dedupe_key", source)
	}
	if err != nil {
		return e, t.s.wrapError(ctx, err, "read an event")
	}
	return e, nil
}

// SetEventOutcome stores the number of deliveries and the faults of an event whose
// triggers were evaluated again, within a transaction.
func (t *Tenant) SetEventOutcome(ctx context.Context, on Statements, id string, raised int, faults []string) error {
	text, err := encodeConfig(slices.Concat([]string{}, faults))
	if err != nil {
		return err
	}
	n, err := on.Exec(ctx, `UPDATE events SET raised = ?, faults = ? WHERE tenant_id = ? AND id = ?`, raised, text, string(t.id), id)
	if err == nil && n == 0 {
		err = notFound("unknown event %q", id)
	}
	if err != nil {
		return t.s.wrapError(ctx, err, "store the result of the event %q", id)
	}
	return nil
}

// PruneEvents deletes the events of all tenants that were received before a time, except
// those that wait to be batched. It returns their number.
func (s *Store) PruneEvents(ctx context.Context, before time.Time) (int64, error) {
	n, err := s.execWrite(ctx, `DELETE FROM events WHERE received_at < ? AND NOT EXISTS
		(SELECT 1 FROM event_waits WHERE event_waits.tenant_id = events.tenant_id AND event_waits.event_id = events.id)`, toMicros(before))
	if err != nil {
		return 0, s.wrapError(ctx, err, "delete old events")
	}
	return n, nil
}

// scanEvent reads the columns of eventColumns.
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
		return e, fmt.Errorf("cannot read the faults of the event %q: %w", e.ID, err)
	}
	if len(e.Faults) == 0 {
		e.Faults = nil
	}
	return e, nil
}

// EventWait is an event that waits for others, to be delivered in one call with them.
type EventWait struct {
	Tenant        junctor.TenantID
	Trigger, Line string
	Event         string
	Since         time.Time
}

// AddEventWait stores an event that waits, within a transaction. Storing it twice is not
// an error.
func (t *Tenant) AddEventWait(ctx context.Context, on Statements, w EventWait) error {
	_, err := on.Exec(ctx, `INSERT INTO event_waits (tenant_id, trigger_name, line, event_id, since) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		string(t.id), w.Trigger, w.Line, w.Event, toMicros(w.Since))
	if err != nil {
		return t.s.wrapError(ctx, err, "store a waiting event")
	}
	return nil
}

// EventWaits lists the events of all tenants that wait, in the order in which they came.
func (s *Store) EventWaits(ctx context.Context, limit int) ([]EventWait, error) {
	list, err := readAll(ctx, s, scanWait, `SELECT tenant_id, trigger_name, line, event_id, since FROM event_waits ORDER BY event_id LIMIT ?`, limit)
	if err != nil {
		return nil, s.wrapError(ctx, err, "list the waiting events")
	}
	return list, nil
}

// EndEventWait removes an event from those that wait, within a transaction. It returns
// false if another replica has removed it.
func (t *Tenant) EndEventWait(ctx context.Context, on Statements, w EventWait) (bool, error) {
	n, err := on.Exec(ctx, `DELETE FROM event_waits WHERE tenant_id = ? AND trigger_name = ? AND event_id = ?`, string(t.id), w.Trigger, w.Event)
	if err != nil {
		return false, t.s.wrapError(ctx, err, "claim a waiting event")
	}
	return n > 0, nil
}

// scanWait reads the columns of a wait.
func scanWait(row scanner) (EventWait, error) {
	var w EventWait
	var since int64
	err := row.Scan(&w.Tenant, &w.Trigger, &w.Line, &w.Event, &since)
	w.Since = fromMicros(since)
	return w, err
}

// Together runs fn in one transaction of the store's own, for callers that have none. fn
// may run more than once, each time on a new transaction.
func (s *Store) Together(ctx context.Context, fn func(Statements) error) error {
	err := s.runTx(ctx, func(tx *sql.Tx) error { return fn(txStatements{s, tx}) })
	if err != nil {
		return s.wrapError(ctx, err, "store events")
	}
	return nil
}

// txStatements implements Statements on a transaction of the store.
type txStatements struct {
	s  *Store
	tx *sql.Tx
}

// Exec implements Statements.
func (st txStatements) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	return st.s.exec(ctx, st.tx, query, args...)
}

// Query implements Statements.
func (st txStatements) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	st.s.notifyObserver(ctx)
	return st.tx.QueryContext(ctx, st.s.dialect.Bind(query), args...)
}
