package pack

import (
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/config"
)

// maxAnswer is the maximum size of an answer in bytes, the same as that of a secret.
const maxAnswer = 64 << 10

// Filled is what a pack declares with the answers that were given.
type Filled struct {
	config.Declared
	// Missing names the required questions without an answer. Samples stand in their
	// places, so the declarations can be shown but not used until Missing is empty.
	Missing []string
	// Tools are the roles of the tools, with the servers under their new names.
	Tools []ToolRoles
}

// Fill puts answers into a copy of the pack. answers are by the name of the question;
// an empty one counts as missing. names has the new names of servers and agents by the
// names in the pack; all others keep theirs. If a server and an agent have the same
// name, the plain name means the agent; server/NAME and agent/NAME mean one of them.
//
// An unknown question or name, and an answer that makes a declaration invalid, are
// CodeInvalid.
func (p *Pack) Fill(answers, names map[string]string) (Filled, error) {
	return p.FillBeside(answers, names, nil)
}

// FillBeside is Fill for an instance that has servers already; there has their ids. A
// server of the pack whose address is optional and not given is left out. The agents of
// the pack then use the existing server of that id, if there is one.
func (p *Pack) FillBeside(answers, names map[string]string, there map[string]bool) (Filled, error) {
	var out Filled
	given := map[string]string{}
	for name, answer := range answers {
		switch {
		case p.findQuestion(name) == nil:
			return out, junctor.Errorf(junctor.CodeInvalid, "the pack %s has no question %q", p.ID, name)
		case len(answer) > maxAnswer:
			return out, junctor.Errorf(junctor.CodeTooLarge, "the answer for %s is longer than %d KiB", name, maxAnswer>>10)
		case answer == junctor.Masked:
			return out, junctor.Errorf(junctor.CodeInvalid, "the answer for %s is %s, the placeholder of a masked credential: enter the credential itself", name, junctor.Masked)
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
		given[q.Name] = q.sampleAnswer()
	}
	var err error
	if out.Declared, err = p.declareWith("the pack "+p.ID, given, there); err != nil {
		return out, err
	}
	servers, err := renameDeclared(&out.Declared, names)
	out.Tools = renameTools(p.Tools, servers)
	return out, err
}

// declareWith returns the declarations of the pack with these answers. A value whose
// question has no answer is left out. name is used in errors.
func (p *Pack) declareWith(name string, answers map[string]string, there map[string]bool) (config.Declared, error) {
	content, _ := fillTree(p.declarations, answers)
	p.omitUnaddressedServers(content, there)
	d, err := config.Read(name, content)
	if err != nil {
		err = junctor.Errorf(junctor.CodeInvalid, "%w", err)
	}
	return d, err
}

// omitUnaddressedServers removes each server whose address was left out for lack of an
// answer. It also removes what the agents were granted of that server, unless the
// instance has a server of that id.
func (p *Pack) omitUnaddressedServers(content *yaml.Node, there map[string]bool) {
	servers := findMember(content, "servers")
	var gone []string
	for id, s := range sortedMembers(findMember(p.declarations, "servers")) {
		for _, address := range []string{"url", "document_url"} {
			if findMember(s, address).Kind != 0 && findMember(findMember(servers, id), address).Kind == 0 {
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
		for _, a := range sortedMembers(findMember(content, "agents")) {
			for _, list := range []string{"tools", "resources", "prompts"} {
				grants := findMember(a, list)
				grants.Content = slices.DeleteFunc(grants.Content, func(n *yaml.Node) bool { return strings.HasPrefix(n.Value, id+"/") })
			}
		}
	}
}

// findMember returns the value of a key, or an empty node, which has no kind and no
// content.
func findMember(m *yaml.Node, key string) *yaml.Node {
	for k, v := range sortedMembers(m) {
		if k == key {
			return v
		}
	}
	return &yaml.Node{}
}

// fillTree returns a copy of a tree with the answers in their places. The result is
// false if the value lacks an answer; the caller then drops it together with its key.
// The tree itself is not changed.
func fillTree(n *yaml.Node, answers map[string]string) (*yaml.Node, bool) {
	c := *n
	c.Content = nil
	switch n.Kind {
	case yaml.ScalarNode:
		stays := true
		if strings.Contains(n.Value, placeholderOpen) {
			c.Value = placeholder.ReplaceAllStringFunc(n.Value, func(place string) string {
				if place == escapedOpen {
					return placeholderOpen
				}
				answer, ok := answers[strings.TrimSuffix(strings.TrimPrefix(place, placeholderOpen), "}")]
				stays = stays && ok
				return answer
			})
			// An answer such as 42 or true must stay a text, as the user typed it.
			c.Tag = "!!str"
		}
		return &c, stays
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if value, stays := fillTree(n.Content[i+1], answers); stays {
				c.Content = append(c.Content, n.Content[i], value)
			}
		}
	default:
		for _, item := range n.Content {
			if value, stays := fillTree(item, answers); stays {
				c.Content = append(c.Content, value)
			}
		}
	}
	return &c, true
}

// renameDeclared gives servers and agents their new names, and changes the grants of
// the agents accordingly. It returns the new ids of the servers by their old ones. A
// server that the rules of an agent name cannot be renamed: rules are text in which the
// name is not found reliably.
func renameDeclared(d *config.Declared, names map[string]string) (map[string]string, error) {
	known := map[string]bool{}
	// called returns the new name of a thing, and notes which names the caller may use
	// for it. plain means that the name without its kind means this thing.
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
				return nil, junctor.Errorf(junctor.CodeInvalid, "the server %s cannot be renamed: the rules of the agent %s use its tools, %s__…", id, a.Name, id)
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
			return nil, junctor.Errorf(junctor.CodeInvalid, "the pack has no server or agent %q", name)
		}
	}
	return servers, nil
}

// NamesServer reports whether the rules of an agent name tools of a server, as
// ID__tool.
func NamesServer(a *junctor.Agent, id string) bool {
	if a.Brain == nil {
		return false
	}
	named, err := regexp.MatchString(`(?:^|[^A-Za-z0-9_-])`+regexp.QuoteMeta(id)+`__`, a.Brain.Rules)
	return err == nil && named
}
