package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// sourceColumns are the columns that scanSource reads.
const sourceColumns = `tenant_id, id, config, disabled, declared, created_at, updated_at, updated_by`

// sourceConfig is the JSON of the column config.
type sourceConfig struct {
	Style      junctor.SourceStyle `json:"style"`
	Title      string              `json:"title,omitempty"`
	Header     string              `json:"header,omitempty"`
	TypeField  string              `json:"type_field,omitempty"`
	AgentField string              `json:"agent_field,omitempty"`
	Key        string              `json:"key,omitempty"`
}

// encodeSource returns the column config of a source.
func encodeSource(s *junctor.Source) (string, error) {
	return encodeConfig(sourceConfig{s.Style, s.Title, s.Header, s.TypeField, s.AgentField, s.Key})
}

// sourceKey returns the id of a source in the database, which is unique over all tenants
// because it is also a path below /hooks/. For another tenant than the default one it
// begins with the tenant, so that a conflict does not reveal the ids of others.
func (t *Tenant) sourceKey(id string) string {
	if t.id == junctor.DefaultTenant {
		return id
	}
	return string(t.id) + "/" + id
}

// AllSources lists the sources of every tenant by id.
func (s *Store) AllSources(ctx context.Context) ([]junctor.Source, error) {
	return listNamed(ctx, s, kindSource, scanSource, `SELECT `+sourceColumns+` FROM sources ORDER BY id`)
}

// SourceAt returns the source that receives messages at a path below /hooks/; not_found if
// there is none.
func (s *Store) SourceAt(ctx context.Context, path string) (junctor.Source, error) {
	src, err := readOne(ctx, s, scanSource, `SELECT `+sourceColumns+` FROM sources WHERE id = ?`, path)
	if errors.Is(err, sql.ErrNoRows) {
		return src, notFound("unknown source %q", path)
	}
	if err != nil {
		return src, s.wrapError(ctx, err, "read the source %q", path)
	}
	return src, nil
}

// Sources lists the tenant's sources by id.
func (t *Tenant) Sources(ctx context.Context) ([]junctor.Source, error) {
	return listNamed(ctx, t.s, kindSource, scanSource, `SELECT `+sourceColumns+` FROM sources WHERE tenant_id = ? ORDER BY id`, string(t.id))
}

// Source returns one source; not_found if the tenant has none with that id.
func (t *Tenant) Source(ctx context.Context, id string) (junctor.Source, error) {
	// An earlier version stored the ids of every tenant as they are.
	src, err := readOne(ctx, t.s, scanSource, `SELECT `+sourceColumns+` FROM sources WHERE tenant_id = ? AND id IN (?, ?)`, string(t.id), t.sourceKey(id), id)
	if errors.Is(err, sql.ErrNoRows) {
		return src, kindSource.notFound(id)
	}
	if err != nil {
		return src, t.s.wrapError(ctx, err, "read the %s %q", kindSource, id)
	}
	return src, nil
}

// AddSource stores a new source and returns it; conflict if the tenant has one with that
// id.
func (t *Tenant) AddSource(ctx context.Context, src junctor.Source) (junctor.Source, error) {
	now := fromMicros(toMicros(time.Now()))
	src.Tenant, src.CreatedAt, src.UpdatedAt, src.UpdatedBy = t.id, now, now, t.changedBy
	config, err := encodeSource(&src)
	if err != nil {
		return src, err
	}
	src.Path = hookPath(&src, t.sourceKey(src.ID))
	_, err = t.s.execWrite(ctx, `INSERT INTO sources (`+sourceColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		string(t.id), t.sourceKey(src.ID), config, boolToInt(src.Disabled), src.Declared, toMicros(now), toMicros(now), t.changedBy)
	if err != nil {
		return src, t.s.wrapError(ctx, err, "add the source %q", src.ID)
	}
	return src, nil
}

// UpdateSource stores a changed copy of what Source returned, and returns it. The error is
// precondition if somebody else changed the source meanwhile, and not_found if the tenant
// has none.
func (t *Tenant) UpdateSource(ctx context.Context, src junctor.Source) (junctor.Source, error) {
	config, err := encodeSource(&src)
	if err != nil {
		return src, err
	}
	src.Tenant, src.UpdatedBy = t.id, t.changedBy
	row := kindSource.versionedRow("sources", "id IN (?, ?)", src.ID, src.UpdatedAt)
	row.key = []any{t.sourceKey(src.ID), src.ID}
	src.UpdatedAt, err = t.updateVersioned(ctx, row, `config = ?, disabled = ?, declared = ?`, config, boolToInt(src.Disabled), src.Declared)
	return src, err
}

// DeleteSource deletes a source. Its events stay. It is not_found if the tenant has none
// with that id.
func (t *Tenant) DeleteSource(ctx context.Context, id string) error {
	return t.changeNamed(ctx, "delete", kindSource, id, `DELETE FROM sources WHERE tenant_id = ? AND id IN (?, ?)`, string(t.id), t.sourceKey(id), id)
}

// scanSource reads the columns of sourceColumns, and takes the tenant off the id.
func scanSource(row scanner) (junctor.Source, error) {
	var s junctor.Source
	var text string
	var disabled, created, updated int64
	if err := row.Scan(&s.Tenant, &s.ID, &text, &disabled, &s.Declared, &created, &updated, &s.UpdatedBy); err != nil {
		return s, err
	}
	var c sourceConfig
	if err := kindSource.decodeConfig(s.ID, text, &c); err != nil {
		return s, err
	}
	key := s.ID
	s.ID = strings.TrimPrefix(key, string(s.Tenant)+"/")
	s.Style, s.Title, s.Header, s.TypeField, s.AgentField, s.Key = c.Style, c.Title, c.Header, c.TypeField, c.AgentField, c.Key
	s.Disabled, s.CreatedAt, s.UpdatedAt = disabled != 0, fromMicros(created), fromMicros(updated)
	s.Path = hookPath(&s, key)
	return s, nil
}

// hookPath returns the path at which a source receives messages; "" for a source that
// Junctor polls.
func hookPath(s *junctor.Source, key string) string {
	if s.Pulled() {
		return ""
	}
	return "/hooks/" + key
}
