package room

import (
	"context"
	"errors"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/agent"
)

// RecoverRuns marks the runs as lost that a killed process of this replica left
// behind. The caller calls it once, before it accepts requests: every run that
// starts later belongs to this process.
func (r *Rooms) RecoverRuns(ctx context.Context) { r.logFailure(ctx, r.recoverLostRuns(ctx, true)) }

// Run reports to the other replicas that the runs of this process go on, and
// marks the runs of dead replicas as lost. It returns when ctx ends.
func (r *Rooms) Run(ctx context.Context) {
	heartbeat := agent.Heartbeat{
		Now: r.Now, Report: r.reportRuns, LogFailure: r.logFailure,
		Recover: func(ctx context.Context) error { return r.recoverLostRuns(ctx, false) },
	}
	heartbeat.Run(ctx)
}

// reportRuns stores that the runs of this process go on. It stops those that a request at
// another replica asked to stop, and those whose room was deleted there.
func (r *Rooms) reportRuns(ctx context.Context) error {
	// Before the rows are read: the row of a run is stored before the run is listed
	// here, so a run of this list without a row has lost it.
	live := r.listLiveRuns()
	if len(live) == 0 { // an idle replica does not write
		return nil
	}
	stop, err := r.Store.BeatRuns(ctx, r.Replica, r.Now(), func(run *junctor.RoomRun) bool {
		l := r.findLiveRun(run)
		delete(live, l)
		return l != nil
	})
	for _, run := range stop {
		if l := r.findLiveRun(&run); l != nil {
			l.stop()
		}
	}
	if err != nil {
		return err
	}
	return r.stopDeletedRuns(ctx, live)
}

// stopDeletedRuns stops those runs that have no row any more, because their room was
// deleted. A run that is just ending still has one.
func (r *Rooms) stopDeletedRuns(ctx context.Context, live map[*liveRun]roomKey) error {
	errs := make([]error, 0, len(live))
	for l, at := range live {
		_, err := r.Store.For(at.tenant).RoomRun(ctx, at.room, l.id)
		if junctor.CodeOf(err) == junctor.CodeNotFound {
			l.stop()
			err = nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// findLiveRun returns a run that goes on in this process; nil if it does not.
func (r *Rooms) findLiveRun(run *junctor.RoomRun) *liveRun {
	if l := r.findRunInRoom(roomKey{run.Tenant, run.Room}); l != nil && l.id == run.ID {
		return l
	}
	return nil
}

// logFailure logs why runs could not be reported or recovered; it accepts nil.
// The next heartbeat tries again.
func (r *Rooms) logFailure(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		r.Log.Warn("cannot renew the leases of runs; retrying", "error", err, "cause", junctor.AsError(err).Cause)
	}
}

// listLiveRuns returns the runs that go on in this process, with their rooms.
func (r *Rooms) listLiveRuns() map[*liveRun]roomKey {
	r.mu.Lock()
	defer r.mu.Unlock()
	live := map[*liveRun]roomKey{}
	for at, h := range r.activeRooms {
		h.latestRun.mu.Lock()
		ended := h.latestRun.ended
		h.latestRun.mu.Unlock()
		if !ended {
			live[h.latestRun] = at
		}
	}
	return live
}
