package sqlite

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// SelectRows implements store.Dialect. Without the WHERE, SQLite would read an
// ON CONFLICT behind it as a join. Without the LIMIT it would take the inner
// SELECT into the outer, and make the text of a row again for every column.
func (dialect) SelectRows(columns string) string {
	var b strings.Builder
	b.WriteString("SELECT ")
	for i := range columns {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("json_extract(r, '$[" + strconv.Itoa(i) + "]')")
	}
	return b.String() + " FROM (SELECT value AS r FROM jsonb_each(?) LIMIT -1 OFFSET 0) WHERE true"
}

// Zip implements store.Dialect, by way of SelectRows.
func (d dialect) Zip(columns ...any) (string, []any, error) {
	var rows [][]any
	var kinds strings.Builder
	for i, column := range columns {
		put := func(row int, value any) {
			if row == len(rows) {
				rows = append(rows, make([]any, len(columns)))
			}
			rows[row][i] = value
		}
		switch column := column.(type) {
		case []string:
			kinds.WriteByte('t')
			for row, value := range column {
				put(row, value)
			}
		case []int64:
			kinds.WriteByte('i')
			for row, value := range column {
				put(row, value)
			}
		default:
			return "", nil, fmt.Errorf("a column of %T cannot be sent", column)
		}
	}
	text, err := json.Marshal(rows)
	return d.SelectRows(kinds.String()), []any{string(text)}, err
}
