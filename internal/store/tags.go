package store

import (
	"context"
	"encoding/json"
	"fmt"

	junctor "github.com/junctor-mcp/junctor"
)

// Tags lists what people say of the tenant's tools, by server and tool.
func (t *Tenant) Tags(ctx context.Context) ([]junctor.ToolTag, error) {
	list, err := all(ctx, t.s, scanTag, `SELECT server, tool, roles, category, tagged_by, tagged_at FROM tool_tags
		WHERE tenant_id = ? ORDER BY server, tool`, string(t.id))
	if err != nil {
		return nil, t.s.fail(ctx, err, "list what tools are for")
	}
	return list, nil
}

// PutTag stores what people say of a tool, in place of what they said. not_found
// when the tenant has no such server.
func (t *Tenant) PutTag(ctx context.Context, tag junctor.ToolTag) error {
	roles := tag.Roles
	if roles == nil {
		roles = []junctor.Role{}
	}
	text, err := json.Marshal(roles)
	if err != nil {
		return junctor.Errorf(junctor.CodeInvalid, "the roles of a tool cannot be stored: %w", err)
	}
	_, err = t.s.do(ctx, `INSERT INTO tool_tags (tenant_id, server, tool, roles, category, tagged_by, tagged_at) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (tenant_id, server, tool) DO UPDATE SET roles = excluded.roles, category = excluded.category,
			tagged_by = excluded.tagged_by, tagged_at = excluded.tagged_at`,
		string(t.id), tag.Server, tag.Tool, string(text), tag.Category, tag.By, micros(tag.At))
	if err != nil && t.s.dialect.Code(err) == junctor.CodeNotFound {
		return missing("there is no server %q; junctor server ls lists them", tag.Server)
	}
	if err != nil {
		return t.s.fail(ctx, err, "store what the tool %q is for", tag.Tool)
	}
	return nil
}

// DeleteTag forgets what people said of a tool: the rules hold again. It is no
// error when they said nothing.
func (t *Tenant) DeleteTag(ctx context.Context, server, tool string) error {
	_, err := t.s.do(ctx, `DELETE FROM tool_tags WHERE tenant_id = ? AND server = ? AND tool = ?`, string(t.id), server, tool)
	if err != nil {
		return t.s.fail(ctx, err, "forget what the tool %q is for", tool)
	}
	return nil
}

func scanTag(row scanner) (junctor.ToolTag, error) {
	var tag junctor.ToolTag
	var roles string
	var at int64
	if err := row.Scan(&tag.Server, &tag.Tool, &roles, &tag.Category, &tag.By, &at); err != nil {
		return tag, err
	}
	tag.At = fromMicros(at)
	if err := json.Unmarshal([]byte(roles), &tag.Roles); err != nil {
		return tag, fmt.Errorf("the roles of the tool %q cannot be read: %w", tag.Tool, err)
	}
	return tag, nil
}
