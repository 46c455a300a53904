package chain

import (
	"math/big"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/internal/erc8004"
)

// emit makes a registry emit an event: its declaration with a star before what is
// indexed, and its values in order.
func (e *evm) emit(t testing.TB, from erc8004.Address, declaration string, values ...any) {
	t.Helper()
	e.send(t, from, logInput(t, declaration, values...))
}

func logInput(t testing.TB, declaration string, values ...any) []byte {
	t.Helper()
	name, list, _ := strings.Cut(strings.TrimSuffix(declaration, ")"), "(")
	args := strings.Split(list, ", ")
	if len(args) != len(values) {
		t.Fatalf("%s has %d arguments, not %d", name, len(args), len(values))
	}
	var types []string
	plain := 0
	for i, a := range args {
		typ, indexed := strings.CutPrefix(a, "*")
		types = append(types, typ)
		args[i] = a
		if !indexed {
			plain++
		}
	}
	topic := erc8004.Keccak([]byte(name + "(" + strings.Join(types, ",") + ")"))
	topics, head, tail := append([]byte{}, topic[:]...), []byte{}, []byte{}
	n := byte(1)
	for i, a := range args {
		typ, indexed := strings.CutPrefix(a, "*")
		dynamic := typ == "string" || typ == "bytes"
		switch {
		case indexed && dynamic:
			h := erc8004.Keccak([]byte(values[i].(string)))
			topics = append(topics, h[:]...)
			n++
		case indexed:
			topics = append(topics, slot(values[i])...)
			n++
		case dynamic:
			head = append(head, slot(32*plain+len(tail))...)
			tail = append(tail, text(values[i].(string))[32:]...)
		default:
			head = append(head, slot(values[i])...)
		}
	}
	return append(append(append([]byte{n}, topics...), head...), tail...)
}

func slot(v any) []byte {
	out := make([]byte, 32)
	switch v := v.(type) {
	case int:
		n := big.NewInt(int64(v))
		if v < 0 {
			n.Add(n, new(big.Int).Lsh(big.NewInt(1), 256))
		}
		n.FillBytes(out)
	case erc8004.Address:
		copy(out[12:], v[:])
	case erc8004.Word:
		copy(out, v[:])
	case string: // a bytes32 with text in it
		copy(out, v)
	}
	return out
}

// The events of today.
const (
	newFeedback        = "NewFeedback(*uint256, *address, uint64, int128, uint8, *string, string, string, string, string, bytes32)"
	registered         = "Registered(*uint256, string, *address)"
	uriUpdated         = "URIUpdated(*uint256, string, *address)"
	metadataSet        = "MetadataSet(*uint256, *string, string, bytes)"
	transfer           = "Transfer(*address, *address, *uint256)"
	validationRequest  = "ValidationRequest(*address, *uint256, string, *bytes32)"
	validationResponse = "ValidationResponse(*address, *uint256, *bytes32, uint8, string, bytes32, string)"
)
