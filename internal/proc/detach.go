package proc

import (
	"os"
	"os/exec"

	junctor "github.com/junctor-mcp/junctor"
)

// StartDetached starts c in a session of its own, so that it outlives this process and
// its terminal. Unlike other commands it gets exactly the environment in c.Env, because it
// stands for this program and not for a foreign one. Stdout and Stderr must be files or
// nil. ended receives how it ended, if it ends while this process runs.
func StartDetached(c Command) (pid int, ended <-chan error, err error) {
	if c.Path == "" {
		return 0, nil, junctor.Errorf(junctor.CodeInvalid, "no program to start: the command is empty")
	}
	for _, out := range []any{c.Stdout, c.Stderr} {
		if _, file := out.(*os.File); out != nil && !file {
			return 0, nil, junctor.Errorf(junctor.CodeInternal, "the output of a detached process must be a file: nothing copies it after the end of this one")
		}
	}
	cmd := exec.Command(c.Path, c.Args...) //nolint:gosec,noctx // this program itself; it outlives any context
	cmd.Env, cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Env, c.Dir, c.Stdin, c.Stdout, c.Stderr
	setOwnSession(cmd)
	if err := cmd.Start(); err != nil {
		return 0, nil, startError(c, err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	return cmd.Process.Pid, done, nil
}

// Terminate asks a process that is not a child of this one to end.
func Terminate(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil || pid <= 1 {
		return junctor.Errorf(junctor.CodeNotFound, "there is no process %d", pid)
	}
	defer func() { _ = p.Release() }()
	if err := askToEnd(p); err != nil {
		return junctor.Errorf(junctor.CodeUnavailable, "the process %d cannot be asked to end: %w", pid, err)
	}
	return nil
}
