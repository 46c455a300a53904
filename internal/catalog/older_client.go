package catalog

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/junctor-mcp/junctor/internal/wire"
)

// An older client speaks a protocol version before 2026-07-28. In those versions a
// tool's outputSchema, and the output itself, must be an object. The official
// JavaScript SDK 1.x compiles every outputSchema when it reads the list, and refuses
// the whole list over one tool that breaks the rule. So older clients are shown a
// definition that they can read. An output of another type is put into an object
// under "result", as the official SDKs of 2026-07-28 do for such clients. An
// outputSchema that they cannot compile is removed.

// wrapKey is the member of structuredContent that holds an output of another
// type than object, for older clients.
const wrapKey = "result"

// olderForm is a tool as older clients are shown it.
type olderForm struct {
	json    []byte   // the definition
	wrapped bool     // results have their structuredContent under wrapKey
	changes []string // differences from the server's definition; nil if there are none
}

// formForOlder makes that form of a definition that correctTool has corrected.
func formForOlder(def []byte) olderForm {
	var drop []string
	var add []wire.Member
	form := olderForm{json: def}
	if input, change := objectSchemaForOlder(wire.Get(def, "inputSchema")); change != "" {
		form.changes = append(form.changes, "inputSchema: "+change)
		add = append(add, wire.Member{Key: "inputSchema", Value: input})
	}
	if output := wire.Get(def, "outputSchema"); output != nil {
		schema, wrapped, change, err := outputForOlder(output)
		switch {
		case err != "":
			form.changes = append(form.changes, "outputSchema is not shown: "+err)
			drop = append(drop, "outputSchema")
		case change != "":
			form.changes = append(form.changes, "outputSchema: "+change)
			add = append(add, wire.Member{Key: "outputSchema", Value: schema})
			form.wrapped = wrapped
		}
	}
	if len(form.changes) > 0 {
		form.json = wire.AppendObject(nil, def, drop, add...)
	}
	return form
}

// objectSchemaForOlder corrects the members of an object's schema that older
// clients read themselves: properties must be a map of objects, and required a
// list of names. A schema that is true or false becomes an equivalent object.
// change is "" if nothing changed.
func objectSchemaForOlder(schema []byte) (changed []byte, change string) {
	var drop []string
	var add []wire.Member
	var changes []string
	if properties := wire.Get(schema, "properties"); properties != nil {
		var booleans []wire.Member
		odd := !isObject(properties)
		for key, value := range wire.Members(properties) {
			switch {
			case string(value) == "true":
				booleans = append(booleans, wire.Member{Key: wire.Unescape(key), Value: []byte(`{}`)})
			case string(value) == "false":
				booleans = append(booleans, wire.Member{Key: wire.Unescape(key), Value: []byte(`{"not":{}}`)})
			case !isObject(value):
				odd = true
			}
		}
		switch {
		case odd:
			drop, changes = append(drop, "properties"), append(changes, "properties is not an object of schemas, and is not shown")
		case len(booleans) > 0:
			add = append(add, wire.Member{Key: "properties", Value: wire.AppendObject(nil, properties, nil, booleans...)})
			changes = append(changes, "schemas that are true or false are shown as objects")
		}
	}
	if required := wire.Get(schema, "required"); required != nil && !isStrings(required) {
		drop, changes = append(drop, "required"), append(changes, "required is not an array of names, and is not shown")
	}
	if len(changes) == 0 {
		return schema, ""
	}
	return wire.AppendObject(nil, schema, drop, add...), strings.Join(changes, "; ")
}

// outputForOlder returns an outputSchema that older clients can compile. change
// is "" if they can compile it as it is. err says why it cannot be shown to
// them at all.
func outputForOlder(raw []byte) (schema []byte, wrapped bool, change, err string) {
	doc, parseErr := wire.DecodeValue(raw)
	root, ok := doc.(map[string]any)
	if parseErr != nil || !ok {
		return nil, false, "", "it cannot be read"
	}
	if why := findOlderProblem(root); why != "" {
		return nil, false, "", why
	}
	var changes []string
	if _, named := root["$id"]; named {
		delete(root, "$id") // clients would use one validator for two tools with the same $id
		changes = append(changes, "$id is not shown")
	}
	switch {
	case root["type"] == "object":
	case (schemaSet{root}).alwaysObject(root, 0):
		root["type"] = "object"
		changes = append(changes, `type is shown as "object"`)
	default:
		root = wrapSchema(root)
		wrapped = true
		changes = append(changes, "the output is not an object; it is shown, and returned, in the member "+wrapKey+" of an object")
	}
	if properties, _ := root["properties"].(map[string]any); properties != nil {
		if replaceBooleans(properties) {
			changes = append(changes, "schemas that are true or false are shown as objects")
		}
	}
	if len(changes) == 0 {
		return raw, false, "", ""
	}
	schema, encodeErr := json.Marshal(root)
	if encodeErr != nil {
		return nil, false, "", "it cannot be encoded"
	}
	return schema, wrapped, strings.Join(changes, "; "), ""
}

