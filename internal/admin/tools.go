package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
)

// maxCallBody bounds a tool call, as at the MCP endpoints.
const maxCallBody = 4 << 20

// SchemaQuery is embedded in the queries of lists of tools. Its name is exported for the
// same reason as that of ListQuery.
type SchemaQuery struct {
	Schemas bool `query:"schemas" default:"true" doc:"With false, the items have no input_schema and output_schema, which are most of a long list."`
}

// omitSchemas removes the schemas of tools that were listed for this query.
func (q *SchemaQuery) omitSchemas(tools []junctor.Tool) []junctor.Tool {
	if !q.Schemas {
		for i := range tools {
			tools[i].InputSchema, tools[i].OutputSchema = nil, nil
		}
	}
	return tools
}

// toolQuery is the query of list-tools.
type toolQuery struct {
	ListQuery
	SchemaQuery
	Server string `query:"server" doc:"Only the tools of this server."`
	Role   string `query:"role" maxLength:"40" doc:"Only tools for this role and tools for all roles."`
}

// toolList is the shape of lists of tools.
func toolList() listShape[junctor.Tool] {
	return listShape[junctor.Tool]{
		id: func(t *junctor.Tool) string { return t.Exposed },
		orders: []listOrder[junctor.Tool]{
			byText("name", func(t *junctor.Tool) string { return t.Exposed }),
			byText("title", func(t *junctor.Tool) string { return t.Title }),
			byText("category", func(t *junctor.Tool) string { return t.Category }),
		},
		text: func(t *junctor.Tool) []string { return []string{t.Exposed, t.Title, t.Description, t.Category} },
	}
}

// toolName is the path of one tool.
type toolName struct {
	Name string `path:"name" doc:"The tool's exposed name: server__name."`
}

// toolCall is the request that calls a tool.
type toolCall struct {
	Name string `path:"name" doc:"The tool's exposed name: server__name."`
	Body struct {
		Arguments json.RawMessage `json:"arguments,omitempty" doc:"Arguments of the tool, as its input_schema defines them."`
		Version   string          `json:"version,omitempty" doc:"Version of the tool. By default, the tool's default version."`
	}
}

// toolResponse is one tool. Its ETag is the version of its tag.
type toolResponse = versionedResponse[junctor.Tool]

// callResult is the answer to a tool call.
type callResult struct {
	Body mcpResult
}

// mcpResult is an MCP result object, passed through byte for byte.
type mcpResult json.RawMessage

// MarshalJSON implements json.Marshaler: the result is JSON already.
func (r mcpResult) MarshalJSON() ([]byte, error) { return json.RawMessage(r).MarshalJSON() }

// Schema implements huma.SchemaProvider.
func (mcpResult) Schema(huma.Registry) *huma.Schema {
	anything := func() *huma.Schema { return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true} }
	return &huma.Schema{
		Type:                 huma.TypeObject,
		Description:          "Result as defined by MCP. isError is true if the tool ran and failed.",
		AdditionalProperties: true,
		Properties: map[string]*huma.Schema{
			"content":           {Type: huma.TypeArray, Items: anything()},
			"structuredContent": {},
			"isError":           {Type: huma.TypeBoolean},
			"_meta":             anything(),
		},
	}
}

// requireRole refuses a filter that names no role.
func (a *api) requireRole(ctx context.Context, role string) error {
	if role == "" {
		return nil
	}
	roles, err := a.Tags.Roles(ctx, callerOf(ctx))
	if err != nil || slices.ContainsFunc(roles, func(r RoleInfo) bool { return string(r.Name) == role }) {
		return err
	}
	return unknownFilter("role", role, "junctor role ls lists roles")
}

// registerToolRoutes registers the routes that list and call tools.
func (a *api) registerToolRoutes() {
	tags := []string{"tools"}
	registerList(a, huma.Operation{
		OperationID: "list-tools", Method: http.MethodGet, Path: "/tools", Summary: "List or search tools", Tags: tags,
	}, toolList(), func(ctx context.Context, in *toolQuery) ([]junctor.Tool, error) {
		if err := a.requireRole(ctx, in.Role); err != nil {
			return nil, err
		}
		tools := a.Tools.Tools(callerOf(ctx), in.Server, "", junctor.Role(in.Role))
		if len(tools) == 0 { // a server that is seen may have none
			if err := a.requireServer(ctx, in.Server); err != nil {
				return nil, err
			}
		}
		return in.omitSchemas(tools), nil
	})
	registerRoute(a, huma.Operation{
		OperationID: "get-tool", Method: http.MethodGet, Path: "/tools/{name}", Summary: "Show a tool", Tags: tags,
	}, func(ctx context.Context, in *toolName) (*toolResponse, error) {
		tool, err := a.Tools.Tool(ctx, callerOf(ctx), in.Name)
		return withTagVersion(tool), err
	})
	registerRoute(a, huma.Operation{
		OperationID: "call-tool", Method: http.MethodPost, Path: "/tools/{name}/call", Summary: "Call a tool", Tags: tags,
		MaxBodyBytes: maxCallBody + 1, // huma refuses a body of exactly the limit
		// A read deadline left on the connection would end the request's
		// context while the tool still works; the listener's own bounds hold.
		BodyReadTimeout: -1,
	}, func(ctx context.Context, in *toolCall) (*callResult, error) {
		result, _, err := a.Runner.CallTool(ctx, callerOf(ctx), in.Name, in.Body.Version, in.Body.Arguments)
		return &callResult{mcpResult(result)}, err
	})
}
