package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/junctor-mcp/junctor/internal/proc"
)

// Protect gives the environment for Main, and keeps what is secret in it, and in the
// memory of this process, from other processes of the same user: servers that run as
// children are such. Call it once, first thing in the program. args are those for
// Main.
func Protect(args []string, stderr io.Writer) (env []string) {
	if len(args) > 0 && args[0] == proc.ReapVerb {
		return os.Environ() // the command's, and meant for it
	}
	env, problem := proc.TakeEnvironment(isOwnVariable)
	problem = errors.Join(problem, proc.Protect()) // last: it shuts the files that the former writes to
	if problem != nil && staysRunning(args) {
		_, _ = fmt.Fprintf(stderr, "warning: processes of the same user may be able to read the environment of this one: %v\n", problem)
	}
	return env
}

// isOwnVariable says whether a variable is one of Junctor's own. All of them are read
// from what Protect returned; some are keys, or addresses with passwords.
func isOwnVariable(name string) bool { return strings.HasPrefix(name, "JUNCTOR_") }

// staysRunning says whether a command line starts an instance.
func staysRunning(args []string) bool {
	return len(args) == 0 || strings.HasPrefix(args[0], "-") || args[0] == "up" || args[0] == "demo" || args[0] == "stdio"
}
