package upstream

import (
	"context"
	"time"

	"github.com/junctor-mcp/junctor/internal/admission"
)

// Command is a server that runs as a child process. There is no shell: arguments reach
// the program unchanged. All processes of a server are started from one Command, which
// also counts them and keeps their output. It must not be copied after its first use.
type Command struct {
	// Program is the program with its arguments. Its type proves that a principal was
	// allowed to run it.
	Program admission.Command
	Env     []string // KEY=VALUE, on top of a clean environment

	// OpenArgs returns the arguments with the sealed ones in the clear, and the secrets in
	// them, which are masked in the output. It is called for each process that is started.
	// It may be nil: then the arguments of Program are used.
	OpenArgs func(ctx context.Context) (args, secrets []string, err error)

	// MoreEnv gives further variables. It is called for each process that is started. It
	// may be nil.
	MoreEnv func(ctx context.Context) ([]string, error)

	pool     processPool
	output   outputTail
	timeouts childTimeouts
}

// Output gives the end, at most 64 KiB, of what the command's processes wrote to their
// standard error, and to their standard output if it was no message. Values of their
// variables are masked, and secrets in the arguments.
func (c *Command) Output() string { return c.output.keptText() }

// childTimeouts are the waits for a child. A value of 0 means 2 s. Tests set them.
type childTimeouts struct {
	discover time.Duration // for an answer to server/discover
	// trailing is the wait for something that is on its way: the exit status of a process
	// that closed its output, or the first answer of a slow one.
	trailing  time.Duration
	inputEnd  time.Duration // to exit after its input was closed
	terminate time.Duration // to exit after it was asked to
}

// withDefaults gives the timeouts with the default for those that are not set.
func (p childTimeouts) withDefaults() childTimeouts {
	set := func(d *time.Duration) {
		if *d <= 0 {
			*d = 2 * time.Second
		}
	}
	set(&p.discover)
	set(&p.trailing)
	set(&p.inputEnd)
	set(&p.terminate)
	return p
}
