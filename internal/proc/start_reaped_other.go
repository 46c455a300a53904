//go:build !linux

package proc

import (
	"context"
	"os"
)

// ReaperVerb is the first argument of a reaper, which only Linux has.
const ReaperVerb = "reap"

// reaper exists only on Linux.
type reaper struct{ pid int }

func (*reaper) terminate(*os.Process) {}
func (*reaper) kill()                 {}

// StartReaped is the same as Start on this system: the group ends with the
// command, with Stop and with ctx. But a process that left the group lives on,
// and if this process is killed, the command lives on, too.
func StartReaped(ctx context.Context, c Command) (*Process, error) { return Start(ctx, c) }

// RunReaper is not used on this system.
func RunReaper([]string) int { return reapUsageExit }
