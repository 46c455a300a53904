package postgres

import (
	"strconv"
	"strings"
)

// SelectRows implements store.Dialect. In a jsonb every column is found without
// reading the row anew.
func (dialect) SelectRows(columns string) string {
	var b strings.Builder
	b.WriteString("SELECT ")
	for i, kind := range columns {
		if i > 0 {
			b.WriteString(", ")
		}
		column := "r->>" + strconv.Itoa(i)
		if kind == 'i' {
			column = "(" + column + ")::bigint"
		}
		b.WriteString(column)
	}
	return b.String() + " FROM jsonb_array_elements(?::jsonb) AS t(r) WHERE true"
}
