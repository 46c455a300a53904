package catalog

import (
	"cmp"
	"context"
	"errors"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// maxViolations bounds how many violations one error lists, and maxViolation how
// long each is: some repeat what the caller sent.
const (
	maxViolations = 20
	maxViolation  = 1 << 10
	maxWorded     = 200 // violations that are put into words to choose among them
	maxNamed      = 100 // values that one violation lists
)

// compiled is a schema in both its forms.
type compiled struct {
	shape *shape // nil where the schema has more than the common keywords
	full  *jsonschema.Schema

	unevaluated        bool               // the schema has unevaluatedItems or unevaluatedProperties
	meta2019, meta2020 *jsonschema.Schema // the dialects that it may refer to
	bytes              int64              // about what it holds in memory
}

func compileSchema(raw []byte) (*compiled, error) {
	doc, err := wire.Value(raw)
	if err != nil {
		return nil, err
	}
	if number, found := tooLarge(raw); found {
		return nil, errors.New("it holds a number beyond all use: " + clip(string(number)))
	}
	graph, err := newSchemaGraph(doc)
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(patternEngine)
	// A relative $ref needs a path to be relative to, or it would mean this
	// document itself.
	const here = schemaBase
	if err := c.AddResource(here, doc); err != nil {
		return nil, err
	}
	full, err := c.Compile(here)
	if err != nil {
		return nil, err
	}
	made := &compiled{shape: newShape(doc), full: full, unevaluated: graph.unseen, bytes: int64(len(raw) + graph.work/4)}
	if graph.dialects {
		if made.meta2019, err = c.Compile(dialect2019 + "schema"); err != nil {
			return nil, err
		}
		if made.meta2020, err = c.Compile(dialect2020 + "schema"); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// noLoader keeps $ref inside the document: a schema never makes us fetch.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, errors.New("a $ref to " + url + " leads out of the schema and is not followed")
}

// Check gives every violation of the schema by the arguments, which wire has
// found to be good JSON; nil arguments count as an empty object. A schema that
// cannot be compiled is the server's fault, not the caller's, and is reported as
// an upstream error. Checking ends with ctx, and costs a bounded number of
// steps whatever the schema and the arguments are.
func (s *Schema) Check(ctx context.Context, arguments []byte) error {
	c, err := s.compiled(ctx)
	if err != nil && ctx.Err() != nil {
		return junctor.AsError(ctx.Err())
	}
	if err != nil {
		return junctor.Errorf(junctor.CodeUpstream, "the tool's input schema is not a valid JSON Schema, so its arguments cannot be checked: %w", err)
	}
	if arguments == nil {
		arguments = []byte("{}")
	}
	if c.shape != nil && c.shape.accepts(arguments) {
		return nil
	}
	return c.checkFully(ctx, arguments)
}

// CheckArguments is Check for a schema that is used this once.
func CheckArguments(ctx context.Context, schema, arguments []byte) error {
	if len(schema) == 0 {
		return nil
	}
	return newSchema(schema, nil).Check(ctx, arguments)
}

// checkFully asks the library, which compares numbers with arithmetic of any
// length: it gets none that would keep it busy for long, and no value that
// takes many steps.
func (c *compiled) checkFully(ctx context.Context, arguments []byte) error {
	value, err := wire.Value(arguments)
	if err != nil {
		return junctor.Errorf(junctor.CodeInvalid, "arguments are not valid JSON: %w", err)
	}
	if number, found := tooLarge(arguments); found {
		return junctor.Errorf(junctor.CodeInvalid, "the arguments hold a number that is too large to be checked: %s; at most %d characters and exponents up to %d",
			clip(string(number)), maxNumberLength, maxExponent)
	}
	if !c.fitsLibrary(value) {
		found, err := c.evaluate(ctx, value)
		if err != nil || len(found) == 0 {
			return err
		}
		return violationError(found)
	}
	var bad *jsonschema.ValidationError
	switch err := c.full.Validate(value); {
	case err == nil:
		return nil
	case errors.As(err, &bad):
		return violations(bad)
	default:
		return junctor.Errorf(junctor.CodeInvalid, "arguments could not be checked: %w", err)
	}
}

// violations names the first violations by their place. Of those at one place
// the first by their words are named: the library goes through members in no
// order. Only as many are put into words as may be named.
func violations(bad *jsonschema.ValidationError) error {
	type leaf struct {
		at  string
		why jsonschema.ErrorKind
	}
	var leaves []leaf
	var walk func(v *jsonschema.ValidationError)
	walk = func(v *jsonschema.ValidationError) {
		if len(v.Causes) == 0 {
			leaves = append(leaves, leaf{pointer(v.InstanceLocation), v.ErrorKind})
		}
		for _, c := range v.Causes {
			walk(c)
		}
	}
	walk(bad)
	slices.SortStableFunc(leaves, func(a, b leaf) int { return cmp.Compare(a.at, b.at) })
	printer := message.NewPrinter(language.English)
	var found []junctor.Violation
	for i, one := range leaves {
		if i >= maxViolations && one.at != leaves[i-1].at || i >= maxWorded {
			break
		}
		found = append(found, junctor.Violation{Pointer: one.at, Message: clipTo(wording(one.why, printer), maxViolation)})
	}
	return violationError(found)
}

func violationError(found []junctor.Violation) error {
	e := &junctor.Error{Code: junctor.CodeInvalid, Violations: found}
	slices.SortStableFunc(e.Violations, func(a, b junctor.Violation) int {
		return cmp.Or(cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Message, b.Message))
	})
	e.Violations = e.Violations[:min(len(e.Violations), maxViolations)]
	var b strings.Builder
	b.WriteString("the arguments do not fit the tool's input schema")
	for i, v := range e.Violations {
		sep := "; "
		if i == 0 {
			sep = ": "
		}
		at := clip(v.Pointer)
		if at == "" {
			at = "(arguments)"
		}
		b.WriteString(sep + at + ": " + v.Message)
	}
	e.Message = b.String()
	return e
}

// wording says what is wrong without repeating the value: it may be a secret, and
// errors are kept.
func wording(k jsonschema.ErrorKind, printer *message.Printer) string {
	number := func(r *big.Rat) string { f, _ := r.Float64(); return strconv.FormatFloat(f, 'g', -1, 64) }
	switch k := k.(type) {
	case *kind.Enum:
		if len(k.Want) > maxNamed {
			return "is none of the " + strconv.Itoa(len(k.Want)) + " values that are allowed"
		}
	case *kind.Required:
		if len(k.Missing) > maxNamed {
			return "misses " + strconv.Itoa(len(k.Missing)) + " properties, the first of them " + strconv.Quote(clip(k.Missing[0]))
		}
	case *kind.AdditionalProperties:
		if len(k.Properties) > maxNamed {
			return "has " + strconv.Itoa(len(k.Properties)) + " properties that are not allowed"
		}
	case *kind.Pattern:
		return "does not match the pattern " + strconv.Quote(k.Want)
	case *kind.Format:
		return "is not a valid " + k.Want
	case *kind.ContentEncoding:
		return "is not encoded as " + k.Want
	case *kind.ContentMediaType:
		return "is not of the media type " + k.Want
	case *kind.Minimum:
		return "must be at least " + number(k.Want)
	case *kind.Maximum:
		return "must be at most " + number(k.Want)
	case *kind.ExclusiveMinimum:
		return "must be more than " + number(k.Want)
	case *kind.ExclusiveMaximum:
		return "must be less than " + number(k.Want)
	case *kind.MultipleOf:
		return "must be a multiple of " + number(k.Want)
	}
	return k.LocalizedString(printer)
}

// pointer writes a JSON pointer.
func pointer(path []string) string {
	var b strings.Builder
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	for _, p := range path {
		b.WriteString("/")
		b.WriteString(escape.Replace(p))
	}
	return b.String()
}
