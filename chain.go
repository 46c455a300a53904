package junctor

import (
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// Chain is an EVM chain whose agent registries (ERC-8004) are followed. Only a
// file declares one: what it says is trusted with the beginning of deliveries.
type Chain struct {
	Name          string          `json:"name"`
	ID            uint64          `json:"id"`
	Nodes         []string        `json:"-"` // URLs for JSON-RPC, which may hold keys: env:NAME and file:/path are read at the start
	Registries    []ChainRegistry `json:"registries" nullable:"false"`
	Confirmations int             `json:"confirmations"`
	Finalized     bool            `json:"finalized,omitempty"` // instead of confirmations: when the chain calls a block final
	Start         int             `json:"start"`               // the first block that is read
	Poll          time.Duration   `json:"-"`
	// Servers are those that the operator set up for agents, by the agent's number,
	// or by registry/number: they are delivered to, whatever a registration says.
	Servers map[string]string `json:"servers,omitempty"`
}

// ChainRegistry is an identity registry, and those that speak of its agents.
type ChainRegistry struct {
	Identity   string `json:"identity"`
	Reputation string `json:"reputation,omitempty"`
	Validation string `json:"validation,omitempty"`
}

// What a chain has where nothing is said.
const (
	DefaultConfirmations = 12
	DefaultChainPoll     = 2 * time.Second
)

// Check refuses what cannot be followed.
func (c *Chain) Check() error {
	if ok, _ := regexp.MatchString(`^[a-z][a-z0-9-]{0,62}$`, c.Name); !ok {
		return Errorf(CodeInvalid, "%q is not a chain's name: use a lower-case letter, then up to 62 lower-case letters, digits or hyphens", c.Name)
	}
	switch {
	case c.ID == 0 || c.ID > 1<<62:
		return Errorf(CodeInvalid, "the chain %s needs its number as id, such as 1 for Ethereum", c.Name)
	case len(c.Nodes) == 0:
		return Errorf(CodeInvalid, "the chain %s needs the URL of a node as rpc", c.Name)
	case len(c.Registries) == 0:
		return Errorf(CodeInvalid, "the chain %s needs registries to follow: give the address of an identity registry at least", c.Name)
	case c.Confirmations < 0 || c.Confirmations > 10_000:
		return Errorf(CodeInvalid, "the confirmations of the chain %s are between 0 and 10000", c.Name)
	case c.Start < 0:
		return Errorf(CodeInvalid, "the chain %s starts at a block of 0 or later", c.Name)
	case c.Poll < 100*time.Millisecond || c.Poll > time.Hour:
		return Errorf(CodeInvalid, "the chain %s is looked at every 100ms to 1h", c.Name)
	}
	for _, n := range c.Nodes {
		if err := checkNode(n); err != nil {
			return Errorf(CodeInvalid, "the chain %s: %s", c.Name, err.Error())
		}
	}
	address := regexp.MustCompile(`^0x[0-9a-fA-F]{40}$`)
	named := regexp.MustCompile(`^(0x[0-9a-fA-F]{40}/)?(0|[1-9][0-9]{0,77})$`)
	for agent, server := range c.Servers {
		if !named.MatchString(agent) {
			return Errorf(CodeInvalid, "the chain %s has a server for %q: name an agent by its number, or as 0xREGISTRY/42", c.Name, agent)
		}
		if !strings.Contains(agent, "/") && len(c.Registries) > 1 {
			return Errorf(CodeInvalid, "the chain %s has several registries: write the agent %s as 0xREGISTRY/%s", c.Name, agent, agent)
		}
		if err := CheckServerID(server); err != nil {
			return err
		}
	}
	seen := map[string]bool{}
	for _, r := range c.Registries {
		for part, at := range map[string]string{"identity": r.Identity, "reputation": r.Reputation, "validation": r.Validation} {
			if at == "" && part != "identity" {
				continue
			}
			if !address.MatchString(at) {
				return Errorf(CodeInvalid, "the chain %s has the %s registry %q: an address is 0x and 40 hexadecimal digits", c.Name, part, at)
			}
			if seen[strings.ToLower(at)] {
				return Errorf(CodeInvalid, "the chain %s has the registry %s twice", c.Name, at)
			}
			seen[strings.ToLower(at)] = true
		}
	}
	return nil
}

// checkNode does not repeat what it refuses, which may hold a key.
func checkNode(text string) error {
	kind, rest, _ := strings.Cut(text, ":")
	if kind == "env" || kind == "file" {
		if rest == "" {
			return Errorf(CodeInvalid, "rpc says %s: and not what to read", kind)
		}
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return Errorf(CodeInvalid, "rpc has what is no URL of the schemes https and http, nor env:NAME or file:/path")
	}
	return nil
}

// ChainStatus is a chain and how it is being read.
type ChainStatus struct {
	Chain
	Node    string    `json:"node"`  // that is asked now, without what its URL may hold
	Head    uint64    `json:"head"`  // the newest block that it told of
	Read    uint64    `json:"read"`  // the newest that was read
	Final   uint64    `json:"final"` // the newest whose events count
	Lag     uint64    `json:"lag"`   // blocks between the head and what was read
	Reorgs  uint64    `json:"reorgs"`
	Deepest uint64    `json:"deepest_reorg"`
	Skipped uint64    `json:"skipped_logs"`
	Error   string    `json:"error,omitempty"`
	SeenAt  time.Time `json:"seen_at,omitzero"` // the last look that went well
}

// ChainEvent is what a registry said, and what became of it.
type ChainEvent struct {
	Chain       string          `json:"chain"`
	Type        string          `json:"type"`
	Agent       string          `json:"agent"` // eip155:CHAIN:REGISTRY/ID
	Block       uint64          `json:"block"`
	BlockHash   string          `json:"block_hash"`
	Transaction string          `json:"transaction"`
	LogIndex    uint64          `json:"log_index"`
	State       string          `json:"state" enum:"seen,counted,orphaned"`
	Counted     int             `json:"counted"`   // how often it came to count
	Retracted   int             `json:"retracted"` // how often it was taken back after that
	Data        json.RawMessage `json:"data"`
	SeenAt      time.Time       `json:"seen_at"`
}

// ChainAgent is an agent on a chain, as its registration has it. Nothing in it is
// believed further than it is shown.
type ChainAgent struct {
	Agent       string            `json:"agent"` // eip155:CHAIN:REGISTRY/ID
	Chain       string            `json:"chain"`
	Name        string            `json:"name,omitempty"`
	Description string            `json:"description,omitempty"`
	URI         string            `json:"uri,omitempty"`   // of its registration
	Proof       string            `json:"proof,omitempty"` // how the registration was proved: cid, inline or none
	Active      bool              `json:"active"`
	Claimed     bool              `json:"claimed"` // the registration names the agent that led to it
	Domain      string            `json:"domain,omitempty" enum:"verified,unverified,"`
	Endpoint    string            `json:"endpoint,omitempty"` // where it is delivered to
	Server      string            `json:"server,omitempty"`   // the id of the server that was set up for it, or made of the endpoint
	Blocked     []ChainAgentBlock `json:"blocked" nullable:"false"`
	Problems    []string          `json:"problems" nullable:"false"`
	Reason      string            `json:"reason,omitempty"` // why there is no endpoint
	FoundAt     time.Time         `json:"found_at,omitzero"`
}

// ChainAgentBlock is a command in a registration, which is never run.
type ChainAgentBlock struct {
	Text  string `json:"text"`
	Where string `json:"where"` // a JSON pointer into the registration
}
