//go:build !linux

package proc

// disableDumps does nothing: these systems do not show the environment or memory
// of a process in files, and debuggers need a separate permission.
func disableDumps() error { return nil }

// wipeEnvironment does nothing, for the same reason.
func wipeEnvironment(func(name string) bool) error { return nil }
