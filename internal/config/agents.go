package config

import (
	"cmp"
	"fmt"
	"slices"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	junctor "github.com/junctor-mcp/junctor"
)

// Agent is an agent as a file declares it. Whether there are its role, its tier
// and the servers of its lists is for the instance to say.
type Agent struct {
	Where string // file:line:column of its name
	junctor.Agent
}

// FromAgents gives what declares these agents: not who made them, nor when.
func FromAgents(rows []junctor.Agent) []Agent {
	out := make([]Agent, len(rows))
	for i, a := range rows {
		out[i].Agent = junctor.Agent{
			Name: a.Name, Title: a.Title, Role: a.Role, Tools: a.Tools, Resources: a.Resources, Prompts: a.Prompts,
			Tier: a.Tier, Limits: a.Limits, Brain: a.Brain, Published: a.Published, Disabled: a.Disabled,
		}
	}
	slices.SortFunc(out, byName)
	return out
}

func byName(a, b Agent) int { return cmp.Compare(a.Name, b.Name) }

// maxTitle is how many characters an agent's name for people may have, as in the
// admin API.
const maxTitle = 200

// agents reads the map below agents.
func (l *loader) agents(d *document, n *yaml.Node) {
	l.config.declared.Agents = []Agent{}
	for _, m := range d.members(n, "agents") {
		if err := junctor.CheckAgentName(m.key.Value); err != nil {
			d.fault(m.key, "%s", junctor.AsError(err).Message)
			continue
		}
		before := len(l.problems)
		a := d.agent(m)
		if len(l.problems) == before {
			l.config.declared.Agents = append(l.config.declared.Agents, a)
		}
	}
	slices.SortFunc(l.config.declared.Agents, byName)
}

// agent reads one agent: the members are those of the admin API.
func (d *document) agent(m member) Agent {
	a := Agent{Where: d.at(m.key), Agent: junctor.Agent{Name: m.key.Value, Role: junctor.RoleGeneral}}
	d.object(m.value, "agents."+a.Name, fields{
		"title":     d.title(&a.Title),
		"role":      d.role(&a.Role),
		"tools":     d.grants(&a.Tools),
		"resources": d.grants(&a.Resources),
		"prompts":   d.grants(&a.Prompts),
		"tier":      d.text(&a.Tier),
		"limits":    func(n *yaml.Node, path string) { a.Limits = d.limits(n, path) },
		"brain":     func(n *yaml.Node, path string) { a.Brain = d.brain(n, path) },
		"published": d.truth(&a.Published),
		"disabled":  d.truth(&a.Disabled),
	})
	return a
}

func (d *document) title(to *string) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		if d.text(to)(n, path); utf8.RuneCountInString(*to) > maxTitle {
			d.fault(n, "%s has more than %d characters", path, maxTitle)
		}
	}
}

func (d *document) role(to *junctor.Role) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		text, ok := d.verbatim(n, path)
		if !ok {
			return
		}
		*to = junctor.Role(text)
		if err := junctor.CheckRole(*to); err != nil {
			d.fault(n, "%s: %s", path, junctor.AsError(err).Message)
		}
	}
}

// grants reads a list of what an agent may use, each once and in the order of
// their text, as they are stored.
func (d *document) grants(to *[]junctor.Grant) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		if n.Kind != yaml.SequenceNode {
			d.fault(n, "%s must be a list, such as [notes/search, 'pets/*']", path)
			return
		}
		for i, item := range n.Content {
			text, ok := d.verbatim(item, fmt.Sprintf("%s[%d]", path, i))
			if !ok {
				continue
			}
			g, err := junctor.ParseGrant(text)
			if err != nil {
				d.fault(item, "%s[%d]: %s", path, i, junctor.AsError(err).Message)
				continue
			}
			*to = append(*to, g)
		}
		slices.SortFunc(*to, junctor.Grant.Compare)
		*to = slices.Compact(*to)
	}
}

