package proc

import (
	"fmt"
	"syscall"
)

// reapUsageExit is the exit status of a reaper that was not started as one.
const reapUsageExit = 2

// ExitError is how a command of StartReaped ended, unless with exit status 0. It
// reads like an *exec.ExitError, which cannot be made from a reaper's word.
type ExitError struct {
	Code   int            // exit status; -1 when a signal ended it
	Signal syscall.Signal // 0 when it ended by itself
}

func (e *ExitError) Error() string {
	if e.Signal != 0 {
		return "signal: " + e.Signal.String()
	}
	return fmt.Sprintf("exit status %d", e.Code)
}
