package proc

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// These are the file descriptors of a reaper, after the command's own three, and
// the forms of its reports.
const (
	// Reaches its end when the process that started the reaper has ended.
	lifeFD   = 3
	reportFD = 4

	reportStarted = "started %d\n"
	reportFailed  = "failed %d\n" // errno
	reportEnded   = "ended %d %d\n"
)

// sweepInterval is how long killDescendants waits for an end before it looks
// again: the kernel's list of children may omit one while others end.
const sweepInterval = 10 * time.Millisecond

// RunReaper is the main function of a reaper. It starts args[0] with the argument list
// args[1:] in its own group, hands over its standard files and passes signals on.
// It returns the exit status when the command and all of its descendants have
// ended.
//
// The reaper is their subreaper: a process that loses its parent becomes the
// reaper's child. So no descendant can escape, not even with a new session. When
// the process that started the reaper has ended, the reaper kills until none is
// left.
func RunReaper(args []string) int {
	life, report := os.NewFile(lifeFD, "life"), os.NewFile(reportFD, "report")
	if len(args) < 2 || !isPipe(life) || !isPipe(report) {
		_, _ = fmt.Fprintln(os.Stderr, "this is no command for people: Junctor starts it to guard the processes of servers")
		return reapUsageExit
	}
	// The guarded processes must not be able to attach to the reaper and free themselves.
	_ = ProtectMemory()
	// The command dies with this thread (Pdeathsig) if the reaper is killed.
	runtime.LockOSThread()
	unix.CloseOnExec(lifeFD)
	unix.CloseOnExec(reportFD)
	// Close all other inherited files, too; older kernels cannot do that.
	_ = unix.CloseRange(lifeFD, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC)
	r := &subreaper{parentEnded: make(chan struct{}), childEnded: make(chan os.Signal, 1), signals: make(chan os.Signal, 4)}
	signal.Notify(r.childEnded, unix.SIGCHLD)
	signal.Notify(r.signals, unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT)
	if err := r.startCommand(args); err != nil {
		var errno syscall.Errno
		if !errors.As(err, &errno) {
			errno = unix.EINVAL
		}
		_, _ = fmt.Fprintf(report, reportFailed, uintptr(errno))
		return 1
	}
	_, _ = fmt.Fprintf(report, reportStarted, r.pid)
	go func() {
		_, _ = io.Copy(io.Discard, life)
		close(r.parentEnded)
	}()
	ReleaseMemory() // a reaper may run for weeks and needs almost no memory
	r.run()
	code, sig := r.status.ExitStatus(), 0
	if r.status.Signaled() {
		sig = int(r.status.Signal())
	}
	_, _ = fmt.Fprintf(report, reportEnded, code, sig)
	if sig != 0 {
		return 128 + sig // the convention of shells
	}
	return code
}

// isPipe reports whether f is an open pipe.
func isPipe(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeNamedPipe != 0
}

// subreaper is the state of a running reaper. One goroutine reaps and signals, so
// a pid that it signals never belongs to another process.
type subreaper struct {
	pid int // of the command and its group
	// The command has ended, and its pid is free.
	commandReaped bool
	status        unix.WaitStatus // how it ended

	parentEnded chan struct{}  // closed when our parent has ended
	childEnded  chan os.Signal // a child has ended
	signals     chan os.Signal // signals to pass on
}

// startCommand becomes the subreaper and starts the command. It then gives up its
// own standard files.
func (r *subreaper) startCommand(args []string) error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	p, err := os.StartProcess(args[0], args[1:], &os.ProcAttr{
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
		Sys:   &syscall.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL},
	})
	if err != nil {
		return err
	}
	r.pid = p.Pid
	_ = p.Release()
	// From now on only the command has these files, so their other ends notice when
	// it closes them.
	for fd := range 3 {
		if err := unix.Dup3(int(null.Fd()), fd, 0); err != nil {
			return err
		}
	}
	return nil
}

// run returns when the command or our parent has ended, and no descendant is
// left.
func (r *subreaper) run() {
	for !r.commandReaped {
		select {
		case <-r.parentEnded:
			_ = unix.Kill(-r.pid, unix.SIGKILL)
			r.killDescendants()
			return
		case s := <-r.signals:
			if s, ok := s.(syscall.Signal); ok {
				_ = unix.Kill(-r.pid, s)
			}
		case <-r.childEnded:
			r.reapChildren()
		}
	}
	r.killDescendants()
}

// reapChildren reaps all children that have ended, and reports whether any child
// is left.
func (r *subreaper) reapChildren() bool {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return false // no children
		case pid == 0:
			return true
		case pid == r.pid:
			r.commandReaped, r.status = true, status
		}
	}
}

// killDescendants kills children until there are none. The children of a killed
// process become ours, so the next look finds them.
func (r *subreaper) killDescendants() {
	for r.reapChildren() {
		for _, pid := range ownChildren() {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		select {
		case <-r.childEnded:
		case <-time.After(sweepInterval):
		}
	}
}

// ownChildren returns the children of this process. If the kernel keeps no such
// list, it reads the parent of every process.
func ownChildren() []int {
	self := os.Getpid()
	if pids, err := childrenOf(self); err == nil {
		return pids
	}
	return childrenByParent(self)
}

// childrenByParent finds the children of a process by reading the parent of every
// process.
func childrenByParent(parent int) (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		b, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // it has ended
		}
		if s, err := parseStat(b); err == nil && s.parent == parent {
			pids = append(pids, pid)
		}
	}
	return pids
}
