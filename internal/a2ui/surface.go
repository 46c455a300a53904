package a2ui

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	strict "github.com/go-json-experiment/json"
)

// MIMEType is the MIME type of A2UI messages in results of tools, and of data parts
// since v0.9.1.
const MIMEType = "application/a2ui+json"

// RootID is the id of the component with which drawing starts.
const RootID = "root"

// Bounds of a surface.
const (
	MaxComponents = 1000
	MaxBytes      = 512 << 10 // of components and data together
	maxDepth      = 100       // of components within each other
	maxIDLength   = 200
)

// Surface is the interface that an agent answers with: components by id, in the
// flat form of v0.9, and the data to which they are bound. An example:
//
//	{
//	  "id": "greeting",
//	  "components": [
//	    {"id": "root", "component": "Column", "children": ["text", "ok"]},
//	    {"id": "text", "component": "Text", "text": {"path": "/name"}},
//	    {"id": "ok", "component": "Button", "child": "text", "action": {"event": {"name": "confirm"}}}
//	  ],
//	  "data": {"name": "Ada"}
//	}
type Surface struct {
	ID         string            `json:"id"`                          // unique within a conversation; one with the same id replaces the former
	Catalogs   []string          `json:"catalogs,omitempty"`          // ids of catalogs that its components are of, beside the basic one
	Components []json.RawMessage `json:"components" nullable:"false"` // {"id":"root","component":"Column","children":["a","b"]}
	Data       json.RawMessage   `json:"data,omitempty"`              // a JSON object
}

// Size returns the number of bytes to store and send.
func (s *Surface) Size() int {
	size := len(s.ID) + len(s.Data)
	for _, c := range s.Components {
		size += len(c)
	}
	return size
}

// PutSurface returns the list with a surface added. It replaces a surface of the same id.
func PutSurface(list []Surface, s Surface) []Surface {
	list = slices.DeleteFunc(slices.Clone(list), func(one Surface) bool { return one.ID == s.ID })
	return append(list, s)
}

// Describe returns a sentence about the surface, for models and clients that read
// only text.
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

// component is a parsed component of a surface.
type component struct {
	id, name string
	props    map[string]json.RawMessage // without id and component
}

// parseComponent parses a component and rejects duplicate names.
func parseComponent(raw json.RawMessage) (component, error) {
	var c component
	if err := strict.Unmarshal(raw, &c.props); err != nil {
		return c, fmt.Errorf("it must be a JSON object without duplicate names: %w", err)
	}
	for name, to := range map[string]*string{"id": &c.id, "component": &c.name} {
		if err := strict.Unmarshal(rawOrNull(c.props[name]), to); err != nil || *to == "" {
			return c, fmt.Errorf("%s is missing, or is not a text", name)
		}
		delete(c.props, name)
	}
	return c, nil
}

// rawOrNull returns null for an absent value, so that it can be decoded.
func rawOrNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

// Grade is the severity of a problem.
type Grade string

// Grades.
const (
	GradeBroken  Grade = "broken"  // the surface cannot be drawn
	GradeWrong   Grade = "wrong"   // a component violates its catalog
	GradeUnknown Grade = "unknown" // no catalog has the component: clients draw a placeholder
)

// Problem is a defect of a surface.
type Problem struct {
	Grade     Grade  `json:"grade"`
	Component string `json:"component,omitempty"` // its id
	Property  string `json:"property,omitempty"`
	Text      string `json:"text"`
}

// String returns the problem with its place, as component.property: text.
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

// FirstProblem returns the first problem of one of the grades as an error; nil if there is
// none.
func (s *Surface) FirstProblem(problems []Problem, grades ...Grade) error {
	for _, p := range problems {
		if slices.Contains(grades, p.Grade) {
			return fmt.Errorf("the surface %q: %s", s.ID, p)
		}
	}
	return nil
}

// Check returns the problems of a surface: ids, references, sizes, and each
// component compared with its catalog. A nil known means BuiltinCatalogs.
func (s *Surface) Check(known *Catalogs) []Problem {
	if known == nil {
		known = BuiltinCatalogs()
	}
	c := surfaceCheck{known: known, surface: s, byID: map[string]component{}}
	c.checkSurface()
	return c.problems
}

// surfaceCheck is the state of one Check.
type surfaceCheck struct {
	known    *Catalogs
	surface  *Surface
	byID     map[string]component
	problems []Problem
}

// addProblem adds a problem.
func (c *surfaceCheck) addProblem(g Grade, id, property, text string, args ...any) {
	c.problems = append(c.problems, Problem{g, id, property, fmt.Sprintf(text, args...)})
}

