package tool

import "github.com/junctor-mcp/junctor/internal/apigen/doc"

// cycles knows which schemas contain themselves, through whatever others. They
// are looked for once for a document (Tarjan's strongly connected components
// over the references).
type cycles struct {
	schemas doc.Schemas
	number  map[*doc.Node]int // by when it was met; 0 is not yet
	lowest  map[*doc.Node]int
	stack   []*doc.Node
	on      map[*doc.Node]bool // the stack
	cyclic  map[*doc.Node]bool
	meter   *doc.Meter
}

func newCycles(schemas doc.Schemas, meter *doc.Meter) *cycles {
	return &cycles{meter: meter, schemas: schemas, number: map[*doc.Node]int{}, lowest: map[*doc.Node]int{}, on: map[*doc.Node]bool{}, cyclic: map[*doc.Node]bool{}}
}

// has says whether a schema contains itself.
func (c *cycles) has(n *doc.Node) bool {
	if c.number[n] == 0 {
		c.visit(n)
	}
	return c.cyclic[n]
}

func (c *cycles) visit(n *doc.Node) {
	c.number[n] = len(c.number) + 1
	c.lowest[n] = c.number[n]
	c.stack, c.on[n] = append(c.stack, n), true
	for _, to := range c.targets(n, nil) {
		switch {
		case to == n:
			c.cyclic[n] = true
		case c.number[to] == 0:
			c.visit(to)
			c.lowest[n] = min(c.lowest[n], c.lowest[to])
		case c.on[to]:
			c.lowest[n] = min(c.lowest[n], c.number[to])
		}
	}
	if c.lowest[n] != c.number[n] {
		return
	}
	for several := c.stack[len(c.stack)-1] != n; ; {
		last := c.stack[len(c.stack)-1]
		c.stack = c.stack[:len(c.stack)-1]
		delete(c.on, last)
		c.cyclic[last] = c.cyclic[last] || several
		if last == n {
			return
		}
	}
}

// targets are the schemas that references inside a schema lead to.
func (c *cycles) targets(n *doc.Node, found []*doc.Node) []*doc.Node {
	if n == nil || n.Kind != doc.Object {
		return found
	}
	c.meter.Spend(1 + len(n.Members)/8)
	for _, m := range n.Members {
		switch m.Key {
		case "$ref":
			if to, err := c.schemas.Resolve(m.Value.Str(), n); err == nil {
				found = append(found, to)
			}
		case "properties", "patternProperties", "dependentSchemas":
			for _, p := range m.Value.Members {
				found = c.targets(p.Value, found)
			}
		case "items", "additionalProperties", "not", "contains", "propertyNames":
			found = c.targets(m.Value, found)
		case "allOf", "anyOf", "oneOf", "prefixItems":
			for _, one := range m.Value.Items {
				found = c.targets(one, found)
			}
		}
	}
	return found
}
