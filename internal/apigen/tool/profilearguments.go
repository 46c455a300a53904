package tool

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// NormalizeArguments returns the arguments that a client of a profile means by those that it
// sends. Under the OpenAI profile every property is required, and such clients
// send null for a property that they leave out. Take removes these nulls,
// except for properties that the canonical schema requires. Everything else
// stays unchanged.
func NormalizeArguments(p junctor.Profile, canonical json.RawMessage, arguments []byte) []byte {
	if p != junctor.ProfileOpenAI || !bytes.Contains(arguments, []byte("null")) {
		return arguments
	}
	var root schema
	if err := json.Unmarshal(canonical, &root); err != nil {
		return arguments
	}
	var given any
	d := json.NewDecoder(bytes.NewReader(arguments))
	d.UseNumber()
	if err := d.Decode(&given); err != nil {
		return arguments
	}
	root = joinChoices(root)
	defs, _ := root["$defs"].(schema)
	if !(nullDropper{defs}).dropNulls(given, root) {
		return arguments
	}
	return encodeJSON(given)
}

// nullDropper removes nulls from values that are described by schemas with
// these definitions.
type nullDropper struct{ defs schema }

// dropNulls removes the nulls of optional members from v, in place, and reports
// whether there were any.
func (n nullDropper) dropNulls(v any, s schema) (some bool) {
	s = n.resolveRef(s)
	if s == nil {
		return false
	}
	switch v := v.(type) {
	case map[string]any:
		some = n.dropNullMembers(v, s)
	case []any:
		items, _ := s["items"].(schema)
		for _, item := range v {
			some = n.dropNulls(item, items) || some
		}
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		branches, _ := s[key].([]any)
		for _, b := range branches {
			if branch, ok := b.(schema); ok {
				some = n.dropNulls(v, branch) || some
			}
		}
	}
	return some
}

// dropNullMembers is dropNulls for an object. Members that the schema does not
// know stay.
func (n nullDropper) dropNullMembers(v map[string]any, s schema) (some bool) {
	props, _ := s["properties"].(schema)
	must := requiredNames(s)
	for name, member := range v {
		p, known := props[name].(schema)
		switch {
		case !known:
		case member == nil && !slices.Contains(must, name):
			delete(v, name)
			some = true
		default:
			some = n.dropNulls(member, p) || some
		}
	}
	return some
}

// resolveRef follows references. It returns nil if they lead nowhere or in a
// circle.
func (n nullDropper) resolveRef(s schema) schema {
	for range 10 {
		ref, ok := s["$ref"].(string)
		if !ok {
			return s
		}
		s, _ = n.defs[strings.TrimPrefix(ref, "#/$defs/")].(schema)
	}
	return nil
}
