package upstream

import (
	"context"
	"time"

	"github.com/junctor-mcp/junctor/internal/admission"
)

// Command is a server that is run as a child process. It comes from the
// operator alone, and there is no shell: Args reach the program as they are. All
// children of a server are started from one Command, which also remembers how
// they did: do not copy one that was used.
type Command struct {
	Program admission.Command // what somebody was allowed to have run
	Env     []string          // KEY=VALUE, on top of the clean environment
	Secrets []string          // parts of the program's arguments that are masked in what it writes

	// MoreEnv gives further variables, read anew for each process that is
	// started; it may be nil.
	MoreEnv func(ctx context.Context) ([]string, error)

	pool     processPool
	output   outputTail
	timeouts childTimeouts
}

// Said is the end, at most 64 KiB, of what the command's processes wrote to
// their standard error, and to their output where it was no message. Values of
// their variables are masked, and Secrets.
func (c *Command) Said() string { return c.output.keptText() }

// childTimeouts is how long a child is waited for. A zero one has the default that
// stands beside it.
type childTimeouts struct {
	discover  time.Duration // for an answer to server/discover: 2 s
	trailing  time.Duration // for what is on its way: the exit status of one that closed its output, the first answer of one that was slow: 2 s
	inputEnd  time.Duration // to end when its input has ended: 2 s
	terminate time.Duration // to end when it was asked to: 2 s
}

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
