package evm_test

import (
	"bytes"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"pgregory.net/rapid"

	"github.com/junctor-mcp/junctor/internal/erc8004"
)

// events are the contracts' own declarations, written out apart from the table
// that the product reads, so that one can be held against the other.
func events() []string {
	return []string{
		`event NewFeedback(uint256 indexed agentId, address indexed client, uint8 score, bytes32 indexed tag1, bytes32 tag2, string uri, bytes32 hash)`,
		`event NewFeedback(uint256 indexed agentId, address indexed client, uint8 score, string indexed tag1, string tag2, string uri, bytes32 hash)`,
		`event NewFeedback(uint256 indexed agentId, address indexed client, uint8 score, string indexed tag1, string tag2, string endpoint, string uri, bytes32 hash)`,
		`event NewFeedback(uint256 indexed agentId, address indexed client, uint64 index, uint8 score, string indexed tag1, string tag2, string endpoint, string uri, bytes32 hash)`,
		`event NewFeedback(uint256 indexed agentId, address indexed client, uint64 index, int256 value, uint8 decimals, string indexed itag1, string tag1, string tag2, string endpoint, string uri, bytes32 hash)`,
		`event NewFeedback(uint256 indexed agentId, address indexed client, uint64 index, int128 value, uint8 decimals, string indexed itag1, string tag1, string tag2, string endpoint, string uri, bytes32 hash)`,
		`event FeedbackRevoked(uint256 indexed agentId, address indexed client, uint64 indexed index)`,
		`event ResponseAppended(uint256 indexed agentId, address indexed client, uint64 index, address indexed responder, string uri)`,
		`event ResponseAppended(uint256 indexed agentId, address indexed client, uint64 index, address indexed responder, string uri, bytes32 hash)`,
		`event Registered(uint256 indexed agentId, string uri, address indexed owner)`,
		`event UriUpdated(uint256 indexed agentId, string uri, address indexed from)`,
		`event URIUpdated(uint256 indexed agentId, string uri, address indexed from)`,
		`event MetadataSet(uint256 indexed agentId, string indexed ikey, string key, bytes data)`,
		`event MetadataSet(uint256 indexed agentId, string indexed ikey, string key, string data)`,
		`event ValidationRequest(address indexed validator, uint256 indexed agentId, string uri, bytes32 indexed request)`,
		`event ValidationResponse(address indexed validator, uint256 indexed agentId, bytes32 indexed request, uint8 response, string uri, bytes32 hash, string tag)`,
		`event ValidationResponse(address indexed validator, uint256 indexed agentId, bytes32 indexed request, uint8 response, string uri, bytes32 hash, bytes32 tag)`,
		`event ValidationResponse(address indexed validator, uint256 indexed agentId, bytes32 indexed request, uint8 response, string uri, bytes32 tag)`,
		`event Transfer(address indexed from, address indexed owner, uint256 indexed agentId)`,
	}
}

// parseDeclaration reads a declaration into go-ethereum's form.
func parseDeclaration(t *testing.T, text string) abi.Event {
	t.Helper()
	name, list, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(text, "event "), ")"), "(")
	var args abi.Arguments
	for one := range strings.SplitSeq(list, ", ") {
		words := strings.Fields(one)
		typ, err := abi.NewType(words[0], "", nil)
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, abi.Argument{Name: words[len(words)-1], Type: typ, Indexed: len(words) == 3})
	}
	return abi.NewEvent(name, name, false, args)
}

