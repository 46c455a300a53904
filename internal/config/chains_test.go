package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/config"
)

const (
	identityRegistry   = "0x8004A169FB4a3325136EB29fA0ceB6D2e539a432"
	reputationRegistry = "0x8004BAa17C55a88189AE136b182e5fdA19dE9b63"
)

func TestChainsOfAFile(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, config.Sources{File: writeFile(t, `
chains:
  main:
    id: 1
    rpc: [https://one.example, env:SECOND_NODE]
    registries:
      - identity: `+identityRegistry+`
        reputation: "`+reputationRegistry+`"
    start: 24000000
  base:
    id: 8453
    rpc: https://base.example
    registries: [{identity: `+identityRegistry+`}]
    confirmations: finalized
    poll: 500ms
ipfs_gateways: [https://a.example, https://b.example]
agent_domains: require
`)})
	if len(c.Chains) != 2 || len(c.IPFSGateways) != 2 || c.AgentDomains != "require" {
		t.Fatalf("%+v", c)
	}
	main, base := c.Chains[0], c.Chains[1]
	if main.Name != "main" || main.Confirmations != 12 || len(main.Nodes) != 2 || main.Start != 24_000_000 || main.Registries[0].Identity != identityRegistry || main.Registries[0].Reputation != reputationRegistry {
		t.Errorf("%+v", main)
	}
	if !base.Finalized || base.Confirmations != 0 || base.Poll != 500*time.Millisecond || base.Registries[0].Identity != identityRegistry {
		t.Errorf("%+v", base)
	}
}

func TestChainsThatCannotBeFollowed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, says string }{
		"no node":             {"{id: 1, registries: [{identity: '" + identityRegistry + "'}]}", "rpc"},
		"no number":           {"{rpc: https://a.example, registries: [{identity: '" + identityRegistry + "'}]}", "id"},
		"no registry":         {"{id: 1, rpc: https://a.example}", "registries"},
		"half an address":     {"{id: 1, rpc: https://a.example, registries: [{identity: '0x8004'}]}", "40 hexadecimal"},
		"one registry twice":  {"{id: 1, rpc: https://a.example, registries: [{identity: '" + identityRegistry + "', reputation: '" + identityRegistry + "'}]}", "twice"},
		"a node of no scheme": {"{id: 1, rpc: secret-of-mine, registries: [{identity: '" + identityRegistry + "'}]}", "an http or https URL"},
		"a word":              {"{id: 1, rpc: https://a.example, registries: [{identity: '" + identityRegistry + "'}], confirmations: soon}", "finalized"},
		"a pause of nothing":  {"{id: 1, rpc: https://a.example, registries: [{identity: '" + identityRegistry + "'}], poll: 1ms}", "100ms"},
		"a key of its own":    {"{id: 1, rcp: https://a.example}", "rpc"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := config.Parse("j.yaml", []byte("chains: {x: "+c.text+"}\n"))
			if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "j.yaml:1:") || strings.Contains(err.Error(), "secret-of-mine") {
				t.Errorf("%v", err)
			}
		})
	}
}