func (d *document) limits(n *yaml.Node, path string) *junctor.Limits {
	l := &junctor.Limits{}
	var over string
	before := len(d.l.problems)
	d.object(n, path, fields{
		"per_second": d.decimal(&l.PerSecond), "burst": d.number(&l.Burst), "per_day": d.number(&l.PerDay), "concurrent": d.number(&l.Concurrent),
		"over_limit": d.choice(&over, string(junctor.OverLimitReject), string(junctor.OverLimitQueue)), "max_wait_ms": d.number(&l.MaxWaitMS),
	})
	l.OverLimit = junctor.OverLimit(over)
	if len(d.l.problems) > before {
		return l
	}
	if err := l.Check(); err != nil {
		d.fault(n, "%s: %s", path, junctor.AsError(err).Message)
	}
	return l
}

// brain reads what an agent thinks with. Whether its model is there, and its rules
// can be read, is for the instance to say.
func (d *document) brain(n *yaml.Node, path string) *junctor.Brain {
	b := &junctor.Brain{}
	before := len(d.l.problems)
	d.object(n, path, fields{
		"model": d.text(&b.Model), "instructions": d.text(&b.Instructions), "rules": d.text(&b.Rules),
		"limits": func(n *yaml.Node, path string) {
			b.Limits = &junctor.TurnLimits{}
			d.object(n, path, fields{
				"turns": d.number(&b.Limits.Turns), "calls": d.number(&b.Limits.Calls), "call_seconds": d.number(&b.Limits.CallSeconds),
				"seconds": d.number(&b.Limits.Seconds), "tokens": d.number(&b.Limits.Tokens),
			})
		},
	})
	if len(d.l.problems) > before {
		return b
	}
	if err := b.Check(); err != nil {
		d.fault(n, "%s: %s", path, junctor.AsError(err).Message)
	}
	return b
}

// fileAgent is an agent as it is written to a file, in the order of its lines.
type fileAgent struct {
	Title     string         `json:"title,omitempty"     yaml:"title,omitempty"`
	Role      junctor.Role   `json:"role"                yaml:"role"`
	Tools     []string       `json:"tools,omitempty"     yaml:"tools,omitempty"`
	Resources []string       `json:"resources,omitempty" yaml:"resources,omitempty"`
	Prompts   []string       `json:"prompts,omitempty"   yaml:"prompts,omitempty"`
	Tier      string         `json:"tier,omitempty"      yaml:"tier,omitempty"`
	Limits    *fileLimits    `json:"limits,omitempty"    yaml:"limits,omitempty"`
	Brain     *junctor.Brain `json:"brain,omitempty"     yaml:"brain,omitempty"`
	Published bool           `json:"published,omitempty" yaml:"published,omitempty"`
	Disabled  bool           `json:"disabled,omitempty"  yaml:"disabled,omitempty"`
}

type fileLimits struct {
	PerSecond  float64           `json:"per_second,omitempty"  yaml:"per_second,omitempty"`
	Burst      int               `json:"burst,omitempty"       yaml:"burst,omitempty"`
	PerDay     int               `json:"per_day,omitempty"     yaml:"per_day,omitempty"`
	Concurrent int               `json:"concurrent,omitempty"  yaml:"concurrent,omitempty"`
	OverLimit  junctor.OverLimit `json:"over_limit,omitempty"  yaml:"over_limit,omitempty"`
	MaxWaitMS  int               `json:"max_wait_ms,omitempty" yaml:"max_wait_ms,omitempty"`
}

func (d Declared) fileAgents() map[string]fileAgent {
	out := map[string]fileAgent{}
	for _, a := range d.Agents {
		f := fileAgent{
			Title: a.Title, Role: a.Role, Tools: texts(a.Tools), Resources: texts(a.Resources), Prompts: texts(a.Prompts),
			Tier: a.Tier, Brain: a.Brain, Published: a.Published, Disabled: a.Disabled,
		}
		if a.Limits != nil {
			l := fileLimits(*a.Limits)
			f.Limits = &l
		}
		out[a.Name] = f
	}
	return out
}

func texts(grants []junctor.Grant) []string {
	out := make([]string, len(grants))
	for i, g := range grants {
		out[i] = g.String()
	}
	return out
}
