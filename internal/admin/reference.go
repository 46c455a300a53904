package admin

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
)

// apiReference is the OpenAPI document as people read it. The page at ReferencePath shows it, and
// docs/reference/api is generated from it.
type apiReference struct {
	Version string
	Groups  []apiGroup
	Types   []apiType
}

// apiGroup holds the operations of one tag.
type apiGroup struct {
	Name       string
	Operations []apiOperation
}

// Anchor is the group's anchor on the page.
func (g apiGroup) Anchor() string { return "group-" + strings.ReplaceAll(g.Name, " ", "-") }

// apiOperation is one operation.
type apiOperation struct {
	ID, Method, Path, Summary string
	Requires                  string // what a caller requires to perform it
	Parameters                []apiField
	BodyType                  apiTypeName // of the request; empty if it has no body
	Body                      []apiField
	Answers                   []apiAnswer
	Example                   string // a curl command
}

// apiAnswer is one successful answer of an operation. Errors are the same everywhere.
type apiAnswer struct {
	Status, Media string
	Type          apiTypeName
}

// apiField is a parameter of an operation or a member of an object.
type apiField struct {
	Name, In    string
	Type        apiTypeName
	Required    bool
	Description string
}

// apiTypeName names a type: Text with the name of a type of the document at the place of
// %s, or without one if Link is empty.
type apiTypeName struct{ Text, Link string }

// Before and After are the parts around the linked name.
func (t apiTypeName) Before() string { before, _, _ := strings.Cut(t.Text, "%s"); return before }

// After is the part behind the linked name.
func (t apiTypeName) After() string { _, after, _ := strings.Cut(t.Text, "%s"); return after }

// apiType is an object type of the document.
type apiType struct {
	Name, Description string
	Fields            []apiField
}

// newAPIReference reads an OpenAPI document.
func newAPIReference(doc *huma.OpenAPI) apiReference {
	r := apiReference{Version: doc.Info.Version}
	groups := map[string][]apiOperation{}
	for path, item := range doc.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
			if op != nil {
				groups[op.Tags[0]] = append(groups[op.Tags[0]], newAPIOperation(doc, path, op))
			}
		}
	}
	order := []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		slices.SortFunc(groups[name], func(a, b apiOperation) int {
			return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(slices.Index(order, a.Method), slices.Index(order, b.Method)))
		})
		r.Groups = append(r.Groups, apiGroup{Name: name, Operations: groups[name]})
	}
	schemas := doc.Components.Schemas.Map()
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		r.Types = append(r.Types, apiType{Name: name, Description: schemas[name].Description, Fields: fieldsOf(doc, schemas[name])})
	}
	return r
}

func newAPIOperation(doc *huma.OpenAPI, path string, op *huma.Operation) apiOperation {
	o := apiOperation{ID: op.OperationID, Method: op.Method, Path: Prefix + strings.TrimPrefix(path, Prefix), Summary: op.Summary, Requires: requirementOf(op.OperationID)}
	for _, p := range op.Parameters {
		o.Parameters = append(o.Parameters, apiField{Name: p.Name, In: p.In, Type: typeNameOf(p.Schema), Required: p.Required, Description: cmp.Or(p.Description, p.Schema.Description)})
	}
	place := map[string]int{"path": 0, "query": 1, "header": 2}
	slices.SortStableFunc(o.Parameters, func(a, b apiField) int { return cmp.Compare(place[a.In], place[b.In]) })
	example := map[string]any(nil)
	if op.RequestBody != nil {
		if content := op.RequestBody.Content["application/json"]; content != nil {
			schema := resolveSchema(doc, content.Schema)
			o.BodyType, o.Body = typeNameOf(content.Schema), fieldsOf(doc, schema)
			example = map[string]any{}
			for _, name := range schema.Required {
				example[name] = exampleOf(doc, schema.Properties[name], 0)
			}
		}
	}
	o.Example = exampleCommand(o.Method, o.Path, example)
	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		if status == "default" {
			continue
		}
		content := op.Responses[status].Content
		if len(content) == 0 {
			o.Answers = append(o.Answers, apiAnswer{Status: status})
		}
		for _, media := range slices.Sorted(maps.Keys(content)) {
			a := apiAnswer{Status: status, Media: media}
			if content[media].Schema != nil {
				a.Type = typeNameOf(content[media].Schema)
			}
			o.Answers = append(o.Answers, a)
		}
	}
	return o
}

// requirementOf says what a caller requires for an operation.
func requirementOf(operation string) string {
	switch scope := requiredScopes()[operation]; scope {
	case scopeAnyone:
		return "any valid key or login"
	case scopeOperator:
		return "scope `admin` in the tenant `default`"
	case scopeBrowser:
		return "a browser's login; keys are refused"
	case scopePolicies:
		return "scope `policy:write` or `audit:read`"
	case scopeConversation:
		return "scope `tools:call` or `audit:read`"
	default:
		return "scope `" + string(scope) + "`"
	}
}

