package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	junctor "github.com/junctor-mcp/junctor"
)

// messageColumns are the columns that scanMessage reads. The columns search and seq are
// for Messages only.
const messageColumns = `tenant_id, room_id, id, run_id, author_kind, author, author_id, body, sent_at`

// messageBody is the JSON of the column body.
type messageBody struct {
	Text     string                `json:"text"`
	Calls    []junctor.MessageCall `json:"calls,omitempty"`
	Outcome  string                `json:"outcome,omitempty"`
	Aside    string                `json:"aside,omitempty"`
	Surfaces []json.RawMessage     `json:"surfaces,omitempty"`
	Action   json.RawMessage       `json:"action,omitempty"`
	Thinking json.RawMessage       `json:"thinking,omitempty"`
}

// MessageFilter selects messages of a room. Zero members do not filter.
type MessageFilter struct {
	Before string // only those before this one, by id
	Query  string // only those that hold this text, in whatever case
	Limit  int
}

// Messages returns the newest messages of a room that match, oldest first. A Before that
// does not exist matches nothing.
func (t *Tenant) Messages(ctx context.Context, room string, f MessageFilter) ([]junctor.Message, error) {
	query := `SELECT ` + messageColumns + ` FROM room_messages WHERE tenant_id = ? AND room_id = ?`
	args := []any{string(t.id), room}
	if f.Before != "" {
		query += ` AND seq < COALESCE((SELECT seq FROM room_messages WHERE tenant_id = ? AND room_id = ? AND id = ?), 0)`
		args = append(args, string(t.id), room, f.Before)
	}
	if f.Query != "" {
		query += ` AND search LIKE ? ESCAPE '!'`
		args = append(args, "%"+strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(foldForSearch(f.Query))+"%")
	}
	list, err := readAll(ctx, t.s, scanMessage, query+` ORDER BY seq DESC LIMIT ?`, append(args, f.Limit)...)
	if err != nil {
		return nil, t.s.wrapError(ctx, err, "read the messages of the room %q", room)
	}
	slices.Reverse(list)
	return list, nil
}

// MessagePage reads a page of the messages of a room. Words are searched in messages and
// tool results, ignoring case. A page after a message that does not exist is empty.
func (t *Tenant) MessagePage(ctx context.Context, room string, page *junctor.RowPage) ([]junctor.Message, junctor.RowTotal, error) {
	folded := *page
	folded.Words = make([]string, len(page.Words))
	for i, w := range page.Words {
		folded.Words[i] = foldForSearch(w)
	}
	rows := pagedRows{
		columns: messageColumns, table: `room_messages`, where: []string{`tenant_id = ?`, `room_id = ?`}, args: []any{string(t.id), room},
		order: `seq`, text: `search`,
	}
	if page.ID != "" {
		number := func(row scanner) (n int64, err error) { return n, row.Scan(&n) }
		found, err := readAll(ctx, t.s, number, `SELECT seq FROM room_messages WHERE tenant_id = ? AND room_id = ? AND id = ?`, string(t.id), room, page.ID)
		if err != nil {
			return nil, junctor.RowTotal{}, t.s.wrapError(ctx, err, "read the messages of the room %q", room)
		}
		if len(found) == 0 {
			rows.where = append(rows.where, `1 = 0`)
		} else {
			rows.after = []any{found[0]}
		}
	}
	list, total, err := readPage(ctx, t.s, scanMessage, rows, &folded)
	if err != nil {
		return nil, total, t.s.wrapError(ctx, err, "read the messages of the room %q", room)
	}
	return list, total, nil
}

// PutMessage stores a message: after all others of the room if it is new, otherwise in its
// place.
func (t *Tenant) PutMessage(ctx context.Context, m *junctor.Message) error {
	err := t.s.runTx(ctx, func(tx *sql.Tx) error {
		n, err := t.changeMessage(ctx, tx, m)
		if err != nil || n > 0 {
			return err
		}
		if err := t.lockTenant(ctx, tx); err != nil {
			return err
		}
		return t.addMessage(ctx, tx, m)
	})
	if err != nil {
		return t.s.wrapError(ctx, err, "store a message of the room %q", m.Room)
	}
	return nil
}

