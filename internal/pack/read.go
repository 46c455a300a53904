package pack

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/credential"
)

// MaxFile is how large a pack may be, in bytes: it may hold the documents of APIs.
const MaxFile = 4 << 20

const maxQuestions = 1000

// file is how a pack is written, in the order of its lines.
type file struct {
	Pack      string     `yaml:"pack"`
	Title     string     `yaml:"title"`
	Summary   string     `yaml:"summary"`
	Homepage  string     `yaml:"homepage,omitempty"`
	Tags      []string   `yaml:"tags,omitempty,flow"`
	Network   Network    `yaml:"network,omitempty"`
	Needs     []string   `yaml:"needs,omitempty,flow"`
	Questions []Question `yaml:"questions,omitempty"`
	Servers   yaml.Node  `yaml:"servers,omitempty"`
	Agents    yaml.Node  `yaml:"agents,omitempty"`

	Tools map[string]writtenRoles `yaml:"tools,omitempty"`
}

// Parse reads a pack, in YAML or JSON. name is what problems call it. What it
// gives can be filled in: every placeholder has its question, secrets are asked
// for only where they will be sealed, and servers and agents are whole once the
// questions are answered.
func Parse(name string, text []byte) (*Pack, error) {
	if len(text) > MaxFile {
		return nil, junctor.Errorf(junctor.CodeTooLarge, "%s is larger than %d KiB", name, MaxFile>>10)
	}
	var f file
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(&f); errors.Is(err, io.EOF) {
		return nil, wrong(name, "it is empty")
	} else if err != nil {
		return nil, wrong(name, "%s", strings.TrimPrefix(strings.Join(strings.Fields(err.Error()), " "), "yaml: "))
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, wrong(name, "it must hold one document")
	}
	p := &Pack{ID: f.Pack, Title: f.Title, Summary: f.Summary, Homepage: f.Homepage, Tags: f.Tags, Network: f.Network, Needs: f.Needs, Questions: f.Questions}
	if err := p.head(); err != nil {
		return nil, wrong(name, "%w", err)
	}
	p.content = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, part := range []struct {
		key  string
		node *yaml.Node
	}{{"servers", &f.Servers}, {"agents", &f.Agents}} {
		if part.node.Kind != 0 {
			p.content.Content = append(p.content.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: part.key}, part.node)
		}
	}
	err := p.places()
	if err != nil {
		return nil, wrong(name, "%w", err)
	}
	if p.Tools, err = readTools(f.Tools); err != nil {
		return nil, wrong(name, "%w", err)
	}
	return p, p.trial(name)
}

