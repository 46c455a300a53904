package series

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/sketch"
	"github.com/junctor-mcp/junctor/internal/store"
)

// table is a table of sums whose rows have keys of type K.
type table[K comparable] struct {
	name       string
	keyColumns string
	keyTypes   string // of the key columns, for Dialect.SelectRows
	// The columns of the counts, a beginning of countColumns.
	counts []string
	// The columns of a key, as arguments and to scan into.
	values  func(k *K) []any
	into    func(k *K) []any
	compare func(a, b K) int
}

// seriesTable returns the table of the rows of a tally.
func seriesTable() table[rowKey] {
	return table[rowKey]{
		name: "series", keyColumns: "tenant_id, step, begins, dimension, first_key, second_key", keyTypes: "tiittt", counts: countColumns(),
		values: func(k *rowKey) []any {
			return []any{string(k.tenant), int64(k.step), k.begin, string(k.By), k.First, k.Second}
		},
		into: func(k *rowKey) []any { return []any{&k.tenant, &k.step, &k.begin, &k.By, &k.First, &k.Second} },
		compare: func(a, b rowKey) int {
			return cmp.Or(cmp.Compare(a.tenant, b.tenant), cmp.Compare(a.step, b.step), cmp.Compare(a.begin, b.begin), cmp.Compare(a.By, b.By),
				cmp.Compare(a.First, b.First), cmp.Compare(a.Second, b.Second))
		},
	}
}

// rowsPerStatement bounds a statement: as many rows as are written within a few
// milliseconds.
const rowsPerStatement = 200

// errOvertaken says that the position in the database is not the one that the sums continue.
// An earlier attempt was stored although its answer was lost, or another process has the
// journal.
var errOvertaken = errors.New("the stored position of the series has moved")

// readPosition returns the number of the last record whose call the sums have; 0 for none.
func readPosition(ctx context.Context, db store.Database, replica string) (uint64, error) {
	var seq int64
	err := db.Read.QueryRowContext(ctx, db.Dialect.Bind(`SELECT seq FROM series_positions WHERE replica = ?`), replica).Scan(&seq)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return uint64(seq), err //nolint:gosec // only numbers of records are stored
}

// readNewestMinute returns the series that have calls in the newest minute that is stored,
// so that a start does not begin to count them again.
func readNewestMinute(ctx context.Context, db store.Database) (minuteSeries, error) {
	minute := minuteSeries{known: knownKeys[Key]{}, usage: knownKeys[usageKey]{}}
	rows, err := db.Read.QueryContext(ctx, db.Dialect.Bind(`SELECT tenant_id, begins, dimension, first_key, second_key FROM series
		WHERE step = ? AND begins = (SELECT MAX(begins) FROM series WHERE step = ?)`), int64(Minute), int64(Minute))
	if err != nil {
		return minute, err
	}
	defer rows.Close()
	for rows.Next() {
		var tenant junctor.TenantID
		var key Key
		if err := rows.Scan(&tenant, &minute.begin, &key.By, &key.First, &key.Second); err != nil {
			return minute, err
		}
		if key != otherKey(key.By) {
			minute.known.admit(tenant, key)
		}
	}
	return minute, rows.Err()
}

// storeTally adds the sums of a tally to the database, and moves the position from one record
// to another. All of it happens, or nothing.
func storeTally(ctx context.Context, db store.Database, t *tally, replica string, from, to uint64) error {
	return db.Durably(ctx, func(tx *sql.Tx) error {
		if err := movePosition(ctx, tx, db.Dialect, replica, from, to); err != nil {
			return err
		}
		if err := addTable(ctx, tx, db.Dialect, seriesTable(), t.rows); err != nil {
			return err
		}
		return addTable(ctx, tx, db.Dialect, usageTable(), t.usage)
	})
}

