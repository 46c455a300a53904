// Package policy holds whole instances to the model of rules: on SQLite, on PostgreSQL and
// on replicas, through every entry point that makes calls, a call ends as the model says,
// and so do its explanation and its simulation; what a rule denies reaches no server. It
// also shows that no replica decides by former rules, that a simulated week is the week
// that enforcing brings, and what rules cost.
package policy

import (
	"flag"
	"os"
	"testing"

	"github.com/junctor-mcp/junctor/internal/store/pgtest"
	"github.com/junctor-mcp/junctor/test/program"
)

var postgres pgtest.Pool

func TestMain(m *testing.M) {
	// A case stands on those before it: there is nothing to make smaller.
	if err := flag.Set("rapid.shrinktime", "0s"); err != nil {
		panic(err)
	}
	code := postgres.Main(m)
	program.Clean()
	os.Exit(code)
}
