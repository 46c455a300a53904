package graphql

import (
	"github.com/vektah/gqlparser/v2/ast"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// Introspection is what a GraphQL API is asked for its schema.
const Introspection = `query IntrospectionQuery { __schema { queryType { name } mutationType { name } subscriptionType { name } types { ...FullType } } }
fragment FullType on __Type { kind name description fields(includeDeprecated: true) { name description args { ...InputValue } type { ...TypeRef } isDeprecated deprecationReason } inputFields { ...InputValue } interfaces { ...TypeRef } enumValues(includeDeprecated: true) { name description isDeprecated deprecationReason } possibleTypes { ...TypeRef } }
fragment InputValue on __InputValue { name description type { ...TypeRef } defaultValue }
fragment TypeRef on __Type { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name } } } } } } }`

// ReadIntrospection reads the answer to an introspection, whole or its data
// alone. An error is that it is none.
func ReadIntrospection(src doc.Source, root *doc.Node) (*doc.Document, error) {
	s, err := schemaFromIntrospection(src, root)
	if err != nil {
		return nil, err
	}
	return s.makeDocument(doc.Introspection, src)
}

func schemaFromIntrospection(src doc.Source, root *doc.Node) (*Schema, error) {
	if data := root.Get("data"); data != nil {
		root = data
	}
	schema := root.Get("__schema")
	if schema == nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "this is no introspection of a GraphQL API: it has no __schema")
	}
	s := &Schema{file: src.Name, meter: src.Meter()}
	d := &ast.SchemaDocument{}
	def := &ast.SchemaDefinition{}
	for o, key := range map[ast.Operation]string{ast.Query: "queryType", ast.Mutation: "mutationType", ast.Subscription: "subscriptionType"} {
		if name := schema.Get(key).Get("name").Str(); name != "" {
			def.OperationTypes = append(def.OperationTypes, &ast.OperationTypeDefinition{Operation: o, Type: name})
		}
	}
	d.Schema = append(d.Schema, def)
	for _, t := range schema.List("types") {
		if one := readDefinition(t); one.Name != "" {
			d.Definitions = append(d.Definitions, one)
		}
	}
	s.joinDefinitions(d)
	return s, nil
}

func readDefinition(t *doc.Node) *ast.Definition {
	def := &ast.Definition{Kind: ast.DefinitionKind(t.Get("kind").Str()), Name: t.Get("name").Str(), Description: t.Get("description").Str(), Position: nodePosition(t)}
	for _, f := range t.List("fields") {
		field := &ast.FieldDefinition{Name: f.Get("name").Str(), Description: f.Get("description").Str(), Type: readTypeRef(f.Get("type"), 0), Position: nodePosition(f), Directives: deprecatedDirective(f)}
		for _, a := range f.List("args") {
			field.Arguments = append(field.Arguments, &ast.ArgumentDefinition{
				Name: a.Get("name").Str(), Description: a.Get("description").Str(), Type: readTypeRef(a.Get("type"), 0), DefaultValue: readDefault(a), Position: nodePosition(a), Directives: deprecatedDirective(a),
			})
		}
		def.Fields = append(def.Fields, field)
	}
	for _, f := range t.List("inputFields") {
		def.Fields = append(def.Fields, &ast.FieldDefinition{
			Name: f.Get("name").Str(), Description: f.Get("description").Str(), Type: readTypeRef(f.Get("type"), 0), DefaultValue: readDefault(f), Position: nodePosition(f), Directives: deprecatedDirective(f),
		})
	}
	for _, i := range t.List("interfaces") {
		def.Interfaces = append(def.Interfaces, i.Get("name").Str())
	}
	for _, v := range t.List("enumValues") {
		def.EnumValues = append(def.EnumValues, &ast.EnumValueDefinition{Name: v.Get("name").Str(), Description: v.Get("description").Str(), Directives: deprecatedDirective(v)})
	}
	if def.Kind == ast.Union {
		for _, p := range t.List("possibleTypes") {
			def.Types = append(def.Types, p.Get("name").Str())
		}
	}
	return def
}

// readTypeRef reads a reference to a type; nil where it is none.
func readTypeRef(n *doc.Node, depth int) *ast.Type {
	const deepest = 12
	if n == nil || depth > deepest {
		return nil
	}
	switch n.Get("kind").Str() {
	case "NON_NULL":
		t := readTypeRef(n.Get("ofType"), depth+1)
		if t != nil {
			t.NonNull = true
		}
		return t
	case "LIST":
		if of := readTypeRef(n.Get("ofType"), depth+1); of != nil {
			return &ast.Type{Elem: of}
		}
		return nil
	default:
		if name := n.Get("name").Str(); name != "" {
			return &ast.Type{NamedType: name}
		}
		return nil
	}
}

// readDefault is a default. Only that there is one matters, and what it is where it
// is plain.
func readDefault(n *doc.Node) *ast.Value {
	v := n.Get("defaultValue")
	if v == nil || v.Kind != doc.String {
		return nil
	}
	kind := ast.NullValue
	switch raw := v.Text; {
	case raw == "true" || raw == "false":
		kind = ast.BooleanValue
	case numberPattern.MatchString(raw):
		kind = ast.IntValue
	}
	return &ast.Value{Raw: v.Text, Kind: kind}
}

func deprecatedDirective(n *doc.Node) ast.DirectiveList {
	if d := n.Get("isDeprecated"); d != nil && d.Text == "true" {
		return ast.DirectiveList{{Name: "deprecated"}}
	}
	return nil
}

func nodePosition(n *doc.Node) *ast.Position {
	return &ast.Position{Line: int(n.At.Line), Column: int(n.At.Column)}
}
