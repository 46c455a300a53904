package erc8004

import (
	"encoding/hex"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The first topics as the deployed contracts emit them.
func TestTopicsOfEveryVersion(t *testing.T) {
	want := []string{
		"0x54b3254e4cc01969e70376d20390cc2f6af90539d9adaa78a53ebcda17f78154",
		"0x744ec89483257dd170f417f1c3aef90840a2d763449395ba4f09e37f78a0c98b",
		"0x425311b4692766f8739eaeea31a86b5756c7c315d17abc22bc9e67628405d6a7",
		"0x801d7d4264128f6f43835850f1fabb91902c3543c3738f1f62fbf7e9fd80531d",
		"0x413f2d30fdbc0b49e55537333a7c6287556f671f40c7e2dc00fc7ca1ced350da",
		"0x6a4a61743519c9d648a14e6493f47dbe3ff1aa29e7785c96c8326a205e58febc",
		"0x25156fd3288212246d8b008d5921fde376c71ed14ac2e072a506eb06fde6d09d",
		"0x91a4f57c12b47a488ba7365f0e60d24a1348fc94afddf6c60e0e22b018365408",
		"0xb1c6be0b5b8aef6539e2fac0fd131a2faa7b49edf8e505b5eb0ad487d56051d4",
		"0xca52e62c367d81bb2e328eb795f7c7ba24afb478408a26c0e201d155c449bc4a",
		"0xb41beef75d9f8d55b985319b459e96f82453580af381391f1ad531eb8f8b5a3a",
		"0x3a2c7fffc2cba7582c690e3b82c453ea02a308326a98a3ad7576c606336409fb",
		"0x2c149ed548c6d2993cd73efe187df6eccabe4538091b33adbd25fafdb8a1468b",
		"0x2dbec70f51f7b79cc6a9d4ea913abc7d680b523e0763e3ad622612950757609c",
		"0x530436c3634a98e1e626b0898be2f1e9980cc1bd2a78c07a0aba52d0a48a5059",
		"0xafddf629e874ccc3963b6a888c477bd464a6c8525024fc88759ea3b2326349ae",
		"0xf224d3d5ad74301be48e4d51ca5f1b24c7946875887327585becc59165297dcf",
		"0xcc61e07d65464186112fdaddb4b11ccef1928644b11f17e2864b38b451195671",
		"0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef",
	}
	got := NewDecoder().Topics()
	if len(got) != len(want) {
		t.Fatalf("%d topics, want %d", len(got), len(want))
	}
	for i, w := range want {
		if got[i].String() != w {
			t.Errorf("%s: %s, want %s", eventVersions()[i].declaration, got[i], w)
		}
	}
}

// encode writes values as a contract does; the inverse of Decode, for tests.
func encode(l eventLayout, values map[string]any) (topics []Word, data []byte) {
	topics = []Word{Keccak([]byte(l.signature))}
	var head, tail []byte
	n := 0
	for _, f := range l.fields {
		if !f.indexed {
			n++
		}
	}
	for _, f := range l.fields {
		v, dynamic := values[f.name], f.solidityType == "string" || f.solidityType == "bytes"
		switch {
		case f.indexed && dynamic:
			topics = append(topics, Keccak([]byte(v.(string))))
		case f.indexed:
			topics = append(topics, wordOf(v))
		case dynamic:
			head = append(head, wordSlice(big.NewInt(int64(32*n+len(tail))))...)
			b := []byte(v.(string))
			tail = append(tail, wordSlice(big.NewInt(int64(len(b))))...)
			tail = append(tail, b...)
			tail = append(tail, make([]byte, (32-len(b)%32)%32)...)
		default:
			head = append(head, wordSlice(v)...)
		}
	}
	return topics, append(head, tail...)
}

func wordSlice(v any) []byte { w := wordOf(v); return w[:] }

func wordOf(v any) (w Word) {
	switch v := v.(type) {
	case *big.Int:
		n := new(big.Int).Set(v)
		if n.Sign() < 0 {
			n.Add(n, new(big.Int).Lsh(big.NewInt(1), 256))
		}
		n.FillBytes(w[:])
	case Address:
		copy(w[12:], v[:])
	case Word:
		return v
	}
	return w
}

// draw makes a value that fits a type.
func draw(t *rapid.T, f layoutField) any {
	bytes := func(n int) []byte { return rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, f.name) }
	switch f.solidityType {
	case "uint256":
		return new(big.Int).SetBytes(bytes(32))
	case "uint64":
		return new(big.Int).SetUint64(rapid.Uint64().Draw(t, f.name))
	case "uint8":
		return big.NewInt(int64(rapid.Byte().Draw(t, f.name)))
	case "int256", "int128":
		n := new(big.Int).SetBytes(bytes(15))
		if rapid.Bool().Draw(t, "negative") {
			n.Neg(n)
		}
		return n
	case "address":
		return Address(bytes(20))
	case "bytes32":
		if f.name == "tag1" || f.name == "tag2" || f.name == "tag" {
			var w Word
			copy(w[:], rapid.StringMatching(`[a-z]{0,31}`).Draw(t, f.name))
			return w
		}
		return Word(bytes(32))
	default:
		return rapid.String().Draw(t, f.name)
	}
}

