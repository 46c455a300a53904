package proc

import "runtime/debug"

// ReleaseMemory returns unneeded memory to the system: free memory, and the parts of
// the program and its libraries that are loaded because the start used them. The
// system loads the parts that still run again, from its copy of the file. A
// long-lived process calls it once its start is over.
func ReleaseMemory() {
	debug.FreeOSMemory()
	ReleaseProgram()
}

// ReleaseProgram returns only the parts of the program. That takes a millisecond,
// and the parts that run are loaded again at once. A process that rarely uses
// large parts of itself then holds only what it uses.
func ReleaseProgram() { releaseProgram() }
