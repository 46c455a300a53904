// Package poll waits for what sends no signal: another process, a file, a counter of
// the operating system. Whatever can be waited on directly (a channel, a context, a
// fake clock in a synctest bubble) needs nothing from here.
package poll

import (
	"testing"
	"time"
)

// The interval starts small so that a condition that holds soon costs no time, and
// grows so that one that holds late costs no CPU.
const (
	firstInterval = time.Millisecond
	lastInterval  = 20 * time.Millisecond
)

// Until checks condition until it holds, and fails the test if it does not hold within
// limit. The name of what is awaited goes into the failure, as in "awaited 1m0s in
// vain: the journal's second segment". Like every function that may fail a test, it
// belongs on the test's own goroutine.
func Until(t testing.TB, what string, limit time.Duration, condition func() bool) {
	t.Helper()
	if !Holds(limit, condition) {
		t.Fatalf("awaited %v in vain: %s", limit, what)
	}
}

// Holds is Until for callers that report the failure themselves: it returns whether
// condition came to hold within limit. The last check is made after the limit has
// passed, so a machine that stalls for the whole limit does not decide the outcome.
func Holds(limit time.Duration, condition func() bool) bool {
	end := time.Now().Add(limit)
	for interval := firstInterval; ; interval = min(2*interval, lastInterval) {
		late := !time.Now().Before(end)
		if condition() {
			return true
		}
		if late {
			return false
		}
		time.Sleep(min(interval, max(time.Until(end), 0)))
	}
}

// Pause lets d pass where nothing can be waited on because the time itself is the
// point: a kill at a random moment, the pace of a load, the expiry of a token in
// another process. The reason is an argument so that every use has to state one.
func Pause(d time.Duration, why string) {
	if why == "" {
		panic("poll.Pause needs a reason")
	}
	time.Sleep(d)
}
