package tool

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/junctor-mcp/junctor/internal/apigen/call"
	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// fullLimits keep everything that a document usually says.
func fullLimits() schemaLimits { return schemaLimits{maxDepth: 12, maxText: 160, maxValues: 100} }

// limitLevels are tried in this order until a schema fits its budget.
// Descriptions and enums go first, then depth, then choices. setArgumentText
// and inputSchema refer to levels by their index.
func limitLevels() []schemaLimits {
	return []schemaLimits{
		fullLimits(),
		{maxDepth: 8, maxText: 100, maxValues: 60},
		{maxDepth: 6, maxText: 80, maxValues: 40, inlineCycles: true},
		{maxDepth: 4, maxText: 60, maxValues: 30, inlineCycles: true},
		{maxDepth: 3, maxText: 60, maxValues: 20, inlineCycles: true},
		{maxDepth: 2, maxText: 40, maxValues: 12, inlineCycles: true},
		{maxDepth: 1, maxText: 40, maxValues: 12, inlineCycles: true},
		{maxDepth: 2, maxText: 40, maxValues: 12, inlineCycles: true, joinObjects: true},
		{maxDepth: 1, maxValues: 12, inlineCycles: true, joinObjects: true},
		{maxDepth: 0, maxValues: 8, inlineCycles: true, joinObjects: true},
	}
}

// newCompiler returns a compiler for one input schema within limits.
func (b *builder) newCompiler(l schemaLimits) *compiler {
	return &compiler{meter: b.meter, schemas: b.doc.Schemas, cycles: b.cycles, textCache: b.texts, schemaLimits: l, maxNodes: maxToolBytes / 4}
}

// inputSchema returns the schema of a tool's arguments within a budget in
// bytes, and whether it says less than the document. If no level fits, it
// prunes optional parts; as the last resort it trims whole arguments. Parts
// that are no longer described are still accepted.
func (b *builder) inputSchema(a *argumentSet, budget int) (schema, bool) {
	for i, l := range limitLevels() {
		c := b.newCompiler(l)
		s := b.inputSchemaAt(a, c, i)
		if c.isOverLimit() {
			continue
		}
		// Levels 1 and 2 count as truncated only if the compiler left something
		// out; they may just have shortened texts. Stricter levels always do.
		if raw, err := json.Marshal(s); err == nil && len(raw) <= budget {
			return s, i > 0 && c.truncated || i > 2
		}
	}
	// Even the required parts are too much. The largest optional ones go.
	level := 7
	c := b.newCompiler(limitLevels()[level])
	c.maxNodes = 2 * maxToolBytes
	s := b.inputSchemaAt(a, c, level)
	if !c.isOverLimit() && pruneOptional(s, budget, b.meter) {
		return s, true
	}
	return trimArguments(s, a, budget, b.meter), true
}

// inputSchemaAt returns the schema within the limits of c. The root is an
// object without combinators, because clients refuse them there.
func (b *builder) inputSchemaAt(a *argumentSet, c *compiler, level int) schema {
	props := schema{}
	var required []string
	var fields schema
	if a.bodySchema != nil || a.body != nil {
		s := completeRequired(c.compileNode(a.bodySchema, 0))
		if a.body != nil && (bodyKind(a.body.Media) == kindForm || bodyKind(a.body.Media) == kindMultipart) && (s["anyOf"] != nil || s["properties"] == nil) {
			s = c.flattenForm(s)
		}
		fields, _ = s["properties"].(schema)
		for _, one := range a.arguments {
			if one.plan.Place == "body" {
				props[one.plan.Name] = b.wholeBodySchema(a, one, s, level)
			}
		}
	}
	for _, one := range a.arguments {
		name := one.plan.Name
		if one.required {
			required = append(required, name)
		}
		switch {
		case one.param != nil:
			s := completeRequired(maps.Clone(c.compileNode(one.param.Schema, 1)))
			setArgumentText(s, one.param.Description, level)
			if one.param.Deprecated {
				s["deprecated"] = true
			}
			props[name] = one.requireContent(s)
		case one.plan.Place == "field":
			s, _ := fields[one.plan.Key].(schema)
			if s == nil {
				s = schema{}
			}
			if one.isFile {
				s = fileSchema(s)
			}
			props[name] = one.requireContent(s)
		}
	}
	c.compileDefs()
	a.unresolvedRef = a.unresolvedRef || c.unresolvedRef
	out := schema{"type": "object", "properties": props, "additionalProperties": false}
	if len(required) > 0 {
		slices.Sort(required)
		out["required"] = required
	}
	if len(c.defs) > 0 {
		out["$defs"] = c.defs
	}
	return out
}

