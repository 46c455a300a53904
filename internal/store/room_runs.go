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

// runColumns are the columns that scanRun reads. The columns stop and beat_at are for
// StopRun, BeatRuns and LoseRuns only.
const runColumns = `tenant_id, room_id, id, state, by_party, replica, reason, plan, input_tokens, output_tokens, begun_at, ended_at`

// RoomRun returns a run; not_found if the room has none with that id.
func (t *Tenant) RoomRun(ctx context.Context, room, id string) (junctor.RoomRun, error) {
	r, err := readOne(ctx, t.s, scanRun, `SELECT `+runColumns+` FROM room_runs WHERE tenant_id = ? AND room_id = ? AND id = ?`, string(t.id), room, id)
	if errors.Is(err, sql.ErrNoRows) {
		return r, notFound("the room %q has no run %q", room, id)
	}
	if err != nil {
		return r, t.s.wrapError(ctx, err, "read the run %q", id)
	}
	return r, nil
}

// RoomRuns lists up to limit runs of a room, newest first.
func (t *Tenant) RoomRuns(ctx context.Context, room string, limit int) ([]junctor.RoomRun, error) {
	list, err := readAll(ctx, t.s, scanRun, `SELECT `+runColumns+` FROM room_runs WHERE tenant_id = ? AND room_id = ? ORDER BY begun_at DESC, id DESC LIMIT ?`,
		string(t.id), room, limit)
	if err != nil {
		return nil, t.s.wrapError(ctx, err, "list the runs of the room %q", room)
	}
	return list, nil
}

// BeginRun begins a run in one transaction with the message that it answers. It is a
// conflict if another run is under way in the room. A message to a room that waits for
// approval denies the calls that wait.
func (t *Tenant) BeginRun(ctx context.Context, r *junctor.RoomRun, said *junctor.Message) error {
	err := t.s.runTx(ctx, func(tx *sql.Tx) error {
		if err := t.lockTenant(ctx, tx); err != nil {
			return err
		}
		if err := t.cancelWaitingRuns(ctx, tx, r); err != nil {
			return err
		}
		if err := t.insertRun(ctx, tx, r); err != nil {
			return err
		}
		return t.addMessage(ctx, tx, said)
	})
	if err != nil {
		return t.s.wrapError(ctx, err, "begin a run in the room %q", r.Room)
	}
	return nil
}

// ContinueRun stores the decisions of a person on calls that the run from waits for. If
// no other call of that run waits, the run next begins in the same transaction, so that
// a decision is never stored without the run that acts on it. It returns all calls that
// from asked for, and whether next began. It is a conflict if one of the calls was
// decided before; then nothing is stored.
func (t *Tenant) ContinueRun(ctx context.Context, from string, decisions []junctor.CallApproval, next *junctor.RoomRun) (asked []junctor.CallApproval, begun bool, err error) {
	err = t.s.runTx(ctx, func(tx *sql.Tx) error {
		asked, begun = nil, false
		if err := t.lockTenant(ctx, tx); err != nil {
			return err
		}
		for i := range decisions {
			if err := t.decideCall(ctx, tx, from, &decisions[i]); err != nil {
				return err
			}
		}
		var err error
		if asked, err = readAllIn(ctx, t.s, tx, scanCallApproval, `SELECT `+approvalColumns+` FROM room_approvals
			WHERE tenant_id = ? AND room_id = ? AND run_id = ? ORDER BY requested_at, id`, string(t.id), next.Room, from); err != nil {
			return err
		}
		if slices.ContainsFunc(asked, func(a junctor.CallApproval) bool { return a.State == junctor.CallOpen }) {
			return nil
		}
		n, err := t.s.exec(ctx, tx, `UPDATE room_runs SET state = 'done' WHERE tenant_id = ? AND room_id = ? AND id = ? AND state = 'waiting'`,
			string(t.id), next.Room, from)
		if err == nil && n == 0 {
			err = junctor.Errorf(junctor.CodeConflict, "the run %q is no longer waiting, because it was continued or stopped", from)
		}
		if err != nil {
			return err
		}
		begun = true
		return t.insertRun(ctx, tx, next)
	})
	if err != nil {
		return nil, false, t.s.wrapError(ctx, err, "continue the run %q", from)
	}
	return asked, begun, nil
}

