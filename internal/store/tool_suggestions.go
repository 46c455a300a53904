package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	junctor "github.com/junctor-mcp/junctor"
)

// Suggestions lists the suggestions for the tools of a server, by tool. The present form
// of the tools is not stored here.
func (t *Tenant) Suggestions(ctx context.Context, server string) ([]junctor.ToolSuggestion, error) {
	list, err := readAll(ctx, t.s, scanSuggestion, `SELECT tool, id, face, model, made_at FROM tool_suggestions
		WHERE tenant_id = ? AND server = ? ORDER BY tool`, string(t.id), server)
	if err != nil {
		return nil, t.s.wrapError(ctx, err, "list the suggestions for the server %q", server)
	}
	return list, nil
}

// PutSuggestions stores suggestions, each in place of a former one for its tool; not_found
// if the tenant has no such server.
func (t *Tenant) PutSuggestions(ctx context.Context, server string, list []junctor.ToolSuggestion) error {
	err := t.s.runTx(ctx, func(tx *sql.Tx) error {
		for _, one := range list {
			face, err := json.Marshal(one.To)
			if err != nil {
				return junctor.Errorf(junctor.CodeInvalid, "cannot store the suggestion for the tool %q: %w", one.Tool, err)
			}
			_, err = t.s.exec(ctx, tx, `INSERT INTO tool_suggestions (tenant_id, server, tool, id, face, model, made_at) VALUES (?, ?, ?, ?, ?, ?, ?)
				ON CONFLICT (tenant_id, server, tool) DO UPDATE SET id = excluded.id, face = excluded.face, model = excluded.model, made_at = excluded.made_at`,
				string(t.id), server, one.Tool, one.ID, string(face), one.Model, toMicros(one.MadeAt))
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil && t.s.dialect.Code(err) == junctor.CodeNotFound {
		return notFound("unknown server %q", server)
	}
	if err != nil {
		return t.s.wrapError(ctx, err, "store the suggestions for the server %q", server)
	}
	return nil
}

// DeleteSuggestions deletes suggestions that were decided on. One that was deleted or
// replaced meanwhile is not an error.
func (t *Tenant) DeleteSuggestions(ctx context.Context, server string, ids []string) error {
	err := t.s.runTx(ctx, func(tx *sql.Tx) error {
		for _, id := range ids {
			if _, err := t.s.exec(ctx, tx, `DELETE FROM tool_suggestions WHERE tenant_id = ? AND server = ? AND id = ?`, string(t.id), server, id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return t.s.wrapError(ctx, err, "delete the suggestions for the server %q", server)
	}
	return nil
}

// scanSuggestion reads the columns of a suggestion.
func scanSuggestion(row scanner) (junctor.ToolSuggestion, error) {
	var one junctor.ToolSuggestion
	var face string
	var at int64
	if err := row.Scan(&one.Tool, &one.ID, &face, &one.Model, &at); err != nil {
		return one, err
	}
	one.MadeAt = fromMicros(at)
	if err := json.Unmarshal([]byte(face), &one.To); err != nil {
		return one, fmt.Errorf("cannot read the suggestion for the tool %q: %w", one.Tool, err)
	}
	return one, nil
}
