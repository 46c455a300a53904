package postgres

import (
	"fmt"
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

// Zip implements store.Dialect: a column is an array. Behind a SELECT the planner
// does not see how many elements it has and expects few, so that it looks up the
// rows of a table that they are joined with, and never reads it whole.
func (dialect) Zip(columns ...any) (string, []any, error) {
	var b strings.Builder
	b.WriteString("SELECT * FROM unnest(")
	for i, column := range columns {
		if i > 0 {
			b.WriteString(", ")
		}
		switch column.(type) {
		case []string:
			b.WriteString("(SELECT ?::text[])")
		case []int64:
			b.WriteString("(SELECT ?::bigint[])")
		default:
			return "", nil, fmt.Errorf("a column of %T cannot be sent", column)
		}
	}
	return b.String() + ") AS t", columns, nil
}
