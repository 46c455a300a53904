package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

const runColumns = `tenant_id, workspace_id, id, state, by_party, node, reason, plan, input_tokens, output_tokens, begun_at, ended_at`

// RoomRun gives a run; not_found when the room has none of that id.
func (t *Tenant) RoomRun(ctx context.Context, workspace, id string) (junctor.RoomRun, error) {
	r, err := one(ctx, t.s, scanRun, `SELECT `+runColumns+` FROM workspace_runs WHERE tenant_id = ? AND workspace_id = ? AND id = ?`, string(t.id), workspace, id)
	if errors.Is(err, sql.ErrNoRows) {
		return r, missing("the room %q has no run %q", workspace, id)
	}
	if err != nil {
		return r, t.s.fail(ctx, err, "read the run %q", id)
	}
	return r, nil
}

// RoomRuns lists a room's newest runs, newest first.
func (t *Tenant) RoomRuns(ctx context.Context, workspace string, limit int) ([]junctor.RoomRun, error) {
	list, err := all(ctx, t.s, scanRun, `SELECT `+runColumns+` FROM workspace_runs WHERE tenant_id = ? AND workspace_id = ? ORDER BY begun_at DESC, id DESC LIMIT ?`,
		string(t.id), workspace, limit)
	if err != nil {
		return nil, t.s.fail(ctx, err, "list the runs of the room %q", workspace)
	}
	return list, nil
}

// BeginRun begins a run in one transaction with the message that it answers. It is a
// conflict if another run is under way in the room. A message to a room that waits for
// approval denies the calls that wait.
func (t *Tenant) BeginRun(ctx context.Context, r *junctor.RoomRun, said *junctor.Message) error {
	err := t.s.tx(ctx, func(tx *sql.Tx) error {
		if err := t.hold(ctx, tx); err != nil {
			return err
		}
		if err := t.dropAllWaiting(ctx, tx, r); err != nil {
			return err
		}
		if err := t.insertRun(ctx, tx, r); err != nil {
			return err
		}
		return t.addMessage(ctx, tx, said)
	})
	if err != nil {
		return t.s.fail(ctx, err, "begin a run in the room %q", r.Workspace)
	}
	return nil
}

// ContinueRun stores the decisions of a person on calls that the run from waits for. If
// no other call of that run waits, the run next begins in the same transaction, so that
// a decision is never stored without the run that acts on it. It returns all calls that
// from asked for, and whether next began. It is a conflict if one of the calls was
// decided before; then nothing is stored.
func (t *Tenant) ContinueRun(ctx context.Context, from string, decisions []junctor.CallApproval, next *junctor.RoomRun) (asked []junctor.CallApproval, begun bool, err error) {
	err = t.s.tx(ctx, func(tx *sql.Tx) error {
		asked, begun = nil, false
		if err := t.hold(ctx, tx); err != nil {
			return err
		}
		for i := range decisions {
			if err := t.decideCall(ctx, tx, from, &decisions[i]); err != nil {
				return err
			}
		}
		var err error
		if asked, err = allIn(ctx, t.s, tx, scanCallApproval, `SELECT `+approvalColumns+` FROM workspace_approvals
			WHERE tenant_id = ? AND workspace_id = ? AND run_id = ? ORDER BY asked_at, id`, string(t.id), next.Workspace, from); err != nil {
			return err
		}
		if slices.ContainsFunc(asked, func(a junctor.CallApproval) bool { return a.State == junctor.CallOpen }) {
			return nil
		}
		n, err := t.s.exec(ctx, tx, `UPDATE workspace_runs SET state = 'done' WHERE tenant_id = ? AND workspace_id = ? AND id = ? AND state = 'waiting'`,
			string(t.id), next.Workspace, from)
		if err == nil && n == 0 {
			err = junctor.Errorf(junctor.CodeConflict, "the run %q no longer waits: somebody else continued or stopped it", from)
		}
		if err != nil {
			return err
		}
		begun = true
		return t.insertRun(ctx, tx, next)
	})
	if err != nil {
		return nil, false, t.s.fail(ctx, err, "continue the run %q", from)
	}
	return asked, begun, nil
}

