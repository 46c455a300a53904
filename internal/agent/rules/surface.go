package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/junctor-mcp/junctor/internal/a2ui"
	"github.com/junctor-mcp/junctor/internal/agent"
)

// surfaceTemplate is a surface with placeholders. Rules write it out or name a
// bundled one, and can give it more variables:
//
//	surface: bank/transfer
//	with: {amount: "{{amount|number}}"}
type surfaceTemplate struct {
	name      string // kind of the surface; ids of rendered surfaces start with it
	extraVars []member
	body      valueTemplate
}

// render fills in the placeholders and returns the surface. It returns nil if the
// result is not a surface, which cannot happen with rules that Parse accepted.
func (s *surfaceTemplate) render(vars variables, id string) *a2ui.Surface {
	// Variables of with hide those of the intent, even if they have no value.
	own := maps.Clone(vars)
	for _, m := range s.extraVars {
		delete(own, m.name)
		if v := m.value.render(vars); v != nil {
			own[m.name] = v
		}
	}
	text, err := json.Marshal(s.body.render(own))
	if err != nil {
		return nil
	}
	out := &a2ui.Surface{}
	if json.Unmarshal(text, out) != nil {
		return nil
	}
	out.ID = id
	return out
}

// canShow reports whether a surface is the one to show. The last of an answer is the
// author's fallback: it is shown with placeholders for App views and for components that
// no catalog has, and left out only if nothing else of it would be seen.
func canShow(s *a2ui.Surface, q agent.Request, last bool) bool {
	if s == nil {
		return last
	}
	return canDraw(s, q.Catalogs, last) && (last || canShowApps(s, q))
}

// canDraw reports whether every catalog that a surface names is known, and every
// component, or with rootOnly its root. An admin can remove a catalog that rules still
// use: nobody could draw its components. known may be nil.
func canDraw(s *a2ui.Surface, known *a2ui.Catalogs, rootOnly bool) bool {
	if known == nil {
		return true
	}
	for _, id := range s.Catalogs {
		if _, ok := known.Catalog(id); !ok {
			return false
		}
	}
	return !slices.ContainsFunc(s.Check(known), func(p a2ui.Problem) bool {
		return p.Grade == a2ui.GradeUnknown && (!rootOnly || p.Component == "root")
	})
}

// canShowApps reports whether the App views in a surface can be shown: the listener
// can show App views, and the agent has the tools to which they belong.
func canShowApps(s *a2ui.Surface, q agent.Request) bool {
	for _, text := range s.Components {
		var c struct {
			Component   string `json:"component"`
			Server      string `json:"server"`
			ToolName    string `json:"toolName"`
			ResourceURI string `json:"resourceUri"`
		}
		if json.Unmarshal(text, &c) != nil || c.Component != a2ui.AppFrameComponent {
			continue
		}
		if !q.ShowsApps || !slices.ContainsFunc(q.Tools, func(t agent.Tool) bool {
			return t.Server == c.Server && t.OriginalName == c.ToolName && t.ViewURI == c.ResourceURI
		}) {
			return false
		}
	}
	return true
}

// surfaceID returns the id of a new surface. If the last message is an action on a
// surface of the same kind, it is the id of that surface, which the new one then
// replaces. Otherwise it is derived from the conversation, so that another answer
// gets another id, and the same conversation the same.
func surfaceID(name string, conversation []agent.Message) string {
	last := conversation[len(conversation)-1]
	if last.Action != nil && strings.HasPrefix(last.Action.Surface, name+"-") {
		return last.Action.Surface
	}
	h := sha256.New()
	for _, m := range conversation {
		text, err := json.Marshal(m)
		if err == nil {
			_, _ = h.Write(text)
		}
	}
	return name + "-" + hex.EncodeToString(h.Sum(nil)[:4])
}

