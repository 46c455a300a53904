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

// ComponentCatalogs lists the tenant's component catalogs by name.
func (t *Tenant) ComponentCatalogs(ctx context.Context) ([]junctor.ComponentCatalog, error) {
	list, err := readAll(ctx, t.s, scanComponentCatalog, `SELECT tenant_id, name, document, created_at, updated_at FROM component_catalogs
		WHERE tenant_id = ? ORDER BY name`, string(t.id))
	if err != nil {
		return nil, t.s.wrapError(ctx, err, "list the component catalogs")
	}
	return list, nil
}

// ComponentCatalogsStamp returns a text that changes whenever a catalog of the tenant is
// added, replaced or removed. It reads no documents, so that it is cheap to poll.
func (t *Tenant) ComponentCatalogsStamp(ctx context.Context) (string, error) {
	list, err := readAll(ctx, t.s, func(row scanner) (string, error) {
		var name string
		var updated int64
		err := row.Scan(&name, &updated)
		return name + "@" + strconv.FormatInt(updated, 10), err
	}, `SELECT name, updated_at FROM component_catalogs WHERE tenant_id = ? ORDER BY name`, string(t.id))
	if err != nil {
		return "", t.s.wrapError(ctx, err, "list the component catalogs")
	}
	return strings.Join(list, " "), nil
}

// PutComponentCatalog stores a component catalog. A zero version adds a new one; otherwise
// version is the UpdatedAt of the catalog that is replaced. The error is precondition if
// somebody else registered or replaced it meanwhile, and not_found if it was deleted.
func (t *Tenant) PutComponentCatalog(ctx context.Context, name string, document []byte, version time.Time) (time.Time, error) {
	row := &versionedRow{
		table: "component_catalogs", where: "name = ?", key: []any{name}, version: version, label: fmt.Sprintf("the component catalog %q", name), notFound: componentCatalogNotFound(name),
	}
	if !version.IsZero() {
		return t.updateVersioned(ctx, row, `document = ?`, string(document))
	}
	now := toMicros(time.Now())
	err := t.s.runTx(ctx, func(tx *sql.Tx) error {
		n, err := t.s.exec(ctx, tx, `INSERT INTO component_catalogs (tenant_id, name, document, created_at, updated_at, updated_by) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT (tenant_id, name) DO NOTHING`, string(t.id), name, string(document), now, now, t.changedBy)
		if err == nil && n == 0 {
			err = t.staleRowError(ctx, tx, row)
		}
		return err
	})
	if err != nil {
		return time.Time{}, t.s.wrapError(ctx, err, "store the component catalog %q", name)
	}
	return fromMicros(now), nil
}

// componentCatalogNotFound is the error for a catalog that the tenant did not register.
func componentCatalogNotFound(name string) error {
	return notFound("no registered component catalog %q; junctor component-catalog ls lists the catalogs", name)
}

// DeleteComponentCatalog deletes a catalog; not_found if the tenant has none of that name.
func (t *Tenant) DeleteComponentCatalog(ctx context.Context, name string) error {
	n, err := t.s.execWrite(ctx, `DELETE FROM component_catalogs WHERE tenant_id = ? AND name = ?`, string(t.id), name)
	if err != nil {
		return t.s.wrapError(ctx, err, "delete the component catalog %q", name)
	}
	if n == 0 {
		return componentCatalogNotFound(name)
	}
	return nil
}

// scanComponentCatalog reads the columns of a component catalog.
func scanComponentCatalog(row scanner) (junctor.ComponentCatalog, error) {
	var c junctor.ComponentCatalog
	var document string
	var created, updated int64
	err := row.Scan(&c.Tenant, &c.Name, &document, &created, &updated)
	c.Document, c.CreatedAt, c.UpdatedAt = []byte(document), fromMicros(created), fromMicros(updated)
	return c, err
}
