package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

const workspaceColumns = `tenant_id, id, name, config, owner, created_at, updated_at, updated_by`

// workspaceConfig is what the column config holds.
type workspaceConfig struct {
	Policy    junctor.TurnPolicy   `json:"policy"`
	MaxRounds int                  `json:"max_rounds"`
	Approvals junctor.RoomApproval `json:"approvals"`
}

// Workspaces lists the tenant's rooms by name.
func (t *Tenant) Workspaces(ctx context.Context) ([]junctor.Workspace, error) {
	list, err := all(ctx, t.s, scanWorkspace, `SELECT `+workspaceColumns+` FROM workspaces WHERE tenant_id = ? ORDER BY name, id`, string(t.id))
	if err == nil {
		err = t.seat(ctx, list, "")
	}
	if err != nil {
		return nil, t.s.fail(ctx, err, "list the rooms")
	}
	return list, nil
}

// Workspace gives one; not_found when the tenant has none of that id.
func (t *Tenant) Workspace(ctx context.Context, id string) (junctor.Workspace, error) {
	w, err := one(ctx, t.s, scanWorkspace, `SELECT `+workspaceColumns+` FROM workspaces WHERE tenant_id = ? AND id = ?`, string(t.id), id)
	if errors.Is(err, sql.ErrNoRows) {
		return w, noWorkspace(id)
	}
	list := []junctor.Workspace{w}
	if err == nil {
		err = t.seat(ctx, list, id)
	}
	if err != nil {
		return w, t.s.fail(ctx, err, "read the room %q", id)
	}
	return list[0], nil
}

// seat puts the members into rooms, of one or of all.
func (t *Tenant) seat(ctx context.Context, list []junctor.Workspace, id string) error {
	type seat struct{ workspace, kind, member, name string }
	seats, err := all(ctx, t.s, func(row scanner) (s seat, err error) {
		return s, row.Scan(&s.workspace, &s.kind, &s.member, &s.name)
	}, `SELECT m.workspace_id, m.kind, m.member, COALESCE(u.name, '') FROM workspace_members m
		LEFT JOIN users u ON m.kind = 'user' AND u.tenant_id = m.tenant_id AND u.id = m.member
		WHERE m.tenant_id = ? AND (m.workspace_id = ? OR ? = '') ORDER BY m.workspace_id, m.place`, string(t.id), id, id)
	if err != nil {
		return err
	}
	at := map[string]*junctor.Workspace{}
	for i := range list {
		at[list[i].ID] = &list[i]
	}
	for _, s := range seats {
		w := at[s.workspace]
		switch {
		case w == nil: // made meanwhile
		case s.kind == "agent":
			w.Members = append(w.Members, junctor.Member{Agent: s.member})
		default:
			w.Members = append(w.Members, junctor.Member{User: s.member, Name: s.name})
		}
	}
	return nil
}

// AddWorkspace stores a new room and gives it back; conflict where the id is
// taken.
func (t *Tenant) AddWorkspace(ctx context.Context, w junctor.Workspace) (junctor.Workspace, error) {
	now := fromMicros(micros(time.Now()))
	w.Tenant, w.CreatedAt, w.UpdatedAt = t.id, now, now
	config, err := configText(workspaceConfig{w.Policy, w.MaxRounds, w.Approvals})
	if err != nil {
		return w, err
	}
	err = t.s.tx(ctx, func(tx *sql.Tx) error {
		if err := t.hold(ctx, tx); err != nil {
			return err
		}
		_, err := t.s.exec(ctx, tx, `INSERT INTO workspaces (`+workspaceColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
			string(t.id), w.ID, w.Name, config, w.Owner, micros(now), micros(now), t.by)
		if err != nil {
			return err
		}
		return t.insertMembers(ctx, tx, &w)
	})
	if err != nil {
		return w, t.s.fail(ctx, err, "add the room %q", w.Name)
	}
	return t.Workspace(ctx, w.ID)
}

