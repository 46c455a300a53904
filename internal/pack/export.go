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

// About is what a pack says of itself.
type About struct{ ID, Title, Summary string }

// Content is what a pack is made of.
type Content struct {
	Servers   []junctor.Server
	Documents map[string]string // texts of servers that are made of a document, by id; one with a document_url needs none
	Tools     []ToolRoles
	Agents    []junctor.Agent
}

// Export writes servers and agents as a pack, and gives the questions that it
// asks. Whatever may be a credential is one of them, whether it is sealed, read
// from somewhere, or looks like a secret in a command: nothing of it is written.
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
	f := file{Pack: about.ID, Title: about.Title, Summary: about.Summary, Tools: writtenTools(content.Tools)}
	if err := yaml.Unmarshal(written, &f); err != nil {
		return nil, nil, junctor.Errorf(junctor.CodeInternal, "the pack cannot be written: %w", err)
	}
	for _, part := range []*yaml.Node{&f.Servers, &f.Agents} {
		if err := scalars(part, 0, func(n *yaml.Node) error {
			n.Value = escape(n.Value)
			return nil
		}); err != nil {
			return nil, nil, junctor.Errorf(junctor.CodeInternal, "the pack cannot be written: %w", err)
		}
	}
	x := &exporter{taken: map[string]bool{}}
	for id, server := range entries(&f.Servers) {
		x.server(id, server)
	}
	f.Questions = x.asked
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(f); err != nil {
		return nil, nil, junctor.Errorf(junctor.CodeInternal, "the pack cannot be written: %w", err)
	}
	// What was written must be what was meant.
	if _, err := Parse("the pack", out.Bytes()); err != nil {
		return nil, nil, err
	}
	return out.Bytes(), x.asked, nil
}

// exporter puts questions in the place of what must not be written.
type exporter struct {
	asked []Question
	taken map[string]bool
}

func (x *exporter) server(id string, server *yaml.Node) {
	for key, value := range entries(server) {
		switch key {
		case "auth":
			x.auth(id, value)
		case "env":
			for name, v := range entries(value) {
				x.ask(v, id, name, Question{Title: name, About: "A variable of the command of " + id + ".", Secret: true})
			}
		case "headers":
			for name, v := range entries(value) {
				x.ask(v, id, name, Question{Title: name, About: "A header of every request to " + id + ".", Secret: true})
			}
		case "url", "base_url", "document_url":
			if address, query, ok := strings.Cut(value.Value, "?"); ok && query != "" {
				what := map[string]string{"url": "query"}[key]
				x.ask(value, id, cmp.Or(what, key+"-query"), Question{
					Title: "Query of the address", About: "What stands behind the question mark in " + key + " of " + id + ".",
					Secret: key != "document_url", // that is not sealed, here either
				})
				value.Value = address + "?" + value.Value
			}
		case "command":
			x.command(id, value)
		}
	}
}

func (x *exporter) auth(id string, auth *yaml.Node) {
	titles := map[string]string{"bearer": "Token", "api-key": "API key", "basic": "Password", "oauth-client": "Client secret", "oauth": "Client secret"}
	title := "Secret"
	for key, value := range entries(auth) {
		if key == "type" && titles[value.Value] != "" {
			title = titles[value.Value]
		}
	}
	for key, value := range entries(auth) {
		if key == "secret" {
			x.ask(value, id, title, Question{Title: title, About: "How " + id + " knows who is asking.", Secret: true})
		}
	}
}

func (x *exporter) command(id string, command *yaml.Node) {
	words := make([]string, len(command.Content))
	for i, word := range command.Content {
		words[i] = word.Value
	}
	suspects := history.Suspects(words)
	for i, word := range words {
		if !slices.Contains(suspects, i) && !strings.Contains(word, junctor.Masked) {
			continue
		}
		x.ask(command.Content[i], id, fmt.Sprintf("word-%d", i), Question{
			Title: fmt.Sprintf("Word %d of the command", i), About: "It was taken for a secret. Words of a command are not sealed: others on the machine can see them.",
		})
	}
}

// ask puts a question in the place of a value.
func (x *exporter) ask(value *yaml.Node, id, what string, q Question) {
	if value.Value == "" {
		return // no answer would be like it
	}
	base := strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(id+"-"+what), "-"), "-")
	base = base[:min(len(base), 60)]
	q.Name = base
	for n := 2; x.taken[q.Name]; n++ {
		q.Name = fmt.Sprintf("%s-%d", base, n)
	}
	x.taken[q.Name] = true
	x.asked = append(x.asked, q)
	value.Value, value.Tag, value.Style = openPlace+q.Name+"}", "!!str", yaml.DoubleQuotedStyle
}

// entries gives the members of a map in the order of their keys.
func entries(m *yaml.Node) func(func(string, *yaml.Node) bool) {
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
