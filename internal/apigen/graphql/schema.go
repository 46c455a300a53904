package graphql

import (
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// builtinScalars are the types that every schema has.
func builtinScalars() []string { return []string{"Int", "Float", "String", "Boolean", "ID"} }

// joinDefinitions joins definitions with their extensions, drops contradictions
// with a problem each, and derives possible types, root types and reachable
// types. All other methods rely on it.
func (s *Schema) joinDefinitions(d *ast.SchemaDocument) {
	s.types, s.possibleTypes = map[string]*ast.Definition{}, map[string][]*ast.Definition{}
	for _, name := range builtinScalars() {
		s.types[name] = &ast.Definition{Kind: ast.Scalar, Name: name, BuiltIn: true}
	}
	for _, def := range slices.Concat(d.Definitions, d.Extensions) {
		known := s.types[def.Name]
		switch {
		case known == nil:
			s.types[def.Name] = def
			s.definitions = append(s.definitions, def)
		case known.BuiltIn: // some schemas define Int, String and the like again
		case known.Kind != def.Kind:
			s.addProblem(def.Position, "/"+def.Name, doc.Error, codeDuplicate, "", "the type "+def.Name+" is defined here as another kind of type", "give one of them another name; the first is used")
		default:
			if slices.Contains(d.Definitions, def) {
				s.addProblem(def.Position, "/"+def.Name, doc.Warning, codeDuplicate, "", "the type "+def.Name+" is defined again", "write it once, or as an extension; its fields are joined")
			}
			// Extensions and repeated definitions add to the first one.
			known.Interfaces = append(known.Interfaces, def.Interfaces...)
			known.Fields = append(known.Fields, def.Fields...)
			known.Types = append(known.Types, def.Types...)
			known.EnumValues = append(known.EnumValues, def.EnumValues...)
			known.Directives = append(known.Directives, def.Directives...)
		}
	}
	for _, def := range s.definitions {
		s.dropInvalidFields(def)
	}
	for _, def := range s.definitions {
		for _, name := range slices.Compact(slices.Sorted(slices.Values(def.Interfaces))) {
			if def.Kind == ast.Object {
				s.possibleTypes[name] = append(s.possibleTypes[name], def)
			}
		}
		for _, name := range def.Types {
			if member := s.types[name]; member != nil && !slices.Contains(s.possibleTypes[def.Name], member) {
				s.possibleTypes[def.Name] = append(s.possibleTypes[def.Name], member)
			}
		}
	}
	s.findRoots(d)
	// isNamespace needs this, so it comes before operations are made.
	s.queryTypes = s.reachableTypes(s.rootTypes[ast.Query])
}

// dropInvalidFields removes duplicate fields and arguments, and those of
// undefined types. Afterwards every type that a field names is in s.types.
func (s *Schema) dropInvalidFields(def *ast.Definition) {
	seen := map[string]bool{}
	def.Fields = slices.DeleteFunc(def.Fields, func(f *ast.FieldDefinition) bool {
		pointer := "/" + def.Name + "/" + f.Name
		if seen[f.Name] {
			s.addProblem(f.Position, pointer, doc.Warning, codeDuplicate, "", "the field "+f.Name+" of "+def.Name+" is defined again", "remove one of them; the first is used")
			return true
		}
		seen[f.Name] = true
		if missing := s.missingType(f.Type); missing != "" {
			s.addProblem(f.Position, pointer, doc.Error, codeUnknownType, "", "the field "+f.Name+" of "+def.Name+" has the type "+missing+", which is not defined", "define the type; the field is left out")
			return true
		}
		given := map[string]bool{}
		f.Arguments = slices.DeleteFunc(f.Arguments, func(a *ast.ArgumentDefinition) bool {
			missing := s.missingType(a.Type)
			switch {
			case given[a.Name]:
				s.addProblem(a.Position, pointer+"/"+a.Name, doc.Warning, codeDuplicate, "", "the argument "+a.Name+" is repeated", "remove one of them; the first is used")
				return true
			case missing != "":
				s.addProblem(a.Position, pointer+"/"+a.Name, doc.Error, codeUnknownType, "", "the argument "+a.Name+" has the type "+missing+", which is not defined", "define the type; the argument is left out")
				return true
			}
			given[a.Name] = true
			return false
		})
		return false
	})
}

// missingType returns the type that t refers to and the schema does not define;
// "" if it does.
func (s *Schema) missingType(t *ast.Type) string {
	if t == nil {
		return "(none)"
	}
	if name := t.Name(); s.types[name] == nil {
		return name
	}
	return ""
}

// findRoots finds the root types: those that the schema definition names, or
// else Query, Mutation and Subscription.
func (s *Schema) findRoots(d *ast.SchemaDocument) {
	s.rootTypes = map[ast.Operation]string{}
	for _, def := range slices.Concat(d.Schema, d.SchemaExtension) {
		for _, o := range def.OperationTypes {
			s.rootTypes[o.Operation] = o.Type
		}
	}
	// Without a schema definition the names of the types decide.
	if len(s.rootTypes) == 0 {
		for _, o := range []ast.Operation{ast.Query, ast.Mutation, ast.Subscription} {
			s.rootTypes[o] = strings.ToUpper(string(o[:1])) + string(o[1:])
		}
	}
}

// rootType returns the root type of a kind of operation, or nil.
func (s *Schema) rootType(o ast.Operation) *ast.Definition {
	if def := s.types[s.rootTypes[o]]; def != nil && def.Kind == ast.Object {
		return def
	}
	return nil
}

// reachableTypes returns the types that fields lead to from a type, that one
// included.
func (s *Schema) reachableTypes(from string) map[string]bool {
	found := map[string]bool{}
	todo := []string{from}
	for len(todo) > 0 {
		def := s.types[todo[len(todo)-1]]
		todo = todo[:len(todo)-1]
		if def == nil || found[def.Name] {
			continue
		}
		found[def.Name] = true
		for _, f := range def.Fields {
			todo = append(todo, f.Type.Name())
		}
		for _, p := range s.possibleTypes[def.Name] {
			todo = append(todo, p.Name)
		}
	}
	return found
}

// isDeprecated reports whether the directives mark something as deprecated.
func isDeprecated(d ast.DirectiveList) bool { return d.ForName("deprecated") != nil }

// isRequired reports whether an argument must be given.
func isRequired(a *ast.ArgumentDefinition) bool { return a.Type.NonNull && a.DefaultValue == nil }

// isLeaf reports whether values of a type have no fields.
func (s *Schema) isLeaf(t *ast.Type) bool {
	def := s.types[t.Name()]
	return def != nil && def.IsLeafType()
}
