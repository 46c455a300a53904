package a2ui

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	strict "github.com/go-json-experiment/json"
)

// MimeType is what A2UI messages are in results of tools and in later versions.
const MimeType = "application/a2ui+json"

// Root is the id of the component that a surface is drawn from.
const Root = "root"

// What a surface may hold.
const (
	MostComponents = 1000
	MostBytes      = 512 << 10 // of components and data together
	maxDepth       = 100       // of components within each other
	maxIDLength    = 200
)

// Surface is interface that an agent answers with: components by id, in the flat
// form of v0.9, and the data that they are bound to.
type Surface struct {
	ID         string            `json:"id"`                          // unique within a conversation; one with the same id replaces the former
	Catalogs   []string          `json:"catalogs,omitempty"`          // ids of catalogues that its components are of, beside the basic one
	Components []json.RawMessage `json:"components" nullable:"false"` // {"id":"root","component":"Column","children":["a","b"]}
	Data       json.RawMessage   `json:"data,omitempty"`              // a JSON object
}

// Size is how much there is to keep and to send, in bytes.
func (s *Surface) Size() int {
	size := len(s.ID) + len(s.Data)
	for _, c := range s.Components {
		size += len(c)
	}
	return size
}

// Put adds a surface to a list; the former one of the same id goes.
func Put(list []Surface, s Surface) []Surface {
	list = slices.DeleteFunc(slices.Clone(list), func(one Surface) bool { return one.ID == s.ID })
	return append(list, s)
}

// Describe says in a sentence what a surface is, for who cannot see it.
func (s *Surface) Describe() string {
	var names []string
	for _, raw := range s.Components {
		c, err := parseComponent(raw)
		if err == nil && !slices.Contains(names, c.name) {
			names = append(names, c.name)
		}
	}
	return fmt.Sprintf("(an interface was shown: %s, of %s)", s.ID, strings.Join(names, ", "))
}

// component is one of a surface, taken apart.
type component struct {
	id, name string
	props    map[string]json.RawMessage // all but id and component
}

func parseComponent(raw json.RawMessage) (component, error) {
	var c component
	if err := strict.Unmarshal(raw, &c.props); err != nil {
		return c, fmt.Errorf("it is no JSON object with each name once: %w", err)
	}
	for name, to := range map[string]*string{"id": &c.id, "component": &c.name} {
		if err := strict.Unmarshal(rawOrNull(c.props[name]), to); err != nil || *to == "" {
			return c, fmt.Errorf("%s is missing, or no text", name)
		}
		delete(c.props, name)
	}
	return c, nil
}

func rawOrNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

// Grade says how bad a problem is.
type Grade string

// Grades.
const (
	Broken  Grade = "broken"  // the surface cannot be drawn
	Wrong   Grade = "wrong"   // a component is not as its catalogue has it
	Unknown Grade = "unknown" // nobody knows the component: a placeholder stands for it
)

// Problem is something that is not right with a surface.
type Problem struct {
	Grade     Grade  `json:"grade"`
	Component string `json:"component,omitempty"` // its id
	Property  string `json:"property,omitempty"`
	Text      string `json:"text"`
}

func (p Problem) String() string {
	where := ""
	if p.Component != "" {
		where = p.Component
		if p.Property != "" {
			where += "." + p.Property
		}
		where += ": "
	}
	return where + p.Text
}

// Fault gives the first of some problems that is of one of the grades, as an
// error about the surface; nil where there is none.
func (s *Surface) Fault(problems []Problem, grades ...Grade) error {
	for _, p := range problems {
		if slices.Contains(grades, p.Grade) {
			return fmt.Errorf("the surface %q: %s", s.ID, p)
		}
	}
	return nil
}

// Check says what is not right with a surface: ids, references, sizes, and each
// component by its catalogue. known is nil for those of Builtin.
func (s *Surface) Check(known *Catalogs) []Problem {
	if known == nil {
		known = Builtin()
	}
	c := surfaceCheck{known: known, surface: s, byID: map[string]component{}}
	c.checkSurface()
	return c.problems
}

type surfaceCheck struct {
	known    *Catalogs
	surface  *Surface
	byID     map[string]component
	problems []Problem
}

func (c *surfaceCheck) addProblem(g Grade, id, property, text string, args ...any) {
	c.problems = append(c.problems, Problem{g, id, property, fmt.Sprintf(text, args...)})
}

