package upstream

import (
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

func TestBreakerOpensAndCloses(t *testing.T) {
	t.Parallel()
	now := time.Now()
	b := &breaker{serverID: "x", now: func() time.Time { return now }}
	down := junctor.Errorf(junctor.CodeUnreachable, "nobody there")
	open := func() time.Duration { // how long calls are kept away
		e := junctor.AsError(b.checkAllowed("c"))
		if e == nil {
			return 0
		}
		if e.Code != junctor.CodeUnavailable || e.RetryAfter <= 0 {
			t.Fatalf("%+v", e)
		}
		return e.RetryAfter
	}
	for range failuresToOpen - 1 {
		b.recordFailure("c", down)
	}
	if open() != 0 {
		t.Error("it opened too soon")
	}
	// Many calls were under way when the server went away: that is one failure
	// of the server, however many callers see it.
	for range 200 {
		b.recordFailure("c", down)
	}
	first := open()
	if first < firstOpenTime/2 || first > 2*firstOpenTime {
		t.Errorf("open for %v after the first failures", first)
	}
	// Then one call at a time finds out, and each that fails doubles the wait.
	last := first
	for n := range 8 {
		now = now.Add(last)
		if open() != 0 {
			t.Fatalf("trial %d was not let through", n)
		}
		if open() == 0 {
			t.Errorf("trial %d was two", n)
		}
		b.recordFailure("c", down)
		b.recordFailure("c", down) // a late one
		next := open()
		if next < last || next > 3*last && n < 5 || next > maxOpenTime*6/5 {
			t.Errorf("trial %d: open for %v after %v", n, next, last)
		}
		last = min(next, maxOpenTime*4/5)
		now = now.Add(next - last)
	}
	now = now.Add(maxOpenTime)
	if open() != 0 {
		t.Fatal("no trial")
	}
	b.recordSuccess("c")
	for range failuresToOpen - 1 {
		b.recordFailure("c", down)
	}
	if open() != 0 {
		t.Error("it is not closed by an answer")
	}
	// What is the caller's doing, or the server's own error, opens nothing.
	b.recordSuccess("c")
	for range 3 * failuresToOpen {
		b.recordFailure("c", junctor.Errorf(junctor.CodeCanceled, "gone"))
		b.recordFailure("c", junctor.Errorf(junctor.CodeTooLarge, "large"))
	}
	if open() != 0 {
		t.Error("opened by what is no failure")
	}
	// A refused credential is that credential's trouble.
	b.recordFailure("other", junctor.Errorf(junctor.CodeUnauthenticated, "no"))
	if junctor.CodeOf(b.checkAllowed("other")) != junctor.CodeUnauthenticated || open() != 0 {
		t.Error("a refused credential")
	}
	now = now.Add(refusedTime + 1)
	if err := b.checkAllowed("other"); err != nil {
		t.Errorf("refused for ever: %v", err)
	}
}
