//go:build unix

package proc

import (
	"os"
	"os/exec"
	"syscall"
)

// setOwnGroup makes the process the leader of its own group.
func setOwnGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// terminateGroup asks a group to end. The only possible error is that the group
// is empty, which is the goal.
func terminateGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGTERM) }

// killGroup kills a group. The same applies to its error.
func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
