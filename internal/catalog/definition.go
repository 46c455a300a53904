package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/junctor-mcp/junctor/internal/wire"
)

// A client reads a list as a whole. One member of the wrong type in one definition
// makes the typed clients of the official SDKs refuse all tools of all servers. So
// every definition is checked against the specification before it is listed. A
// member that breaks the specification is removed. A tool that cannot be called
// without the member is left out.

// memberRule reports whether the value of a member has the type that the
// specification requires.
type memberRule func(value []byte) bool

// memberRules returns the rule of a member by its name; nil if it has none.
type memberRules func(key string) memberRule

// toolRule returns the rule of an optional member of a tool that clients check.
// Members without a rule pass as they are.
func toolRule(key string) memberRule {
	switch key {
	case "title", "description":
		return isString
	case "icons":
		return isIcons
	case "annotations":
		return isToolAnnotations
	case "execution":
		return isExecution
	case "_meta":
		return isObject
	case "outputSchema":
		return isOutputSchema
	}
	return nil
}

// promptRule is toolRule for prompts.
func promptRule(key string) memberRule {
	switch key {
	case "title", "description":
		return isString
	case "icons":
		return isIcons
	case "arguments":
		return isPromptArguments
	case "_meta":
		return isObject
	}
	return nil
}

// resourceRule is toolRule for resources and resource templates.
func resourceRule(key string) memberRule {
	switch key {
	case "title", "description", "mimeType":
		return isString
	case "size":
		return isNumber
	case "icons":
		return isIcons
	case "annotations":
		return isContentAnnotations
	case "_meta":
		return isObject
	}
	return nil
}

// brokenMembers returns the names of the members that break their rule.
func brokenMembers(def []byte, rules memberRules) (broken []string) {
	for raw, value := range wire.Members(def) {
		key := wire.Unescape(raw)
		if rule := rules(key); rule != nil && !rule(value) {
			broken = append(broken, key)
		}
	}
	return broken
}

// correctTool returns a tool's definition in a form that follows the
// specification, with a description of each change. The error says why the tool
// cannot be listed at all.
func correctTool(def []byte) (corrected []byte, changes []string, err error) {
	broken := brokenMembers(def, toolRule)
	for _, key := range broken {
		changes = append(changes, key+" does not have the type that the specification requires, and was removed")
	}
	var add []wire.Member
	input := wire.Get(def, "inputSchema")
	switch {
	case input == nil || wire.IsNull(input):
		changes = append(changes, `inputSchema is missing, and was set to {"type":"object"}`)
		add = append(add, wire.Member{Key: "inputSchema", Value: []byte(`{"type":"object"}`)})
	case input[0] != '{':
		return nil, nil, fmt.Errorf("its inputSchema is not an object")
	default:
		fixed, change, err := correctInput(input)
		if err != nil {
			return nil, nil, err
		}
		if change != "" {
			changes = append(changes, change)
			add = append(add, wire.Member{Key: "inputSchema", Value: fixed})
		}
	}
	if len(changes) == 0 {
		return def, nil, nil
	}
	return wire.AppendObject(nil, def, broken, add...), changes, nil
}

// correctInput makes sure that the type of an input schema is "object", since
// the arguments of a call always are one. A schema of another type is an error:
// no call could satisfy it.
func correctInput(schema []byte) (fixed []byte, change string, err error) {
	var drop []string
	if dialect := wire.Get(schema, "$schema"); dialect != nil && !isString(dialect) {
		drop, change = []string{"$schema"}, "inputSchema.$schema is not a string, and was removed"
	}
	kind := wire.Get(schema, "type")
	name, isName := wire.String(kind)
	switch {
	case isName && name == "object":
		if drop == nil {
			return schema, "", nil
		}
		return wire.AppendObject(nil, schema, drop), change, nil
	case kind == nil || wire.IsNull(kind) || kind[0] == '[' && containsType(kind, "object"):
		change = strings.TrimPrefix(change+`; inputSchema.type was set to "object", which the specification requires`, "; ")
		return wire.AppendObject(nil, schema, drop, stringMember("type", "object")), change, nil
	}
	return nil, "", fmt.Errorf("its inputSchema has the type %s; the specification requires \"object\"", clipText(string(kind)))
}

