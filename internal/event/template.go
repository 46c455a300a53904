package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	strict "github.com/go-json-experiment/json"

	junctor "github.com/junctor-mcp/junctor"
)

// Template makes the arguments of a call from an event. It is JSON whose texts
// may hold placeholders:
//
//	{"title": "{{data.issue.title}}", "score": "{{data.value|integer}}", "note": "from {{source}}", "tag": "{{data.tag?}}"}
//
// A placeholder that is the whole text keeps the type of its value, or gets the type
// after the bar: string, integer, number, boolean, or json, which is the value
// encoded as a text. Inside a longer text the value is inserted as text. A
// placeholder with a question mark is optional: if the value is missing, a whole
// text is omitted with its member or element, and elsewhere nothing is inserted.
// {{'any text'}} stands for the text itself.
//
// An integer beyond 2^53, which not every JSON decoder can represent, becomes a text
// unless the placeholder has a type.
type Template struct {
	root any // decoded JSON; strings with placeholders are templateText
}

// templateText is a string with placeholders.
type templateText struct {
	parts   []textPart
	pointer string // JSON pointer, for messages
}

// textPart is a literal piece of text, or a placeholder.
type textPart struct {
	literal    string
	paths      []path // nil for a literal
	name       string // as written
	targetType string // the type after the bar; "" keeps the type of the value
	optional   bool
}

// Limits of a template.
const (
	maxTemplateBytes = 256 << 10
	maxTemplateDepth = 64
)

// ParseTemplate parses a template. It returns an error if the template could
// never be filled. The template must be an object, since the arguments of a
// tool are one. An absent template makes an empty object.
func ParseTemplate(source json.RawMessage) (*Template, error) { return parseTemplate(source, false) }

// ParseLenient parses the template of a job that another system created. Its
// placeholders are all optional: fields that the event does not have are
// omitted.
func ParseLenient(source json.RawMessage) (*Template, error) { return parseTemplate(source, true) }

// parseTemplate does both.
func parseTemplate(source json.RawMessage, lenient bool) (*Template, error) {
	if len(bytes.TrimSpace(source)) == 0 {
		return &Template{root: map[string]any{}}, nil
	}
	if len(source) > maxTemplateBytes {
		return nil, junctor.Errorf(junctor.CodeTooLarge, "the template is longer than %d bytes", maxTemplateBytes)
	}
	var check any // finds duplicate members and the like, which the decoder below accepts
	if err := strict.Unmarshal(source, &check); err != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "the template is invalid JSON: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(source))
	dec.UseNumber()
	var root any
	if err := dec.Decode(&root); err != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "the template is invalid JSON: %w", err)
	}
	if _, ok := root.(map[string]any); !ok {
		return nil, junctor.Errorf(junctor.CodeInvalid, "the template must be an object, because the arguments of a tool are one")
	}
	root, err := compileNode(root, "", lenient, 0)
	if err != nil {
		return nil, err
	}
	return &Template{root}, nil
}

// compileNode replaces strings that have placeholders, in place, and returns
// the node. where is its JSON pointer.
func compileNode(v any, where string, lenient bool, depth int) (any, error) {
	if depth > maxTemplateDepth {
		return nil, junctor.Errorf(junctor.CodeInvalid, "the template is nested more than %d levels deep", maxTemplateDepth)
	}
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			// A placeholder in a name could create duplicate members.
			if strings.Contains(name, "{{") {
				return nil, junctor.Errorf(junctor.CodeInvalid, "the template has a placeholder in the name of a member, at %s: only values can have them", where+"/"+clipText(name))
			}
			made, err := compileNode(inner, where+"/"+escapePointer(name), lenient, depth+1)
			if err != nil {
				return nil, err
			}
			v[name] = made
		}
		return v, nil
	case []any:
		for i, inner := range v {
			made, err := compileNode(inner, where+"/"+strconv.Itoa(i), lenient, depth+1)
			if err != nil {
				return nil, err
			}
			v[i] = made
		}
		return v, nil
	case string:
		parts, err := parseText(v, lenient)
		if err != nil {
			return nil, junctor.Errorf(junctor.CodeInvalid, "template at %s: %s", where, junctor.AsError(err).Message)
		}
		if len(parts) == 0 {
			return "", nil
		}
		if len(parts) == 1 && parts[0].paths == nil {
			return parts[0].literal, nil
		}
		return templateText{parts, where}, nil
	}
	return v, nil
}

