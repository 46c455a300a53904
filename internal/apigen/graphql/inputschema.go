package graphql

import (
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// refPrefix is the beginning of a $ref to an input type.
const refPrefix = "#/types/"

// inputSchemas holds the JSON schemas of input types by name. It is complete
// when the schema is read: one Node for each type lets callers recognize
// cycles.
type inputSchemas map[string]*doc.Node

// Resolve implements doc.Schemas.
func (in inputSchemas) Resolve(ref string, _ *doc.Node) (*doc.Node, error) {
	if n := in[strings.TrimPrefix(ref, refPrefix)]; n != nil {
		return n, nil
	}
	return nil, junctor.Errorf(junctor.CodeNotFound, "the schema has no input type %q", strings.TrimPrefix(ref, refPrefix))
}

// collectInputs returns the JSON schemas of all input types.
func (s *Schema) collectInputs() inputSchemas {
	in := inputSchemas{}
	for _, def := range s.definitions {
		if def.Kind == ast.InputObject {
			in[def.Name] = s.inputObjectSchema(def)
		}
	}
	return in
}

// inputObjectSchema returns the JSON schema of an input object. Input types
// inside it are references, since they may contain each other.
func (s *Schema) inputObjectSchema(def *ast.Definition) *doc.Node {
	at := s.positionOf(def.Position)
	fields, required := doc.NewObject(at), &doc.Node{Kind: doc.Array, At: at}
	for _, f := range def.Fields {
		n := s.valueSchema(f.Type, s.positionOf(f.Position))
		addDescription(n, f.Description, f.DefaultValue)
		fields.Members = append(fields.Members, doc.NewMember(f.Name, n))
		if f.Type.NonNull && f.DefaultValue == nil {
			required.Items = append(required.Items, doc.NewString(f.Name, at))
		}
	}
	n := doc.NewObject(at, doc.NewMember("type", doc.NewString("object", at)), doc.NewMember("properties", fields))
	about := def.Description
	if def.Directives.ForName("oneOf") != nil {
		about = strings.TrimSpace(about + " Give exactly one of its members.")
	}
	addDescription(n, about, nil)
	if len(required.Items) > 0 {
		n.Members = append(n.Members, doc.NewMember("required", required))
	}
	n.Members = append(n.Members, doc.NewMember("additionalProperties", &doc.Node{Kind: doc.Bool, Text: "false", At: at}))
	return n
}

// valueSchema returns the JSON schema of the values that an input type accepts.
// The type must be defined.
func (s *Schema) valueSchema(t *ast.Type, at doc.Position) *doc.Node {
	if t.Elem != nil {
		return doc.NewObject(at, doc.NewMember("type", doc.NewString("array", at)), doc.NewMember("items", s.valueSchema(t.Elem, at)))
	}
	def := s.types[t.NamedType]
	switch def.Kind {
	case ast.InputObject:
		return doc.NewObject(at, doc.NewMember("$ref", doc.NewString(refPrefix+def.Name, at)))
	case ast.Enum:
		values := &doc.Node{Kind: doc.Array, At: at}
		// Deprecated values are hidden, unless the enum has no others.
		old := !slices.ContainsFunc(def.EnumValues, func(v *ast.EnumValueDefinition) bool { return !isDeprecated(v.Directives) })
		// In JSON variables an enum value is a string with its name.
		for _, v := range def.EnumValues {
			if old || !isDeprecated(v.Directives) {
				values.Items = append(values.Items, doc.NewString(v.Name, at))
			}
		}
		return doc.NewObject(at, doc.NewMember("type", doc.NewString("string", at)), doc.NewMember("enum", values))
	default:
		return s.scalarSchema(def, at)
	}
}

// scalarSchema returns the JSON schema of a scalar. Only the name tells what
// values a custom scalar has. An unknown name accepts any value.
func (s *Schema) scalarSchema(def *ast.Definition, at doc.Position) *doc.Node {
	kind, format := "", ""
	switch strings.ToLower(def.Name) {
	case "int", "integer", "long", "bigint", "int64", "uint64", "short", "byte", "positiveint", "nonnegativeint", "unsignedint":
		kind = "integer"
	case "float", "double", "decimal", "bigdecimal", "number":
		kind = "number"
	case "boolean", "bool":
		kind = "boolean"
	case "string", "id", "html", "base64string", "gitobjectid", "gitsshremote", "gitrefname", "markdown", "cursor", "duration", "localtime", "time", "timezone", "currency", "locale", "phonenumber", "hexcolorcode":
		kind = "string"
	case "datetime", "precisedatetime", "timestamptz", "gittimestamp", "isodatetime", "zoneddatetime", "datetimeutc":
		kind, format = "string", "date-time"
	case "date", "localdate", "isodate":
		kind, format = "string", "date"
	case "uri", "url":
		kind, format = "string", "uri"
	case "uuid", "guid":
		kind, format = "string", "uuid"
	case "email", "emailaddress":
		kind, format = "string", "email"
	case "jsonobject", "map":
		kind = "object"
	}
	n := doc.NewObject(at)
	if kind != "" {
		n.Members = append(n.Members, doc.NewMember("type", doc.NewString(kind, at)))
	}
	if format != "" {
		n.Members = append(n.Members, doc.NewMember("format", doc.NewString(format, at)))
	}
	if kind == "" {
		addDescription(n, strings.TrimSpace("A "+def.Name+". "+def.Description), nil)
	}
	return n
}

// addDescription adds a description to n, and the default if it is a plain
// value.
func addDescription(n *doc.Node, about string, value *ast.Value) {
	if about = strings.TrimSpace(about); about != "" && n.Get("description") == nil {
		n.Members = append(n.Members, doc.NewMember("description", doc.NewString(about, n.At)))
	}
	if value == nil {
		return
	}
	d := &doc.Node{Text: value.Raw, At: n.At}
	switch value.Kind {
	case ast.IntValue, ast.FloatValue:
		d.Kind = doc.Number
	case ast.StringValue, ast.BlockValue, ast.EnumValue:
		d.Kind = doc.String
	case ast.BooleanValue:
		d.Kind = doc.Bool
	default:
		return
	}
	n.Members = append(n.Members, doc.NewMember("default", d))
}
