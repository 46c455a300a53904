package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// selectModels reads the models of a tenant, each with the number of its keys.
const selectModels = `SELECT m.tenant_id, m.name, m.kind, m.base_url, m.model, m.trusted, m.created_at, m.updated_at, m.updated_by,
	(SELECT COUNT(*) FROM secrets s WHERE s.tenant_id = m.tenant_id AND s.owner = 'model:' || m.name AND s.name = '` + junctor.ModelKeySecret + `')
	FROM models m WHERE m.tenant_id = ?`

// Models lists the tenant's models by name.
func (t *Tenant) Models(ctx context.Context) ([]junctor.Model, error) {
	list, err := readAll(ctx, t.s, scanModel, selectModels+` ORDER BY m.name`, string(t.id))
	if err != nil {
		return nil, t.s.wrapError(ctx, err, "list the models")
	}
	return list, nil
}

// Model returns one model; not_found if the tenant has none of that name.
func (t *Tenant) Model(ctx context.Context, name string) (junctor.Model, error) {
	m, err := readOne(ctx, t.s, scanModel, selectModels+` AND m.name = ?`, string(t.id), name)
	if errors.Is(err, sql.ErrNoRows) {
		return junctor.Model{}, modelNotFound(name)
	}
	if err != nil {
		return junctor.Model{}, t.s.wrapError(ctx, err, "read the model %q", name)
	}
	return m, nil
}

// AddModel stores a new model; conflict if the name is taken.
func (t *Tenant) AddModel(ctx context.Context, m junctor.Model) error {
	now := toMicros(time.Now())
	_, err := t.s.execWrite(ctx, `INSERT INTO models (tenant_id, name, kind, base_url, model, trusted, created_at, updated_at, updated_by) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		string(t.id), m.Name, string(m.Kind), m.BaseURL, m.Model, boolToInt(m.Trusted), now, now, t.changedBy)
	if err != nil {
		return t.s.wrapError(ctx, err, "add the model %q", m.Name)
	}
	return nil
}

// UpdateModel stores a changed copy of what Model returned, and its key if one was
// entered. Both are stored or neither, so that a key never goes to an address that
// somebody else entered. The error is precondition if somebody else changed the model
// meanwhile, and not_found if there is none of its name.
func (t *Tenant) UpdateModel(ctx context.Context, m junctor.Model, key *Secret) error {
	row := &versionedRow{table: "models", where: "name = ?", key: []any{m.Name}, version: m.UpdatedAt, label: fmt.Sprintf("the model %q", m.Name), notFound: modelNotFound(m.Name)}
	err := t.s.runTx(ctx, func(tx *sql.Tx) error {
		_, err := t.updateRow(ctx, tx, row, `kind = ?, base_url = ?, model = ?, trusted = ?`, string(m.Kind), m.BaseURL, m.Model, boolToInt(m.Trusted))
		if err == nil && key != nil {
			err = t.putSecret(ctx, tx, key)
		}
		return err
	})
	if err != nil {
		return t.s.wrapError(ctx, err, "change the model %q", m.Name)
	}
	return nil
}

// DeleteModel deletes a model with its key; not_found if there is none of that name.
func (t *Tenant) DeleteModel(ctx context.Context, name string) error {
	err := t.s.runTx(ctx, func(tx *sql.Tx) error {
		if _, err := t.s.exec(ctx, tx, `DELETE FROM secrets WHERE tenant_id = ? AND owner = ?`, string(t.id), junctor.ModelOwner(name)); err != nil {
			return err
		}
		n, err := t.s.exec(ctx, tx, `DELETE FROM models WHERE tenant_id = ? AND name = ?`, string(t.id), name)
		if err == nil && n == 0 {
			return modelNotFound(name)
		}
		return err
	})
	if err != nil {
		return t.s.wrapError(ctx, err, "delete the model %q", name)
	}
	return nil
}

// modelNotFound is the error for a model that the tenant does not have.
func modelNotFound(name string) error {
	return notFound("unknown model %q; junctor model ls lists the models", name)
}

// scanModel reads the columns of selectModels.
func scanModel(row scanner) (junctor.Model, error) {
	var m junctor.Model
	var trusted, created, updated, keys int64
	err := row.Scan(&m.Tenant, &m.Name, &m.Kind, &m.BaseURL, &m.Model, &trusted, &created, &updated, &m.UpdatedBy, &keys)
	m.CreatedAt, m.UpdatedAt, m.HasKey, m.Trusted = fromMicros(created), fromMicros(updated), keys > 0, trusted != 0
	return m, err
}