// UpdateWorkspace stores a room that Workspace gave, changed, in place of the one of its
// id, and gives it back. Precondition where somebody else changed it meanwhile: a
// member who was taken out in between does not come back. not_found where there is none.
func (t *Tenant) UpdateWorkspace(ctx context.Context, w junctor.Workspace) (junctor.Workspace, error) {
	config, err := configText(workspaceConfig{w.Policy, w.MaxRounds, w.Approvals})
	if err != nil {
		return w, err
	}
	err = t.s.tx(ctx, func(tx *sql.Tx) error {
		if err := t.hold(ctx, tx); err != nil {
			return err
		}
		row := &versionedRow{table: "workspaces", where: "id = ?", key: []any{w.ID}, version: w.UpdatedAt, called: fmt.Sprintf("the room %q", w.ID), missing: noWorkspace(w.ID)}
		_, err := t.updateRow(ctx, tx, row, `name = ?, config = ?`, w.Name, config)
		if err == nil {
			_, err = t.s.exec(ctx, tx, `DELETE FROM workspace_members WHERE tenant_id = ? AND workspace_id = ?`, string(t.id), w.ID)
		}
		if err != nil {
			return err
		}
		return t.insertMembers(ctx, tx, &w)
	})
	if err != nil {
		return w, t.s.fail(ctx, err, "change the room %q", w.ID)
	}
	return t.Workspace(ctx, w.ID)
}

func (t *Tenant) insertMembers(ctx context.Context, tx *sql.Tx, w *junctor.Workspace) error {
	for i, m := range w.Members {
		kind, member := "agent", m.Agent
		if m.User != "" {
			kind, member = "user", m.User
		}
		_, err := t.s.exec(ctx, tx, `INSERT INTO workspace_members (tenant_id, workspace_id, kind, member, place) VALUES (?, ?, ?, ?, ?)`,
			string(t.id), w.ID, kind, member, i)
		if err != nil {
			return err
		}
	}
	return nil
}

// DeleteWorkspace forgets a room and all that was said in it; not_found where
// there is none of that id.
func (t *Tenant) DeleteWorkspace(ctx context.Context, id string) error {
	n, err := t.s.do(ctx, `DELETE FROM workspaces WHERE tenant_id = ? AND id = ?`, string(t.id), id)
	if err == nil && n == 0 {
		err = noWorkspace(id)
	}
	if err != nil {
		return t.s.fail(ctx, err, "delete the room %q", id)
	}
	return nil
}

// leaveWorkspaces takes a member out of every room, and what was remembered of
// an agent with it: another one of the same name begins anew. The rooms have another
// version then, so that nobody stores one with the member again.
func (t *Tenant) leaveWorkspaces(ctx context.Context, tx *sql.Tx, kind, member string) error {
	now := micros(time.Now())
	_, err := t.s.exec(ctx, tx, `UPDATE workspaces SET updated_at = `+laterVersion+`, updated_by = ? WHERE tenant_id = ?
		AND id IN (SELECT workspace_id FROM workspace_members WHERE tenant_id = ? AND kind = ? AND member = ?)`, now, now, t.by, string(t.id), string(t.id), kind, member)
	if err != nil {
		return err
	}
	_, err = t.s.exec(ctx, tx, `DELETE FROM workspace_members WHERE tenant_id = ? AND kind = ? AND member = ?`, string(t.id), kind, member)
	if err == nil && kind == "agent" {
		_, err = t.s.exec(ctx, tx, `UPDATE workspace_approvals SET remember = 0 WHERE tenant_id = ? AND agent = ?`, string(t.id), member)
	}
	return err
}

func noWorkspace(id string) error {
	return missing("there is no room %q, or you are not in it; junctor room ls lists yours", id)
}

func scanWorkspace(row scanner) (junctor.Workspace, error) {
	w := junctor.Workspace{Members: []junctor.Member{}}
	var text string
	var created, updated int64
	if err := row.Scan(&w.Tenant, &w.ID, &w.Name, &text, &w.Owner, &created, &updated, &w.UpdatedBy); err != nil {
		return w, err
	}
	var config workspaceConfig
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		return w, fmt.Errorf("the config of the room %q cannot be read: %w", w.ID, err)
	}
	w.Policy, w.MaxRounds, w.Approvals = config.Policy, config.MaxRounds, config.Approvals
	w.CreatedAt, w.UpdatedAt = fromMicros(created), fromMicros(updated)
	return w, nil
}
