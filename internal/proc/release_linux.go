package proc

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// releaseProgram drops the pages of files that are mapped for reading or running.
// They are identical to the file, so the next access loads them again. If that is
// not certain, nothing is dropped.
func releaseProgram() {
	b, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return
	}
	for _, m := range findUnchangedMappings(b) {
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, m.begin, m.end-m.begin, unix.MADV_DONTNEED)
	}
}

// mapping is a range of addresses.
type mapping struct{ begin, end uintptr }

// findUnchangedMappings returns, from /proc/PID/smaps, the private mappings of
// files that cannot be written and have no anonymous pages. A mapping that was
// written before, by the linker (relocations) or a debugger, has such pages.
// Their content is in no file and would be lost.
func findUnchangedMappings(smaps []byte) []mapping {
	var found []mapping
	var at mapping
	candidate := false
	for line := range bytes.Lines(smaps) {
		if m, readOnly, ok := parseMapping(line); ok {
			at, candidate = m, readOnly
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		if candidate && string(name) == "Anonymous" {
			if string(bytes.TrimSpace(value)) == "0 kB" {
				found = append(found, at)
			}
			candidate = false
		}
	}
	return found
}

// parseMapping reads the line that begins a mapping, such as
// "00400000-01daa000 r-xp 00000000 fe:00 9994363    /usr/bin/junctor".
func parseMapping(line []byte) (m mapping, readOnlyFile, ok bool) {
	f := bytes.Fields(line)
	if len(f) < 5 {
		return m, false, false
	}
	from, to, found := bytes.Cut(f[0], []byte("-"))
	if !found {
		return m, false, false
	}
	begin, err := strconv.ParseUint(string(from), 16, strconv.IntSize)
	if err != nil {
		return m, false, false
	}
	end, err := strconv.ParseUint(string(to), 16, strconv.IntSize)
	if err != nil || end < begin {
		return m, false, false
	}
	readOnlyFile = len(f) > 5 && f[5][0] == '/' && (string(f[1]) == "r-xp" || string(f[1]) == "r--p")
	return mapping{uintptr(begin), uintptr(end)}, readOnlyFile, true
}
