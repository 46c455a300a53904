package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	junctor "github.com/junctor-mcp/junctor"
)

const approvalColumns = `tenant_id, workspace_id, id, run_id, agent, call, state, remember, decided_by, asked_at, decided_at, reason`

// CallApprovals lists the calls of a run that were asked for, in their order;
// of all runs that wait where run is "".
func (t *Tenant) CallApprovals(ctx context.Context, workspace, run string) ([]junctor.CallApproval, error) {
	list, err := all(ctx, t.s, scanCallApproval, `SELECT `+approvalColumns+` FROM workspace_approvals
		WHERE tenant_id = ? AND workspace_id = ? AND (run_id = ? OR ? = '' AND state = 'open') ORDER BY asked_at, id`,
		string(t.id), workspace, run, run)
	if err != nil {
		return nil, t.s.fail(ctx, err, "list what the room %q waits for", workspace)
	}
	return list, nil
}

// Remembered lists what was allowed in a room for good.
func (t *Tenant) Remembered(ctx context.Context, workspace string) ([]junctor.CallApproval, error) {
	list, err := all(ctx, t.s, scanCallApproval, `SELECT `+approvalColumns+` FROM workspace_approvals
		WHERE tenant_id = ? AND workspace_id = ? AND state = 'allowed' AND remember = 1 ORDER BY asked_at, id`, string(t.id), workspace)
	if err != nil {
		return nil, t.s.fail(ctx, err, "list what is allowed in the room %q", workspace)
	}
	return list, nil
}

// ForgetApprovals has everything asked for again.
func (t *Tenant) ForgetApprovals(ctx context.Context, workspace string) error {
	if _, err := t.s.do(ctx, `UPDATE workspace_approvals SET remember = 0 WHERE tenant_id = ? AND workspace_id = ?`, string(t.id), workspace); err != nil {
		return t.s.fail(ctx, err, "forget what is allowed in the room %q", workspace)
	}
	return nil
}

// decideCall stores a person's decision on a call, once: a second decision is a conflict.
func (t *Tenant) decideCall(ctx context.Context, tx *sql.Tx, run string, a *junctor.CallApproval) error {
	n, err := t.s.exec(ctx, tx, `UPDATE workspace_approvals SET state = ?, remember = ?, decided_by = ?, decided_at = ?, reason = ?
		WHERE tenant_id = ? AND workspace_id = ? AND id = ? AND run_id = ? AND state = 'open'`,
		string(a.State), number(a.Remember), a.DecidedBy, micros(a.DecidedAt), a.Reason, string(t.id), a.Workspace, a.ID, run)
	if err == nil && n == 0 {
		err = junctor.Errorf(junctor.CodeConflict, "no call waits under %q any more: somebody else has decided, or the run was stopped", a.ID)
	}
	return err
}

func (t *Tenant) addApproval(ctx context.Context, tx *sql.Tx, a *junctor.CallApproval) error {
	call, err := configText(a.Call)
	if err != nil {
		return err
	}
	_, err = t.s.exec(ctx, tx, `INSERT INTO workspace_approvals (`+approvalColumns+`) VALUES (?, ?, ?, ?, ?, ?, 'open', 0, '', ?, NULL, '')`,
		string(t.id), a.Workspace, a.ID, a.Run, a.Agent, call, micros(a.At))
	return err
}

func scanCallApproval(row scanner) (junctor.CallApproval, error) {
	var a junctor.CallApproval
	var call string
	var remember, asked int64
	var decided sql.NullInt64
	if err := row.Scan(&a.Tenant, &a.Workspace, &a.ID, &a.Run, &a.Agent, &call, &a.State, &remember, &a.DecidedBy, &asked, &decided, &a.Reason); err != nil {
		return a, err
	}
	if err := json.Unmarshal([]byte(call), &a.Call); err != nil {
		return a, fmt.Errorf("the call that %q asks for cannot be read: %w", a.ID, err)
	}
	a.Remember, a.At, a.DecidedAt = remember != 0, fromMicros(asked), fromMaybeMicros(decided)
	return a, nil
}
