package app

import (
	"github.com/junctor-mcp/junctor/internal/audit"
	"github.com/junctor-mcp/junctor/internal/gateway"
	"github.com/junctor-mcp/junctor/internal/guard"
)

// The twins that bench measures Junctor against. No setting leads here: an
// instance that serves somebody has its gates and keeps its records.

// WithoutRecords makes the twin that recording is measured against: calls pass
// every gate and are only remembered in memory, as the newest ones always are;
// nothing of them reaches the journal, its copy or the history.
func WithoutRecords() Option { return func(o *options) { o.unrecorded = true } }

// WithoutGates makes the twin that all gates are measured against: a caller who has a
// key calls what the catalog shows them, without a limit, a check of arguments
// or a record.
func WithoutGates() Option { return func(o *options) { o.unrecorded, o.ungated = true, true } }

// WithoutNumbers makes the twin that the numbers over time are measured against: calls are
// recorded, but not added up.
func WithoutNumbers() Option { return func(o *options) { o.uncounted = true } }

// twinCalls is how many calls the twin remembers.
const twinCalls = 1000

// record is where the guard puts its calls: the journal, except in a twin.
func (a *App) record() guard.Journal {
	if a.opts.unrecorded {
		return audit.NewRecentCalls(twinCalls)
	}
	return audit.TailedJournal{Appender: a.journal, Tails: &a.tails}
}

// pipeline is what the endpoints ask: the guard, except in the twin without gates.
func (a *App) pipeline() gateway.Pipeline {
	if a.opts.ungated {
		return guard.Ungated{Guard: a.guard}
	}
	return a.guard
}
