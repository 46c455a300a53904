package a2ui

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	strict "github.com/go-json-experiment/json"

	junctor "github.com/junctor-mcp/junctor"
)

// Bounds of a registered catalog.
const (
	MaxCatalogBytes      = 256 << 10
	maxCatalogComponents = 200
	maxProperties        = 50
	maxChoices           = 100
	maxTextBytes         = 1000
)

// commonTypesURI is the prefix of references to A2UI's own types.
const commonTypesURI = "https://a2ui.org/specification/v0_9/common_types.json#/$defs/"

// catalogDocument is a catalog in the format of A2UI v0.9: JSON Schemas of
// components by name. The member fallbacks is an extension of ours, which other
// clients ignore:
//
//	{
//	  "catalogId": "https://example.com/catalogs/fleet-v1.json",
//	  "components": {
//	    "fleet:Truck": {"properties": {"plate": {"type": "string"}}, "required": ["plate"]}
//	  },
//	  "fallbacks": {
//	    "fleet:Truck": [{"id": "root", "component": "Text", "text": {"property": "plate"}}]
//	  }
//	}
type catalogDocument struct {
	Schema     string                       `json:"$schema,omitempty"`
	URI        string                       `json:"$id,omitempty"`
	Title      string                       `json:"title,omitempty"`
	About      string                       `json:"description,omitempty"`
	ID         string                       `json:"catalogId,omitempty"`
	Components map[string]json.RawMessage   `json:"components"`
	Fallbacks  map[string][]json.RawMessage `json:"fallbacks,omitempty"`
	Functions  json.RawMessage              `json:"functions,omitempty"`
	Defs       json.RawMessage              `json:"$defs,omitempty"`
}

// Document returns the catalog in the format of A2UI v0.9, from which a client
// learns the components and their properties.
func (c *Catalog) Document() (json.RawMessage, error) {
	doc := catalogDocument{
		Schema: "https://json-schema.org/draft/2020-12/schema", URI: c.ID, Title: c.Title, About: c.Description, ID: c.ID,
		Components: map[string]json.RawMessage{}, Fallbacks: map[string][]json.RawMessage{},
	}
	// Clients validate a component against the one schema whose name it has.
	choices := []any{}
	for i := range c.Components {
		one := &c.Components[i]
		text, err := json.Marshal(one.toSchema())
		if err != nil {
			return nil, err
		}
		doc.Components[one.Name] = text
		if one.Fallback != nil {
			doc.Fallbacks[one.Name] = one.Fallback
		}
		choices = append(choices, map[string]any{"$ref": "#/components/" + one.Name})
	}
	var err error
	doc.Defs, err = json.Marshal(map[string]any{
		"CatalogComponentCommon": map[string]any{"type": "object", "properties": map[string]any{"weight": map[string]any{"type": "number", "description": "The share of the room in a Row or Column."}}},
		"anyComponent":           map[string]any{"oneOf": choices, "discriminator": map[string]any{"propertyName": "component"}},
	})
	if err != nil {
		return nil, err
	}
	return json.MarshalIndent(doc, "", "  ")
}

// toSchema returns the JSON Schema of a component.
func (c *Component) toSchema() map[string]any {
	properties, required := map[string]any{"component": map[string]any{"const": c.Name}}, []string{"component"}
	for i := range c.Properties {
		p := &c.Properties[i]
		one := p.toSchema()
		if p.Description != "" {
			one["description"] = p.Description
		}
		properties[p.Name] = one
		if p.Required {
			required = append(required, p.Name)
		}
	}
	out := map[string]any{
		"type": "object",
		"allOf": []any{
			map[string]any{"$ref": commonTypesURI + "ComponentCommon"},
			map[string]any{"$ref": "#/$defs/CatalogComponentCommon"},
			map[string]any{"type": "object", "properties": properties, "required": required},
		},
		"unevaluatedProperties": false,
	}
	if c.Description != "" {
		out["description"] = c.Description
	}
	return out
}

// typeNameByKind returns the A2UI types of those kinds that have one.
func typeNameByKind() map[Kind]string {
	return map[Kind]string{
		BoundText: "DynamicString", BoundNumber: "DynamicNumber", BoundBool: "DynamicBoolean", BoundTexts: "DynamicStringList", BoundValue: "DynamicValue",
		Child: "ComponentId", Children: "ChildList", OnAction: "Action",
	}
}

// toSchema returns the JSON Schema of a property.
func (p *Property) toSchema() map[string]any {
	if ref := typeNameByKind()[p.Kind]; ref != "" {
		return map[string]any{"$ref": commonTypesURI + ref}
	}
	switch p.Kind { //nolint:exhaustive // other kinds occur only in the basic catalog, which A2UI publishes itself
	case PlainNumber:
		return map[string]any{"type": "number"}
	case PlainBool:
		return map[string]any{"type": "boolean"}
	case PlainObject:
		return map[string]any{"type": "object"}
	case BoundObject:
		return map[string]any{"type": "object", "additionalProperties": map[string]any{"$ref": commonTypesURI + "DynamicValue"}}
	case Choice:
		return map[string]any{"type": "string", "enum": p.Choices}
	}
	return map[string]any{"type": "string"}
}

