package poll_test

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// failures records what a helper reports, and ends its goroutine as the real one does.
type failures struct {
	testing.TB
	messages []string
}

func (f *failures) Helper() {}

func (f *failures) Fatalf(format string, args ...any) {
	f.messages = append(f.messages, fmt.Sprintf(format, args...))
	runtime.Goexit()
}

func TestUntilReturnsOnceTheConditionHolds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		poll.Until(t, "half a second", time.Minute, func() bool { return time.Since(begun) >= 500*time.Millisecond })
		if took := time.Since(begun); took > 520*time.Millisecond {
			t.Errorf("the condition held after 500 ms, seen after %v", took)
		}
	})
}

func TestUntilFailsWithWhatWasAwaited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun, f := time.Now(), &failures{TB: t}
		done := make(chan struct{})
		go func() {
			defer close(done)
			poll.Until(f, "the moon", 3*time.Second, func() bool { return false })
		}()
		<-done
		if len(f.messages) != 1 || f.messages[0] != "awaited 3s in vain: the moon" {
			t.Errorf("reported %q", f.messages)
		}
		if took := time.Since(begun); took != 3*time.Second {
			t.Errorf("gave up after %v", took)
		}
	})
}

// A condition that comes to hold while the last interval passes is still seen.
func TestHoldsChecksAtTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		if !poll.Holds(time.Second, func() bool { return time.Since(begun) >= time.Second }) {
			t.Error("the condition holds at the limit, but was not checked then")
		}
		checks := 0
		if poll.Holds(0, func() bool { checks++; return false }) || checks != 1 {
			t.Errorf("without any time the condition was checked %d times", checks)
		}
		// One check that takes longer than the limit is followed by another.
		checks = 0
		if !poll.Holds(time.Second, func() bool { checks++; time.Sleep(2 * time.Second); return checks == 2 }) {
			t.Error("the limit passed within a check, and none came after it")
		}
	})
}

func TestHoldsSlowsDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(*testing.T) {
		checks := 0
		poll.Holds(time.Second, func() bool { checks++; return false })
		if checks < 50 || checks > 60 { // 1, 2, 4, 8, 16, then every 20 ms
			t.Errorf("%d checks in a second", checks)
		}
	})
}

func TestPauseNeedsAReason(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		poll.Pause(time.Second, "the time is the point")
		if took := time.Since(begun); took != time.Second {
			t.Errorf("took %v", took)
		}
	})
	defer func() {
		if recover() == nil {
			t.Error("a pause without a reason was made")
		}
	}()
	poll.Pause(0, "")
}