// insertRun stores a new run. A unique index allows one run at a time in a room, so that a
// second one is a conflict.
func (t *Tenant) insertRun(ctx context.Context, tx *sql.Tx, r *junctor.RoomRun) error {
	_, err := t.s.exec(ctx, tx, `INSERT INTO room_runs (`+runColumns+`, stop, beat_at) VALUES (?, ?, ?, ?, ?, ?, '', '', 0, 0, ?, NULL, 0, ?)`,
		string(t.id), r.Room, r.ID, string(junctor.RunRunning), r.By, r.Replica, toMicros(r.BegunAt), toMicros(r.BegunAt))
	switch {
	case err != nil && t.s.dialect.Code(err) == junctor.CodeConflict:
		return junctor.Errorf(junctor.CodeConflict, "another run of this room is in progress, or the run %q already exists; wait until it ends, or stop it", r.ID)
	case err != nil && t.s.dialect.Code(err) == junctor.CodeNotFound:
		return roomNotFound(r.Room)
	}
	return err
}

// cancelWaitingRuns cancels the runs of a room that wait for approval. r is the run that
// takes their place.
func (t *Tenant) cancelWaitingRuns(ctx context.Context, tx *sql.Tx, r *junctor.RoomRun) error {
	ids, err := readAllIn(ctx, t.s, tx, func(row scanner) (id string, err error) { return id, row.Scan(&id) },
		`SELECT id FROM room_runs WHERE tenant_id = ? AND room_id = ? AND state = 'waiting'`, string(t.id), r.Room)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := t.cancelWaitingRun(ctx, tx, r.Room, id, r.By, r.BegunAt); err != nil {
			return err
		}
	}
	return nil
}

// cancelWaitingRun cancels a run that waits, and denies the calls that it asked for.
func (t *Tenant) cancelWaitingRun(ctx context.Context, tx *sql.Tx, room, run, by string, at time.Time) error {
	n, err := t.s.exec(ctx, tx, `UPDATE room_runs SET state = 'cancelled' WHERE tenant_id = ? AND room_id = ? AND id = ? AND state = 'waiting'`,
		string(t.id), room, run)
	if err != nil || n == 0 {
		return err
	}
	_, err = t.s.exec(ctx, tx, `UPDATE room_approvals SET state = 'denied', decided_by = ?, decided_at = ?
		WHERE tenant_id = ? AND room_id = ? AND run_id = ? AND state = 'open'`, by, toMicros(at), string(t.id), room, run)
	if err != nil {
		return err
	}
	return t.setCallStates(ctx, tx, room, run, junctor.MessageCallWaiting, junctor.MessageCallDenied)
}

// EndRun stores the end of a run that is running: state, reason, remaining plan, token
// counts, and the calls that it now waits for. Calls of the run that have no end are
// marked as lost. It does nothing to a run that was ended by another replica.
func (t *Tenant) EndRun(ctx context.Context, r *junctor.RoomRun, asks []junctor.CallApproval) error {
	err := t.s.runTx(ctx, func(tx *sql.Tx) error {
		n, err := t.s.exec(ctx, tx, `UPDATE room_runs SET state = ?, reason = ?, plan = ?, input_tokens = ?, output_tokens = ?, ended_at = ?
			WHERE tenant_id = ? AND room_id = ? AND id = ? AND state = 'running'`,
			string(r.State), r.Reason, string(r.Plan), r.Input, r.Output, toMicros(r.EndedAt), string(t.id), r.Room, r.ID)
		if err != nil || n == 0 {
			return err
		}
		for i := range asks {
			if err := t.addApproval(ctx, tx, &asks[i]); err != nil {
				return err
			}
		}
		return t.setCallStates(ctx, tx, r.Room, r.ID, junctor.MessageCallRunning, junctor.MessageCallLost)
	})
	if err != nil {
		return t.s.wrapError(ctx, err, "end the run %q", r.ID)
	}
	return nil
}

