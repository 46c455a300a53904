package a2a

import (
	"context"
	"errors"

	"github.com/a2aproject/a2a-go/v2/a2a"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/agent"
)

// Begin marks the tasks as lost that a killed process of this replica left
// behind. The caller calls it once, before it accepts requests: every task that
// starts later belongs to this process.
func (s *Server) Begin(ctx context.Context) { s.tend(ctx, s.lose(ctx, s.Node)) }

// Run reports to the other replicas that the tasks of this process go on, and
// marks the tasks of dead replicas as lost. It returns when ctx ends.
func (s *Server) Run(ctx context.Context) {
	heartbeat := agent.Heartbeat{
		Now: s.Now, Report: s.reportTasks, LogFailure: s.tend,
		Recover: func(ctx context.Context) error { return s.lose(ctx, "") },
	}
	heartbeat.Run(ctx)
}

// reportTasks stores that the tasks of this process go on, and stops those that
// a request at another replica asked to cancel.
func (s *Server) reportTasks(ctx context.Context) error {
	s.mu.Lock()
	busy := len(s.tasks) > 0
	s.mu.Unlock()
	if !busy { // an idle replica does not write
		return nil
	}
	stop, err := s.Store.BeatAgentTasks(ctx, s.Node, s.Now())
	for i := range stop {
		if l := s.running(stop[i].Tenant, stop[i].ID); l != nil {
			l.cancel()
		}
	}
	return err
}

// lose marks tasks that nobody works on any more. They are not begun again:
// whether their last call took effect is not known.
func (s *Server) lose(ctx context.Context, node string) error {
	rows, err := s.Store.LostAgentTasks(ctx, node, s.Now().Add(-agent.HeartbeatTimeout))
	if err != nil {
		return err
	}
	var failed []error
	for i := range rows { // each for itself: one that cannot be marked keeps no other from it
		if err := s.loseOne(ctx, &rows[i]); err != nil && junctor.CodeOf(err) != junctor.CodeConflict {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// loseOne marks a task that nobody works on any more. One that cannot be read ends as
// it is stored, or it would be found again with every look; the error says so once.
func (s *Server) loseOne(ctx context.Context, row *junctor.AgentTask) error {
	t, unreadable := stored(row)
	if unreadable != nil {
		row.State, row.Running, row.At = string(a2a.TaskStateFailed), false, s.Now()
		return errors.Join(unreadable, s.Store.For(row.Tenant).UpdateAgentTask(ctx, row))
	}
	why := a2a.NewMessageForTask(a2a.MessageRoleAgent, t, a2a.NewTextPart("the instance ended in the middle of it; send the message again to go on"))
	ended := applied(*t, s.status(t, a2a.TaskStateFailed, why))
	return s.keep(ctx, row, &ended, false)
}

// tend logs what went wrong; it is tried again with the next beat.
func (s *Server) tend(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		s.Log.Warn("a2a: the tasks of this instance could not be looked after", "error", err, "cause", junctor.AsError(err).Cause)
	}
}
