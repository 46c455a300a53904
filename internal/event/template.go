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
// A placeholder that is a whole text keeps the type of what it stands for, or
// gets the one behind the bar: string, integer, number, boolean or json, which is
// the value written as a text. Inside a longer text it is written out. One with a
// question mark may be absent: as a whole text its member or element is left out,
// elsewhere nothing is written. {{'any text'}} is the text itself.
//
// A whole number that not every reader of JSON can keep, beyond 2^53, goes out as
// a text unless a type is asked for.
type Template struct {
	root any // as decoded, with text in the place of strings that have placeholders
}

// text is a string with placeholders.
type text struct {
	parts []part
	where string // JSON pointer, for messages
}

// part is a piece of plain text, or a placeholder.
type part struct {
	literal  string
	places   []path // nil for plain text
	name     string // as written
	as       string // the type that is asked for
	optional bool
}

const (
	maxTemplate = 256 << 10
	maxDepth    = 64
)

// ParseTemplate reads a template, and refuses one that could never be filled in.
// A template that is absent makes an empty object; it must be an object.
func ParseTemplate(source json.RawMessage) (*Template, error) { return parseTemplate(source, false) }

// ParseLenient reads the template of a job that another system made: whatever its
// event does not have is left out, instead of being an error when it is filled in.
func ParseLenient(source json.RawMessage) (*Template, error) { return parseTemplate(source, true) }

func parseTemplate(source json.RawMessage, lenient bool) (*Template, error) {
	if len(bytes.TrimSpace(source)) == 0 {
		return &Template{root: map[string]any{}}, nil
	}
	if len(source) > maxTemplate {
		return nil, junctor.Errorf(junctor.CodeTooLarge, "the template is longer than %d bytes", maxTemplate)
	}
	var check any // duplicate members and the like, which the decoder below lets pass
	if err := strict.Unmarshal(source, &check); err != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "the template is no JSON: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(source))
	dec.UseNumber()
	var root any
	if err := dec.Decode(&root); err != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "the template is no JSON: %w", err)
	}
	if _, ok := root.(map[string]any); !ok {
		return nil, junctor.Errorf(junctor.CodeInvalid, "the template must be an object: the arguments of a tool are one")
	}
	root, err := compile(root, "", lenient, 0)
	if err != nil {
		return nil, err
	}
	return &Template{root}, nil
}

func compile(v any, where string, lenient bool, depth int) (any, error) {
	if depth > maxDepth {
		return nil, junctor.Errorf(junctor.CodeInvalid, "the template is nested more than %d deep", maxDepth)
	}
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			if strings.Contains(name, "{{") {
				return nil, junctor.Errorf(junctor.CodeInvalid, "the template has a placeholder in the name of a member, at %s: only texts may have them", where+"/"+clip(name))
			}
			made, err := compile(inner, where+"/"+pointer(name), lenient, depth+1)
			if err != nil {
				return nil, err
			}
			v[name] = made
		}
		return v, nil
	case []any:
		for i, inner := range v {
			made, err := compile(inner, where+"/"+strconv.Itoa(i), lenient, depth+1)
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
		if len(parts) == 1 && parts[0].places == nil {
			return parts[0].literal, nil
		}
		return text{parts, where}, nil
	}
	return v, nil
}

