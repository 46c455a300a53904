package a2a

import (
	"context"
	"errors"

	"github.com/a2aproject/a2a-go/v2/a2a"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/agent"
)

// RecoverTasks marks the tasks as lost that a killed process of this replica left
// behind. The caller calls it once, before it accepts requests: every task that
// starts later belongs to this process.
func (s *Server) RecoverTasks(ctx context.Context) {
	s.logFailure(ctx, s.failLostTasks(ctx, s.Replica))
}

// Run reports to the other replicas that the tasks of this process go on, and
// marks the tasks of dead replicas as lost. It returns when ctx ends.
func (s *Server) Run(ctx context.Context) {
	heartbeat := agent.Heartbeat{
		Now: s.Now, Report: s.reportTasks, LogFailure: s.logFailure,
		Recover: func(ctx context.Context) error { return s.failLostTasks(ctx, "") },
	}
	heartbeat.Run(ctx)
}

// reportTasks stores that the tasks of this process go on, and stops those that
// a request at another replica asked to cancel.
func (s *Server) reportTasks(ctx context.Context) error {
	s.mu.Lock()
	busy := len(s.liveTasks) > 0
	s.mu.Unlock()
	if !busy { // an idle replica does not write
		return nil
	}
	stop, err := s.Store.BeatAgentTasks(ctx, s.Replica, s.Now())
	for i := range stop {
		if l := s.findLiveTask(stop[i].Tenant, stop[i].ID); l != nil {
			l.cancel()
		}
	}
	return err
}

// failLostTasks marks tasks as failed on which no process works any more: those
// whose replica did not report for agent.HeartbeatTimeout, and those of the given
// replica. They are not repeated, because nobody knows whether their last call took
// effect.
func (s *Server) failLostTasks(ctx context.Context, replica string) error {
	rows, err := s.Store.LostAgentTasks(ctx, replica, s.Now().Add(-agent.HeartbeatTimeout))
	if err != nil {
		return err
	}
	var failed []error
	for i := range rows { // one that cannot be marked does not stop the others
		if err := s.failLostTask(ctx, &rows[i]); err != nil && junctor.CodeOf(err) != junctor.CodeConflict {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// failLostTask marks one lost task as failed. A task that cannot be decoded ends as
// it is stored: it would otherwise be found and reported again with every
// heartbeat.
func (s *Server) failLostTask(ctx context.Context, row *junctor.AgentTask) error {
	t, unreadable := decodeTask(row)
	if unreadable != nil {
		row.State, row.Running, row.At = string(a2a.TaskStateFailed), false, s.Now()
		return errors.Join(unreadable, s.Store.For(row.Tenant).UpdateAgentTask(ctx, row))
	}
	why := a2a.NewMessageForTask(a2a.MessageRoleAgent, t, a2a.NewTextPart("the instance stopped during this task; send the message again to continue"))
	ended := applyEvent(*t, s.newStatusEvent(t, a2a.TaskStateFailed, why))
	return s.storeTask(ctx, row, &ended, false)
}

// logFailure logs why tasks could not be reported or recovered; it accepts nil. The
// next heartbeat tries again.
func (s *Server) logFailure(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		s.Log.Warn("cannot renew the leases of running tasks; retrying", "error", err, "cause", junctor.AsError(err).Cause)
	}
}
