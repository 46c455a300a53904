package bench_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/junctor-mcp/junctor/internal/cli"
	"github.com/junctor-mcp/junctor/internal/proc"
)

// TestMain lets the test binary be the program that Run measures, and all that
// Run starts beside it.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 {
		goleak.VerifyTestMain(m)
		return
	}
	switch os.Args[1] {
	case proc.ReaperVerb:
		os.Exit(proc.RunReaper(os.Args[2:]))
	case "play":
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		code := cli.Main(ctx, os.Args[2:], os.Environ(), os.Stdin, os.Stdout, os.Stderr)
		stop()
		os.Exit(code)
	case "play-down":
		fmt.Fprintf(os.Stderr, "no database; the key is %s\n", os.Getenv("JUNCTOR_ADMIN_KEY"))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}
