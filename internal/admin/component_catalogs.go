package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
)

// ComponentCatalogs lists and registers catalogs of interface components.
type ComponentCatalogs interface {
	// ComponentCatalogs lists the built-in catalogs, then those that the tenant
	// registered.
	ComponentCatalogs(ctx context.Context, p *junctor.Principal) ([]ComponentCatalog, error)
	// PutComponentCatalog registers a catalog, or replaces the one of its name. If version
	// is not zero, the replaced one has to have that version. It is a conflict if another
	// catalog has its id or its namespace.
	PutComponentCatalog(ctx context.Context, p *junctor.Principal, name string, document json.RawMessage, version time.Time) (ComponentCatalog, error)
	// RemoveComponentCatalog removes a registered catalog; not_found if there is none of
	// that name.
	RemoveComponentCatalog(ctx context.Context, p *junctor.Principal, name string) error
}

// ComponentCatalog is a catalog of interface components that agents may answer with.
type ComponentCatalog struct {
	Name       string          `json:"name" doc:"Name of the catalog on this instance."`
	ID         string          `json:"id" doc:"The catalogId that surfaces and clients use."`
	URL        string          `json:"url" doc:"Public URL of the catalog's document."`
	Title      string          `json:"title,omitempty"`
	About      string          `json:"description,omitempty"`
	Builtin    bool            `json:"builtin" doc:"Whether the catalog comes with Junctor."`
	Components []string        `json:"components" nullable:"false" doc:"Names of the catalog's components."`
	Problem    string          `json:"problem,omitempty" doc:"Why the catalog is not used."`
	UpdatedAt  time.Time       `json:"updated_at,omitzero" doc:"When the catalog was last registered. Absent for built-in catalogs."`
	Document   json.RawMessage `json:"document,omitempty" doc:"The catalog as an A2UI v0.9 document. Only in responses for a single catalog."`
}

type (
	componentCatalogName struct {
		Name string `path:"name" maxLength:"64" doc:"Name of the catalog."`
	}
	putComponentCatalog struct {
		Precondition
		Name string `path:"name" maxLength:"64" doc:"Name of the catalog."`
		Body struct {
			Document json.RawMessage `json:"document" doc:"Catalog of A2UI v0.9: catalogId, components by name with the JSON Schemas of their properties, and fallbacks. If catalogId is absent, the URL that serves the catalog becomes its ID."`
		}
	}
	componentCatalogResponse = versionedResponse[ComponentCatalog]
)

// registerComponentCatalogRoutes registers the routes below /component-catalogs. The list
// leaves the documents out; the route of one catalog has its document.
func (a *api) registerComponentCatalogRoutes() {
	tags := []string{"component catalogs"}
	registerList(a, huma.Operation{
		OperationID: "list-component-catalogs", Method: http.MethodGet, Path: "/component-catalogs", Summary: "List the component catalogs that agents may answer with", Tags: tags,
	}, componentCatalogList(), func(ctx context.Context, _ *ListQuery) ([]ComponentCatalog, error) {
		list, err := a.ComponentCatalogs.ComponentCatalogs(ctx, callerOf(ctx))
		for i := range list {
			list[i].Document = nil
		}
		return list, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "get-component-catalog", Method: http.MethodGet, Path: "/component-catalogs/{name}", Summary: "Show a component catalog with its document", Tags: tags,
	}, func(ctx context.Context, in *componentCatalogName) (*componentCatalogResponse, error) {
		one, err := a.componentCatalog(ctx, in.Name)
		return withVersion(one, one.UpdatedAt), err
	})
	registerRoute(a, huma.Operation{
		OperationID: "put-component-catalog", Method: http.MethodPut, Path: "/component-catalogs/{name}", Summary: "Register or replace a component catalog", Tags: tags, MaxBodyBytes: maxApplyBody,
	}, func(ctx context.Context, in *putComponentCatalog) (*componentCatalogResponse, error) {
		version, err := in.wantedVersion()
		if err != nil {
			return nil, err
		}
		one, err := a.ComponentCatalogs.PutComponentCatalog(ctx, callerOf(ctx), in.Name, in.Body.Document, version)
		return withVersion(one, one.UpdatedAt), a.explainConflict(ctx, err, func() (storedVersion, error) {
			one, err := a.componentCatalog(ctx, in.Name)
			return storedVersion{label: fmt.Sprintf("the component catalog %q", in.Name), body: one, updatedAt: one.UpdatedAt}, err
		})
	})
	registerRoute(a, huma.Operation{
		OperationID: "delete-component-catalog", Method: http.MethodDelete, Path: "/component-catalogs/{name}", Summary: "Delete a registered component catalog", Tags: tags,
		DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *componentCatalogName) (*empty, error) {
		return &empty{}, a.ComponentCatalogs.RemoveComponentCatalog(ctx, callerOf(ctx), in.Name)
	})
}

// componentCatalog returns one catalog of the caller's tenant by name; not_found if there
// is none.
func (a *api) componentCatalog(ctx context.Context, name string) (ComponentCatalog, error) {
	list, err := a.ComponentCatalogs.ComponentCatalogs(ctx, callerOf(ctx))
	if err != nil {
		return ComponentCatalog{}, err
	}
	for _, one := range list {
		if one.Name == name {
			return one, nil
		}
	}
	return ComponentCatalog{}, junctor.Errorf(junctor.CodeNotFound, "unknown component catalog %q; GET %s/component-catalogs lists the catalogs", name, Prefix)
}

// componentCatalogList is the shape of list-component-catalogs.
func componentCatalogList() listShape[ComponentCatalog] {
	return listShape[ComponentCatalog]{
		id: func(v *ComponentCatalog) string { return v.Name },
		orders: []listOrder[ComponentCatalog]{
			byText("name", func(v *ComponentCatalog) string { return v.Name }),
			byText("title", func(v *ComponentCatalog) string { return v.Title }),
			byTime("updated_at", func(v *ComponentCatalog) time.Time { return v.UpdatedAt }),
		},
		text: func(v *ComponentCatalog) []string { return []string{v.Name, v.Title, v.About, v.ID} },
	}
}