// ReadCatalog parses a catalog that a user registers. id is used if the document
// has none. All components must be in one namespace, so that they cannot replace
// others, and use only types of A2UI. The error has CodeInvalid or CodeTooLarge and
// names the place in the document.
func ReadCatalog(text []byte, id string) (Catalog, error) {
	if len(text) > MaxCatalogBytes {
		return Catalog{}, junctor.Errorf(junctor.CodeTooLarge, "the catalog has %d KiB; at most %d KiB are allowed", len(text)>>10, MaxCatalogBytes>>10)
	}
	var doc catalogDocument
	if err := strict.Unmarshal(text, &doc, strict.RejectUnknownMembers(true)); err != nil {
		return Catalog{}, newCatalogError("this is not a catalog of A2UI v0.9, which is a JSON object with catalogId, components and fallbacks: %v", err)
	}
	c := Catalog{ID: doc.ID, Title: doc.Title, Description: doc.About, Registered: true}
	if c.ID == "" {
		c.ID = id
	}
	if err := checkCatalogID(c.ID); err != nil {
		return Catalog{}, err
	}
	switch {
	case len(doc.Title) > maxTextBytes || len(doc.About) > maxTextBytes:
		return Catalog{}, newCatalogError("title and description must have at most %d bytes", maxTextBytes)
	case len(doc.Components) == 0 || len(doc.Components) > maxCatalogComponents:
		return Catalog{}, newCatalogError("components has %d members: it must have 1 to %d", len(doc.Components), maxCatalogComponents)
	}
	// In order of the names, so that the same document always gives the same error.
	for _, name := range sortedKeys(doc.Components) {
		space, _, err := SplitComponentName(name)
		switch {
		case err != nil:
			return Catalog{}, newCatalogError("components: %v", err)
		case space == "":
			return Catalog{}, newCatalogError("components.%s: the name must begin with a namespace, such as fleet:%s", name, name)
		// The first component decides the namespace of the catalog.
		case c.Namespace == "":
			c.Namespace = space
		case c.Namespace != space:
			return Catalog{}, newCatalogError("components.%s: all components of a catalog must have the same namespace, and others have %s", name, c.Namespace)
		}
		one, err := parseComponentSchema(name, doc.Components[name])
		if err != nil {
			return Catalog{}, newCatalogError("components.%s%v", name, err)
		}
		one.Fallback = doc.Fallbacks[name]
		if err := one.checkFallback(); err != nil {
			return Catalog{}, newCatalogError("fallbacks.%s: %v", name, err)
		}
		c.Components = append(c.Components, one)
	}
	for _, name := range sortedKeys(doc.Fallbacks) {
		if _, ok := doc.Components[name]; !ok {
			return Catalog{}, newCatalogError("fallbacks.%s: components has no component with this name", truncateText(name))
		}
	}
	return c, nil
}

// newCatalogError returns an error about a catalog.
func newCatalogError(format string, args ...any) error {
	return junctor.Errorf(junctor.CodeInvalid, "the catalog: "+format, args...)
}

// checkCatalogID checks the id of a catalog. Clients may load it or show it as a link, so
// it is judged like the address of a server: http or https, without a password. It also
// has no spaces or quotes, because it appears in messages and prompts.
func checkCatalogID(id string) error {
	u, err := url.Parse(id)
	switch {
	case err == nil && u.User != nil:
		return newCatalogError("catalogId must not contain a user or a password") // and the error must not either
	case err == nil && u.Fragment != "":
		return newCatalogError("catalogId %q must not have a fragment", truncateText(id))
	case len(id) > 300 || junctor.CheckServerURL(id) != nil || strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r == '"' || r == '<' || r == '>' || r == 0x7f }):
		return newCatalogError("catalogId %q: write an http or https address of up to 300 characters, such as https://example.com/catalogs/fleet-v1.json", truncateText(id))
	}
	return nil
}

// componentSchema is the supported part of a component's JSON Schema. Other members
// are errors, because ignoring one would accept values that the author excluded.
type componentSchema struct {
	Type       string                     `json:"type"`
	About      string                     `json:"description"`
	Ref        string                     `json:"$ref"`
	All        []componentSchema          `json:"allOf"`
	Properties map[string]json.RawMessage `json:"properties"`
	Required   []string                   `json:"required"`
	Closed     json.RawMessage            `json:"unevaluatedProperties"`
	Additional json.RawMessage            `json:"additionalProperties"`
}

