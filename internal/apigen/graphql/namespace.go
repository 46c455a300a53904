package graphql

import (
	"slices"
	"strings"
	"unicode"

	"github.com/vektah/gqlparser/v2/ast"
)

// isNamespace reports whether a type groups mutations: reading a field of it
// runs one, so a default selection never includes it. A type that queries can
// reach is data, whatever arguments its fields have.
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

// namesAction reports whether the name of a field is a command: delete, but not
// deletedAt.
func namesAction(name string) bool {
	words := splitWords(name)
	for _, verb := range []string{"delete", "remove", "destroy", "revoke", "cancel", "purge", "reset", "drop", "create", "update", "upsert", "disable", "enable", "send", "trigger"} {
		// The verb may be the second word, as in hardDelete.
		if slices.Contains(words[:min(2, len(words))], verb) {
			return true
		}
	}
	return false
}

// splitWords splits a name in camel or snake case into words in lower case:
// hardDelete is hard and delete.
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
