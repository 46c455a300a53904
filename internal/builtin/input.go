package builtin

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
)

// NeedInput requests input from the client of a call. A handler returns it in
// place of an error. Once the client has answered, the handler runs again from
// its start: Call.Answer returns the answers by key, and Call.State returns
// State.
//
// Answers that the handler has read are kept for later rounds, so a handler may ask
// one thing after another in plain order. Work before a question is repeated in every
// round.
//
//nolint:errname // it is not an error, but is returned in the place of one
type NeedInput struct {
	Requests []InputRequest // may be empty if State is not: the client then repeats the request at once
	State    string         // for the handler's next run; the guard seals it for its way through the client
}

// Error implements error.
func (n *NeedInput) Error() string {
	keys := make([]string, len(n.Requests))
	for i, r := range n.Requests {
		keys[i] = r.Key
	}
	return "waits for the client's answer to: " + strings.Join(keys, ", ")
}

// InputRequest is one question to the client.
type InputRequest struct {
	Key    string          // identifies the answer
	Method string          // elicitation/create, sampling/createMessage or roots/list
	Params json.RawMessage // of that method; nil means {}
}

// Methods that clients answer.
const (
	methodElicit = "elicitation/create"
	methodSample = "sampling/createMessage"
	methodRoots  = "roots/list"
)

// ElicitRequest asks the user at the client to fill in a form. schema is a JSON
// Schema of an object whose properties are strings, numbers or booleans.
func ElicitRequest(key, message string, schema json.RawMessage) InputRequest {
	b := appendQuoted(append([]byte(nil), `{"message":`...), message)
	b = append(append(b, `,"requestedSchema":`...), schema...)
	return InputRequest{Key: key, Method: methodElicit, Params: append(b, '}')}
}

// roundInput is what the client sent with this round of a call.
type roundInput struct {
	state    string
	answers  map[string]jsontext.Value // by key: answers of this round, and earlier ones that were read
	readKeys map[string]bool           // keys to keep for later rounds
}

// heldState is the content of the state that the client keeps for us between
// rounds.
type heldState struct {
	State   string                    `json:"s,omitzero"`
	Answers map[string]jsontext.Value `json:"a,omitempty"`
}

// readInput decodes the state and the answers of a request.
func readInput(in catalog.Input) (roundInput, error) {
	var i roundInput
	if in.State != "" {
		var held heldState
		if err := jsonv2.Unmarshal([]byte(in.State), &held); err != nil {
			return roundInput{}, junctor.Errorf(junctor.CodeInvalid, "requestState was not issued by this server; send the request again without it")
		}
		i.state, i.answers = held.State, held.Answers
		i.readKeys = make(map[string]bool, len(held.Answers))
		for key := range held.Answers {
			i.readKeys[key] = true
		}
	}
	if in.Responses != nil {
		var fresh map[string]jsontext.Value
		if err := jsonv2.Unmarshal(in.Responses, &fresh); err != nil {
			return roundInput{}, junctor.Errorf(junctor.CodeInvalid, "inputResponses must be an object of answers by key: %w", err)
		}
		if i.answers == nil {
			i.answers = fresh
		} else {
			maps.Copy(i.answers, fresh)
		}
	}
	return i, nil
}

// State returns the State of the NeedInput that this run answers; "" in the
// first run.
func (c *Call) State() string { return c.input.state }

// Answer returns the client's answer to the request with this key, an object
// whose members depend on the method. Any other value counts as no answer.
// Reading an answer keeps it for later rounds.
func (c *Call) Answer(key string) (json.RawMessage, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.input.answers[key]
	if !ok || v.Kind() != '{' {
		return nil, false
	}
	if c.input.readKeys == nil {
		c.input.readKeys = make(map[string]bool)
	}
	c.input.readKeys[key] = true
	return json.RawMessage(v), true
}

// forgetAnswer drops an answer that cannot be used.
func (c *Call) forgetAnswer(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.input.answers, key)
	delete(c.input.readKeys, key)
}

// Ask returns nil if all requests have answers. Otherwise it returns a
// *NeedInput for those that are missing, and the handler must return it.
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

// renderPause renders a NeedInput as the result of this round.
func (c *Call) renderPause(n *NeedInput) (catalog.Result, error) {
	if len(n.Requests) == 0 && n.State == "" {
		return catalog.Result{}, junctor.Errorf(junctor.CodeInternal, "%q requested input from its client without naming any", c.Name())
	}
	if err := c.requireForRequests(n.Requests); err != nil {
		return catalog.Result{}, err
	}
	b := []byte(`{`)
	for i, r := range n.Requests {
		if i == 0 {
			b = append(b, `"inputRequests":{`...)
		} else {
			b = append(b, ',')
		}
		b = append(appendQuoted(b, r.Key), `:{"method":`...)
		b = append(appendQuoted(b, r.Method), `,"params":`...)
		if r.Params == nil {
			b = append(b, `{}`...)
		}
		b = append(append(b, r.Params...), '}')
	}
	if len(n.Requests) > 0 {
		b = append(b, '}')
	}
	held, err := c.encodeState(n.State)
	if err != nil {
		return catalog.Result{}, err
	}
	if held != "" {
		if len(n.Requests) > 0 {
			b = append(b, ',')
		}
		b = appendQuoted(append(b, `"requestState":`...), held)
	}
	b, err = compactJSON(append(b, '}'))
	if err != nil {
		return catalog.Result{}, junctor.Errorf(junctor.CodeInternal, "the request of %q to its client cannot be encoded as JSON: %w", c.Name(), err)
	}
	return catalog.Result{Body: b, Input: true}, nil
}

// encodeState returns the state for the client to keep; "" if there is none.
func (c *Call) encodeState(state string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	held := heldState{State: state}
	for key := range c.input.readKeys {
		if held.Answers == nil {
			held.Answers = make(map[string]jsontext.Value, len(c.input.readKeys))
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
