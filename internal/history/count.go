package history

import (
	"context"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// Count counts the calls that match f and that access may see. It reads a bounded number of
// rows, however many calls there are: up to junctor.MaxCounted of an index that has the answer,
// and otherwise as many as the first step of a search. If there are more, the total is a
// minimum. A text is not searched for: its total is a minimum of 0.
func (h *History) Count(ctx context.Context, access junctor.CallAccess, f Filter) (junctor.RowTotal, error) {
	f.Cursor = ""
	s, err := h.newScan(&access, &f)
	if err != nil || s.ended {
		return junctor.RowTotal{}, err
	}
	if f.Text != "" {
		return junctor.RowTotal{AtLeast: true}, nil
	}
	if len(s.covers) == 1 && len(s.covers[0]) == 1 && s.condition == "" {
		from, args := s.from(&s.covers[0][0], s.since)
		n, err := s.countRows(ctx, `SELECT 1 AS one FROM `+from+` LIMIT ?`, append(args, junctor.MaxCounted+1))
		return junctor.NewRowTotal(n), err
	}
	cover, end, err := s.chooseCover(ctx, h.limits.firstRows)
	if err != nil {
		return junctor.RowTotal{}, err
	}
	var parts []string
	var args []any
	for i := range cover {
		from, own := s.from(&cover[i], end)
		part := `SELECT id FROM ` + from
		if s.condition != "" { // no index is used for the inside of a CASE: the stream's own has to be
			part, own = part+` AND CASE WHEN `+s.condition+` THEN 1 ELSE 0 END = 1`, append(own, s.args...)
		}
		parts, args = append(parts, part), append(args, own...)
	}
	n, err := s.countRows(ctx, strings.Join(parts, ` UNION `), args) // a call can be in several
	return junctor.RowTotal{Rows: n, AtLeast: end != s.since}, err
}

// countRows returns the number of rows of a query.
func (s *scan) countRows(ctx context.Context, query string, args []any) (n int, err error) {
	err = s.history.options.Read.QueryRowContext(ctx, s.history.options.Dialect.Bind(`SELECT COUNT(*) FROM (`+query+`) AS counted`), args...).Scan(&n)
	if err != nil {
		return 0, s.history.wrapError(ctx, err, "count the calls of the history")
	}
	return n, nil
}
