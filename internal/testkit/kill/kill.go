// Package kill ends a program at moments it cannot choose, while it is under
// load, and starts it again on what it left behind. It stands outside the data
// path, and only tests import it; test/program starts the real binary for it.
package kill

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// Process is a running program.
type Process interface {
	// Kill ends it the hard way, kill -9, and returns when it is gone.
	Kill()
}

// Loop is what is done again and again. Start and Rounds are needed.
type Loop struct {
	Rounds int
	// Start starts the program on the same data as before and returns when it is
	// ready, with how long that took. It fails the test where it cannot.
	Start func(round int) (p Process, ready time.Duration)
	// Load keeps the program busy until ctx ends, which is after the kill: it must
	// take errors as they come.
	Load func(ctx context.Context, round int)
	// Check looks at what is there after a kill, with the program running again.
	Check func(round int)
	// Least and Most bound the moment of the kill, from when the load begins.
	// Without them it comes within a quarter of a second.
	Least, Most time.Duration
}

// Report is what a Loop measured.
type Report struct {
	Rounds  int
	Ready   []time.Duration // of every start after a kill
	Slowest time.Duration   // of Ready
}

// Run kills the program Rounds times, and once more at the end.
func (l Loop) Run(t testing.TB) Report {
	t.Helper()
	if l.Most <= l.Least {
		l.Most = l.Least + 250*time.Millisecond
	}
	seed := rand.Uint64()
	t.Logf("moments of the kills: seed %d", seed)
	moments := rand.New(rand.NewPCG(seed, 0))
	var r Report
	p, _ := l.Start(0)
	defer func() { p.Kill() }()
	for round := 1; round <= l.Rounds && !t.Failed(); round++ {
		l.strike(p, round, l.Least+time.Duration(moments.Int64N(int64(l.Most-l.Least))))
		var ready time.Duration
		p, ready = l.Start(round)
		r.Rounds++
		r.Ready = append(r.Ready, ready)
		if l.Check != nil {
			l.Check(round)
		}
	}
	if len(r.Ready) > 0 {
		r.Slowest = slices.Max(r.Ready)
	}
	return r
}

// strike kills p after a while under load.
func (l Loop) strike(p Process, round int, after time.Duration) {
	ctx, cancel := context.WithCancel(context.Background())
	var load sync.WaitGroup
	if l.Load != nil {
		load.Go(func() { l.Load(ctx, round) })
	}
	poll.Pause(after, "the kill comes at a random moment of the load")
	p.Kill()
	cancel()
	load.Wait()
}
