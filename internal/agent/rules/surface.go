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

// surface is one that is filled in when it is shown.
type surface struct {
	name string // of its kind: what an id begins with
	with []member
	body value
}

// show fills a surface in. nil: it cannot be written, which no file that was
// taken leads to.
func (s *surface) show(vars values, id string) *a2ui.Surface {
	own := maps.Clone(vars)
	for _, m := range s.with {
		delete(own, m.name)
		if v := m.value.fill(vars); v != nil {
			own[m.name] = v
		}
	}
	text, err := json.Marshal(s.body.fill(own))
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

// hosted says whether the Apps in a surface can be shown: whoever listens does
// that, and the tools that bring them are ones that the agent has.
func hosted(s *a2ui.Surface, q agent.Request) bool {
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

// idOf is what a surface is called: the same as the one that was acted on, where
// that is of the same kind, so that it takes its place; else a name that no other
// answer to the story has.
func idOf(name string, story []agent.Message) string {
	last := story[len(story)-1]
	if last.Action != nil && strings.HasPrefix(last.Action.Surface, name+"-") {
		return last.Action.Surface
	}
	h := sha256.New()
	for _, m := range story {
		text, err := json.Marshal(m)
		if err == nil {
			_, _ = h.Write(text)
		}
	}
	return name + "-" + hex.EncodeToString(h.Sum(nil)[:4])
}

// surfaces reads one surface, or several of which the first that can be shown is
// meant.
func (r *reader) surfaces(n, with *yaml.Node, known []string) []*surface {
	list := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		if list = r.list(n, "surface", maxSteps); len(list) == 0 {
			r.fault(n, "surface is one, or a list of which the first that can be shown is")
		}
	}
	out := make([]*surface, 0, len(list))
	for _, one := range list {
		out = append(out, r.surface(one, with, known))
	}
	return out
}

// surface reads a surface: the name of one that comes with the program, or one
// that is written out. It may use what is known, and what with gives it.
func (r *reader) surface(n, with *yaml.Node, known []string) *surface {
	s := &surface{name: "surface"}
	if with != nil {
		s.with = r.members(with, "with", known)
		known = slices.Clone(known)
		for _, m := range s.with {
			known = append(known, m.name)
		}
	}
	body, from := n, r
	if n.Kind == yaml.ScalarNode {
		if body, from = r.named(n); body == nil {
			return s
		}
		_, s.name, _ = strings.Cut(n.Value, "/")
	}
	s.body = from.value(body, known, 0)
	if from != r && len(from.problems) > 0 {
		r.fault(n, "the surface %q: %s", clip(n.Value), strings.Join(from.problems, "; "))
	}
	if s.body.kind != 'o' {
		r.fault(n, "a surface has components and data, or is the name of one that comes with the program")
		return s
	}
	if id := s.body.member("id"); id != nil && id.kind == 't' {
		s.name = id.text.text(nil)
	}
	if c := s.body.member("components"); c == nil || c.kind != 'l' {
		r.fault(n, "a surface has components: a list, each with id and component")
	}
	if d := s.body.member("data"); d != nil && d.kind != 'o' {
		r.fault(n, "the data of a surface are names and values")
	}
	// What no value can mend is found now. Ids are written out, so they are there.
	if shown := s.show(values{}, "x"); shown != nil && len(r.problems) == 0 {
		if err := shown.Fault(shown.Check(nil), a2ui.Broken); err != nil {
			r.fault(n, "it cannot be drawn: %s", strings.TrimPrefix(err.Error(), `the surface "x": `))
		}
	}
	return s
}

// named reads a surface that comes with the program, with a reader of its own:
// lines are those of its file.
func (r *reader) named(n *yaml.Node) (*yaml.Node, *reader) {
	unknown := func() (*yaml.Node, *reader) {
		r.fault(n, "no surface %q comes with the program; write it out, or name one of %s", clip(n.Value), strings.Join(r.there(), ", "))
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
		r.fault(n, "the surface %q cannot be read", clip(n.Value))
		return nil, nil
	}
	return doc.Content[0], &reader{}
}

// there lists the surfaces that come with the program.
func (r *reader) there() []string {
	if r.templates == nil {
		return []string{"none"}
	}
	files, _ := fs.Glob(r.templates, "*/templates/*.json")
	for i, name := range files {
		files[i] = strings.TrimSuffix(strings.Replace(name, "/templates/", "/", 1), ".json")
	}
	return files
}
