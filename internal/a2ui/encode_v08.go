package a2ui

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// encodeV08 adds the messages of v0.8: components, then data, then the one that
// starts the drawing:
//
//	{"surfaceUpdate": {"surfaceId": …, "components": [{"id": "t", "component": {"Text": {"text": {"literalString": "Hi"}}}}]}}
//	{"dataModelUpdate": {"surfaceId": …, "contents": [{"key": "name", "valueString": "Ada"}]}}
//	{"beginRendering": {"surfaceId": …, "root": "root"}}
func (e *surfaceEncoder) encodeV08() error {
	s := e.surface
	components, err := e.encodeComponents(func(c component, props map[string]any) (map[string]any, error) {
		name, older, err := e.convertToV08(c.name, props)
		if err != nil {
			return nil, err
		}
		out := map[string]any{"id": c.id, "component": map[string]any{name: older}}
		if weight, ok := props["weight"]; ok {
			out["weight"] = weight
		}
		return out, nil
	})
	if err != nil {
		return err
	}
	e.addMessage(V08, "surfaceUpdate", map[string]any{"surfaceId": s.ID, "components": components})
	if err := e.encodeDataV08(); err != nil {
		return err
	}
	begin := map[string]any{"surfaceId": s.ID, "root": RootID}
	if len(s.Catalogs) > 0 {
		begin["catalogId"] = s.Catalogs[0]
	}
	e.addMessage(V08, "beginRendering", begin)
	return nil
}

// encodeDataV08 adds the data as lists of keys with typed values. v0.8 restricts
// them: a map in such a list cannot contain maps, so deeper values follow in
// messages with their own path. There are no lists, so elements get their index as
// key. There is no null, so nulls are left out.
func (e *surfaceEncoder) encodeDataV08() error {
	v, err := decodeWithNumbers(e.dataOrEmpty())
	if err != nil {
		return err
	}
	e.encodeDataAt("", v)
	return nil
}

// encodeDataAt adds the value at a path, and then the values that are too deep for
// the same message.
func (e *surfaceEncoder) encodeDataAt(path string, v any) {
	entries := []map[string]any{}
	type rest struct {
		path string
		v    any
	}
	var later []rest
	keys, values := splitMembers(v)
	for i, key := range keys {
		inner, innerValues := splitMembers(values[i])
		if inner == nil {
			if value := encodeScalarV08(key, values[i]); value != nil {
				entries = append(entries, value)
			}
			continue
		}
		at := path + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
		// One level of map fits into the entry; what is below it comes later.
		flat := []map[string]any{}
		for j, name := range inner {
			if deeper, _ := splitMembers(innerValues[j]); deeper != nil {
				later = append(later, rest{at + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name), innerValues[j]})
			} else if value := encodeScalarV08(name, innerValues[j]); value != nil {
				flat = append(flat, value)
			}
		}
		entries = append(entries, map[string]any{"key": key, "valueMap": flat})
	}
	update := map[string]any{"surfaceId": e.surface.ID, "contents": entries}
	if path != "" {
		update["path"] = path
	}
	e.addMessage(V08, "dataModelUpdate", update)
	for _, r := range later {
		e.encodeDataAt(r.path, r.v)
	}
}

// splitMembers returns the keys and values of an object or a list, never nil. It
// returns nil for any other value.
func splitMembers(v any) (keys []string, values []any) {
	switch v := v.(type) {
	case map[string]any:
		keys, values = make([]string, 0, len(v)), make([]any, 0, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			keys, values = append(keys, key), append(values, v[key])
		}
	case []any:
		keys, values = make([]string, 0, len(v)), v
		for i := range v {
			keys = append(keys, strconv.Itoa(i))
		}
	}
	return keys, values
}

// encodeScalarV08 returns the entry of a scalar; nil for null.
func encodeScalarV08(key string, v any) map[string]any {
	switch v.(type) {
	case string:
		return map[string]any{"key": key, "valueString": v}
	case json.Number:
		return map[string]any{"key": key, "valueNumber": v}
	case bool:
		return map[string]any{"key": key, "valueBoolean": v}
	}
	return nil
}

// convertToV08 returns the name and the properties of a component in v0.8.
// Properties that v0.8 does not have are left out. It fails if that would hide
// content from people.
func (e *surfaceEncoder) convertToV08(name string, props map[string]any) (string, map[string]any, error) {
	kind, catalog, known := e.known.Component(name)
	out := map[string]any{}
	if !known {
		for key, v := range props {
			if key != "weight" && key != "accessibility" {
				out[key] = wrapLiteralV08(v)
			}
		}
		return name, out, nil
	}
	for _, p := range kind.Properties {
		v, ok := props[p.Name]
		if !ok {
			continue
		}
		to := p.Name
		if catalog.Basic {
			var keep bool
			if to, v, keep = renameToV08(name, p.Name, v); !keep {
				continue
			}
		}
		value, err := e.convertValueToV08(p, v)
		if err != nil {
			return "", nil, fmt.Errorf("%s: %w", p.Name, err)
		}
		out[to] = value
	}
	// v0.8 has another name for the component, and a number instead of the variant.
	if name == "ChoicePicker" {
		if variant, _ := props["variant"].(string); variant != "multipleSelection" {
			out["maxAllowedSelections"] = 1
		}
		return "MultipleChoice", out, nil
	}
	return name, out, nil
}

