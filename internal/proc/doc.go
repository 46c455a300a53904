// Package proc is the only package that starts processes. internal/upstream runs
// servers as child processes, internal/builtin/ocr and internal/credential run
// programs to their end, and internal/bench runs Junctor beside itself.
//
// A process gets its own process group, so that ending it ends everything that it
// started. Its environment contains only the variables that the caller named and
// a few basic ones, so that no secret of this process leaks into it.
//
// A process of Start ends with this process only if this process shuts down
// properly. StartReaped is for processes that must never outlive this one,
// however it ends; reaper_linux.go explains how.
//
// The package also reads what processes use (Usage, BusyTime, MemoryCapacity), hides
// this process's secrets from others (ProtectMemory, TakeEnvironment) and returns
// unneeded memory (ReleaseMemory).
//
// Process groups require a Unix system. On other systems only the process itself
// is ended, and its children live on.
//
// To read the code, begin with proc.go (Command, Start, Stop) and run.go. Then
// read start_reaped_linux.go (the side of this process) and reaper_linux.go (the
// reaper). Files with the suffix _other are the systems without that feature.
package proc
