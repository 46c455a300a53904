package pack

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/history"
)

// About describes a pack to its users. ID has the form of a server id; Title and
// Summary are required.
type About struct{ ID, Title, Summary string }

// Content is what Export writes into a pack. Credentials in it may be sealed (masked),
// references or plain; none of them is written.
type Content struct {
	Servers   []junctor.Server
	Documents map[string]string // texts of the documents of generated servers, by server id; not needed for a server with a document_url
	Tools     []ToolRoles
	Agents    []junctor.Agent
}

// Export returns servers and agents as the text of a pack, and the questions that it
// asks. Each value that may be a credential becomes a question: whether it is sealed, a
// reference, or a word of a command that looks like a secret. The text is parsed again
// before it is returned, so a pack that could not be added is an error here.
func Export(about About, content Content) (text []byte, asked []Question, err error) {
	d := config.Declared{Servers: []config.Server{}}
	for _, row := range content.Servers {
		s := config.NewServer(row)
		s.Document = content.Documents[row.ID]
		d.Servers = append(d.Servers, s)
	}
	if content.Agents != nil {
		d.Agents = config.FromAgents(content.Agents)
	}
	written, err := d.YAML()
	if err != nil {
		return nil, nil, err
	}
	f := packFile{Pack: about.ID, Title: about.Title, Summary: about.Summary, Tools: makeFileTools(content.Tools)}
	if err := yaml.Unmarshal(written, &f); err != nil {
		return nil, nil, junctor.Errorf(junctor.CodeInternal, "cannot encode the pack: %w", err)
	}
	// Texts of the user may contain ${. They are escaped before the questions get their
	// placeholders.
	for _, part := range []*yaml.Node{&f.Servers, &f.Agents} {
		if err := visitScalars(part, 0, func(n *yaml.Node) error {
			n.Value = escapePlaceholders(n.Value)
			return nil
		}); err != nil {
			return nil, nil, junctor.Errorf(junctor.CodeInternal, "cannot encode the pack: %w", err)
		}
	}
	x := &exporter{usedNames: map[string]bool{}}
	for id, server := range sortedMembers(&f.Servers) {
		x.exportServer(id, server)
	}
	f.Questions = x.questions
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(f); err != nil {
		return nil, nil, junctor.Errorf(junctor.CodeInternal, "cannot encode the pack: %w", err)
	}
	// Parse repeats all checks, among them that no secret is in the text.
	if _, err := Parse("the pack", out.Bytes()); err != nil {
		return nil, nil, err
	}
	return out.Bytes(), x.questions, nil
}

// exporter replaces credentials by questions and collects the questions.
type exporter struct {
	questions []Question
	// usedNames are the names of the questions so far.
	usedNames map[string]bool
}

// exportServer replaces the credentials of one server. The query of an address counts
// as one, since many services take a key there.
func (x *exporter) exportServer(id string, server *yaml.Node) {
	for key, value := range sortedMembers(server) {
		switch key {
		case "auth":
			x.exportAuth(id, value)
		case "env":
			for name, v := range sortedMembers(value) {
				x.replaceByQuestion(v, id, name, Question{Title: name, About: "A variable of the command of " + id + ".", Secret: true})
			}
		case "headers":
			for name, v := range sortedMembers(value) {
				x.replaceByQuestion(v, id, name, Question{Title: name, About: "A header of every request to " + id + ".", Secret: true})
			}
		case "url", "base_url", "document_url":
			if address, query, ok := strings.Cut(value.Value, "?"); ok && query != "" {
				what := map[string]string{"url": "query"}[key]
				x.replaceByQuestion(value, id, cmp.Or(what, key+"-query"), Question{
					Title: "Query of the address", About: "The query of " + key + " of " + id + ".",
					Secret: key != "document_url", // the address of a document is not sealed
				})
				value.Value = address + "?" + value.Value
			}
		case "command":
			x.exportCommand(id, value)
		}
	}
}

// exportAuth replaces the secret of a server's auth by a question that names its type.
func (x *exporter) exportAuth(id string, auth *yaml.Node) {
	titles := map[string]string{"bearer": "Token", "api-key": "API key", "basic": "Password", "oauth-client": "Client secret", "oauth": "Client secret"}
	title := "Secret"
	for key, value := range sortedMembers(auth) {
		if key == "type" && titles[value.Value] != "" {
			title = titles[value.Value]
		}
	}
	for key, value := range sortedMembers(auth) {
		if key == "secret" {
			x.replaceByQuestion(value, id, title, Question{Title: title, About: "The secret that authenticates calls to " + id + ".", Secret: true})
		}
	}
}

// exportCommand replaces the words of a command that look like secrets. They cannot be
// secret questions: a command line is visible to other users of the machine.
func (x *exporter) exportCommand(id string, command *yaml.Node) {
	words := make([]string, len(command.Content))
	for i, word := range command.Content {
		words[i] = word.Value
	}
	suspects := history.FindSecretWords(words)
	for i, word := range words {
		if !slices.Contains(suspects, i) && !strings.Contains(word, junctor.Masked) {
			continue
		}
		x.replaceByQuestion(command.Content[i], id, fmt.Sprintf("word-%d", i), Question{
			Title: fmt.Sprintf("Word %d of the command", i), About: "This word looks like a secret. Words of a command are not sealed: other users of the machine can see them.",
		})
	}
}

// replaceByQuestion puts a question in the place of a value. Its name is made of the
// server's id and of what, and is unique in the pack. An empty value is kept, since no
// answer could be empty.
func (x *exporter) replaceByQuestion(value *yaml.Node, id, what string, q Question) {
	if value.Value == "" {
		return
	}
	base := strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(id+"-"+what), "-"), "-")
	base = base[:min(len(base), 60)]
	q.Name = base
	for n := 2; x.usedNames[q.Name]; n++ {
		q.Name = fmt.Sprintf("%s-%d", base, n)
	}
	x.usedNames[q.Name] = true
	x.questions = append(x.questions, q)
	value.Value, value.Tag, value.Style = placeholderOpen+q.Name+"}", "!!str", yaml.DoubleQuotedStyle
}

// sortedMembers iterates over the members of a map in the order of their keys, so that
// the same servers always give the same pack. Anything but a map has no members.
func sortedMembers(m *yaml.Node) func(func(string, *yaml.Node) bool) {
	return func(yield func(string, *yaml.Node) bool) {
		var keys []int
		for i := 0; m.Kind == yaml.MappingNode && i+1 < len(m.Content); i += 2 {
			keys = append(keys, i)
		}
		slices.SortStableFunc(keys, func(a, b int) int { return strings.Compare(m.Content[a].Value, m.Content[b].Value) })
		for _, i := range keys {
			if !yield(m.Content[i].Value, m.Content[i+1]) {
				return
			}
		}
	}
}