// variableName matches the name of a variable of the environment.
var variableName = regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,63}$`)

func wrong(name, format string, args ...any) error {
	return junctor.Errorf(junctor.CodeInvalid, "%s is no pack that can be used: "+format, append([]any{name}, args...)...)
}

// head checks what stands above the servers.
func (p *Pack) head() error {
	if junctor.CheckServerID(p.ID) != nil {
		return fmt.Errorf("pack %q: use a lower-case letter, then up to 31 lower-case letters, digits or hyphens", p.ID)
	}
	for _, text := range []struct{ key, value string }{{"title", p.Title}, {"summary", p.Summary}} {
		if strings.TrimSpace(text.value) == "" || len(text.value) > 500 {
			return fmt.Errorf("%s is missing, or longer than 500 bytes", text.key)
		}
	}
	if u, err := url.Parse(p.Homepage); p.Homepage != "" && (err != nil || u.Scheme != "https" || u.Host == "") {
		return errors.New("homepage must begin with https://")
	}
	if !slices.Contains([]Network{"", NetworkNone, NetworkInstall, NetworkAlways}, p.Network) {
		return fmt.Errorf("network %q: it is none, install or always", p.Network)
	}
	if len(p.Questions) > maxQuestions {
		return fmt.Errorf("it asks more than %d questions", maxQuestions)
	}
	seen, name := map[string]bool{}, regexp.MustCompile(`^[a-z][a-z0-9_-]{0,63}$`)
	for _, q := range p.Questions {
		switch {
		case !name.MatchString(q.Name):
			return fmt.Errorf("a question is named %q: use a lower-case letter, then up to 63 lower-case letters, digits, hyphens or underscores", q.Name)
		case seen[q.Name]:
			return fmt.Errorf("the question %s stands twice", q.Name)
		case strings.TrimSpace(q.Title) == "":
			return fmt.Errorf("the question %s has no title", q.Name)
		case q.Secret && q.Default != "":
			return fmt.Errorf("the question %s is secret and has a default: a pack holds no secret", q.Name)
		case q.Env != "" && (q.Secret || !variableName.MatchString(q.Env)):
			return fmt.Errorf("the question %s has env %q: it is the name of a variable, and not of a secret", q.Name, q.Env)
		case q.Default == junctor.Masked || q.Example == junctor.Masked:
			return fmt.Errorf("the question %s has %s, which stands for a credential that is not shown", q.Name, junctor.Masked)
		}
		seen[q.Name] = true
	}
	return nil
}

// places checks the placeholders: each has its question, and each question is
// asked for something.
func (p *Pack) places() error {
	used := map[string]bool{}
	if err := scalars(p.content, 0, func(n *yaml.Node) error {
		for _, m := range placeholder.FindAllStringSubmatch(n.Value, -1) {
			if m[0] == escapedPlace {
				continue
			}
			if p.question(m[1]) == nil || !strings.HasSuffix(m[0], "}") {
				return fmt.Errorf("line %d: %q is the place of an answer, and there is no such question; $${ stands for the sign itself", n.Line, m[0])
			}
			used[m[1]] = true
		}
		return nil
	}); err != nil {
		return err
	}
	for _, q := range p.Questions {
		if !used[q.Name] {
			return fmt.Errorf("the question %s is asked for nothing: no ${%s} stands in servers or agents", q.Name, q.Name)
		}
	}
	return nil
}

func (p *Pack) question(name string) *Question {
	for i := range p.Questions {
		if p.Questions[i].Name == name {
			return &p.Questions[i]
		}
	}
	return nil
}

// scalars visits the values of a tree.
func scalars(n *yaml.Node, depth int, visit func(*yaml.Node) error) error {
	switch {
	case depth > 32:
		return fmt.Errorf("line %d: it is too deep", n.Line)
	case n.Kind == yaml.AliasNode:
		return fmt.Errorf("line %d: a pack has no aliases: write it out", n.Line)
	case n.Kind == yaml.ScalarNode:
		return visit(n)
	}
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			continue
		}
		if err := scalars(c, depth+1, visit); err != nil {
			return err
		}
	}
	return nil
}

// trial fills the pack with answers that can be told from everything else, and
// looks where they went.
func (p *Pack) trial(name string) error {
	const mark = "packmark"
	answers := map[string]string{}
	for i := range p.Questions {
		q := &p.Questions[i]
		if answers[q.Name] = q.sample(); q.Secret {
			answers[q.Name] = fmt.Sprintf("%s%d", mark, i)
		}
	}
	d, err := p.declared(name, answers, nil)
	if err != nil {
		return err
	}
	if len(d.Servers)+len(d.Agents) == 0 {
		return wrong(name, "it has no servers and no agents")
	}
	for _, t := range p.Tools {
		if !slices.ContainsFunc(d.Servers, func(s config.Server) bool { return s.ID == t.Server }) {
			return wrong(name, "tools.%s/%s: the pack has no server %q", t.Server, t.Tool, t.Server)
		}
	}
	for _, a := range d.Agents {
		if strings.Contains(fmt.Sprintf("%+v", a.Agent), mark) {
			return wrong(name, "agents.%s: the answer to a secret question would not be sealed there", a.Name)
		}
	}
	for _, s := range d.Servers {
		c := s.Connection()
		if s.API != nil && strings.Contains(fmt.Sprintf("%+v %s", *s.API, s.Document), mark) {
			return wrong(name, "servers.%s: the answer to a secret question would not be sealed in its document, or in how it is read: put it into auth or headers", s.ID)
		}
		if refs := c.References(); len(refs) > 0 {
			return wrong(name, "servers.%s: it reads %s from the machine of the instance: a pack asks a question instead", s.ID, refs[0])
		}
		if c.Auth != nil && c.Auth.Secret != "" && !strings.Contains(c.Auth.Secret, mark) {
			return wrong(name, "servers.%s.auth: a pack holds no secret: ask a question with secret: true", s.ID)
		}
		kept, _ := credential.Split(c)
		if auth := kept.Auth; strings.Contains(fmt.Sprintf("%+v %+v %+v", s.Title, kept, auth), mark) {
			return wrong(name, "servers.%s: the answer to a secret question is in a place that is not sealed: put it into auth, env, headers or the query of the url", s.ID)
		}
	}
	return nil
}