// StopRun stops a run. One that waits is cancelled at once; one that runs is stopped by
// its replica at its next BeatRuns. runs reports that it was the latter.
func (t *Tenant) StopRun(ctx context.Context, room, id, by string, at time.Time) (runs bool, err error) {
	err = t.s.runTx(ctx, func(tx *sql.Tx) error {
		runs = false
		if err := t.lockTenant(ctx, tx); err != nil {
			return err
		}
		n, err := t.s.exec(ctx, tx, `UPDATE room_runs SET stop = 1 WHERE tenant_id = ? AND room_id = ? AND id = ? AND state = 'running'`, string(t.id), room, id)
		if runs = n > 0; err != nil || runs {
			return err
		}
		return t.cancelWaitingRun(ctx, tx, room, id, by, at)
	})
	if err != nil {
		return false, t.s.wrapError(ctx, err, "stop the run %q", id)
	}
	return runs, nil
}

// BeatRuns marks the runs of a replica as alive and returns those of them that somebody
// wants stopped. isAlive reports whether the replica really runs a run. A row without a
// run, which a lost connection can leave behind, is not marked, so that LoseRuns takes it.
func (s *Store) BeatRuns(ctx context.Context, replica string, at time.Time, isAlive func(*junctor.RoomRun) bool) (stop []junctor.RoomRun, err error) {
	type row struct {
		junctor.RoomRun
		stop bool
	}
	list, err := readAll(ctx, s, func(from scanner) (r row, err error) {
		err = from.Scan(&r.Tenant, &r.Room, &r.ID, &r.stop)
		return r, err
	}, `SELECT tenant_id, room_id, id, stop FROM room_runs WHERE replica = ? AND state = 'running'`, replica)
	if err != nil {
		return nil, s.wrapError(ctx, err, "read the runs of the replica %q", replica)
	}
	for i := range list {
		r := &list[i]
		if !isAlive(&r.RoomRun) {
			continue
		}
		if _, err := s.execWrite(ctx, `UPDATE room_runs SET beat_at = ? WHERE tenant_id = ? AND room_id = ? AND id = ? AND state = 'running'`,
			toMicros(at), string(r.Tenant), r.Room, r.ID); err != nil {
			return nil, s.wrapError(ctx, err, "mark the run %q as alive", r.ID)
		}
		if r.stop {
			stop = append(stop, r.RoomRun)
		}
	}
	return stop, nil
}

// LoseRuns marks runs as lost that no replica runs: those of a replica that has just
// started, and those that were last marked as alive before a time. Their calls without an
// end are marked with them. It returns the runs.
func (s *Store) LoseRuns(ctx context.Context, replica string, before time.Time) ([]junctor.RoomRun, error) {
	list, err := readAll(ctx, s, scanRun, `SELECT `+runColumns+` FROM room_runs WHERE state = 'running' AND (replica = ? OR beat_at < ?)`, replica, toMicros(before))
	if err != nil {
		return nil, s.wrapError(ctx, err, "look for lost runs")
	}
	const reason = "the instance ended during the run"
	for i := range list {
		r := &list[i]
		r.State, r.Reason = junctor.RunLost, reason
		err := s.runTx(ctx, func(tx *sql.Tx) error {
			n, err := s.exec(ctx, tx, `UPDATE room_runs SET state = 'lost', reason = ?, ended_at = beat_at
				WHERE tenant_id = ? AND room_id = ? AND id = ? AND state = 'running'`, reason, string(r.Tenant), r.Room, r.ID)
			if err != nil || n == 0 {
				return err
			}
			return s.For(r.Tenant).setCallStates(ctx, tx, r.Room, r.ID, junctor.MessageCallRunning, junctor.MessageCallLost)
		})
		if err != nil {
			return nil, s.wrapError(ctx, err, "mark the lost run %q", r.ID)
		}
	}
	return list, nil
}

// scanRun reads the columns of runColumns.
func scanRun(row scanner) (junctor.RoomRun, error) {
	var r junctor.RoomRun
	var plan string
	var begun int64
	var ended sql.NullInt64
	err := row.Scan(&r.Tenant, &r.Room, &r.ID, &r.State, &r.By, &r.Replica, &r.Reason, &plan, &r.Input, &r.Output, &begun, &ended)
	r.BegunAt, r.EndedAt = fromMicros(begun), fromNullMicros(ended)
	if plan != "" {
		r.Plan = json.RawMessage(plan)
	}
	return r, err
}
