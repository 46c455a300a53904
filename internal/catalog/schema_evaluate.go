package catalog

import (
	"context"
	"errors"
	"math/big"
	"reflect"
	"slices"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	junctor "github.com/junctor-mcp/junctor"
)

// Limits of one evaluation.
const (
	maxEvaluations       = 2_000_000
	maxRememberedAnswers = 500_000 // answers
	evaluationTime       = 5 * time.Second
)

// evaluation checks a value that is too large, or against a schema that has too
// many branches, for the library. It walks combinators, references and inner
// values itself, and asks the library only about the keywords of a single
// subschema. It remembers answers, so shared subschemas are checked once per
// value. It ends with its context or when its steps are used up.
type evaluation struct {
	ctx        context.Context //nolint:containedctx // it lives for one check
	compiled   *compiledSchema
	stepsLeft  int
	untilCheck int // steps until the context is checked again
	answers    map[answerKey]bool
	leaves     map[*jsonschema.Schema]*jsonschema.Schema
	path       []string
	violations []junctor.Violation // at most maxViolations
	err        error
}

// answerKey identifies an answer: a subschema, and an array or object by its
// address in memory. Answers about scalars are not worth remembering.
type answerKey struct {
	schema *jsonschema.Schema
	value  uintptr
	length int
}

// evaluateValue returns the violations of the schema, at least one if the value
// does not fit. It refuses schemas with unevaluatedItems or
// unevaluatedProperties, which depend on the results of other keywords.
func (c *compiledSchema) evaluateValue(ctx context.Context, v any) ([]junctor.Violation, error) {
	if c.hasUnevaluated {
		return nil, newTooExpensiveError(maxLibrarySteps)
	}
	ctx, cancel := context.WithTimeout(ctx, evaluationTime)
	defer cancel()
	e := evaluation{ctx: ctx, compiled: c, stepsLeft: maxEvaluations, answers: map[answerKey]bool{}, leaves: map[*jsonschema.Schema]*jsonschema.Schema{}}
	fits := e.fitsSchema(c.library, v, 0, false)
	if e.err != nil {
		return nil, e.err
	}
	if !fits && len(e.violations) == 0 {
		e.violations = []junctor.Violation{{Message: "does not match the schema; the value is too large to report the place"}}
	}
	if fits {
		return nil, nil
	}
	return e.violations, nil
}

// newTooExpensiveError is the error for arguments whose check would exceed a
// number of steps.
func newTooExpensiveError(steps int) error {
	return junctor.Errorf(junctor.CodeTooLarge, "checking these arguments against the tool's input schema takes more than %d steps; send less data, or nest it less deeply", steps)
}

// fitsSchema reports whether a value fits a subschema. same counts the
// subschemas for this value that led here. If quiet is set, violations are not
// noted, since another branch may fit; the first violation then ends the check.
func (e *evaluation) fitsSchema(s *jsonschema.Schema, v any, same int, quiet bool) bool {
	if e.err != nil {
		return false
	}
	steps := 1 + countInnerValues(s, v)/16
	if e.stepsLeft -= steps; e.stepsLeft < 0 || same > maxReferenceDepth {
		e.err = newTooExpensiveError(maxEvaluations)
		return false
	}
	if e.untilCheck -= steps; e.untilCheck < 0 {
		if e.untilCheck = 1024; e.ctx.Err() != nil {
			e.err = junctor.AsError(e.ctx.Err())
			return false
		}
	}
	if s.Bool != nil {
		return *s.Bool || e.addViolation(quiet, "is not allowed")
	}
	key, compound := newAnswerKey(s, v)
	if compound {
		if fits, ok := e.answers[key]; ok && (fits || quiet || len(e.violations) > 0) {
			return fits
		}
	}
	fits := e.fitsLeaf(s, v, quiet)
	// If quiet, the first violation decides.
	switch {
	case !fits && quiet:
	case s.Ref != nil && s.DraftVersion < 2019:
		fits = fits && e.fitsSchema(s.Ref, v, same+1, quiet)
	default:
		fits = e.fitsReferences(s, v, same, quiet) && fits
		if fits || !quiet {
			fits = e.fitsInside(s, v, quiet) && fits
		}
		if fits || !quiet {
			fits = e.fitsCombinators(s, v, same, quiet) && fits
		}
	}
	if compound && e.err == nil && len(e.answers) < maxRememberedAnswers {
		e.answers[key] = fits
	}
	return fits
}

