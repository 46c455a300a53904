package policies

import (
	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/history"
)

// Expire makes what was read of the database too old to be relied on.
func (s *Policies) Expire() { s.confirmed.Store(nil) }

// SetFacts replaces what is recorded of calls for rules to read.
func (s *Policies) SetFacts(facts func(*history.Entry) (junctor.CallFacts, bool)) { s.facts = facts }