// Both readers are given the same logs: what contracts write, and the same with
// bytes changed, cut and added.
func TestDecodesAsGoEthereumDoes(t *testing.T) {
	d := erc8004.NewDecoder()
	known := d.Topics()
	for i, text := range events() {
		ev := parseDeclaration(t, text)
		if common.Hash(known[i]) != ev.ID {
			t.Errorf("%s: topic %s, go-ethereum has %s", text, known[i], ev.ID)
			continue
		}
		t.Run(fmt.Sprintf("%02d %s", i, ev.RawName), func(t *testing.T) {
			agree, refused := 0, 0
			rapid.Check(t, func(t *rapid.T) {
				topics, data := encodeEvent(t, ev)
				if rapid.Bool().Draw(t, "spoilt") {
					data = corruptData(t, data)
				}
				theirs := map[string]any{}
				err := ev.Inputs.UnpackIntoMap(theirs, data)
				if len(data) == 0 && len(ev.Inputs.NonIndexed()) > 0 {
					err = fmt.Errorf("nothing")
				}
				if err == nil {
					err = abi.ParseTopicsIntoMap(theirs, indexedArguments(ev), topics[1:])
				}
				words := make([]erc8004.Word, len(topics))
				for i, w := range topics {
					words[i] = erc8004.Word(w)
				}
				ours, ok, ourErr := d.Decode(words, data)
				switch {
				case !ok:
					t.Fatalf("it is not known")
				case ourErr != nil && err == nil && !hasDirtyWords(ev, theirs, data):
					t.Fatalf("refused: %v; go-ethereum reads %v", ourErr, theirs)
				case ourErr == nil && err != nil:
					t.Fatalf("read as %+v; go-ethereum refuses: %v", ours, err)
				case ourErr == nil:
					checkSame(t, ev, ours, theirs)
					agree++
				default:
					refused++
				}
			})
			t.Logf("figure: "+ev.RawName+": %d decoded alike, %d rejected by both", agree, refused)
			if agree == 0 {
				t.Error("no log was read")
			}
		})
	}
}

func indexedArguments(ev abi.Event) (out abi.Arguments) {
	for _, a := range ev.Inputs {
		if a.Indexed {
			out = append(out, a)
		}
	}
	return out
}

// hasDirtyWords says whether a number or an address has bits that its type has not: a
// contract cannot write that, go-ethereum cuts them off, the product refuses.
func hasDirtyWords(ev abi.Event, theirs map[string]any, data []byte) bool {
	at := 0
	for _, a := range ev.Inputs {
		if a.Indexed {
			continue
		}
		if w := data[32*at : 32*at+32]; a.Type.T == abi.IntTy && a.Type.Size == 128 {
			n := theirs[a.Name].(*big.Int)
			limit := new(big.Int).Lsh(big.NewInt(1), 127)
			if n.Cmp(limit) >= 0 || n.Cmp(new(big.Int).Neg(limit)) < 0 {
				return true
			}
		} else if a.Type.T == abi.AddressTy && !bytes.Equal(w[:12], make([]byte, 12)) {
			return true
		}
		at++
	}
	return false
}

// encodeEvent draws values and lets go-ethereum write them.
func encodeEvent(t *rapid.T, ev abi.Event) ([]common.Hash, []byte) {
	topics := []common.Hash{ev.ID}
	var values []any
	for _, a := range ev.Inputs {
		v := drawValue(t, a)
		if !a.Indexed {
			values = append(values, v)
			continue
		}
		if s, ok := v.(string); ok {
			topics = append(topics, crypto.Keccak256Hash([]byte(s)))
			continue
		}
		w, err := abi.Arguments{{Type: a.Type}}.Pack(v)
		if err != nil {
			t.Fatal(err)
		}
		topics = append(topics, common.BytesToHash(w))
	}
	data, err := ev.Inputs.NonIndexed().Pack(values...)
	if err != nil {
		t.Fatal(err)
	}
	return topics, data
}

