//go:build unix

package policy

import (
	"fmt"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// TestStoppedReplica stops a replica while a rule changes: when it goes on, what it has to
// decide first is decided by the rule, and so is the result of a call that it had begun.
func TestStoppedReplica(t *testing.T) {
	t.Parallel()
	tr := newTrio(t)
	stopped := tr.replicas[2]
	for _, c := range []struct{ rule, tool, want string }{{denyRule, "read", "denied"}, {resultRule, "hold", "withheld"}} {
		ended := make(chan string, 1)
		begin := func() { ended <- tr.call(2, c.tool) }
		if c.tool == "hold" {
			go begin()
			<-tr.arrived
		}
		stopped.Signal(t, syscall.SIGSTOP)
		began := time.Now()
		tr.change(0, http.StatusOK, "PUT", "/policies/changing", c.rule)
		took := time.Since(began)
		if c.tool == "hold" {
			tr.release <- struct{}{}
		} else {
			go begin() // the request waits for the replica
			poll.Pause(200*time.Millisecond, "the request has to be there before the replica goes on")
		}
		reached := tr.reached.Load()
		stopped.Signal(t, syscall.SIGCONT)
		select {
		case end := <-ended:
			if end != c.want && end != "unavailable" {
				t.Errorf("%s: the replica that was stopped came to %q, want %q", c.tool, end, c.want)
			}
			if tr.reached.Load() != reached {
				t.Errorf("%s: %d calls reached the server", c.tool, tr.reached.Load()-reached)
			}
			t.Logf("figure: a replica was stopped while a rule changed, which was answered after %.1f s; when it went on, its first call of %s was %s", took.Seconds(), c.tool, end)
		case <-time.After(patience):
			t.Fatal("the call does not end")
		}
		poll.Until(t, "the replica decides again", patience, func() bool { return tr.call(2, "read") == c.want })
		tr.change(1, http.StatusNoContent, "DELETE", "/policies/changing", "")
		for n := range tr.replicas {
			poll.Until(t, fmt.Sprintf("replica %d makes calls", n), patience, func() bool { return tr.call(n, "read") == "made" })
		}
	}
}
