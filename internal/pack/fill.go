package pack

import (
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/config"
)

// maxAnswer is as much as a secret may have.
const maxAnswer = 64 << 10

// Filled is what a pack comes to with the answers that were given.
type Filled struct {
	config.Declared
	// Missing names the questions without an answer. Where they belong stand their
	// examples: nothing of it can be used.
	Missing []string
	// Tools are what the tools of its servers are for.
	Tools []ToolRoles
}

// Fill puts answers into a pack. names are what servers and agents are to be
// called, by what the pack calls them; all else keeps its name. A name that both a
// server and an agent have means the agent; server/NAME and agent/NAME mean one of them.
func (p *Pack) Fill(answers, names map[string]string) (Filled, error) {
	return p.FillBeside(answers, names, nil)
}

// FillBeside is Fill where servers are there already, by their ids. Where the pack
// leaves out a server whose address nobody gave, its agents use the one of that id that
// is there.
func (p *Pack) FillBeside(answers, names map[string]string, there map[string]bool) (Filled, error) {
	var out Filled
	given := map[string]string{}
	for name, answer := range answers {
		switch {
		case p.question(name) == nil:
			return out, junctor.Errorf(junctor.CodeInvalid, "the pack %s does not ask for %q", p.ID, name)
		case len(answer) > maxAnswer:
			return out, junctor.Errorf(junctor.CodeTooLarge, "the answer for %s is longer than %d KiB", name, maxAnswer>>10)
		case answer == junctor.Masked:
			return out, junctor.Errorf(junctor.CodeInvalid, "the answer for %s is %s, which stands where a credential is not shown", name, junctor.Masked)
		case answer != "":
			given[name] = answer
		}
	}
	for i := range p.Questions {
		q := &p.Questions[i]
		if given[q.Name] != "" || q.Default == "" && q.Optional {
			continue
		}
		if q.Default == "" {
			out.Missing = append(out.Missing, q.Name)
		}
		given[q.Name] = q.sample()
	}
	var err error
	if out.Declared, err = p.declared("the pack "+p.ID, given, there); err != nil {
		return out, err
	}
	servers, err := rename(&out.Declared, names)
	out.Tools = renameTools(p.Tools, servers)
	return out, err
}

// declared gives what the pack declares with these answers. A question that is
// not among them has none.
func (p *Pack) declared(name string, answers map[string]string, there map[string]bool) (config.Declared, error) {
	content, _ := filled(p.content, answers)
	p.leaveOut(content, there)
	d, err := config.Read(name, content)
	if err != nil {
		err = junctor.Errorf(junctor.CodeInvalid, "%w", err)
	}
	return d, err
}

// leaveOut takes those servers out of a filled tree whose address has no answer,
// and what agents were to have of them, unless another of the id is there.
func (p *Pack) leaveOut(content *yaml.Node, there map[string]bool) {
	servers := member(content, "servers")
	var gone []string
	for id, s := range entries(member(p.content, "servers")) {
		for _, address := range []string{"url", "document_url"} {
			if member(s, address).Kind != 0 && member(member(servers, id), address).Kind == 0 {
				gone = append(gone, id)
			}
		}
	}
	for _, id := range gone {
		i := slices.IndexFunc(servers.Content, func(n *yaml.Node) bool { return n.Value == id })
		servers.Content = slices.Delete(servers.Content, i, i+2)
		if there[id] {
			continue
		}
		for _, a := range entries(member(content, "agents")) {
			for _, list := range []string{"tools", "resources", "prompts"} {
				grants := member(a, list)
				grants.Content = slices.DeleteFunc(grants.Content, func(n *yaml.Node) bool { return strings.HasPrefix(n.Value, id+"/") })
			}
		}
	}
}

// member gives the value of a key; an empty node where there is none.
func member(m *yaml.Node, key string) *yaml.Node {
	for k, v := range entries(m) {
		if k == key {
			return v
		}
	}
	return &yaml.Node{}
}

// filled gives a copy of a tree with the answers in their places, and whether
// it stays: a value that lacks an answer goes, with its key.
func filled(n *yaml.Node, answers map[string]string) (*yaml.Node, bool) {
	c := *n
	c.Content = nil
	switch n.Kind {
	case yaml.ScalarNode:
		stays := true
		if strings.Contains(n.Value, openPlace) {
			c.Value = placeholder.ReplaceAllStringFunc(n.Value, func(place string) string {
				if place == escapedPlace {
					return openPlace
				}
				answer, ok := answers[strings.TrimSuffix(strings.TrimPrefix(place, openPlace), "}")]
				stays = stays && ok
				return answer
			})
			c.Tag = "!!str" // whatever the answer looks like
		}
		return &c, stays
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if value, stays := filled(n.Content[i+1], answers); stays {
				c.Content = append(c.Content, n.Content[i], value)
			}
		}
	default:
		for _, item := range n.Content {
			if value, stays := filled(item, answers); stays {
				c.Content = append(c.Content, value)
			}
		}
	}
	return &c, true
}

// rename calls things as somebody wants them, in the lists of agents too. It returns
// the new ids of the servers by their old ones.
func rename(d *config.Declared, names map[string]string) (map[string]string, error) {
	known := map[string]bool{}
	called := func(kind, name string, plain bool) string {
		known[kind+"/"+name] = true
		if plain {
			known[name] = true
		}
		if other := names[kind+"/"+name]; other != "" {
			return other
		}
		if other := names[name]; other != "" && plain {
			return other
		}
		return name
	}
	servers := map[string]string{}
	for i := range d.Servers {
		s := &d.Servers[i]
		agent := slices.ContainsFunc(d.Agents, func(a config.Agent) bool { return a.Name == s.ID })
		servers[s.ID] = called("server", s.ID, !agent)
		s.ID = servers[s.ID]
		if err := junctor.CheckServerID(s.ID); err != nil {
			return nil, err
		}
	}
	for i := range d.Agents {
		a := &d.Agents[i]
		for id, other := range servers {
			if id != other && NamesServer(&a.Agent, id) {
				return nil, junctor.Errorf(junctor.CodeInvalid, "the server %s keeps its name: the rules of the agent %s name its tools, %s__…", id, a.Name, id)
			}
		}
		a.Name = called("agent", a.Name, true)
		if err := junctor.CheckAgentName(a.Name); err != nil {
			return nil, err
		}
		for _, grants := range []*[]junctor.Grant{&a.Tools, &a.Resources, &a.Prompts} {
			for j := range *grants {
				if id, ok := servers[(*grants)[j].Server]; ok {
					(*grants)[j].Server = id
				}
			}
			slices.SortFunc(*grants, junctor.Grant.Compare)
		}
	}
	for name := range names {
		if !known[name] {
			return nil, junctor.Errorf(junctor.CodeInvalid, "there is nothing called %q in the pack", name)
		}
	}
	return servers, nil
}

// NamesServer reports whether the rules of an agent name tools of a server.
func NamesServer(a *junctor.Agent, id string) bool {
	if a.Brain == nil {
		return false
	}
	named, err := regexp.MatchString(`(?:^|[^A-Za-z0-9_-])`+regexp.QuoteMeta(id)+`__`, a.Brain.Rules)
	return err == nil && named
}
