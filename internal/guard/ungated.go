package guard

import (
	"context"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/guard/lazyctx"
)

// Ungated is the pipeline without its gates, which benchmarks measure the Guard against:
// it passes tool calls straight to their backends, without a limit, a check of arguments
// or a record. Lists are those of the Guard. No setting makes one: an instance that serves
// anybody has a Guard.
type Ungated struct{ *Guard }

// Do runs a call of a tool. It hides that of the Guard.
func (u Ungated) Do(ctx context.Context, op *Op, sink catalog.Sink) (catalog.Result, error) {
	if op.Kind != junctor.KindTool || op.AdhocBackend != nil {
		return catalog.Result{}, junctor.Errorf(junctor.CodeInvalid, "this instance is there to be measured by calls of tools alone")
	}
	item, err := u.options.Catalog.Snapshot().For(op.Principal.Tenant).Tool(op.Principal, op.Scope, op.Name, op.Version)
	if err != nil {
		return catalog.Result{}, err
	}
	ctx, cancel := lazyctx.WithTimeout(ctx, u.options.Limits.Idle)
	defer cancel()
	res, err := item.Server.Backend.Do(ctx, &catalog.Request{
		CallID: u.options.NewID(), Kind: op.Kind, Name: item.Name, Version: item.Tool.Version, Params: op.Params, Arguments: op.Arguments, Meta: op.Meta,
		Caller: op.Caller, Principal: op.Principal,
	}, sink)
	if err == nil && op.Scope.Server == "" {
		res.Body = catalog.ExposeURIs(item.Server.ID, op.Kind, res.Body)
	}
	return res, err
}
