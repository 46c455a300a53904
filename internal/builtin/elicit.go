package builtin

import (
	"encoding/json"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/google/jsonschema-go/jsonschema"

	junctor "github.com/junctor-mcp/junctor"
)

// Action is what a person did with a question.
type Action string

// What people do with questions.
const (
	Accept  Action = "accept"  // answered it
	Decline Action = "decline" // said no
	Cancel  Action = "cancel"  // closed it without a choice
)

// Elicit asks the person at the client to fill in a T: a struct of strings,
// numbers and booleans, whose jsonschema tags describe them. It gives what they
// did and, after Accept, what they wrote. An error is for the handler to return
// as it is; it then runs again when the answer is there. Input that does not
// fit T is asked for again.
//
//	form, action, err := builtin.Elicit[Form](call, "form", "Who are you?")
//	if err != nil {
//		return "", err
//	}
//	if action != builtin.Accept {
//		return "Then not.", nil
//	}
func Elicit[T any](call *Call, key, message string) (T, Action, error) {
	var value T
	schema, err := jsonschema.For[T](nil)
	if err != nil {
		return value, "", junctor.Errorf(junctor.CodeInternal, "no form can be made for question %q: %w", key, err)
	}
	schema.AdditionalProperties = nil // forms are closed by themselves
	raw, err := json.Marshal(schema)
	if err != nil {
		return value, "", junctor.Errorf(junctor.CodeInternal, "no form can be made for question %q: %w", key, err)
	}
	question := ElicitRequest(key, message, raw)
	if err := call.Ask(question); err != nil {
		return value, "", err
	}
	answer, _ := call.Answer(key)
	var given struct {
		Action  Action          `json:"action"`
		Content json.RawMessage `json:"content"`
	}
	err = jsonv2.Unmarshal(answer, &given)
	switch {
	case err != nil:
	case given.Action == Decline, given.Action == Cancel:
		return value, given.Action, nil
	case given.Action == Accept && fits(schema, given.Content) && jsonv2.Unmarshal(given.Content, &value) == nil:
		return value, Accept, nil
	}
	call.forget(key)
	return *new(T), "", &NeedInput{Requests: []InputRequest{question}}
}

func fits(schema *jsonschema.Schema, content []byte) bool {
	var value map[string]any
	if jsonv2.Unmarshal(content, &value) != nil {
		return false
	}
	resolved, err := schema.Resolve(nil)
	return err == nil && resolved.Validate(value) == nil
}
