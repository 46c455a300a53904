//go:build !linux

package proc

import (
	"context"
	"os"
)

// ReapVerb is the first argument of a reaper, which only Linux has.
const ReapVerb = "reap"

type reaper struct{ pid int }

func (*reaper) terminate(*os.Process) {}
func (*reaper) kill()                 {}

// StartReaped is Start here, and promises no more than it: the group ends with
// the command, with Stop and with ctx, but what left the group lives on, and
// where this process is killed the command does too.
func StartReaped(ctx context.Context, c Command) (*Process, error) { return Start(ctx, c) }

// Reap does nothing here: nobody starts a reaper.
func Reap([]string) int { return reapUsageExit }
