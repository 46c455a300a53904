package config

import (
	"cmp"
	"fmt"
	"slices"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	junctor "github.com/junctor-mcp/junctor"
)

// Agent is an agent that a file declares. Whether its role, its tier and the
// servers of its grants exist is checked by the instance, which alone knows
// them.
type Agent struct {
	Where string // file:line:column of its name
	junctor.Agent
}

// FromAgents returns the declarations of stored agents, sorted by name, without
// owner and times.
func FromAgents(rows []junctor.Agent) []Agent {
	out := make([]Agent, len(rows))
	for i, a := range rows {
		out[i].Agent = junctor.DeclaredPart(a)
	}
	slices.SortFunc(out, compareNames)
	return out
}

// compareNames orders agents by name.
func compareNames(a, b Agent) int { return cmp.Compare(a.Name, b.Name) }

// maxTitle is the maximum number of characters of a title, as in the admin API.
const maxTitle = 200

// readAgents reads the map below agents. An agent with a problem is left out.
func (l *loader) readAgents(d *document, n *yaml.Node) {
	l.config.declared.Agents = []Agent{}
	for _, m := range d.listMembers(n, "agents") {
		if err := junctor.CheckAgentName(m.key.Value); err != nil {
			d.addProblem(m.key, "%s", junctor.AsError(err).Message)
			continue
		}
		before := len(l.problems)
		a := d.readAgent(m)
		if len(l.problems) == before {
			l.config.declared.Agents = append(l.config.declared.Agents, a)
		}
	}
	slices.SortFunc(l.config.declared.Agents, compareNames)
}

// readAgent reads one agent. The members are those of the admin API.
func (d *document) readAgent(m member) Agent {
	a := Agent{Where: d.nodePosition(m.key), Agent: junctor.Agent{Name: m.key.Value, Role: junctor.RoleGeneral}}
	known := d.structFields(&a.Agent)
	known["limits"] = func(n *yaml.Node, path string) { a.Limits = d.readLimits(n, path) }
	known["brain"] = func(n *yaml.Node, path string) { a.Brain = d.readBrain(n, path) }
	d.readObject(m.value, "agents."+a.Name, known)
	return a
}

// titleField reads a title for people.
func (d *document) titleField(to *string) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		if d.textField(to)(n, path); utf8.RuneCountInString(*to) > maxTitle {
			d.addProblem(n, "%s has more than %d characters", path, maxTitle)
		}
	}
}

// roleField reads the name of a role.
func (d *document) roleField(to *junctor.Role) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		text, ok := d.readText(n, path)
		if !ok {
			return
		}
		*to = junctor.Role(text)
		if err := junctor.CheckRole(*to); err != nil {
			d.addProblem(n, "%s: %s", path, junctor.AsError(err).Message)
		}
	}
}

// grantsField reads a list of grants such as server/tool or server/*. They are
// sorted and unique, as they are stored.
func (d *document) grantsField(to *[]junctor.Grant) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		if n.Kind != yaml.SequenceNode {
			d.addProblem(n, "%s must be a list, such as [notes/search, 'pets/*']", path)
			return
		}
		for i, item := range n.Content {
			text, ok := d.readText(item, fmt.Sprintf("%s[%d]", path, i))
			if !ok {
				continue
			}
			g, err := junctor.ParseGrant(text)
			if err != nil {
				d.addProblem(item, "%s[%d]: %s", path, i, junctor.AsError(err).Message)
				continue
			}
			*to = append(*to, g)
		}
		slices.SortFunc(*to, junctor.Grant.Compare)
		*to = slices.Compact(*to)
	}
}

// readLimits reads the limits of an agent.
func (d *document) readLimits(n *yaml.Node, path string) *junctor.Limits {
	l := &junctor.Limits{}
	before := len(d.loader.problems)
	d.readObject(n, path, d.structFields(l))
	if len(d.loader.problems) > before {
		return l
	}
	if err := l.Check(); err != nil {
		d.addProblem(n, "%s: %s", path, junctor.AsError(err).Message)
	}
	return l
}

// readBrain reads the model or the rules of an agent. Whether the model exists
// and the rules can be parsed is checked by the instance.
func (d *document) readBrain(n *yaml.Node, path string) *junctor.Brain {
	b := &junctor.Brain{}
	before := len(d.loader.problems)
	d.readObject(n, path, d.structFields(b))
	if len(d.loader.problems) > before {
		return b
	}
	if err := b.Check(); err != nil {
		d.addProblem(n, "%s: %s", path, junctor.AsError(err).Message)
	}
	return b
}

// fileAgents returns the agents in the form of a file, by name.
func (d Declared) fileAgents() map[string]fileObject {
	out := map[string]fileObject{}
	for _, a := range d.Agents {
		out[a.Name] = fileObject{of: a.Agent}
	}
	return out
}
