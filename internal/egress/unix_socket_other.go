//go:build !linux

package egress

// withSocketName calls use with the path itself: only Linux has shorter names for files.
func withSocketName(path string, use func(name string) error) error { return use(path) }
