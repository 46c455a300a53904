package proc

// MemoryCapacity is how many bytes of memory this process may use: the least of the
// machine's memory and of the limits of its control groups. 0 is that the system
// does not say.
func MemoryCapacity() int64 { return memoryCapacity() }
