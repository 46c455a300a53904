package catalog

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// compilableByOlder says why clients of older protocol versions cannot use an
// outputSchema, or "". The measure is the official JavaScript SDK 1.x, whose
// validator (Ajv 8, JSON Schema draft-07, patterns with the flag u) throws over
// what it does not know how to compile, and so over the whole list of tools. It
// ignores keywords of later drafts: where that would make it refuse values that
// fit, the schema is of no use either.
func compilableByOlder(root map[string]any) string {
	c := olderCompiler{visited: map[string]bool{}, anchors: map[string]bool{}, patterns: newPatternReader()}
	c.schema(root, "", false)
	for _, ref := range c.refs {
		if c.why != "" {
			break
		}
		pointer, ok := pointerOf(ref.to)
		switch {
		case ok && c.visited[pointer]:
			if ref.exact && !strings.HasPrefix(pointer, "/$defs/") && !strings.HasPrefix(pointer, "/definitions/") {
				c.fail(ref.at, "it refers to %q from where the schema must be read exactly", clip(ref.to))
			}
		case strings.HasPrefix(ref.to, "#") && c.anchors[ref.to[1:]] && !ref.exact:
		default:
			c.fail(ref.at, "$ref %q does not lead to a schema in the document", clip(ref.to))
		}
	}
	return c.why
}

// olderCompiler walks a schema as that validator does.
type olderCompiler struct {
	why     string
	visited map[string]bool // pointers of schemas
	anchors map[string]bool
	refs    []olderRef

	patterns *patternReader
}

type olderRef struct {
	at, to string
	exact  bool
}

func (c *olderCompiler) fail(at, format string, args ...any) {
	if c.why == "" {
		if at == "" {
			at = "its top"
		}
		c.why = fmt.Sprintf("at %s, ", clip(at)) + fmt.Sprintf(format, args...)
	}
}

// schema takes one schema. exact says that it must not accept more than it says,
// as below not, if and oneOf: there an ignored keyword changes what fits.
func (c *olderCompiler) schema(doc any, at string, exact bool) {
	if c.why != "" {
		return
	}
	c.visited[at] = true
	if _, ok := doc.(bool); ok {
		return
	}
	schema, ok := doc.(map[string]any)
	if !ok {
		c.fail(at, "there is no schema where one belongs")
		return
	}
	for key, value := range schema {
		c.keyword(schema, key, value, at+"/"+escapePointer(key), at, exact)
	}
}

func (c *olderCompiler) keyword(schema map[string]any, key string, value any, at, parent string, exact bool) {
	switch key {
	case "$id":
		if _, ok := value.(string); !ok || parent != "" {
			c.fail(parent, "it has an $id")
		}
	case "id", "$async", "formatMinimum", "formatMaximum", "formatExclusiveMinimum", "formatExclusiveMaximum":
		c.fail(parent, "it has the keyword %s", key)
	case "nullable":
		if allows, ok := value.(bool); !ok || schema["type"] == nil || !allows && slices.Contains(typeNames(schema["type"]), "null") {
			c.fail(parent, "it has nullable without a type that it could belong to")
		}
	case "$anchor", "$dynamicAnchor":
		name, ok := value.(string)
		if !ok || !c.patterns.anchor.MatchString(name) || c.anchors[name] {
			c.fail(parent, "it has an %s that is no name, or another's", key)
		}
		c.anchors[name] = true
	case "$ref":
		to, ok := value.(string)
		if !ok {
			c.fail(parent, "$ref is not a string")
		}
		c.refs = append(c.refs, olderRef{parent, to, exact})
	case "prefixItems", "unevaluatedProperties", "unevaluatedItems", "dependentSchemas", "dependentRequired", "maxContains", "minContains", "$dynamicRef", "$recursiveRef":
		c.later(schema, key, value, at, parent, exact)
	default:
		if !c.applicator(key, value, at, exact || key == "not" || key == "if" || key == "oneOf" || key == "$defs" || key == "definitions") {
			c.assertion(key, value, at)
		}
	}
}

