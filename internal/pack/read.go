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
	"github.com/junctor-mcp/junctor/internal/upstreamauth"
)

// MaxFile is the maximum size of a pack in bytes. A pack may contain the documents of
// APIs.
const MaxFile = 4 << 20

// maxQuestions bounds the questions of one pack. Checking the placeholders takes time
// for each of them.
const maxQuestions = 1000

// packFile is the form of a pack in a file, in the order in which its members are
// written.
type packFile struct {
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

	// Tools is below server/tool.
	Tools map[string]fileToolRoles `yaml:"tools,omitempty"`
}

// Parse reads a pack in YAML or JSON. name is the name of the file in errors, which are
// CodeInvalid, or CodeTooLarge above MaxFile.
//
// Parse guarantees that Fill can succeed: each placeholder has its question and each
// question its placeholder, a secret is asked for only where its answer will be sealed,
// and the servers and agents are valid when the questions are answered.
func Parse(name string, text []byte) (*Pack, error) {
	if len(text) > MaxFile {
		return nil, junctor.Errorf(junctor.CodeTooLarge, "%s is larger than %d KiB", name, MaxFile>>10)
	}
	var f packFile
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(&f); errors.Is(err, io.EOF) {
		return nil, invalidPackError(name, "it is empty")
	} else if err != nil {
		return nil, invalidPackError(name, "%s", strings.TrimPrefix(strings.Join(strings.Fields(err.Error()), " "), "yaml: "))
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, invalidPackError(name, "it must hold one document")
	}
	p := &Pack{ID: f.Pack, Title: f.Title, Summary: f.Summary, Homepage: f.Homepage, Tags: f.Tags, Network: f.Network, Needs: f.Needs, Questions: f.Questions}
	if err := p.checkHead(); err != nil {
		return nil, invalidPackError(name, "%w", err)
	}
	p.declarations = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, part := range []struct {
		key  string
		node *yaml.Node
	}{{"servers", &f.Servers}, {"agents", &f.Agents}} {
		if part.node.Kind != 0 {
			p.declarations.Content = append(p.declarations.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: part.key}, part.node)
		}
	}
	err := p.checkPlaceholders()
	if err != nil {
		return nil, invalidPackError(name, "%w", err)
	}
	if p.Tools, err = readTools(f.Tools); err != nil {
		return nil, invalidPackError(name, "%w", err)
	}
	return p, p.checkTrialFill(name)
}