func resolveSchema(doc *huma.OpenAPI, s *huma.Schema) *huma.Schema {
	if s.Ref != "" {
		return doc.Components.Schemas.SchemaFromRef(s.Ref)
	}
	return s
}

// fieldsOf gives the members of an object type, the required ones first.
func fieldsOf(doc *huma.OpenAPI, s *huma.Schema) []apiField {
	s = resolveSchema(doc, s)
	fields := make([]apiField, 0, len(s.Properties))
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		fields = append(fields, apiField{Name: name, Type: typeNameOf(p), Required: slices.Contains(s.Required, name), Description: p.Description})
	}
	slices.SortStableFunc(fields, func(a, b apiField) int {
		switch {
		case a.Required == b.Required:
			return 0
		case a.Required:
			return -1
		}
		return 1
	})
	return fields
}

// typeNameOf names the type of a schema.
func typeNameOf(s *huma.Schema) apiTypeName {
	switch {
	case s == nil:
		return apiTypeName{Text: "any"}
	case s.Ref != "":
		return apiTypeName{Text: "%s", Link: s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]}
	case s.Type == huma.TypeArray:
		item := typeNameOf(s.Items)
		return apiTypeName{Text: "array of " + item.Text, Link: item.Link}
	case len(s.Enum) > 0:
		words := make([]string, len(s.Enum))
		for i, v := range s.Enum {
			words[i] = fmt.Sprint(v)
		}
		return apiTypeName{Text: cmp.Or(s.Type, "any") + ": " + strings.Join(words, ", ")}
	case s.Type == huma.TypeObject:
		if value, ok := s.AdditionalProperties.(*huma.Schema); ok {
			item := typeNameOf(value)
			return apiTypeName{Text: "map of " + item.Text, Link: item.Link}
		}
	case s.Type == "" && len(s.OneOf)+len(s.AnyOf) > 0:
		var names []string
		for _, one := range slices.Concat(s.OneOf, s.AnyOf) {
			name := typeNameOf(one)
			names = append(names, strings.ReplaceAll(name.Text, "%s", name.Link))
		}
		return apiTypeName{Text: strings.Join(names, " or ")}
	}
	text := cmp.Or(s.Type, "any")
	if s.Format != "" && s.Type == huma.TypeString {
		text += " (" + s.Format + ")"
	}
	return apiTypeName{Text: text}
}

// exampleOf gives a value that fits a schema, for the example of an operation.
func exampleOf(doc *huma.OpenAPI, s *huma.Schema, depth int) any {
	s = resolveSchema(doc, s)
	switch {
	case len(s.Examples) > 0:
		return s.Examples[0]
	case s.Default != nil:
		return s.Default
	case len(s.Enum) > 0:
		return s.Enum[0]
	}
	switch s.Type {
	case huma.TypeString:
		return "…"
	case huma.TypeInteger, huma.TypeNumber:
		return 1
	case huma.TypeBoolean:
		return true
	case huma.TypeArray:
		if s.Items == nil || depth > 2 {
			return []any{}
		}
		return []any{exampleOf(doc, s.Items, depth+1)}
	}
	object := map[string]any{}
	for _, name := range s.Required {
		if depth < 3 {
			object[name] = exampleOf(doc, s.Properties[name], depth+1)
		}
	}
	return object
}

// exampleCommand gives the curl command of an operation. Parameters of the path stand as
// they do in the document: {name}.
func exampleCommand(method, path string, body map[string]any) string {
	var b strings.Builder
	b.WriteString(`curl -H "Authorization: Bearer $JUNCTOR_KEY"`)
	if method != http.MethodGet && (body == nil || method != http.MethodPost) {
		b.WriteString(" -X " + method)
	}
	b.WriteString(" 'http://127.0.0.1:8717" + path + "'")
	if body != nil {
		if text, err := json.Marshal(body); err == nil {
			b.WriteString(" \\\n  -H 'Content-Type: application/json' -d '" + strings.ReplaceAll(string(text), "'", `'\''`) + "'")
		}
	}
	return b.String()
}

// checkReferenceCaller refuses a request for the reference from a caller who may not read
// the OpenAPI document either.
func (a *api) checkReferenceCaller(r *http.Request) error {
	p, err := a.Authenticate(r)
	switch {
	case err != nil:
		return err
	case p == nil:
		return junctor.Errorf(junctor.CodeUnauthenticated, "no credential: send Authorization: Bearer <key>, or sign in at /login")
	}
	return a.checkScope(p, "get-openapi")
}
