package erc8004

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/junctor-mcp/junctor/internal/ipfs"
)

// Agent identifies an agent on a chain: a token of an identity registry.
type Agent struct {
	Chain    uint64
	Registry Address
	ID       string // a uint256 in decimal
}

// String returns eip155:CHAIN:REGISTRY/ID.
func (a Agent) String() string { return a.registryID() + "/" + a.ID }

// registryID returns eip155:CHAIN:REGISTRY.
func (a Agent) registryID() string { return a.Network() + ":" + a.Registry.String() }

// Network returns eip155:CHAIN.
func (a Agent) Network() string { return fmt.Sprintf("eip155:%d", a.Chain) }

// ParseAgent parses the result of String.
func ParseAgent(s string) (Agent, error) {
	head, id, ok := strings.Cut(s, "/")
	chain, registry, err := parseAccount(head)
	if !ok || err != nil {
		return Agent{}, fmt.Errorf("%q is not an agent on a chain: write it as eip155:1:0xREGISTRY/42", ipfs.Shorten(s))
	}
	id, err = parseID(id)
	if err != nil {
		return Agent{}, err
	}
	return Agent{Chain: chain, Registry: registry, ID: id}, nil
}

// parseAccount parses eip155:CHAIN:ADDRESS.
func parseAccount(s string) (uint64, Address, error) {
	parts := strings.Split(s, ":")
	if len(parts) != 3 || !strings.EqualFold(parts[0], "eip155") {
		return 0, Address{}, fmt.Errorf("%q is not of the form eip155:CHAIN:ADDRESS", ipfs.Shorten(s))
	}
	chain, err := strconv.ParseUint(parts[1], 10, 64)
	if err != nil {
		return 0, Address{}, fmt.Errorf("%q has no chain ID", ipfs.Shorten(s))
	}
	a, err := ParseAddress(parts[2])
	return chain, a, err
}

// parseID parses a uint256 in decimal or hexadecimal, and returns it in
// decimal.
func parseID(s string) (string, error) {
	n, ok := new(big.Int).SetString(s, 0)
	if !ok || n.Sign() < 0 || n.BitLen() > 256 || strings.ContainsAny(s, "_+") {
		return "", fmt.Errorf("%q is not the number of an agent", ipfs.Shorten(s))
	}
	return n.String(), nil
}
