package store

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// Raw is a database as tables and rows, whatever its schema's version: for what
// copies it whole. Drivers make it.
type Raw struct {
	Database
	Engine string
	Schema Schema
	// Catalog is a query that gives table, column, and the column's place in
	// the primary key or 0, of all tables: in the order in which they were made.
	Catalog string
	// Isolation is what a read needs to see one moment of all tables.
	Isolation sql.IsolationLevel
	// Absent says that there is no database yet, and Make makes an empty one;
	// both may be nil where it is always there.
	Absent func() bool
	Make   func() error
}

// Version is the version of the schema; 0 where there is none.
func (r *Raw) Version(ctx context.Context) (int64, error) {
	if r.Absent != nil && r.Absent() {
		return 0, nil
	}
	if v := r.Schema.version(ctx, r.Read); v > 0 {
		return v, nil
	}
	if err := r.Read.PingContext(ctx); err != nil {
		return 0, r.fail(ctx, err, "open the database")
	}
	return 0, nil
}

// MigrateTo brings the schema to a version, making the database where there is
// none; 0 is the newest. Conflict when it is beyond that, or there is no such
// version yet.
func (r *Raw) MigrateTo(ctx context.Context, version int64) error {
	newest, err := r.Schema.newest()
	if err != nil {
		return r.fail(ctx, err, "read the migrations")
	}
	if version > newest {
		return junctor.Errorf(junctor.CodeConflict, "this is of schema version %d, and this Junctor knows %d at most: use a newer Junctor", version, newest)
	}
	if version == 0 {
		version = newest
	}
	if r.Make != nil {
		if err := r.Make(); err != nil {
			return junctor.Errorf(junctor.CodeUnavailable, "the database cannot be made; the log says why: %w", err)
		}
	}
	if err := r.Schema.migrate(ctx, r.Write, r.Dialect, version); err != nil {
		return r.fail(ctx, err, "make the tables")
	}
	return nil
}

// Snapshot begins a transaction that sees one moment of the database, and keeps
// nobody waiting.
func (r *Raw) Snapshot(ctx context.Context) (*sql.Tx, error) {
	tx, err := r.Read.BeginTx(ctx, &sql.TxOptions{Isolation: r.Isolation, ReadOnly: true})
	if err != nil {
		return nil, r.fail(ctx, err, "read the database")
	}
	return tx, nil
}

// Begin begins a transaction that writes.
func (r *Raw) Begin(ctx context.Context) (*sql.Tx, error) {
	tx, err := r.Write.BeginTx(ctx, nil)
	if err != nil {
		return nil, r.fail(ctx, err, "write the database")
	}
	return tx, nil
}

// Tables lists the tables.
func (r *Raw) Tables(ctx context.Context, tx *sql.Tx) ([]string, error) {
	tables, err := r.tables(ctx, tx)
	if err != nil {
		return nil, r.fail(ctx, err, "list the tables")
	}
	names := make([]string, len(tables))
	for i, t := range tables {
		names[i] = t.name
	}
	return names, nil
}

// Rows reads a table in the order of its primary key.
func (r *Raw) Rows(ctx context.Context, tx *sql.Tx, name string) (*sql.Rows, error) {
	t, err := r.table(ctx, tx, name)
	if err != nil {
		return nil, r.fail(ctx, err, "read the table %s", name)
	}
	rows, err := tx.QueryContext(ctx, `SELECT `+strings.Join(t.columns, ", ")+` FROM `+t.name+` ORDER BY `+strings.Join(t.key, ", ")) //nolint:gosec // names from the catalog
	if err != nil {
		return nil, r.fail(ctx, err, "read the table %s", name)
	}
	return rows, nil
}

