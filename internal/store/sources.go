package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

const sourceColumns = `tenant_id, id, config, disabled, declared, created_at, updated_at, updated_by`

// sourceConfig is what the column config holds.
type sourceConfig struct {
	Style      junctor.SourceStyle `json:"style"`
	Title      string              `json:"title,omitempty"`
	Header     string              `json:"header,omitempty"`
	TypeField  string              `json:"type_field,omitempty"`
	AgentField string              `json:"agent_field,omitempty"`
	Key        string              `json:"key,omitempty"`
}

func sourceText(s *junctor.Source) (string, error) {
	return configText(sourceConfig{s.Style, s.Title, s.Header, s.TypeField, s.AgentField, s.Key})
}

// sourceKey is the id of a source in the database, which is one for all tenants:
// that of another tenant than the default one begins with the tenant, so that
// nobody learns from a conflict which ids others have.
func (t *Tenant) sourceKey(id string) string {
	if t.id == junctor.DefaultTenant {
		return id
	}
	return string(t.id) + "/" + id
}

// AllSources lists the sources of every tenant by id.
func (s *Store) AllSources(ctx context.Context) ([]junctor.Source, error) {
	return list(ctx, s, aSource, scanSource, `SELECT `+sourceColumns+` FROM sources ORDER BY id`)
}

// SourceAt gives the source whose messages come in at a path below /hooks/;
// not_found where there is none.
func (s *Store) SourceAt(ctx context.Context, path string) (junctor.Source, error) {
	src, err := one(ctx, s, scanSource, `SELECT `+sourceColumns+` FROM sources WHERE id = ?`, path)
	if errors.Is(err, sql.ErrNoRows) {
		return src, missing("there is no source %q", path)
	}
	if err != nil {
		return src, s.fail(ctx, err, "read the source %q", path)
	}
	return src, nil
}

// Sources lists the tenant's sources by id.
func (t *Tenant) Sources(ctx context.Context) ([]junctor.Source, error) {
	return list(ctx, t.s, aSource, scanSource, `SELECT `+sourceColumns+` FROM sources WHERE tenant_id = ? ORDER BY id`, string(t.id))
}

// Source gives one; not_found when the tenant has none with that id.
func (t *Tenant) Source(ctx context.Context, id string) (junctor.Source, error) {
	// An earlier version stored the ids of every tenant as they are.
	src, err := one(ctx, t.s, scanSource, `SELECT `+sourceColumns+` FROM sources WHERE tenant_id = ? AND id IN (?, ?)`, string(t.id), t.sourceKey(id), id)
	if errors.Is(err, sql.ErrNoRows) {
		return src, aSource.missing(id)
	}
	if err != nil {
		return src, t.s.fail(ctx, err, "read the %s %q", aSource, id)
	}
	return src, nil
}

// AddSource stores a new source and gives it back; conflict where the tenant has
// one with that id.
func (t *Tenant) AddSource(ctx context.Context, src junctor.Source) (junctor.Source, error) {
	now := fromMicros(micros(time.Now()))
	src.Tenant, src.CreatedAt, src.UpdatedAt, src.UpdatedBy = t.id, now, now, t.by
	config, err := sourceText(&src)
	if err != nil {
		return src, err
	}
	src.Path = hookPath(&src, t.sourceKey(src.ID))
	_, err = t.s.do(ctx, `INSERT INTO sources (`+sourceColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		string(t.id), t.sourceKey(src.ID), config, number(src.Disabled), src.Declared, micros(now), micros(now), t.by)
	if err != nil {
		return src, t.s.fail(ctx, err, "add the source %q", src.ID)
	}
	return src, nil
}

// UpdateSource stores a source that Source gave, changed, in place of the one with its
// id, and gives it back. Precondition where somebody else changed it meanwhile,
// not_found where the tenant has none.
func (t *Tenant) UpdateSource(ctx context.Context, src junctor.Source) (junctor.Source, error) {
	config, err := sourceText(&src)
	if err != nil {
		return src, err
	}
	src.Tenant, src.UpdatedBy = t.id, t.by
	row := aSource.row("sources", "id IN (?, ?)", src.ID, src.UpdatedAt)
	row.key = []any{t.sourceKey(src.ID), src.ID}
	src.UpdatedAt, err = t.update(ctx, row, `config = ?, disabled = ?, declared = ?`, config, number(src.Disabled), src.Declared)
	return src, err
}

// DeleteSource forgets a source; its events stay. not_found where the tenant has
// none with that id.
func (t *Tenant) DeleteSource(ctx context.Context, id string) error {
	return t.change(ctx, "delete", aSource, id, `DELETE FROM sources WHERE tenant_id = ? AND id IN (?, ?)`, string(t.id), t.sourceKey(id), id)
}

func scanSource(row scanner) (junctor.Source, error) {
	var s junctor.Source
	var text string
	var disabled, created, updated int64
	if err := row.Scan(&s.Tenant, &s.ID, &text, &disabled, &s.Declared, &created, &updated, &s.UpdatedBy); err != nil {
		return s, err
	}
	var c sourceConfig
	if err := aSource.read(s.ID, text, &c); err != nil {
		return s, err
	}
	key := s.ID
	s.ID = strings.TrimPrefix(key, string(s.Tenant)+"/")
	s.Style, s.Title, s.Header, s.TypeField, s.AgentField, s.Key = c.Style, c.Title, c.Header, c.TypeField, c.AgentField, c.Key
	s.Disabled, s.CreatedAt, s.UpdatedAt = disabled != 0, fromMicros(created), fromMicros(updated)
	s.Path = hookPath(&s, key)
	return s, nil
}

// hookPath is where the messages of a source come in.
func hookPath(s *junctor.Source, key string) string {
	if s.Pulled() {
		return ""
	}
	return "/hooks/" + key
}
