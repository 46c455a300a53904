package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strconv"

	junctor "github.com/junctor-mcp/junctor"
)

// changeColumns are the columns that scanAdminChange reads.
const changeColumns = `tenant_id, id, replica, seq, changed_at, status, entry_point, address, issuer, subject, actor, user_id, client, action, object, object_id, before_json, after_json`

// scanAdminChange reads the columns of an administrative change.
func scanAdminChange(row scanner) (junctor.AdminChange, error) {
	var c junctor.AdminChange
	var at, seq int64
	var before, after string
	err := row.Scan(&c.Tenant, &c.ID, &c.Replica, &seq, &at, &c.Status, &c.EntryPoint, &c.Address, &c.Issuer, &c.Subject, &c.Actor, &c.User, &c.Client, &c.Action, &c.Object, &c.ObjectID, &before, &after)
	c.At, c.Seq = fromMicros(at), uint64(seq) //nolint:gosec // counts from 0
	if before != "" {
		c.Before = json.RawMessage(before)
	}
	if after != "" {
		c.After = json.RawMessage(after)
	}
	return c, err
}

// AddAdminChange stores an administrative change that begins. It is a conflict if the ID is
// taken.
func (s *Store) AddAdminChange(ctx context.Context, c *junctor.AdminChange) error {
	_, err := s.execWrite(ctx, `INSERT INTO admin_changes (`+changeColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		string(c.Tenant), c.ID, c.Replica, int64(c.Seq), toMicros(c.At), string(c.Status), string(c.EntryPoint), c.Address, c.Issuer, c.Subject, c.Actor, c.User, c.Client, c.Action, c.Object, c.ObjectID, //nolint:gosec // counts from 0
		string(c.Before), string(c.After))
	if err != nil {
		return s.wrapError(ctx, err, "store the record of a change")
	}
	return nil
}

// EndAdminChange stores how an administrative change ended: its status, object and value
// after it. A change that has a record in the journal stays as it is.
func (s *Store) EndAdminChange(ctx context.Context, c *junctor.AdminChange) error {
	_, err := s.execWrite(ctx, `UPDATE admin_changes SET status = ?, object_id = ?, after_json = ? WHERE tenant_id = ? AND id = ? AND seq = 0`,
		string(c.Status), c.ObjectID, string(c.After), string(c.Tenant), c.ID)
	if err != nil {
		return s.wrapError(ctx, err, "store the end of a change")
	}
	return nil
}

// SetAdminChangeRecord stores the number of the record that a change has in its replica's
// journal. The first number stays.
func (s *Store) SetAdminChangeRecord(ctx context.Context, c *junctor.AdminChange) error {
	_, err := s.execWrite(ctx, `UPDATE admin_changes SET seq = ? WHERE tenant_id = ? AND id = ? AND seq = 0`, int64(c.Seq), string(c.Tenant), c.ID) //nolint:gosec // counts from 1
	if err != nil {
		return s.wrapError(ctx, err, "store the number of a change's record")
	}
	return nil
}

// DropAdminChange forgets a change that was not made. One that has a record in the journal
// stays.
func (s *Store) DropAdminChange(ctx context.Context, c *junctor.AdminChange) error {
	if _, err := s.execWrite(ctx, `DELETE FROM admin_changes WHERE tenant_id = ? AND id = ? AND seq = 0`, string(c.Tenant), c.ID); err != nil {
		return s.wrapError(ctx, err, "forget a change that was not made")
	}
	return nil
}

// UnrecordedAdminChanges lists changes of a replica that have no record in its journal yet,
// oldest first.
func (s *Store) UnrecordedAdminChanges(ctx context.Context, replica string, limit int) ([]junctor.AdminChange, error) {
	list, err := readAll(ctx, s, scanAdminChange, `SELECT `+changeColumns+` FROM admin_changes WHERE replica = ? AND seq = 0 ORDER BY changed_at, id LIMIT ?`, replica, limit)
	if err != nil {
		return nil, s.wrapError(ctx, err, "list the changes without a record")
	}
	return list, nil
}

// ReplicaAdminChanges lists all changes of a replica, those without a record first.
func (s *Store) ReplicaAdminChanges(ctx context.Context, replica string) ([]junctor.AdminChange, error) {
	list, err := readAll(ctx, s, scanAdminChange, `SELECT `+changeColumns+` FROM admin_changes WHERE replica = ? ORDER BY seq, id`, replica)
	if err != nil {
		return nil, s.wrapError(ctx, err, "list the changes of a replica")
	}
	return list, nil
}

// PruneAdminChanges removes the changes of a replica whose records are removed: those up to a
// number.
func (s *Store) PruneAdminChanges(ctx context.Context, replica string, upTo uint64) error {
	if _, err := s.execWrite(ctx, `DELETE FROM admin_changes WHERE replica = ? AND seq > 0 AND seq <= ?`, replica, int64(upTo)); err != nil { //nolint:gosec // counts from 1
		return s.wrapError(ctx, err, "remove old changes")
	}
	return nil
}

// AdminChanges reads a page of changes of the tenant, with one more if there is another page,
// and counts those of all pages. The key of a page is the time of a change, in microseconds.
func (t *Tenant) AdminChanges(ctx context.Context, f *junctor.AdminChangeFilter, page *junctor.RowPage) ([]junctor.AdminChange, junctor.RowTotal, error) {
	rows := pagedRows{
		columns: changeColumns, table: `admin_changes`, where: []string{`tenant_id = ?`}, args: []any{string(t.id)}, order: `changed_at`, tie: `id`,
		text: `LOWER(object || ' ' || object_id || ' ' || action || ' ' || actor || ' ' || before_json || ' ' || after_json)`,
	}
	add := func(condition string, values ...any) {
		rows.where, rows.args = append(rows.where, condition), append(rows.args, values...)
	}
	for _, c := range [...]struct{ name, value string }{{`object`, f.Object}, {`object_id`, f.ObjectID}, {`action`, f.Action}, {`entry_point`, string(f.EntryPoint)}} {
		if c.value != "" {
			add(c.name+` = ?`, c.value)
		}
	}
	if f.Actor != "" {
		add(`(subject = ? OR actor = ? OR user_id = ?)`, f.Actor, f.Actor, f.Actor)
	}
	if !f.Since.IsZero() {
		add(`changed_at >= ?`, toMicros(f.Since))
	}
	if !f.Until.IsZero() {
		add(`changed_at < ?`, toMicros(f.Until))
	}
	if page.Key != "" {
		at, err := strconv.ParseInt(page.Key, 10, 64)
		if err != nil {
			return nil, junctor.RowTotal{}, junctor.Errorf(junctor.CodeInvalid, "the cursor does not belong to this list; omit it to read from the first page")
		}
		rows.after = []any{at, page.ID}
	}
	list, total, err := readPage(ctx, t.s, scanAdminChange, rows, page)
	if err != nil {
		return nil, total, t.s.wrapError(ctx, err, "list the changes")
	}
	return list, total, nil
}

// AdminChange returns one change of the tenant; not_found if it has none with that ID.
func (t *Tenant) AdminChange(ctx context.Context, id string) (junctor.AdminChange, error) {
	c, err := readOne(ctx, t.s, scanAdminChange, `SELECT `+changeColumns+` FROM admin_changes WHERE tenant_id = ? AND id = ?`, string(t.id), id)
	if errors.Is(err, sql.ErrNoRows) {
		return c, notFound("unknown change %q; junctor audit ls --changes lists the changes", id)
	}
	if err != nil {
		return c, t.s.wrapError(ctx, err, "read a change")
	}
	return c, nil
}
