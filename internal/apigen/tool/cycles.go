package tool

import "github.com/junctor-mcp/junctor/internal/apigen/doc"

// cycleFinder finds the schemas that contain themselves, directly or through
// others. It runs Tarjan's algorithm for strongly connected components over the
// references, once for a document, and remembers the result.
type cycleFinder struct {
	schemas doc.Schemas
	// order numbers the schemas in the order of their visits, from 1. 0 means
	// not visited.
	order map[*doc.Node]int
	// lowLink is the lowest order on the stack that a schema can reach.
	lowLink map[*doc.Node]int
	stack   []*doc.Node
	// onStack holds the schemas that are on the stack.
	onStack map[*doc.Node]bool
	cyclic  map[*doc.Node]bool
	meter   *doc.Meter
}

// newCycleFinder returns a cycleFinder for the schemas of one document.
func newCycleFinder(schemas doc.Schemas, meter *doc.Meter) *cycleFinder {
	return &cycleFinder{meter: meter, schemas: schemas, order: map[*doc.Node]int{}, lowLink: map[*doc.Node]int{}, onStack: map[*doc.Node]bool{}, cyclic: map[*doc.Node]bool{}}
}

// isCyclic reports whether a schema contains itself.
func (c *cycleFinder) isCyclic(n *doc.Node) bool {
	if c.order[n] == 0 {
		c.visitNode(n)
	}
	return c.cyclic[n]
}

// visitNode visits a schema and everything that it reaches. When the first
// schema of a component ends, the component is popped off the stack; more than
// one schema in it means a cycle.
func (c *cycleFinder) visitNode(n *doc.Node) {
	c.order[n] = len(c.order) + 1
	c.lowLink[n] = c.order[n]
	c.stack, c.onStack[n] = append(c.stack, n), true
	for _, to := range c.refTargets(n, nil) {
		switch {
		case to == n:
			c.cyclic[n] = true
		case c.order[to] == 0:
			c.visitNode(to)
			c.lowLink[n] = min(c.lowLink[n], c.lowLink[to])
		case c.onStack[to]:
			c.lowLink[n] = min(c.lowLink[n], c.order[to])
		}
	}
	if c.lowLink[n] != c.order[n] {
		return
	}
	for several := c.stack[len(c.stack)-1] != n; ; {
		last := c.stack[len(c.stack)-1]
		c.stack = c.stack[:len(c.stack)-1]
		delete(c.onStack, last)
		c.cyclic[last] = c.cyclic[last] || several
		if last == n {
			return
		}
	}
}

// refTargets appends the schemas that references inside a schema lead to.
func (c *cycleFinder) refTargets(n *doc.Node, found []*doc.Node) []*doc.Node {
	if n == nil || n.Kind != doc.Object {
		return found
	}
	c.meter.Spend(1 + len(n.Members)/8)
	for _, m := range n.Members {
		switch m.Key {
		case "$ref":
			if to, err := c.schemas.Resolve(m.Value.ScalarText(), n); err == nil {
				found = append(found, to)
			}
		case "properties", "patternProperties", "dependentSchemas":
			for _, p := range m.Value.Members {
				found = c.refTargets(p.Value, found)
			}
		case "items", "additionalProperties", "not", "contains", "propertyNames":
			found = c.refTargets(m.Value, found)
		case "allOf", "anyOf", "oneOf", "prefixItems":
			for _, one := range m.Value.Items {
				found = c.refTargets(one, found)
			}
		}
	}
	return found
}
