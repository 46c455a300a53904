package policy

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/cost"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Problem is a mistake in a rule, or a doubt about it.
type Problem struct {
	Rule       string `json:"rule"`
	Tool       string `json:"tool,omitempty" doc:"The tool that the rule does not fit, as server/name."`
	Line       int    `json:"line,omitempty" doc:"Line in the condition, from 1."`
	Column     int    `json:"column,omitempty" doc:"Column in the line, from 1."`
	Message    string `json:"message"`
	Suggestion string `json:"suggestion,omitempty"`
	Warning    bool   `json:"warning,omitempty" doc:"The rule can be saved nevertheless, unless strict is set."`
}

// String returns the problem as one line of text.
func (p *Problem) String() string {
	var b strings.Builder
	if p.Line > 0 {
		fmt.Fprintf(&b, "line %d, column %d: ", p.Line, p.Column)
	}
	b.WriteString(p.Message)
	if p.Tool != "" {
		fmt.Fprintf(&b, " (tool %s)", p.Tool)
	}
	if p.Suggestion != "" {
		b.WriteString("; " + p.Suggestion)
	}
	return b.String()
}

// maxProblems bounds how many problems one check reports.
const maxProblems = 20

// Check returns what is wrong with a rule: for itself, and for each of the tools
// that its target matches. tools are all tools of the tenant.
func (c *Compiler) Check(r *junctor.PolicyRule, tools []Tool) []Problem {
	if err := r.Check(); err != nil {
		return []Problem{{Rule: r.Name, Message: strings.TrimPrefix(junctor.AsError(err).Message, fmt.Sprintf("the rule %q: ", r.Name))}}
	}
	one := c.compileRule(r)
	if one.broken != nil {
		if r.When != "" {
			if _, problems := compileCondition(c.untyped, &one.PolicyRule); len(problems) > 0 {
				return problems
			}
		}
		return []Problem{{Rule: r.Name, Message: junctor.AsError(one.broken).Message}}
	}
	var found []Problem
	matched := 0
	for i := range tools {
		t := &tools[i]
		if !one.target.matchesItem(junctor.KindTool, t.Server, t.Name) {
			continue
		}
		matched++
		if !one.needsTypes || len(found) >= maxProblems {
			continue
		}
		for _, p := range one.checkTool(c, t, func() *toolTypes { return newToolTypes(t.Definition) }) {
			p.Tool = t.Server + "/" + t.Name
			found = append(found, p)
		}
	}
	if matched == 0 && slices.Contains(one.Kinds, junctor.KindTool) {
		found = append(found, Problem{Rule: r.Name, Message: "no tool matches target.items at the moment", Suggestion: "junctor tool ls shows the tools as server/name", Warning: true})
	}
	return found[:min(len(found), maxProblems)]
}

// compileCondition parses a condition and checks its types, apart from those of
// arguments, its constants and its cost.
func compileCondition(env *cel.Env, r *junctor.PolicyRule) (*cel.Ast, []Problem) {
	tree, issues := env.Compile(r.When)
	if issues.Err() != nil {
		return nil, problemsOf(env, r.Name, issues)
	}
	if problems := checkOutput(tree, r.Name); problems != nil {
		return nil, problems
	}
	if r.Phase == junctor.PhaseCall && variablesOf(tree)[varResult] {
		return nil, []Problem{{Rule: r.Name, Line: 1, Column: 1, Message: "the condition reads result, which a rule of phase call does not have", Suggestion: "use the phase result"}}
	}
	if problems := checkConstants(tree, r.Name); len(problems) > 0 {
		return nil, problems
	}
	estimate, err := env.EstimateCost(tree, sizeEstimator{})
	if err != nil || estimate.Max > maxEstimatedCost {
		most := strconv.FormatUint(estimate.Max, 10)
		if estimate.Max == math.MaxUint64 {
			most = "without a bound"
		}
		return nil, []Problem{{Rule: r.Name, Line: 1, Column: 1, Message: fmt.Sprintf("the condition may be too expensive: its estimated cost is %s, and at most %d is possible", most, maxEstimatedCost), Suggestion: "avoid loops inside loops over arguments"}}
	}
	return tree, nil
}

