package catalog

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/junctor-mcp/junctor/internal/wire"
)

// Protocol versions before 2026-07-28 let a tool's outputSchema, and what a call
// returns by it, be an object alone; the official JavaScript SDK 1.x, which speaks
// them, refuses the whole list over one tool that has another, and compiles every
// outputSchema when it reads the list. So clients of those versions are shown a
// definition that they can read: an output that is no object stands in an object
// under "result", as the official SDKs of 2026-07-28 do it for such clients, and an
// outputSchema that they cannot compile is taken out.

// wrapKey is the member of structuredContent that holds an output that is no
// object, for clients of older versions.
const wrapKey = "result"

// olderForm is how clients of older protocol versions are shown a tool.
type olderForm struct {
	json    []byte   // the definition
	wrapped bool     // structuredContent stands under wrapKey
	changes []string // what differs from the server's definition; nil where nothing does
}

// formForOlder makes that form of a definition that correctTool has seen.
func formForOlder(def []byte) olderForm {
	var drop []string
	var add []wire.Member
	form := olderForm{json: def}
	if input, change := objectSchema(wire.Get(def, "inputSchema")); change != "" {
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

// objectSchema sees to the members of an object's schema that older clients read
// themselves: properties is a map of objects, required a list of names. A schema
// that is true or false is written as an object that means the same.
func objectSchema(schema []byte) (changed []byte, change string) {
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
			drop, changes = append(drop, "properties"), append(changes, "properties is no map of schemas, and is not shown")
		case len(booleans) > 0:
			add = append(add, wire.Member{Key: "properties", Value: wire.AppendObject(nil, properties, nil, booleans...)})
			changes = append(changes, "schemas that are true or false are shown as objects")
		}
	}
	if required := wire.Get(schema, "required"); required != nil && !isStrings(required) {
		drop, changes = append(drop, "required"), append(changes, "required is no list of names, and is not shown")
	}
	if len(changes) == 0 {
		return schema, ""
	}
	return wire.AppendObject(nil, schema, drop, add...), strings.Join(changes, "; ")
}

// outputForOlder gives an outputSchema as older clients can compile it. change is
// "" where they can as it is; err says why it cannot be shown to them.
func outputForOlder(raw []byte) (schema []byte, wrapped bool, change, err string) {
	doc, parseErr := wire.Value(raw)
	root, ok := doc.(map[string]any)
	if parseErr != nil || !ok {
		return nil, false, "", "it cannot be read"
	}
	if why := compilableByOlder(root); why != "" {
		return nil, false, "", why
	}
	var changes []string
	if _, named := root["$id"]; named {
		delete(root, "$id") // two tools with one $id would share a validator
		changes = append(changes, "$id is not shown")
	}
	switch {
	case root["type"] == "object":
	case (schemaSet{root}).isObject(root, 0):
		root["type"] = "object"
		changes = append(changes, `type is shown as "object"`)
	default:
		root = wrapSchema(root)
		wrapped = true
		changes = append(changes, "the output is no object; it is shown, and returned, in the member "+wrapKey+" of one")
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
		return nil, false, "", "it cannot be written again"
	}
	return schema, wrapped, strings.Join(changes, "; "), ""
}

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

// schemaSet is a schema with the definitions that it refers to inside itself.
type schemaSet struct{ root map[string]any }

// isObject says whether every value that fits a schema is surely an object.
func (s schemaSet) isObject(doc any, depth int) bool {
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
	if ref, ok := schema["$ref"].(string); ok && s.isObject(s.resolve(ref), depth+1) {
		return true
	}
	isObject := func(one any) bool { return s.isObject(one, depth+1) }
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

// resolve gives what a reference inside the document names; nil for none.
func (s schemaSet) resolve(ref string) any {
	pointer, ok := pointerOf(ref)
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

// wrapSchema is the schema of an object that has a value of schema under wrapKey.
// References to places in the document are moved with it.
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

// moveReferences changes references to where a document's parts stand once the
// document is a property of another. Of values that are data, none is changed.
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

// forOlder is the version as clients of older protocol versions are shown it.
func (v *ToolVersion) forOlder() *ToolVersion {
	if len(v.older.changes) == 0 {
		return v
	}
	changed := *v
	if changed.JSON = v.older.json; v.name != nil {
		changed.name = wire.Get(changed.JSON, "name")
	}
	return &changed
}

// ForOlder gives a result of the tool as clients of older protocol versions can
// read it: structuredContent is an object. One that was none is also given as
// text, where there is no other content.
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
