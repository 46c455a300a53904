package builtin

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
)

// NeedInput says that a handler cannot go on without its client. A handler
// returns it in place of an error. The client's answers come with a second run
// of the handler, from its start: Call.Answer gives them by key, and State is
// what Call.State gives then.
//
// Answers that the handler has read are kept over later rounds, so a handler
// may ask one thing after another in plain order. Whatever it does before it
// asks, it does once per round.
//
//nolint:errname // it is no error: it only travels where errors do
type NeedInput struct {
	Requests []InputRequest // may be empty when State is not: the client comes back at once
	State    string         // for the handler's next run; sealed on its way through the client
}

func (n *NeedInput) Error() string {
	keys := make([]string, len(n.Requests))
	for i, r := range n.Requests {
		keys[i] = r.Key
	}
	return "waits for the client's answer to: " + strings.Join(keys, ", ")
}

// InputRequest is one thing that a handler asks its client.
type InputRequest struct {
	Key    string          // names the answer
	Method string          // elicitation/create, sampling/createMessage or roots/list
	Params json.RawMessage // of that method; nil is {}
}

// Methods that clients answer.
const (
	methodElicit = "elicitation/create"
	methodSample = "sampling/createMessage"
	methodRoots  = "roots/list"
)

// ElicitRequest asks the person at the client to fill in a form. schema is a
// JSON Schema of an object whose properties are strings, numbers or booleans.
func ElicitRequest(key, message string, schema json.RawMessage) InputRequest {
	b := quote(append([]byte(nil), `{"message":`...), message)
	b = append(append(b, `,"requestedSchema":`...), schema...)
	return InputRequest{Key: key, Method: methodElicit, Params: append(b, '}')}
}

// SampleRequest asks the client's model to answer a prompt.
func SampleRequest(key, prompt string, maxTokens int) InputRequest {
	b := Message{Role: RoleUser, Content: Text(prompt)}.append([]byte(`{"messages":[`))
	b = strconv.AppendInt(append(b, `],"maxTokens":`...), int64(maxTokens), 10)
	return InputRequest{Key: key, Method: methodSample, Params: append(b, '}')}
}

// RootsRequest asks which folders the client has opened.
func RootsRequest(key string) InputRequest { return InputRequest{Key: key, Method: methodRoots} }

// input is the client's side of a call that runs again.
type input struct {
	state   string
	answers map[string]jsontext.Value // by key: this round's, and earlier ones that were read
	read    map[string]bool           // keys to keep for later rounds
}

// heldState is what stands in the state that the client holds for us.
type heldState struct {
	State   string                    `json:"s,omitzero"`
	Answers map[string]jsontext.Value `json:"a,omitempty"`
}

func readInput(in catalog.Input) (input, error) {
	var i input
	if in.State != "" {
		var held heldState
		if err := jsonv2.Unmarshal([]byte(in.State), &held); err != nil {
			return input{}, junctor.Errorf(junctor.CodeInvalid, "requestState is not one that this server gave; start the request anew without it")
		}
		i.state, i.answers = held.State, held.Answers
		i.read = make(map[string]bool, len(held.Answers))
		for key := range held.Answers {
			i.read[key] = true
		}
	}
	if in.Responses != nil {
		var fresh map[string]jsontext.Value
		if err := jsonv2.Unmarshal(in.Responses, &fresh); err != nil {
			return input{}, junctor.Errorf(junctor.CodeInvalid, "inputResponses must be an object of answers by key: %w", err)
		}
		if i.answers == nil {
			i.answers = fresh
		} else {
			maps.Copy(i.answers, fresh)
		}
	}
	return i, nil
}

// State is the State of the NeedInput that this run answers; "" in the first.
func (c *Call) State() string { return c.input.state }

// Answer is the client's answer to the request with this key: an object whose
// members depend on the method. What is no object counts as no answer.
func (c *Call) Answer(key string) (json.RawMessage, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.input.answers[key]
	if !ok || v.Kind() != '{' {
		return nil, false
	}
	if c.input.read == nil {
		c.input.read = make(map[string]bool)
	}
	c.input.read[key] = true
	return json.RawMessage(v), true
}

// forget drops an answer that turned out to be useless.
func (c *Call) forget(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.input.answers, key)
	delete(c.input.read, key)
}

// Ask makes sure that all requests have answers: it gives nil when they have,
// and otherwise a *NeedInput for those that are missing, which the handler
// returns.
func (c *Call) Ask(requests ...InputRequest) error {
	missing := slices.DeleteFunc(slices.Clone(requests), func(r InputRequest) bool {
		_, ok := c.Answer(r.Key)
		return ok
	})
	if len(missing) == 0 {
		return nil
	}
	return &NeedInput{Requests: missing}
}

// pause renders a NeedInput as the result of this round.
func (c *Call) pause(n *NeedInput) (catalog.Result, error) {
	if len(n.Requests) == 0 && n.State == "" {
		return catalog.Result{}, junctor.Errorf(junctor.CodeInternal, "%q asked its client for nothing", c.Name())
	}
	if err := c.requireFor(n.Requests); err != nil {
		return catalog.Result{}, err
	}
	b := []byte(`{`)
	for i, r := range n.Requests {
		if i == 0 {
			b = append(b, `"inputRequests":{`...)
		} else {
			b = append(b, ',')
		}
		b = append(quote(b, r.Key), `:{"method":`...)
		b = append(quote(b, r.Method), `,"params":`...)
		if r.Params == nil {
			b = append(b, `{}`...)
		}
		b = append(append(b, r.Params...), '}')
	}
	if len(n.Requests) > 0 {
		b = append(b, '}')
	}
	held, err := c.hold(n.State)
	if err != nil {
		return catalog.Result{}, err
	}
	if held != "" {
		if len(n.Requests) > 0 {
			b = append(b, ',')
		}
		b = quote(append(b, `"requestState":`...), held)
	}
	b, err = tidy(append(b, '}'))
	if err != nil {
		return catalog.Result{}, junctor.Errorf(junctor.CodeInternal, "%q asked its client something that is not JSON: %w", c.Name(), err)
	}
	return catalog.Result{Body: b, Input: true}, nil
}

// hold is the state for the client to keep; "" when there is nothing to keep.
func (c *Call) hold(state string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	held := heldState{State: state}
	for key := range c.input.read {
		if held.Answers == nil {
			held.Answers = make(map[string]jsontext.Value, len(c.input.read))
		}
		held.Answers[key] = c.input.answers[key]
	}
	if held.State == "" && held.Answers == nil {
		return "", nil
	}
	b, err := jsonv2.Marshal(held, jsonv2.Deterministic(true))
	if err != nil {
		return "", junctor.Errorf(junctor.CodeInternal, "the state of %q cannot be written: %w", c.Name(), err)
	}
	return string(b), nil
}