func pointer(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// parseText splits a string at its placeholders.
func parseText(s string, lenient bool) (parts []part, err error) {
	add := func(literal string) {
		if literal == "" {
			return
		}
		if n := len(parts); n > 0 && parts[n-1].places == nil {
			parts[n-1].literal += literal
			return
		}
		parts = append(parts, part{literal: literal})
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
				return nil, junctor.Errorf(junctor.CodeInvalid, "a text in a placeholder is not closed: write {{'text'}}")
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

func parsePlaceholder(inner string, lenient bool) (part, error) {
	name, as, typed := strings.Cut(inner, "|")
	p := part{name: strings.TrimSpace(name), as: strings.TrimSpace(as)}
	p.name, p.optional = cutOptional(p.name)
	var late bool
	if p.as, late = cutOptional(p.as); late {
		p.optional = true
	}
	if typed && !slices.Contains([]string{"string", "integer", "number", "boolean", "json"}, p.as) {
		return p, junctor.Errorf(junctor.CodeInvalid, "{{%s}} asks for the type %q: use string, integer, number, boolean or json", clip(inner), clip(p.as))
	}
	var err error
	p.places, err = parsePath(p.name)
	if lenient {
		p.optional = true
		if err != nil { // a name of the data, as those systems write it
			p.places, err = parsePath("data." + strings.TrimPrefix(p.name, "event."))
		}
	}
	return p, err
}

func cutOptional(s string) (string, bool) {
	rest, ok := strings.CutSuffix(s, "?")
	return strings.TrimSpace(rest), ok
}

// absent stands for a text that is left out.
type absent struct{}

// Fill makes the arguments from an event.
func (t *Template) Fill(e *junctor.Event) (json.RawMessage, error) {
	v, err := see(e)
	if err != nil {
		return nil, err
	}
	made, err := fill(t.root, v)
	if err != nil {
		return nil, err
	}
	return encode(made)
}

func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "what the template makes is no JSON: %w", err)
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

func fill(node any, v *view) (any, error) {
	switch node := node.(type) {
	case map[string]any:
		out := make(map[string]any, len(node))
		for name, inner := range node {
			made, err := fill(inner, v)
			if err != nil {
				return nil, err
			}
			if _, gone := made.(absent); !gone {
				out[name] = made
			}
		}
		return out, nil
	case []any:
		out := make([]any, 0, len(node))
		for _, inner := range node {
			made, err := fill(inner, v)
			if err != nil {
				return nil, err
			}
			if _, gone := made.(absent); !gone {
				out = append(out, made)
			}
		}
		return out, nil
	case text:
		return node.fill(v)
	}
	return node, nil
}

func (t text) fill(v *view) (any, error) {
	if len(t.parts) == 1 {
		return t.parts[0].value(v, t.where)
	}
	return t.write(v)
}

// write gives the whole as a text, with what its placeholders stand for written out.
func (t text) write(v *view) (string, error) {
	var b strings.Builder
	for _, p := range t.parts {
		if p.places == nil {
			b.WriteString(p.literal)
			continue
		}
		found, err := p.value(v, t.where)
		if err != nil {
			return "", err
		}
		switch found := found.(type) {
		case absent:
		case string:
			b.WriteString(found)
		default:
			written, err := encode(found)
			if err != nil {
				return "", err
			}
			b.Write(written)
		}
	}
	return b.String(), nil
}

// value is what the placeholder stands for, in the type that was asked for.
func (p *part) value(v *view, where string) (any, error) {
	found, ok := v.find(p.places)
	if !ok {
		if p.optional {
			return absent{}, nil
		}
		return nil, junctor.Errorf(junctor.CodeInvalid, "template at %s: the event %s has no %s; write {{%s?}} where it may be absent", where, v.event.ID, p.name, p.name)
	}
	if !v.take(found) {
		return nil, junctor.Errorf(junctor.CodeTooLarge, "template at %s: what the placeholders stand for has more than %d bytes in all; name parts of the event, or fewer placeholders", where, maxFilled)
	}
	made, err := convert(found, p.as)
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "template at %s: %s %s", where, p.name, err.Error())
	}
	return made, nil
}

// exact is the largest whole number up to which every reader of JSON knows all.
const exact = 1 << 53

func convert(v any, as string) (any, error) {
	written := func() string {
		switch v := v.(type) {
		case string:
			return v
		case json.Number:
			return v.String()
		}
		b, _ := encode(v) // it was read from JSON
		return string(b)
	}
	switch as {
	case "":
		if n, ok := v.(json.Number); ok {
			if i, whole := new(big.Int).SetString(n.String(), 10); whole && i.CmpAbs(big.NewInt(exact)) > 0 {
				return n.String(), nil
			}
		}
		return v, nil
	case "string":
		return written(), nil
	case "json":
		b, err := encode(v)
		return string(b), err
	case "boolean":
		switch written() {
		case "true", "1":
			return true, nil
		case "false", "0":
			return false, nil
		}
		return nil, fmt.Errorf("is no boolean")
	}
	text := written()
	if as == "integer" {
		if i, ok := new(big.Int).SetString(text, 10); ok && len(text) < 100 {
			return json.Number(i.String()), nil
		}
		// 3.0 and 1e3 are whole numbers too.
		if f, err := strconv.ParseFloat(text, 64); err == nil && f == float64(int64(f)) && f > -exact && f < exact {
			return json.Number(strconv.FormatInt(int64(f), 10)), nil
		}
		return nil, fmt.Errorf("is no whole number")
	}
	var n json.Number
	if err := json.Unmarshal([]byte(text), &n); err != nil || n == "" || text[0] == '"' {
		return nil, fmt.Errorf("is no number")
	}
	return n, nil
}