func (t *Tenant) insertRun(ctx context.Context, tx *sql.Tx, r *junctor.RoomRun) error {
	_, err := t.s.exec(ctx, tx, `INSERT INTO workspace_runs (`+runColumns+`, stop, beat_at) VALUES (?, ?, ?, ?, ?, ?, '', '', 0, 0, ?, NULL, 0, ?)`,
		string(t.id), r.Workspace, r.ID, string(junctor.RunRunning), r.By, r.Node, micros(r.BegunAt), micros(r.BegunAt))
	switch {
	case err != nil && t.s.dialect.Code(err) == junctor.CodeConflict:
		return junctor.Errorf(junctor.CodeConflict, "the agents of this room are still at work, or the run %q was there before: wait until it has ended, or stop it", r.ID)
	case err != nil && t.s.dialect.Code(err) == junctor.CodeNotFound:
		return noWorkspace(r.Workspace)
	}
	return err
}

// dropAllWaiting stops the runs of a room that wait for approval.
func (t *Tenant) dropAllWaiting(ctx context.Context, tx *sql.Tx, r *junctor.RoomRun) error {
	ids, err := allIn(ctx, t.s, tx, func(row scanner) (id string, err error) { return id, row.Scan(&id) },
		`SELECT id FROM workspace_runs WHERE tenant_id = ? AND workspace_id = ? AND state = 'waiting'`, string(t.id), r.Workspace)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := t.dropWaiting(ctx, tx, r.Workspace, id, r.By, r.BegunAt); err != nil {
			return err
		}
	}
	return nil
}

// dropWaiting makes a run that waits one that was stopped: what it asked for is
// denied.
func (t *Tenant) dropWaiting(ctx context.Context, tx *sql.Tx, workspace, run, by string, at time.Time) error {
	n, err := t.s.exec(ctx, tx, `UPDATE workspace_runs SET state = 'cancelled' WHERE tenant_id = ? AND workspace_id = ? AND id = ? AND state = 'waiting'`,
		string(t.id), workspace, run)
	if err != nil || n == 0 {
		return err
	}
	_, err = t.s.exec(ctx, tx, `UPDATE workspace_approvals SET state = 'denied', decided_by = ?, decided_at = ?
		WHERE tenant_id = ? AND workspace_id = ? AND run_id = ? AND state = 'open'`, by, micros(at), string(t.id), workspace, run)
	if err != nil {
		return err
	}
	return t.settleCalls(ctx, tx, workspace, run, junctor.SaidWaiting, junctor.SaidDenied)
}

// EndRun ends a run that runs: its state, why, what is left to do, and what it
// waits for. It does nothing to one that was ended from elsewhere.
func (t *Tenant) EndRun(ctx context.Context, r *junctor.RoomRun, asks []junctor.CallApproval) error {
	err := t.s.tx(ctx, func(tx *sql.Tx) error {
		n, err := t.s.exec(ctx, tx, `UPDATE workspace_runs SET state = ?, reason = ?, plan = ?, input_tokens = ?, output_tokens = ?, ended_at = ?
			WHERE tenant_id = ? AND workspace_id = ? AND id = ? AND state = 'running'`,
			string(r.State), r.Reason, string(r.Plan), r.Input, r.Output, micros(r.EndedAt), string(t.id), r.Workspace, r.ID)
		if err != nil || n == 0 {
			return err
		}
		for i := range asks {
			if err := t.addApproval(ctx, tx, &asks[i]); err != nil {
				return err
			}
		}
		return t.settleCalls(ctx, tx, r.Workspace, r.ID, junctor.SaidRunning, junctor.SaidLost)
	})
	if err != nil {
		return t.s.fail(ctx, err, "end the run %q", r.ID)
	}
	return nil
}

