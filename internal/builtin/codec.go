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

// codec turns the arguments of a typed tool into In, and Out into a result.
type codec[In, Out any] struct {
	decode json.Options
}

// newCodec fills in the schemas that t leaves out.
func newCodec[In, Out any](t *Tool) (*codec[In, Out], error) {
	c := &codec[In, Out]{}
	if t.InputSchema == nil {
		schema, err := inferSchema[In]()
		if err != nil {
			return nil, junctor.Errorf(junctor.CodeInvalid, "tool %q: no input schema can be inferred from its Go type: %w", t.Name, err)
		}
		t.InputSchema = schema
		// An inferred schema names every member, so one more is a mistake.
		c.decode = json.RejectUnknownMembers(true)
	} else {
		c.decode = json.RejectUnknownMembers(false)
	}
	if t.OutputSchema == nil && !plainOutput[Out]() {
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

func inferSchema[T any]() (stdjson.RawMessage, error) {
	schema, err := jsonschema.For[T](nil)
	if err != nil {
		return nil, err
	}
	return stdjson.Marshal(schema)
}

// plainOutput says whether Out is content by itself, without structure.
func plainOutput[Out any]() bool {
	switch any(*new(Out)).(type) {
	case string, Result:
		return true
	}
	return false
}

// isObjectSchema says whether a schema describes objects, in so many words.
func isObjectSchema(schema []byte) bool {
	var s struct {
		Type jsontext.Value `json:"type"`
	}
	return json.Unmarshal(schema, &s) == nil && bytes.Equal(s.Type, []byte(`"object"`))
}

func (c *codec[In, Out]) runner(h Handler[In, Out]) runner {
	return func(ctx context.Context, call *Call, arguments []byte) (catalog.Result, error) {
		var in In
		if arguments != nil {
			if err := json.Unmarshal(arguments, &in, c.decode); err != nil {
				return catalog.Result{}, badArguments(err)
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
			return out.render()
		}
		structured, err := json.Marshal(out, json.Deterministic(true))
		if err != nil {
			return catalog.Result{}, junctor.Errorf(junctor.CodeInternal, "the result of tool %q cannot be written as JSON: %w", call.Name(), err)
		}
		return structuredResult(structured), nil
	}
}

// badArguments says which argument does not fit the Go type. The guard has
// checked the schema, so this is a schema that allows more than the type.
func badArguments(err error) error {
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
