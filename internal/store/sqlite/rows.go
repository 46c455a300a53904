package sqlite

import (
	"strconv"
	"strings"
)

// SelectRows implements store.Dialect. Without the WHERE, SQLite would read an
// ON CONFLICT behind it as a join.
func (dialect) SelectRows(columns string) string {
	var b strings.Builder
	b.WriteString("SELECT ")
	for i := range columns {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("json_extract(value, '$[" + strconv.Itoa(i) + "]')")
	}
	return b.String() + " FROM json_each(?) WHERE true"
}