// Clear empties all tables and lists them, each after those it refers to. It is
// for a database that migrations have made: only there is that order known.
func (r *Raw) Clear(ctx context.Context, tx *sql.Tx) ([]string, error) {
	tables, err := r.Tables(ctx, tx)
	if err != nil {
		return nil, err
	}
	for _, t := range slices.Backward(tables) {
		if _, err := tx.ExecContext(ctx, `DELETE FROM `+t); err != nil { //nolint:gosec // names from the catalog
			return nil, r.fail(ctx, err, "empty the table %s", t)
		}
	}
	return tables, nil
}

// Fill adds rows to a table, with values in the order of columns: int64,
// string, []byte or nil. Invalid where the table or a column is not there.
func (r *Raw) Fill(ctx context.Context, tx *sql.Tx, name string, columns []string, rows iter.Seq2[[]any, error]) error {
	t, err := r.table(ctx, tx, name)
	if err != nil {
		return r.fail(ctx, err, "fill the table %s", name)
	}
	for _, c := range columns {
		if !slices.Contains(t.columns, c) {
			return junctor.Errorf(junctor.CodeInvalid, "the table %s has no column %q", name, c)
		}
	}
	if len(columns) == 0 {
		return junctor.Errorf(junctor.CodeInvalid, "no columns for the table %s", name)
	}
	const most = 64
	var args []any
	flush := func() error {
		for n := len(args) / len(columns); n > 0; n = len(args) / len(columns) {
			n = chunk(n, most)
			_, err := tx.ExecContext(ctx, r.Dialect.Bind(`INSERT INTO `+t.name+` (`+strings.Join(columns, ", ")+`) VALUES `+rowsOf(len(columns), n)), args[:n*len(columns)]...)
			if err != nil {
				return r.fail(ctx, err, "fill the table %s", name)
			}
			args = args[n*len(columns):]
		}
		return nil
	}
	for row, err := range rows {
		if err != nil {
			return err
		}
		if len(row) != len(columns) {
			return junctor.Errorf(junctor.CodeInvalid, "a row of the table %s has %d values instead of %d", name, len(row), len(columns))
		}
		if args = append(args, row...); len(args) >= most*len(columns) {
			if err := flush(); err != nil {
				return err
			}
			args = args[:0]
		}
	}
	return flush()
}

// Close ends all use of the database.
func (r *Raw) Close() error {
	return (&Store{write: r.Write, read: r.Read, dialect: r.Dialect}).Close()
}

func (r *Raw) fail(ctx context.Context, err error, doing string, args ...any) error {
	return (&Store{dialect: r.Dialect}).fail(ctx, err, doing, args...)
}

type table struct {
	name         string
	columns, key []string
}

func (r *Raw) table(ctx context.Context, tx *sql.Tx, name string) (table, error) {
	tables, err := r.tables(ctx, tx)
	if err != nil {
		return table{}, err
	}
	for _, t := range tables {
		if t.name == name {
			return t, nil
		}
	}
	return table{}, junctor.Errorf(junctor.CodeInvalid, "there is no table %q", name)
}

// tables reads the catalog. The tables of the history have a prefix, as they
// may lie in the store's database.
func (r *Raw) tables(ctx context.Context, tx *sql.Tx) ([]table, error) {
	rows, err := tx.QueryContext(ctx, r.Catalog)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []table
	for rows.Next() {
		var name, column string
		var key int
		if err := rows.Scan(&name, &column, &key); err != nil {
			return nil, err
		}
		history := strings.HasPrefix(name, "history_")
		if name == VersionTable || name == HistoryVersionTable || history != (r.Schema.Table == HistoryVersionTable) {
			continue
		}
		if len(list) == 0 || list[len(list)-1].name != name {
			list = append(list, table{name: name})
		}
		t := &list[len(list)-1]
		t.columns = append(t.columns, column)
		for len(t.key) < key {
			t.key = append(t.key, "")
		}
		if key > 0 {
			t.key[key-1] = column
		}
	}
	for _, t := range list {
		if len(t.key) == 0 {
			return nil, fmt.Errorf("the table %s has no primary key", t.name)
		}
	}
	return list, rows.Err()
}
