package config

import (
	"fmt"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	junctor "github.com/junctor-mcp/junctor"
)

// chains reads the map below chains: which are followed, and how. Only a file
// has it, and only a start reads it.
func (l *loader) chains(d *document, n *yaml.Node) {
	ids := map[uint64]string{}
	for _, m := range d.members(n, "chains") {
		before := len(l.problems)
		c := d.chain(m)
		if len(l.problems) > before {
			continue
		}
		if err := c.Check(); err != nil {
			d.fault(m.key, "%s", junctor.AsError(err).Message)
			continue
		}
		if other, ok := ids[c.ID]; ok {
			d.fault(m.key, "the chains %s and %s have the same id", other, c.Name)
			continue
		}
		ids[c.ID] = c.Name
		l.config.Chains = append(l.config.Chains, c)
	}
}

func (d *document) chain(m member) junctor.Chain {
	c := junctor.Chain{Name: m.key.Value, Confirmations: junctor.DefaultConfirmations, Poll: junctor.DefaultChainPoll}
	var id int
	path := "chains." + c.Name
	d.object(m.value, path, fields{
		"id":            d.number(&id),
		"rpc":           d.oneOrMore(&c.Nodes, "URLs of nodes"),
		"registries":    d.registries(&c.Registries),
		"confirmations": d.confirmations(&c),
		"start":         d.number(&c.Start),
		"servers":       d.names(&c.Servers, func(string) error { return nil }),
		"poll":          d.span(&c.Poll),
	})
	c.ID = uint64(max(id, 0))
	return c
}

// oneOrMore takes a text, or a list of them.
func (d *document) oneOrMore(to *[]string, what string) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		if n.Kind == yaml.SequenceNode {
			d.list(to, what)(n, path)
			return
		}
		if text, ok := d.verbatim(n, path); ok {
			*to = []string{text}
		}
	}
}

func (d *document) registries(to *[]junctor.ChainRegistry) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		if n.Kind != yaml.SequenceNode {
			d.fault(n, "%s must be a list of registries, each with the address of its identity registry", path)
			return
		}
		for i, item := range n.Content {
			var r junctor.ChainRegistry
			d.object(resolved(item), fmt.Sprintf("%s[%d]", path, i), fields{
				"identity": d.contract(&r.Identity), "reputation": d.contract(&r.Reputation), "validation": d.contract(&r.Validation),
			})
			*to = append(*to, r)
		}
	}
}

// contract takes an address. Without quotes YAML reads one as a number.
func (d *document) contract(to *string) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		if !isScalar(n, "!!str", "!!int", "!!float") {
			d.fault(n, "%s must be an address, 0x and 40 hexadecimal digits", path)
			return
		}
		*to = n.Value
	}
}

// confirmations are a number of blocks, or the word finalized.
func (d *document) confirmations(c *junctor.Chain) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		if isScalar(n, "!!str") && n.Value == "finalized" {
			c.Finalized, c.Confirmations = true, 0
			return
		}
		if !isScalar(n, "!!int") {
			d.fault(n, "%s must be a number of blocks, or the word finalized", path)
			return
		}
		d.number(&c.Confirmations)(n, path)
	}
}

// span takes a time with its unit.
func (d *document) span(to *time.Duration) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		v, err := time.ParseDuration(n.Value)
		if !isScalar(n, "!!str") || err != nil {
			d.fault(n, "%s must be a time with its unit, such as 2s", path)
			return
		}
		*to = v
	}
}

func chainSettings() []Setting {
	return []Setting{
		{
			Name: "ipfs-gateways", Kind: KindList, Default: "https://trustless-gateway.link",
			Help: "IPFS gateways that hand over raw blocks, asked in turn; what they say is checked, so they need not be trusted",
			set:  func(c *Config, s string) (err error) { c.IPFSGateways, err = parseList(s, parseEndpoint); return err },
			show: func(c *Config) string { return strings.Join(c.IPFSGateways, ",") },
		},
		{
			Name: "agent-domains", Kind: KindText, Default: "show", Choices: []string{"off", "show", "require"},
			Help: "whether the domain of an endpoint that was found on a chain must name the agent: off, show (look, and tell) or require",
			set: func(c *Config, s string) (err error) {
				c.AgentDomains, err = oneOf([]string{"off", "show", "require"})(s)
				return err
			},
			show: func(c *Config) string { return c.AgentDomains },
		},
	}
}
