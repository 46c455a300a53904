package proc

import "golang.org/x/sys/unix"

// limitMemory bounds the address space of a child that has just been started,
// before it can have read much. A child that is gone already needs no bound.
func limitMemory(pid int, bytes uint64) {
	_ = unix.Prlimit(pid, unix.RLIMIT_AS, &unix.Rlimit{Cur: bytes, Max: bytes}, nil)
}
