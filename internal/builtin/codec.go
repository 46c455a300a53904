package builtin

import (
	"bytes"
	"context"
	stdjson "encoding/json"
	"errors"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
)

// typedCodec decodes the arguments of a typed tool into In, and encodes Out as
// a result.
type typedCodec[In, Out any] struct {
	decodeOptions json.Options
}

// newTypedCodec makes a codec, and sets the schemas that t does not have.
func newTypedCodec[In, Out any](t *Tool) (*typedCodec[In, Out], error) {
	c := &typedCodec[In, Out]{}
	if t.InputSchema == nil {
		schema, err := inferSchema[In]()
		if err != nil {
			return nil, junctor.Errorf(junctor.CodeInvalid, "tool %q: no input schema can be inferred from its Go type: %w", t.Name, err)
		}
		t.InputSchema = schema
		// An inferred schema names every member, so an unknown one is a mistake.
		c.decodeOptions = json.RejectUnknownMembers(true)
	} else {
		c.decodeOptions = json.RejectUnknownMembers(false)
	}
	if t.OutputSchema == nil && !isPlainOutput[Out]() {
		schema, err := inferSchema[Out]()
		if err != nil {
			return nil, junctor.Errorf(junctor.CodeInvalid, "tool %q: no output schema can be inferred from its Go type: %w", t.Name, err)
		}
		if !isObjectSchema(schema) {
			return nil, junctor.Errorf(junctor.CodeInvalid, "tool %q: its output must be a struct or a map (or string, or builtin.Result), so that it encodes as a JSON object", t.Name)
		}
		t.OutputSchema = schema
	}
	return c, nil
}

// inferSchema derives a JSON Schema from a Go type.
func inferSchema[T any]() (stdjson.RawMessage, error) {
	schema, err := jsonschema.For[T](nil)
	if err != nil {
		return nil, err
	}
	return stdjson.Marshal(schema)
}

// isPlainOutput reports whether Out is content by itself, without structured
// content.
func isPlainOutput[Out any]() bool {
	switch any(*new(Out)).(type) {
	case string, Result:
		return true
	}
	return false
}

// isObjectSchema reports whether a schema says explicitly that it describes
// objects.
func isObjectSchema(schema []byte) bool {
	var s struct {
		Type jsontext.Value `json:"type"`
	}
	return json.Unmarshal(schema, &s) == nil && bytes.Equal(s.Type, []byte(`"object"`))
}

// newRunner wraps a typed handler.
func (c *typedCodec[In, Out]) newRunner(h Handler[In, Out]) toolRunner {
	return func(ctx context.Context, call *Call, arguments []byte) (catalog.Result, error) {
		var in In
		if arguments != nil {
			if err := json.Unmarshal(arguments, &in, c.decodeOptions); err != nil {
				return catalog.Result{}, newArgumentError(err)
			}
		}
		out, err := h(ctx, call, in)
		if err != nil {
			return catalog.Result{}, err
		}
		switch out := any(out).(type) {
		case string:
			return textResult(out, false), nil
		case Result:
			return out.renderResult()
		}
		structured, err := json.Marshal(out, json.Deterministic(true))
		if err != nil {
			return catalog.Result{}, junctor.Errorf(junctor.CodeInternal, "the result of tool %q cannot be written as JSON: %w", call.Name(), err)
		}
		return structuredResult(structured), nil
	}
}

// newArgumentError names the argument that does not fit the Go type. The guard
// has checked the schema already, so this happens only if the schema allows
// more than the type.
func newArgumentError(err error) error {
	v := junctor.Violation{Message: strings.TrimPrefix(err.Error(), "json: ")}
	if semantic, ok := errors.AsType[*json.SemanticError](err); ok {
		v.Pointer = string(semantic.JSONPointer)
	}
	at := v.Pointer
	if at == "" {
		at = "(arguments)"
	}
	return &junctor.Error{
		Code:       junctor.CodeInvalid,
		Message:    "the arguments cannot be read: " + at + ": " + v.Message,
		Cause:      err,
		Violations: []junctor.Violation{v},
	}
}
