package room

import (
	"context"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// heartbeatInterval is how often a process says that its runs go on, and asks which of them
// to stop; after silence they are taken for lost.
const (
	heartbeatInterval = 2 * time.Second
	heartbeatTimeout  = time.Minute
)

// Begin marks what a process of this node left behind that was killed. It comes
// before anybody can say something: what runs afterwards is this one's.
func (r *Rooms) Begin(ctx context.Context) { r.logFailure(ctx, r.recoverLostRuns(ctx, true)) }

// Run keeps the runs of this process alive in the eyes of others, and marks
// those of processes that are gone, until ctx ends.
func (r *Rooms) Run(ctx context.Context) {
	tick := time.NewTicker(heartbeatInterval)
	defer tick.Stop()
	looked := r.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if r.hasLiveRun() {
			stop, err := r.Store.BeatRuns(ctx, r.Node, r.Now(), func(run *junctor.RoomRun) bool { return r.findLiveRun(run) != nil })
			r.logFailure(ctx, err)
			for _, run := range stop {
				if l := r.findLiveRun(&run); l != nil {
					l.stop()
				}
			}
		}
		if r.Now().Sub(looked) > heartbeatTimeout/2 {
			looked = r.Now()
			r.logFailure(ctx, r.recoverLostRuns(ctx, false))
		}
	}
}

// findLiveRun returns a run that goes on in this process; nil if it does not.
func (r *Rooms) findLiveRun(run *junctor.RoomRun) *liveRun {
	if l := r.findRunInRoom(roomKey{run.Tenant, run.Workspace}); l != nil && l.id == run.ID {
		return l
	}
	return nil
}

// logFailure logs what went wrong; it is tried again with the next beat.
func (r *Rooms) logFailure(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		r.Log.Warn("rooms: the runs of this instance could not be looked after", "error", err, "cause", junctor.AsError(err).Cause)
	}
}

// hasLiveRun says whether a run goes on here.
func (r *Rooms) hasLiveRun() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.activeRooms {
		h.latestRun.mu.Lock()
		ended := h.latestRun.ended
		h.latestRun.mu.Unlock()
		if !ended {
			return true
		}
	}
	return false
}
