package cli

import (
	"encoding/json"
	"slices"
	"strings"
)

// argument is the part of a tool's input schema that concerns one argument, as
// far as the command line needs it.
type argument struct {
	Types       typeNames         `json:"type"`
	Enum        []json.RawMessage `json:"enum"`
	Items       *argument         `json:"items"`
	Description string            `json:"description"`
	Default     json.RawMessage   `json:"default"`
}

// signature is the part of a tool's input schema that the command line needs.
type signature struct {
	Properties map[string]*argument `json:"properties"`
	Required   []string             `json:"required"`
}

// typeNames is the keyword type of a JSON Schema: one name, or a list of names.
type typeNames []string

// UnmarshalJSON accepts both forms. Any other value says nothing about the
// type; the tool itself has to judge the argument then.
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

// readSignature decodes a schema. One that cannot be decoded has no known
// arguments, and the tool itself has to judge them.
func readSignature(schema json.RawMessage) signature {
	var s signature
	if json.Unmarshal(schema, &s) != nil {
		return signature{}
	}
	return s
}

// buildArguments returns the JSON object for arguments of the form name=value.
// A value is parsed as the schema's type requires, so text stays text even if
// it looks like a number. An argument that is a list may be repeated.
func buildArguments(schema json.RawMessage, pairs []string) (json.RawMessage, error) {
	sig := readSignature(schema)
	given := map[string][]string{}
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, usageErrorf("--arg %q: write it as name=value", pair)
		}
		given[name] = append(given[name], value)
	}
	out := map[string]json.RawMessage{}
	for name, values := range given {
		v, err := sig.Properties[name].parseValues(name, values)
		if err != nil {
			return nil, err
		}
		out[name] = v
	}
	return json.Marshal(out)
}

// parseValues returns the JSON of the values that were given for one argument.
// The receiver is nil if the schema does not have the argument. A single value
// for a list may be the JSON of the whole list.
func (a *argument) parseValues(name string, values []string) (json.RawMessage, error) {
	if a.hasType("array") && (len(values) > 1 || !isJSON(values[0], '[')) {
		items := make([]json.RawMessage, len(values))
		for i, value := range values {
			v, err := a.Items.parseValue(name, value)
			if err != nil {
				return nil, err
			}
			items[i] = v
		}
		return json.Marshal(items)
	}
	if len(values) > 1 {
		return nil, usageErrorf("--arg %s is given %d times, and is not a list: give it once", name, len(values))
	}
	return a.parseValue(name, values[0])
}

// parseValue returns the JSON of one value.
func (a *argument) parseValue(name, value string) (json.RawMessage, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	switch {
	case a.hasType("string"):
		// There is no other way to give null for an argument that is a text or
		// null.
		if value == "null" && a.hasType("null") {
			return json.RawMessage("null"), nil
		}
		return text, nil
	case a == nil || len(a.Types) == 0:
		// The schema does not say the type. An allowed word is text, valid JSON
		// is JSON, and anything else is text again.
		if a != nil && slices.ContainsFunc(a.Enum, func(e json.RawMessage) bool { return string(e) == string(text) }) || !json.Valid([]byte(value)) {
			return text, nil
		}
	case !json.Valid([]byte(value)):
		return nil, usageErrorf("--arg %s: the tool requires %s", name, strings.Join(a.Types, " or "))
	}
	return json.RawMessage(value), nil
}

// hasType reports whether the schema names a type for the argument. It may be
// called on nil.
func (a *argument) hasType(name string) bool { return a != nil && slices.Contains(a.Types, name) }

// isJSON reports whether a value is valid JSON that begins with a character.
func isJSON(value string, first byte) bool {
	value = strings.TrimSpace(value)
	return value != "" && value[0] == first && json.Valid([]byte(value))
}