// checkOutput reports a condition that is neither true nor false.
func checkOutput(tree *cel.Ast, rule string) []Problem {
	kind := tree.OutputType()
	if kind.IsExactType(cel.BoolType) || kind.IsExactType(cel.DynType) {
		return nil
	}
	return []Problem{{Rule: rule, Line: 1, Column: 1, Message: "the condition is of the type " + kind.String() + "; it must be true or false"}}
}

// problemsOf returns the issues of the compiler with suggestions.
func problemsOf(env *cel.Env, rule string, issues *cel.Issues) []Problem {
	var all []Problem
	for _, e := range issues.Errors() {
		all = append(all, Problem{Rule: rule, Line: max(1, e.Location.Line()), Column: max(0, e.Location.Column()) + 1, Message: plainMessage(e), Suggestion: suggest(env, e)})
		if len(all) == maxProblems {
			break
		}
	}
	return all
}

// plainMessage returns what the compiler says, without its marks.
func plainMessage(e *common.Error) string {
	text := strings.TrimPrefix(e.Message, "Syntax error: ")
	text = strings.ReplaceAll(text, " (in container '')", "")
	text = strings.ReplaceAll(text, typeArguments, varArgs)
	return junctor.ShortenText(text, 300)
}

// Forms of compiler messages that name what is unknown.
func unknownName(message string) (name, of string) {
	if m := regexp.MustCompile(`undefined field '([^']*)'`).FindStringSubmatch(message); m != nil {
		return m[1], "field"
	}
	if m := regexp.MustCompile(`undeclared reference to '([^']*)'`).FindStringSubmatch(message); m != nil {
		return m[1], "reference"
	}
	return "", ""
}

// suggest returns what may have been meant; "" if nothing is similar.
func suggest(env *cel.Env, e *common.Error) string {
	name, of := unknownName(e.Message)
	var known []string
	switch of {
	case "field":
		for kind := range fixedTypes() {
			names, _ := env.CELTypeProvider().FindStructFieldNames(kind)
			known = append(known, names...)
		}
	case "reference":
		known = []string{varPrincipal, varTool, varArgs, varResult, varRequest, funcGlob, funcBelow, funcCIDR, funcDomain, funcHours, "size", "matches", "has"}
	default:
		if strings.Contains(e.Message, "no matching overload") {
			return "compare and combine values of one type: \"5\" is a text, 5 an integer and 5.0 a number"
		}
		return ""
	}
	return suggestNearest(name, known)
}

// suggestNearest suggests the known name that is most similar; "" if none is.
func suggestNearest(name string, known []string) string {
	if i, _ := config.FindNearest(name, known); i >= 0 {
		return "did you mean " + known[i] + "?"
	}
	return ""
}

// checkConstants checks the constant arguments of functions.
func checkConstants(tree *cel.Ast, rule string) (found []Problem) {
	info := tree.NativeRep().SourceInfo()
	ast.PostOrderVisit(tree.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind {
			return
		}
		c := e.AsCall()
		args := c.Args()
		for i, one := range args {
			if one.Kind() != ast.LiteralKind {
				continue
			}
			text, ok := one.AsLiteral().Value().(string)
			if !ok {
				continue
			}
			err := checkConstant(c.FunctionName(), i, text)
			if c.FunctionName() == "matches" {
				_, err = regexp.Compile(text)
			}
			if err != nil {
				at := info.GetStartLocation(one.ID())
				found = append(found, Problem{Rule: rule, Line: at.Line(), Column: at.Column() + 1, Message: err.Error()})
			}
		}
	}))
	return found
}

// sizeEstimator estimates the sizes of what a condition reads.
type sizeEstimator struct{}

// Sizes of values that a condition reads. They are what calls usually carry; calls
// that carry more are bounded by maxRunCost.
const (
	usualText = 10_000
	usualList = 200
)

