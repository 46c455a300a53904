package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"runtime"

	"github.com/danielgtaylor/huma/v2"
)

// Version is the version of the running program.
type Version struct {
	Version string `json:"version"`
	Go      string `json:"go"`
}

// versionResponse is the answer to get-version.
type versionResponse struct{ Body Version }

// openAPIResponse is the answer to get-openapi.
type openAPIResponse struct{ Body openAPIDocument }

// openAPIDocument is the rendered OpenAPI document.
type openAPIDocument json.RawMessage

// MarshalJSON implements json.Marshaler: the document is JSON already.
func (d openAPIDocument) MarshalJSON() ([]byte, error) { return d, nil }

// Schema implements huma.SchemaProvider. The document does not describe OpenAPI in itself.
func (openAPIDocument) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true, Description: "OpenAPI 3.1"}
}

// registerAboutRoutes registers the routes about the instance: settings, version and this
// API's document.
func (a *api) registerAboutRoutes() {
	tags := []string{"instance"}
	registerList(a, huma.Operation{
		OperationID: "list-settings", Method: http.MethodGet, Path: "/settings", Summary: "List the effective settings", Tags: tags,
	}, settingList(), func(_ context.Context, _ *ListQuery) ([]Setting, error) {
		return a.Settings(), nil
	})
	registerRoute(a, huma.Operation{
		OperationID: "get-version", Method: http.MethodGet, Path: "/version", Summary: "Show the version and build of the instance", Tags: tags,
	}, func(context.Context, *empty) (*versionResponse, error) {
		return &versionResponse{Version{Version: a.Version, Go: runtime.Version()}}, nil
	})
	registerRoute(a, huma.Operation{
		OperationID: "get-openapi", Method: http.MethodGet, Path: "/openapi.json", Summary: "Get this document", Tags: tags,
	}, func(context.Context, *empty) (*openAPIResponse, error) {
		doc, err := a.huma.OpenAPI().MarshalJSON()
		return &openAPIResponse{doc}, err
	})
}

// settingList is the shape of list-settings.
func settingList() listShape[Setting] {
	return listShape[Setting]{
		id: func(v *Setting) string { return v.Name },
		orders: []listOrder[Setting]{
			byText("name", func(v *Setting) string { return v.Name }),
			byText("source", func(v *Setting) string { return v.Source }),
		},
		text: func(v *Setting) []string { return []string{v.Name, v.Value} },
	}
}