func drawValue(t *rapid.T, a abi.Argument) any {
	n := func(size int) []byte { return rapid.SliceOfN(rapid.Byte(), size, size).Draw(t, a.Name) }
	switch {
	case a.Type.T == abi.StringTy:
		return rapid.String().Draw(t, a.Name)
	case a.Type.T == abi.BytesTy:
		return rapid.SliceOfN(rapid.Byte(), 0, 80).Draw(t, a.Name)
	case a.Type.T == abi.AddressTy:
		return common.Address(n(20))
	case a.Type.T == abi.FixedBytesTy:
		return [32]byte(n(32))
	case a.Type.T == abi.UintTy && a.Type.Size == 8:
		return rapid.Byte().Draw(t, a.Name)
	case a.Type.T == abi.UintTy && a.Type.Size == 64:
		return rapid.Uint64().Draw(t, a.Name)
	case a.Type.T == abi.UintTy:
		return new(big.Int).SetBytes(n(32))
	default:
		v := new(big.Int).SetBytes(n(a.Type.Size/8 - 1))
		if rapid.Bool().Draw(t, "negative") {
			v.Neg(v)
		}
		return v
	}
}

func corruptData(t *rapid.T, data []byte) []byte {
	data = bytes.Clone(data)
	for range rapid.IntRange(1, 4).Draw(t, "changes") {
		switch n := len(data); rapid.IntRange(0, 3).Draw(t, "how") {
		case 0:
			data = data[:rapid.IntRange(0, n).Draw(t, "cut")]
		case 1:
			data = append(data, rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(t, "more")...)
		default:
			if n > 0 {
				data[rapid.IntRange(0, n-1).Draw(t, "at")] = rapid.SampledFrom([]byte{0, 1, 31, 32, 33, 64, 127, 128, 255}).Draw(t, "byte")
			}
		}
	}
	return data
}

// checkSame holds every value that go-ethereum read against the product's.
func checkSame(t *rapid.T, ev abi.Event, ours erc8004.Event, theirs map[string]any) {
	text := func(v any) string {
		switch v := v.(type) {
		case string:
			return strings.ToValidUTF8(v, "\uFFFD")
		case []byte:
			return string(v)
		case [32]byte:
			s, _, _ := strings.Cut(string(v[:]), "\x00")
			return strings.ToValidUTF8(s, "\uFFFD")
		}
		return fmt.Sprint(v)
	}
	word := func(v any) string { w := v.([32]byte); return erc8004.Word(w).String() }
	addr := func(v any) string { a := v.(common.Address); return erc8004.Address(a).String() }
	for _, a := range ev.Inputs {
		v := theirs[a.Name]
		var got, want string
		switch a.Name {
		case "agentId":
			got, want = ours.Agent, v.(*big.Int).String()
		case "client":
			got, want = ours.Client.String(), addr(v)
		case "responder":
			got, want = ours.Responder.String(), addr(v)
		case "validator":
			got, want = ours.Validator.String(), addr(v)
		case "owner":
			got, want = ours.Owner.String(), addr(v)
		case "from":
			got, want = ours.From.String(), addr(v)
		case "score", "value":
			got, want = ours.Value.String(), fmt.Sprint(v)
		case "decimals":
			got, want = fmt.Sprint(ours.Decimals), fmt.Sprint(v)
		case "response":
			got, want = fmt.Sprint(ours.Response), fmt.Sprint(v)
		case "index":
			got, want = fmt.Sprint(ours.Index), fmt.Sprint(v)
		case "uri":
			got, want = ours.URI, text(v)
		case "endpoint":
			got, want = ours.Endpoint, text(v)
		case "hash":
			got, want = ours.Hash.String(), word(v)
		case "request":
			got, want = ours.Request.String(), word(v)
		case "key":
			got, want = ours.Key, text(v)
		case "data":
			got, want = string(ours.Data), fmt.Sprintf("%s", v)
		case "tag":
			got, want = ours.Tag, text(v)
		case "tag2":
			got, want = ours.Tag2, text(v)
		case "itag1", "ikey": // hashes of what is said in full
			continue
		case "tag1":
			got, want = ours.Tag1, text(v)
			if h, ok := v.(common.Hash); ok {
				got, want = ours.Tag1Hash.String(), erc8004.Word(h).String()
			}
		default:
			t.Fatalf("%s is held against nothing", a.Name)
		}
		if got != want {
			t.Fatalf("%s: %q, go-ethereum has %q", a.Name, got, want)
		}
	}
}