func TestEveryVersionDecodes(t *testing.T) {
	d := NewDecoder()
	rapid.Check(t, func(t *rapid.T) {
		l := rapid.SampledFrom(eventVersions()).Draw(t, "shape").parseLayout()
		values := map[string]any{}
		for _, f := range l.fields {
			values[f.name] = draw(t, f)
		}
		topics, data := encode(l, values)
		e, ok, err := d.Decode(topics, data)
		if !ok || err != nil {
			t.Fatalf("%s: %v, %v", l.signature, ok, err)
		}
		if e.Agent != values["agent"].(*big.Int).String() || e.Kind != l.kind {
			t.Fatalf("%s: %+v", l.signature, e)
		}
		for name, got := range map[string]any{
			"uri": e.URI, "endpoint": e.Endpoint, "key": e.Key, "client": e.Client, "responder": e.Responder, "validator": e.Validator,
			"hash": e.Hash, "request": e.Request, "owner": e.Owner, "value": e.Value, "score": e.Value,
		} {
			want, has := values[name]
			if !has {
				continue
			}
			same := got == want
			if n, ok := want.(*big.Int); ok {
				same = got.(*big.Int).Cmp(n) == 0
			}
			if !same {
				t.Fatalf("%s: %s is %v, want %v", l.signature, name, got, want)
			}
		}
	})
}

func TestMalformedLogsAreErrors(t *testing.T) {
	d := NewDecoder()
	l := eventVersion{KindRegistered, "Registered(uint256 *agent, string uri, address *owner)"}.parseLayout()
	topics, data := encode(l, map[string]any{"agent": big.NewInt(7), "uri": "ipfs://x", "owner": Address{1}})
	with := func(change func([]byte) []byte) []byte { return change(append([]byte(nil), data...)) }
	for name, bad := range map[string][]byte{
		"nothing":                  {},
		"no tail":                  data[:32],
		"a cut tail":               data[:70],
		"an offset past the end":   with(func(b []byte) []byte { b[31] = 0xff; return b }),
		"an offset beyond numbers": with(func(b []byte) []byte { b[0] = 0xff; return b }),
		"a length past the end":    with(func(b []byte) []byte { b[63] = 0xff; return b }),
		"a length that overflows":  with(func(b []byte) []byte { copy(b[56:64], []byte{0x7f, 255, 255, 255, 255, 255, 255, 255}); return b }),
	} {
		if _, ok, err := d.Decode(topics, bad); !ok || err == nil {
			t.Errorf("%s: %v, %v", name, ok, err)
		}
	}
	if _, ok, err := d.Decode(topics[:2], data); ok || err != nil {
		t.Errorf("fewer topics: %v, %v", ok, err)
	}
	dirty := append([]Word(nil), topics...)
	dirty[2][0] = 1
	if _, ok, err := d.Decode(dirty, data); !ok || err == nil || !strings.Contains(err.Error(), "owner") {
		t.Errorf("an address with more: %v, %v", ok, err)
	}
}

func TestDecimalsAreWritten(t *testing.T) {
	for _, c := range []struct {
		value    int64
		decimals uint8
		want     string
	}{{-32, 1, "-3.2"}, {0, 0, "0"}, {100, 0, "100"}, {5, 3, "0.005"}, {-5, 3, "-0.005"}, {1500, 3, "1.5"}, {1000, 3, "1"}, {0, 18, "0"}, {-10, 1, "-1"}} {
		if got := (Event{Value: big.NewInt(c.value), Decimals: c.decimals}).Decimal(); got != c.want {
			t.Errorf("%d with %d decimals: %s, want %s", c.value, c.decimals, got, c.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	d := NewDecoder()
	l := eventVersions()[5].parseLayout()
	_, data := encode(l, map[string]any{
		"agent": big.NewInt(1), "client": Address{2}, "index": big.NewInt(1), "value": big.NewInt(-32), "decimals": big.NewInt(1),
		"-": "x", "tag1": "tradingYield", "tag2": "", "endpoint": "", "uri": "ipfs://x", "hash": Word{3},
	})
	f.Add(5, data)
	raw, _ := hex.DecodeString(strings.Repeat("ff", 96))
	f.Add(0, raw)
	f.Fuzz(func(t *testing.T, which int, data []byte) {
		all := eventVersions()
		l := all[((which%len(all))+len(all))%len(all)].parseLayout()
		topics := make([]Word, l.topics)
		topics[0] = Keccak([]byte(l.signature))
		if _, ok, _ := d.Decode(topics, data); !ok {
			t.Fatal("not known")
		}
	})
}
