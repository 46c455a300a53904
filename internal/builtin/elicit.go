package builtin

import (
	"encoding/json"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/google/jsonschema-go/jsonschema"

	junctor "github.com/junctor-mcp/junctor"
)

// Action is a user's reaction to a question.
type Action string

// Reactions of users.
const (
	Accept  Action = "accept"  // the user answered
	Decline Action = "decline" // the user declined
	Cancel  Action = "cancel"  // the user closed the question without a choice
)

// Elicit asks the user at the client to fill in a T: a struct of strings, numbers and
// booleans, whose jsonschema tags describe them. It returns the user's reaction and,
// after Accept, the input. The handler must return an error as it is; it runs again
// when the answer is there. If the input does not fit T, Elicit asks again.
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
	schema.AdditionalProperties = nil // clients do not expect it in the schema of a form
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
	case given.Action == Accept && fitsSchema(schema, given.Content) && jsonv2.Unmarshal(given.Content, &value) == nil:
		return value, Accept, nil
	}
	call.forgetAnswer(key)
	return *new(T), "", &NeedInput{Requests: []InputRequest{question}}
}

// fitsSchema reports whether the content of a form fits its schema.
func fitsSchema(schema *jsonschema.Schema, content []byte) bool {
	var value map[string]any
	if jsonv2.Unmarshal(content, &value) != nil {
		return false
	}
	resolved, err := schema.Resolve(nil)
	return err == nil && resolved.Validate(value) == nil
}
