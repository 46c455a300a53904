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

// Bounds of one evaluation.
const (
	maxEvaluations = 2_000_000
	maxRemembered  = 500_000 // answers
	evaluationTime = 5 * time.Second
)

// evaluation checks a value that is too large, or a schema that is too branched,
// for the library. It goes through combinators, references and inner values by
// itself, asks the library about the keywords of one subschema alone, remembers
// every answer, and ends with its context or its budget.
type evaluation struct {
	ctx        context.Context //nolint:containedctx // it lives for one check
	c          *compiled
	left       int
	untilCheck int // steps until the context is looked at
	known      map[evaluated]bool
	leaves     map[*jsonschema.Schema]*jsonschema.Schema
	path       []string
	violations []junctor.Violation
	err        error
}

// evaluated names an answer: a subschema, and a list or an object by its place
// in memory. Answers about other values are not worth remembering.
type evaluated struct {
	schema *jsonschema.Schema
	value  uintptr
	length int
}

// evaluate gives the violations of the schema, at least one where there are any.
func (c *compiled) evaluate(ctx context.Context, v any) ([]junctor.Violation, error) {
	if c.unevaluated {
		return nil, tooExpensive(maxLibrarySteps)
	}
	ctx, cancel := context.WithTimeout(ctx, evaluationTime)
	defer cancel()
	e := evaluation{ctx: ctx, c: c, left: maxEvaluations, known: map[evaluated]bool{}, leaves: map[*jsonschema.Schema]*jsonschema.Schema{}}
	fits := e.fits(c.full, v, 0, false)
	if e.err != nil {
		return nil, e.err
	}
	if !fits && len(e.violations) == 0 {
		e.violations = []junctor.Violation{{Message: "does not fit; the value is too large to say where"}}
	}
	if fits {
		return nil, nil
	}
	return e.violations, nil
}

func tooExpensive(steps int) error {
	return junctor.Errorf(junctor.CodeTooLarge, "checking these arguments against the tool's input schema takes more than %d steps; send less at a time, or nest it less deep", steps)
}

// fits says whether a value fits a subschema. Where it is quiet, violations are
// not noted: another branch may fit.
func (e *evaluation) fits(s *jsonschema.Schema, v any, same int, quiet bool) bool {
	if e.err != nil {
		return false
	}
	steps := 1 + innerCount(s, v)/16
	if e.left -= steps; e.left < 0 || same > maxReferenceDepth {
		e.err = tooExpensive(maxEvaluations)
		return false
	}
	if e.untilCheck -= steps; e.untilCheck < 0 {
		if e.untilCheck = 1024; e.ctx.Err() != nil {
			e.err = junctor.AsError(e.ctx.Err())
			return false
		}
	}
	if s.Bool != nil {
		return *s.Bool || e.violated(quiet, "is not allowed")
	}
	key, compound := evaluatedOf(s, v)
	if compound {
		if fits, ok := e.known[key]; ok && (fits || quiet || len(e.violations) > 0) {
			return fits
		}
	}
	fits := e.fitsLeaf(s, v, quiet)
	// Where nobody wants to know all that is wrong, the first is enough.
	switch {
	case !fits && quiet:
	case s.Ref != nil && s.DraftVersion < 2019:
		fits = fits && e.fits(s.Ref, v, same+1, quiet)
	default:
		fits = e.fitsReferences(s, v, same, quiet) && fits
		if fits || !quiet {
			fits = e.fitsInside(s, v, quiet) && fits
		}
		if fits || !quiet {
			fits = e.fitsCombinators(s, v, same, quiet) && fits
		}
	}
	if compound && e.err == nil && len(e.known) < maxRemembered {
		e.known[key] = fits
	}
	return fits
}

func evaluatedOf(s *jsonschema.Schema, v any) (evaluated, bool) {
	switch v := v.(type) {
	case map[string]any:
		return evaluated{s, reflect.ValueOf(v).Pointer(), -1}, true
	case []any:
		return evaluated{s, reflect.ValueOf(v).Pointer(), len(v)}, len(v) > 0
	}
	return evaluated{}, false
}

// violated notes a violation at the value that is looked at.
func (e *evaluation) violated(quiet bool, wording string) bool {
	if !quiet && len(e.violations) < maxViolations {
		e.violations = append(e.violations, junctor.Violation{Pointer: pointer(e.path), Message: clipTo(wording, maxViolation)})
	}
	return false
}