// EstimateSize implements cost.Estimator.
func (sizeEstimator) EstimateSize(e cost.AstNode) *cost.SizeEstimate {
	switch kind := e.Type(); {
	case kind.IsExactType(cel.StringType), kind.IsExactType(cel.BytesType):
		return &cost.SizeEstimate{Min: 0, Max: usualText}
	}
	return &cost.SizeEstimate{Min: 0, Max: usualList}
}

// EstimateCallCost implements cost.Estimator.
func (sizeEstimator) EstimateCallCost(function, _ string, _ *cost.AstNode, _ []cost.AstNode) *cost.CallEstimate {
	switch function {
	case funcGlob:
		return cost.NewCallEstimate(cost.Estimate{Min: 1, Max: usualText}, nil)
	case funcBelow, funcCIDR, funcDomain, funcHours:
		return cost.NewCallEstimate(cost.Estimate{Min: 1, Max: usualText / 10}, nil)
	}
	return nil
}

// toolTypes are the types of the arguments of one tool.
type toolTypes struct {
	arguments *schemaNode // nil if they can have any form
	objects   map[string]*schemaNode
}

func newToolTypes(definition []byte) *toolTypes {
	t := &toolTypes{}
	t.arguments, t.objects = readSchema(wire.Get(definition, "inputSchema"))
	return t
}

// check returns why the condition of a rule does not fit the tool: it reads a
// member that the tool does not have, or that calls may leave out, or uses it as
// what it is not.
func (t *toolTypes) check(c *Compiler, r *rule) []Problem {
	if t.arguments == nil || t.arguments.members == nil && t.arguments.open {
		return nil
	}
	info := r.tree.NativeRep().SourceInfo()
	provider := newTypeProvider(t.objects)
	provider.lenient = map[string]bool{}
	var found []Problem
	for _, a := range argumentAccesses(r.tree) {
		owner, member, state := t.locate(a.path)
		if state == memberIsThere || state == memberIsUntyped {
			continue
		}
		at := info.GetStartLocation(a.id)
		p := Problem{Rule: r.Name, Line: at.Line(), Column: at.Column() + 1}
		switch {
		case a.guarded:
			if owner != nil {
				provider.lenient[owner.typeName+"."+member] = true
			}
			continue
		case state == memberIsOptional:
			p.Message = fmt.Sprintf("calls may leave out %s, and the rule could not be evaluated then", a.path)
			p.Suggestion = fmt.Sprintf("write has(%s) && …", a.path)
		default:
			p.Message = fmt.Sprintf("the tool has no argument %s", a.path)
			if p.Suggestion = suggestNearest(member, memberNames(nil, owner)); p.Suggestion == "" {
				p.Suggestion = fmt.Sprintf("write has(%s) && … if only some of the tools have it", a.path)
			}
		}
		found = append(found, p)
	}
	if len(found) > 0 {
		return found
	}
	env, err := c.common.Extend(cel.CustomTypeProvider(provider), cel.Variable(varArgs, t.arguments.celType()))
	if err != nil {
		return []Problem{{Rule: r.Name, Message: "the types of the tool's arguments cannot be used: " + err.Error()}}
	}
	tree, issues := env.Compile(r.When)
	if issues.Err() != nil {
		return problemsOf(env, r.Name, issues)
	}
	return checkOutput(tree, r.Name)
}

// memberState says whether calls have a member.
type memberState uint8

const (
	memberIsMissing  memberState = iota // the schema has no such member
	memberIsOptional                    // calls may leave it out
	memberIsThere
	memberIsUntyped // the schema says nothing of the object that it would be in
)

// locate finds a member of the arguments by its path. owner is the object that has
// it, or would have it.
func (t *toolTypes) locate(path string) (owner *schemaNode, member string, state memberState) {
	node := t.arguments
	segments := strings.Split(strings.TrimPrefix(path, varArgs+"."), ".")
	for i, name := range segments {
		if node == nil || node.kind != "object" {
			return nil, name, memberIsUntyped
		}
		next, ok := node.member(name)
		_, declared := node.members[name]
		switch {
		case !ok:
			return node, name, memberIsMissing
		case i < len(segments)-1:
		case !declared || !node.requires(name):
			return node, name, memberIsOptional
		}
		owner, member, node = node, name, next
	}
	return owner, member, memberIsThere
}