// StopRun has a run stopped: one that waits at once, one that runs by its node
// when it next asks. It says which of the two it was; conflict where it has
// ended.
func (t *Tenant) StopRun(ctx context.Context, workspace, id, by string, at time.Time) (runs bool, err error) {
	err = t.s.tx(ctx, func(tx *sql.Tx) error {
		runs = false
		if err := t.hold(ctx, tx); err != nil {
			return err
		}
		n, err := t.s.exec(ctx, tx, `UPDATE workspace_runs SET stop = 1 WHERE tenant_id = ? AND workspace_id = ? AND id = ? AND state = 'running'`, string(t.id), workspace, id)
		if runs = n > 0; err != nil || runs {
			return err
		}
		return t.dropWaiting(ctx, tx, workspace, id, by, at)
	})
	if err != nil {
		return false, t.s.fail(ctx, err, "stop the run %q", id)
	}
	return runs, nil
}

// BeatRuns marks the runs of a node as alive and returns those of them that somebody
// wants stopped. isAlive reports whether the node runs a run: a row without a run, which
// a lost connection can leave behind, is not marked, so that LoseRuns takes it.
func (s *Store) BeatRuns(ctx context.Context, node string, at time.Time, isAlive func(*junctor.RoomRun) bool) (stop []junctor.RoomRun, err error) {
	type row struct {
		junctor.RoomRun
		stop bool
	}
	list, err := all(ctx, s, func(from scanner) (r row, err error) {
		err = from.Scan(&r.Tenant, &r.Workspace, &r.ID, &r.stop)
		return r, err
	}, `SELECT tenant_id, workspace_id, id, stop FROM workspace_runs WHERE node = ? AND state = 'running'`, node)
	if err != nil {
		return nil, s.fail(ctx, err, "read the runs of the replica %q", node)
	}
	for i := range list {
		r := &list[i]
		if !isAlive(&r.RoomRun) {
			continue
		}
		if _, err := s.do(ctx, `UPDATE workspace_runs SET beat_at = ? WHERE tenant_id = ? AND workspace_id = ? AND id = ? AND state = 'running'`,
			micros(at), string(r.Tenant), r.Workspace, r.ID); err != nil {
			return nil, s.fail(ctx, err, "mark the run %q as alive", r.ID)
		}
		if r.stop {
			stop = append(stop, r.RoomRun)
		}
	}
	return stop, nil
}

// LoseRuns marks runs that nobody runs any more: those of a node that has just
// started, and those that were last heard of before a time. Their calls that
// had no end are marked with them.
func (s *Store) LoseRuns(ctx context.Context, node string, before time.Time) ([]junctor.RoomRun, error) {
	list, err := all(ctx, s, scanRun, `SELECT `+runColumns+` FROM workspace_runs WHERE state = 'running' AND (node = ? OR beat_at < ?)`, node, micros(before))
	if err != nil {
		return nil, s.fail(ctx, err, "look for lost runs")
	}
	const reason = "the instance ended in the middle of it"
	for i := range list {
		r := &list[i]
		r.State, r.Reason = junctor.RunLost, reason
		err := s.tx(ctx, func(tx *sql.Tx) error {
			n, err := s.exec(ctx, tx, `UPDATE workspace_runs SET state = 'lost', reason = ?, ended_at = beat_at
				WHERE tenant_id = ? AND workspace_id = ? AND id = ? AND state = 'running'`, reason, string(r.Tenant), r.Workspace, r.ID)
			if err != nil || n == 0 {
				return err
			}
			return s.For(r.Tenant).settleCalls(ctx, tx, r.Workspace, r.ID, junctor.SaidRunning, junctor.SaidLost)
		})
		if err != nil {
			return nil, s.fail(ctx, err, "mark the lost run %q", r.ID)
		}
	}
	return list, nil
}

func scanRun(row scanner) (junctor.RoomRun, error) {
	var r junctor.RoomRun
	var plan string
	var begun int64
	var ended sql.NullInt64
	err := row.Scan(&r.Tenant, &r.Workspace, &r.ID, &r.State, &r.By, &r.Node, &r.Reason, &plan, &r.Input, &r.Output, &begun, &ended)
	r.BegunAt, r.EndedAt = fromMicros(begun), fromMaybeMicros(ended)
	if plan != "" {
		r.Plan = json.RawMessage(plan)
	}
	return r, err
}
