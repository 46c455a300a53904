package audit

import (
	"fmt"
	"os"
	"sync"
	"testing"
	"testing/synctest"
)

func TestTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var turns turn
		come := func() (*note, chan bool) {
			n, mine := &note{told: make(chan bool, 1)}, make(chan bool, 1)
			go func() { mine <- turns.wait(n) }()
			synctest.Wait()
			return n, mine
		}
		_, first := come()
		_, second := come()
		third, last := come()
		if !<-first || len(second) > 0 || len(last) > 0 {
			t.Fatal("the turn is not that of the first alone")
		}
		turns.pass()
		if !<-second || len(last) > 0 {
			t.Fatal("it was not passed to the second")
		}
		if others := turns.meanwhile(); len(others) != 1 || others[0] != third {
			t.Fatalf("%d came meanwhile", len(others))
		}
		third.told <- true
		if <-last {
			t.Error("what was written is to be written again")
		}
		if len(turns.meanwhile()) > 0 {
			t.Error("somebody comes twice")
		}
		if _, next := come(); !<-next {
			t.Error("the turn is not free")
		}
		turns.pass()
		if _, next := come(); !<-next {
			t.Error("the turn is not free after it was passed to nobody")
		}
	})
}

// crowded is a disk on which somebody else has come to write before each write ends.
type crowded struct {
	*os.File
	meanwhile *func()
}

func (w *crowded) WriteAt(b []byte, off int64) (int, error) {
	(*w.meanwhile)()
	return w.File.WriteAt(b, off)
}

// Turns go from hand to hand, and everybody is recorded once.
func TestCrowd(t *testing.T) {
	t.Parallel()
	dir := place(t)
	const callers = 10 * maxRounds
	meanwhile := func() {}
	j := open(t, Options{Dir: dir, open: func(path string, fresh bool) (file, error) {
		f, err := openFile(path, fresh)
		if err != nil {
			return nil, err
		}
		return &crowded{f.(*os.File), &meanwhile}, nil
	}})
	var wg sync.WaitGroup
	left := callers
	meanwhile = func() { // under the journal's lock
		if left == 0 {
			return
		}
		left--
		c := ended(fmt.Sprint("c", left))
		wg.Go(func() { record(t, j, c) })
		for waits := 0; waits == 0; {
			j.turn.mu.Lock()
			waits = len(j.turn.waiting)
			j.turn.mu.Unlock()
		}
	}
	record(t, j, ended("first"))
	wg.Wait()
	closed(t, j)
	calls := map[string]int{}
	all, err := List(t.Context(), dir, Filter{Phase: PhaseEnd})
	for _, r := range all {
		calls[r.Call]++
	}
	if err != nil || len(all) != callers+1 || len(calls) != callers+1 {
		t.Errorf("%d records of %d calls, %v; want one of each of %d", len(all), len(calls), err, callers+1)
	}
	clean(t, dir)
}
