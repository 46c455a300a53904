package sqlite

import (
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