// newAnswerKey returns the key of an answer; ok is false for scalars and empty
// arrays.
func newAnswerKey(s *jsonschema.Schema, v any) (key answerKey, ok bool) {
	switch v := v.(type) {
	case map[string]any:
		return answerKey{s, reflect.ValueOf(v).Pointer(), -1}, true
	case []any:
		return answerKey{s, reflect.ValueOf(v).Pointer(), len(v)}, len(v) > 0
	}
	return answerKey{}, false
}

// addViolation notes a violation at the current path, unless quiet. It always
// returns false, so that callers can use it as their result.
func (e *evaluation) addViolation(quiet bool, wording string) bool {
	if !quiet && len(e.violations) < maxViolations {
		e.violations = append(e.violations, junctor.Violation{Pointer: formatPointer(e.path), Message: junctor.ShortenText(wording, maxViolationBytes)})
	}
	return false
}

// fitsLeaf checks the keywords of one subschema that have no subschemas. The
// library does so, except for patterns, which are matched here so that a long
// text ends with the context.
func (e *evaluation) fitsLeaf(s *jsonschema.Schema, v any, quiet bool) bool {
	leaf, known := e.leaves[s]
	if !known {
		leaf = withoutSubschemas(s)
		e.leaves[s] = leaf
	}
	fits := true
	if text, ok := v.(string); ok {
		if p, ok := s.Pattern.(*pattern); ok {
			match, err := p.matchText(e.ctx, text)
			if err != nil {
				e.err = junctor.AsError(err)
				return false
			}
			fits = match || e.addViolation(quiet, "does not match the pattern "+clipText(p.String()))
		}
	}
	if leaf == nil || quiet && !fits {
		return fits
	}
	err := leaf.Validate(v)
	var bad *jsonschema.ValidationError
	if err == nil {
		return fits
	}
	if !quiet && errors.As(err, &bad) {
		printer := message.NewPrinter(language.English)
		for _, cause := range bad.Causes {
			e.addViolation(false, describeViolation(cause.ErrorKind, printer))
		}
	}
	return false
}

// withoutSubschemas returns a copy of a subschema without its subschemas,
// references and pattern; nil if nothing remains to be checked.
func withoutSubschemas(s *jsonschema.Schema) *jsonschema.Schema {
	counts := []*int{s.MaxProperties, s.MinProperties, s.MinItems, s.MaxItems, s.MinLength, s.MaxLength}
	bounds := []*big.Rat{s.Maximum, s.Minimum, s.ExclusiveMaximum, s.ExclusiveMinimum, s.MultipleOf}
	if s.Types == nil && s.Enum == nil && s.Const == nil && s.Format == nil && len(s.Required) == 0 && len(s.DependentRequired) == 0 && !s.UniqueItems &&
		!slices.ContainsFunc(counts, func(n *int) bool { return n != nil }) && !slices.ContainsFunc(bounds, func(n *big.Rat) bool { return n != nil }) {
		return nil
	}
	leaf := *s
	leaf.Ref, leaf.RecursiveRef, leaf.DynamicRef = nil, nil, nil
	leaf.Not, leaf.If, leaf.Then, leaf.Else = nil, nil, nil, nil
	leaf.AllOf, leaf.AnyOf, leaf.OneOf = nil, nil, nil
	leaf.PropertyNames, leaf.Properties, leaf.PatternProperties, leaf.AdditionalProperties = nil, nil, nil, nil
	leaf.Dependencies, leaf.DependentSchemas, leaf.UnevaluatedProperties = nil, nil, nil
	leaf.Contains, leaf.MinContains, leaf.MaxContains = nil, nil, nil
	leaf.Items, leaf.AdditionalItems, leaf.PrefixItems, leaf.Items2020, leaf.UnevaluatedItems = nil, nil, nil, nil, nil
	leaf.Pattern, leaf.ContentSchema = nil, nil
	return &leaf
}

