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

const sourceColumns = `tenant_id, id, config, disabled, declared, created_at, updated_at`

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

// AllSources lists the sources of every tenant by id: their doors name no tenant.
func (s *Store) AllSources(ctx context.Context) ([]junctor.Source, error) {
	list, err := all(ctx, s, scanSource, `SELECT `+sourceColumns+` FROM sources ORDER BY id`)
	if err != nil {
		return nil, s.fail(ctx, err, "list the sources")
	}
	return list, nil
}

// SourceAt gives the source with an id, whosever it is; not_found where there is none.
func (s *Store) SourceAt(ctx context.Context, id string) (junctor.Source, error) {
	src, err := one(ctx, s, scanSource, `SELECT `+sourceColumns+` FROM sources WHERE id = ?`, id)
	if errors.Is(err, sql.ErrNoRows) {
		return src, missing("there is no source %q", id)
	}
	if err != nil {
		return src, s.fail(ctx, err, "read the source %q", id)
	}
	return src, nil
}

// Sources lists the tenant's sources by id.
func (t *Tenant) Sources(ctx context.Context) ([]junctor.Source, error) {
	list, err := all(ctx, t.s, scanSource, `SELECT `+sourceColumns+` FROM sources WHERE tenant_id = ? ORDER BY id`, string(t.id))
	if err != nil {
		return nil, t.s.fail(ctx, err, "list the sources")
	}
	return list, nil
}

// Source gives one; not_found when the tenant has none with that id.
func (t *Tenant) Source(ctx context.Context, id string) (junctor.Source, error) {
	src, err := one(ctx, t.s, scanSource, `SELECT `+sourceColumns+` FROM sources WHERE tenant_id = ? AND id = ?`, string(t.id), id)
	if errors.Is(err, sql.ErrNoRows) {
		return src, missing("there is no source %q; junctor source ls lists them", id)
	}
	if err != nil {
		return src, t.s.fail(ctx, err, "read the source %q", id)
	}
	return src, nil
}

// AddSource stores a new source and gives it back; conflict where the id is
// taken, by whichever tenant.
func (t *Tenant) AddSource(ctx context.Context, src junctor.Source) (junctor.Source, error) {
	now := fromMicros(micros(time.Now()))
	src.Tenant, src.CreatedAt, src.UpdatedAt = t.id, now, now
	config, err := sourceText(&src)
	if err != nil {
		return src, err
	}
	_, err = t.s.do(ctx, `INSERT INTO sources (`+sourceColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		string(t.id), src.ID, config, number(src.Disabled), src.Declared, micros(now), micros(now))
	if err != nil {
		return src, t.s.fail(ctx, err, "add the source %q", src.ID)
	}
	return src, nil
}

// UpdateSource stores a source in place of the one with its id; not_found where
// the tenant has none.
func (t *Tenant) UpdateSource(ctx context.Context, src junctor.Source) (junctor.Source, error) {
	now := fromMicros(micros(time.Now()))
	src.Tenant, src.UpdatedAt = t.id, now
	config, err := sourceText(&src)
	if err != nil {
		return src, err
	}
	n, err := t.s.do(ctx, `UPDATE sources SET config = ?, disabled = ?, declared = ?, updated_at = ? WHERE tenant_id = ? AND id = ?`,
		config, number(src.Disabled), src.Declared, micros(now), string(t.id), src.ID)
	if err == nil && n == 0 {
		err = missing("there is no source %q; junctor source ls lists them", src.ID)
	}
	if err != nil {
		return src, t.s.fail(ctx, err, "change the source %q", src.ID)
	}
	return src, nil
}

// DeleteSource forgets a source; its events stay. not_found where the tenant has
// none with that id.
func (t *Tenant) DeleteSource(ctx context.Context, id string) error {
	n, err := t.s.do(ctx, `DELETE FROM sources WHERE tenant_id = ? AND id = ?`, string(t.id), id)
	if err == nil && n == 0 {
		err = missing("there is no source %q; junctor source ls lists them", id)
	}
	if err != nil {
		return t.s.fail(ctx, err, "delete the source %q", id)
	}
	return nil
}

func scanSource(row scanner) (junctor.Source, error) {
	var s junctor.Source
	var text string
	var disabled, created, updated int64
	if err := row.Scan(&s.Tenant, &s.ID, &text, &disabled, &s.Declared, &created, &updated); err != nil {
		return s, err
	}
	var c sourceConfig
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return s, fmt.Errorf("the config of the source %q cannot be read: %w", s.ID, err)
	}
	s.Style, s.Title, s.Header, s.TypeField, s.AgentField, s.Key = c.Style, c.Title, c.Header, c.TypeField, c.AgentField, c.Key
	s.Disabled, s.CreatedAt, s.UpdatedAt = disabled != 0, fromMicros(created), fromMicros(updated)
	return s, nil
}
