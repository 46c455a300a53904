//go:build unix

package proc

import (
	"os"
	"os/exec"
	"syscall"
)

// setOwnSession makes the process the leader of a session without a terminal.
func setOwnSession(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// askToEnd sends the signal to end.
func askToEnd(p *os.Process) error { return p.Signal(syscall.SIGTERM) }
