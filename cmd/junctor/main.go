// Command junctor is the gateway and its command line: see internal/cli.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/junctor-mcp/junctor/internal/cli"
)

func main() {
	env := cli.Protect(os.Args[1:], os.Stderr)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal ends the process at once: the first has stopped being
	// caught by then.
	context.AfterFunc(ctx, stop)
	os.Exit(cli.Main(ctx, os.Args[1:], env, os.Stdin, os.Stdout, os.Stderr))
}
