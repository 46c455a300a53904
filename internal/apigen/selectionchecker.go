package apigen

import (
	"context"
	"sync"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/apigen/call"
	"github.com/junctor-mcp/junctor/internal/apigen/graphql"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// selectionChecker checks the GraphQL selections of callers against the schema.
// It parses the schema at the first selection, since most servers never need
// it. It is safe for concurrent use.
type selectionChecker struct {
	document func(context.Context) ([]byte, error)

	mu sync.Mutex
	// parsed is set once the document was loaded, even if it is no schema.
	parsed bool
	// schema is nil if the document is no schema.
	schema *graphql.Schema
}

// loadSchema returns the schema, or nil if it is unavailable. After an error of
// document the next call tries again.
func (c *selectionChecker) loadSchema(ctx context.Context) *graphql.Schema {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.parsed || c.document == nil {
		return c.schema
	}
	text, err := c.document(ctx)
	if err != nil {
		// The next call tries again: the store may be unavailable for a moment.
		return nil
	}
	c.parsed = true
	if s, err := graphql.ParseSchema(text); err == nil {
		c.schema = s
	}
	return c.schema
}

// applySelection returns a plan with the caller's own selection, checked and
// written anew, and the arguments without it. Without a schema it returns both
// unchanged; apigen/call then checks the form of the selection only. It never
// changes plan.
func (c *selectionChecker) applySelection(ctx context.Context, plan *call.Plan, arguments []byte) (*call.Plan, []byte, error) {
	if plan.GraphQL == nil || plan.GraphQL.SelectType == "" {
		return plan, arguments, nil
	}
	own, ok := wire.String(wire.Get(arguments, call.SelectArg))
	if !ok || own == "" {
		return plan, arguments, nil
	}
	schema := c.loadSchema(ctx)
	if schema == nil {
		return plan, arguments, nil
	}
	selection, err := schema.CheckSelection(plan.GraphQL.SelectType, own)
	if err != nil {
		e := junctor.AsError(err)
		e.Violations = []junctor.Violation{{Pointer: "/" + call.SelectArg, Message: e.Message}}
		return nil, nil, e
	}
	chosen, field := *plan, *plan.GraphQL
	field.Selection, chosen.GraphQL = selection, &field
	return &chosen, wire.AppendObject(nil, arguments, []string{call.SelectArg}), nil
}
