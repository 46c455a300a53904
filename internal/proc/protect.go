package proc

import (
	"os"
	"slices"
	"strings"
)

// TakeEnvironment gives the environment of this process, in the form of os.Environ,
// and takes from where others could read it what they need not know:
//
//   - where the kernel shows the environment a process was started with
//     (/proc/PID/environ), every value is overwritten but those of the few variables
//     that every child gets anyway. os.Unsetenv does not reach that memory.
//   - the variables that private names are removed from the environment that
//     os.LookupEnv reads, so that no library finds them.
//
// Whoever needs a value later takes it from what this function returns. Call it once,
// before anything else runs. A system that shows no such memory, or does not let it
// be written, is no error: problem says what could not be done, for the log.
func TakeEnvironment(private func(name string) bool) (env []string, problem error) {
	env = os.Environ() // copies: the runtime's own are in other memory, too
	for i := range env {
		env[i] = strings.Clone(env[i])
	}
	problem = wipeEnvironment(isBaseName)
	for _, line := range env {
		if name, _, _ := strings.Cut(line, "="); private(name) {
			_ = os.Unsetenv(name) // it cannot fail: it was there
		}
	}
	return env, problem
}

// isBaseName says whether a variable is one of those that every child gets.
func isBaseName(name string) bool { return slices.Contains(baseNames(), name) }

// Protect keeps other processes of the same user from reading the memory of this
// one, its files in /proc that show secrets (environ, mem, maps), and from attaching
// to it; and the system from writing a core dump of it. The superuser still can.
//
// It holds for this process alone: what it starts is as readable as ever from its
// execve on. Only Linux has it. An error is no reason not to run.
func Protect() error { return disableDumps() }
