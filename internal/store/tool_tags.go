package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Tags lists the tags that users gave to the tenant's tools, by server and tool.
func (t *Tenant) Tags(ctx context.Context) ([]junctor.ToolTag, error) {
	list, err := readAll(ctx, t.s, scanTag, `SELECT server, tool, roles, category, tagged_by, tagged_at FROM tool_tags
		WHERE tenant_id = ? ORDER BY server, tool`, string(t.id))
	if err != nil {
		return nil, t.s.wrapError(ctx, err, "list the tags of tools")
	}
	return list, nil
}

// insertTag begins the statements that store a tag. Their ends say what becomes of a
// tag that exists. The time of a tag is its version, so each change gives it a later one.
const insertTag = `INSERT INTO tool_tags (tenant_id, server, tool, roles, category, tagged_by, tagged_at) VALUES (?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (tenant_id, server, tool) DO UPDATE SET tagged_by = excluded.tagged_by,
		tagged_at = CASE WHEN tool_tags.tagged_at < excluded.tagged_at THEN excluded.tagged_at ELSE tool_tags.tagged_at + 1 END, `

const (
	replaceTag = insertTag + `roles = excluded.roles, category = excluded.category`
	mergeTag   = insertTag + `roles = CASE WHEN excluded.roles = '[]' THEN tool_tags.roles ELSE excluded.roles END,
		category = CASE WHEN excluded.category = '' THEN tool_tags.category ELSE excluded.category END`
)

// PutTag stores the tag of a tool, in place of a former one; not_found if the tenant has
// no such server.
func (t *Tenant) PutTag(ctx context.Context, tag junctor.ToolTag) error {
	return t.storeTag(ctx, replaceTag, tag)
}

// ReplaceTag stores the tag of a tool in place of the one with a version, its At. The
// error is precondition if there is no tag of that version.
func (t *Tenant) ReplaceTag(ctx context.Context, tag junctor.ToolTag, version time.Time) error {
	values, err := t.tagValues(tag)
	if err != nil {
		return err
	}
	next := max(toMicros(tag.At), toMicros(version)+1)
	n, err := t.s.execWrite(ctx, `UPDATE tool_tags SET roles = ?, category = ?, tagged_by = ?, tagged_at = ?
		WHERE tenant_id = ? AND server = ? AND tool = ? AND tagged_at = ?`, values[3], values[4], values[5], next, values[0], values[1], values[2], toMicros(version))
	if err != nil {
		return t.s.wrapError(ctx, err, "store the tag of the tool %q", tag.Tool)
	}
	if n == 0 {
		return junctor.Errorf(junctor.CodePrecondition, "the tag of the tool %q was changed meanwhile; read it again and repeat the change", tag.Tool)
	}
	return nil
}

// MergeTag stores the tag of a tool, but keeps stored roles if tag has none, and a
// stored category if it has none. It is one statement, so that concurrent changes are
// not lost.
func (t *Tenant) MergeTag(ctx context.Context, tag junctor.ToolTag) error {
	return t.storeTag(ctx, mergeTag, tag)
}

func (t *Tenant) storeTag(ctx context.Context, statement string, tag junctor.ToolTag) error {
	values, err := t.tagValues(tag)
	if err != nil {
		return err
	}
	_, err = t.s.execWrite(ctx, statement, values...)
	if err != nil && t.s.dialect.Code(err) == junctor.CodeNotFound {
		return notFound("unknown server %q; junctor server ls lists the servers", tag.Server)
	}
	if err != nil {
		return t.s.wrapError(ctx, err, "store the tag of the tool %q", tag.Tool)
	}
	return nil
}

// tagValues returns the parameters of insertTag.
func (t *Tenant) tagValues(tag junctor.ToolTag) ([]any, error) {
	roles := tag.Roles
	if roles == nil {
		roles = []junctor.Role{}
	}
	text, err := json.Marshal(roles)
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "cannot store the roles of a tool: %w", err)
	}
	return []any{string(t.id), tag.Server, tag.Tool, string(text), tag.Category, tag.By, toMicros(tag.At)}, nil
}

// RenameTags moves the tags of a server to the new names of their tools. Two tools may
// swap names: all tags are deleted before any is stored. The statement that deletes a
// tag also reads it, so that concurrent changes are not lost.
func (t *Tenant) RenameTags(ctx context.Context, server string, renamed map[string]string) error {
	err := t.s.runTx(ctx, func(tx *sql.Tx) error {
		var tags []junctor.ToolTag
		// In the order of names, so that two transactions cannot wait for each other.
		for _, tool := range slices.Sorted(maps.Keys(renamed)) {
			found, err := readAllIn(ctx, t.s, tx, scanTag, `DELETE FROM tool_tags WHERE tenant_id = ? AND server = ? AND tool = ?
				RETURNING server, tool, roles, category, tagged_by, tagged_at`, string(t.id), server, tool)
			if err != nil {
				return err
			}
			tags = append(tags, found...)
		}
		for _, tag := range tags {
			tag.Tool = renamed[tag.Tool]
			values, err := t.tagValues(tag)
			if err != nil {
				return err
			}
			if _, err := t.s.exec(ctx, tx, replaceTag, values...); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return t.s.wrapError(ctx, err, "rename the tags of the tools of %q", server)
	}
	return nil
}

// DeleteTag deletes the tag of a tool, so that the rules decide again. A missing tag is
// not an error.
func (t *Tenant) DeleteTag(ctx context.Context, server, tool string) error {
	_, err := t.s.execWrite(ctx, `DELETE FROM tool_tags WHERE tenant_id = ? AND server = ? AND tool = ?`, string(t.id), server, tool)
	if err != nil {
		return t.s.wrapError(ctx, err, "delete the tag of the tool %q", tool)
	}
	return nil
}

// scanTag reads the columns of a tag.
func scanTag(row scanner) (junctor.ToolTag, error) {
	var tag junctor.ToolTag
	var roles string
	var at int64
	if err := row.Scan(&tag.Server, &tag.Tool, &roles, &tag.Category, &tag.By, &at); err != nil {
		return tag, err
	}
	tag.At = fromMicros(at)
	if err := json.Unmarshal([]byte(roles), &tag.Roles); err != nil {
		return tag, fmt.Errorf("cannot read the roles of the tool %q: %w", tag.Tool, err)
	}
	return tag, nil
}
