package room

import (
	"context"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// beat is how often a process says that its runs go on, and asks which of them
// to stop; after silence they are taken for lost.
const (
	beat    = 2 * time.Second
	silence = time.Minute
)

// Begin marks what a process of this node left behind that was killed. It comes
// before anybody can say something: what runs afterwards is this one's.
func (r *Rooms) Begin(ctx context.Context) { r.tend(ctx, r.recover(ctx, true)) }

// Run keeps the runs of this process alive in the eyes of others, and marks
// those of processes that are gone, until ctx ends.
func (r *Rooms) Run(ctx context.Context) {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	looked := r.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if r.busy() {
			stop, err := r.Store.BeatRuns(ctx, r.Node, r.Now(), func(run *junctor.RoomRun) bool { return r.liveRun(run) != nil })
			r.tend(ctx, err)
			for _, run := range stop {
				if l := r.liveRun(&run); l != nil {
					l.stop()
				}
			}
		}
		if r.Now().Sub(looked) > silence/2 {
			looked = r.Now()
			r.tend(ctx, r.recover(ctx, false))
		}
	}
}

// liveRun returns a run that goes on in this process; nil if it does not.
func (r *Rooms) liveRun(run *junctor.RoomRun) *live {
	if l := r.running(place{run.Tenant, run.Workspace}); l != nil && l.id == run.ID {
		return l
	}
	return nil
}

// tend logs what went wrong; it is tried again with the next beat.
func (r *Rooms) tend(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		r.Log.Warn("rooms: the runs of this instance could not be looked after", "error", err, "cause", junctor.AsError(err).Cause)
	}
}

// busy says whether a run goes on here.
func (r *Rooms) busy() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.halls {
		h.last.mu.Lock()
		ended := h.last.ended
		h.last.mu.Unlock()
		if !ended {
			return true
		}
	}
	return false
}
