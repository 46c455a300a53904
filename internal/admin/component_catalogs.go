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

// ComponentCatalogs is what can be done with catalogues of interface components.
type ComponentCatalogs interface {
	// ComponentCatalogs lists those that come with the program, and then those that the
	// tenant registered.
	ComponentCatalogs(ctx context.Context, p *junctor.Principal) ([]ComponentCatalog, error)
	// PutComponentCatalog registers one, or replaces the one of its name; where version is
	// not zero, of that version alone. Conflict where its id or its namespace is another's.
	PutComponentCatalog(ctx context.Context, p *junctor.Principal, name string, document json.RawMessage, version time.Time) (ComponentCatalog, error)
	RemoveComponentCatalog(ctx context.Context, p *junctor.Principal, name string) error
}

// ComponentCatalog is a catalogue of interface components.
type ComponentCatalog struct {
	Name       string          `json:"name" doc:"What it is called here."`
	ID         string          `json:"id" doc:"Its catalogId, by which surfaces and clients name it."`
	URL        string          `json:"url" doc:"Where its document is served, to everybody."`
	Title      string          `json:"title,omitempty"`
	About      string          `json:"description,omitempty"`
	Builtin    bool            `json:"builtin" doc:"It comes with the program."`
	Components []string        `json:"components" nullable:"false" doc:"The names of its components."`
	Problem    string          `json:"problem,omitempty" doc:"Why it is not used, where it is not."`
	UpdatedAt  time.Time       `json:"updated_at,omitzero" doc:"Of one that was registered."`
	Document   json.RawMessage `json:"document,omitempty" doc:"Where one catalogue is shown: the document, as A2UI v0.9 writes catalogues."`
}

type (
	componentCatalogName struct {
		Name string `path:"name" maxLength:"64" doc:"The name of the catalogue."`
	}
	putComponentCatalog struct {
		Precondition
		Name string `path:"name" maxLength:"64" doc:"The name of the catalogue."`
		Body struct {
			Document json.RawMessage `json:"document" doc:"A catalogue of A2UI v0.9: catalogId, components by their names with JSON Schemas of their properties, and fallbacks. Without catalogId its id is the address where it is served."`
		}
	}
	oneComponentCatalog = versioned[ComponentCatalog]
)

func (a *api) componentCatalogRoutes() {
	tags := []string{"component catalogues"}
	route(a, huma.Operation{
		OperationID: "list-component-catalogs", Method: http.MethodGet, Path: "/component-catalogs", Summary: "List the catalogues of interface components that agents may answer with", Tags: tags,
	}, func(ctx context.Context, _ *none) (*pageOf[ComponentCatalog], error) {
		list, err := a.ComponentCatalogs.ComponentCatalogs(ctx, caller(ctx))
		for i := range list {
			list[i].Document = nil
		}
		return newPage(list, ""), err
	})
	route(a, huma.Operation{
		OperationID: "get-component-catalog", Method: http.MethodGet, Path: "/component-catalogs/{name}", Summary: "Show a component catalogue with its document", Tags: tags,
	}, func(ctx context.Context, in *componentCatalogName) (*oneComponentCatalog, error) {
		one, err := a.componentCatalog(ctx, in.Name)
		return withVersion(one, one.UpdatedAt), err
	})
	route(a, huma.Operation{
		OperationID: "put-component-catalog", Method: http.MethodPut, Path: "/component-catalogs/{name}", Summary: "Register a component catalogue, or replace it", Tags: tags, MaxBodyBytes: maxApplyBody,
	}, func(ctx context.Context, in *putComponentCatalog) (*oneComponentCatalog, error) {
		version, err := in.version()
		if err != nil {
			return nil, err
		}
		one, err := a.ComponentCatalogs.PutComponentCatalog(ctx, caller(ctx), in.Name, in.Body.Document, version)
		return withVersion(one, one.UpdatedAt), a.refuse(ctx, err, func() (stored, error) {
			one, err := a.componentCatalog(ctx, in.Name)
			return stored{called: fmt.Sprintf("the component catalogue %q", in.Name), body: one, at: one.UpdatedAt}, err
		})
	})
	route(a, huma.Operation{
		OperationID: "delete-component-catalog", Method: http.MethodDelete, Path: "/component-catalogs/{name}", Summary: "Remove a component catalogue that was registered", Tags: tags,
		DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *componentCatalogName) (*none, error) {
		return &none{}, a.ComponentCatalogs.RemoveComponentCatalog(ctx, caller(ctx), in.Name)
	})
}

func (a *api) componentCatalog(ctx context.Context, name string) (ComponentCatalog, error) {
	list, err := a.ComponentCatalogs.ComponentCatalogs(ctx, caller(ctx))
	if err != nil {
		return ComponentCatalog{}, err
	}
	for _, one := range list {
		if one.Name == name {
			return one, nil
		}
	}
	return ComponentCatalog{}, junctor.Errorf(junctor.CodeNotFound, "there is no component catalogue %q: GET %s/component-catalogs lists them", name, Prefix)
}
