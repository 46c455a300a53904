package cli

import (
	"fmt"
	"time"
)

// How long nothing is said of something that takes long, and how often then. A
// terminal is told in one line that counts; a log gets a line now and then.
const (
	silentFor   = 2 * time.Second
	countEvery  = time.Second
	repeatEvery = 15 * time.Second
)

// waiting does something that may take long, such as starting a command that has
// to be fetched first, and says how long it has been going on.
func (c *cli) waiting(what string, do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	begun := time.Now()
	counts := isTerminal(c.err)
	next := time.NewTimer(silentFor)
	defer next.Stop()
	said := false
	for {
		select {
		case err := <-done:
			if said && counts {
				fmt.Fprint(c.err, "\r\x1b[K")
			}
			return err
		case <-next.C:
			said = true
			passed := time.Since(begun).Round(time.Second)
			if counts {
				fmt.Fprintf(c.err, "\r\x1b[K%s … %s", what, passed)
				next.Reset(countEvery)
			} else {
				c.say("%s … %s", what, passed)
				next.Reset(repeatEvery)
			}
		}
	}
}