// checkSurface checks the surface. It stops early if the surface is too large, so
// that a hostile surface costs little.
func (c *surfaceCheck) checkSurface() {
	s := c.surface
	if s.ID == "" || len(s.ID) > maxIDLength {
		c.addProblem(GradeBroken, "", "", "its id must have 1 to %d characters", maxIDLength)
	}
	if size := s.Size(); size > MaxBytes {
		c.addProblem(GradeBroken, "", "", "it has %d KiB; at most %d KiB are allowed", size>>10, MaxBytes>>10)
		return
	}
	if len(s.Components) > MaxComponents {
		c.addProblem(GradeBroken, "", "", "it has %d components; at most %d are allowed", len(s.Components), MaxComponents)
		return
	}
	// Parsers disagree on duplicate names, so a surface with one could show
	// something else than was checked.
	if len(s.Data) > 0 {
		var data map[string]json.RawMessage
		if err := strict.Unmarshal(s.Data, &data); err != nil || data == nil {
			c.addProblem(GradeBroken, "", "", "its data must be a JSON object without duplicate names")
		}
	}
	for i, raw := range s.Components {
		one, err := parseComponent(raw)
		switch {
		case err != nil:
			c.addProblem(GradeBroken, one.id, "", "component %d: %v", i+1, err)
		case len(one.id) > maxIDLength:
			c.addProblem(GradeBroken, "", "", "component %d: its id has more than %d characters", i+1, maxIDLength)
		case c.byID[one.id].id != "":
			c.addProblem(GradeBroken, one.id, "", "two components have this id")
		default:
			c.byID[one.id] = one
		}
	}
	if _, ok := c.byID[RootID]; !ok {
		c.addProblem(GradeBroken, "", "", "no component has the id %q, with which a surface begins", RootID)
	}
	// References are checked after all components are known: children may be listed
	// before or after their parents.
	refs := map[string][]string{}
	for _, raw := range s.Components {
		if one, err := parseComponent(raw); err == nil {
			refs[one.id] = c.checkComponent(one)
		}
	}
	c.checkTree(refs)
}

// checkComponent checks a component and returns the ids of its children. An unknown
// component has no known children.
func (c *surfaceCheck) checkComponent(one component) []string {
	kind, catalog, ok := c.known.Component(one.name)
	if !ok {
		c.addProblem(GradeUnknown, one.id, "", "%s", c.known.explainUnknown(one.name))
		return nil
	}
	if !catalog.Basic && !slices.ContainsFunc(c.surface.Catalogs, catalog.HasID) {
		c.addProblem(GradeWrong, one.id, "", "%s belongs to the catalog %s, which the surface does not name", one.name, catalog.ID)
	}
	var refs []string
	// Every known property is removed from one.props, so that only unknown ones are
	// left.
	for _, p := range slices.Concat(kind.Properties, commonProperties()) {
		raw, ok := one.props[p.Name]
		delete(one.props, p.Name)
		if !ok {
			if p.Required {
				c.addProblem(GradeWrong, one.id, p.Name, "%s requires it", one.name)
			}
			continue
		}
		found, err := p.checkValue(raw)
		if err != nil {
			c.addProblem(GradeWrong, one.id, p.Name, "%v", err)
		}
		for _, id := range found {
			if _, ok := c.byID[id]; !ok {
				c.addProblem(GradeBroken, one.id, p.Name, "there is no component %q", id)
			}
		}
		refs = append(refs, found...)
	}
	// checkComponent has removed the properties that it knows.
	for _, name := range sortedKeys(one.props) {
		c.addProblem(GradeWrong, one.id, name, "%s has no such property", one.name)
	}
	return refs
}

// checkTree finds components that contain themselves, are nested too deeply or are
// drawn too often. A component is drawn once per reference, so a few components
// that refer to each other can describe a tree of exponential size.
func (c *surfaceCheck) checkTree(refs map[string][]string) {
	const entered = -1
	drawn := map[string]int{} // number of components that each one draws
	tall := map[string]int{}  // height of the tree below each one, itself included
	var enter func(id string, depth int) bool
	enter = func(id string, depth int) bool {
		switch {
		case drawn[id] == entered:
			c.addProblem(GradeBroken, id, "", "it contains itself")
			return false
		case drawn[id] > 0: // reached again, possibly at a greater depth
			if depth+tall[id]-1 > maxDepth {
				c.addProblem(GradeBroken, id, "", "its content is more than %d components deep", maxDepth)
				return false
			}
			return true
		case depth > maxDepth:
			c.addProblem(GradeBroken, id, "", "it is more than %d components deep", maxDepth)
			return false
		}
		// Each component is visited once. Its size and height are enough when it is
		// reached again, so the check takes linear time for any surface.
		drawn[id] = entered
		sum, most := 1, 0
		for _, child := range refs[id] {
			if !enter(child, depth+1) {
				return false
			}
			if sum += drawn[child]; sum > 4*MaxComponents {
				c.addProblem(GradeBroken, id, "", "it draws more than %d components", 4*MaxComponents)
				return false
			}
			most = max(most, tall[child])
		}
		drawn[id], tall[id] = sum, most+1
		return true
	}
	// Components that the root does not reach are checked too: a later update can
	// connect them.
	for _, id := range append([]string{RootID}, sortedKeys(refs)...) {
		if !enter(id, 1) {
			return
		}
	}
}

// sortedKeys returns the keys of a map in order, for deterministic results.
func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
