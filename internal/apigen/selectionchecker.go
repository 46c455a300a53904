package apigen

import (
	"context"
	"sync"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/apigen/call"
	"github.com/junctor-mcp/junctor/internal/apigen/graphql"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// selectionChecker checks what callers choose of GraphQL answers with the schema, which it
// reads when the first of them does.
type selectionChecker struct {
	document func(context.Context) ([]byte, error)

	mu     sync.Mutex
	parsed bool
	schema *graphql.Schema // nil where it cannot be had
}

func (c *selectionChecker) loadSchema(ctx context.Context) *graphql.Schema {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.parsed || c.document == nil {
		return c.schema
	}
	text, err := c.document(ctx)
	if err != nil {
		return nil // the next call asks again
	}
	c.parsed = true
	if s, err := graphql.Parse(text); err == nil {
		c.schema = s
	}
	return c.schema
}

// applySelection puts a caller's own selection into the plan, written anew by the schema,
// and takes it out of the arguments. Without a schema both stay, and call looks
// at the form of it alone.
func (c *selectionChecker) applySelection(ctx context.Context, plan *call.Plan, arguments []byte) (*call.Plan, []byte, error) {
	if plan.GraphQL == nil || plan.GraphQL.Select == "" {
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
	selection, err := schema.Select(plan.GraphQL.Select, own)
	if err != nil {
		e := junctor.AsError(err)
		e.Violations = []junctor.Violation{{Pointer: "/" + call.SelectArg, Message: e.Message}}
		return nil, nil, e
	}
	chosen, field := *plan, *plan.GraphQL
	field.Selection, chosen.GraphQL = selection, &field
	return &chosen, wire.AppendObject(nil, arguments, []string{call.SelectArg}), nil
}
