//go:build !unix

package proc

import (
	"os"
	"os/exec"
)

// setOwnSession does nothing: this system has no sessions.
func setOwnSession(*exec.Cmd) {}

// askToEnd kills the process: there is no signal to ask it to end.
func askToEnd(p *os.Process) error { return p.Kill() }
