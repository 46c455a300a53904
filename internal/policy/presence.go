package policy

import (
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
)

// membersOf lists the members of a variable that a condition reads, each once.
func membersOf(tree *cel.Ast, variable string) (names []string) {
	ast.PostOrderVisit(tree.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.SelectKind || e.AsSelect().Operand().Kind() != ast.IdentKind || e.AsSelect().Operand().AsIdent() != variable {
			return
		}
		if name := e.AsSelect().FieldName(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}))
	return names
}

// pathOf returns the path of nested selects from a variable, such as
// args.filter.name; "" if the expression is none.
func pathOf(e ast.Expr) string {
	switch e.Kind() {
	case ast.IdentKind:
		return e.AsIdent()
	case ast.SelectKind:
		if outer := pathOf(e.AsSelect().Operand()); outer != "" {
			return outer + "." + e.AsSelect().FieldName()
		}
	case ast.CallKind: // args["name"]
		c := e.AsCall()
		if c.FunctionName() == operators.Index && len(c.Args()) == 2 && c.Args()[1].Kind() == ast.LiteralKind {
			if name, ok := c.Args()[1].AsLiteral().Value().(string); ok {
				if outer := pathOf(c.Args()[0]); outer != "" {
					return outer + "." + name
				}
			}
		}
	default:
	}
	return ""
}

// access is a member of the arguments that a condition reads.
type access struct {
	id      int64
	path    string // args.filter.name
	guarded bool   // the condition has asked has() for it, or only asks that
}

// argumentAccesses lists the members of args that a condition reads, and whether it
// reads them only where has() was true. Both sides of && guard one another, since
// false && error is false; only the left side of || and the condition of ?: guard.
func argumentAccesses(tree *cel.Ast) []access {
	var found []access
	walkAccesses(tree.NativeRep().Expr(), nil, &found)
	return found
}

func walkAccesses(e ast.Expr, present []string, found *[]access) {
	switch e.Kind() {
	case ast.SelectKind:
		sel := e.AsSelect()
		if path := pathOf(e); strings.HasPrefix(path, varArgs+".") {
			*found = append(*found, access{id: e.ID(), path: path, guarded: sel.IsTestOnly() || slices.Contains(present, path)})
		}
		walkAccesses(sel.Operand(), present, found)
	case ast.CallKind:
		walkCall(e, present, found)
	case ast.ListKind:
		for _, one := range e.AsList().Elements() {
			walkAccesses(one, present, found)
		}
	case ast.MapKind:
		for _, one := range e.AsMap().Entries() {
			walkAccesses(one.AsMapEntry().Key(), present, found)
			walkAccesses(one.AsMapEntry().Value(), present, found)
		}
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		for _, part := range []ast.Expr{c.IterRange(), c.AccuInit(), c.LoopCondition(), c.LoopStep(), c.Result()} {
			walkAccesses(part, present, found)
		}
	default: // it has no parts
	}
}

func walkCall(e ast.Expr, present []string, found *[]access) {
	c := e.AsCall()
	args := c.Args()
	switch c.FunctionName() {
	case operators.LogicalAnd:
		for i, one := range args {
			inside := present
			for j, other := range args {
				if i != j {
					inside = append(slices.Clip(inside), testedIn(other, true)...)
				}
			}
			walkAccesses(one, inside, found)
		}
		return
	case operators.LogicalOr:
		for i, one := range args {
			inside := present
			for j, other := range args {
				if i != j { // true || error is true, so either side guards
					inside = append(slices.Clip(inside), testedIn(other, false)...)
				}
			}
			walkAccesses(one, inside, found)
		}
		return
	case operators.Conditional:
		walkAccesses(args[0], present, found)
		walkAccesses(args[1], append(slices.Clip(present), testedIn(args[0], true)...), found)
		walkAccesses(args[2], append(slices.Clip(present), testedIn(args[0], false)...), found)
		return
	case operators.Index:
		if path := pathOf(e); strings.HasPrefix(path, varArgs+".") {
			*found = append(*found, access{id: e.ID(), path: path, guarded: slices.Contains(present, path)})
		}
	case operators.In: // "name" in args
		if len(args) == 2 && args[0].Kind() == ast.LiteralKind && pathOf(args[1]) != "" {
			return
		}
	}
	if c.IsMemberFunction() {
		walkAccesses(c.Target(), present, found)
	}
	for _, one := range args {
		walkAccesses(one, present, found)
	}
}

// testedIn lists the paths that are present if the expression is true or, with
// outcome false, if it is false.
func testedIn(e ast.Expr, outcome bool) []string {
	switch e.Kind() {
	case ast.SelectKind:
		if e.AsSelect().IsTestOnly() && outcome {
			return withPrefixes(pathOf(e))
		}
	case ast.CallKind:
		c := e.AsCall()
		switch {
		case c.FunctionName() == operators.LogicalNot:
			return testedIn(c.Args()[0], !outcome)
		case c.FunctionName() == operators.LogicalAnd && outcome, c.FunctionName() == operators.LogicalOr && !outcome:
			var all []string
			for _, one := range c.Args() {
				all = append(all, testedIn(one, outcome)...)
			}
			return all
		case c.FunctionName() == operators.In && outcome && len(c.Args()) == 2 && c.Args()[0].Kind() == ast.LiteralKind:
			if name, ok := c.Args()[0].AsLiteral().Value().(string); ok && pathOf(c.Args()[1]) != "" {
				return withPrefixes(pathOf(c.Args()[1]) + "." + name)
			}
		}
	default:
	}
	return nil
}

// withPrefixes returns a path and those of the objects that it is in, which are
// present if it is.
func withPrefixes(path string) (all []string) {
	for at := len(path); at > 0; at = strings.LastIndexByte(path[:at], '.') {
		all = append(all, path[:at])
	}
	return all
}
