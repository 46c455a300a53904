package app

import (
	"context"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/audit"
	"github.com/junctor-mcp/junctor/internal/brief"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/gateway"
	"github.com/junctor-mcp/junctor/internal/guard"
)

// The twins that bench measures Junctor against. No setting leads here: an
// instance that serves somebody has its gates and keeps its records.

// WithoutRecords makes the twin that recording is measured against: calls pass
// every gate and are only remembered in memory, as the newest ones always are;
// nothing of them reaches the journal, its copy or the history.
func WithoutRecords() Option { return func(o *options) { o.unrecorded = true } }

// WithoutGates makes the twin that all gates are measured against: whoever has a
// key calls what the catalogue shows them, without a limit, a check of arguments
// or a record.
func WithoutGates() Option { return func(o *options) { o.unrecorded, o.ungated = true, true } }

// twinCalls is how many calls the twin remembers.
const twinCalls = 1000

// record is where the guard puts its calls: the journal, except in a twin.
func (a *App) record() guard.Journal {
	if a.opts.unrecorded {
		return audit.NewRecent(twinCalls)
	}
	return followed{a.journal, &a.tails}
}

// pipeline is what the doors ask: the guard, except in the twin without gates.
func (a *App) pipeline() gateway.Pipeline {
	if a.opts.ungated {
		return ungated{a.guard, a}
	}
	return a.guard
}

// ungated passes tool calls straight to their backends. Lists are the guard's.
type ungated struct {
	*guard.Guard
	app *App
}

// Do hides that of the guard.
func (u ungated) Do(ctx context.Context, op *guard.Op, sink catalog.Sink) (catalog.Result, error) {
	if op.Kind != junctor.KindTool || op.Adhoc != nil {
		return catalog.Result{}, junctor.Errorf(junctor.CodeInvalid, "this instance is there to be measured by calls of tools alone")
	}
	item, err := u.app.catalog.Snapshot().For(op.Principal.Tenant).Tool(op.Principal, op.View, op.Name, op.Version)
	if err != nil {
		return catalog.Result{}, err
	}
	ctx, cancel := brief.WithTimeout(ctx, u.app.cfg.CallTimeout)
	defer cancel()
	res, err := item.Server.Backend.Do(ctx, &catalog.Request{
		CallID: newID(), Kind: op.Kind, Name: item.Name, Version: item.Tool.Version, Params: op.Params, Arguments: op.Arguments, Meta: op.Meta,
		Caller: op.Caller, Principal: op.Principal,
	}, sink)
	if err == nil && op.View.Server == "" {
		res.Body = catalog.ExposeURIs(item.Server.ID, op.Kind, res.Body)
	}
	return res, err
}