// parseComponentSchema parses the schema of a component. The text of an error
// continues the path to the component.
func parseComponentSchema(name string, text json.RawMessage) (Component, error) {
	var schema componentSchema
	if err := strict.Unmarshal(text, &schema, strict.RejectUnknownMembers(true)); err != nil {
		return Component{}, fmt.Errorf(": a schema can have only description, properties, required and allOf: %w", err)
	}
	out := Component{Name: name, Description: schema.About}
	if len(out.Description) > maxTextBytes {
		return Component{}, fmt.Errorf(".description has more than %d bytes", maxTextBytes)
	}
	required := map[string]bool{}
	// A schema is flat, or has its properties in the members of allOf, as A2UI's
	// own.
	for _, part := range append([]componentSchema{schema}, schema.All...) {
		if err := out.parseSchemaPart(&part, required); err != nil {
			return Component{}, err
		}
	}
	if len(out.Properties) > maxProperties {
		return Component{}, fmt.Errorf(".properties has %d members; at most %d are allowed", len(out.Properties), maxProperties)
	}
	for _, one := range sortedKeys(required) {
		i := slices.IndexFunc(out.Properties, func(p Property) bool { return p.Name == one })
		if i < 0 {
			return Component{}, fmt.Errorf(".required names %q, and there is no such property", truncateText(one))
		}
		out.Properties[i].Required = true
	}
	return out, nil
}

// parseSchemaPart adds the properties of one part of a schema: the whole, or a
// member of its allOf. It collects required names, because they can be listed
// before their properties.
func (c *Component) parseSchemaPart(part *componentSchema, required map[string]bool) error {
	switch {
	case strings.HasSuffix(part.Ref, "/ComponentCommon"), strings.HasSuffix(part.Ref, "/CatalogComponentCommon"), part.Ref == "":
	case strings.HasSuffix(part.Ref, "/Checkable"):
		c.Properties = append(c.Properties, Property{Name: "checks", Kind: Checks})
	default:
		return fmt.Errorf(".allOf: $ref %q: it must be ComponentCommon, CatalogComponentCommon or Checkable", truncateText(part.Ref))
	}
	for _, name := range sortedKeys(part.Properties) {
		if slices.Contains([]string{"id", "component", "weight", "accessibility"}, name) {
			continue // every component has them
		}
		if !propertyPattern.MatchString(name) {
			return fmt.Errorf(".properties: %q is not a valid name: use letters, digits and underscores", truncateText(name))
		}
		p, err := parsePropertySchema(name, part.Properties[name])
		if err != nil {
			return fmt.Errorf(".properties.%s: %w", name, err)
		}
		if slices.ContainsFunc(c.Properties, func(o Property) bool { return o.Name == name }) {
			return fmt.Errorf(".properties has %s twice", name)
		}
		c.Properties = append(c.Properties, p)
	}
	for _, name := range part.Required {
		if name != "component" && name != "id" {
			required[name] = true
		}
	}
	return nil
}

// parsePropertySchema parses the schema of a property. A reference counts by its
// last segment, because versions of A2UI differ only in the URI before it.
func parsePropertySchema(name string, text json.RawMessage) (Property, error) {
	var schema struct {
		Ref        string          `json:"$ref"`
		Type       string          `json:"type"`
		About      string          `json:"description"`
		Words      []string        `json:"enum"`
		Default    json.RawMessage `json:"default"`
		Additional json.RawMessage `json:"additionalProperties"`
	}
	if err := strict.Unmarshal(text, &schema, strict.RejectUnknownMembers(true)); err != nil {
		return Property{}, fmt.Errorf("a property can have only $ref or type, description, enum and default: %w", err)
	}
	p := Property{Name: name, Description: schema.About, Choices: schema.Words}
	// Only the last segment counts; see above.
	for kind, ref := range typeNameByKind() {
		if schema.Ref != "" && schema.Ref[strings.LastIndex(schema.Ref, "/")+1:] == ref {
			p.Kind = kind
		}
	}
	switch {
	case len(p.Description) > maxTextBytes:
		return p, fmt.Errorf("the description has more than %d bytes", maxTextBytes)
	case len(p.Choices) > maxChoices:
		return p, fmt.Errorf("enum has %d words; at most %d are allowed", len(p.Choices), maxChoices)
	case p.Kind != 0:
	case schema.Type == "string" && len(p.Choices) > 0:
		p.Kind = Choice
	case schema.Type == "string":
		p.Kind = PlainText
	case schema.Type == "number" || schema.Type == "integer":
		p.Kind = PlainNumber
	case schema.Type == "boolean":
		p.Kind = PlainBool
	case schema.Type == "object" && strings.Contains(string(schema.Additional), "/DynamicValue"):
		p.Kind = BoundObject
	case schema.Type == "object":
		p.Kind = PlainObject
	default:
		return p, fmt.Errorf("the type is unknown: use the type string, number, boolean or object, or a $ref to %s with one of DynamicString, DynamicNumber, DynamicBoolean, DynamicStringList, DynamicValue, ComponentId, ChildList and Action", commonTypesURI+"…")
	}
	return p, nil
}
