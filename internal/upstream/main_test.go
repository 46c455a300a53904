package upstream

import (
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/junctor-mcp/junctor/internal/proc"
)

// TestMain lets the test binary play the reapers and the servers that the tests
// start.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if os.Args[1] == proc.ReaperVerb {
			os.Exit(proc.RunReaper(os.Args[2:]))
		}
		if role, ok := strings.CutPrefix(os.Args[1], "play-"); ok {
			os.Exit(play(role))
		}
	}
	goleak.VerifyTestMain(m)
}

// never is a wait that no working test uses up.
const never = time.Minute
