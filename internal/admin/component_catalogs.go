package admin

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
)

// ComponentCatalogs is what can be done with catalogues of interface components.
type ComponentCatalogs interface {
	// ComponentCatalogs lists those that come with the program, and then those that the
	// tenant registered.
	ComponentCatalogs(ctx context.Context, p *junctor.Principal) ([]ComponentCatalog, error)
	// PutComponentCatalog registers one, or replaces the one of its name. Conflict where
	// its id or its namespace is another's.
	PutComponentCatalog(ctx context.Context, p *junctor.Principal, name string, document json.RawMessage) (ComponentCatalog, error)
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
	Document   json.RawMessage `json:"document,omitempty" doc:"Where one catalogue is shown: the document, as A2UI v0.9 writes catalogues."`
}

type (
	componentCatalogName struct {
		Name string `path:"name" maxLength:"64" doc:"The name of the catalogue."`
	}
	putComponentCatalog struct {
		Name string `path:"name" maxLength:"64" doc:"The name of the catalogue."`
		Body struct {
			Document json.RawMessage `json:"document" doc:"A catalogue of A2UI v0.9: catalogId, components by their names with JSON Schemas of their properties, and fallbacks. Without catalogId its id is the address where it is served."`
		}
	}
	oneComponentCatalog struct{ Body ComponentCatalog }
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
		list, err := a.ComponentCatalogs.ComponentCatalogs(ctx, caller(ctx))
		if err != nil {
			return nil, err
		}
		for _, one := range list {
			if one.Name == in.Name {
				return &oneComponentCatalog{one}, nil
			}
		}
		return nil, junctor.Errorf(junctor.CodeNotFound, "there is no component catalogue %q: GET %s/component-catalogs lists them", in.Name, Prefix)
	})
	route(a, huma.Operation{
		OperationID: "put-component-catalog", Method: http.MethodPut, Path: "/component-catalogs/{name}", Summary: "Register a component catalogue, or replace it", Tags: tags, MaxBodyBytes: maxApplyBody,
	}, func(ctx context.Context, in *putComponentCatalog) (*oneComponentCatalog, error) {
		one, err := a.ComponentCatalogs.PutComponentCatalog(ctx, caller(ctx), in.Name, in.Body.Document)
		return &oneComponentCatalog{one}, err
	})
	route(a, huma.Operation{
		OperationID: "delete-component-catalog", Method: http.MethodDelete, Path: "/component-catalogs/{name}", Summary: "Remove a component catalogue that was registered", Tags: tags,
		DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *componentCatalogName) (*none, error) {
		return &none{}, a.ComponentCatalogs.RemoveComponentCatalog(ctx, caller(ctx), in.Name)
	})
}
