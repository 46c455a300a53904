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

// surfaceTemplate is one that is filled in when it is shown.
type surfaceTemplate struct {
	name      string // of its kind: what an id begins with
	extraVars []member
	body      valueTemplate
}

// render fills a surface in. nil: it cannot be written, which no file that was
// taken leads to.
func (s *surfaceTemplate) render(vars variables, id string) *a2ui.Surface {
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

// canShowApps says whether the Apps in a surface can be shown: whoever listens does
// that, and the tools that bring them are ones that the agent has.
func canShowApps(s *a2ui.Surface, q agent.Request) bool {
	for _, text := range s.Components {
		var c struct {
			Component   string `json:"component"`
			Server      string `json:"server"`
			ToolName    string `json:"toolName"`
			ResourceURI string `json:"resourceUri"`
		}
		if json.Unmarshal(text, &c) != nil || c.Component != a2ui.AppFrame {
			continue
		}
		if !q.Apps || !slices.ContainsFunc(q.Tools, func(t agent.Tool) bool { return t.Server == c.Server && t.Own == c.ToolName && t.View == c.ResourceURI }) {
			return false
		}
	}
	return true
}

// surfaceID is what a surface is called: the same as the one that was acted on, where
// that is of the same kind, so that it takes its place; else a name that no other
// answer to the story has.
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

// parseSurfaces reads one surface, or several of which the first that can be shown is
// meant.
func (r *rulesParser) parseSurfaces(n, with *yaml.Node, known []string) []*surfaceTemplate {
	list := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		if list = r.parseList(n, "surface", maxSteps); len(list) == 0 {
			r.addProblem(n, "surface is one, or a list of which the first that can be shown is")
		}
	}
	out := make([]*surfaceTemplate, 0, len(list))
	for _, one := range list {
		out = append(out, r.parseSurface(one, with, known))
	}
	return out
}

// parseSurface reads a surface: the name of one that comes with the program, or one
// that is written out. It may use what is known, and what with gives it.
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
		r.addProblem(n, "a surface has components and data, or is the name of one that comes with the program")
		return s
	}
	if id := s.body.findMember("id"); id != nil && id.kind == 't' {
		s.name = id.text.render(nil)
	}
	if c := s.body.findMember("components"); c == nil || c.kind != 'l' {
		r.addProblem(n, "a surface has components: a list, each with id and component")
	}
	if d := s.body.findMember("data"); d != nil && d.kind != 'o' {
		r.addProblem(n, "the data of a surface are names and values")
	}
	// What no value can mend is found now. Ids are written out, so they are there.
	if shown := s.render(variables{}, "x"); shown != nil && len(r.problems) == 0 {
		if err := shown.Fault(shown.Check(nil), a2ui.Broken); err != nil {
			r.addProblem(n, "it cannot be drawn: %s", strings.TrimPrefix(err.Error(), `the surface "x": `))
		}
	}
	return s
}

// readBundledSurface reads a surface that comes with the program, with a reader of its own:
// lines are those of its file.
func (r *rulesParser) readBundledSurface(n *yaml.Node) (*yaml.Node, *rulesParser) {
	unknown := func() (*yaml.Node, *rulesParser) {
		r.addProblem(n, "no surface %q comes with the program; write it out, or name one of %s", truncateText(n.Value), strings.Join(r.listBundledSurfaces(), ", "))
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

// listBundledSurfaces lists the surfaces that come with the program.
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
