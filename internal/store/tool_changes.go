package store

import (
	"context"
	"database/sql"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// KeepChanges is how many changes of one tool are kept, the newest ones.
const KeepChanges = 10

// AddChanges stores changes of tools, in one transaction. For a change that is stored
// already, only the time is updated. It is not_found if the tenant has no such server.
func (t *Tenant) AddChanges(ctx context.Context, changes []junctor.ToolChange) error {
	if len(changes) == 0 {
		return nil
	}
	err := t.s.runTx(ctx, func(tx *sql.Tx) error {
		for _, c := range changes {
			_, err := t.s.exec(ctx, tx, `INSERT INTO tool_changes (tenant_id, id, server, tool, before_digest, after_digest, before_json, after_json, seen_at)
				VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (tenant_id, id) DO UPDATE SET seen_at = excluded.seen_at`,
				string(t.id), c.ID, c.Server, c.Tool, c.BeforeDigest, c.AfterDigest, []byte(c.Before), []byte(c.After), toMicros(c.SeenAt))
			if err != nil && t.s.dialect.Code(err) == junctor.CodeNotFound {
				return notFound("unknown server %q; junctor server ls lists the servers", c.Server)
			}
			if err != nil {
				return err
			}
			if _, err := t.s.exec(ctx, tx, `DELETE FROM tool_changes WHERE tenant_id = ? AND server = ? AND tool = ? AND id NOT IN
				(SELECT id FROM tool_changes WHERE tenant_id = ? AND server = ? AND tool = ? ORDER BY seen_at DESC, id DESC LIMIT ?)`,
				string(t.id), c.Server, c.Tool, string(t.id), c.Server, c.Tool, KeepChanges); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return t.s.wrapError(ctx, err, "store changes of tools")
	}
	return nil
}

// Changes lists changes of tools, newest first. server and tool may be "" for all.
func (t *Tenant) Changes(ctx context.Context, server, tool string, limit int) ([]junctor.ToolChange, error) {
	where, args := []string{`tenant_id = ?`}, []any{string(t.id)}
	if server != "" {
		where, args = append(where, `server = ?`), append(args, server)
	}
	if tool != "" {
		where, args = append(where, `tool = ?`), append(args, tool)
	}
	list, err := readAll(ctx, t.s, scanChange, `SELECT id, server, tool, before_digest, after_digest, before_json, after_json, seen_at FROM tool_changes
		WHERE `+strings.Join(where, ` AND `)+` ORDER BY seen_at DESC, id DESC LIMIT ?`, append(args, limit)...)
	if err != nil {
		return nil, t.s.wrapError(ctx, err, "list changes of tools")
	}
	return list, nil
}

// ChangeRefs lists all changes of tools without the definitions, newest first. server and tool
// may be "" for all.
func (t *Tenant) ChangeRefs(ctx context.Context, server, tool string) ([]junctor.ToolChange, error) {
	list, err := readAll(ctx, t.s, func(row scanner) (c junctor.ToolChange, err error) {
		var seen int64
		err = row.Scan(&c.ID, &c.Server, &c.Tool, &c.BeforeDigest, &c.AfterDigest, &seen)
		c.SeenAt = fromMicros(seen)
		return c, err
	}, `SELECT id, server, tool, before_digest, after_digest, seen_at FROM tool_changes
		WHERE tenant_id = ? AND (server = ? OR ? = '') AND (tool = ? OR ? = '') ORDER BY seen_at DESC, id DESC`, string(t.id), server, server, tool, tool)
	if err != nil {
		return nil, t.s.wrapError(ctx, err, "list changes of tools")
	}
	return list, nil
}

// ChangesByID returns the changes with these ids, in any order.
func (t *Tenant) ChangesByID(ctx context.Context, ids []string) ([]junctor.ToolChange, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	args := []any{string(t.id)}
	for _, id := range ids {
		args = append(args, id)
	}
	list, err := readAll(ctx, t.s, scanChange, `SELECT id, server, tool, before_digest, after_digest, before_json, after_json, seen_at FROM tool_changes
		WHERE tenant_id = ? AND id IN (?`+strings.Repeat(`, ?`, len(ids)-1)+`)`, args...)
	if err != nil {
		return nil, t.s.wrapError(ctx, err, "read changes of tools")
	}
	return list, nil
}

// scanChange reads the columns of a change.
func scanChange(row scanner) (junctor.ToolChange, error) {
	var c junctor.ToolChange
	var before, after []byte
	var seen int64
	err := row.Scan(&c.ID, &c.Server, &c.Tool, &c.BeforeDigest, &c.AfterDigest, &before, &after, &seen)
	c.Before, c.After, c.SeenAt = before, after, fromMicros(seen)
	return c, err
}
