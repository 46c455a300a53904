package catalog

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// findOlderProblem returns why older clients cannot use an outputSchema, or "".
// The reference is the official JavaScript SDK 1.x with its validator (Ajv 8,
// JSON Schema draft-07, patterns with the flag u). Over a schema that the
// validator cannot compile, it throws, and the client loses the whole list of
// tools. The validator ignores keywords of later drafts. A schema is also
// unusable if it would then refuse values that fit.
func findOlderProblem(root map[string]any) string {
	c := olderCompiler{visited: map[string]bool{}, anchors: map[string]bool{}, patterns: newPatternChecker()}
	c.checkSchema(root, "", false)
	for _, ref := range c.refs {
		if c.problem != "" {
			break
		}
		pointer, ok := pointerFromReference(ref.target)
		switch {
		case ok && c.visited[pointer]:
			if ref.exact && !strings.HasPrefix(pointer, "/$defs/") && !strings.HasPrefix(pointer, "/definitions/") {
				c.failAt(ref.from, "it refers to %q at a place where the schema must be exact", clipText(ref.target))
			}
		case strings.HasPrefix(ref.target, "#") && c.anchors[ref.target[1:]] && !ref.exact:
		default:
			c.failAt(ref.from, "$ref %q does not lead to a schema in the document", clipText(ref.target))
		}
	}
	return c.problem
}

// olderCompiler walks a schema in the way of that validator, and keeps the
// first problem.
type olderCompiler struct {
	problem string
	visited map[string]bool // JSON pointers of all schemas
	anchors map[string]bool
	refs    []olderRef

	patterns *patternChecker
}

// olderRef is a $ref: the schema that has it, its text, and whether the schema
// must be read exactly.
type olderRef struct {
	from, target string
	exact        bool
}

// failAt notes a problem, unless there is one already.
func (c *olderCompiler) failAt(at, format string, args ...any) {
	if c.problem == "" {
		if at == "" {
			at = "its top"
		}
		c.problem = fmt.Sprintf("at %s, ", clipText(at)) + fmt.Sprintf(format, args...)
	}
}

// checkSchema checks one schema. exact means that the schema must not accept
// more values than it describes, as below not, if and oneOf: there, an ignored
// keyword changes which values fit the whole.
func (c *olderCompiler) checkSchema(doc any, at string, exact bool) {
	if c.problem != "" {
		return
	}
	c.visited[at] = true
	if _, ok := doc.(bool); ok {
		return
	}
	schema, ok := doc.(map[string]any)
	if !ok {
		c.failAt(at, "a schema is missing")
		return
	}
	for key, value := range schema {
		c.checkKeyword(schema, key, value, at+"/"+escapePointer(key), at, exact)
	}
}

// checkKeyword checks one keyword of a schema. at is the pointer of the
// keyword, parent that of the schema.
func (c *olderCompiler) checkKeyword(schema map[string]any, key string, value any, at, parent string, exact bool) {
	switch key {
	case "$id":
		if _, ok := value.(string); !ok || parent != "" {
			c.failAt(parent, "it has an $id")
		}
	case "id", "$async", "formatMinimum", "formatMaximum", "formatExclusiveMinimum", "formatExclusiveMaximum":
		c.failAt(parent, "it has the keyword %s", key)
	case "nullable":
		if allows, ok := value.(bool); !ok || schema["type"] == nil || !allows && slices.Contains(typeNames(schema["type"]), "null") {
			c.failAt(parent, "it has nullable without type")
		}
	case "$anchor", "$dynamicAnchor":
		name, ok := value.(string)
		if !ok || !c.patterns.anchor.MatchString(name) || c.anchors[name] {
			c.failAt(parent, "its %s is not a valid name, or is used twice", key)
		}
		c.anchors[name] = true
	case "$ref":
		to, ok := value.(string)
		if !ok {
			c.failAt(parent, "$ref is not a string")
		}
		c.refs = append(c.refs, olderRef{parent, to, exact})
	case "prefixItems", "unevaluatedProperties", "unevaluatedItems", "dependentSchemas", "dependentRequired", "maxContains", "minContains", "$dynamicRef", "$recursiveRef":
		c.checkLaterKeyword(schema, key, value, at, parent, exact)
	default:
		if !c.checkApplicator(key, value, at, exact || key == "not" || key == "if" || key == "oneOf" || key == "$defs" || key == "definitions") {
			c.checkAssertion(key, value, at)
		}
	}
}

// checkLaterKeyword checks a keyword that came after draft-07, which those
// clients ignore.
func (c *olderCompiler) checkLaterKeyword(schema map[string]any, key string, value any, at, parent string, exact bool) {
	switch {
	case exact:
		c.failAt(parent, "these clients do not support %s, and the schema must be exact there", key)
	case key == "prefixItems" && schema["items"] != nil:
		c.failAt(parent, "prefixItems with items has another meaning for these clients")
	case key == "minContains" && schema["contains"] != nil && fmt.Sprint(value) == "0":
		c.failAt(parent, "these clients do not support minContains 0")
	case containsIdentifier(value):
		c.failAt(at, "it has an $id or an anchor inside")
	}
}

