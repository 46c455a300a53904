package agents

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/a2ui"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/store"
)

// mostComponentCatalogs is how many component catalogs a tenant may register.
const mostComponentCatalogs = 50

// ComponentCatalogPath is the URL path below which documents of component catalogs are
// served.
const ComponentCatalogPath = "/a2ui/catalogs/"

// ComponentCatalogs knows the A2UI components that agents may answer with: the built-in
// ones, and those that admins of a tenant registered. It implements
// admin.ComponentCatalogs.
type ComponentCatalogs struct {
	o Options

	mu    sync.Mutex
	cache map[junctor.TenantID]*knownComponents
}

// knownComponents are the built-in and the registered catalogs of a tenant.
type knownComponents struct {
	stamp string // version of the stored rows
	all   *a2ui.Catalogs
	list  []admin.ComponentCatalog
}

func newComponentCatalogs(o Options) *ComponentCatalogs {
	return &ComponentCatalogs{o: o, cache: map[junctor.TenantID]*knownComponents{}}
}

// Known returns the components that a tenant's agents may use. If the database does not
// answer, only the built-in ones are known, so that answers can still be shown.
func (c *ComponentCatalogs) Known(ctx context.Context, tenant junctor.TenantID) *a2ui.Catalogs {
	known, err := c.read(ctx, tenant)
	if err != nil {
		c.o.Log.Warn("cannot read component catalogs; only the built-in ones are available", "tenant", tenant, "error", err)
		return a2ui.BuiltinCatalogs()
	}
	return known.all
}

// read returns the catalogs of a tenant, from memory unless the stored rows have changed.
func (c *ComponentCatalogs) read(ctx context.Context, tenant junctor.TenantID) (*knownComponents, error) {
	rows := c.o.Store.For(tenant)
	stamp, err := rows.ComponentCatalogsStamp(ctx)
	if err != nil {
		return nil, err
	}
	if stamp == "" {
		tenant = "" // all who registered none know the same; an address may name any tenant
	}
	c.mu.Lock()
	known := c.cache[tenant]
	c.mu.Unlock()
	if known != nil && known.stamp == stamp {
		return known, nil
	}
	var stored []junctor.ComponentCatalog
	if stamp != "" {
		if stored, err = rows.ComponentCatalogs(ctx); err != nil {
			return nil, err
		}
	}
	known = c.join(tenant, stored)
	known.stamp = stamp
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cache[tenant] = known
	return known, nil
}

// join combines the built-in catalogs with the stored ones. A stored document that can
// no longer be used is listed with the reason.
func (c *ComponentCatalogs) join(tenant junctor.TenantID, stored []junctor.ComponentCatalog) *knownComponents {
	known := &knownComponents{all: a2ui.BuiltinCatalogs()}
	for _, one := range known.all.All() {
		if !one.Basic {
			known.list = append(known.list, c.describe(builtinName(one.ID), junctor.DefaultTenant, &one))
		}
	}
	for _, row := range stored {
		catalog, err := a2ui.ReadCatalog(row.Document, c.url(tenant, row.Name))
		if err == nil {
			var next *a2ui.Catalogs
			if next, err = known.all.With(catalog); err == nil {
				known.all = next
				one := c.describe(row.Name, tenant, &catalog)
				one.UpdatedAt = row.UpdatedAt
				known.list = append(known.list, one)
				continue
			}
		}
		known.list = append(known.list, admin.ComponentCatalog{Name: row.Name, Components: []string{}, Problem: junctor.AsError(err).Message, Document: row.Document, UpdatedAt: row.UpdatedAt})
	}
	return known
}

// builtinName returns the name of a built-in catalog, which is the name of its file.
func builtinName(id string) string {
	return strings.TrimSuffix(id[strings.LastIndex(id, "/")+1:], ".json")
}

// url returns the address of the document of a catalog.
func (c *ComponentCatalogs) url(tenant junctor.TenantID, name string) string {
	if tenant != junctor.DefaultTenant {
		name = string(tenant) + "." + name
	}
	return strings.TrimSuffix(c.o.URL(), "/") + ComponentCatalogPath + name + ".json"
}

// describe returns a catalog as the admin API shows it.
func (c *ComponentCatalogs) describe(name string, tenant junctor.TenantID, one *a2ui.Catalog) admin.ComponentCatalog {
	out := admin.ComponentCatalog{Name: name, ID: one.ID, URL: c.url(tenant, name), Title: one.Title, About: one.Description, Builtin: !one.Registered, Components: []string{}}
	for _, component := range one.Components {
		out.Components = append(out.Components, component.Name)
	}
	var err error
	if out.Document, err = one.Document(); err != nil {
		out.Problem = err.Error()
	}
	return out
}

// ComponentCatalogs implements admin.ComponentCatalogs.
func (c *ComponentCatalogs) ComponentCatalogs(ctx context.Context, p *junctor.Principal) ([]admin.ComponentCatalog, error) {
	known, err := c.read(ctx, p.Tenant)
	if err != nil {
		return nil, err
	}
	return slices.Clone(known.list), nil
}