// escapePointer escapes one token of a JSON pointer.
func escapePointer(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// parseText splits a string at its placeholders.
func parseText(s string, lenient bool) (parts []textPart, err error) {
	add := func(literal string) {
		if literal == "" {
			return
		}
		// Join adjacent literals, so that a text without placeholders has one
		// part.
		if n := len(parts); n > 0 && parts[n-1].paths == nil {
			parts[n-1].literal += literal
			return
		}
		parts = append(parts, textPart{literal: literal})
	}
	for {
		before, rest, found := strings.Cut(s, "{{")
		add(before)
		if !found {
			return parts, nil
		}
		if quoted, ok := strings.CutPrefix(strings.TrimLeft(rest, " "), "'"); ok {
			literal, after, ended := strings.Cut(quoted, "'")
			after, closed := strings.CutPrefix(strings.TrimLeft(after, " "), "}}")
			if !ended || !closed {
				return nil, junctor.Errorf(junctor.CodeInvalid, "a quoted text in a placeholder is not closed: write {{'text'}}")
			}
			add(literal)
			s = after
			continue
		}
		inner, after, closed := strings.Cut(rest, "}}")
		if !closed {
			return nil, junctor.Errorf(junctor.CodeInvalid, "a placeholder is not closed: write {{name}}, or {{'{{'}} for the braces themselves")
		}
		p, err := parsePlaceholder(inner, lenient)
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
		s = after
	}
}

// parsePlaceholder parses the text between the braces.
func parsePlaceholder(inner string, lenient bool) (textPart, error) {
	name, as, typed := strings.Cut(inner, "|")
	p := textPart{name: strings.TrimSpace(name), targetType: strings.TrimSpace(as)}
	// The question mark may follow the name or the type.
	p.name, p.optional = cutOptional(p.name)
	var late bool
	if p.targetType, late = cutOptional(p.targetType); late {
		p.optional = true
	}
	if typed && !slices.Contains([]string{"string", "integer", "number", "boolean", "json"}, p.targetType) {
		return p, junctor.Errorf(junctor.CodeInvalid, "{{%s}} has the unknown type %q: use string, integer, number, boolean or json", clipText(inner), clipText(p.targetType))
	}
	var err error
	p.paths, err = parsePath(p.name)
	if lenient {
		p.optional = true
		if err != nil { // other systems name fields of the data without the prefix data
			p.paths, err = parsePath("data." + strings.TrimPrefix(p.name, "event."))
		}
	}
	return p, err
}

// cutOptional removes a question mark at the end.
func cutOptional(s string) (string, bool) {
	rest, ok := strings.CutSuffix(s, "?")
	return strings.TrimSpace(rest), ok
}

// absentValue marks an optional placeholder without a value.
type absentValue struct{}

// Fill makes the arguments for an event. The error names the placeholder that
// has no value, or whose value does not have the required type.
func (t *Template) Fill(e *junctor.Event) (json.RawMessage, error) {
	v, err := newEventReader(e)
	if err != nil {
		return nil, err
	}
	made, err := fillNode(t.root, v)
	if err != nil {
		return nil, err
	}
	return encodeJSON(made)
}

// encodeJSON encodes a value without escaping HTML, so that texts stay
// readable.
func encodeJSON(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "the result of the template is invalid JSON: %w", err)
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// fillNode returns a copy of a node with its placeholders replaced. Absent
// members and elements are left out.
func fillNode(node any, v *eventReader) (any, error) {
	switch node := node.(type) {
	case map[string]any:
		out := make(map[string]any, len(node))
		for name, inner := range node {
			made, err := fillNode(inner, v)
			if err != nil {
				return nil, err
			}
			if _, gone := made.(absentValue); !gone {
				out[name] = made
			}
		}
		return out, nil
	case []any:
		out := make([]any, 0, len(node))
		for _, inner := range node {
			made, err := fillNode(inner, v)
			if err != nil {
				return nil, err
			}
			if _, gone := made.(absentValue); !gone {
				out = append(out, made)
			}
		}
		return out, nil
	case templateText:
		return node.fillText(v)
	}
	return node, nil
}

// fillText returns the value of a text that is a single placeholder, in its own
// type, and otherwise a string.
func (t templateText) fillText(v *eventReader) (any, error) {
	if len(t.parts) == 1 {
		return t.parts[0].resolveValue(v, t.pointer)
	}
	return t.writeText(v)
}

// writeText returns the text with its placeholders replaced by text.
func (t templateText) writeText(v *eventReader) (string, error) {
	var b strings.Builder
	for _, p := range t.parts {
		if p.paths == nil {
			b.WriteString(p.literal)
			continue
		}
		found, err := p.resolveValue(v, t.pointer)
		if err != nil {
			return "", err
		}
		switch found := found.(type) {
		case absentValue:
		case string:
			b.WriteString(found)
		default:
			written, err := encodeJSON(found)
			if err != nil {
				return "", err
			}
			b.Write(written)
		}
	}
	return b.String(), nil
}

// resolveValue returns the value of the placeholder in the required type, or
// absentValue.
func (p *textPart) resolveValue(v *eventReader, where string) (any, error) {
	found, ok := v.findFirst(p.paths)
	if !ok {
		if p.optional {
			return absentValue{}, nil
		}
		return nil, junctor.Errorf(junctor.CodeInvalid, "template at %s: the event %s has no %s; write {{%s?}} where it may be absent", where, v.event.ID, p.name, p.name)
	}
	if !v.countFilled(found) {
		return nil, junctor.Errorf(junctor.CodeTooLarge, "template at %s: the values of the placeholders have more than %d bytes; use smaller parts of the event, or fewer placeholders", where, maxFilledBytes)
	}
	made, err := convertValue(found, p.targetType)
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "template at %s: %s %s", where, p.name, err.Error())
	}
	return made, nil
}

