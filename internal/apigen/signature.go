package apigen

import (
	"encoding/json"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/apigen/call"
	"github.com/junctor-mcp/junctor/internal/apigen/doc"
	"github.com/junctor-mcp/junctor/internal/apigen/tool"
)

// maxPreviewText bounds a description in a preview, which may have thousands of
// them.
const maxPreviewText = 200

// inputSchema holds the keywords of an input schema that a preview shows.
type inputSchema struct {
	Type        any                     `json:"type"`
	Description string                  `json:"description"`
	Required    []string                `json:"required"`
	Properties  map[string]*inputSchema `json:"properties"`
	Items       *inputSchema            `json:"items"`
	Ref         string                  `json:"$ref"`
	AnyOf       []*inputSchema          `json:"anyOf"`
	Enum        []any                   `json:"enum"`
}

// listParameters returns the arguments of a tool, the required ones first.
func listParameters(t *tool.Tool) []junctor.APIParameter {
	var schema inputSchema
	if json.Unmarshal(t.Input, &schema) != nil {
		// This cannot happen: apigen/tool wrote the schema.
		return []junctor.APIParameter{}
	}
	out := make([]junctor.APIParameter, 0, len(t.Plan.Args))
	for _, a := range t.Plan.Args {
		p := junctor.APIParameter{Name: a.Name, In: string(a.Place), Type: "any", Required: slices.Contains(schema.Required, a.Name)}
		if a.Place == call.Field || a.Place == call.WholeBody {
			p.In = "body"
		}
		if s := schema.Properties[a.Name]; s != nil {
			p.Type, p.Description = s.typeText(0), shortText(s.Description)
		}
		if a.File {
			p.Type = "file"
		}
		out = append(out, p)
	}
	slices.SortStableFunc(out, func(a, b junctor.APIParameter) int {
		switch {
		case a.Required == b.Required:
			return 0
		case a.Required:
			return -1
		}
		return 1
	})
	return out
}

// typeText returns the type of a value in a few words, such as "array of
// string".
func (s *inputSchema) typeText(depth int) string {
	if s == nil || depth > 4 {
		return "any"
	}
	var kinds []string
	switch t := s.Type.(type) {
	case string:
		kinds = []string{t}
	case []any:
		for _, k := range t {
			if name, ok := k.(string); ok && name != "null" {
				kinds = append(kinds, name)
			}
		}
	}
	switch {
	case s.Ref != "":
		return s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
	case slices.Equal(kinds, []string{"array"}) && s.Items != nil:
		return "array of " + s.Items.typeText(depth+1)
	case len(kinds) > 0:
		return strings.Join(kinds, " or ")
	case len(s.AnyOf) > 0:
		for _, one := range s.AnyOf {
			if text := one.typeText(depth + 1); text != "null" && !slices.Contains(kinds, text) {
				kinds = append(kinds, text)
			}
		}
		return strings.Join(kinds, " or ")
	case len(s.Properties) > 0:
		return "object"
	case len(s.Enum) > 0:
		return "enum"
	}
	return "any"
}

// listResponses returns the responses that the document describes.
func listResponses(op *doc.Operation) []junctor.APIResponse {
	out := []junctor.APIResponse{}
	if op == nil {
		return out
	}
	if op.GraphQL != nil && op.GraphQL.ReturnType != "" {
		return append(out, junctor.APIResponse{Type: op.GraphQL.ReturnType})
	}
	for _, r := range op.Responses {
		one := junctor.APIResponse{Status: r.Status, Description: shortText(r.Description)}
		if len(r.Contents) > 0 {
			one.Media, one.Type = r.Contents[0].Media, schemaName(r.Contents[0].Schema, 0)
		}
		out = append(out, one)
	}
	return out
}

// schemaName returns the name that a document has for a schema, or its type.
func schemaName(n *doc.Node, depth int) string {
	ref := n.Get("$ref").ScalarText()
	switch t := n.Get("type"); {
	case n == nil || depth > 4:
		return ""
	case ref != "":
		return ref[strings.LastIndexAny(ref, "/#")+1:]
	case t.ScalarText() == "array":
		if item := schemaName(n.Get("items"), depth+1); item != "" {
			return "array of " + item
		}
		return "array"
	case t != nil && t.Kind == doc.Array:
		var kinds []string
		for _, k := range t.Items {
			if k.ScalarText() != "null" {
				kinds = append(kinds, k.ScalarText())
			}
		}
		return strings.Join(kinds, " or ")
	default:
		return t.ScalarText()
	}
}

// shortText returns the beginning of a description, on one line.
func shortText(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxPreviewText {
		s = strings.ToValidUTF8(s[:maxPreviewText], "") + "…"
	}
	return s
}