// requireContent requires at least one part of an object or array that must be
// given in a path, a query or a form: an empty one cannot be written there. It
// changes and returns s.
func (one argument) requireContent(s schema) schema {
	if !one.required && one.plan.Place != call.Path || one.plan.Media != "" || one.isFile || one.plan.Place == call.Field && one.plan.Style == "" || one.plan.Place == call.Variable {
		return s
	}
	switch s["type"] {
	case "object":
		if s["minProperties"] == nil && s["required"] == nil {
			s["minProperties"] = json.Number("1")
		}
	case "array":
		if s["minItems"] == nil || s["minItems"] == json.Number("0") {
			s["minItems"] = json.Number("1")
		}
	}
	return s
}

// wholeBodySchema returns the schema of a body that is one argument.
func (b *builder) wholeBodySchema(a *argumentSet, one argument, s schema, level int) schema {
	if one.isFile {
		return fileSchema(s)
	}
	if kind := bodyKind(a.body.Media); kind == kindText && !isJSONLines(a.body.Media) {
		s = schema{"type": "string"}
		setArgumentText(s, a.bodyText, level)
		if s["description"] == nil {
			s["description"] = "The body, as " + mediaType(a.body.Media) + "."
		}
		return s
	}
	s = maps.Clone(s)
	setArgumentText(s, a.bodyText, level)
	return s
}

// setArgumentText gives an argument its own description in place of that of its
// type. Strict levels shorten or remove it. Notes of the compiler on patterns
// and enums stay.
func setArgumentText(s schema, text string, level int) {
	limit := 160
	switch {
	case level >= 8:
		limit = 0
	case level >= 3:
		limit = 80
	}
	if limit == 0 {
		delete(s, "description")
		return
	}
	own := cleanText(firstParagraph(text), limit)
	had, _ := s["description"].(string)
	switch {
	case own != "" && strings.HasPrefix(had, "One of "), own != "" && strings.HasPrefix(had, "Pattern: "):
		s["description"] = own + " " + had
	case own != "":
		s["description"] = own
	case had != "":
		s["description"] = shortenText(had, limit)
	}
}

// fileSchema returns the schema of a file argument. call.Arg.decodeFile and
// apigen's fileFiller accept these forms.
func fileSchema(s schema) schema {
	text, _ := s["description"].(string)
	if s["type"] == "array" {
		out := schema{"type": "array", "items": fileSchema(schema{})}
		if text != "" {
			out["description"] = text
		}
		return out
	}
	return schema{
		"description": strings.TrimSpace(text + " A file: {filename, mimeType, data_base64}, {resource}, the URI of one that you can read, or its text."),
		"type":        []any{"object", "string"},
		"properties": schema{
			"filename": schema{"type": "string"}, "mimeType": schema{"type": "string"}, "data_base64": schema{"type": "string"}, "resource": schema{"type": "string"},
		},
	}
}

// trimArguments reduces optional arguments to their types, then required ones,
// then removes optional ones, until the schema fits. It allows additional
// properties, so that the API still gets arguments that are not described. It
// does not change s.
func trimArguments(s schema, a *argumentSet, budget int, meter *doc.Meter) schema {
	s = maps.Clone(s)
	props, _ := s["properties"].(schema)
	props = maps.Clone(props)
	s["properties"] = props
	delete(s, "$defs")
	delete(s, "additionalProperties")
	// The whole is measured once. After that only the parts that change are
	// measured, since there may be a thousand.
	size := jsonSize(s)
	meter.Spend(size / 16)
	change := func(name string, to schema) {
		was := jsonSize(schema{name: props[name]}) - 1
		if meter.Spend(was / 16); to == nil {
			delete(props, name)
			size -= was
			return
		}
		props[name] = to
		size += jsonSize(schema{name: to}) - 1 - was
	}
	for _, required := range []bool{false, true} {
		for _, one := range slices.Backward(a.arguments) {
			if size <= budget {
				return s
			}
			if one.required == required {
				if p, ok := props[one.plan.Name].(schema); ok {
					change(one.plan.Name, typesOnly(p))
				}
			}
		}
	}
	for _, one := range slices.Backward(a.arguments) {
		if size <= budget {
			return s
		}
		if _, there := props[one.plan.Name]; there && !one.required {
			change(one.plan.Name, nil)
		}
	}
	return s
}

// sortedKeys returns the keys of a map, sorted.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