// later takes a keyword that came after draft-07.
func (c *olderCompiler) later(schema map[string]any, key string, value any, at, parent string, exact bool) {
	switch {
	case exact:
		c.fail(parent, "%s is not known to those clients, and the schema must be read exactly there", key)
	case key == "prefixItems" && schema["items"] != nil:
		c.fail(parent, "prefixItems with items means something else to those clients")
	case key == "minContains" && schema["contains"] != nil && fmt.Sprint(value) == "0":
		c.fail(parent, "minContains 0 is not known to those clients")
	case identifies(value):
		c.fail(at, "it has an $id or an anchor inside")
	}
}

// applicator takes a keyword that holds schemas; false where it is none.
func (c *olderCompiler) applicator(key string, value any, at string, exact bool) bool {
	switch {
	case key == "dependencies":
		named, _ := value.(map[string]any)
		for name, of := range named {
			if _, list := of.([]any); !list {
				c.schema(of, at+"/"+escapePointer(name), exact)
			}
		}
		if named == nil {
			c.fail(at, "it is no map of schemas")
		}
	case holdsSchemas(key):
		named, ok := value.(map[string]any)
		if !ok {
			c.fail(at, "it is no map of schemas")
		}
		for name, of := range named {
			if key == "patternProperties" && !c.patterns.validInUnicodeMode(name) {
				c.fail(at, "the pattern %q is not valid in JavaScript's unicode mode", clip(name))
			}
			c.schema(of, at+"/"+escapePointer(name), exact)
		}
	case key == "allOf" || key == "anyOf" || key == "oneOf":
		list, ok := value.([]any)
		if !ok || len(list) == 0 {
			c.fail(at, "it is no list of schemas")
		}
		for i, of := range list {
			c.schema(of, fmt.Sprintf("%s/%d", at, i), exact)
		}
	case key == "items":
		list, ok := value.([]any)
		if !ok {
			c.schema(value, at, exact)
		}
		for i, of := range list {
			c.schema(of, fmt.Sprintf("%s/%d", at, i), exact)
		}
	case holdsSchema(key):
		c.schema(value, at, exact)
	default:
		return false
	}
	return true
}

// assertion takes a keyword whose value is data.
func (c *olderCompiler) assertion(key string, value any, at string) {
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
	case "multipleOf": // 1.1 is no multiple of 0.1 in floating point
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
			c.fail(at, "the pattern is not valid in JavaScript's unicode mode")
		}
		ok = isText
	case "const", "default", "examples", "title", "description", "$comment", "$schema":
	default: // a keyword that is ignored, and still searched for names
		ok = !identifies(value)
	}
	if !ok {
		c.fail(at, "the value is not one that those clients take")
	}
}

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

// identifies says whether there is a name for a schema somewhere in a value.
func identifies(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		for key, of := range v {
			if key == "$id" || key == "$anchor" || key == "$dynamicAnchor" || identifies(of) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, identifies)
	}
	return false
}

// holdsSchemas says whether a keyword's value is a map of schemas.
func holdsSchemas(key string) bool {
	switch key {
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies":
		return true
	}
	return false
}

// holdsSchema says whether a keyword's value is a schema, or a list of them.
func holdsSchema(key string) bool {
	switch key {
	case "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "items", "prefixItems", "additionalItems", "contains", "additionalProperties",
		"propertyNames", "unevaluatedProperties", "unevaluatedItems", "contentSchema":
		return true
	}
	return false
}

// pointerOf is the JSON pointer of a reference into the same document.
func pointerOf(ref string) (string, bool) {
	fragment, ok := strings.CutPrefix(ref, "#")
	if !ok || fragment != "" && fragment[0] != '/' {
		return "", false
	}
	pointer, err := url.PathUnescape(fragment)
	return pointer, err == nil
}

func escapePointer(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
