package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	junctor "github.com/junctor-mcp/junctor"
)

// approvalColumns are the columns that scanCallApproval reads.
const approvalColumns = `tenant_id, room_id, id, run_id, agent, call, state, remember, decided_by, requested_at, decided_at, reason`

// CallApprovals lists the calls of a run that need approval, in their order. With an empty
// run it lists the undecided calls of all runs of the room.
func (t *Tenant) CallApprovals(ctx context.Context, room, run string) ([]junctor.CallApproval, error) {
	list, err := readAll(ctx, t.s, scanCallApproval, `SELECT `+approvalColumns+` FROM room_approvals
		WHERE tenant_id = ? AND room_id = ? AND (run_id = ? OR ? = '' AND state = 'open') ORDER BY requested_at, id`,
		string(t.id), room, run, run)
	if err != nil {
		return nil, t.s.wrapError(ctx, err, "list the pending approvals of the room %q", room)
	}
	return list, nil
}

// Remembered lists the calls that are allowed in a room permanently.
func (t *Tenant) Remembered(ctx context.Context, room string) ([]junctor.CallApproval, error) {
	list, err := readAll(ctx, t.s, scanCallApproval, `SELECT `+approvalColumns+` FROM room_approvals
		WHERE tenant_id = ? AND room_id = ? AND state = 'allowed' AND remember = 1 ORDER BY requested_at, id`, string(t.id), room)
	if err != nil {
		return nil, t.s.wrapError(ctx, err, "list the allowed tools of the room %q", room)
	}
	return list, nil
}

// ForgetApprovals ends all permanent approvals of a room, so that every call is asked for
// again.
func (t *Tenant) ForgetApprovals(ctx context.Context, room string) error {
	if _, err := t.s.execWrite(ctx, `UPDATE room_approvals SET remember = 0 WHERE tenant_id = ? AND room_id = ?`, string(t.id), room); err != nil {
		return t.s.wrapError(ctx, err, "delete an allowed tool of the room %q", room)
	}
	return nil
}

// decideCall stores a user's decision on a call, once: a second decision is a conflict.
func (t *Tenant) decideCall(ctx context.Context, tx *sql.Tx, run string, a *junctor.CallApproval) error {
	n, err := t.s.exec(ctx, tx, `UPDATE room_approvals SET state = ?, remember = ?, decided_by = ?, decided_at = ?, reason = ?
		WHERE tenant_id = ? AND room_id = ? AND id = ? AND run_id = ? AND state = 'open'`,
		string(a.State), boolToInt(a.Remember), a.DecidedBy, toMicros(a.DecidedAt), a.Reason, string(t.id), a.Room, a.ID, run)
	if err == nil && n == 0 {
		err = junctor.Errorf(junctor.CodeConflict, "the approval %q is no longer pending, because it was already decided or the run was stopped", a.ID)
	}
	return err
}

// addApproval stores a call that waits for a decision.
func (t *Tenant) addApproval(ctx context.Context, tx *sql.Tx, a *junctor.CallApproval) error {
	call, err := encodeConfig(a.Call)
	if err != nil {
		return err
	}
	_, err = t.s.exec(ctx, tx, `INSERT INTO room_approvals (`+approvalColumns+`) VALUES (?, ?, ?, ?, ?, ?, 'open', 0, '', ?, NULL, '')`,
		string(t.id), a.Room, a.ID, a.Run, a.Agent, call, toMicros(a.At))
	return err
}

// scanCallApproval reads the columns of approvalColumns.
func scanCallApproval(row scanner) (junctor.CallApproval, error) {
	var a junctor.CallApproval
	var call string
	var remember, asked int64
	var decided sql.NullInt64
	if err := row.Scan(&a.Tenant, &a.Room, &a.ID, &a.Run, &a.Agent, &call, &a.State, &remember, &a.DecidedBy, &asked, &decided, &a.Reason); err != nil {
		return a, err
	}
	if err := json.Unmarshal([]byte(call), &a.Call); err != nil {
		return a, fmt.Errorf("cannot read the call of the approval %q: %w", a.ID, err)
	}
	a.Remember, a.At, a.DecidedAt = remember != 0, fromMicros(asked), fromNullMicros(decided)
	return a, nil
}
