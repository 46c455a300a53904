package proc

import "runtime/debug"

// Release gives back to the system what this process no longer needs: memory
// that is free, and the parts of its own program and libraries that lie in
// memory because the start ran through them. The system brings in again what
// still runs, from its own copy of the file. A long-lived process does this once
// its start is over.
func Release() {
	debug.FreeOSMemory()
	ReleaseProgram()
}

// ReleaseProgram gives back the parts of the program alone. That costs a millisecond,
// and what runs is in memory again at once: a process that runs through much of
// itself now and then, to be set up or looked at, holds only what it uses.
func ReleaseProgram() { releaseProgram() }