// PutComponentCatalog implements admin.ComponentCatalogs.
func (c *ComponentCatalogs) PutComponentCatalog(ctx context.Context, p *junctor.Principal, name string, document json.RawMessage, version time.Time) (admin.ComponentCatalog, error) {
	return store.Retry(ctx, func() (admin.ComponentCatalog, error) { return c.putOnce(ctx, p, name, document, version) })
}

// putOnce makes one attempt to store a component catalog. It checks the whole
// set of catalogs, because components of different catalogs must not contradict
// each other, and stores only if the row still has the version that was read.
func (c *ComponentCatalogs) putOnce(ctx context.Context, p *junctor.Principal, name string, document json.RawMessage, version time.Time) (admin.ComponentCatalog, error) {
	if err := junctor.CheckComponentCatalogName(name); err != nil {
		return admin.ComponentCatalog{}, err
	}
	catalog, err := a2ui.ReadCatalog(document, c.url(p.Tenant, name))
	if err != nil {
		return admin.ComponentCatalog{}, err
	}
	rows := c.o.Store.For(p.Tenant).By(p.ID())
	stored, err := rows.ComponentCatalogs(ctx)
	if err != nil {
		return admin.ComponentCatalog{}, err
	}
	var had time.Time // zero where there is none of that name
	for i := range stored {
		if stored[i].Name == name {
			had = stored[i].UpdatedAt
		}
	}
	if err := junctor.CheckVersion(version, had); err != nil {
		return admin.ComponentCatalog{}, err
	}
	stored = slices.DeleteFunc(stored, func(row junctor.ComponentCatalog) bool { return row.Name == name })
	known := c.join(p.Tenant, stored)
	if slices.ContainsFunc(known.list, func(one admin.ComponentCatalog) bool { return one.Name == name }) {
		return admin.ComponentCatalog{}, junctor.Errorf(junctor.CodeConflict, "the component catalog %q is built in: choose another name", name)
	}
	if len(stored) >= mostComponentCatalogs {
		return admin.ComponentCatalog{}, junctor.Errorf(junctor.CodeConflict, "%d component catalogs are registered already, which is the limit: remove one first", mostComponentCatalogs)
	}
	if _, err := known.all.With(catalog); err != nil {
		return admin.ComponentCatalog{}, err
	}
	updated, err := rows.PutComponentCatalog(ctx, name, document, had)
	if err != nil {
		return admin.ComponentCatalog{}, err
	}
	c.o.Log.Info("component catalog registered", "tenant", p.Tenant, "name", name, "id", catalog.ID, "by", p.ID())
	out := c.describe(name, p.Tenant, &catalog)
	out.UpdatedAt = updated
	return out, nil
}

// RemoveComponentCatalog implements admin.ComponentCatalogs.
func (c *ComponentCatalogs) RemoveComponentCatalog(ctx context.Context, p *junctor.Principal, name string) error {
	err := c.o.Store.For(p.Tenant).DeleteComponentCatalog(ctx, name)
	if err == nil {
		c.o.Log.Info("component catalog removed", "tenant", p.Tenant, "name", name, "by", p.ID())
	}
	return err
}

// registeredIDs returns the ids of the catalogs that the tenant registered. Remote
// agents are told of them, because answers are drawn with them here.
func (c *ComponentCatalogs) registeredIDs(ctx context.Context, tenant junctor.TenantID) (ids []string) {
	for _, one := range c.Known(ctx, tenant).All() {
		if one.Registered {
			ids = append(ids, one.ID)
		}
	}
	return ids
}

// ServeDocument serves the document of a catalog without authentication, as the agent
// cards that name it are public: NAME.json for the default tenant, TENANT.NAME.json for
// another one.
func (c *ComponentCatalogs) ServeDocument(w http.ResponseWriter, r *http.Request) {
	name, isJSON := strings.CutSuffix(r.PathValue("file"), ".json")
	tenant := junctor.DefaultTenant
	if of, own, ok := strings.Cut(name, "."); ok {
		tenant, name = junctor.TenantID(of), own
	}
	var found admin.ComponentCatalog
	if isJSON && junctor.CheckComponentCatalogName(name) == nil {
		known, err := c.read(r.Context(), tenant)
		if err != nil {
			c.o.Log.Error("cannot serve a component catalog", "error", err, "cause", junctor.AsError(err).Cause)
			http.Error(w, "the catalog cannot be read at the moment; try again later", http.StatusServiceUnavailable)
			return
		}
		if i := slices.IndexFunc(known.list, func(one admin.ComponentCatalog) bool { return one.Name == name && one.Problem == "" }); i >= 0 {
			found = known.list[i]
		}
	}
	if found.Document == nil || tenant != junctor.DefaultTenant && found.Builtin {
		http.Error(w, "no component catalog has this name", http.StatusNotFound)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "public, max-age=60")
	_, _ = w.Write(found.Document) // the client may have gone
}
