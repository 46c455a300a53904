package wire

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// ParamHeader is an argument that a tool wants mirrored in a header.
type ParamHeader struct {
	Header string   // whole, in canonical form: Mcp-Param-Region
	Path   []string // property names from the arguments down
	Type   string   // string, integer or boolean
}

// ParamHeaders collects the x-mcp-header annotations of a tool's input schema.
// An error means that one of them breaks the rules, which makes the whole tool
// invalid for HTTP: a name that is empty, no token or used twice, a type other
// than string, integer and boolean, or a place that is not reached through
// properties alone.
func ParamHeaders(inputSchema []byte) ([]ParamHeader, error) {
	if !bytes.Contains(inputSchema, []byte(headerAnnotation)) && !bytes.Contains(inputSchema, []byte(`\u`)) {
		return nil, nil // as nearly all: catalogs of thousands of tools are read at a start
	}
	var found []ParamHeader
	err := collectAnnotations(inputSchema, nil, true, 0, &found)
	if err != nil {
		return nil, err
	}
	return found, nil
}

const headerAnnotation = "x-mcp-header"

func collectAnnotations(schema []byte, path []string, reachable bool, depth int, found *[]ParamHeader) error {
	if len(schema) == 0 || schema[0] != '{' || depth > MaxDepth {
		return nil // true, false, or no schema at all
	}
	for rawKey, value := range Members(schema) {
		var err error
		switch key := Unescape(rawKey); key {
		case headerAnnotation:
			err = addAnnotation(schema, value, path, reachable, found)
		case "properties":
			for name, property := range Members(value) {
				below := append(slices.Clip(path), Unescape(name))
				if err = collectAnnotations(property, below, reachable, depth+1, found); err != nil {
					return err
				}
			}
		case "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions":
			for name, part := range Members(value) {
				below := append(slices.Clip(path), key, Unescape(name))
				if err = collectAnnotations(part, below, false, depth+1, found); err != nil {
					return err
				}
			}
		case "items", "prefixItems", "additionalItems", "contains", "unevaluatedItems",
			"additionalProperties", "propertyNames", "unevaluatedProperties", "contentSchema",
			"allOf", "anyOf", "oneOf", "not", "if", "then", "else":
			below := append(slices.Clip(path), key)
			if err = collectAnnotations(value, below, false, depth+1, found); err != nil {
				return err
			}
			for part := range Elements(value) {
				if err = collectAnnotations(part, below, false, depth+1, found); err != nil {
					return err
				}
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addAnnotation judges one annotation.
func addAnnotation(schema, value []byte, path []string, reachable bool, found *[]ParamHeader) error {
	where := strings.Join(path, ".")
	name, ok := String(value)
	switch {
	case !ok || !isToken(name):
		return fmt.Errorf("%s at %q must be the name of a header: letters, digits and !#$%%&'*+-.^_`|~", headerAnnotation, where)
	case !reachable || len(path) == 0:
		return fmt.Errorf("%s %q stands at %q, which is not reached through properties alone", headerAnnotation, name, where)
	}
	kind, _ := String(Get(schema, "type"))
	switch kind {
	case "string", "integer", "boolean":
	default:
		return fmt.Errorf("%s %q stands on %q, whose type is not string, integer or boolean", headerAnnotation, name, where)
	}
	header := http.CanonicalHeaderKey(HeaderParamPrefix + name)
	for _, other := range *found {
		if other.Header == header {
			return fmt.Errorf("%s %q is used for both %q and %q", headerAnnotation, name, strings.Join(other.Path, "."), where)
		}
	}
	*found = append(*found, ParamHeader{Header: header, Path: path, Type: kind})
	return nil
}

func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}

// CheckParamHeaders compares the Mcp-Param headers of a modern tools/call with
// its arguments: there and equal for each argument that is there, absent for
// each that is absent or null. It gives nil, or the CodeHeaderMismatch that names
// the header and both values.
func CheckParamHeaders(h http.Header, want []ParamHeader, arguments []byte) *Error {
	for i := range want {
		p := &want[i]
		value, ok, e := singleHeader(h, p.Header)
		if e != nil {
			return e
		}
		raw := p.findArgument(arguments)
		switch {
		case raw == nil && !ok:
			continue
		case raw == nil:
			return newMismatch("the header " + p.Header + " says " + quoteForMessage(value) + " and there is no argument " + p.quotePath())
		case !ok:
			return newMismatch("the header " + p.Header + " is missing; the argument " + p.quotePath() + " is " + quoteForMessage(string(raw)))
		}
		meant, err := DecodeHeader(value)
		if err != nil {
			return newMismatch("the header " + p.Header + " " + err.Error())
		}
		if !sameValue(meant, raw) {
			return newMismatch("the header " + p.Header + " says " + quoteForMessage(value) + " and the argument " + p.quotePath() + " is " + quoteForMessage(string(raw)))
		}
	}
	return nil
}

// SetParamHeaders sets the headers that mirror arguments, for a request that
// we send. An argument that no header can carry is left out.
func SetParamHeaders(h http.Header, want []ParamHeader, arguments []byte) {
	for i := range want {
		p := &want[i]
		raw := p.findArgument(arguments)
		if raw == nil {
			continue
		}
		switch raw[0] {
		case '"':
			s, _ := String(raw)
			h[p.Header] = []string{EncodeHeader(s)}
		case 't', 'f':
			h[p.Header] = []string{string(raw)}
		default:
			if n, ok := safeInteger(string(raw)); ok {
				h[p.Header] = []string{strconv.FormatInt(n, 10)}
			}
		}
	}
}

func (p *ParamHeader) quotePath() string { return strconv.Quote(strings.Join(p.Path, ".")) }

// findArgument finds the argument; nil when absent or null.
func (p *ParamHeader) findArgument(arguments []byte) []byte {
	raw := arguments
	for _, name := range p.Path {
		if raw = Get(raw, name); raw == nil {
			return nil
		}
	}
	if IsNull(raw) {
		return nil
	}
	return raw
}

// sameValue compares what a header means with an argument: strings and booleans
// as they are, integers as numbers. Other numbers, and integers that not every
// reader can hold exactly, equal nothing.
func sameValue(meant string, raw []byte) bool {
	switch raw[0] {
	case '"':
		return equalString(raw, meant)
	case 't', 'f':
		return string(raw) == meant
	case '{', '[':
		return false
	}
	body, ok := safeInteger(string(raw))
	if !ok {
		return false
	}
	header, ok := safeInteger(meant)
	return ok && header == body
}

// safeInteger reads a JSON number that has no fraction, however it is written
// (42, 42.0, 4.2e1), and is below 2^53 in size: exactly, not by way of a float.
func safeInteger(s string) (int64, bool) {
	var sc scanner
	sc.reset([]byte(s))
	if s == "" || s[0] != '-' && (s[0] < '0' || s[0] > '9') {
		return 0, false
	}
	if sc.scanNumber(); sc.err != nil || sc.i != len(s) {
		return 0, false
	}
	mantissa, exp := s, 0
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		n, err := strconv.Atoi(s[i+1:])
		if err != nil {
			return 0, false
		}
		mantissa, exp = s[:i], n
	}
	mantissa, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	exp -= len(fraction)
	all := strings.TrimLeft(whole+fraction, "0")
	trimmed := strings.TrimRight(all, "0")
	exp += len(all) - len(trimmed)
	if trimmed == "" {
		return 0, true
	}
	const most = 16 // digits of 2^53
	if exp < 0 || exp > most || len(trimmed)+exp > most {
		return 0, false
	}
	n, err := strconv.ParseInt(trimmed+strings.Repeat("0", exp), 10, 64)
	if err != nil || n >= 1<<53 {
		return 0, false
	}
	if negative {
		n = -n
	}
	return n, true
}
