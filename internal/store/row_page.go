package store

import (
	"context"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// pagedRows says which rows of a table a list has, and what it orders and searches them by.
type pagedRows struct {
	columns, table string
	where          []string
	args           []any
	order          string // the column of the order; its values are unique in the list, unless there is a tie
	tie            string // the column that orders rows with equal values of order; "" if there are none
	after          []any  // the values of order and tie in the last row of the previous page; nil for the first page
	text           string // the lower-case text that words are searched in
}

// readPage reads a page of rows, with one more row if there is another page, and counts
// the rows of all pages.
func readPage[T any](ctx context.Context, s *Store, scan func(scanner) (T, error), r pagedRows, page *junctor.RowPage) ([]T, junctor.RowTotal, error) {
	for _, pattern := range page.LikePatterns() {
		r.where, r.args = append(r.where, r.text+` LIKE ? ESCAPE '!'`), append(r.args, pattern)
	}
	count := func(row scanner) (n int, err error) { return n, row.Scan(&n) }
	n, err := readOne(ctx, s, count, `SELECT COUNT(*) FROM (SELECT 1 AS one FROM `+r.table+` WHERE `+strings.Join(r.where, ` AND `)+` LIMIT ?) AS counted`,
		append(slices.Clip(r.args), junctor.MaxCounted+1)...)
	total := junctor.NewRowTotal(n)
	if err != nil || page.Limit == 0 {
		return nil, total, err
	}
	before, direction := ` < `, ` DESC`
	if page.Ascending {
		before, direction = ` > `, ``
	}
	keys, places := []string{r.order}, `?`
	if r.tie != "" {
		keys, places = append(keys, r.tie), `?, ?`
	}
	if r.after != nil {
		r.where, r.args = append(r.where, `(`+strings.Join(keys, `, `)+`)`+before+`(`+places+`)`), append(r.args, r.after...)
	}
	list, err := readAll(ctx, s, scan, `SELECT `+r.columns+` FROM `+r.table+` WHERE `+strings.Join(r.where, ` AND `)+` ORDER BY `+strings.Join(keys, direction+`, `)+direction+` LIMIT ?`,
		append(r.args, page.Limit+1)...)
	return list, total, err
}
