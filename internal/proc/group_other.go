//go:build !unix

package proc

import (
	"os"
	"os/exec"
)

// setOwnGroup does nothing: this system has no process groups.
func setOwnGroup(*exec.Cmd) {}

// terminateGroup kills the process at once: there is no signal to ask it to end.
func terminateGroup(p *os.Process) { killGroup(p) }

// killGroup kills the process alone.
func killGroup(p *os.Process) { _ = p.Kill() }