// addTable adds sums to the rows of a table. All replicas write rows in one order: two that
// lock the same rows in different orders could deadlock.
func addTable[K comparable](ctx context.Context, tx *sql.Tx, dialect store.Dialect, of table[K], sums map[K]*Sums) error {
	rows := slices.SortedFunc(maps.Keys(sums), of.compare)
	for some := range slices.Chunk(rows, rowsPerStatement) {
		if err := of.addRows(ctx, tx, dialect, sums, some); err != nil {
			return err
		}
	}
	return nil
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
func (of *table[K]) addRows(ctx context.Context, tx *sql.Tx, dialect store.Dialect, sums map[K]*Sums, rows []K) error {
	list := make([][]any, len(rows))
	for i := range rows {
		values := of.values(&rows[i])
		counts := sums[rows[i]].Counts()
		for k := range of.counts {
			values = append(values, counts[k])
		}
		list[i] = values
	}
	text, err := json.Marshal(list)
	if err != nil {
		return fmt.Errorf("encode the rows of the series: %w", err)
	}
	stored, err := of.addCounts(ctx, tx, dialect, string(text))
	if err != nil {
		return err
	}
	merged := make([][]any, 0, len(rows))
	for i := range rows {
		own := &sums[rows[i]].durations
		if own.Count() == 0 {
			continue
		}
		sum, err := decodeSketch(stored[rows[i]])
		if err != nil {
			return fmt.Errorf("durations of %v: %w", rows[i], err)
		}
		sum.Merge(own)
		merged = append(merged, append(of.values(&rows[i]), encodeSketch(sum)))
	}
	if text, err = json.Marshal(merged); err != nil {
		return fmt.Errorf("encode the durations of the series: %w", err)
	}
	_, err = tx.ExecContext(ctx, dialect.Bind(of.durationsQuery(dialect)), string(text))
	return err
}

// addCounts runs the statement that adds counts, and returns the durations that the rows had.
func (of *table[K]) addCounts(ctx context.Context, tx *sql.Tx, dialect store.Dialect, list string) (map[K]string, error) {
	rows, err := tx.QueryContext(ctx, dialect.Bind(of.countsQuery(dialect)), list)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	stored := map[K]string{}
	for rows.Next() {
		var key K
		var durations string
		if err := rows.Scan(append(of.into(&key), &durations)...); err != nil {
			return nil, err
		}
		stored[key] = durations
	}
	return stored, rows.Err()
}

// countsQuery returns the statement that adds counts to rows, or inserts them.
func (of *table[K]) countsQuery(dialect store.Dialect) string {
	add := make([]string, 0, len(of.counts))
	for _, c := range of.counts {
		add = append(add, c+" = "+of.name+"."+c+" + excluded."+c)
	}
	return `INSERT INTO ` + of.name + ` (` + of.keyColumns + `, ` + strings.Join(of.counts, ", ") + `, durations)
		SELECT own.*, '' FROM (` + dialect.SelectRows(of.keyTypes+strings.Repeat("i", len(of.counts))) + `) AS own WHERE true
		ON CONFLICT (` + of.keyColumns + `) DO UPDATE SET ` + strings.Join(add, ", ") + ` RETURNING ` + of.keyColumns + `, durations`
}

// durationsQuery returns the statement that replaces the durations of rows.
func (of *table[K]) durationsQuery(dialect store.Dialect) string {
	conds := strings.Split(of.keyColumns, ", ")
	for i, column := range conds {
		conds[i] = of.name + "." + column + " = own." + column
	}
	return `WITH own (` + of.keyColumns + `, durations) AS (` + dialect.SelectRows(of.keyTypes+"t") + `)
		UPDATE ` + of.name + ` SET durations = own.durations FROM own WHERE ` + strings.Join(conds, " AND ")
}

// pruneRows removes the sums that are no longer kept.
func pruneRows(ctx context.Context, db store.Database, now time.Time) error {
	for _, step := range Steps() {
		if step.keepFor() == 0 {
			continue
		}
		_, err := db.Write.ExecContext(ctx, db.Dialect.Bind(`DELETE FROM series WHERE step = ? AND begins < ?`),
			int64(step), now.Add(-step.keepFor()).Unix())
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