// fitsReferences follows $ref, $dynamicRef and $recursiveRef.
func (e *evaluation) fitsReferences(s *jsonschema.Schema, v any, same int, quiet bool) bool {
	fits := true
	if s.Ref != nil {
		fits = e.fitsSchema(s.Ref, v, same+1, quiet) && fits
	}
	if s.DynamicRef != nil {
		fits = e.fitsSchema(e.compiled.dynamicTarget(s), v, same+1, quiet) && fits
	}
	if s.RecursiveRef != nil {
		fits = e.fitsSchema(e.compiled.recursiveTarget(s), v, same+1, quiet) && fits
	}
	return fits
}

// fitsInside checks the members of an object or the items of an array, and
// counts the items that contains matches.
func (e *evaluation) fitsInside(s *jsonschema.Schema, v any, quiet bool) bool {
	fits, contained := true, 0
	match := func(p *pattern, name string) bool {
		found, err := p.matchText(e.ctx, name)
		if err != nil {
			e.err = junctor.AsError(err)
		}
		return found
	}
	for one := range e.compiled.innerValues(s, v, match) {
		if e.err != nil || quiet && !fits {
			return false
		}
		if one.keyword == "contains" {
			if e.fitsSchema(one.schema, one.value, 0, true) {
				contained++
			}
			continue
		}
		e.path = append(e.path, one.name)
		switch {
		case one.schema == nil:
			fits = e.addViolation(quiet, "is not allowed by "+one.keyword)
		case !e.fitsSchema(one.schema, one.value, 0, quiet):
			fits = false
		}
		e.path = e.path[:len(e.path)-1]
	}
	if _, list := v.([]any); list && s.Contains != nil {
		least := 1
		if s.MinContains != nil {
			least = *s.MinContains
		}
		if contained < least || s.MaxContains != nil && contained > *s.MaxContains {
			fits = e.addViolation(quiet, "does not contain as many matching items as contains requires")
		}
	}
	return fits
}

// fitsCombinators checks allOf, anyOf, oneOf, not, if and dependent schemas.
func (e *evaluation) fitsCombinators(s *jsonschema.Schema, v any, same int, quiet bool) bool {
	fits := true
	for _, one := range s.AllOf {
		fits = e.fitsSchema(one, v, same+1, quiet) && fits
	}
	if len(s.AnyOf) > 0 && e.countFitting(s.AnyOf, v, same, 1) == 0 {
		fits = e.addViolation(quiet, "matches no branch of anyOf")
	}
	if len(s.OneOf) > 0 {
		if n := e.countFitting(s.OneOf, v, same, 2); n != 1 {
			fits = e.addViolation(quiet, "does not match exactly one branch of oneOf")
		}
	}
	if s.Not != nil && e.fitsSchema(s.Not, v, same+1, true) {
		fits = e.addViolation(quiet, "matches the schema of not")
	}
	if s.If != nil {
		branch := s.Else
		if e.fitsSchema(s.If, v, same+1, true) {
			branch = s.Then
		}
		if branch != nil {
			fits = e.fitsSchema(branch, v, same+1, quiet) && fits
		}
	}
	if object, ok := v.(map[string]any); ok {
		fits = e.fitsDependents(s, object, same, quiet) && fits
	}
	return fits
}

// countFitting counts the branches that the value fits, but not further than
// enough.
func (e *evaluation) countFitting(branches []*jsonschema.Schema, v any, same, enough int) int {
	n := 0
	for _, one := range branches {
		if e.fitsSchema(one, v, same+1, true) {
			if n++; n >= enough {
				break
			}
		}
	}
	return n
}

// fitsDependents checks dependentSchemas, and the older dependencies.
func (e *evaluation) fitsDependents(s *jsonschema.Schema, object map[string]any, same int, quiet bool) bool {
	fits := true
	for name, one := range s.DependentSchemas {
		if _, ok := object[name]; ok {
			fits = e.fitsSchema(one, object, same+1, quiet) && fits
		}
	}
	for name, one := range s.Dependencies {
		if _, ok := object[name]; !ok {
			continue
		}
		switch one := one.(type) {
		case *jsonschema.Schema:
			fits = e.fitsSchema(one, object, same+1, quiet) && fits
		case []string:
			for _, other := range one {
				if _, ok := object[other]; !ok {
					fits = e.addViolation(quiet, "is missing "+clipText(other)+", which "+clipText(name)+" requires")
				}
			}
		}
	}
	return fits
}