// containsType reports whether a list of type names has one.
func containsType(list []byte, want string) bool {
	for raw := range wire.Elements(list) {
		if name, _ := wire.String(raw); name == want {
			return true
		}
	}
	return false
}

// correctItem is correctTool for prompts, resources and templates, which have
// no schemas. A missing name is replaced by the given one.
func correctItem(def []byte, rules memberRules, name string) (corrected []byte, changed bool) {
	broken := brokenMembers(def, rules)
	var add []wire.Member
	if !isString(wire.Get(def, "name")) {
		add = append(add, stringMember("name", name))
	}
	if len(broken) == 0 && add == nil {
		return def, false
	}
	return wire.AppendObject(nil, def, broken, add...), true
}

// The functions below judge a JSON value by its first byte: wire has validated the
// text, so the rest follows.

func isString(v []byte) bool { return len(v) > 0 && v[0] == '"' }
func isObject(v []byte) bool { return len(v) > 0 && v[0] == '{' }
func isArray(v []byte) bool  { return len(v) > 0 && v[0] == '[' }
func isNumber(v []byte) bool { return len(v) > 0 && (v[0] == '-' || v[0] >= '0' && v[0] <= '9') }
func isBool(v []byte) bool   { return string(v) == "true" || string(v) == "false" }

// isArrayOf reports whether a value is an array whose elements all satisfy a
// rule.
func isArrayOf(v []byte, fits memberRule) bool {
	if !isArray(v) {
		return false
	}
	for element := range wire.Elements(v) {
		if !fits(element) {
			return false
		}
	}
	return true
}

// isObjectOf reports whether a value is an object whose members satisfy their
// rules.
func isObjectOf(v []byte, rules memberRules) bool {
	return isObject(v) && len(brokenMembers(v, rules)) == 0
}

// isOneOf returns the rule of a member that must be one of some names.
func isOneOf(names ...string) memberRule {
	return func(v []byte) bool {
		name, ok := wire.String(v)
		return ok && slices.Contains(names, name)
	}
}

// isStrings reports whether a value is an array of strings.
func isStrings(v []byte) bool { return isArrayOf(v, isString) }

// isIcons reports whether a value is an array of MCP Icon objects.
func isIcons(v []byte) bool {
	return isArrayOf(v, func(icon []byte) bool { return isString(wire.Get(icon, "src")) && isObjectOf(icon, iconRule) })
}

// iconRule is the rule of an optional member of an icon.
func iconRule(key string) memberRule {
	switch key {
	case "mimeType":
		return isString
	case "sizes":
		return isStrings
	case "theme":
		return isOneOf("light", "dark")
	}
	return nil
}

// isToolAnnotations reports whether a value is an MCP ToolAnnotations object.
func isToolAnnotations(v []byte) bool {
	return isObjectOf(v, func(key string) memberRule {
		switch key {
		case "title":
			return isString
		case "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint":
			return isBool
		}
		return nil
	})
}

// isExecution reports whether a value is the member execution of a tool.
func isExecution(v []byte) bool {
	return isObjectOf(v, func(key string) memberRule {
		if key == "taskSupport" {
			return isOneOf("required", "optional", "forbidden")
		}
		return nil
	})
}

// isOutputSchema checks only what clients check when they read the list.
// Whether the schema can be compiled is another question: see older_schema.go.
func isOutputSchema(v []byte) bool {
	return isObjectOf(v, func(key string) memberRule {
		if key == "$schema" {
			return isString
		}
		return nil
	})
}

// isPromptArguments reports whether a value is an array of MCP PromptArgument
// objects.
func isPromptArguments(v []byte) bool {
	return isArrayOf(v, func(argument []byte) bool {
		return isString(wire.Get(argument, "name")) && isObjectOf(argument, func(key string) memberRule {
			switch key {
			case "title", "description":
				return isString
			case "required":
				return isBool
			}
			return nil
		})
	})
}

// isContentAnnotations reports whether a value is an MCP Annotations object, as
// resources have it.
func isContentAnnotations(v []byte) bool {
	return isObjectOf(v, func(key string) memberRule {
		switch key {
		case "audience":
			return func(v []byte) bool { return isArrayOf(v, isOneOf("user", "assistant")) }
		case "priority":
			return isNumber
		case "lastModified":
			return isString
		}
		return nil
	})
}
