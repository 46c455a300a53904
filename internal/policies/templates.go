package policies

import (
	_ "embed"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/policy"
)

//go:embed templates.yaml
var templates []byte

// PolicyTemplates implements admin.Policies.
func (s *Policies) PolicyTemplates() []junctor.PolicyRule {
	list, err := Templates()
	if err != nil {
		s.o.Log.Error("cannot read the rules to start from", "error", err)
	}
	return list
}

// Templates returns the rules that come with Junctor to start from.
func Templates() ([]junctor.PolicyRule, error) {
	d, err := config.Parse("templates.yaml", templates)
	out := make([]junctor.PolicyRule, len(d.Policies))
	for i := range d.Policies {
		out[i] = d.Policies[i].PolicyRule
	}
	return out, err
}

// CheckDeclared returns the problems of the rules of a settings file that its reader does
// not find: mistakes in conditions, apart from those that depend on the tools.
func CheckDeclared(d *config.Declared) (problems []config.Problem) {
	if len(d.Policies) == 0 {
		return nil
	}
	compiler, err := policy.NewCompiler()
	if err != nil {
		return []config.Problem{{Message: "policies: " + junctor.AsError(err).Message}}
	}
	for i := range d.Policies {
		for _, one := range compiler.Check(&d.Policies[i].PolicyRule, nil) {
			if !one.Warning {
				problems = append(problems, config.Problem{Where: d.Policies[i].Where, Message: "policies." + d.Policies[i].Name + ": " + one.String()})
			}
		}
	}
	return problems
}
