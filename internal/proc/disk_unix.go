//go:build linux || darwin

package proc

import "syscall"

// FreeBytes returns how many bytes can still be written at path, and whether
// that is known.
func FreeBytes(path string) (uint64, bool) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(path, &fs); err != nil {
		return 0, false
	}
	return fs.Bavail * uint64(fs.Bsize), true //nolint:gosec // Bsize is positive, and its type differs between systems
}