// replaceBooleans replaces schemas that are true or false by equivalent
// objects, in place.
func replaceBooleans(properties map[string]any) (replaced bool) {
	for name, of := range properties {
		if all, ok := of.(bool); ok {
			replaced = true
			properties[name] = map[string]any{}
			if !all {
				properties[name] = map[string]any{"not": map[string]any{}}
			}
		}
	}
	return replaced
}

// schemaSet is a schema document, which references are resolved in.
type schemaSet struct{ root map[string]any }

// alwaysObject reports whether every value that fits a schema is certainly an
// object. It gives up below 16 references and combinators, which also ends
// cycles.
func (s schemaSet) alwaysObject(doc any, depth int) bool {
	schema, ok := doc.(map[string]any)
	if !ok || depth > 16 {
		return false
	}
	switch kind := schema["type"].(type) {
	case string:
		return kind == "object"
	case []any:
		return len(kind) == 1 && kind[0] == "object"
	}
	if ref, ok := schema["$ref"].(string); ok && s.alwaysObject(s.resolveReference(ref), depth+1) {
		return true
	}
	isObject := func(one any) bool { return s.alwaysObject(one, depth+1) }
	if all, _ := schema["allOf"].([]any); slices.ContainsFunc(all, isObject) {
		return true
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if list, _ := schema[key].([]any); len(list) > 0 && !slices.ContainsFunc(list, func(one any) bool { return !isObject(one) }) {
			return true
		}
	}
	return false
}

// resolveReference returns the part of the document that a reference names; nil
// if there is none.
func (s schemaSet) resolveReference(ref string) any {
	pointer, ok := pointerFromReference(ref)
	if !ok {
		return nil
	}
	var at any = s.root
	for _, part := range strings.Split(pointer, "/")[1:] {
		object, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
	}
	return at
}

// wrapSchema returns the schema of an object with a value of schema under
// wrapKey. It changes schema: references into the document are adjusted to its
// new place.
func wrapSchema(schema map[string]any) map[string]any {
	wrapper := map[string]any{"type": "object", "required": []any{wrapKey}}
	if dialect, ok := schema["$schema"]; ok {
		wrapper["$schema"] = dialect
		delete(schema, "$schema")
	}
	moveReferences(schema)
	wrapper["properties"] = map[string]any{wrapKey: schema}
	return wrapper
}

// moveReferences adjusts the references of a document that becomes a property
// of another. It descends only into schemas: a "$ref" inside data such as an
// enum stays.
func moveReferences(doc any) {
	schema, ok := doc.(map[string]any)
	if !ok {
		return
	}
	for key, value := range schema {
		switch {
		case key == "$ref":
			if ref, ok := value.(string); ok && (ref == "#" || strings.HasPrefix(ref, "#/")) {
				schema[key] = "#/properties/" + wrapKey + strings.TrimPrefix(ref, "#")
			}
		case holdsSchema(key):
			moveReferences(value)
			if list, ok := value.([]any); ok {
				for _, one := range list {
					moveReferences(one)
				}
			}
		case holdsSchemas(key):
			if named, ok := value.(map[string]any); ok {
				for _, one := range named {
					moveReferences(one)
				}
			}
		}
	}
}

// forOlder returns the version as older clients are shown it.
func (v *ToolVersion) forOlder() *ToolVersion {
	if len(v.older.changes) == 0 {
		return v
	}
	changed := *v
	if changed.JSON = v.older.json; v.nameJSON != nil {
		changed.nameJSON = wire.Get(changed.JSON, "name")
	}
	return &changed
}

// ForOlder returns a result of the tool in a form that older clients can read:
// structuredContent is an object. If it was not, and there is no other content,
// its value is also added as text.
func (v *ToolVersion) ForOlder(body []byte) []byte {
	data := wire.Get(body, "structuredContent")
	if data == nil || isObject(data) && !v.older.wrapped {
		return body
	}
	if wire.IsNull(data) && !v.older.wrapped {
		return wire.AppendObject(nil, body, []string{"structuredContent"})
	}
	add := []wire.Member{{Key: "structuredContent", Value: wire.AppendObject(nil, nil, nil, wire.Member{Key: wrapKey, Value: data})}}
	empty := true
	for range wire.Elements(wire.Get(body, "content")) {
		empty = false
		break
	}
	if empty {
		text := append(wire.AppendString([]byte(`[{"type":"text","text":`), string(data)), `}]`...)
		add = append(add, wire.Member{Key: "content", Value: text})
	}
	return wire.AppendObject(nil, body, nil, add...)
}