// maxExactInteger is the largest integer up to which every JSON decoder
// represents all integers exactly.
const maxExactInteger = 1 << 53

// convertValue converts a value to a type of placeholders. The error completes
// a sentence that begins with the name of the value.
func convertValue(v any, as string) (any, error) {
	written := func() string {
		switch v := v.(type) {
		case string:
			return v
		case json.Number:
			return v.String()
		}
		b, _ := encodeJSON(v) // v was decoded from JSON, so it cannot fail
		return string(b)
	}
	switch as {
	case "":
		if n, ok := v.(json.Number); ok {
			if i, whole := new(big.Int).SetString(n.String(), 10); whole && i.CmpAbs(big.NewInt(maxExactInteger)) > 0 {
				return n.String(), nil
			}
		}
		return v, nil
	case "string":
		return written(), nil
	case "json":
		b, err := encodeJSON(v)
		return string(b), err
	case "boolean":
		switch written() {
		case "true", "1":
			return true, nil
		case "false", "0":
			return false, nil
		}
		return nil, fmt.Errorf("is not a boolean")
	}
	text := written()
	if as == "integer" {
		if i, ok := new(big.Int).SetString(text, 10); ok && len(text) < 100 {
			return json.Number(i.String()), nil
		}
		// 3.0 and 1e3 are integers too.
		if f, err := strconv.ParseFloat(text, 64); err == nil && f == float64(int64(f)) && f > -maxExactInteger && f < maxExactInteger {
			return json.Number(strconv.FormatInt(int64(f), 10)), nil
		}
		return nil, fmt.Errorf("is not an integer")
	}
	var n json.Number
	if err := json.Unmarshal([]byte(text), &n); err != nil || n == "" || text[0] == '"' {
		return nil, fmt.Errorf("is not a number")
	}
	return n, nil
}
