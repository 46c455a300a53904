// Package gate has exported names with the retired word "gate".
package gate

// OpenGate is a constant.
const OpenGate = 1

// Call has a field and a method.
type Call struct {
	GateID string
	gate   string
}

func (c *Call) Gates() []string { return []string{c.GateID, c.gate} }

func gates() {}
