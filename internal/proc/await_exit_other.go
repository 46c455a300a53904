//go:build !linux

package proc

// awaitExit always returns false: this system cannot report an end without
// reaping the process.
func awaitExit(int) bool { return false }
