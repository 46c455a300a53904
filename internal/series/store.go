package series

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/sketch"
	"github.com/junctor-mcp/junctor/internal/store"
)

// keyColumns identify a row, in the order of rowKey.
const keyColumns = "tenant_id, step, begins, dimension, first_key, second_key"

const keyTypes = "tiittt"

// rowsPerStatement bounds a statement: as many rows as are written within a few
// milliseconds.
const rowsPerStatement = 200

// errOvertaken says that the position in the database is not the one that the sums continue.
// An earlier attempt was stored although its answer was lost, or another process has the
// journal.
var errOvertaken = errors.New("the stored position of the series has moved")

func compareRows(a, b rowKey) int {
	return cmp.Or(cmp.Compare(a.tenant, b.tenant), cmp.Compare(a.step, b.step), cmp.Compare(a.begin, b.begin), cmp.Compare(a.By, b.By),
		cmp.Compare(a.First, b.First), cmp.Compare(a.Second, b.Second))
}

// values returns the columns of a key.
func (k *rowKey) values() []any {
	return []any{string(k.tenant), int64(time.Duration(k.step) / time.Second), k.begin, string(k.By), k.First, k.Second}
}

// readPosition returns the number of the last record whose call the sums have; 0 for none.
func readPosition(ctx context.Context, db store.Database, replica string) (uint64, error) {
	var seq int64
	err := db.Read.QueryRowContext(ctx, db.Dialect.Bind(`SELECT seq FROM series_positions WHERE replica = ?`), replica).Scan(&seq)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return uint64(seq), err //nolint:gosec // only numbers of records are stored
}

// storeTally adds the sums of a tally to the database, and moves the position from one record
// to another. All of it happens, or nothing.
func storeTally(ctx context.Context, db store.Database, t *tally, replica string, from, to uint64) error {
	return db.Durably(ctx, func(tx *sql.Tx) error {
		if err := movePosition(ctx, tx, db.Dialect, replica, from, to); err != nil {
			return err
		}
		rows := t.sortedRows()
		for len(rows) > 0 {
			n := min(len(rows), rowsPerStatement)
			if err := addRows(ctx, tx, db.Dialect, t, rows[:n]); err != nil {
				return err
			}
			rows = rows[n:]
		}
		return nil
	})
}

func movePosition(ctx context.Context, tx *sql.Tx, dialect store.Dialect, replica string, from, to uint64) error {
	query, args := `UPDATE series_positions SET seq = ? WHERE replica = ? AND seq = ?`, []any{int64(to), replica, int64(from)} //nolint:gosec // numbers of records
	if from == 0 {
		query = `INSERT INTO series_positions (seq, replica) VALUES (?, ?) ON CONFLICT (replica) DO NOTHING`
		args = args[:2]
	}
	done, err := tx.ExecContext(ctx, dialect.Bind(query), args...)
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, errOvertaken)
	}
	return nil
}

// addRows adds the counts of rows, and then stores their durations merged with those that
// the database had. The first statement locks the rows, so no other replica changes them in
// between.
func addRows(ctx context.Context, tx *sql.Tx, dialect store.Dialect, t *tally, rows []rowKey) error {
	list := make([][]any, len(rows))
	for i := range rows {
		values := rows[i].values()
		for _, n := range t.rows[rows[i]].Counts() {
			values = append(values, n)
		}
		list[i] = values
	}
	text, err := json.Marshal(list)
	if err != nil {
		return fmt.Errorf("encode the rows of the series: %w", err)
	}
	stored, err := addCounts(ctx, tx, dialect, string(text))
	if err != nil {
		return err
	}
	merged := make([][]any, 0, len(rows))
	for i := range rows {
		own := &t.rows[rows[i]].durations
		if own.Count() == 0 {
			continue
		}
		sum, err := decodeSketch(stored[rows[i]])
		if err != nil {
			return fmt.Errorf("durations of %v: %w", rows[i], err)
		}
		sum.Merge(own)
		merged = append(merged, append(rows[i].values(), encodeSketch(sum)))
	}
	if text, err = json.Marshal(merged); err != nil {
		return fmt.Errorf("encode the durations of the series: %w", err)
	}
	_, err = tx.ExecContext(ctx, dialect.Bind(durationsQuery(dialect)), string(text))
	return err
}

// addCounts runs the statement that adds counts, and returns the durations that the rows had.
func addCounts(ctx context.Context, tx *sql.Tx, dialect store.Dialect, list string) (map[rowKey]string, error) {
	rows, err := tx.QueryContext(ctx, dialect.Bind(countsQuery(dialect)), list)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	stored := map[rowKey]string{}
	for rows.Next() {
		var k rowKey
		var tenant, by, durations string
		var seconds int64
		if err := rows.Scan(&tenant, &seconds, &k.begin, &by, &k.First, &k.Second, &durations); err != nil {
			return nil, err
		}
		k.tenant, k.By, k.step = junctor.TenantID(tenant), Dimension(by), Step(time.Duration(seconds)*time.Second)
		stored[k] = durations
	}
	return stored, rows.Err()
}

func countsQuery(dialect store.Dialect) string {
	add := make([]string, 0, len(columns()))
	for _, c := range columns() {
		add = append(add, c+" = series."+c+" + excluded."+c)
	}
	return `INSERT INTO series (` + keyColumns + `, ` + strings.Join(columns(), ", ") + `, durations)
		SELECT own.*, '' FROM (` + dialect.SelectRows(keyTypes+strings.Repeat("i", len(columns()))) + `) AS own WHERE true
		ON CONFLICT (` + keyColumns + `) DO UPDATE SET ` + strings.Join(add, ", ") + ` RETURNING ` + keyColumns + `, durations`
}

func durationsQuery(dialect store.Dialect) string {
	conds := strings.Split(keyColumns, ", ")
	for i, column := range conds {
		conds[i] = "series." + column + " = own." + column
	}
	return `WITH own (` + keyColumns + `, durations) AS (` + dialect.SelectRows(keyTypes+"t") + `)
		UPDATE series SET durations = own.durations FROM own WHERE ` + strings.Join(conds, " AND ")
}

// pruneRows removes the sums that are no longer kept.
func pruneRows(ctx context.Context, db store.Database, now time.Time) error {
	for _, step := range Steps() {
		if step.keep() == 0 {
			continue
		}
		_, err := db.Write.ExecContext(ctx, db.Dialect.Bind(`DELETE FROM series WHERE step = ? AND begins < ?`),
			int64(time.Duration(step)/time.Second), now.Add(-step.keep()).Unix())
		if err != nil {
			return db.Fail(ctx, err, "remove old sums of calls")
		}
	}
	return nil
}

func encodeSketch(s *sketch.Sketch) string {
	return base64.RawStdEncoding.EncodeToString(s.AppendBinary(nil))
}

func decodeSketch(text string) (*sketch.Sketch, error) {
	s := &sketch.Sketch{}
	if text == "" {
		return s, nil
	}
	data, err := base64.RawStdEncoding.DecodeString(text)
	if err == nil {
		err = s.Decode(data)
	}
	return s, err
}