// variableName matches the name of an environment variable in the usual form.
var variableName = regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,63}$`)

// invalidPackError returns the error for a pack that cannot be used, with the reason.
func invalidPackError(name, format string, args ...any) error {
	return junctor.Errorf(junctor.CodeInvalid, "%s is not a valid pack: "+format, append([]any{name}, args...)...)
}

// checkHead checks the members above the servers: id, title, summary, homepage, network
// and questions.
func (p *Pack) checkHead() error {
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
		return fmt.Errorf("network %q: use none, install or always", p.Network)
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
			return fmt.Errorf("the question %s is defined twice", q.Name)
		case strings.TrimSpace(q.Title) == "":
			return fmt.Errorf("the question %s has no title", q.Name)
		case q.Secret && q.Default != "":
			return fmt.Errorf("the question %s is secret and has a default: a pack must not contain secrets", q.Name)
		case q.Env != "" && (q.Secret || !variableName.MatchString(q.Env)):
			return fmt.Errorf("the question %s has env %q: use the name of a variable, and only for a question that is not secret", q.Name, q.Env)
		case q.Default == junctor.Masked || q.Example == junctor.Masked:
			return fmt.Errorf("the question %s contains %s, the placeholder of a masked credential", q.Name, junctor.Masked)
		}
		seen[q.Name] = true
	}
	return nil
}

// checkPlaceholders checks that each placeholder has a question, and that each question
// has a placeholder. A question without one would ask the user for nothing.
func (p *Pack) checkPlaceholders() error {
	used := map[string]bool{}
	if err := visitScalars(p.declarations, 0, func(n *yaml.Node) error {
		for _, m := range placeholder.FindAllStringSubmatch(n.Value, -1) {
			if m[0] == escapedOpen {
				continue
			}
			if p.findQuestion(m[1]) == nil || !strings.HasSuffix(m[0], "}") {
				return fmt.Errorf("line %d: %q refers to a question that the pack does not define; write $${ for a literal ${", n.Line, m[0])
			}
			used[m[1]] = true
		}
		return nil
	}); err != nil {
		return err
	}
	for _, q := range p.Questions {
		if !used[q.Name] {
			return fmt.Errorf("the question %s is unused: servers and agents do not contain ${%s}", q.Name, q.Name)
		}
	}
	return nil
}

// findQuestion returns the question with a name, or nil.
func (p *Pack) findQuestion(name string) *Question {
	for i := range p.Questions {
		if p.Questions[i].Name == name {
			return &p.Questions[i]
		}
	}
	return nil
}

// visitScalars calls visit for each scalar value below n; keys of maps are not visited.
// It stops at the first error. Aliases are refused: a value could be reached twice, and
// a small file could grow without bound. The depth is bounded because the function
// calls itself.
func visitScalars(n *yaml.Node, depth int, visit func(*yaml.Node) error) error {
	switch {
	case depth > 32:
		return fmt.Errorf("line %d: the nesting is too deep", n.Line)
	case n.Kind == yaml.AliasNode:
		return fmt.Errorf("line %d: aliases are not allowed in a pack: write the value out", n.Line)
	case n.Kind == yaml.ScalarNode:
		return visit(n)
	}
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			continue
		}
		if err := visitScalars(c, depth+1, visit); err != nil {
			return err
		}
	}
	return nil
}

// checkTrialFill fills the pack with answers that nothing else contains, and checks
// where they end up. The answer to a secret question must be in a part of a server that
// is sealed. A server must not refer to files, variables or commands of the machine
// that the pack is added on: a stranger's pack could read secrets there. It must not
// bring a credential of its own either.
func (p *Pack) checkTrialFill(name string) error {
	// mark is the beginning of each secret answer of the trial.
	const mark = "packmark"
	answers := map[string]string{}
	for i := range p.Questions {
		q := &p.Questions[i]
		if answers[q.Name] = q.sampleAnswer(); q.Secret {
			answers[q.Name] = fmt.Sprintf("%s%d", mark, i)
		}
	}
	d, err := p.declareWith(name, answers, nil)
	if err != nil {
		return err
	}
	if len(d.Servers)+len(d.Agents) == 0 {
		return invalidPackError(name, "it has no servers and no agents")
	}
	for _, t := range p.Tools {
		if !slices.ContainsFunc(d.Servers, func(s config.Server) bool { return s.ID == t.Server }) {
			return invalidPackError(name, "tools.%s/%s: the pack has no server %q", t.Server, t.Tool, t.Server)
		}
	}
	for _, a := range d.Agents {
		if strings.Contains(fmt.Sprintf("%+v", a.Agent), mark) {
			return invalidPackError(name, "agents.%s: a secret question is not allowed here, because its answer would not be sealed", a.Name)
		}
	}
	for _, s := range d.Servers {
		c := s.Connection()
		if s.API != nil && strings.Contains(fmt.Sprintf("%+v %s", *s.API, s.Document), mark) {
			return invalidPackError(name, "servers.%s: a secret question is not allowed in document or api, because its answer would not be sealed: use it in auth or headers", s.ID)
		}
		if refs := c.References(); len(refs) > 0 {
			return invalidPackError(name, "servers.%s: %s would be read on the machine of the instance: ask a question instead", s.ID, refs[0])
		}
		if c.Auth != nil && c.Auth.Secret != "" && !strings.Contains(c.Auth.Secret, mark) {
			return invalidPackError(name, "servers.%s.auth: a pack must not contain secrets: ask a question with secret: true", s.ID)
		}
		kept, _ := upstreamauth.SplitLiterals(c)
		if auth := kept.Auth; strings.Contains(fmt.Sprintf("%+v %+v %+v", s.Title, kept, auth), mark) {
			return invalidPackError(name, "servers.%s: the answer to a secret question would not be sealed here: use it in auth, env, headers or the query of url", s.ID)
		}
	}
	return nil
}
