package proc

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// disableDumps implements ProtectMemory.
func disableDumps() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("PR_SET_DUMPABLE: %w", err)
	}
	return nil
}

// These are the positions of fields in /proc/PID/stat, from 1: where the
// environment begins and ends in memory (see proc_pid_stat(5)).
const (
	statEnvStart = 50
	statEnvEnd   = 51
)

// wipeEnvironment overwrites the values of all variables except the kept ones in
// the memory that /proc/self/environ shows. The kernel placed that memory below
// the stack of the first thread before the program started. Only the kernel's own
// view refers to it, since Go's runtime copies the environment. It is written
// through /proc/self/mem, at addresses that the kernel names, so that no pointer
// is made from a number.
func wipeEnvironment(keep func(name string) bool) error {
	start, end, err := environmentBounds()
	if err != nil {
		return err
	}
	if end <= start {
		return nil
	}
	mem, err := os.OpenFile("/proc/self/mem", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer mem.Close()
	block := make([]byte, end-start)
	defer clear(block)
	if _, err := mem.ReadAt(block, start); err != nil {
		return fmt.Errorf("the environment's memory cannot be read: %w", err)
	}
	for at := 0; at < len(block); {
		line := block[at:]
		if n := bytes.IndexByte(line, 0); n >= 0 {
			line = line[:n]
		}
		if name, value, ok := bytes.Cut(line, []byte("=")); ok && !keep(string(name)) {
			off := start + int64(at+len(name)+1)
			if _, err := mem.WriteAt(make([]byte, len(value)), off); err != nil {
				return fmt.Errorf("the environment's memory cannot be written: %w", err)
			}
		}
		at += len(line) + 1
	}
	return nil
}

// environmentBounds returns where the environment is in memory.
func environmentBounds() (start, end int64, err error) {
	b, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0, 0, err
	}
	// The second field is the program's name in parentheses, and may contain anything.
	i := bytes.LastIndexByte(b, ')')
	if i < 0 {
		return 0, 0, errors.New("/proc/self/stat has no name")
	}
	fields := bytes.Fields(b[i+1:]) // from the third on
	if len(fields) < statEnvEnd-2 {
		return 0, 0, errors.New("/proc/self/stat does not say where the environment is")
	}
	if start, err = strconv.ParseInt(string(fields[statEnvStart-3]), 10, 64); err != nil {
		return 0, 0, err
	}
	end, err = strconv.ParseInt(string(fields[statEnvEnd-3]), 10, 64)
	return start, end, err
}