func (c *surfaceCheck) checkSurface() {
	s := c.surface
	if s.ID == "" || len(s.ID) > maxIDLength {
		c.addProblem(Broken, "", "", "its id has 1 to %d characters", maxIDLength)
	}
	if size := s.Size(); size > MostBytes {
		c.addProblem(Broken, "", "", "it has %d KiB; %d KiB are the most", size>>10, MostBytes>>10)
		return
	}
	if len(s.Components) > MostComponents {
		c.addProblem(Broken, "", "", "it has %d components; %d are the most", len(s.Components), MostComponents)
		return
	}
	if len(s.Data) > 0 {
		var data map[string]json.RawMessage
		if err := strict.Unmarshal(s.Data, &data); err != nil || data == nil {
			c.addProblem(Broken, "", "", "its data is no JSON object with each name once")
		}
	}
	for i, raw := range s.Components {
		one, err := parseComponent(raw)
		switch {
		case err != nil:
			c.addProblem(Broken, one.id, "", "component %d: %v", i+1, err)
		case len(one.id) > maxIDLength:
			c.addProblem(Broken, "", "", "component %d: its id has more than %d characters", i+1, maxIDLength)
		case c.byID[one.id].id != "":
			c.addProblem(Broken, one.id, "", "two components have this id")
		default:
			c.byID[one.id] = one
		}
	}
	if _, ok := c.byID[Root]; !ok {
		c.addProblem(Broken, "", "", "no component has the id %q, so there is nothing to begin with", Root)
	}
	refs := map[string][]string{}
	for _, raw := range s.Components {
		if one, err := parseComponent(raw); err == nil {
			refs[one.id] = c.checkComponent(one)
		}
	}
	c.checkTree(refs)
}

// checkComponent judges one, and gives the ids of those that it holds.
func (c *surfaceCheck) checkComponent(one component) []string {
	kind, catalog, ok := c.known.Component(one.name)
	if !ok {
		c.addProblem(Unknown, one.id, "", "%s", c.known.explainUnknown(one.name))
		return nil
	}
	if !catalog.Basic && !slices.ContainsFunc(c.surface.Catalogs, catalog.Is) {
		c.addProblem(Wrong, one.id, "", "%s is of the catalogue %s, which the surface does not name", one.name, catalog.ID)
	}
	var refs []string
	for _, p := range slices.Concat(kind.Properties, commonProperties()) {
		raw, ok := one.props[p.Name]
		delete(one.props, p.Name)
		if !ok {
			if p.Required {
				c.addProblem(Wrong, one.id, p.Name, "%s needs it", one.name)
			}
			continue
		}
		found, err := p.checkValue(raw)
		if err != nil {
			c.addProblem(Wrong, one.id, p.Name, "%v", err)
		}
		for _, id := range found {
			if _, ok := c.byID[id]; !ok {
				c.addProblem(Broken, one.id, p.Name, "there is no component %q", id)
			}
		}
		refs = append(refs, found...)
	}
	for _, name := range sortedKeys(one.props) {
		c.addProblem(Wrong, one.id, name, "%s has no such property", one.name)
	}
	return refs
}

// checkTree looks for components that are within themselves, too deep, or drawn too
// often: each reference draws what it is to.
func (c *surfaceCheck) checkTree(refs map[string][]string) {
	const entered = -1
	drawn := map[string]int{} // how many components each draws
	tall := map[string]int{}  // how many are within each other, the component itself included
	var enter func(id string, depth int) bool
	enter = func(id string, depth int) bool {
		switch {
		case drawn[id] == entered:
			c.addProblem(Broken, id, "", "it is within itself")
			return false
		case drawn[id] > 0: // from elsewhere it may be deeper than it was
			if depth+tall[id]-1 > maxDepth {
				c.addProblem(Broken, id, "", "what it holds is more than %d components deep", maxDepth)
				return false
			}
			return true
		case depth > maxDepth:
			c.addProblem(Broken, id, "", "it is more than %d components deep", maxDepth)
			return false
		}
		drawn[id] = entered
		sum, most := 1, 0
		for _, child := range refs[id] {
			if !enter(child, depth+1) {
				return false
			}
			if sum += drawn[child]; sum > 4*MostComponents {
				c.addProblem(Broken, id, "", "it draws more than %d components", 4*MostComponents)
				return false
			}
			most = max(most, tall[child])
		}
		drawn[id], tall[id] = sum, most+1
		return true
	}
	for _, id := range append([]string{Root}, sortedKeys(refs)...) {
		if !enter(id, 1) {
			return
		}
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
