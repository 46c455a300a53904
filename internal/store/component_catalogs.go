package store

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// ComponentCatalogs lists the tenant's component catalogues by name.
func (t *Tenant) ComponentCatalogs(ctx context.Context) ([]junctor.ComponentCatalog, error) {
	list, err := all(ctx, t.s, scanComponentCatalog, `SELECT tenant_id, name, document, created_at, updated_at FROM component_catalogs
		WHERE tenant_id = ? ORDER BY name`, string(t.id))
	if err != nil {
		return nil, t.s.fail(ctx, err, "list the component catalogues")
	}
	return list, nil
}

// ComponentCatalogsStamp is a text that is another one once a catalogue of the tenant is
// added, replaced or removed. It reads no documents.
func (t *Tenant) ComponentCatalogsStamp(ctx context.Context) (string, error) {
	list, err := all(ctx, t.s, func(row scanner) (string, error) {
		var name string
		var updated int64
		err := row.Scan(&name, &updated)
		return name + "@" + strconv.FormatInt(updated, 10), err
	}, `SELECT name, updated_at FROM component_catalogs WHERE tenant_id = ? ORDER BY name`, string(t.id))
	if err != nil {
		return "", t.s.fail(ctx, err, "list the component catalogues")
	}
	return strings.Join(list, " "), nil
}

// PutComponentCatalog stores a component catalogue. A zero version is a new one; another
// one is the UpdatedAt of the catalogue that it takes the place of. Precondition where
// somebody else registered or replaced it meanwhile, not_found where it is gone.
func (t *Tenant) PutComponentCatalog(ctx context.Context, name string, document []byte, version time.Time) (time.Time, error) {
	row := &versionedRow{
		table: "component_catalogs", where: "name = ?", key: []any{name}, version: version, called: fmt.Sprintf("the component catalogue %q", name), missing: noComponentCatalog(name),
	}
	if !version.IsZero() {
		return t.update(ctx, row, `document = ?`, string(document))
	}
	now := micros(time.Now())
	err := t.s.tx(ctx, func(tx *sql.Tx) error {
		n, err := t.s.exec(ctx, tx, `INSERT INTO component_catalogs (tenant_id, name, document, created_at, updated_at, updated_by) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT (tenant_id, name) DO NOTHING`, string(t.id), name, string(document), now, now, t.by)
		if err == nil && n == 0 {
			err = t.staleRow(ctx, tx, row)
		}
		return err
	})
	if err != nil {
		return time.Time{}, t.s.fail(ctx, err, "store the component catalogue %q", name)
	}
	return fromMicros(now), nil
}

func noComponentCatalog(name string) error {
	return missing("there is no registered component catalogue %q; junctor component-catalog ls lists them", name)
}

// DeleteComponentCatalog deletes one; not_found where the tenant has none of that name.
func (t *Tenant) DeleteComponentCatalog(ctx context.Context, name string) error {
	n, err := t.s.do(ctx, `DELETE FROM component_catalogs WHERE tenant_id = ? AND name = ?`, string(t.id), name)
	if err != nil {
		return t.s.fail(ctx, err, "delete the component catalogue %q", name)
	}
	if n == 0 {
		return noComponentCatalog(name)
	}
	return nil
}

func scanComponentCatalog(row scanner) (junctor.ComponentCatalog, error) {
	var c junctor.ComponentCatalog
	var document string
	var created, updated int64
	err := row.Scan(&c.Tenant, &c.Name, &document, &created, &updated)
	c.Document, c.CreatedAt, c.UpdatedAt = []byte(document), fromMicros(created), fromMicros(updated)
	return c, err
}
