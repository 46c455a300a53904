package a2ui

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// Catalog is a set of components under an id, which is a name and need not
// resolve. Every catalogue stands beside the basic one.
type Catalog struct {
	ID         string
	Aliases    []string // other ids of the same
	Namespace  string   // of its components; "" where their names are their own
	Basic      bool     // it is A2UI's own, which every client has
	Title      string   // its name for people
	About      string   // what it is for, in a sentence
	Registered bool     // somebody brought it: only a client that names it is taken to have it
	Components []Component
}

// Is says whether an id is the catalogue's.
func (c *Catalog) Is(id string) bool { return id == c.ID || slices.Contains(c.Aliases, id) }

// Component is what a catalogue says of one: its name, with the namespace, and
// what it takes.
type Component struct {
	Name       string
	About      string
	Properties []Property

	// Fallback is components of the basic catalogue that stand for it where nobody
	// knows it, in the flat form; see Expand. nil: there is none.
	Fallback []json.RawMessage
}

// Property is one thing that a component takes.
type Property struct {
	Name     string
	Kind     Kind
	Required bool
	Words    []string // of a Choice
	About    string
}

// Kind is what a property may hold.
type Kind uint8

// Kinds. What is bound may also be {"path": …} into the data, or a call of a
// function.
const (
	BoundText   Kind = iota + 1 // a text, bound
	BoundNumber                 // a number, bound
	BoundFlag                   // true or false, bound
	BoundTexts                  // a list of texts, bound
	BoundValue                  // anything, bound
	BoundObject                 // a JSON object whose members are bound
	BoundDate                   // a date, a time with its offset or both, as RFC 3339 writes them, bound
	PlainText                   // a text
	PlainNumber                 // a number
	PlainFlag                   // true or false
	PlainObject                 // a JSON object
	Choice                      // one of the words
	IconName                    // a text, bound, or {"svgPath": …}
	Child                       // the id of a component
	Children                    // ids, or {"componentId": …, "path": …}: one for each member of a list
	TabList                     // [{"title": text, "child": id}]
	OptionList                  // [{"label": text, "value": text}]
	OnAction                    // {"event": {"name": …, "context": {…}}} or {"functionCall": …}
	Checks                      // [{"condition": flag, "message": text}]
)

// commonProperties are those of every component.
func commonProperties() []Property {
	return []Property{{Name: "weight", Kind: PlainNumber}, {Name: "accessibility", Kind: PlainObject}}
}

// Catalogs is what is known of components, by their names. It is made once and
// then read.
type Catalogs struct {
	list   []Catalog
	byName map[string]componentIndex
}

type componentIndex struct{ catalog, component int }

// NewCatalogs makes one that knows some catalogues; none may say what another
// has said.
func NewCatalogs(list ...Catalog) (*Catalogs, error) {
	c := &Catalogs{byName: map[string]componentIndex{}}
	for i := range list {
		if err := c.addCatalog(&list[i]); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *Catalogs) addCatalog(one *Catalog) error {
	for _, id := range append([]string{one.ID}, one.Aliases...) {
		if other, ok := c.Catalog(id); ok || id == "" {
			return junctor.Errorf(junctor.CodeConflict, "the catalogue id %q is empty, or that of %q", id, other.ID)
		}
	}
	for i := range c.list {
		if one.Namespace != "" && c.list[i].Namespace == one.Namespace {
			return junctor.Errorf(junctor.CodeConflict, "the namespace %q is that of the catalogue %s already", one.Namespace, c.list[i].ID)
		}
	}
	for i, k := range one.Components {
		space, _, err := SplitName(k.Name)
		switch _, taken := c.byName[k.Name]; {
		case err != nil:
			return err
		case space != one.Namespace:
			return junctor.Errorf(junctor.CodeInvalid, "the component %q is not of the namespace %q of its catalogue %s", k.Name, one.Namespace, one.ID)
		case taken:
			return junctor.Errorf(junctor.CodeConflict, "there is a component %q already, so the catalogue %s cannot have one", k.Name, one.ID)
		}
		c.byName[k.Name] = componentIndex{len(c.list), i}
	}
	c.list = append(c.list, *one)
	return nil
}

// With gives what is known together with more catalogues.
func (c *Catalogs) With(more ...Catalog) (*Catalogs, error) {
	return NewCatalogs(append(c.All(), more...)...)
}

// All lists the catalogues.
func (c *Catalogs) All() []Catalog { return slices.Clone(c.list) }

// Catalog finds one by its id or an alias.
func (c *Catalogs) Catalog(id string) (Catalog, bool) {
	for i := range c.list {
		if c.list[i].Is(id) {
			return c.list[i], true
		}
	}
	return Catalog{}, false
}

// Component finds one by its name, with the catalogue that it is of.
func (c *Catalogs) Component(name string) (Component, Catalog, bool) {
	at, ok := c.byName[name]
	if !ok {
		return Component{}, Catalog{}, false
	}
	return c.list[at.catalog].Components[at.component], c.list[at.catalog], true
}

// explainUnknown says why a component is not known.
func (c *Catalogs) explainUnknown(name string) string {
	space, own, err := SplitName(name)
	switch {
	case err != nil:
		return err.Error()
	case space == "":
		return fmt.Sprintf("there is no component %s in any known catalogue", own)
	}
	for i := range c.list {
		if c.list[i].Namespace == space {
			return fmt.Sprintf("the catalogue %s has no component %s", c.list[i].ID, own)
		}
	}
	return fmt.Sprintf("no known catalogue has the namespace %s of %s", space, name)
}

var (
	namespacePattern = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)
	componentPattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)
	propertyPattern  = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,63}$`)
)

// SplitName takes a component's name apart: googlemaps:MapView is MapView of the
// namespace googlemaps; Text has none. A colon stands once, so that a name can
// be read in one way only.
func SplitName(name string) (namespace, own string, err error) {
	own = name
	if before, after, ok := strings.Cut(name, ":"); ok {
		namespace, own = before, after
		if !namespacePattern.MatchString(namespace) {
			return "", "", junctor.Errorf(junctor.CodeInvalid, "%q is no component's name: before the colon stands a namespace of small letters, digits and hyphens", truncateText(name))
		}
	}
	if !componentPattern.MatchString(own) {
		return "", "", junctor.Errorf(junctor.CodeInvalid, "%q is no component's name: use Name or namespace:Name, with letters and digits", truncateText(name))
	}
	return namespace, own, nil
}

func truncateText(text string) string {
	if len(text) > 80 {
		return strings.ToValidUTF8(text[:80], "") + "…"
	}
	return text
}
