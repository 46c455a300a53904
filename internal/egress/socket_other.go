//go:build !linux

package egress

// withSocketName has use called with the path itself: only Linux has shorter
// names for files.
func withSocketName(path string, use func(name string) error) error { return use(path) }
