package junctor

import (
	"strings"
)

// MaxCounted bounds how many rows of a list are counted. Counting more would cost more than
// reading the page.
const MaxCounted = 10_000

// RowPage is the part of a list that a query names, for lists that the database sorts and
// searches. Key and ID are those of the last row of the previous page; both are "" for the
// first page.
type RowPage struct {
	Words     []string // in lower case; each of them occurs in a row's text
	Ascending bool
	Key, ID   string
	Limit     int // 0 counts only
}

// RowTotal is the number of rows of all pages. With AtLeast, there may be more.
type RowTotal struct {
	Rows    int
	AtLeast bool
}

// NewRowTotal returns the total for a count that stops after MaxCounted rows.
func NewRowTotal(counted int) RowTotal {
	return RowTotal{min(counted, MaxCounted), counted > MaxCounted}
}

// LikePatterns returns the patterns of LIKE that find the words, with ! as the escape.
func (p *RowPage) LikePatterns() []string {
	escape := strings.NewReplacer("!", "!!", "%", "!%", "_", "!_")
	patterns := make([]string, len(p.Words))
	for i, w := range p.Words {
		patterns[i] = "%" + escape.Replace(w) + "%"
	}
	return patterns
}
