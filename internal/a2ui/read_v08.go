package a2ui

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// messageV08 holds the messages of v0.8.
type messageV08 struct {
	// Surface adds or replaces components.
	Surface *struct {
		Surface    string         `json:"surfaceId"`
		Components []componentV08 `json:"components"`
	} `json:"surfaceUpdate"`
	// Model sets a value at a path of the data.
	Model *struct {
		Surface  string     `json:"surfaceId"`
		Path     string     `json:"path"`
		Contents []entryV08 `json:"contents"`
	} `json:"dataModelUpdate"`
	// Begin names the root and starts the drawing.
	Begin *struct {
		Surface string `json:"surfaceId"`
		Catalog string `json:"catalogId"`
		Root    string `json:"root"`
	} `json:"beginRendering"`
}

// componentV08 is a component of v0.8: its name is the only key of component.
type componentV08 struct {
	ID        string                     `json:"id"`
	Weight    json.RawMessage            `json:"weight"`
	Component map[string]json.RawMessage `json:"component"`
}

// entryV08 is a key of the data with a typed value.
type entryV08 struct {
	Key     string          `json:"key"`
	Text    *string         `json:"valueString"`
	Number  json.RawMessage `json:"valueNumber"`
	Flag    *bool           `json:"valueBoolean"`
	Members []entryV08      `json:"valueMap"`
}

// applyMessageV08 applies a message of v0.8.
func (r *messageReader) applyMessageV08(m *messageV08) error {
	switch {
	case m.Surface != nil:
		b := r.openSurface(m.Surface.Surface)
		list := make([]json.RawMessage, 0, len(m.Surface.Components))
		for _, c := range m.Surface.Components {
			text, err := c.flatten()
			if err != nil {
				return err
			}
			list = append(list, text)
		}
		return b.putComponents(list)
	case m.Model != nil:
		steps, err := splitPath(m.Model.Path)
		if err != nil {
			return err
		}
		b := r.openSurface(m.Model.Surface)
		b.data = setValueAt(b.data, steps, decodeEntries(m.Model.Contents))
		return nil
	case m.Begin != nil:
		b := r.openSurface(m.Begin.Surface)
		b.addCatalog(m.Begin.Catalog)
		b.root = m.Begin.Root
		return nil
	}
	return errors.New("the message neither creates, updates nor deletes anything")
}

// decodeEntries returns entries as an object.
func decodeEntries(list []entryV08) map[string]any {
	out := map[string]any{}
	for _, e := range list {
		switch {
		case e.Text != nil:
			out[e.Key] = *e.Text
		case e.Number != nil:
			out[e.Key] = json.Number(e.Number)
		case e.Flag != nil:
			out[e.Key] = *e.Flag
		case e.Members != nil:
			out[e.Key] = decodeEntries(e.Members)
		}
	}
	return out
}

// flatten returns the component in the form of later versions.
func (c *componentV08) flatten() (json.RawMessage, error) {
	if len(c.Component) != 1 {
		return nil, fmt.Errorf("the component %q must have exactly one kind", truncateText(c.ID))
	}
	name := sortedKeys(c.Component)[0]
	v, err := decodeWithNumbers(c.Component[name])
	props, ok := v.(map[string]any)
	if err != nil || !ok {
		return nil, fmt.Errorf("the component %q has no properties", truncateText(c.ID))
	}
	out := map[string]any{}
	for key, v := range props {
		to, value, keep := renameFromV08(name, key, v)
		if keep {
			out[to] = convertFromV08(to, value)
		}
	}
	if name == "MultipleChoice" {
		name = "ChoicePicker"
		if props["maxAllowedSelections"] != json.Number("1") {
			out["variant"] = "multipleSelection"
		}
	}
	out["id"], out["component"] = c.ID, name
	if len(c.Weight) > 0 {
		out["weight"] = c.Weight
	}
	return json.Marshal(out)
}

// renameFromV08 is the inverse of renameToV08.
func renameFromV08(component, property string, v any) (string, any, bool) {
	switch component + "." + property {
	case "Text.usageHint", "Image.usageHint":
		return "variant", v, true
	case "Image.fit":
		if v == "scale-down" {
			v = "scaleDown"
		}
	// Later versions do not have them; flatten evaluates the number of selections.
	case "Image.altText", "MultipleChoice.maxAllowedSelections":
		return "", nil, false
	case "Row.distribution", "Column.distribution":
		return "justify", v, true
	case "Row.alignment", "Column.alignment", "List.alignment":
		return "align", v, true
	case "Tabs.tabItems":
		return "tabs", v, true
	case "Modal.entryPointChild":
		return "trigger", v, true
	case "Modal.contentChild":
		return "content", v, true
	case "Button.primary":
		return "variant", "primary", v == true
	case "TextField.text":
		return "value", v, true
	case "TextField.textFieldType":
		return "variant", v, v != "date"
	case "MultipleChoice.selections":
		return "value", v, true
	case "MultipleChoice.variant":
		return "displayStyle", v, true
	case "Slider.minValue":
		return "min", v, true
	case "Slider.maxValue":
		return "max", v, true
	}
	return property, v, true
}

// convertFromV08 converts a value of v0.8 to the form of later versions.
func convertFromV08(property string, v any) any {
	if list, ok := v.([]any); ok && slices.Contains([]string{"tabs", "options"}, property) {
		for _, one := range list {
			if o, ok := one.(map[string]any); ok {
				for _, name := range []string{"title", "label"} {
					if text, ok := o[name]; ok {
						o[name] = unwrapLiteral(text)
					}
				}
			}
		}
		return list
	}
	o, ok := v.(map[string]any)
	switch {
	case !ok:
		return v
	case o["explicitList"] != nil:
		return o["explicitList"]
	case o["template"] != nil:
		t, _ := o["template"].(map[string]any)
		return map[string]any{"componentId": t["componentId"], "path": t["dataBinding"]}
	// v0.8 has no marker for actions, so the name of the property decides.
	case isText(o["name"]) && strings.HasSuffix(strings.ToLower(property), "action"):
		event := map[string]any{"name": o["name"]}
		if list, ok := o["context"].([]any); ok {
			context := map[string]any{}
			for _, one := range list {
				if pair, ok := one.(map[string]any); ok {
					key, _ := pair["key"].(string)
					context[key] = unwrapLiteral(pair["value"])
				}
			}
			event["context"] = context
		}
		return map[string]any{"event": event}
	}
	return unwrapLiteral(v)
}

// unwrapLiteral unwraps {"literalString": …} and the like. If there is a path too,
// the literal is only an initial value, and the path counts.
func unwrapLiteral(v any) any {
	o, ok := v.(map[string]any)
	if !ok {
		return v
	}
	if path, ok := o["path"]; ok {
		return map[string]any{"path": path}
	}
	for _, name := range []string{"literalString", "literalNumber", "literalBoolean", "literalArray"} {
		if value, ok := o[name]; ok && len(o) == 1 {
			return value
		}
	}
	return v
}
