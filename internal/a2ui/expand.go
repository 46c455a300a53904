package a2ui

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	strict "github.com/go-json-experiment/json"
)

// A fallback says how a component looks to a client that does not know it. It
// consists of components of the basic catalog, one of which has the id root. A
// value {"property": NAME} in it is replaced by the component's property of that
// name. A registered catalog is therefore only data: components that every client
// has draw it, and nothing of it is executed.
//
// maxFallbackComponents bounds a fallback.
const maxFallbackComponents = 100

// Expand returns a surface in which fallbacks replace the registered components
// that a client does not have. knows reports whether the client has a catalog. A
// component without a fallback stays, and clients draw a placeholder. Expand does
// not change s, and returns s itself if nothing had to be replaced.
func (c *Catalogs) Expand(s *Surface, knows func(id string) bool) (*Surface, error) {
	out := *s
	out.Components, out.Catalogs = nil, nil
	changed := false
	stays := map[string]bool{} // catalogs of which a component is left
	for _, raw := range s.Components {
		one, err := parseComponent(raw)
		if err != nil {
			return nil, err
		}
		kind, catalog, ok := c.Component(one.name)
		if !ok || !catalog.Registered || kind.Fallback == nil || knows(catalog.ID) {
			out.Components = append(out.Components, raw)
			stays[catalog.ID] = stays[catalog.ID] || ok
			continue
		}
		changed = true
		expanded, err := kind.expandFallback(one)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", one.id, err)
		}
		out.Components = append(out.Components, expanded...)
	}
	if !changed {
		return s, nil
	}
	// A catalog of which every component was replaced is no longer needed to draw
	// the surface. Leaving it in the list would make clients reject the surface.
	for _, id := range s.Catalogs {
		if catalog, ok := c.Catalog(id); !ok || !catalog.Registered || stays[catalog.ID] {
			out.Catalogs = append(out.Catalogs, id)
		}
	}
	// A surface within the bounds can exceed them with its fallbacks.
	if err := out.FirstProblem(out.Check(c), GradeBroken); err != nil {
		return nil, err
	}
	return &out, nil
}

// fallbackPart is a component of a fallback while it is filled in.
type fallbackPart struct {
	id, name string
	props    map[string]any
}

// expandFallback returns the components that replace one component. The root of the
// fallback gets the component's id, so that references to it still work. The others
// get ids below that.
func (k *Component) expandFallback(one component) ([]json.RawMessage, error) {
	values := map[string]any{}
	for name, raw := range one.props {
		v, err := decodeWithNumbers(raw)
		if err != nil {
			return nil, err
		}
		values[name] = v
	}
	known := newBasicCatalogs()
	parts := make([]fallbackPart, 0, len(k.Fallback))
	for _, raw := range k.Fallback {
		inner, err := parseComponent(raw)
		if err != nil {
			return nil, err
		}
		kind, _, ok := known.Component(inner.name)
		if !ok {
			return nil, fmt.Errorf("%s is not a component of the basic catalog", inner.name)
		}
		p := fallbackPart{id: nestedID(one.id, inner.id), name: inner.name, props: map[string]any{}}
		for name, raw := range inner.props {
			v, err := decodeWithNumbers(raw)
			if err != nil {
				return nil, err
			}
			// The order matters: ids are rewritten before values of the component
			// are filled in, because these refer to components of the surface and
			// keep their ids.
			target := propertyKind(&kind, name)
			if v, ok := fillProperties(rewriteIDs(v, target, one.id), values); ok {
				p.props[name] = convertToKind(v, target)
			}
		}
		if inner.id == RootID {
			// The root takes the place of the component in its parent, so it
			// inherits the properties that concern the parent.
			for _, name := range []string{"weight", "accessibility"} {
				if v, ok := values[name]; ok && p.props[name] == nil {
					p.props[name] = v
				}
			}
		}
		parts = append(parts, p)
	}
	parts = removeIncomplete(parts, one.id, known)
	out := make([]json.RawMessage, 0, len(parts))
	for _, p := range parts {
		p.props["id"], p.props["component"] = p.id, p.name
		text, err := json.Marshal(p.props)
		if err != nil {
			return nil, err
		}
		out = append(out, text)
	}
	return out, nil
}

// newBasicCatalogs returns the set with only A2UI's own catalog.
func newBasicCatalogs() *Catalogs {
	c, err := NewCatalogs(newBasicCatalog())
	if err != nil {
		return &Catalogs{} // cannot happen: a test checks it
	}
	return c
}

