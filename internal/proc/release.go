package proc

import "runtime/debug"

// Release gives back to the system what this process no longer needs: memory
// that is free, and the parts of its own program and libraries that lie in
// memory because the start ran through them. The system brings in again what
// still runs, from its own copy of the file. A long-lived process does this once
// its start is over.
func Release() {
	debug.FreeOSMemory()
	releaseProgram()
}