// changeMessage replaces the body of a message and returns the number of rows: 0 if the
// message is new.
func (t *Tenant) changeMessage(ctx context.Context, tx *sql.Tx, m *junctor.Message) (int64, error) {
	body, search, err := encodeMessage(m)
	if err != nil {
		return 0, err
	}
	return t.s.exec(ctx, tx, `UPDATE room_messages SET run_id = ?, body = ?, search = ? WHERE tenant_id = ? AND room_id = ? AND id = ?`,
		m.Run, body, search, string(t.id), m.Room, m.ID)
}

// addMessage stores a new message at the end of its room. The caller has locked the
// tenant, since the next number is read from the table.
func (t *Tenant) addMessage(ctx context.Context, tx *sql.Tx, m *junctor.Message) error {
	body, search, err := encodeMessage(m)
	if err != nil {
		return err
	}
	_, err = t.s.exec(ctx, tx, `INSERT INTO room_messages (`+messageColumns+`, search, seq)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (SELECT COALESCE(MAX(seq), 0) + 1 FROM room_messages WHERE tenant_id = ? AND room_id = ?))`,
		string(t.id), m.Room, m.ID, m.Run, string(m.Author.Kind), m.Author.Name, m.Author.ID, body, toMicros(m.At), search, string(t.id), m.Room)
	switch {
	case err != nil && t.s.dialect.Code(err) == junctor.CodeConflict:
		return junctor.Errorf(junctor.CodeConflict, "the room %q already has a message with the id %q; send the message with a new id", m.Room, m.ID)
	case err != nil && t.s.dialect.Code(err) == junctor.CodeNotFound:
		return roomNotFound(m.Room)
	}
	return err
}

// setCallStates changes the state of the calls in the messages of a run, from one state to
// another.
func (t *Tenant) setCallStates(ctx context.Context, tx *sql.Tx, room, run string, from, to junctor.MessageCallState) error {
	rows, err := tx.QueryContext(ctx, t.s.dialect.Bind(`SELECT `+messageColumns+` FROM room_messages WHERE tenant_id = ? AND room_id = ? AND run_id = ?`),
		string(t.id), room, run)
	if err != nil {
		return err
	}
	defer rows.Close() // rows.Err tells what went wrong
	var changed []junctor.Message
	for rows.Next() {
		m, err := scanMessage(rows)
		if err != nil {
			return err
		}
		some := false
		for i := range m.Calls {
			if m.Calls[i].State == from {
				m.Calls[i].State, some = to, true
			}
		}
		if some {
			changed = append(changed, m)
		}
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	for i := range changed {
		if _, err := t.changeMessage(ctx, tx, &changed[i]); err != nil {
			return err
		}
	}
	return nil
}

// encodeMessage returns the columns body and search of a message.
func encodeMessage(m *junctor.Message) (body, search string, err error) {
	body, err = encodeConfig(messageBody{m.Text, m.Calls, m.Outcome, m.Aside, m.Surfaces, m.Action, m.Thinking})
	parts := append(make([]string, 0, 2+2*len(m.Calls)), m.Author.Name, m.Text)
	for _, c := range m.Calls {
		parts = append(parts, c.Name, c.ResultText)
	}
	return body, foldForSearch(strings.Join(parts, "\n")), err
}

// foldForSearch returns a text as the search compares it: without characters that
// databases cannot keep, normalized, and without case. It converts to upper case first,
// because some letters have two lower-case forms (σ and ς). The search of calls does the
// same.
func foldForSearch(text string) string {
	return strings.ToLower(strings.ToUpper(norm.NFC.String(strings.ReplaceAll(strings.ToValidUTF8(text, ""), "\x00", ""))))
}

// scanMessage reads the columns of messageColumns.
func scanMessage(row scanner) (junctor.Message, error) {
	var m junctor.Message
	var text string
	var said int64
	if err := row.Scan(&m.Tenant, &m.Room, &m.ID, &m.Run, &m.Author.Kind, &m.Author.Name, &m.Author.ID, &text, &said); err != nil {
		return m, err
	}
	var body messageBody
	if err := json.Unmarshal([]byte(text), &body); err != nil {
		return m, fmt.Errorf("cannot read the message %q: %w", m.ID, err)
	}
	m.Text, m.Calls, m.Outcome, m.Aside, m.Thinking, m.At = body.Text, body.Calls, body.Outcome, body.Aside, body.Thinking, fromMicros(said)
	m.Surfaces, m.Action = body.Surfaces, body.Action
	return m, nil
}
