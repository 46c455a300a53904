package proc

import "golang.org/x/sys/unix"

// limitMemory bounds the address space of a child right after its start, before
// it can have read much. If the child has ended already, the error is ignored.
func limitMemory(pid int, bytes uint64) {
	_ = unix.Prlimit(pid, unix.RLIMIT_AS, &unix.Rlimit{Cur: bytes, Max: bytes}, nil)
}
