package room

import (
	"context"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/agent"
)

// Begin marks the runs as lost that a killed process of this replica left
// behind. The caller calls it once, before it accepts requests: every run that
// starts later belongs to this process.
func (r *Rooms) Begin(ctx context.Context) { r.logFailure(ctx, r.recoverLostRuns(ctx, true)) }

// Run reports to the other replicas that the runs of this process go on, and
// marks the runs of dead replicas as lost. It returns when ctx ends.
func (r *Rooms) Run(ctx context.Context) {
	heartbeat := agent.Heartbeat{
		Now: r.Now, Report: r.reportRuns, LogFailure: r.logFailure,
		Recover: func(ctx context.Context) error { return r.recoverLostRuns(ctx, false) },
	}
	heartbeat.Run(ctx)
}

// reportRuns stores that the runs of this process go on, and stops those that a
// request at another replica asked to stop.
func (r *Rooms) reportRuns(ctx context.Context) error {
	if !r.hasLiveRun() { // an idle replica does not write
		return nil
	}
	stop, err := r.Store.BeatRuns(ctx, r.Node, r.Now(), func(run *junctor.RoomRun) bool { return r.findLiveRun(run) != nil })
	for _, run := range stop {
		if l := r.findLiveRun(&run); l != nil {
			l.stop()
		}
	}
	return err
}

// findLiveRun returns a run that goes on in this process; nil if it does not.
func (r *Rooms) findLiveRun(run *junctor.RoomRun) *liveRun {
	if l := r.findRunInRoom(roomKey{run.Tenant, run.Workspace}); l != nil && l.id == run.ID {
		return l
	}
	return nil
}

// logFailure logs why runs could not be reported or recovered; it accepts nil.
// The next heartbeat tries again.
func (r *Rooms) logFailure(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		r.Log.Warn("rooms: the runs of this instance could not be looked after", "error", err, "cause", junctor.AsError(err).Cause)
	}
}

// hasLiveRun reports whether a run goes on in this process.
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
