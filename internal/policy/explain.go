package policy

import (
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	junctor "github.com/junctor-mcp/junctor"
)

// RuleTrace says what a rule did with a call, and why.
type RuleTrace struct {
	Rule    string                `json:"rule"`
	Version string                `json:"version" doc:"Digest of the rule's definition."`
	Phase   junctor.PolicyPhase   `json:"phase"`
	Verdict junctor.PolicyVerdict `json:"verdict"`
	Mode    junctor.PolicyMode    `json:"mode"`
	Applies bool                  `json:"applies" doc:"Whether the call is of the rule's target."`
	Value   string                `json:"value,omitempty" enum:"true,false,error,unknown" doc:"What the condition came to. unknown depends on what the record of the call does not have."`
	Error   string                `json:"error,omitempty" doc:"Why the condition could not be evaluated."`
	Decided bool                  `json:"decided,omitempty" doc:"Whether the rule decided the call."`
	Parts   []ConditionPart       `json:"parts,omitempty" doc:"The parts of the condition that made its value, as they are written."`
}

// ConditionPart is a part of a condition with its value.
type ConditionPart struct {
	Text   string   `json:"text"`
	Value  string   `json:"value"`
	Inputs []string `json:"inputs,omitempty" doc:"Values that the part read, such as args.path = \"/etc/passwd\"."`
}

// Bounds of explanations.
const (
	maxParts      = 40
	maxValueBytes = 120
)

// Explain says of every rule what it does with a call, in the order of evaluation.
// Unless the call has a result, rules about results are left out; a nil result is one
// that is not known. Decisions are those of JudgeCall and JudgeResult with the same
// filter; filters are not asked.
func (s *Set) Explain(c *Call, hasResult bool, result []byte) []RuleTrace {
	var all []RuleTrace
	if s.Empty() {
		return nil
	}
	e := s.entryOf(c.Kind, c.Server, c.Name, c.Tool)
	v := &variables{call: c, node: e.node, result: result}
	over := false
	for level, rules := range s.levels {
		allowed := false
		for _, r := range rules {
			if r.Phase != junctor.PhaseCall {
				continue
			}
			t := r.trace(v, e.calls[level])
			if t.Applies && !over && !allowed && r.Mode == junctor.ModeEnforce {
				matched := t.Value == isTrue.String() || t.Value == isError.String() && r.failsClosed()
				t.Decided = matched && r.Filter == nil
				allowed = t.Decided && r.Verdict == junctor.VerdictAllow
				over = t.Decided && !allowed
			}
			all = append(all, t)
		}
	}
	if !hasResult || over {
		return all
	}
	for _, rules := range s.levels {
		for _, r := range rules {
			if r.Phase == junctor.PhaseResult {
				t := r.trace(v, e.results)
				isError := t.Value == isError.String()
				t.Decided = !over && t.Applies && r.Filter == nil && r.Mode == junctor.ModeEnforce && (t.Value == isTrue.String() || isError)
				over = over || t.Decided && (isError || r.Verdict == junctor.VerdictDeny)
				all = append(all, t)
			}
		}
	}
	return all
}

// trace evaluates a rule and says which parts of its condition made the value.
// rules are those of the item.
func (r *rule) trace(v *variables, rules []applied) RuleTrace {
	t := RuleTrace{Rule: r.Name, Version: r.version, Phase: r.Phase, Verdict: r.Verdict, Mode: r.Mode}
	for i := range rules {
		if rules[i].rule != r || !r.target.matchesSubject(&v.call.Subject) {
			continue
		}
		t.Applies = true
		came, err := rules[i].value(v)
		t.Value = came.String()
		if err != nil {
			t.Error = junctor.ShortenText(err.Error(), maxErrorLength)
		}
		if rules[i].problem == nil && r.tree != nil && came != isUnknown {
			t.Parts = r.explainParts(v)
		}
	}
	return t
}

// explainParts evaluates the whole condition, and lists the parts between its
// logical operators, each with the values that it read.
func (r *rule) explainParts(v *variables) []ConditionPart {
	program, err := r.traced()
	if err != nil {
		return nil
	}
	_, details, _ := program.Eval(v)
	if details == nil || details.State() == nil {
		return nil
	}
	p := &partLister{state: details.State().Value, info: r.tree.NativeRep().SourceInfo()}
	p.list(r.tree.NativeRep().Expr())
	return p.parts
}

// partLister collects the parts of a condition.
type partLister struct {
	state func(id int64) (ref.Val, bool)
	info  *ast.SourceInfo
	parts []ConditionPart
}

func (p *partLister) list(e ast.Expr) {
	if len(p.parts) == maxParts {
		return
	}
	if e.Kind() == ast.CallKind {
		switch e.AsCall().FunctionName() {
		case operators.LogicalAnd, operators.LogicalOr, operators.Conditional, operators.LogicalNot:
			for _, one := range e.AsCall().Args() {
				p.list(one)
			}
			return
		}
	}
	text, err := cel.ExprToString(e, p.info)
	if err != nil {
		text = "(part of the condition)"
	}
	part := ConditionPart{Text: junctor.ShortenText(text, 2*maxValueBytes), Value: "not evaluated"}
	if value, ok := p.state(e.ID()); ok {
		part.Value = describeValue(value)
	}
	var inputs []string
	p.readInputs(e, &inputs)
	part.Inputs = inputs
	p.parts = append(p.parts, part)
}

// readInputs lists the members of variables that an expression read, outermost
// first, with their values.
func (p *partLister) readInputs(e ast.Expr, inputs *[]string) {
	if path := pathOf(e); path != "" && strings.Contains(path, ".") {
		if value, ok := p.state(e.ID()); ok && len(*inputs) < maxParts {
			*inputs = append(*inputs, path+" = "+describeValue(value))
		}
		return
	}
	switch e.Kind() {
	case ast.SelectKind:
		p.readInputs(e.AsSelect().Operand(), inputs)
	case ast.CallKind:
		if e.AsCall().IsMemberFunction() {
			p.readInputs(e.AsCall().Target(), inputs)
		}
		for _, one := range e.AsCall().Args() {
			p.readInputs(one, inputs)
		}
	case ast.ListKind:
		for _, one := range e.AsList().Elements() {
			p.readInputs(one, inputs)
		}
	case ast.ComprehensionKind:
		p.readInputs(e.AsComprehension().IterRange(), inputs)
	default: // it has no parts, or none that are shown
	}
}

// describeValue returns a value as text, shortened.
func describeValue(value ref.Val) string {
	switch v := value.(type) {
	case *types.Err:
		return "error: " + junctor.ShortenText(v.Error(), maxValueBytes)
	case types.String:
		return fmt.Sprintf("%q", junctor.ShortenText(string(v), maxValueBytes))
	case *jsonObject:
		return junctor.ShortenText(string(v.raw), maxValueBytes)
	case *jsonArray:
		return junctor.ShortenText(string(v.raw), maxValueBytes)
	}
	return junctor.ShortenText(fmt.Sprint(value.Value()), maxValueBytes)
}
