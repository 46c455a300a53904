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

// Limits of an error that lists violations. Some violations repeat names that the
// caller sent, so an unlimited error could grow with the request.
const (
	maxViolations       = 20
	maxViolationBytes   = 1 << 10
	maxWordedViolations = 200 // violations that are described in order to choose among them
	maxListedValues     = 100 // most values that one violation lists
)

// compiledSchema is a schema in two forms: one that accepts most arguments
// without allocating, and that of the library.
type compiledSchema struct {
	fast    *fastSchema // nil if the schema uses more than the common keywords
	library *jsonschema.Schema

	hasUnevaluated     bool               // the schema has unevaluatedItems or unevaluatedProperties
	meta2019, meta2020 *jsonschema.Schema // the dialects, compiled if the schema refers to one
	bytes              int64              // estimated memory
}

// compileSchema compiles a schema after it has checked that compiling stays
// within the limits of schemaGraph.
func compileSchema(raw []byte) (*compiledSchema, error) {
	doc, err := wire.DecodeValue(raw)
	if err != nil {
		return nil, err
	}
	if number, found := findOversizedNumber(raw); found {
		return nil, errors.New("it contains a number that is too large: " + clipText(string(number)))
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
	made := &compiledSchema{fast: newFastSchema(doc), library: full, hasUnevaluated: graph.hasUnevaluated, bytes: int64(len(raw) + graph.compileBytes/4)}
	if graph.usesDialect {
		if made.meta2019, err = c.Compile(dialect2019 + "schema"); err != nil {
			return nil, err
		}
		if made.meta2020, err = c.Compile(dialect2020 + "schema"); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// noLoader refuses every $ref that leads out of the document: a schema from a
// server must never make Junctor fetch something.
type noLoader struct{}

// Load implements jsonschema.URLLoader.
func (noLoader) Load(url string) (any, error) {
	return nil, errors.New("a $ref to " + url + " is outside the schema, and Junctor does not load it")
}

// Check returns an invalid error that lists the violations of the schema, or
// nil. The arguments must be JSON that wire has validated; nil counts as an
// empty object. A schema that cannot be compiled is the server's fault and is
// reported as an upstream error. Checking ends with ctx, and takes a bounded
// number of steps whatever the schema and the arguments are.
func (s *Schema) Check(ctx context.Context, arguments []byte) error {
	c, err := s.loadCompiled(ctx)
	if err != nil && ctx.Err() != nil {
		return junctor.AsError(ctx.Err())
	}
	if err != nil {
		return junctor.Errorf(junctor.CodeUpstream, "the tool's input schema is not a valid JSON Schema, so its arguments cannot be checked: %w", err)
	}
	if arguments == nil {
		arguments = []byte("{}")
	}
	if c.fast != nil && c.fast.acceptsText(arguments) {
		return nil
	}
	return c.checkFully(ctx, arguments)
}

// CheckArguments is Check for a schema that is used once. An empty schema
// accepts everything.
func CheckArguments(ctx context.Context, schema, arguments []byte) error {
	if len(schema) == 0 {
		return nil
	}
	return newSchema(schema, nil).Check(ctx, arguments)
}

// checkFully decodes the arguments and asks the library. The library compares
// numbers with arithmetic of any length and cannot be interrupted. So it never
// gets numbers beyond the limits, and values that take many steps go to
// evaluateValue instead.
func (c *compiledSchema) checkFully(ctx context.Context, arguments []byte) error {
	value, err := wire.DecodeValue(arguments)
	if err != nil {
		return junctor.Errorf(junctor.CodeInvalid, "arguments are not valid JSON: %w", err)
	}
	if number, found := findOversizedNumber(arguments); found {
		return junctor.Errorf(junctor.CodeInvalid, "the arguments contain a number that is too large to check: %s; the limits are %d characters and an exponent of %d",
			clipText(string(number)), maxNumberLength, maxExponent)
	}
	if !c.fitsLibrary(value) {
		found, err := c.evaluateValue(ctx, value)
		if err != nil || len(found) == 0 {
			return err
		}
		return newViolationError(found)
	}
	var bad *jsonschema.ValidationError
	switch err := c.library.Validate(value); {
	case err == nil:
		return nil
	case errors.As(err, &bad):
		return convertViolations(bad)
	default:
		return junctor.Errorf(junctor.CodeInvalid, "cannot check the arguments: %w", err)
	}
}

// convertViolations turns the library's error into ours. It lists the first
// violations by their place, and those at one place by their text, since the
// library visits members in random order. Only violations that may be listed
// are described, because describing is slow.
func convertViolations(bad *jsonschema.ValidationError) error {
	type leaf struct {
		at  string
		why jsonschema.ErrorKind
	}
	var leaves []leaf
	var walk func(v *jsonschema.ValidationError)
	walk = func(v *jsonschema.ValidationError) {
		if len(v.Causes) == 0 {
			leaves = append(leaves, leaf{formatPointer(v.InstanceLocation), v.ErrorKind})
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
		if i >= maxViolations && one.at != leaves[i-1].at || i >= maxWordedViolations {
			break
		}
		found = append(found, junctor.Violation{Pointer: one.at, Message: junctor.ShortenText(describeViolation(one.why, printer), maxViolationBytes)})
	}
	return newViolationError(found)
}

// newViolationError makes the error of some violations, in a fixed order.
func newViolationError(found []junctor.Violation) error {
	e := &junctor.Error{Code: junctor.CodeInvalid, Violations: found}
	slices.SortStableFunc(e.Violations, func(a, b junctor.Violation) int {
		return cmp.Or(cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Message, b.Message))
	})
	e.Violations = e.Violations[:min(len(e.Violations), maxViolations)]
	var b strings.Builder
	b.WriteString("the arguments do not match the tool's input schema")
	for i, v := range e.Violations {
		sep := "; "
		if i == 0 {
			sep = ": "
		}
		at := clipText(v.Pointer)
		if at == "" {
			at = "(arguments)"
		}
		b.WriteString(sep + at + ": " + v.Message)
	}
	e.Message = b.String()
	return e
}

// describeViolation describes a violation without the offending value: the
// value may be a secret, and errors are stored.
func describeViolation(k jsonschema.ErrorKind, printer *message.Printer) string {
	number := func(r *big.Rat) string { f, _ := r.Float64(); return strconv.FormatFloat(f, 'g', -1, 64) }
	switch k := k.(type) {
	case *kind.Enum:
		if len(k.Want) > maxListedValues {
			return "is not one of the " + strconv.Itoa(len(k.Want)) + " allowed values"
		}
	case *kind.Required:
		if len(k.Missing) > maxListedValues {
			return "misses " + strconv.Itoa(len(k.Missing)) + " required properties, such as " + strconv.Quote(clipText(k.Missing[0]))
		}
	case *kind.AdditionalProperties:
		if len(k.Properties) > maxListedValues {
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

// formatPointer writes a JSON pointer.
func formatPointer(path []string) string {
	var b strings.Builder
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	for _, p := range path {
		b.WriteString("/")
		b.WriteString(escape.Replace(p))
	}
	return b.String()
}
