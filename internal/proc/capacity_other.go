//go:build !linux

package proc

// memoryCapacity is not known.
func memoryCapacity() int64 { return 0 }
