package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"runtime"

	"github.com/danielgtaylor/huma/v2"
)

// Version is what runs.
type Version struct {
	Version string `json:"version"`
	Go      string `json:"go"`
}

type oneVersion struct{ Body Version }

type openAPI struct{ Body document }

// document is the OpenAPI document, rendered.
type document json.RawMessage

func (d document) MarshalJSON() ([]byte, error) { return d, nil }

// Schema does not describe OpenAPI in itself.
func (document) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true, Description: "OpenAPI 3.1"}
}

func (a *api) aboutRoutes() {
	tags := []string{"instance"}
	route(a, huma.Operation{
		OperationID: "list-settings", Method: http.MethodGet, Path: "/settings", Summary: "List the effective settings", Tags: tags,
	}, func(context.Context, *none) (*pageOf[Setting], error) {
		return newPage(a.Settings(), ""), nil
	})
	route(a, huma.Operation{
		OperationID: "get-version", Method: http.MethodGet, Path: "/version", Summary: "Say what runs", Tags: tags,
	}, func(context.Context, *none) (*oneVersion, error) {
		return &oneVersion{Version{Version: a.Version, Go: runtime.Version()}}, nil
	})
	route(a, huma.Operation{
		OperationID: "get-openapi", Method: http.MethodGet, Path: "/openapi.json", Summary: "This document", Tags: tags,
	}, func(context.Context, *none) (*openAPI, error) {
		doc, err := a.huma.OpenAPI().MarshalJSON()
		return &openAPI{doc}, err
	})
}