// nestedID returns the id in the surface of a fallback's component.
func nestedID(outer, inner string) string {
	if inner == RootID {
		return outer
	}
	return outer + "/" + inner
}

// propertyKind returns the kind of a property; 0 if the component has none of that
// name.
func propertyKind(c *Component, property string) Kind {
	for _, p := range append(c.Properties, commonProperties()...) {
		if p.Name == property {
			return p.Kind
		}
	}
	return 0
}

// rewriteIDs replaces ids of the fallback in a value by those of the surface.
func rewriteIDs(v any, kind Kind, outer string) any {
	inner := func(v any) any {
		if id, ok := v.(string); ok {
			return nestedID(outer, id)
		}
		return v
	}
	switch kind { //nolint:exhaustive // other kinds refer to no components
	case Child:
		return inner(v)
	case Children:
		if list, ok := v.([]any); ok {
			for i := range list {
				list[i] = inner(list[i])
			}
		} else if o, ok := v.(map[string]any); ok && o["componentId"] != nil {
			o["componentId"] = inner(o["componentId"])
		}
	case TabList:
		list, _ := v.([]any)
		for _, one := range list {
			if o, ok := one.(map[string]any); ok {
				o["child"] = inner(o["child"])
			}
		}
	}
	return v
}

// propertyReference returns the name in {"property": NAME}; "" for any other value.
func propertyReference(v any) string {
	o, _ := v.(map[string]any)
	name, _ := o["property"].(string)
	if len(o) != 1 {
		return ""
	}
	return name
}

// fillProperties replaces references to properties by their values. ok is false if
// the value is a reference to an absent property; it is then left out.
func fillProperties(v any, values map[string]any) (out any, ok bool) {
	if name := propertyReference(v); name != "" {
		out, ok = values[name]
		return out, ok
	}
	switch v := v.(type) {
	case map[string]any:
		filled := map[string]any{}
		for name, inner := range v {
			if inner, ok := fillProperties(inner, values); ok {
				filled[name] = inner
			}
		}
		return filled, true
	case []any:
		filled := make([]any, 0, len(v))
		for _, inner := range v {
			if inner, ok := fillProperties(inner, values); ok {
				filled = append(filled, inner)
			}
		}
		return filled, true
	}
	return v, true
}

// convertToKind adapts a filled-in value to the kind of its target: numbers and
// booleans become text where text is required, and children of a bound list get the
// path of the list.
func convertToKind(v any, kind Kind) any {
	if o, ok := v.(map[string]any); ok && kind == Children {
		if bound, ok := o["path"].(map[string]any); ok && isPath(bound) {
			o["path"] = bound["path"]
		}
	}
	if kind != BoundText {
		return v
	}
	switch v := v.(type) {
	case json.Number:
		return v.String()
	case bool:
		return fmt.Sprint(v)
	}
	return v
}

// removeIncomplete removes components that lack a required property, and references
// to them, until all that are left are complete. A root that would be removed
// becomes an empty column.
func removeIncomplete(parts []fallbackPart, root string, known *Catalogs) []fallbackPart {
	for {
		// Every round removes at least one component, so the loop ends.
		gone := map[string]bool{}
		for _, p := range parts {
			kind, _, _ := known.Component(p.name)
			if slices.ContainsFunc(kind.Properties, func(need Property) bool { return need.Required && p.props[need.Name] == nil }) {
				gone[p.id] = true
			}
		}
		if len(gone) == 0 {
			return parts
		}
		parts = slices.DeleteFunc(parts, func(p fallbackPart) bool { return gone[p.id] })
		if gone[root] {
			parts = append(parts, fallbackPart{id: root, name: "Column", props: map[string]any{"children": []any{}}})
		}
		for _, p := range parts {
			kind, _, _ := known.Component(p.name)
			for _, own := range kind.Properties {
				if v, ok := p.props[own.Name]; ok {
					if v, ok = removeReferences(v, own.Kind, gone, root); ok {
						p.props[own.Name] = v
					} else {
						delete(p.props, own.Name)
					}
				}
			}
		}
	}
}

