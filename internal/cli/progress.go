package cli

import (
	"fmt"
	"time"
)

// The times of progress notes. A quick command prints none. A terminal then
// shows one line that counts the seconds; a log gets a line now and then.
const (
	progressDelay    = 2 * time.Second
	terminalInterval = time.Second
	logInterval      = 15 * time.Second
)

// runWithProgress runs do, which may take long, such as adding a server whose
// command has to be downloaded first. It prints what is waited for and for how
// long. It returns the error of do, and does not return before do does.
func (c *cli) runWithProgress(what string, do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	begun := time.Now()
	counts := isTerminal(c.err)
	next := time.NewTimer(progressDelay)
	defer next.Stop()
	said := false
	for {
		select {
		case err := <-done:
			if said && counts {
				// Removes the counting line, so that it does not stay above the
				// result.
				fmt.Fprint(c.err, "\r\x1b[K")
			}
			return err
		case <-next.C:
			said = true
			passed := time.Since(begun).Round(time.Second)
			if counts {
				fmt.Fprintf(c.err, "\r\x1b[K%s … %s", what, passed)
				next.Reset(terminalInterval)
			} else {
				c.printNote("%s … %s", what, passed)
				next.Reset(logInterval)
			}
		}
	}
}
