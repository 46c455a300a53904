package junctor

import (
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// Chain is an EVM chain whose agent registries (ERC-8004) are followed. Only
// the settings file declares chains, because their events start deliveries.
type Chain struct {
	Name          string          `json:"name"`
	ID            uint64          `json:"id"`
	Nodes         []string        `json:"-"` // JSON-RPC URLs, which may contain keys; env:NAME and file:/path are read at the start
	Registries    []ChainRegistry `json:"registries" nullable:"false"`
	Confirmations int             `json:"confirmations"`
	Finalized     bool            `json:"finalized,omitempty"` // use the chain's finalized block instead of counting confirmations
	Start         int             `json:"start"`               // the first block that is read
	Poll          time.Duration   `json:"-"`
	// Servers maps agents, by number or by registry/number, to servers that the
	// operator set up for them. They take precedence over the endpoint in the
	// registration.
	Servers map[string]string `json:"servers,omitempty"`
}

// ChainRegistry is an identity registry with the reputation and validation
// registries that refer to its agents.
type ChainRegistry struct {
	Identity   string `json:"identity"`
	Reputation string `json:"reputation,omitempty"`
	Validation string `json:"validation,omitempty"`
}

// Defaults of a chain.
const (
	DefaultConfirmations = 12
	DefaultChainPoll     = 2 * time.Second
)

// Check returns an error if the chain cannot be followed as declared.
func (c *Chain) Check() error {
	if ok, _ := regexp.MatchString(`^[a-z][a-z0-9-]{0,62}$`, c.Name); !ok {
		return Errorf(CodeInvalid, "%q is not a valid chain name; use a lower-case letter, then up to 62 lower-case letters, digits or hyphens", c.Name)
	}
	switch {
	case c.ID == 0 || c.ID > 1<<62:
		return Errorf(CodeInvalid, "the chain %s requires id, the chain number, such as 1 for Ethereum", c.Name)
	case len(c.Nodes) == 0:
		return Errorf(CodeInvalid, "the chain %s requires rpc, the URL of a node", c.Name)
	case len(c.Registries) == 0:
		return Errorf(CodeInvalid, "the chain %s has no registries; add at least the address of an identity registry", c.Name)
	case c.Confirmations < 0 || c.Confirmations > 10_000:
		return Errorf(CodeInvalid, "the chain %s: confirmations must be between 0 and 10000", c.Name)
	case c.Start < 0:
		return Errorf(CodeInvalid, "the chain %s: the start block must be 0 or greater", c.Name)
	case c.Poll < 100*time.Millisecond || c.Poll > time.Hour:
		return Errorf(CodeInvalid, "the chain %s: poll must be between 100ms and 1h", c.Name)
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
			return Errorf(CodeInvalid, "the chain %s maps a server to the invalid agent %q; use the agent number, or 0xREGISTRY/42", c.Name, agent)
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
				return Errorf(CodeInvalid, "the chain %s: the address of the %s registry %q is invalid; use 0x and 40 hexadecimal digits", c.Name, part, at)
			}
			if seen[strings.ToLower(at)] {
				return Errorf(CodeInvalid, "the chain %s has the registry %s twice", c.Name, at)
			}
			seen[strings.ToLower(at)] = true
		}
	}
	return nil
}

// checkNode checks the URL of a node. Its error does not repeat the URL, which
// may contain a key.
func checkNode(text string) error {
	kind, rest, _ := strings.Cut(text, ":")
	if kind == "env" || kind == "file" {
		if rest == "" {
			return Errorf(CodeInvalid, "rpc has nothing after %s:; use env:NAME or file:/path", kind)
		}
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return Errorf(CodeInvalid, "rpc must be an http or https URL, env:NAME or file:/path")
	}
	return nil
}

// ChainStatus is a chain and how far it has been read.
type ChainStatus struct {
	Chain
	Node    string    `json:"node"`  // the node in use, without the secrets of its URL
	Head    uint64    `json:"head"`  // newest block that the node reported
	Read    uint64    `json:"read"`  // newest block that was read
	Final   uint64    `json:"final"` // newest block whose events take effect
	Lag     uint64    `json:"lag"`   // blocks between head and read
	Reorgs  uint64    `json:"reorgs"`
	Deepest uint64    `json:"deepest_reorg"`
	Skipped uint64    `json:"skipped_logs"`
	Error   string    `json:"error,omitempty"`
	SeenAt  time.Time `json:"seen_at,omitzero"` // last successful poll
}

// ChainEvent is an event of a registry, with how often it took effect and was
// retracted by reorganisations.
type ChainEvent struct {
	Chain       string          `json:"chain"`
	Type        string          `json:"type"`
	Agent       string          `json:"agent"` // eip155:CHAIN:REGISTRY/ID
	Block       uint64          `json:"block"`
	BlockHash   string          `json:"block_hash"`
	Transaction string          `json:"transaction"`
	LogIndex    uint64          `json:"log_index"`
	State       string          `json:"state" enum:"seen,counted,orphaned"`
	Counted     int             `json:"counted"`   // how often it took effect
	Retracted   int             `json:"retracted"` // how often a reorganisation removed it after that
	Data        json.RawMessage `json:"data"`
	SeenAt      time.Time       `json:"seen_at"`
}

// ChainAgent is an agent on a chain as its registration describes it. The
// registration is untrusted input: it is shown, but not relied on.
type ChainAgent struct {
	Agent        string            `json:"agent"` // eip155:CHAIN:REGISTRY/ID
	Chain        string            `json:"chain"`
	Name         string            `json:"name,omitempty"`
	Description  string            `json:"description,omitempty"`
	URI          string            `json:"uri,omitempty"`   // URI of the registration
	Proof        string            `json:"proof,omitempty"` // how the registration was proved: cid, inline or none
	Active       bool              `json:"active"`
	Claimed      bool              `json:"claimed"` // the registration names this agent in return
	Domain       string            `json:"domain,omitempty" enum:"verified,unverified,"`
	Endpoint     string            `json:"endpoint,omitempty"` // delivery endpoint
	Server       string            `json:"server,omitempty"`   // id of the server that the operator set up, or that was made from the endpoint
	Blocked      []ChainAgentBlock `json:"blocked" nullable:"false"`
	Problems     []string          `json:"problems" nullable:"false"`
	Reason       string            `json:"reason,omitempty"` // why there is no endpoint
	DiscoveredAt time.Time         `json:"discovered_at,omitzero"`
}

// ChainAgentBlock is a command in a registration; it is shown and never run.
type ChainAgentBlock struct {
	Text  string `json:"text"`
	Where string `json:"where"` // a JSON pointer into the registration
}
