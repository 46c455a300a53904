package graphql

import (
	"slices"
	"strings"
	"unicode"

	"github.com/vektah/gqlparser/v2/ast"
)

// isNamespace says whether a type groups things to do: below it, reading a field
// is doing something, so it is never chosen by itself. A type that queries lead
// to is data, whatever its fields take.
func (s *Schema) isNamespace(def *ast.Definition) bool {
	if def == nil || def.Kind != ast.Object {
		return false
	}
	if strings.HasSuffix(def.Name, "Mutation") || strings.HasSuffix(def.Name, "Mutations") {
		return true
	}
	if s.queryTypes[def.Name] {
		return false
	}
	return slices.ContainsFunc(def.Fields, func(f *ast.FieldDefinition) bool {
		return len(f.Arguments) > 0 || namesAction(f.Name)
	})
}

// namesAction says whether a field's name orders something: delete, not deletedAt.
func namesAction(name string) bool {
	words := splitWords(name)
	for _, verb := range []string{"delete", "remove", "destroy", "revoke", "cancel", "purge", "reset", "drop", "create", "update", "upsert", "disable", "enable", "send", "trigger"} {
		if slices.Contains(words[:min(2, len(words))], verb) { // hardDelete
			return true
		}
	}
	return false
}

// splitWords takes a name apart: hardDelete is hard and delete.
func splitWords(name string) []string {
	var all []string
	begin := 0
	cut := func(to int) {
		if to > begin {
			all = append(all, strings.ToLower(name[begin:to]))
		}
		begin = to
	}
	for i, r := range name {
		switch {
		case r == '_':
			cut(i)
			begin = i + 1
		case unicode.IsUpper(r):
			cut(i)
		}
	}
	cut(len(name))
	return all
}
