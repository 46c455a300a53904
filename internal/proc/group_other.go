//go:build !unix

package proc

import (
	"os"
	"os/exec"
)

func setOwnGroup(*exec.Cmd) {}

// There is no signal to ask with, so a process is ended at once.
func terminateGroup(p *os.Process) { killGroup(p) }

func killGroup(p *os.Process) { _ = p.Kill() }
