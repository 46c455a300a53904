package policies

import (
	_ "embed"
	"sync"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/policy"
)

//go:embed templates.yaml
var templates []byte

// readTemplates reads the rules of the binary, once.
var readTemplates = sync.OnceValues(func() ([]junctor.PolicyRule, error) {
	d, err := config.Parse("templates.yaml", templates)
	out := make([]junctor.PolicyRule, len(d.Policies))
	for i := range d.Policies {
		out[i] = d.Policies[i].PolicyRule
	}
	return out, err
})

// PolicyTemplates implements admin.Policies.
func (s *Policies) PolicyTemplates() []junctor.PolicyRule {
	list, _ := readTemplates() // a test reads them
	return list
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
