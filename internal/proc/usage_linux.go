package proc

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	junctor "github.com/junctor-mcp/junctor"
)

// tick is the unit of times in /proc, 10 ms on every platform Go runs on.
const tick = time.Second / 100

// Usage returns the CPU time that a process and its descendants have used so far,
// including those that have ended and were reaped, and the memory of the living
// ones. A process that ends during the count is left out.
func Usage(pid int) (cpu time.Duration, rss uint64, err error) {
	todo := []int{pid}
	for len(todo) > 0 {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		c, r, err := processUsage(p)
		if err == nil {
			var children []int
			children, err = childrenOf(p)
			todo = append(todo, children...)
		}
		switch gone := errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH); {
		case gone && p == pid:
			return 0, 0, junctor.Errorf(junctor.CodeNotFound, "process %d does not run: %w", pid, err)
		case gone:
			continue
		case err != nil:
			return 0, 0, junctor.Errorf(junctor.CodeUnavailable, "cannot read what process %d uses: %w", pid, err)
		}
		cpu += c
		rss += r
	}
	return cpu, rss, nil
}

// BusyTime returns the CPU time that the whole machine has spent working since its
// start, including the time that its host took.
func BusyTime() (time.Duration, error) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, junctor.Errorf(junctor.CodeUnavailable, "cannot read the load of this machine: %w", err)
	}
	busy, err := parseBusyTime(b)
	if err != nil {
		return 0, junctor.Errorf(junctor.CodeUnavailable, "cannot read the load of this machine: %w", err)
	}
	return busy, nil
}

// processUsage returns the CPU time and memory of one process, with the time of
// its reaped children.
func processUsage(pid int) (cpu time.Duration, rss uint64, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, err
	}
	s, err := parseStat(b)
	if err != nil {
		return 0, 0, err
	}
	own := s.ownTime
	// The process's CPU clock counts nanoseconds, the file whole ticks.
	var ts unix.Timespec
	if unix.ClockGettime(cpuClockID(pid), &ts) == nil {
		own = time.Duration(ts.Nano())
	}
	return own + s.reapedTime, s.pages * uint64(os.Getpagesize()), nil //nolint:gosec // a page size is positive
}

// cpuClockID returns the clock of the CPU time of all threads of a process, as
// clock_getcpuclockid(3) builds it: the complement of the pid above three bits
// that mean "all threads, time on the CPU".
func cpuClockID(pid int) int32 { return int32(^pid<<3 | 2) } //nolint:gosec // process numbers have 22 bits

// childrenOf lists the children of all threads of a process.
func childrenOf(pid int) ([]int, error) {
	dir := fmt.Sprintf("/proc/%d/task", pid)
	threads, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, t := range threads {
		thread := filepath.Join(dir, t.Name())
		b, err := os.ReadFile(filepath.Join(thread, "children"))
		if err != nil {
			if _, alive := os.Stat(thread); alive == nil && errors.Is(err, os.ErrNotExist) {
				return nil, errors.New("this kernel was built without CONFIG_PROC_CHILDREN")
			}
			continue // the thread has ended
		}
		for f := range bytes.FieldsSeq(b) {
			n, err := strconv.Atoi(string(f))
			if err != nil {
				return nil, err
			}
			pids = append(pids, n)
		}
	}
	return pids, nil
}

// processStat holds the fields of /proc/PID/stat that are used here.
type processStat struct {
	parent     int
	ownTime    time.Duration // of the process itself
	reapedTime time.Duration // of children that were waited for
	pages      uint64        // resident pages
}

// parseStat reads /proc/PID/stat. The second field is the program's name in
// parentheses and may contain anything, so fields are counted after its end.
func parseStat(b []byte) (processStat, error) {
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(f) < 22 {
		return processStat{}, errors.New("stat has too few fields")
	}
	var n [5]uint64
	for i, at := range []int{11, 12, 13, 14, 21} { // utime stime cutime cstime rss
		v, err := strconv.ParseUint(f[at], 10, 63)
		if err != nil {
			return processStat{}, fmt.Errorf("stat field %d: %w", at+3, err)
		}
		n[i] = v
	}
	parent, err := strconv.Atoi(f[1])
	if err != nil {
		return processStat{}, fmt.Errorf("stat field 4: %w", err)
	}
	return processStat{parent: parent, ownTime: ticksToDuration(n[0] + n[1]), reapedTime: ticksToDuration(n[2] + n[3]), pages: n[4]}, nil
}

// parseBusyTime adds up the first line of /proc/stat: user nice system idle
// iowait irq softirq steal. Guest time is already part of user time.
func parseBusyTime(b []byte) (time.Duration, error) {
	line, _, _ := bytes.Cut(b, []byte("\n"))
	f := strings.Fields(string(line))
	if len(f) < 9 || f[0] != "cpu" {
		return 0, fmt.Errorf("/proc/stat begins with %.40q", line)
	}
	var sum uint64
	for _, at := range []int{1, 2, 3, 6, 7, 8} {
		v, err := strconv.ParseUint(f[at], 10, 63)
		if err != nil {
			return 0, fmt.Errorf("/proc/stat: %w", err)
		}
		sum += v
	}
	return ticksToDuration(sum), nil
}

func ticksToDuration(n uint64) time.Duration { return time.Duration(n) * tick } //nolint:gosec // centuries fit
