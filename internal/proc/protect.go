package proc

import (
	"os"
	"slices"
	"strings"
)

// TakeEnvironment returns the environment of this process, in the form of
// os.Environ, and removes secrets from the places where others could read them:
//
//   - The kernel shows the environment with which a process was started
//     (/proc/PID/environ). There, every value is overwritten except those of the few
//     variables that every child gets anyway. os.Unsetenv does not reach that memory.
//   - The variables that private selects are removed from the environment that
//     os.LookupEnv reads, so that no library finds them.
//
// Code that needs a value later takes it from the result. Call it once, before
// anything else runs. A system that does not show such memory, or does not let it
// be written, is no error: problem says what failed, for the log.
func TakeEnvironment(private func(name string) bool) (env []string, problem error) {
	env = os.Environ() // the runtime has copied the values to its own memory
	for i := range env {
		env[i] = strings.Clone(env[i])
	}
	problem = wipeEnvironment(isBaseName)
	for _, line := range env {
		if name, _, _ := strings.Cut(line, "="); private(name) {
			_ = os.Unsetenv(name) // cannot fail: the variable exists
		}
	}
	return env, problem
}

// isBaseName reports whether every child gets this variable.
func isBaseName(name string) bool { return slices.Contains(baseNames(), name) }

// ProtectMemory keeps other processes of the same user from reading the memory of this
// process and its files in /proc that show secrets (environ, mem, maps), and from
// attaching to it. It also prevents core dumps. The superuser is not affected.
//
// It applies only to this process: its children are readable from their execve
// on. Only Linux has it. An error is no reason not to run.
func ProtectMemory() error { return disableDumps() }
