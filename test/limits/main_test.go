package limits

import (
	"context"
	"os"
	"testing"

	"github.com/junctor-mcp/junctor/internal/proc"
	"github.com/junctor-mcp/junctor/internal/testkit/upstreams"
	"github.com/junctor-mcp/junctor/test/program"
)

// TestMain lets this binary be a server over stdio, and the guard of one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == proc.ReaperVerb {
		os.Exit(proc.RunReaper(os.Args[2:]))
	}
	if os.Getenv("PLAY_SERVER") != "" {
		if err := upstreams.Play(context.Background()); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	program.SetParallel(16) // calls that wait for their limit
	os.Exit(program.Main(m))
}
