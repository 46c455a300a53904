//go:build !linux

package proc

// releaseProgram does nothing: other systems take such pages back by themselves,
// and tell nobody how.
func releaseProgram() {}
