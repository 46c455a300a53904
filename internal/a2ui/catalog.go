package a2ui

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// Catalog is a set of components. Its id is a URI that need not resolve. Every
// catalog is used together with the basic one.
type Catalog struct {
	ID          string
	Aliases     []string // other ids of the same catalog
	Namespace   string   // of its components; "" if their names have none
	Basic       bool     // A2UI's own catalog, which every client has
	Title       string   // name for people
	Description string   // purpose in one sentence
	Registered  bool     // registered by a user: only a client that names it counts as having it
	Components  []Component
}

// HasID reports whether an id is that of the catalog, or an alias.
func (c *Catalog) HasID(id string) bool { return id == c.ID || slices.Contains(c.Aliases, id) }

// Component is a component of a catalog: its name, with the namespace, and its
// properties.
type Component struct {
	Name        string
	Description string
	Properties  []Property

	// Fallback replaces the component for clients that do not know it. It consists
	// of components of the basic catalog, in the flat form; see Expand. nil means
	// none.
	Fallback []json.RawMessage
}

// Property is a property of a component.
type Property struct {
	Name        string
	Kind        Kind
	Required    bool
	Choices     []string // allowed values of a Choice
	Description string
}

// Kind is the type of a property's value.
type Kind uint8

// Kinds. The value of a bound kind may also be {"path": …}, which refers to the
// data, or a function call.
const (
	// BoundText is a text, or bound to one.
	BoundText Kind = iota + 1
	// BoundNumber is a number, or bound to one.
	BoundNumber
	// BoundFlag is true or false, or bound to one of them.
	BoundBool
	// BoundTexts is a list of texts, or bound to one.
	BoundTexts
	// BoundValue is any value except an object, or bound to one.
	BoundValue
	// BoundObject is a JSON object whose members are literals or bound.
	BoundObject
	// BoundDate is a date, a time with its offset, or both, as RFC 3339 writes them,
	// or bound to one.
	BoundDate
	// PlainText is a text.
	PlainText
	// PlainNumber is a number.
	PlainNumber
	// PlainFlag is true or false.
	PlainBool
	// PlainObject is a JSON object.
	PlainObject
	// Choice is one of Property.Choices.
	Choice
	// IconName is one of Property.Choices, a drawing {"svgPath": …}, or bound to one.
	IconName
	// Child is the id of a component.
	Child
	// Children is a list of ids, or {"componentId": …, "path": …}: the component is
	// repeated for each element of a list in the data.
	Children
	// TabList is [{"title": text, "child": id}].
	TabList
	// OptionList is [{"label": text, "value": text}].
	OptionList
	// OnAction is {"event": …} or {"functionCall": …}.
	OnAction
	// Checks is [{"condition": flag, "message": text}].
	Checks
)

// commonProperties returns the properties that every component has.
func commonProperties() []Property {
	return []Property{{Name: "weight", Kind: PlainNumber}, {Name: "accessibility", Kind: PlainObject}}
}

// Catalogs holds the known components by name. It is never changed after its
// creation, so it is safe for concurrent use.
type Catalogs struct {
	list   []Catalog
	byName map[string]componentIndex
}

// componentIndex is the position of a component in Catalogs.list.
type componentIndex struct{ catalog, component int }

// NewCatalogs returns the given catalogs as one set. The error has CodeConflict if
// two of them share an id, a namespace or the name of a component.
func NewCatalogs(list ...Catalog) (*Catalogs, error) {
	c := &Catalogs{byName: map[string]componentIndex{}}
	for i := range list {
		if err := c.addCatalog(&list[i]); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// addCatalog adds a catalog. NewCatalogs discards the set if it fails.
func (c *Catalogs) addCatalog(one *Catalog) error {
	for _, id := range append([]string{one.ID}, one.Aliases...) {
		if other, ok := c.Catalog(id); ok || id == "" {
			return junctor.Errorf(junctor.CodeConflict, "the catalog id %q is empty, or in use by %q", id, other.ID)
		}
	}
	for i := range c.list {
		if one.Namespace != "" && c.list[i].Namespace == one.Namespace {
			return junctor.Errorf(junctor.CodeConflict, "the namespace %q is already in use by the catalog %s", one.Namespace, c.list[i].ID)
		}
	}
	for i, k := range one.Components {
		// A name outside the catalog's namespace could take the place of a
		// component that another catalog has, or will have.
		space, _, err := SplitComponentName(k.Name)
		switch _, taken := c.byName[k.Name]; {
		case err != nil:
			return err
		case space != one.Namespace:
			return junctor.Errorf(junctor.CodeInvalid, "the component %q does not have the namespace %q of its catalog %s", k.Name, one.Namespace, one.ID)
		case taken:
			return junctor.Errorf(junctor.CodeConflict, "another catalog has a component %q already, so the catalog %s cannot have it", k.Name, one.ID)
		}
		c.byName[k.Name] = componentIndex{len(c.list), i}
	}
	c.list = append(c.list, *one)
	return nil
}

// With returns a new set with more catalogs.
func (c *Catalogs) With(more ...Catalog) (*Catalogs, error) {
	return NewCatalogs(append(c.All(), more...)...)
}

// All returns a copy of the list of catalogs.
func (c *Catalogs) All() []Catalog { return slices.Clone(c.list) }

// Catalog returns the catalog with an id or alias.
func (c *Catalogs) Catalog(id string) (Catalog, bool) {
	for i := range c.list {
		if c.list[i].HasID(id) {
			return c.list[i], true
		}
	}
	return Catalog{}, false
}

// Component returns the component with a name, and its catalog.
func (c *Catalogs) Component(name string) (Component, Catalog, bool) {
	at, ok := c.byName[name]
	if !ok {
		return Component{}, Catalog{}, false
	}
	return c.list[at.catalog].Components[at.component], c.list[at.catalog], true
}

// explainUnknown returns the reason why a component is unknown.
func (c *Catalogs) explainUnknown(name string) string {
	space, own, err := SplitComponentName(name)
	switch {
	case err != nil:
		return err.Error()
	case space == "":
		return fmt.Sprintf("there is no component %s in any known catalog", own)
	}
	for i := range c.list {
		if c.list[i].Namespace == space {
			return fmt.Sprintf("the catalog %s has no component %s", c.list[i].ID, own)
		}
	}
	return fmt.Sprintf("no known catalog has the namespace %s of the component %s", space, name)
}

// Patterns of names. They are strict, because names appear in URIs, in error
// messages and in the prompts of models.
var (
	namespacePattern = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)
	componentPattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)
	propertyPattern  = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,63}$`)
)

// SplitComponentName splits a component's name: googlemaps:MapView is MapView in the
// namespace googlemaps; Text has no namespace. A name has at most one colon, so
// that it can be split in only one way.
func SplitComponentName(name string) (namespace, own string, err error) {
	own = name
	if before, after, ok := strings.Cut(name, ":"); ok {
		namespace, own = before, after
		if !namespacePattern.MatchString(namespace) {
			return "", "", junctor.Errorf(junctor.CodeInvalid, "%q is not the name of a component: the namespace before the colon must have only lower-case letters, digits and hyphens", truncateText(name))
		}
	}
	if !componentPattern.MatchString(own) {
		return "", "", junctor.Errorf(junctor.CodeInvalid, "%q is not the name of a component: use Name or namespace:Name, with letters and digits", truncateText(name))
	}
	return namespace, own, nil
}

// truncateText shortens a text for an error message.
func truncateText(text string) string { return junctor.ShortenText(text, 80) }
