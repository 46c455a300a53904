package policies

import (
	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/history"
)

// factsOf returns what conditions read of a recorded call beside its tool, arguments and
// result; false if it was recorded without.
func factsOf(*history.Entry) (junctor.CallFacts, bool) { return junctor.CallFacts{}, false }

// hitsOf returns what rules did with a recorded call.
func hitsOf(e *history.Entry) []junctor.PolicyHit { return e.Policy }