// renameToV08 returns the name and value of a basic component's property in v0.8.
// The last result is false if v0.8 does not have it.
func renameToV08(component, property string, v any) (string, any, bool) {
	word, _ := v.(string)
	switch component + "." + property {
	case "Text.variant", "Image.variant":
		return "usageHint", v, true
	case "Image.fit":
		return property, map[bool]any{true: "scale-down", false: v}[word == "scaleDown"], true
	case "Icon.name":
		return property, convertIconToV08(v), true
	case "Row.justify", "Column.justify":
		return "distribution", v, word != "stretch"
	case "Row.align", "Column.align", "List.align":
		return "alignment", v, true
	case "Tabs.tabs":
		return "tabItems", v, true
	case "Modal.trigger":
		return "entryPointChild", v, true
	case "Modal.content":
		return "contentChild", v, true
	case "Button.variant":
		return "primary", true, word == "primary"
	case "TextField.value":
		return "text", v, true
	case "TextField.variant":
		return "textFieldType", v, true
	case "ChoicePicker.value":
		return "selections", v, true
	case "ChoicePicker.variant", "ChoicePicker.label", "ChoicePicker.displayStyle", "ChoicePicker.filterable", "DateTimeInput.min", "DateTimeInput.max", "DateTimeInput.label":
		return "", nil, false
	case "Slider.min":
		return "minValue", v, true
	case "Slider.max":
		return "maxValue", v, true
	}
	return property, v, property != "checks"
}

// convertIconToV08 replaces icons that v0.8 does not have.
func convertIconToV08(v any) any {
	later := []string{"fastForward", "pause", "play", "rewind", "skipNext", "skipPrevious", "stop", "volumeDown", "volumeMute", "volumeOff", "volumeUp"}
	switch v := v.(type) {
	case string:
		if !slices.Contains(later, v) {
			return v
		}
	case map[string]any:
		if isPath(v) {
			return v
		}
	}
	return "info"
}

// convertValueToV08 converts a value according to its kind.
func (e *surfaceEncoder) convertValueToV08(p Property, v any) (any, error) {
	switch p.Kind {
	case BoundText, BoundDate, BoundNumber, BoundBool, BoundTexts, BoundValue, IconName:
		return e.convertBoundToV08(v)
	case Children:
		if o, ok := v.(map[string]any); ok {
			return map[string]any{"template": map[string]any{"componentId": o["componentId"], "dataBinding": o["path"]}}, nil
		}
		return map[string]any{"explicitList": v}, nil
	case TabList, OptionList:
		list, _ := v.([]any)
		out := make([]any, 0, len(list))
		for _, one := range list {
			o, _ := one.(map[string]any)
			copied := maps.Clone(o)
			for _, name := range []string{"title", "label"} {
				if text, ok := o[name]; ok {
					bound, err := e.convertBoundToV08(text)
					if err != nil {
						return nil, err
					}
					copied[name] = bound
				}
			}
			out = append(out, copied)
		}
		return out, nil
	case OnAction:
		return e.convertActionToV08(v)
	case BoundObject, PlainText, PlainNumber, PlainBool, PlainObject, Choice, Child, Checks:
	}
	return v, nil
}

// convertBoundToV08 returns {"literalString": …} and the like, or {"path": …}. It
// fails for a function call.
func (e *surfaceEncoder) convertBoundToV08(v any) (any, error) {
	if o, ok := v.(map[string]any); ok {
		if isPath(o) {
			return o, nil
		}
		return nil, fmt.Errorf("v0.8 has no functions, so %v cannot be called", o["call"])
	}
	return wrapLiteralV08(v), nil
}

// wrapLiteralV08 wraps a literal according to its type.
func wrapLiteralV08(v any) any {
	switch v := v.(type) {
	case string:
		return map[string]any{"literalString": v}
	case json.Number:
		return map[string]any{"literalNumber": v}
	case bool:
		return map[string]any{"literalBoolean": v}
	case []any:
		return map[string]any{"literalArray": v}
	}
	return v
}

// convertActionToV08 returns an event with its context as a list. A function call
// becomes an event with the function's name, because v0.8 has no functions and the
// agent can execute it.
func (e *surfaceEncoder) convertActionToV08(v any) (any, error) {
	o, _ := v.(map[string]any)
	event, _ := o["event"].(map[string]any)
	name, context := event["name"], event["context"]
	if f, ok := o["functionCall"].(map[string]any); ok {
		name, context = f["call"], f["args"]
	}
	out := map[string]any{"name": name}
	members, _ := context.(map[string]any)
	list := []map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(members)) {
		value, err := e.convertBoundToV08(members[key])
		if err != nil {
			return nil, err
		}
		o, _ := value.(map[string]any)
		if array, ok := o["literalArray"]; ok { // the context allows no arrays
			text, err := json.Marshal(array)
			if err != nil {
				return nil, err
			}
			value = map[string]any{"literalString": string(text)}
		}
		list = append(list, map[string]any{"key": key, "value": value})
	}
	if len(list) > 0 {
		out["context"] = list
	}
	return out, nil
}
