package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/junctor-mcp/junctor/internal/wire"
)

// A client reads a list as a whole: one member of the wrong type in one
// definition makes the typed clients of the official SDKs refuse all tools of all
// servers. So every definition is held to the specification before it is listed.
// A member that breaks it is taken out; a tool that cannot be called without the
// member is left out.

// memberRule says whether the value of a member is of the specification's type.
type memberRule func(value []byte) bool

// memberRules gives the rule of a member by its name; nil where there is none.
type memberRules func(key string) memberRule

// toolRule, promptRule and resourceRule are the rules of the optional members of a
// definition that clients check. Members that are not named pass as they are.
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

// brokenMembers names the members of a definition that break their rule.
func brokenMembers(def []byte, rules memberRules) (broken []string) {
	for raw, value := range wire.Members(def) {
		key := wire.Unescape(raw)
		if rule := rules(key); rule != nil && !rule(value) {
			broken = append(broken, key)
		}
	}
	return broken
}

// correctTool gives a tool's definition as the specification wants it, with what
// had to be changed. The error says why the tool cannot be listed at all.
func correctTool(def []byte) (corrected []byte, changes []string, err error) {
	broken := brokenMembers(def, toolRule)
	for _, key := range broken {
		changes = append(changes, key+" is not of the type that the specification has for it, and was taken out")
	}
	var add []wire.Member
	input := wire.Get(def, "inputSchema")
	switch {
	case input == nil || wire.IsNull(input):
		changes = append(changes, `inputSchema is missing: {"type":"object"} was put in its place`)
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

// correctInput sees to an input schema's type, which must be object: the
// arguments of a call always are one.
func correctInput(schema []byte) (fixed []byte, change string, err error) {
	var drop []string
	if dialect := wire.Get(schema, "$schema"); dialect != nil && !isString(dialect) {
		drop, change = []string{"$schema"}, "inputSchema.$schema is not a string, and was taken out"
	}
	kind := wire.Get(schema, "type")
	name, isName := wire.String(kind)
	switch {
	case isName && name == "object":
		if drop == nil {
			return schema, "", nil
		}
		return wire.AppendObject(nil, schema, drop), change, nil
	case kind == nil || wire.IsNull(kind) || kind[0] == '[' && namesType(kind, "object"):
		change = strings.TrimPrefix(change+`; inputSchema.type was set to "object", which the specification requires`, "; ")
		return wire.AppendObject(nil, schema, drop, member("type", "object")), change, nil
	}
	return nil, "", fmt.Errorf("its inputSchema has the type %s; the specification requires \"object\"", clip(string(kind)))
}

func namesType(list []byte, want string) bool {
	for raw := range wire.Elements(list) {
		if name, _ := wire.String(raw); name == want {
			return true
		}
	}
	return false
}

// correctItem is correctTool for prompts, resources and templates, which have no
// schemas. A resource without a name is named by its address.
func correctItem(def []byte, rules memberRules, name string) (corrected []byte, changed bool) {
	broken := brokenMembers(def, rules)
	var add []wire.Member
	if !isString(wire.Get(def, "name")) {
		add = append(add, member("name", name))
	}
	if len(broken) == 0 && add == nil {
		return def, false
	}
	return wire.AppendObject(nil, def, broken, add...), true
}

func isString(v []byte) bool { return len(v) > 0 && v[0] == '"' }
func isObject(v []byte) bool { return len(v) > 0 && v[0] == '{' }
func isArray(v []byte) bool  { return len(v) > 0 && v[0] == '[' }
func isNumber(v []byte) bool { return len(v) > 0 && (v[0] == '-' || v[0] >= '0' && v[0] <= '9') }
func isBool(v []byte) bool   { return string(v) == "true" || string(v) == "false" }

// each says whether a value is an array whose elements all fit.
func each(v []byte, fits memberRule) bool {
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

// has says whether a value is an object whose members, where they have a rule, fit.
func has(v []byte, rules memberRules) bool { return isObject(v) && len(brokenMembers(v, rules)) == 0 }

// oneOf is the rule of a member that is one of some names.
func oneOf(names ...string) memberRule {
	return func(v []byte) bool {
		name, ok := wire.String(v)
		return ok && slices.Contains(names, name)
	}
}

func isStrings(v []byte) bool { return each(v, isString) }

func isIcons(v []byte) bool {
	return each(v, func(icon []byte) bool { return isString(wire.Get(icon, "src")) && has(icon, iconRule) })
}

func iconRule(key string) memberRule {
	switch key {
	case "mimeType":
		return isString
	case "sizes":
		return isStrings
	case "theme":
		return oneOf("light", "dark")
	}
	return nil
}

func isToolAnnotations(v []byte) bool {
	return has(v, func(key string) memberRule {
		switch key {
		case "title":
			return isString
		case "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint":
			return isBool
		}
		return nil
	})
}

func isExecution(v []byte) bool {
	return has(v, func(key string) memberRule {
		if key == "taskSupport" {
			return oneOf("required", "optional", "forbidden")
		}
		return nil
	})
}

func isOutputSchema(v []byte) bool {
	return has(v, func(key string) memberRule {
		if key == "$schema" {
			return isString
		}
		return nil
	})
}

func isPromptArguments(v []byte) bool {
	return each(v, func(argument []byte) bool {
		return isString(wire.Get(argument, "name")) && has(argument, func(key string) memberRule {
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

func isContentAnnotations(v []byte) bool {
	return has(v, func(key string) memberRule {
		switch key {
		case "audience":
			return func(v []byte) bool { return each(v, oneOf("user", "assistant")) }
		case "priority":
			return isNumber
		case "lastModified":
			return isString
		}
		return nil
	})
}
