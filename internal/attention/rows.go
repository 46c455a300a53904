package attention

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"
)

// row is a stored item.
type row struct {
	scope, source string
	owner, server string
	item          junctor.AttentionItem
	raisedAt      time.Time

	moreUrgent bool // than the row that it replaces; not stored
}

// key identifies a row.
func (r *row) key() string { return string(r.item.Tenant) + "\x00" + r.item.ID }

// equals reports whether two rows are stored alike.
func (r *row) equals(other *row) bool {
	a, b := *r, *other
	sameSince := a.item.Since.Equal(b.item.Since) && a.raisedAt.Equal(b.raisedAt)
	a.item.Since, b.item.Since, a.raisedAt, b.raisedAt, a.moreUrgent, b.moreUrgent = time.Time{}, time.Time{}, time.Time{}, time.Time{}, false, false
	return sameSince && a == b
}

const rowColumns = `tenant_id, id, scope, source, owner, server, item, raised_at`

// readScope reads the rows of one scope.
func readScope(ctx context.Context, db store.Database, scope string) ([]row, error) {
	return queryRows(ctx, db, `SELECT `+rowColumns+` FROM attention_items WHERE scope = ?`, scope)
}

// readAll reads the rows of all scopes.
func readAll(ctx context.Context, db store.Database) ([]row, error) {
	return queryRows(ctx, db, `SELECT `+rowColumns+` FROM attention_items`)
}

// queryRows reads the rows of a query that selects rowColumns.
func queryRows(ctx context.Context, db store.Database, query string, args ...any) (out []row, err error) {
	rows, err := db.Read.QueryContext(ctx, db.Dialect.Bind(query), args...)
	if err != nil {
		return nil, db.Fail(ctx, err, "read what needs attention")
	}
	defer rows.Close() // rows.Err reports errors
	for rows.Next() {
		r, err := scanRow(rows)
		if err != nil {
			return nil, db.Fail(ctx, err, "read what needs attention")
		}
		out = append(out, r)
	}
	if err := rows.Err(); err != nil {
		return nil, db.Fail(ctx, err, "read what needs attention")
	}
	return out, nil
}

// scanRow reads rowColumns.
func scanRow(rows *sql.Rows) (r row, err error) {
	var tenant, id, text string
	var raised int64
	if err := rows.Scan(&tenant, &id, &r.scope, &r.source, &r.owner, &r.server, &text, &raised); err != nil {
		return r, err
	}
	if err := json.Unmarshal([]byte(text), &r.item); err != nil {
		return r, fmt.Errorf("the item %s: %w", id, err)
	}
	r.item.Tenant, r.item.ID, r.raisedAt = junctor.TenantID(tenant), id, time.UnixMicro(raised).UTC()
	return r, nil
}

// insertRow stores a new row. It changes nothing if the row is stored already.
func insertRow(ctx context.Context, tx Transaction, r *row) (bool, error) {
	text, err := json.Marshal(r.item)
	if err != nil {
		return false, err
	}
	n, err := tx.Exec(ctx, `INSERT INTO attention_items (`+rowColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (tenant_id, id) DO NOTHING`,
		string(r.item.Tenant), r.item.ID, r.scope, r.source, r.owner, r.server, string(text), r.raisedAt.UnixMicro())
	return n > 0, err
}

// updateRow stores the text of a row, unless the row was cleared meanwhile.
func updateRow(ctx context.Context, tx Transaction, r *row) (bool, error) {
	text, err := json.Marshal(r.item)
	if err != nil {
		return false, err
	}
	n, err := tx.Exec(ctx, `UPDATE attention_items SET source = ?, owner = ?, server = ?, item = ? WHERE tenant_id = ? AND id = ? AND raised_at = ? AND item <> ?`,
		r.source, r.owner, r.server, string(text), string(r.item.Tenant), r.item.ID, r.raisedAt.UnixMicro(), string(text))
	return n > 0, err
}

// deleteRow removes a row, unless it was raised again meanwhile.
func deleteRow(ctx context.Context, tx Transaction, r *row) (bool, error) {
	n, err := tx.Exec(ctx, `DELETE FROM attention_items WHERE tenant_id = ? AND id = ? AND raised_at = ?`, string(r.item.Tenant), r.item.ID, r.raisedAt.UnixMicro())
	return n > 0, err
}

// noteCheck stores when a scope was looked through.
func noteCheck(ctx context.Context, db store.Database, scope string, now time.Time) error {
	_, err := db.Write.ExecContext(ctx, db.Dialect.Bind(`INSERT INTO attention_checks (scope, checked_at) VALUES (?, ?)
		ON CONFLICT (scope) DO UPDATE SET checked_at = excluded.checked_at`), scope, now.UnixMicro())
	if err != nil {
		return db.Fail(ctx, err, "store when was looked for what needs attention")
	}
	return nil
}

// readChecks returns when each scope was looked through last.
func readChecks(ctx context.Context, db store.Database) (map[string]time.Time, error) {
	rows, err := db.Read.QueryContext(ctx, `SELECT scope, checked_at FROM attention_checks`)
	if err != nil {
		return nil, db.Fail(ctx, err, "read when was looked for what needs attention")
	}
	defer rows.Close() // rows.Err reports errors
	out := map[string]time.Time{}
	for rows.Next() {
		var scope string
		var at int64
		if err := rows.Scan(&scope, &at); err != nil {
			return nil, db.Fail(ctx, err, "read when was looked for what needs attention")
		}
		out[scope] = time.UnixMicro(at).UTC()
	}
	if err := rows.Err(); err != nil {
		return nil, db.Fail(ctx, err, "read when was looked for what needs attention")
	}
	return out, nil
}

// forgetCheck removes a scope that nobody looks through any more.
func forgetCheck(ctx context.Context, db store.Database, scope string) error {
	if _, err := db.Write.ExecContext(ctx, db.Dialect.Bind(`DELETE FROM attention_checks WHERE scope = ?`), scope); err != nil {
		return db.Fail(ctx, err, "forget a former replica")
	}
	return nil
}