// parseSurfaces parses one surface or a list, of which the first that can be shown
// is used.
func (r *rulesParser) parseSurfaces(n, with *yaml.Node, known []string) []*surfaceTemplate {
	list := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		if list = r.parseList(n, "surface", maxSteps); len(list) == 0 {
			r.addProblem(n, "surface must be one surface, or a list of surfaces, of which the first that the client supports is shown")
		}
	}
	out := make([]*surfaceTemplate, 0, len(list))
	for _, one := range list {
		out = append(out, r.parseSurface(one, with, known))
	}
	return out
}

// parseSurface parses a surface: the name of a bundled one, or components and data.
// It may use the known variables and those that with defines.
func (r *rulesParser) parseSurface(n, with *yaml.Node, known []string) *surfaceTemplate {
	s := &surfaceTemplate{name: "surface"}
	if with != nil {
		s.extraVars = r.parseMembers(with, "with", known)
		known = slices.Clone(known)
		for _, m := range s.extraVars {
			known = append(known, m.name)
		}
	}
	body, from := n, r
	if n.Kind == yaml.ScalarNode {
		if body, from = r.readBundledSurface(n); body == nil {
			return s
		}
		_, s.name, _ = strings.Cut(n.Value, "/")
	}
	s.body = from.parseValue(body, known, 0)
	if from != r && len(from.problems) > 0 {
		r.addProblem(n, "the surface %q: %s", truncateText(n.Value), strings.Join(from.problems, "; "))
	}
	if s.body.kind != 'o' {
		r.addProblem(n, "a surface must have components and data, or be the name of a built-in surface")
		return s
	}
	// The id of the file names the kind; surfaceID makes the real id.
	if id := s.body.findMember("id"); id != nil && id.kind == 't' {
		s.name = id.text.render(nil)
	}
	if c := s.body.findMember("components"); c == nil || c.kind != 'l' {
		r.addProblem(n, "a surface must have components: a list of items with id and component")
	}
	if d := s.body.findMember("data"); d != nil && d.kind != 'o' {
		r.addProblem(n, "the data of a surface must have names and values")
	}
	// Report now what no values can repair. Component ids have no placeholders, so
	// missing ones are visible without values.
	if shown := s.render(variables{}, "x"); shown != nil && len(r.problems) == 0 {
		if err := shown.FirstProblem(shown.Check(nil), a2ui.GradeBroken); err != nil {
			r.addProblem(n, "the surface is invalid: %s", strings.TrimPrefix(err.Error(), `the surface "x": `))
		}
	}
	return s
}

// readBundledSurface reads a bundled surface. It returns the root node, and a
// parser of its own because the line numbers are those of another file. Both are
// nil if there is no such surface.
func (r *rulesParser) readBundledSurface(n *yaml.Node) (*yaml.Node, *rulesParser) {
	unknown := func() (*yaml.Node, *rulesParser) {
		r.addProblem(n, "there is no built-in surface %q; write the surface out, or name one of %s", truncateText(n.Value), strings.Join(r.listBundledSurfaces(), ", "))
		return nil, nil
	}
	if r.templates == nil {
		return unknown()
	}
	pack, name, _ := strings.Cut(n.Value, "/")
	text, err := fs.ReadFile(r.templates, pack+"/templates/"+name+".json")
	if err != nil {
		return unknown()
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil || len(doc.Content) == 0 {
		r.addProblem(n, "the surface %q cannot be read", truncateText(n.Value))
		return nil, nil
	}
	return doc.Content[0], &rulesParser{}
}

// listBundledSurfaces returns the names of the bundled surfaces, for an error
// message.
func (r *rulesParser) listBundledSurfaces() []string {
	if r.templates == nil {
		return []string{"none"}
	}
	files, _ := fs.Glob(r.templates, "*/templates/*.json")
	for i, name := range files {
		files[i] = strings.TrimSuffix(strings.Replace(name, "/templates/", "/", 1), ".json")
	}
	return files
}