// removeReferences removes references to removed components from a value. ok is
// false if nothing is left of it.
func removeReferences(v any, kind Kind, gone map[string]bool, root string) (any, bool) {
	isGone := func(v any) bool { id, _ := v.(string); return gone[id] && id != root }
	switch kind { //nolint:exhaustive // other kinds refer to no components
	case Child:
		return v, !isGone(v)
	case Children:
		if list, ok := v.([]any); ok {
			return slices.DeleteFunc(list, isGone), true
		}
		o, _ := v.(map[string]any)
		return v, !isGone(o["componentId"])
	case TabList:
		list, _ := v.([]any)
		list = slices.DeleteFunc(list, func(one any) bool { o, _ := one.(map[string]any); return isGone(o["child"]) })
		return list, len(list) > 0
	}
	return v, true
}

// checkFallback checks that the fallback makes a valid surface, both with all
// properties of the component and with only the required ones.
func (k *Component) checkFallback() error {
	if k.Fallback == nil {
		return nil
	}
	if len(k.Fallback) > maxFallbackComponents {
		return fmt.Errorf("it has %d components; at most %d are allowed", len(k.Fallback), maxFallbackComponents)
	}
	root, known := false, newBasicCatalogs()
	for i, raw := range k.Fallback {
		inner, err := parseComponent(raw)
		if err != nil {
			return fmt.Errorf("component %d: %w", i+1, err)
		}
		if _, _, ok := known.Component(inner.name); !ok {
			return fmt.Errorf("component %d: %s is not in the basic catalog of A2UI: a fallback can use only components of that catalog", i+1, truncateText(inner.name))
		}
		root = root || inner.id == RootID
		var v any
		if err := strict.Unmarshal(raw, &v); err != nil {
			return err
		}
		if name := k.unknownProperty(v); name != "" {
			return fmt.Errorf("component %d: {\"property\": %q}: the component has no such property", i+1, truncateText(name))
		}
	}
	if !root {
		return errors.New(`no component has the id "root", with which a surface begins`)
	}
	// A fallback that works only with optional properties would break at the first
	// surface without them.
	for _, all := range []bool{true, false} {
		if err := k.tryFallback(all); err != nil {
			return err
		}
	}
	return nil
}

// unknownProperty returns the first name in {"property": NAME} that is not a
// property of the component; "" if there is none.
func (k *Component) unknownProperty(v any) string {
	if name := propertyReference(v); name != "" {
		if slices.ContainsFunc(k.Properties, func(p Property) bool { return p.Name == name }) {
			return ""
		}
		return name
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range sortedKeys(v) {
			if found := k.unknownProperty(v[name]); found != "" {
				return found
			}
		}
	case []any:
		for _, one := range v {
			if found := k.unknownProperty(one); found != "" {
				return found
			}
		}
	}
	return ""
}

// tryFallback expands the component with sample values, in all properties or only
// in the required ones, and checks the resulting surface.
func (k *Component) tryFallback(all bool) error {
	one := component{id: "sample", name: k.Name, props: map[string]json.RawMessage{}}
	for i := range k.Properties {
		if p := &k.Properties[i]; p.Required || all {
			one.props[p.Name] = p.sampleValue()
		}
	}
	expanded, err := k.expandFallback(one)
	if err != nil {
		return err
	}
	s := Surface{ID: "sample", Components: append(expanded,
		json.RawMessage(`{"id":"root","component":"Column","children":["sample"]}`), json.RawMessage(`{"id":"child","component":"Divider"}`))}
	return s.FirstProblem(s.Check(newBasicCatalogs()), GradeBroken, GradeWrong, GradeUnknown)
}

// sampleValue returns a valid value of the property.
func (p *Property) sampleValue() json.RawMessage {
	switch p.Kind { //nolint:exhaustive // all other kinds are bound
	case PlainText:
		return json.RawMessage(`"text"`)
	case PlainNumber:
		return json.RawMessage(`1`)
	case PlainBool:
		return json.RawMessage(`true`)
	case PlainObject, BoundObject:
		return json.RawMessage(`{}`)
	case Choice:
		text, err := json.Marshal(p.Choices[0])
		if err != nil {
			return json.RawMessage(`""`)
		}
		return text
	case Child:
		return json.RawMessage(`"child"`)
	case Children:
		return json.RawMessage(`["child"]`)
	case OnAction:
		return json.RawMessage(`{"event":{"name":"sample"}}`)
	case Checks:
		return json.RawMessage(`[]`)
	}
	return json.RawMessage(`{"path":"/sample"}`)
}