// checkApplicator checks a keyword that holds schemas; it returns false for any
// other keyword.
func (c *olderCompiler) checkApplicator(key string, value any, at string, exact bool) bool {
	switch {
	case key == "dependencies":
		named, _ := value.(map[string]any)
		for name, of := range named {
			if _, list := of.([]any); !list {
				c.checkSchema(of, at+"/"+escapePointer(name), exact)
			}
		}
		if named == nil {
			c.failAt(at, "it is not an object of schemas")
		}
	case holdsSchemas(key):
		named, ok := value.(map[string]any)
		if !ok {
			c.failAt(at, "it is not an object of schemas")
		}
		for name, of := range named {
			if key == "patternProperties" && !c.patterns.validInUnicodeMode(name) {
				c.failAt(at, "the pattern %q is not valid in JavaScript's unicode mode", clipText(name))
			}
			c.checkSchema(of, at+"/"+escapePointer(name), exact)
		}
	case key == "allOf" || key == "anyOf" || key == "oneOf":
		list, ok := value.([]any)
		if !ok || len(list) == 0 {
			c.failAt(at, "it is not an array of schemas")
		}
		for i, of := range list {
			c.checkSchema(of, fmt.Sprintf("%s/%d", at, i), exact)
		}
	case key == "items":
		list, ok := value.([]any)
		if !ok {
			c.checkSchema(value, at, exact)
		}
		for i, of := range list {
			c.checkSchema(of, fmt.Sprintf("%s/%d", at, i), exact)
		}
	case holdsSchema(key):
		c.checkSchema(value, at, exact)
	default:
		return false
	}
	return true
}

// checkAssertion checks a keyword whose value is data.
func (c *olderCompiler) checkAssertion(key string, value any, at string) {
	ok := true
	switch key {
	case "type":
		names := typeNames(value)
		ok = len(names) > 0
		for _, name := range names {
			ok = ok && slices.Contains([]string{"null", "boolean", "number", "integer", "string", "array", "object"}, name)
		}
	case "enum":
		list, isList := value.([]any)
		ok = isList && len(list) > 0
	case "required":
		list, isList := value.([]any)
		ok = isList && !slices.ContainsFunc(list, func(one any) bool { _, is := one.(string); return !is })
	case "multipleOf": // in floating point, 1.1 is not a multiple of 0.1
		n, isNumber := value.(json.Number)
		ok = isNumber && !strings.ContainsAny(string(n), ".eE")
	case "maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum", "maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties":
		_, ok = value.(json.Number)
	case "uniqueItems":
		_, ok = value.(bool)
	case "format":
		_, ok = value.(string)
	case "pattern":
		text, isText := value.(string)
		if isText && !c.patterns.validInUnicodeMode(text) {
			c.failAt(at, "the pattern is not valid in JavaScript's unicode mode")
		}
		ok = isText
	case "const", "default", "examples", "title", "description", "$comment", "$schema":
	default: // the validator ignores the keyword, but still searches its value for names
		ok = !containsIdentifier(value)
	}
	if !ok {
		c.failAt(at, "these clients do not accept the value")
	}
}

// typeNames returns the names of the keyword type; nil if one is not a string.
func typeNames(value any) (names []string) {
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	for _, one := range list {
		name, ok := one.(string)
		if !ok {
			return nil
		}
		names = append(names, name)
	}
	return names
}

// containsIdentifier reports whether a value has an $id or an anchor at any
// depth.
func containsIdentifier(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		for key, of := range v {
			if key == "$id" || key == "$anchor" || key == "$dynamicAnchor" || containsIdentifier(of) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, containsIdentifier)
	}
	return false
}

// holdsSchemas reports whether the value of a keyword is a map of schemas.
func holdsSchemas(key string) bool {
	switch key {
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies":
		return true
	}
	return false
}

// holdsSchema reports whether the value of a keyword is a schema or a list of
// schemas.
func holdsSchema(key string) bool {
	switch key {
	case "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "items", "prefixItems", "additionalItems", "contains", "additionalProperties",
		"propertyNames", "unevaluatedProperties", "unevaluatedItems", "contentSchema":
		return true
	}
	return false
}

// pointerFromReference returns the JSON pointer of a reference into the same
// document.
func pointerFromReference(ref string) (string, bool) {
	fragment, ok := strings.CutPrefix(ref, "#")
	if !ok || fragment != "" && fragment[0] != '/' {
		return "", false
	}
	pointer, err := url.PathUnescape(fragment)
	return pointer, err == nil
}

// escapePointer escapes one token of a JSON pointer.
func escapePointer(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
