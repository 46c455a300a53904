//go:build unix

package proc

import (
	"os"
	"os/exec"
	"syscall"
)

func setOwnGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// The only error a signal to our own group can meet is that nobody is left in
// it, which is what was wanted.
func terminateGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGTERM) }

func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
