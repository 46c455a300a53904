package a2ui

import (
	"encoding/json"
	"fmt"
	"slices"

	junctor "github.com/junctor-mcp/junctor"
)

// EncodeOptions control Encode.
type EncodeOptions struct {
	Catalogs *Catalogs // nil means BuiltinCatalogs
	Replaces bool      // the client has a surface with this id, which is deleted first
}

// Encode returns a surface as messages of a version, in the order in which the
// client must get them. It fails if the surface is broken or wrong, or cannot be
// expressed in that version, so that the messages are always valid.
func Encode(s *Surface, v Version, o EncodeOptions) ([]json.RawMessage, error) {
	if o.Catalogs == nil {
		o.Catalogs = BuiltinCatalogs()
	}
	// Unknown components pass: a client may know them, and draws a placeholder
	// otherwise.
	if err := s.FirstProblem(s.Check(o.Catalogs), GradeBroken, GradeWrong); err != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "%w", err)
	}
	e := surfaceEncoder{surface: s, known: o.Catalogs}
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
		return nil, junctor.Errorf(junctor.CodeInvalid, "the A2UI version %q is not supported: use v0.8, v0.9 or v1.0", truncateText(string(v)))
	}
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "the surface %q cannot be encoded in A2UI %s: %w", s.ID, v, err)
	}
	if e.err != nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "the surface %q cannot be encoded: %w", s.ID, e.err)
	}
	return e.out, nil
}

// surfaceEncoder collects the messages of one surface. err is the first failure to
// encode a message, which only a bug can cause.
type surfaceEncoder struct {
	surface *Surface
	known   *Catalogs
	out     []json.RawMessage
	err     error
}

// addMessage adds a message {"version": …, kind: body}. Messages of v0.8 have no
// version.
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

// catalogID returns the catalog of the surface: the first that it names, otherwise
// the basic one of the version.
func (e *surfaceEncoder) catalogID(v Version) string {
	if len(e.surface.Catalogs) > 0 {
		return e.surface.Catalogs[0]
	}
	return BasicCatalogID(v)
}

// dataOrEmpty returns the data of the surface, which is always an object.
func (e *surfaceEncoder) dataOrEmpty() json.RawMessage {
	if len(e.surface.Data) == 0 {
		return json.RawMessage("{}")
	}
	return e.surface.Data
}

// encodeComponents parses each component and converts it with write.
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

// encodeV09 adds messages in the form that Surface has:
//
//	{"version": "v0.9", "createSurface": {"surfaceId": …, "catalogId": …}}
//	{"version": "v0.9", "updateComponents": {"surfaceId": …, "components": […]}}
//	{"version": "v0.9", "updateDataModel": {"surfaceId": …, "path": "/", "value": {…}}}
func (e *surfaceEncoder) encodeV09() {
	s := e.surface
	e.addMessage(V09, "createSurface", map[string]any{"surfaceId": s.ID, "catalogId": e.catalogID(V09)})
	e.addMessage(V09, "updateComponents", map[string]any{"surfaceId": s.ID, "components": s.Components})
	e.addMessage(V09, "updateDataModel", map[string]any{"surfaceId": s.ID, "path": "/", "value": e.dataOrEmpty()})
}

// encodeV10 adds the one message of v1.0. In it components name their catalog,
// headings are Markdown, and the condition of a check must be a function call:
//
//	{"version": "v1.0", "createSurface": {"surfaceId": …, "catalogId": …, "components": […], "dataModel": {…}}}
func (e *surfaceEncoder) encodeV10() error {
	s := e.surface
	components, err := e.encodeComponents(func(c component, props map[string]any) (map[string]any, error) {
		out := convertToV10(c.name, props)
		out["id"], out["component"] = c.id, c.name
		if _, of, ok := e.known.Component(c.name); ok {
			// Only a component of another catalog than the surface's names its own.
			if id := of.ID; !of.HasID(e.catalogID(V10)) {
				if of.Basic {
					id = BasicCatalogID(V10)
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

// decodeProperties decodes the values of properties.
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

// convertToV10 converts the properties of a component to v1.0, in place.
func convertToV10(name string, props map[string]any) map[string]any {
	for key, v := range props {
		props[key] = removeReturnTypes(v)
	}
	// v1.0 allows only these members and rejects the component otherwise.
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
	// v1.0 has a check with the function regex in its place.
	if pattern, ok := props["validationRegexp"]; ok && name == "TextField" {
		delete(props, "validationRegexp")
		checks, _ := props["checks"].([]any)
		if value, bound := props["value"]; bound {
			props["checks"] = append(checks, map[string]any{"condition": map[string]any{"call": "regex", "args": map[string]any{"value": value, "pattern": pattern}}})
		}
	}
	// A literal condition becomes a call with the same value: not(not value).
	if checks, ok := props["checks"].([]any); ok {
		for _, one := range checks {
			if o, ok := one.(map[string]any); ok && isBool(o["condition"]) {
				o["condition"] = map[string]any{"call": "not", "args": map[string]any{"value": o["condition"] != true}}
			}
		}
	}
	return props
}

// removeReturnTypes removes the return type from function calls, which v1.0 takes
// from the function's definition.
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

// convertHeading turns a Text with a heading variant into a line of Markdown, the
// only form of headings in v1.0.
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
