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

const messageColumns = `tenant_id, workspace_id, id, run_id, author_kind, author, author_id, body, said_at`

// messageBody is what the column body holds.
type messageBody struct {
	Text     string             `json:"text"`
	Calls    []junctor.SaidCall `json:"calls,omitempty"`
	Outcome  string             `json:"outcome,omitempty"`
	Aside    string             `json:"aside,omitempty"`
	Surfaces []json.RawMessage  `json:"surfaces,omitempty"`
	Action   json.RawMessage    `json:"action,omitempty"`
	Thinking json.RawMessage    `json:"thinking,omitempty"`
}

// MessageFilter says which messages of a room are wanted.
type MessageFilter struct {
	Before string // only those before this one, by id
	Query  string // only those that hold this text, in whatever case
	Limit  int
}

// Messages gives the newest messages of a room that the filter wants, oldest
// first.
func (t *Tenant) Messages(ctx context.Context, workspace string, f MessageFilter) ([]junctor.Message, error) {
	query := `SELECT ` + messageColumns + ` FROM workspace_messages WHERE tenant_id = ? AND workspace_id = ?`
	args := []any{string(t.id), workspace}
	if f.Before != "" {
		query += ` AND seq < COALESCE((SELECT seq FROM workspace_messages WHERE tenant_id = ? AND workspace_id = ? AND id = ?), 0)`
		args = append(args, string(t.id), workspace, f.Before)
	}
	if f.Query != "" {
		query += ` AND search LIKE ? ESCAPE '!'`
		args = append(args, "%"+strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(searchable(f.Query))+"%")
	}
	list, err := all(ctx, t.s, scanMessage, query+` ORDER BY seq DESC LIMIT ?`, append(args, f.Limit)...)
	if err != nil {
		return nil, t.s.fail(ctx, err, "read the messages of the room %q", workspace)
	}
	slices.Reverse(list)
	return list, nil
}

// PutMessage keeps a message: behind all others of the room where it is new,
// else in its place.
func (t *Tenant) PutMessage(ctx context.Context, m *junctor.Message) error {
	err := t.s.tx(ctx, func(tx *sql.Tx) error {
		n, err := t.changeMessage(ctx, tx, m)
		if err != nil || n > 0 {
			return err
		}
		if err := t.hold(ctx, tx); err != nil {
			return err
		}
		return t.addMessage(ctx, tx, m)
	})
	if err != nil {
		return t.s.fail(ctx, err, "keep a message of the room %q", m.Workspace)
	}
	return nil
}

func (t *Tenant) changeMessage(ctx context.Context, tx *sql.Tx, m *junctor.Message) (int64, error) {
	body, search, err := textOf(m)
	if err != nil {
		return 0, err
	}
	return t.s.exec(ctx, tx, `UPDATE workspace_messages SET run_id = ?, body = ?, search = ? WHERE tenant_id = ? AND workspace_id = ? AND id = ?`,
		m.Run, body, search, string(t.id), m.Workspace, m.ID)
}

// addMessage is for a transaction that holds the tenant.
func (t *Tenant) addMessage(ctx context.Context, tx *sql.Tx, m *junctor.Message) error {
	body, search, err := textOf(m)
	if err != nil {
		return err
	}
	_, err = t.s.exec(ctx, tx, `INSERT INTO workspace_messages (`+messageColumns+`, search, seq)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (SELECT COALESCE(MAX(seq), 0) + 1 FROM workspace_messages WHERE tenant_id = ? AND workspace_id = ?))`,
		string(t.id), m.Workspace, m.ID, m.Run, string(m.Author.Kind), m.Author.Name, m.Author.ID, body, micros(m.At), search, string(t.id), m.Workspace)
	switch {
	case err != nil && t.s.dialect.Code(err) == junctor.CodeConflict:
		return junctor.Errorf(junctor.CodeConflict, "the room %q has a message with the id %q already: it was said before", m.Workspace, m.ID)
	case err != nil && t.s.dialect.Code(err) == junctor.CodeNotFound:
		return noWorkspace(m.Workspace)
	}
	return err
}

// settleCalls changes the state of calls in the messages of a run.
func (t *Tenant) settleCalls(ctx context.Context, tx *sql.Tx, workspace, run string, from, to junctor.SaidState) error {
	rows, err := tx.QueryContext(ctx, t.s.dialect.Bind(`SELECT `+messageColumns+` FROM workspace_messages WHERE tenant_id = ? AND workspace_id = ? AND run_id = ?`),
		string(t.id), workspace, run)
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

// textOf is a message as it is stored, and as it is searched.
func textOf(m *junctor.Message) (body, search string, err error) {
	body, err = configText(messageBody{m.Text, m.Calls, m.Outcome, m.Aside, m.Surfaces, m.Action, m.Thinking})
	parts := append(make([]string, 0, 2+2*len(m.Calls)), m.Author.Name, m.Text)
	for _, c := range m.Calls {
		parts = append(parts, c.Name, c.ResultText)
	}
	return body, searchable(strings.Join(parts, "\n")), err
}

// searchable is a text as it is compared: what databases cannot keep is left
// out, and case does not count. It goes by way of the upper case, since some letters
// have two lower ones (σ and ς), as the search of calls does.
func searchable(text string) string {
	return strings.ToLower(strings.ToUpper(norm.NFC.String(strings.ReplaceAll(strings.ToValidUTF8(text, ""), "\x00", ""))))
}

func scanMessage(row scanner) (junctor.Message, error) {
	var m junctor.Message
	var text string
	var said int64
	if err := row.Scan(&m.Tenant, &m.Workspace, &m.ID, &m.Run, &m.Author.Kind, &m.Author.Name, &m.Author.ID, &text, &said); err != nil {
		return m, err
	}
	var body messageBody
	if err := json.Unmarshal([]byte(text), &body); err != nil {
		return m, fmt.Errorf("the message %q cannot be read: %w", m.ID, err)
	}
	m.Text, m.Calls, m.Outcome, m.Aside, m.Thinking, m.At = body.Text, body.Calls, body.Outcome, body.Aside, body.Thinking, fromMicros(said)
	m.Surfaces, m.Action = body.Surfaces, body.Action
	return m, nil
}
