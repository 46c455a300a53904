package proc

import (
	"fmt"
	"syscall"
)

// reapUsageExit is the exit status of a reaper that was not started as one.
const reapUsageExit = 2

// ExitError is the way a command of StartReaped ended, unless with exit status
// 0. It reads like an *exec.ExitError, which cannot be made from a reaper's
// report.
type ExitError struct {
	Code   int            // exit status; -1 if a signal ended it
	Signal syscall.Signal // 0 if it ended by itself
}

// Error returns the same text as *exec.ExitError.
func (e *ExitError) Error() string {
	if e.Signal != 0 {
		return "signal: " + e.Signal.String()
	}
	return fmt.Sprintf("exit status %d", e.Code)
}
