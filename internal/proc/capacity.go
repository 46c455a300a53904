package proc

// MemoryCapacity returns how many bytes of memory this process may use: the
// smallest of the machine's memory and the limits of its control groups. It is 0
// if the system does not say.
func MemoryCapacity() int64 { return memoryCapacity() }
