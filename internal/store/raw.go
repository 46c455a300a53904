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

// Raw is a database as tables and rows, whatever the version of its schema. Backup and
// restore use it to copy a database whole. Drivers make it.
type Raw struct {
	Database
	Engine string
	Schema Schema
	// Catalog is a query that returns table, column, and the column's position in the
	// primary key or 0, of all tables in the order in which they were created.
	Catalog string
	// Isolation is the isolation level at which a transaction sees one moment of all
	// tables.
	Isolation sql.IsolationLevel
	// Absent reports that there is no database yet, and Make creates an empty one. Both
	// are nil for an engine where the database always exists.
	Absent func() bool
	Make   func() error
}

// Version returns the version of the schema; 0 if there is none.
func (r *Raw) Version(ctx context.Context) (int64, error) {
	if r.Absent != nil && r.Absent() {
		return 0, nil
	}
	if v := r.Schema.readVersion(ctx, r.Read); v > 0 {
		return v, nil
	}
	if err := r.Read.PingContext(ctx); err != nil {
		return 0, r.wrapError(ctx, err, "open the database")
	}
	return 0, nil
}

// MigrateTo brings the schema to a version, and creates the database if there is none; 0
// means the newest version. It is a conflict if the database is newer, or this program
// does not know the version.
func (r *Raw) MigrateTo(ctx context.Context, version int64) error {
	newest, err := r.Schema.newestVersion()
	if err != nil {
		return r.wrapError(ctx, err, "read the migrations")
	}
	if version > newest {
		return junctor.Errorf(junctor.CodeConflict, "this backup has schema version %d, but this Junctor supports at most %d; use a newer Junctor", version, newest)
	}
	if version == 0 {
		version = newest
	}
	if r.Make != nil {
		if err := r.Make(); err != nil {
			return junctor.Errorf(junctor.CodeUnavailable, "cannot create the database: %w", err)
		}
	}
	if err := r.Schema.migrateTo(ctx, r.Write, r.Dialect, version); err != nil {
		return r.wrapError(ctx, err, "create the tables")
	}
	return nil
}

// Snapshot begins a read-only transaction that sees one moment of the database and blocks
// nobody. The caller has to end it.
func (r *Raw) Snapshot(ctx context.Context) (*sql.Tx, error) {
	tx, err := r.Read.BeginTx(ctx, &sql.TxOptions{Isolation: r.Isolation, ReadOnly: true})
	if err != nil {
		return nil, r.wrapError(ctx, err, "read the database")
	}
	return tx, nil
}

// Begin begins a transaction that writes. The caller has to end it.
func (r *Raw) Begin(ctx context.Context) (*sql.Tx, error) {
	tx, err := r.Write.BeginTx(ctx, nil)
	if err != nil {
		return nil, r.wrapError(ctx, err, "write the database")
	}
	return tx, nil
}

// Tables lists the names of the tables, in the order in which they were created.
func (r *Raw) Tables(ctx context.Context, tx *sql.Tx) ([]string, error) {
	tables, err := r.readTables(ctx, tx)
	if err != nil {
		return nil, r.wrapError(ctx, err, "list the tables")
	}
	names := make([]string, len(tables))
	for i, t := range tables {
		names[i] = t.name
	}
	return names, nil
}

// Rows reads a table in the order of its primary key. The caller has to close the rows.
func (r *Raw) Rows(ctx context.Context, tx *sql.Tx, name string) (*sql.Rows, error) {
	t, err := r.findTable(ctx, tx, name)
	if err != nil {
		return nil, r.wrapError(ctx, err, "read the table %s", name)
	}
	rows, err := tx.QueryContext(ctx, `SELECT `+strings.Join(t.columns, ", ")+` FROM `+t.name+` ORDER BY `+strings.Join(t.key, ", ")) //nolint:gosec // names from the catalog
	if err != nil {
		return nil, r.wrapError(ctx, err, "read the table %s", name)
	}
	return rows, nil
}

// Clear empties all tables and lists them, each after those it refers to. It is only for a
// database that migrations have made, where the order of creation is the order of
// references.
func (r *Raw) Clear(ctx context.Context, tx *sql.Tx) ([]string, error) {
	tables, err := r.Tables(ctx, tx)
	if err != nil {
		return nil, err
	}
	for _, t := range slices.Backward(tables) {
		if _, err := tx.ExecContext(ctx, `DELETE FROM `+t); err != nil { //nolint:gosec // names from the catalog
			return nil, r.wrapError(ctx, err, "empty the table %s", t)
		}
	}
	return tables, nil
}

// Fill inserts rows into a table. Values are int64, string, []byte or nil, in the order of
// columns. It is invalid if the table or a column does not exist. An error of the sequence
// ends it and is returned.
func (r *Raw) Fill(ctx context.Context, tx *sql.Tx, name string, columns []string, rows iter.Seq2[[]any, error]) error {
	t, err := r.findTable(ctx, tx, name)
	if err != nil {
		return r.wrapError(ctx, err, "fill the table %s", name)
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
			n = chunkSize(n, most)
			_, err := tx.ExecContext(ctx, r.Dialect.Bind(`INSERT INTO `+t.name+` (`+strings.Join(columns, ", ")+`) VALUES `+valuesClause(len(columns), n)), args[:n*len(columns)]...)
			if err != nil {
				return r.wrapError(ctx, err, "fill the table %s", name)
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

// Close closes all connections.
func (r *Raw) Close() error {
	return (&Store{write: r.Write, read: r.Read, dialect: r.Dialect}).Close()
}

// wrapError is Store.wrapError for a database without a Store.
func (r *Raw) wrapError(ctx context.Context, err error, doing string, args ...any) error {
	return (&Store{dialect: r.Dialect}).wrapError(ctx, err, doing, args...)
}

// tableInfo is a table with its columns, and those of its primary key in their order.
type tableInfo struct {
	name         string
	columns, key []string
}

// findTable returns one table; invalid if there is none. Names are checked here because
// they become part of statements.
func (r *Raw) findTable(ctx context.Context, tx *sql.Tx, name string) (tableInfo, error) {
	tables, err := r.readTables(ctx, tx)
	if err != nil {
		return tableInfo{}, err
	}
	for _, t := range tables {
		if t.name == name {
			return t, nil
		}
	}
	return tableInfo{}, junctor.Errorf(junctor.CodeInvalid, "there is no table %q", name)
}

// readTables reads the catalog. It returns the tables of the store or those of the call
// history, whose names have a prefix: the two may be in one database. It leaves out the
// tables of goose.
func (r *Raw) readTables(ctx context.Context, tx *sql.Tx) ([]tableInfo, error) {
	rows, err := tx.QueryContext(ctx, r.Catalog)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []tableInfo
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
			list = append(list, tableInfo{name: name})
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
