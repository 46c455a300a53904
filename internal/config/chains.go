package config

import (
	"fmt"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	junctor "github.com/junctor-mcp/junctor"
)

// readChains reads the map below chains: the chains to follow. Only a file can
// declare them, and a change takes effect at the next start. Two chains with
// one id are a problem.
func (l *loader) readChains(d *document, n *yaml.Node) {
	ids := map[uint64]string{}
	for _, m := range d.listMembers(n, "chains") {
		before := len(l.problems)
		c := d.readChain(m)
		if len(l.problems) > before {
			continue
		}
		if err := c.Check(); err != nil {
			d.addProblem(m.key, "%s", junctor.AsError(err).Message)
			continue
		}
		if other, ok := ids[c.ID]; ok {
			d.addProblem(m.key, "the chains %s and %s have the same id: give each chain its own", other, c.Name)
			continue
		}
		ids[c.ID] = c.Name
		l.config.Chains = append(l.config.Chains, c)
	}
}

// readChain reads one chain.
func (d *document) readChain(m member) junctor.Chain {
	c := junctor.Chain{Name: m.key.Value, Confirmations: junctor.DefaultConfirmations, Poll: junctor.DefaultChainPoll}
	var id int
	path := "chains." + c.Name
	d.readObject(m.value, path, fieldReaders{
		"id":            d.intField(&id),
		"rpc":           d.textOrTextsField(&c.Nodes, "URLs of nodes"),
		"registries":    d.registriesField(&c.Registries),
		"confirmations": d.confirmationsField(&c),
		"start":         d.intField(&c.Start),
		"servers":       d.textMapField(&c.Servers, func(string) error { return nil }),
		"poll":          d.durationField(&c.Poll),
	})
	c.ID = uint64(max(id, 0))
	return c
}

// textOrTextsField reads a text, or a list of texts.
func (d *document) textOrTextsField(to *[]string, what string) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		if n.Kind == yaml.SequenceNode {
			d.textsField(to, what)(n, path)
			return
		}
		if text, ok := d.readText(n, path); ok {
			*to = []string{text}
		}
	}
}

// registriesField reads a list of registries, each with the addresses of its
// contracts.
func (d *document) registriesField(to *[]junctor.ChainRegistry) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		if n.Kind != yaml.SequenceNode {
			d.addProblem(n, "%s must be a list of registries, each with the address of its identity registry", path)
			return
		}
		for i, item := range n.Content {
			var r junctor.ChainRegistry
			d.readObject(followAlias(item), fmt.Sprintf("%s[%d]", path, i), fieldReaders{
				"identity": d.contractField(&r.Identity), "reputation": d.contractField(&r.Reputation), "validation": d.contractField(&r.Validation),
			})
			*to = append(*to, r)
		}
	}
}

// contractField reads the address of a contract. Without quotes, YAML takes an
// address for a number; its text is used in any case.
func (d *document) contractField(to *string) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		if !isScalar(n, "!!str", "!!int", "!!float") {
			d.addProblem(n, "%s must be a contract address: 0x and 40 hexadecimal digits", path)
			return
		}
		*to = n.Value
	}
}

// confirmationsField reads a number of blocks, or the word finalized.
func (d *document) confirmationsField(c *junctor.Chain) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		if isScalar(n, "!!str") && n.Value == "finalized" {
			c.Finalized, c.Confirmations = true, 0
			return
		}
		if !isScalar(n, "!!int") {
			d.addProblem(n, "%s must be a number of blocks, or the word finalized", path)
			return
		}
		d.intField(&c.Confirmations)(n, path)
	}
}

// durationField reads a duration with its unit.
func (d *document) durationField(to *time.Duration) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		v, err := time.ParseDuration(n.Value)
		if !isScalar(n, "!!str") || err != nil {
			d.addProblem(n, "%s must be a duration with a unit, such as 2s", path)
			return
		}
		*to = v
	}
}

// chainSettings returns the settings that concern chains and IPFS.
func chainSettings() []Setting {
	return []Setting{
		{
			Group: GroupChains, Name: "ipfs-gateways", Kind: KindList, Default: "https://trustless-gateway.link",
			Help: "IPFS gateways that serve raw blocks, tried in order; Junctor verifies the blocks, so the gateways need no trust",
			set:  func(c *Config, s string) (err error) { c.IPFSGateways, err = parseList(s, parseEndpoint); return err },
			show: func(c *Config) string { return strings.Join(c.IPFSGateways, ",") },
		},
		{
			Group: GroupChains, Name: "agent-domains", Kind: KindText, Default: "show", Choices: []string{"off", "show", "require"},
			Help: "whether the domain of an endpoint that was discovered on a chain must name the agent: off does not check, show checks and displays the result, require refuses an agent that fails the check",
			set: func(c *Config, s string) (err error) {
				c.AgentDomains, err = parseChoice([]string{"off", "show", "require"})(s)
				return err
			},
			show: func(c *Config) string { return c.AgentDomains },
		},
	}
}
