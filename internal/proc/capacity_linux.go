package proc

import (
	"os"
	"path"
	"strconv"
	"strings"
)

// memoryCapacity returns the smallest of the machine's memory and the limits of
// the control groups that this process is in.
func memoryCapacity() int64 {
	least := int64(0)
	take := func(n int64) {
		if n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	take(parseMemTotal(readFileOrEmpty("/proc/meminfo")))
	for _, file := range cgroupLimitFiles(readFileOrEmpty("/proc/self/cgroup")) {
		take(parseLimit(readFileOrEmpty(file)))
	}
	return least
}

// readFileOrEmpty returns the content of a file, or "" if it cannot be read.
func readFileOrEmpty(file string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return "" // without the file there is no such limit
	}
	return string(b)
}

// parseMemTotal reads MemTotal of /proc/meminfo; 0 if it is missing.
func parseMemTotal(text string) int64 {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			if err == nil {
				return kib << 10
			}
		}
	}
	return 0
}

// cgroupLimitFiles returns the files with the memory limits of the groups in
// /proc/self/cgroup and of all their parents, for cgroups version 2 and 1. Inside
// a container the path may be one of the host, of which only the root exists.
func cgroupLimitFiles(text string) []string {
	var files []string
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		root, file := "/sys/fs/cgroup", "memory.max"
		if parts[1] != "" {
			if !strings.Contains(","+parts[1]+",", ",memory,") {
				continue
			}
			root, file = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
		}
		for at := path.Clean("/" + parts[2]); ; at = path.Dir(at) {
			files = append(files, path.Join(root, at, file))
			if at == "/" {
				break
			}
		}
	}
	return files
}

// parseLimit reads a limit; 0 for none. Version 1 expresses "none" by a number
// that no machine has.
func parseLimit(text string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || n <= 0 || n >= 1<<60 {
		return 0
	}
	return n
}
