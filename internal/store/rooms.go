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

// roomColumns are the columns that scanRoom reads. Members are rows of room_members.
const roomColumns = `tenant_id, id, name, config, owner, created_at, updated_at, updated_by`

// roomConfig is the JSON of the column config.
type roomConfig struct {
	Policy    junctor.TurnPolicy   `json:"policy"`
	MaxRounds int                  `json:"max_rounds"`
	Approvals junctor.RoomApproval `json:"approvals"`
}

// Rooms lists the tenant's rooms by name, with their members.
func (t *Tenant) Rooms(ctx context.Context) ([]junctor.Room, error) {
	list, err := readAll(ctx, t.s, scanRoom, `SELECT `+roomColumns+` FROM rooms WHERE tenant_id = ? ORDER BY name, id`, string(t.id))
	if err == nil {
		err = t.fillMembers(ctx, list, "")
	}
	if err == nil {
		err = t.fillLastMessages(ctx, list, "")
	}
	if err != nil {
		return nil, t.s.wrapError(ctx, err, "list the rooms")
	}
	return list, nil
}

// Room returns one room with its members; not_found if the tenant has none with that
// id.
func (t *Tenant) Room(ctx context.Context, id string) (junctor.Room, error) {
	w, err := readOne(ctx, t.s, scanRoom, `SELECT `+roomColumns+` FROM rooms WHERE tenant_id = ? AND id = ?`, string(t.id), id)
	if errors.Is(err, sql.ErrNoRows) {
		return w, roomNotFound(id)
	}
	list := []junctor.Room{w}
	if err == nil {
		err = t.fillMembers(ctx, list, id)
	}
	if err == nil {
		err = t.fillLastMessages(ctx, list, id)
	}
	if err != nil {
		return w, t.s.wrapError(ctx, err, "read the room %q", id)
	}
	return list[0], nil
}

