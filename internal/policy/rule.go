package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/redact"
)

// rule is one rule, compiled.
type rule struct {
	junctor.PolicyRule
	version string
	target  target

	tree       *cel.Ast // nil without a condition
	reads      map[string]bool
	needsTypes bool // the condition reads members of args, so each tool has to be checked
	broken     error

	run     cel.Program // nil without a condition
	partial func() (cel.Program, error)
	traced  func() (cel.Program, error)

	redactor *redact.Redactor
	fits     fitCache
}

// value is what a condition came to.
type value uint8

// Values of conditions. An unknown one depends on what is not known yet.
const (
	isFalse value = iota
	isTrue
	isError
	isUnknown
)

// String returns the form of records.
func (v value) String() string {
	return [...]string{"false", junctor.HitTrue, junctor.HitError, "unknown"}[v]
}

// Version returns a digest of a rule's definition. It changes when the rule does.
func Version(r *junctor.PolicyRule) string {
	return versionOf(digestOf(r))
}

// versionOf returns the version of a rule with a digest.
func versionOf(digest [sha256.Size]byte) string { return hex.EncodeToString(digest[:8]) }

// compileRule compiles a rule, unless it is compiled already. If its condition cannot be
// used, the rule has the reason and fails closed for all its target.
func (comp *Compiler) compileRule(r *junctor.PolicyRule) *rule {
	digest := digestOf(r)
	if known := comp.cache.find(digest); known != nil {
		return known
	}
	one := comp.newRule(r, versionOf(digest))
	comp.cache.add(digest, one)
	return one
}

// newRule is compileRule for a rule that is not compiled yet.
func (comp *Compiler) newRule(r *junctor.PolicyRule, version string) *rule {
	d := r.WithDefaults()
	c := &rule{PolicyRule: d, version: version, target: newTarget(&d)}
	if err := r.Check(); err != nil {
		c.broken = err
		return c
	}
	if r.Verdict == junctor.VerdictRedact {
		if c.redactor, c.broken = redact.Compile(r.Redact); c.broken != nil {
			return c
		}
	}
	if r.When == "" {
		return c
	}
	env := comp.untyped
	var problems []Problem
	if c.tree, problems = compileCondition(env, &d); len(problems) > 0 {
		c.broken = junctor.Errorf(junctor.CodeInvalid, "%s", problems[0].String())
		return c
	}
	c.reads = variablesOf(c.tree)
	c.needsTypes = c.reads[varArgs]
	c.run, c.broken = env.Program(c.tree, cel.EvalOptions(cel.OptOptimize), cel.CostLimit(maxRunCost))
	c.partial = sync.OnceValues(func() (cel.Program, error) {
		return env.Program(c.tree, cel.EvalOptions(cel.OptOptimize, cel.OptPartialEval), cel.CostLimit(maxRunCost))
	})
	c.traced = sync.OnceValues(func() (cel.Program, error) {
		return env.Program(c.tree, cel.EvalOptions(cel.OptExhaustiveEval, cel.OptTrackState), cel.CostLimit(maxRunCost))
	})
	return c
}

// variablesOf lists the variables that a condition reads.
func variablesOf(tree *cel.Ast) map[string]bool {
	found := map[string]bool{}
	ast.PostOrderVisit(tree.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.IdentKind {
			found[e.AsIdent()] = true
		}
	}))
	return found
}

// evaluate returns what the condition comes to for a call. The error says why it
// could not be evaluated.
func (r *rule) evaluate(v *variables) (value, error) {
	switch {
	case r.broken != nil:
		return isError, r.broken
	case r.run == nil:
		return isTrue, nil
	}
	if v.call.Incomplete && r.reads[varArgs] || v.result == nil && r.reads[varResult] {
		return r.evaluatePartially(v)
	}
	out, _, err := r.run.Eval(v)
	if err != nil {
		return isError, err
	}
	switch out {
	case types.True:
		return isTrue, nil
	case types.False:
		return isFalse, nil
	}
	return isError, errNotBool(out)
}

// evaluatePartially is evaluate with everything unknown that v does not know: the
// arguments if they are incomplete, the result, and, without a time, the request.
func (r *rule) evaluatePartially(v *variables) (value, error) {
	if r.run == nil {
		return r.evaluate(v)
	}
	var unknown []*cel.AttributePatternType
	if v.call.Incomplete {
		unknown = append(unknown, cel.AttributePattern(varArgs))
	}
	if v.result == nil {
		unknown = append(unknown, cel.AttributePattern(varResult))
	}
	if v.call.Time.IsZero() {
		unknown = append(unknown, cel.AttributePattern(varRequest))
	}
	program, err := r.partial()
	if err != nil {
		return isError, err
	}
	known, err := cel.PartialVars(v, unknown...)
	if err != nil {
		return isError, err
	}
	out, _, err := program.Eval(known)
	switch {
	case err != nil:
		return isError, err
	case types.IsUnknown(out):
		return isUnknown, nil
	case out == types.True:
		return isTrue, nil
	case out == types.False:
		return isFalse, nil
	}
	return isError, errNotBool(out)
}

func errNotBool(out any) error {
	return junctor.Errorf(junctor.CodeInvalid, "the condition came to %v, which is neither true nor false", out)
}

// failsClosed reports whether the rule denies if it cannot be evaluated. One that
// allows does not match then, so that it never opens anything.
func (r *rule) failsClosed() bool {
	return r.Mode == junctor.ModeEnforce && r.Verdict != junctor.VerdictAllow
}