// fitsLeaf judges the keywords of one subschema that have no subschemas.
func (e *evaluation) fitsLeaf(s *jsonschema.Schema, v any, quiet bool) bool {
	leaf, known := e.leaves[s]
	if !known {
		leaf = leafOf(s)
		e.leaves[s] = leaf
	}
	fits := true
	if text, ok := v.(string); ok {
		if p, ok := s.Pattern.(*pattern); ok {
			match, err := p.matches(e.ctx, text)
			if err != nil {
				e.err = junctor.AsError(err)
				return false
			}
			fits = match || e.violated(quiet, "does not match the pattern "+clip(p.String()))
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
			e.violated(false, wording(cause.ErrorKind, printer))
		}
	}
	return false
}

// leafOf is a subschema without all that leads to others, and without its
// pattern, which is matched here; nil where nothing is left.
func leafOf(s *jsonschema.Schema) *jsonschema.Schema {
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

func (e *evaluation) fitsReferences(s *jsonschema.Schema, v any, same int, quiet bool) bool {
	fits := true
	if s.Ref != nil {
		fits = e.fits(s.Ref, v, same+1, quiet) && fits
	}
	if s.DynamicRef != nil {
		fits = e.fits(e.c.dynamicTarget(s), v, same+1, quiet) && fits
	}
	if s.RecursiveRef != nil {
		fits = e.fits(e.c.recursiveTarget(s), v, same+1, quiet) && fits
	}
	return fits
}

func (e *evaluation) fitsInside(s *jsonschema.Schema, v any, quiet bool) bool {
	fits, contained := true, 0
	match := func(p *pattern, name string) bool {
		found, err := p.matches(e.ctx, name)
		if err != nil {
			e.err = junctor.AsError(err)
		}
		return found
	}
	for one := range e.c.forInnerValues(s, v, match) {
		if e.err != nil || quiet && !fits {
			return false
		}
		if one.only == "contains" {
			if e.fits(one.schema, one.value, 0, true) {
				contained++
			}
			continue
		}
		e.path = append(e.path, one.name)
		switch {
		case one.schema == nil:
			fits = e.violated(quiet, "is not allowed by "+one.only)
		case !e.fits(one.schema, one.value, 0, quiet):
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
			fits = e.violated(quiet, "does not hold as many items as contains asks for")
		}
	}
	return fits
}

func (e *evaluation) fitsCombinators(s *jsonschema.Schema, v any, same int, quiet bool) bool {
	fits := true
	for _, one := range s.AllOf {
		fits = e.fits(one, v, same+1, quiet) && fits
	}
	if len(s.AnyOf) > 0 && e.countFitting(s.AnyOf, v, same, 1) == 0 {
		fits = e.violated(quiet, "fits no branch of anyOf")
	}
	if len(s.OneOf) > 0 {
		if n := e.countFitting(s.OneOf, v, same, 2); n != 1 {
			fits = e.violated(quiet, "does not fit exactly one branch of oneOf")
		}
	}
	if s.Not != nil && e.fits(s.Not, v, same+1, true) {
		fits = e.violated(quiet, "fits what not forbids")
	}
	if s.If != nil {
		branch := s.Else
		if e.fits(s.If, v, same+1, true) {
			branch = s.Then
		}
		if branch != nil {
			fits = e.fits(branch, v, same+1, quiet) && fits
		}
	}
	if object, ok := v.(map[string]any); ok {
		fits = e.fitsDependents(s, object, same, quiet) && fits
	}
	return fits
}

func (e *evaluation) countFitting(branches []*jsonschema.Schema, v any, same, enough int) int {
	n := 0
	for _, one := range branches {
		if e.fits(one, v, same+1, true) {
			if n++; n >= enough {
				break
			}
		}
	}
	return n
}

func (e *evaluation) fitsDependents(s *jsonschema.Schema, object map[string]any, same int, quiet bool) bool {
	fits := true
	for name, one := range s.DependentSchemas {
		if _, ok := object[name]; ok {
			fits = e.fits(one, object, same+1, quiet) && fits
		}
	}
	for name, one := range s.Dependencies {
		if _, ok := object[name]; !ok {
			continue
		}
		switch one := one.(type) {
		case *jsonschema.Schema:
			fits = e.fits(one, object, same+1, quiet) && fits
		case []string:
			for _, other := range one {
				if _, ok := object[other]; !ok {
					fits = e.violated(quiet, "is missing "+clip(other)+", which "+clip(name)+" asks for")
				}
			}
		}
	}
	return fits
}
