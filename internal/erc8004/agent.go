package erc8004

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/junctor-mcp/junctor/internal/ipfs"
)

// Agent is an agent on a chain: a token of an identity registry.
type Agent struct {
	Chain    uint64
	Registry Address
	ID       string // a uint256 in decimal digits
}

// String is eip155:CHAIN:REGISTRY/ID.
func (a Agent) String() string { return a.registry() + "/" + a.ID }

func (a Agent) registry() string { return a.Network() + ":" + a.Registry.String() }

// Network is eip155:CHAIN.
func (a Agent) Network() string { return fmt.Sprintf("eip155:%d", a.Chain) }

// ParseAgent reads what String writes.
func ParseAgent(s string) (Agent, error) {
	head, id, ok := strings.Cut(s, "/")
	chain, registry, err := parseAccount(head)
	if !ok || err != nil {
		return Agent{}, fmt.Errorf("%q is no agent on a chain: write it as eip155:1:0xREGISTRY/42", ipfs.Brief(s))
	}
	id, err = parseID(id)
	if err != nil {
		return Agent{}, err
	}
	return Agent{Chain: chain, Registry: registry, ID: id}, nil
}

// parseAccount reads eip155:CHAIN:ADDRESS.
func parseAccount(s string) (uint64, Address, error) {
	parts := strings.Split(s, ":")
	if len(parts) != 3 || !strings.EqualFold(parts[0], "eip155") {
		return 0, Address{}, fmt.Errorf("%q is not of the form eip155:CHAIN:ADDRESS", ipfs.Brief(s))
	}
	chain, err := strconv.ParseUint(parts[1], 10, 64)
	if err != nil {
		return 0, Address{}, fmt.Errorf("%q has no number of a chain", ipfs.Brief(s))
	}
	a, err := ParseAddress(parts[2])
	return chain, a, err
}

// parseID reads a uint256 in decimal or hexadecimal digits, and writes it in one
// way.
func parseID(s string) (string, error) {
	n, ok := new(big.Int).SetString(s, 0)
	if !ok || n.Sign() < 0 || n.BitLen() > 256 || strings.ContainsAny(s, "_+") {
		return "", fmt.Errorf("%q is no number of an agent", ipfs.Brief(s))
	}
	return n.String(), nil
}
