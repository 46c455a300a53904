//go:build !linux

package proc

// releaseProgram does nothing: other systems reclaim such pages by themselves.
func releaseProgram() {}
