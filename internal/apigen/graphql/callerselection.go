package graphql

import (
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"

	junctor "github.com/junctor-mcp/junctor"
)

// Bounds of a caller's selection: its tokens and its nesting.
const (
	maxSelectTokens = 4000
	maxSelectDepth  = 12
)

// CheckSelection checks a caller's own selection of fields of the type from, with or
// without braces, and returns the text to send. The selection is written again
// from its parsed form. So it cannot end the field that it is inserted into,
// use variables or directives, or select fields of a namespace of mutations,
// which would run them. Errors have CodeInvalid.
func (s *Schema) CheckSelection(from, selection string) (string, error) {
	selection = strings.TrimSpace(selection)
	if !strings.HasPrefix(selection, "{") {
		// The line break keeps a comment at the end from hiding the brace.
		selection = "{" + selection + "\n}"
	}
	q, err := parser.ParseQueryWithTokenLimit(&ast.Source{Name: "_select", Input: selection}, maxSelectTokens)
	if err != nil {
		message := err.Error()
		if e, ok := err.(*gqlerror.Error); ok { //nolint:errorlint // it is never wrapped
			message = e.Message
		}
		return "", junctor.Errorf(junctor.CodeInvalid, "_select is not a selection of fields: %s; write it like { id name owner { login } }", message)
	}
	// The text must be one anonymous query, that is, one selection set.
	// Anything else would be sent beside the operation.
	if len(q.Operations) != 1 || len(q.Fragments) > 0 || q.Operations[0].Name != "" || q.Operations[0].Operation != ast.Query {
		return "", junctor.Errorf(junctor.CodeInvalid, "_select takes one selection of fields, like { id name owner { login } }")
	}
	def := s.types[from]
	if def == nil {
		return "", junctor.Errorf(junctor.CodeInvalid, "the schema no longer has the type %q: import it again", from)
	}
	var b strings.Builder
	if err := s.writeSelection(&b, def, q.Operations[0].SelectionSet, 1); err != nil {
		return "", err
	}
	return b.String(), nil
}

// writeSelection writes a checked selection set of def to b.
func (s *Schema) writeSelection(b *strings.Builder, def *ast.Definition, set ast.SelectionSet, depth int) error {
	if depth > maxSelectDepth {
		return junctor.Errorf(junctor.CodeInvalid, "_select is nested more than %d deep", maxSelectDepth)
	}
	b.WriteString("{")
	for _, sel := range set {
		b.WriteString(" ")
		if err := s.writeSelectionItem(b, def, sel, depth); err != nil {
			return err
		}
	}
	b.WriteString(" }")
	return nil
}

// writeSelectionItem writes one item of a selection set: a field or an inline
// fragment.
func (s *Schema) writeSelectionItem(b *strings.Builder, def *ast.Definition, sel ast.Selection, depth int) error {
	switch sel := sel.(type) {
	case *ast.InlineFragment:
		on := def
		if sel.TypeCondition != "" {
			if on = s.types[sel.TypeCondition]; on == nil || !on.IsCompositeType() || s.isNamespace(on) {
				return junctor.Errorf(junctor.CodeInvalid, "_select: unknown type %q", sel.TypeCondition)
			}
			b.WriteString("... on " + on.Name + " ")
		} else {
			b.WriteString("... ")
		}
		if len(sel.Directives) > 0 {
			return directiveError()
		}
		return s.writeSelection(b, on, sel.SelectionSet, depth+1)
	case *ast.Field:
		return s.writeField(b, def, sel, depth)
	default:
		return junctor.Errorf(junctor.CodeInvalid, "_select cannot use named fragments: write the fields themselves")
	}
}

// directiveError is the error for a selection with directives.
func directiveError() error {
	return junctor.Errorf(junctor.CodeInvalid, "_select cannot use directives: leave out fields instead")
}

// writeField checks one field of def against the schema and writes it: the
// field exists, its arguments exist and are complete, and it has a selection
// exactly if its type has fields.
func (s *Schema) writeField(b *strings.Builder, def *ast.Definition, sel *ast.Field, depth int) error {
	if len(sel.Directives) > 0 {
		return directiveError()
	}
	if sel.Alias != sel.Name {
		b.WriteString(sel.Alias + ": ")
	}
	b.WriteString(sel.Name)
	if sel.Name == "__typename" && len(sel.SelectionSet)+len(sel.Arguments) == 0 {
		return nil
	}
	f := def.Fields.ForName(sel.Name)
	if f == nil {
		return junctor.Errorf(junctor.CodeInvalid, "_select: %s has no field %q; it has %s", def.Name, sel.Name, firstFieldNames(def))
	}
	of := s.types[f.Type.Name()]
	// Reading a field of a namespace runs a mutation. A caller may only have a
	// tool that reads.
	if s.isNamespace(of) || s.isNamespace(def) {
		return junctor.Errorf(junctor.CodeInvalid, "_select: reading %s of %s would run an operation; call its tool instead", sel.Name, def.Name)
	}
	for i, a := range sel.Arguments {
		if f.Arguments.ForName(a.Name) == nil {
			return junctor.Errorf(junctor.CodeInvalid, "_select: the field %s takes no argument %q", sel.Name, a.Name)
		}
		if usesVariables(a.Value) {
			return junctor.Errorf(junctor.CodeInvalid, "_select cannot use variables: write the value of %s itself", a.Name)
		}
		b.WriteString(listSeparator(i, "(", ", ") + a.Name + ": " + a.Value.String())
	}
	if len(sel.Arguments) > 0 {
		b.WriteString(")")
	}
	for _, a := range f.Arguments {
		if isRequired(a) && sel.Arguments.ForName(a.Name) == nil {
			return junctor.Errorf(junctor.CodeInvalid, "_select: the field %s needs the argument %s (%s)", sel.Name, a.Name, a.Type)
		}
	}
	switch {
	case of.IsLeafType() && len(sel.SelectionSet) > 0:
		return junctor.Errorf(junctor.CodeInvalid, "_select: %s is a %s and has no fields", sel.Name, of.Name)
	case of.IsLeafType():
		return nil
	case len(sel.SelectionSet) == 0:
		return junctor.Errorf(junctor.CodeInvalid, "_select: choose fields of %s, like %s { … }; it has %s", sel.Name, sel.Name, firstFieldNames(of))
	}
	b.WriteString(" ")
	return s.writeSelection(b, of, sel.SelectionSet, depth+1)
}

// usesVariables reports whether a value contains a variable. A caller's
// selection declares none, and must not use those of the operation.
func usesVariables(v *ast.Value) bool {
	if v.Kind == ast.Variable {
		return true
	}
	for _, c := range v.Children {
		if usesVariables(c.Value) {
			return true
		}
	}
	return false
}

// firstFieldNames returns the first fields of a type, for messages.
func firstFieldNames(def *ast.Definition) string {
	const most = 20
	var names []string
	for _, f := range def.Fields[:min(most, len(def.Fields))] {
		names = append(names, f.Name)
	}
	if len(def.Fields) > most {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}
