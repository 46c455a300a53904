package a2ui

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// encodeV08 has the components first, then the data, then the word to draw.
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
	begin := map[string]any{"surfaceId": s.ID, "root": Root}
	if len(s.Catalogs) > 0 {
		begin["catalogId"] = s.Catalogs[0]
	}
	e.addMessage(V08, "beginRendering", begin)
	return nil
}

// encodeDataV08 writes the data as lists of keys with typed values. A map in such a
// list has no maps in it: what is deeper comes in messages of its own, with its
// path. There are no lists: their members are keyed by their number. There is
// no null: it is left out.
func (e *surfaceEncoder) encodeDataV08() error {
	v, err := decodeWithNumbers(e.dataOrEmpty())
	if err != nil {
		return err
	}
	e.encodeDataAt("", v)
	return nil
}

// encodeDataAt writes what is at a path, and then what is too deep for one message.
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

// splitMembers gives the names and values of an object or a list, not nil; nil of
// anything else.
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

// convertToV08 gives a component's name and properties as v0.8 has them. What that
// version cannot say is left out; where something would be lost that people
// have to read, it is an error.
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
	if name == "ChoicePicker" {
		if variant, _ := props["variant"].(string); variant != "multipleSelection" {
			out["maxAllowedSelections"] = 1
		}
		return "MultipleChoice", out, nil
	}
	return name, out, nil
}

// renameToV08 gives what a property of a basic component is called in v0.8; it has
// not all of them.
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

// convertIconToV08 is an icon that v0.8 has.
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

// convertValueToV08 writes a value as v0.8 does.
func (e *surfaceEncoder) convertValueToV08(p Property, v any) (any, error) {
	switch p.Kind {
	case BoundText, BoundDate, BoundNumber, BoundFlag, BoundTexts, BoundValue, IconName:
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
	case BoundObject, PlainText, PlainNumber, PlainFlag, PlainObject, Choice, Child, Checks:
	}
	return v, nil
}

// convertBoundToV08 writes {"literalString": …} and the like, or {"path": …}.
func (e *surfaceEncoder) convertBoundToV08(v any) (any, error) {
	if o, ok := v.(map[string]any); ok {
		if isPath(o) {
			return o, nil
		}
		return nil, fmt.Errorf("v0.8 has no functions, so %v cannot be called", o["call"])
	}
	return wrapLiteralV08(v), nil
}

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

// convertActionToV08 writes an event with its context as a list. A call of a function
// becomes an event of its name: who can do it is the agent.
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
		if array, ok := o["literalArray"]; ok { // here there is none
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
