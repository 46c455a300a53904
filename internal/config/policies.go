package config

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	junctor "github.com/junctor-mcp/junctor"
)

// Policy is a rule about calls that a file declares. The order of the rules is that of the
// file. Whether a condition fits the tools that it is about is checked by the instance,
// which alone knows them.
type Policy struct {
	Where string // file:line:column of the rule
	junctor.PolicyRule
}

// FromPolicies returns the declarations of stored rules, in order.
func FromPolicies(rules []junctor.PolicyRule) []Policy {
	out := make([]Policy, len(rules))
	for i := range rules {
		out[i].PolicyRule = rules[i]
	}
	return out
}

// readPolicies reads the list below policies. A rule with a problem is left out.
func (l *loader) readPolicies(d *document, n *yaml.Node) {
	l.config.declared.Policies = []Policy{}
	n = followAlias(n)
	if n.Kind != yaml.SequenceNode {
		d.addProblem(n, "policies must be a list of rules, in the order in which they are evaluated, such as [{name: no-deletes, target: {items: ['*/delete_*']}, verdict: deny}]")
		return
	}
	seen := map[string]bool{}
	for i, item := range n.Content {
		item = followAlias(item)
		before := len(l.problems)
		p := Policy{Where: d.nodePosition(item)}
		path := fmt.Sprintf("policies[%d]", i)
		d.readObject(item, path, d.structFields(&p.PolicyRule))
		if len(l.problems) > before {
			continue
		}
		if err := p.Check(); err != nil {
			d.addProblem(item, "%s: %s", path, junctor.AsError(err).Message)
			continue
		}
		if seen[p.Name] {
			d.addProblem(item, "%s: another rule is named %q; names must be unique", path, p.Name)
			continue
		}
		seen[p.Name] = true
		l.config.declared.Policies = append(l.config.declared.Policies, p)
	}
	if len(l.config.declared.Policies) > junctor.MaxPolicyRules {
		d.addProblem(n, "policies has %d rules; at most %d are possible", len(l.config.declared.Policies), junctor.MaxPolicyRules)
	}
}

// filePolicies returns the rules in the form of a file.
func (d Declared) filePolicies() []fileObject {
	out := make([]fileObject, len(d.Policies))
	for i := range d.Policies {
		out[i] = fileObject{of: d.Policies[i].PolicyRule}
	}
	return out
}
