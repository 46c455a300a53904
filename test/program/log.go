package program

import "github.com/junctor-mcp/junctor/internal/testkit/output"

// logged keeps what a process writes, to be read while it runs.
type logged struct{ output.Buffer }

// from is what was written behind the first n bytes.
func (l *logged) from(n int) string { return l.String()[n:] } // nothing is ever taken out

// tail is the end of a log, as much as a failed test should show.
func (l *logged) tail() string {
	const limit = 20_000
	s := l.String()
	if len(s) > limit {
		return "[…]" + s[len(s)-limit:]
	}
	return s
}
