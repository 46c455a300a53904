package store

import (
	"context"
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

// PutComponentCatalog stores a component catalogue, in place of the one of its name.
func (t *Tenant) PutComponentCatalog(ctx context.Context, name string, document []byte) error {
	now := micros(time.Now())
	_, err := t.s.do(ctx, `INSERT INTO component_catalogs (tenant_id, name, document, created_at, updated_at) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (tenant_id, name) DO UPDATE SET document = excluded.document, updated_at = excluded.updated_at`,
		string(t.id), name, string(document), now, now)
	if err != nil {
		return t.s.fail(ctx, err, "store the component catalogue %q", name)
	}
	return nil
}

// DeleteComponentCatalog deletes one; not_found where the tenant has none of that name.
func (t *Tenant) DeleteComponentCatalog(ctx context.Context, name string) error {
	n, err := t.s.do(ctx, `DELETE FROM component_catalogs WHERE tenant_id = ? AND name = ?`, string(t.id), name)
	if err != nil {
		return t.s.fail(ctx, err, "delete the component catalogue %q", name)
	}
	if n == 0 {
		return missing("there is no registered component catalogue %q; junctor component-catalog ls lists them", name)
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
