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

// What a reaper is given beside the command's own three files, and what it
// reports.
const (
	lifeFD   = 3 // ends when the process that started the reaper has ended
	reportFD = 4

	reportStarted = "started %d\n"
	reportFailed  = "failed %d\n" // errno
	reportEnded   = "ended %d %d\n"
)

// sweepInterval is how long a sweep waits for a sign of an end before it looks again:
// the kernel's list of children may leave one out while others end.
const sweepInterval = 10 * time.Millisecond

// Reap is the whole life of a reaper: it starts args[0] with the argument list
// args[1:] in a group of its own, hands its own standard files over, passes
// signals on, and gives the exit status when the command and every process that
// came from it have ended. It is the subreaper of them all: whoever loses its
// parent becomes its child, so nobody can leave, not by a session of its own
// either. Once the process that started it is gone, it kills until none is left.
func Reap(args []string) int {
	life, report := os.NewFile(lifeFD, "life"), os.NewFile(reportFD, "report")
	if len(args) < 2 || !isPipe(life) || !isPipe(report) {
		_, _ = fmt.Fprintln(os.Stderr, "this is no command for people: Junctor starts it to guard the processes of servers")
		return reapUsageExit
	}
	// What it guards must not attach to it and make it let go.
	_ = Protect()
	// The command is to die with this thread, should somebody kill the reaper.
	runtime.LockOSThread()
	unix.CloseOnExec(lifeFD)
	unix.CloseOnExec(reportFD)
	// And whatever else our parent got without asking; older kernels cannot.
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
	Release() // it may stay for weeks and needs next to nothing
	r.run()
	code, sig := r.status.ExitStatus(), 0
	if r.status.Signaled() {
		sig = int(r.status.Signal())
	}
	_, _ = fmt.Fprintf(report, reportEnded, code, sig)
	if sig != 0 {
		return 128 + sig // as shells say it
	}
	return code
}

func isPipe(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeNamedPipe != 0
}

// subreaper is a reaper at work. One goroutine reaps and signals, so a number that
// it signals is never somebody else's.
type subreaper struct {
	pid           int             // of the command, and its group
	commandReaped bool            // the command has ended, and its number is free
	status        unix.WaitStatus // then: how it ended

	parentEnded chan struct{}  // our parent has
	childEnded  chan os.Signal // one of them ended
	signals     chan os.Signal // signals to pass on
}

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
	// The files are the command's alone now: their other ends see when it
	// closes them.
	for fd := range 3 {
		if err := unix.Dup3(int(null.Fd()), fd, 0); err != nil {
			return err
		}
	}
	return nil
}

// run returns when the command has ended, or our parent has, and nobody is left.
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

// reapChildren takes the status of all that have ended, and says whether any child is left.
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

// killDescendants kills children until there are none. The children of one that was
// killed are ours from then on, so the next look finds them.
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

// ownChildren lists the children of this process. A kernel that keeps no such
// list is asked for every process and its parent.
func ownChildren() []int {
	self := os.Getpid()
	if pids, err := childrenOf(self); err == nil {
		return pids
	}
	return childrenByParent(self)
}

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
