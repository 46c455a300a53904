package app

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

// mostComponentCatalogs is how many catalogues of components a tenant may register.
const mostComponentCatalogs = 50

// componentCatalogPath is where documents of component catalogues are served.
const componentCatalogPath = "/a2ui/catalogs/"

// componentCatalogs knows which interface components agents may answer with: those that
// come with the program, and those that admins of a tenant registered.
type componentCatalogs struct {
	app *App

	mu    sync.Mutex
	cache map[junctor.TenantID]*knownComponents
}

// knownComponents is what a tenant's stored catalogues come to.
type knownComponents struct {
	stamp string // of the store's rows
	all   *a2ui.Catalogs
	list  []admin.ComponentCatalog
}

func newComponentCatalogs(a *App) *componentCatalogs {
	return &componentCatalogs{app: a, cache: map[junctor.TenantID]*knownComponents{}}
}

// Known gives the components that a tenant's agents may use. Where the database does not
// answer, those that come with the program are known: an answer is shown all the same.
func (c *componentCatalogs) Known(ctx context.Context, tenant junctor.TenantID) *a2ui.Catalogs {
	known, err := c.read(ctx, tenant)
	if err != nil {
		c.app.log.Warn("component catalogues cannot be read: only those of the program are known", "tenant", tenant, "error", err)
		return a2ui.Builtin()
	}
	return known.all
}

// read gives what is stored, from memory unless it has changed since.
func (c *componentCatalogs) read(ctx context.Context, tenant junctor.TenantID) (*knownComponents, error) {
	rows := c.app.store.For(tenant)
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

// join makes one whole of what comes with the program and what is stored. A stored
// document that cannot be used any more is listed with the reason.
func (c *componentCatalogs) join(tenant junctor.TenantID, stored []junctor.ComponentCatalog) *knownComponents {
	known := &knownComponents{all: a2ui.Builtin()}
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

// builtinName is what a catalogue of the program is called: the name of its file.
func builtinName(id string) string {
	return strings.TrimSuffix(id[strings.LastIndex(id, "/")+1:], ".json")
}

// url is where the document of a catalogue is served.
func (c *componentCatalogs) url(tenant junctor.TenantID, name string) string {
	if tenant != junctor.DefaultTenant {
		name = string(tenant) + "." + name
	}
	return strings.TrimSuffix(c.app.URL(), "/") + componentCatalogPath + name + ".json"
}

func (c *componentCatalogs) describe(name string, tenant junctor.TenantID, one *a2ui.Catalog) admin.ComponentCatalog {
	out := admin.ComponentCatalog{Name: name, ID: one.ID, URL: c.url(tenant, name), Title: one.Title, About: one.About, Builtin: !one.Registered, Components: []string{}}
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
func (c *componentCatalogs) ComponentCatalogs(ctx context.Context, p *junctor.Principal) ([]admin.ComponentCatalog, error) {
	known, err := c.read(ctx, p.Tenant)
	if err != nil {
		return nil, err
	}
	return slices.Clone(known.list), nil
}

// PutComponentCatalog implements admin.ComponentCatalogs.
func (c *componentCatalogs) PutComponentCatalog(ctx context.Context, p *junctor.Principal, name string, document json.RawMessage, version time.Time) (admin.ComponentCatalog, error) {
	return store.Retry(ctx, func() (admin.ComponentCatalog, error) { return c.putOnce(ctx, p, name, document, version) })
}

func (c *componentCatalogs) putOnce(ctx context.Context, p *junctor.Principal, name string, document json.RawMessage, version time.Time) (admin.ComponentCatalog, error) {
	if err := junctor.CheckComponentCatalogName(name); err != nil {
		return admin.ComponentCatalog{}, err
	}
	catalog, err := a2ui.ReadCatalog(document, c.url(p.Tenant, name))
	if err != nil {
		return admin.ComponentCatalog{}, err
	}
	rows := c.app.store.For(p.Tenant).By(p.ID())
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
		return admin.ComponentCatalog{}, junctor.Errorf(junctor.CodeConflict, "the component catalogue %q comes with the program: choose another name", name)
	}
	if len(stored) >= mostComponentCatalogs {
		return admin.ComponentCatalog{}, junctor.Errorf(junctor.CodeConflict, "there are %d registered component catalogues already, which is the most: remove one first", mostComponentCatalogs)
	}
	if _, err := known.all.With(catalog); err != nil {
		return admin.ComponentCatalog{}, err
	}
	updated, err := rows.PutComponentCatalog(ctx, name, document, had)
	if err != nil {
		return admin.ComponentCatalog{}, err
	}
	c.app.log.Info("component catalogue registered", "tenant", p.Tenant, "name", name, "id", catalog.ID, "by", p.ID())
	out := c.describe(name, p.Tenant, &catalog)
	out.UpdatedAt = updated
	return out, nil
}

// RemoveComponentCatalog implements admin.ComponentCatalogs.
func (c *componentCatalogs) RemoveComponentCatalog(ctx context.Context, p *junctor.Principal, name string) error {
	err := c.app.store.For(p.Tenant).DeleteComponentCatalog(ctx, name)
	if err == nil {
		c.app.log.Info("component catalogue removed", "tenant", p.Tenant, "name", name, "by", p.ID())
	}
	return err
}

// registeredIDs are the ids of the catalogues that the tenant registered: what is shown
// to people here is drawn with them.
func (c *componentCatalogs) registeredIDs(ctx context.Context, tenant junctor.TenantID) (ids []string) {
	for _, one := range c.Known(ctx, tenant).All() {
		if one.Registered {
			ids = append(ids, one.ID)
		}
	}
	return ids
}

// serveDocument answers with the document of a catalogue. It is for everybody, as cards
// of agents are that name it: NAME.json, or TENANT.NAME.json of another tenant than the
// default one.
func (c *componentCatalogs) serveDocument(w http.ResponseWriter, r *http.Request) {
	name, isJSON := strings.CutSuffix(r.PathValue("file"), ".json")
	tenant := junctor.DefaultTenant
	if of, own, ok := strings.Cut(name, "."); ok {
		tenant, name = junctor.TenantID(of), own
	}
	var found admin.ComponentCatalog
	if isJSON && junctor.CheckComponentCatalogName(name) == nil {
		known, err := c.read(r.Context(), tenant)
		if err != nil {
			c.app.log.Error("a component catalogue cannot be served", "error", err, "cause", junctor.AsError(err).Cause)
			http.Error(w, "the catalogue cannot be read now", http.StatusServiceUnavailable)
			return
		}
		if i := slices.IndexFunc(known.list, func(one admin.ComponentCatalog) bool { return one.Name == name && one.Problem == "" }); i >= 0 {
			found = known.list[i]
		}
	}
	if found.Document == nil || tenant != junctor.DefaultTenant && found.Builtin {
		http.Error(w, "there is no component catalogue of that name", http.StatusNotFound)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "public, max-age=60")
	_, _ = w.Write(found.Document) // the client may have gone
}
