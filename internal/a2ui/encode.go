package a2ui

import (
	"encoding/json"
	"fmt"
	"slices"

	junctor "github.com/junctor-mcp/junctor"
)

// Options is how a surface is written.
type Options struct {
	Known    *Catalogs // nil: Builtin
	Replaces bool      // the client has a surface of this id: it is deleted first
}

// Encode writes a surface as messages of a version, in their order. A surface
// that is broken or wrong, or that the version has no words for, is an error:
// what is written is valid.
func Encode(s *Surface, v Version, o Options) ([]json.RawMessage, error) {
	if o.Known == nil {
		o.Known = Builtin()
	}
	if err := s.Fault(s.Check(o.Known), Broken, Wrong); err != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "%w", err)
	}
	e := surfaceEncoder{surface: s, known: o.Known}
	if o.Replaces {
		e.addMessage(v, "deleteSurface", map[string]any{"surfaceId": s.ID})
	}
	var err error
	switch v {
	case V08:
		err = e.encodeV08()
	case V09:
		e.encodeV09()
	case V10:
		err = e.encodeV10()
	default:
		return nil, junctor.Errorf(junctor.CodeInvalid, "A2UI %q is not spoken here; v0.8, v0.9 and v1.0 are", truncateText(string(v)))
	}
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "the surface %q cannot be written in A2UI %s: %w", s.ID, v, err)
	}
	if e.err != nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "the surface %q cannot be written: %w", s.ID, e.err)
	}
	return e.out, nil
}

type surfaceEncoder struct {
	surface *Surface
	known   *Catalogs
	out     []json.RawMessage
	err     error
}

// addMessage adds one: {"version": …, kind: body}; v0.8 has no version in it.
func (e *surfaceEncoder) addMessage(v Version, kind string, body any) {
	m := map[string]any{kind: body}
	if v != V08 {
		m["version"] = v
	}
	text, err := json.Marshal(m)
	if err != nil {
		e.err = err
		return
	}
	e.out = append(e.out, text)
}

// catalogID is the one that a surface is of: the first that it names, else the
// basic one of the version.
func (e *surfaceEncoder) catalogID(v Version) string {
	if len(e.surface.Catalogs) > 0 {
		return e.surface.Catalogs[0]
	}
	return BasicCatalog(v)
}

func (e *surfaceEncoder) dataOrEmpty() json.RawMessage {
	if len(e.surface.Data) == 0 {
		return json.RawMessage("{}")
	}
	return e.surface.Data
}

// encodeComponents reads each of the surface's, and has it written.
func (e *surfaceEncoder) encodeComponents(write func(c component, props map[string]any) (map[string]any, error)) ([]map[string]any, error) {
	out := make([]map[string]any, 0, len(e.surface.Components))
	for _, raw := range e.surface.Components {
		c, err := parseComponent(raw)
		if err != nil {
			return nil, err
		}
		props, err := decodeProperties(c.props)
		if err != nil {
			return nil, err
		}
		written, err := write(c, props)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.id, err)
		}
		out = append(out, written)
	}
	return out, nil
}

// encodeV09 has the form that surfaces have here.
func (e *surfaceEncoder) encodeV09() {
	s := e.surface
	e.addMessage(V09, "createSurface", map[string]any{"surfaceId": s.ID, "catalogId": e.catalogID(V09)})
	e.addMessage(V09, "updateComponents", map[string]any{"surfaceId": s.ID, "components": s.Components})
	e.addMessage(V09, "updateDataModel", map[string]any{"surfaceId": s.ID, "path": "/", "value": e.dataOrEmpty()})
}

// encodeV10 has it all in one message. Its components say of which catalogue they
// are, headings are written as in Markdown, and a check's condition is never a
// literal.
func (e *surfaceEncoder) encodeV10() error {
	s := e.surface
	components, err := e.encodeComponents(func(c component, props map[string]any) (map[string]any, error) {
		out := convertToV10(c.name, props)
		out["id"], out["component"] = c.id, c.name
		if _, of, ok := e.known.Component(c.name); ok {
			if id := of.ID; !of.Is(e.catalogID(V10)) {
				if of.Basic {
					id = BasicCatalog(V10)
				}
				out["catalogId"] = id
			}
		}
		return out, nil
	})
	if err != nil {
		return err
	}
	e.addMessage(V10, "createSurface", map[string]any{"surfaceId": s.ID, "catalogId": e.catalogID(V10), "components": components, "dataModel": e.dataOrEmpty()})
	return nil
}

func decodeProperties(props map[string]json.RawMessage) (map[string]any, error) {
	out := make(map[string]any, len(props))
	for name, raw := range props {
		v, err := decodeWithNumbers(raw)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out[name] = v
	}
	return out, nil
}

// convertToV10 makes the properties of a component those of v1.0.
func convertToV10(name string, props map[string]any) map[string]any {
	for key, v := range props {
		props[key] = removeReturnTypes(v)
	}
	if a, ok := props["accessibility"].(map[string]any); ok {
		for key := range a {
			if !slices.Contains([]string{"label", "description", "live", "hidden"}, key) {
				delete(a, key)
			}
		}
	}
	if name == "Text" {
		convertHeading(props)
	}
	if pattern, ok := props["validationRegexp"]; ok && name == "TextField" {
		delete(props, "validationRegexp")
		checks, _ := props["checks"].([]any)
		if value, bound := props["value"]; bound {
			props["checks"] = append(checks, map[string]any{"condition": map[string]any{"call": "regex", "args": map[string]any{"value": value, "pattern": pattern}}})
		}
	}
	if checks, ok := props["checks"].([]any); ok {
		for _, one := range checks {
			if o, ok := one.(map[string]any); ok && isBool(o["condition"]) {
				o["condition"] = map[string]any{"call": "not", "args": map[string]any{"value": o["condition"] != true}}
			}
		}
	}
	return props
}

// removeReturnTypes takes away what calls of functions are said to give: v1.0 knows it of
// the function.
func removeReturnTypes(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if isText(v["call"]) {
			delete(v, "returnType")
		}
		for name := range v {
			v[name] = removeReturnTypes(v[name])
		}
	case []any:
		for i := range v {
			v[i] = removeReturnTypes(v[i])
		}
	}
	return v
}

// convertHeading makes a Text that is one a line of Markdown: v1.0 has no other.
func convertHeading(props map[string]any) {
	level := slices.Index([]any{"h1", "h2", "h3", "h4", "h5"}, props["variant"]) + 1
	if level == 0 {
		return
	}
	delete(props, "variant")
	marks := "######"[:level] + " "
	switch text := props["text"].(type) {
	case string:
		props["text"] = marks + text
	case map[string]any:
		if path, ok := text["path"].(string); ok {
			props["text"] = map[string]any{"call": "formatString", "args": map[string]any{"value": marks + "${" + path + "}"}}
			return
		}
		args, _ := text["args"].(map[string]any)
		if format, ok := args["value"].(string); ok && text["call"] == "formatString" {
			args["value"] = marks + format
		}
	}
}