// fillMembers reads the members of the rooms in list. id is the only room in it, or "" for
// all of the tenant.
func (t *Tenant) fillMembers(ctx context.Context, list []junctor.Room, id string) error {
	type seat struct{ room, kind, member, name string }
	seats, err := readAll(ctx, t.s, func(row scanner) (s seat, err error) {
		return s, row.Scan(&s.room, &s.kind, &s.member, &s.name)
	}, `SELECT m.room_id, m.kind, m.member, COALESCE(u.name, '') FROM room_members m
		LEFT JOIN users u ON m.kind = 'user' AND u.tenant_id = m.tenant_id AND u.id = m.member
		WHERE m.tenant_id = ? AND (m.room_id = ? OR ? = '') ORDER BY m.room_id, m.place`, string(t.id), id, id)
	if err != nil {
		return err
	}
	at := map[string]*junctor.Room{}
	for i := range list {
		at[list[i].ID] = &list[i]
	}
	for _, s := range seats {
		w := at[s.room]
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

// fillLastMessages reads when the newest message of each room in list was sent. id is as in
// fillMembers.
func (t *Tenant) fillLastMessages(ctx context.Context, list []junctor.Room, id string) error {
	type sent struct {
		room string
		at   int64
	}
	// The newest message of a room is the first of an index: no query reads them all.
	newest, err := readAll(ctx, t.s, func(row scanner) (s sent, err error) {
		return s, row.Scan(&s.room, &s.at)
	}, `SELECT r.id, COALESCE((SELECT m.sent_at FROM room_messages m WHERE m.tenant_id = r.tenant_id AND m.room_id = r.id ORDER BY m.seq DESC LIMIT 1), 0)
		FROM rooms r WHERE r.tenant_id = ? AND (r.id = ? OR ? = '')`, string(t.id), id, id)
	if err != nil {
		return err
	}
	at := make(map[string]int64, len(newest))
	for _, s := range newest {
		at[s.room] = s.at
	}
	for i := range list {
		if micros := at[list[i].ID]; micros != 0 {
			list[i].LastMessageAt = fromMicros(micros)
		}
	}
	return nil
}

// AddRoom stores a new room and returns it; conflict if the id is taken.
func (t *Tenant) AddRoom(ctx context.Context, w junctor.Room) (junctor.Room, error) {
	now := fromMicros(toMicros(time.Now()))
	w.Tenant, w.CreatedAt, w.UpdatedAt = t.id, now, now
	config, err := encodeConfig(roomConfig{w.Policy, w.MaxRounds, w.Approvals})
	if err != nil {
		return w, err
	}
	err = t.s.runTx(ctx, func(tx *sql.Tx) error {
		if err := t.lockTenant(ctx, tx); err != nil {
			return err
		}
		_, err := t.s.exec(ctx, tx, `INSERT INTO rooms (`+roomColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
			string(t.id), w.ID, w.Name, config, w.Owner, toMicros(now), toMicros(now), t.changedBy)
		if err != nil {
			return err
		}
		return t.insertMembers(ctx, tx, &w)
	})
	if err != nil {
		return w, t.s.wrapError(ctx, err, "add the room %q", w.Name)
	}
	return t.Room(ctx, w.ID)
}

// UpdateRoom stores a changed copy of what Room returned, and returns it. The
// error is precondition if somebody else changed the room meanwhile: a member who was
// removed in between must not come back. It is not_found if there is no such room.
func (t *Tenant) UpdateRoom(ctx context.Context, w junctor.Room) (junctor.Room, error) {
	config, err := encodeConfig(roomConfig{w.Policy, w.MaxRounds, w.Approvals})
	if err != nil {
		return w, err
	}
	err = t.s.runTx(ctx, func(tx *sql.Tx) error {
		if err := t.lockTenant(ctx, tx); err != nil {
			return err
		}
		row := &versionedRow{table: "rooms", where: "id = ?", key: []any{w.ID}, version: w.UpdatedAt, label: fmt.Sprintf("the room %q", w.ID), notFound: roomNotFound(w.ID)}
		_, err := t.updateRow(ctx, tx, row, `name = ?, config = ?`, w.Name, config)
		if err == nil {
			_, err = t.s.exec(ctx, tx, `DELETE FROM room_members WHERE tenant_id = ? AND room_id = ?`, string(t.id), w.ID)
		}
		if err != nil {
			return err
		}
		return t.insertMembers(ctx, tx, &w)
	})
	if err != nil {
		return w, t.s.wrapError(ctx, err, "change the room %q", w.ID)
	}
	return t.Room(ctx, w.ID)
}

// insertMembers stores the members of a room, in their order. The caller has deleted the
// former ones in the same transaction.
func (t *Tenant) insertMembers(ctx context.Context, tx *sql.Tx, w *junctor.Room) error {
	for i, m := range w.Members {
		kind, member := "agent", m.Agent
		if m.User != "" {
			kind, member = "user", m.User
		}
		_, err := t.s.exec(ctx, tx, `INSERT INTO room_members (tenant_id, room_id, kind, member, place) VALUES (?, ?, ?, ?, ?)`,
			string(t.id), w.ID, kind, member, i)
		if err != nil {
			return err
		}
	}
	return nil
}

// DeleteRoom deletes a room with its messages, runs and approvals; not_found if there
// is none with that id.
func (t *Tenant) DeleteRoom(ctx context.Context, id string) error {
	n, err := t.s.execWrite(ctx, `DELETE FROM rooms WHERE tenant_id = ? AND id = ?`, string(t.id), id)
	if err == nil && n == 0 {
		err = roomNotFound(id)
	}
	if err != nil {
		return t.s.wrapError(ctx, err, "delete the room %q", id)
	}
	return nil
}

// leaveRooms removes a member from every room, and ends permanent approvals of an agent:
// another agent of the same name starts without them. The rooms get another version, so
// that nobody stores a copy that still has the member.
func (t *Tenant) leaveRooms(ctx context.Context, tx *sql.Tx, kind, member string) error {
	now := toMicros(time.Now())
	_, err := t.s.exec(ctx, tx, `UPDATE rooms SET updated_at = `+nextVersionSQL+`, updated_by = ? WHERE tenant_id = ?
		AND id IN (SELECT room_id FROM room_members WHERE tenant_id = ? AND kind = ? AND member = ?)`, now, now, t.changedBy, string(t.id), string(t.id), kind, member)
	if err != nil {
		return err
	}
	_, err = t.s.exec(ctx, tx, `DELETE FROM room_members WHERE tenant_id = ? AND kind = ? AND member = ?`, string(t.id), kind, member)
	if err == nil && kind == "agent" {
		_, err = t.s.exec(ctx, tx, `UPDATE room_approvals SET remember = 0 WHERE tenant_id = ? AND agent = ?`, string(t.id), member)
	}
	return err
}

// roomNotFound is the error for a room that the tenant does not have. It is the same as
// for a room that the caller is not in.
func roomNotFound(id string) error {
	return notFound("unknown room %q, or you are not a member; junctor room ls lists your rooms", id)
}

// scanRoom reads the columns of roomColumns. fillMembers reads the members.
func scanRoom(row scanner) (junctor.Room, error) {
	w := junctor.Room{Members: []junctor.Member{}}
	var text string
	var created, updated int64
	if err := row.Scan(&w.Tenant, &w.ID, &w.Name, &text, &w.Owner, &created, &updated, &w.UpdatedBy); err != nil {
		return w, err
	}
	var config roomConfig
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		return w, fmt.Errorf("cannot read the config of the room %q: %w", w.ID, err)
	}
	w.Policy, w.MaxRounds, w.Approvals = config.Policy, config.MaxRounds, config.Approvals
	w.CreatedAt, w.UpdatedAt = fromMicros(created), fromMicros(updated)
	return w, nil
}
