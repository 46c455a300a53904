package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/junctor-mcp/junctor/internal/proc"
)

// Protect returns the environment for Main, and hides secrets from other
// processes of the same user. Servers that run as child processes are such
// processes: they could otherwise read the keys of Junctor from its environment
// or its memory. Call it once, before anything else in the program, with the
// arguments for Main.
//
// If the system does not allow it, Protect prints a warning for commands that
// keep running, and continues.
func Protect(args []string, stderr io.Writer) (env []string) {
	if len(args) > 0 && args[0] == proc.ReaperVerb {
		return os.Environ() // of the server that the reaper starts, and meant for it
	}
	env, problem := proc.TakeEnvironment(isOwnVariable)
	problem = errors.Join(problem, proc.ProtectMemory()) // last, because it closes the files that TakeEnvironment writes to
	if problem != nil && staysRunning(args) {
		_, _ = fmt.Fprintf(stderr, "warning: processes of the same user may be able to read the environment of this one: %v\n", problem)
	}
	return env
}

// isOwnVariable reports whether a variable belongs to Junctor. Some of these
// are keys, or addresses with passwords. All are read from the result of
// Protect.
func isOwnVariable(name string) bool { return strings.HasPrefix(name, "JUNCTOR_") }

// staysRunning reports whether a command line starts an instance. Only such a
// process has children that could read its environment, so only it gets the
// warning.
func staysRunning(args []string) bool {
	return len(args) == 0 || strings.HasPrefix(args[0], "-") || args[0] == "up" || args[0] == "demo" || args[0] == "stdio"
}
