package app

import (
	"github.com/junctor-mcp/junctor/internal/audit"
	"github.com/junctor-mcp/junctor/internal/guard"
)

// WithoutRecords makes the twin that bench measures recording against: calls
// pass every gate and are only remembered in memory, as the newest ones always
// are; nothing of them reaches the journal, its copy or the history. No setting
// leads here: an instance that serves somebody keeps its records.
func WithoutRecords() Option { return func(o *options) { o.unrecorded = true } }

// twinCalls is how many calls the twin remembers.
const twinCalls = 1000

// record is where the guard puts its calls: the journal, except in the twin.
func (a *App) record() guard.Journal {
	if a.opts.unrecorded {
		return audit.NewRecent(twinCalls)
	}
	return a.journal
}
