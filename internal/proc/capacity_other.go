//go:build !linux

package proc

// memoryCapacity is unknown on this system.
func memoryCapacity() int64 { return 0 }
