package upstream

import (
	"context"

	junctor "github.com/junctor-mcp/junctor"
)

// Command is a server that is run as a child process.
type Command struct {
	Path string   // the program: a path, or a name to look up in PATH
	Args []string // without the program's own name
	Env  []string // KEY=VALUE, on top of the clean environment
	Dir  string   // working directory; "" is that of this process
}

// openStdio starts the child and shakes hands with it.
func openStdio(_ context.Context, _ *Options, _ opening) (link, error) {
	return nil, junctor.Errorf(junctor.CodeInternal, "commands cannot be run yet")
}
