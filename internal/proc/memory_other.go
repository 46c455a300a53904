//go:build !linux

package proc

// limitMemory does nothing: this system cannot bound another process in this way.
func limitMemory(int, uint64) {}
