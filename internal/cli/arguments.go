package cli

import (
	"encoding/json"
	"slices"
	"strings"
)

// argument is what a tool's schema says about one of its arguments, as far as
// a command line needs to know.
type argument struct {
	Types       typeNames         `json:"type"`
	Enum        []json.RawMessage `json:"enum"`
	Items       *argument         `json:"items"`
	Description string            `json:"description"`
	Default     json.RawMessage   `json:"default"`
}

// signature is a tool's input schema.
type signature struct {
	Properties map[string]*argument `json:"properties"`
	Required   []string             `json:"required"`
}

// typeNames is the type keyword: one name, or a list of them.
type typeNames []string

// UnmarshalJSON takes both forms. Whatever else stands there says nothing
// about the type, and is not this program's to refuse.
func (t *typeNames) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*t = typeNames{one}
		return nil
	}
	var several []string
	if json.Unmarshal(data, &several) == nil {
		*t = several
	}
	return nil
}

// readSignature reads what it can of a schema: one that it cannot read knows
// no arguments, and the tool itself will judge.
func readSignature(schema json.RawMessage) signature {
	var s signature
	if json.Unmarshal(schema, &s) != nil {
		return signature{}
	}
	return s
}

// buildArguments makes the JSON object of several k=v. A value is read as the
// schema's type wants it: text stays text even where it looks like a number.
// An argument that takes a list may be given several times.
func buildArguments(schema json.RawMessage, pairs []string) (json.RawMessage, error) {
	sig := readSignature(schema)
	given := map[string][]string{}
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, usagef("--arg %q: write it as name=value", pair)
		}
		given[name] = append(given[name], value)
	}
	out := map[string]json.RawMessage{}
	for name, values := range given {
		v, err := sig.Properties[name].read(name, values)
		if err != nil {
			return nil, err
		}
		out[name] = v
	}
	return json.Marshal(out)
}

func (a *argument) read(name string, values []string) (json.RawMessage, error) {
	if a.is("array") && (len(values) > 1 || !isJSON(values[0], '[')) {
		items := make([]json.RawMessage, len(values))
		for i, value := range values {
			v, err := a.Items.readOne(name, value)
			if err != nil {
				return nil, err
			}
			items[i] = v
		}
		return json.Marshal(items)
	}
	if len(values) > 1 {
		return nil, usagef("--arg %s is given %d times, and the tool takes it once", name, len(values))
	}
	return a.readOne(name, values[0])
}

func (a *argument) readOne(name, value string) (json.RawMessage, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	switch {
	case a.is("string"):
		// Null is what a nullable text has no other way to say.
		if value == "null" && a.is("null") {
			return json.RawMessage("null"), nil
		}
		return text, nil
	case a == nil || len(a.Types) == 0:
		// The schema does not say: an allowed word is text, JSON is JSON, and
		// anything else is text again.
		if a != nil && slices.ContainsFunc(a.Enum, func(e json.RawMessage) bool { return string(e) == string(text) }) || !json.Valid([]byte(value)) {
			return text, nil
		}
	case !json.Valid([]byte(value)):
		return nil, usagef("--arg %s: the tool wants %s", name, strings.Join(a.Types, " or "))
	}
	return json.RawMessage(value), nil
}

func (a *argument) is(name string) bool { return a != nil && slices.Contains(a.Types, name) }

func isJSON(value string, first byte) bool {
	value = strings.TrimSpace(value)
	return value != "" && value[0] == first && json.Valid([]byte(value))
}
