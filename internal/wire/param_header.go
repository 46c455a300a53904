package wire

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// ParamHeader is an argument of a tool that clients must repeat in a header.
type ParamHeader struct {
	Header string   // full name in canonical form, such as Mcp-Param-Region
	Path   []string // property names from the arguments down
	Type   string   // string, integer or boolean
}

// ParamHeaders collects the x-mcp-header annotations of a tool's input schema. An error
// means that an annotation breaks the rules, which makes the whole tool invalid for HTTP:
//
//   - its name is empty, no token, or used twice
//   - its type is not string, integer or boolean
//   - its place is not reached through properties alone
func ParamHeaders(inputSchema []byte) ([]ParamHeader, error) {
	if !bytes.Contains(inputSchema, []byte(headerAnnotation)) && !bytes.Contains(inputSchema, []byte(`\u`)) {
		return nil, nil // nearly all tools; a quick answer matters when a catalog has thousands of them
	}
	var found []ParamHeader
	err := collectAnnotations(inputSchema, nil, true, 0, &found)
	if err != nil {
		return nil, err
	}
	return found, nil
}

// headerAnnotation is the schema keyword that maps a property to a header.
const headerAnnotation = "x-mcp-header"

// collectAnnotations walks a schema and adds its annotations to found. path is the place
// of the schema. reachable means that only properties lead there; annotations elsewhere
// are errors, because no single argument belongs to them.
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
		// Below these keywords an annotation belongs to no single argument. They are
		// still walked, so that a misplaced annotation is an error.
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
			// Some of these hold one schema, others a list of them.
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

// addAnnotation checks one annotation and adds it to found.
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

// isToken reports whether s is a token of HTTP, and so may be part of a header name.
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

// CheckParamHeaders compares the Mcp-Param headers of a modern tools/call with its
// arguments. Each header must be present and equal if its argument is present, and absent
// if its argument is absent or null. The result is nil or an error with
// CodeHeaderMismatch that names the header and both values.
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

// SetParamHeaders sets the headers that mirror arguments, for a request that we send. It
// leaves out arguments that no header can carry.
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

// quotePath returns the path of the argument for messages.
func (p *ParamHeader) quotePath() string { return strconv.Quote(strings.Join(p.Path, ".")) }

// findArgument returns the raw argument, or nil if it is absent or null.
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

// sameValue compares the decoded value of a header with an argument: strings and booleans
// by their text, integers by their value. Other numbers, and integers that some readers
// cannot hold exactly, equal nothing.
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

// safeInteger reads a JSON number without fraction, however it is written (42, 42.0,
// 4.2e1), with an absolute value below 2^53. It does not use floating point, which would
// round.
func safeInteger(s string) (int64, bool) {
	var sc scanner
	sc.reset([]byte(s))
	if s == "" || s[0] != '-' && (s[0] < '0' || s[0] > '9') {
		return 0, false
	}
	if sc.scanNumber(); sc.err != nil || sc.i != len(s) {
		return 0, false
	}
	// Split the number into digits and a power of ten: 4.20e1 is 42 and 0.
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
	// A negative power leaves a fraction. Refuse long numbers before they are
	// written out: 1e999999 is short.
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
