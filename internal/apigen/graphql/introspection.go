package graphql

import (
	"github.com/vektah/gqlparser/v2/ast"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// IntrospectionQuery is the query that asks a GraphQL API for its schema.
const IntrospectionQuery = `query IntrospectionQuery { __schema { queryType { name } mutationType { name } subscriptionType { name } types { ...FullType } } }
fragment FullType on __Type { kind name description fields(includeDeprecated: true) { name description args { ...InputValue } type { ...TypeRef } isDeprecated deprecationReason } inputFields { ...InputValue } interfaces { ...TypeRef } enumValues(includeDeprecated: true) { name description isDeprecated deprecationReason } possibleTypes { ...TypeRef } }
fragment InputValue on __InputValue { name description type { ...TypeRef } defaultValue }
fragment TypeRef on __Type { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name } } } } } } }`

// readIntrospection reads the answer to an introspection query, either whole or
// its data only. It returns an error if root is no such answer.
func readIntrospection(src doc.Source, root *doc.Node) (*doc.Document, error) {
	s, err := schemaFromIntrospection(src, root)
	if err != nil {
		return nil, err
	}
	return s.makeDocument(doc.Introspection, src)
}

// schemaFromIntrospection builds the Schema of an introspection answer. It
// fills the same structures that the SDL parser does, so that joinDefinitions
// checks both.
func schemaFromIntrospection(src doc.Source, root *doc.Node) (*Schema, error) {
	// Users save either the whole answer or its data.
	if data := root.Get("data"); data != nil {
		root = data
	}
	schema := root.Get("__schema")
	if schema == nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "this is not an introspection result of a GraphQL API: it has no __schema")
	}
	s := &Schema{file: src.Name, meter: src.Meter()}
	d := &ast.SchemaDocument{}
	def := &ast.SchemaDefinition{}
	for o, key := range map[ast.Operation]string{ast.Query: "queryType", ast.Mutation: "mutationType", ast.Subscription: "subscriptionType"} {
		if name := schema.Get(key).Get("name").ScalarText(); name != "" {
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

// readDefinition reads one type of an introspection answer. Its name is empty
// if it is no type.
func readDefinition(t *doc.Node) *ast.Definition {
	def := &ast.Definition{Kind: ast.DefinitionKind(t.Get("kind").ScalarText()), Name: t.Get("name").ScalarText(), Description: t.Get("description").ScalarText(), Position: nodePosition(t)}
	for _, f := range t.List("fields") {
		field := &ast.FieldDefinition{Name: f.Get("name").ScalarText(), Description: f.Get("description").ScalarText(), Type: readTypeRef(f.Get("type"), 0), Position: nodePosition(f), Directives: deprecatedDirective(f)}
		for _, a := range f.List("args") {
			field.Arguments = append(field.Arguments, &ast.ArgumentDefinition{
				Name: a.Get("name").ScalarText(), Description: a.Get("description").ScalarText(), Type: readTypeRef(a.Get("type"), 0), DefaultValue: readDefault(a), Position: nodePosition(a), Directives: deprecatedDirective(a),
			})
		}
		def.Fields = append(def.Fields, field)
	}
	for _, f := range t.List("inputFields") {
		def.Fields = append(def.Fields, &ast.FieldDefinition{
			Name: f.Get("name").ScalarText(), Description: f.Get("description").ScalarText(), Type: readTypeRef(f.Get("type"), 0), DefaultValue: readDefault(f), Position: nodePosition(f), Directives: deprecatedDirective(f),
		})
	}
	for _, i := range t.List("interfaces") {
		def.Interfaces = append(def.Interfaces, i.Get("name").ScalarText())
	}
	for _, v := range t.List("enumValues") {
		def.EnumValues = append(def.EnumValues, &ast.EnumValueDefinition{Name: v.Get("name").ScalarText(), Description: v.Get("description").ScalarText(), Directives: deprecatedDirective(v)})
	}
	if def.Kind == ast.Union {
		for _, p := range t.List("possibleTypes") {
			def.Types = append(def.Types, p.Get("name").ScalarText())
		}
	}
	return def
}

// readTypeRef reads a reference to a type with its list and non-null wrappers.
// It returns nil if it is none, or is nested too deep.
func readTypeRef(n *doc.Node, depth int) *ast.Type {
	const deepest = 12
	if n == nil || depth > deepest {
		return nil
	}
	switch n.Get("kind").ScalarText() {
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
		if name := n.Get("name").ScalarText(); name != "" {
			return &ast.Type{NamedType: name}
		}
		return nil
	}
}

// readDefault reads a default value, which an introspection answer writes in
// GraphQL syntax. Only plain values are kept; of others it matters only that
// they exist.
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

// deprecatedDirective returns the deprecated directive if isDeprecated is set,
// as SDL would have it.
func deprecatedDirective(n *doc.Node) ast.DirectiveList {
	if d := n.Get("isDeprecated"); d != nil && d.Text == "true" {
		return ast.DirectiveList{{Name: "deprecated"}}
	}
	return nil
}

// nodePosition returns the position of a node as one of the parser.
func nodePosition(n *doc.Node) *ast.Position {
	return &ast.Position{Line: int(n.At.Line), Column: int(n.At.Column)}
}
