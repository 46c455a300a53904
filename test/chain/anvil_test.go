package chain

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/erc8004"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
)

func TestMain(m *testing.M) {
	if os.Getenv(playing) != "" {
		os.Exit(play(os.Getenv(playing)))
	}
	os.Exit(program.Main(m))
}

// evm is a running anvil.
type evm struct {
	url     string
	process *program.Process
	account string
	id      int
}

// anvil starts one. Blocks are made when they are asked for, or with transactions.
func anvil(t testing.TB) *evm {
	t.Helper()
	bin := program.FindNode(t).Module("@foundry-rs/anvil-linux-amd64/bin/anvil")
	if _, err := os.Stat(bin); err != nil {
		program.Missing(t, "anvil, which is in the npm packages of test/node for Linux on amd64")
	}
	addr := program.FreeAddr(t)
	host, port, _ := strings.Cut(addr, ":")
	e := &evm{url: "http://" + addr}
	e.process = program.Serve(t, addr, nil, bin, "--host", host, "--port", port, "--silent",
		// A block is dated a second after the one before it, however fast they are made:
		// begun yesterday, they are never of the future.
		"--timestamp", strconv.FormatInt(time.Now().Add(-24*time.Hour).Unix(), 10))
	var accounts []string
	var err error
	if !poll.Holds(time.Minute, func() bool {
		err = e.ask("eth_accounts", &accounts)
		return err == nil
	}) {
		t.Fatalf("anvil: %v", err)
	}
	e.account = accounts[0]
	return e
}

func (e *evm) ask(method string, out any, params ...any) error {
	if params == nil {
		params = []any{}
	}
	e.id++
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": e.id, "method": method, "params": params})
	if err != nil {
		return err
	}
	resp, err := http.Post(e.url, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var answer struct {
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return err
	}
	if answer.Error != nil {
		return fmt.Errorf("%s: %s", method, answer.Error)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(answer.Result, out)
}

func (e *evm) must(t testing.TB, method string, out any, params ...any) {
	t.Helper()
	if err := e.ask(method, out, params...); err != nil {
		t.Fatal(err)
	}
}

func (e *evm) mine(t testing.TB, blocks int) {
	t.Helper()
	e.must(t, "anvil_mine", nil, fmt.Sprintf("0x%x", blocks))
}

// send makes a transaction, and the block that holds it.
func (e *evm) send(t testing.TB, to erc8004.Address, data []byte) {
	t.Helper()
	var hash string
	e.must(t, "eth_sendTransaction", &hash, map[string]any{"from": e.account, "to": to, "data": "0x" + hex.EncodeToString(data), "gas": "0x200000"})
	var receipt *struct {
		Status string `json:"status"`
	}
	poll.Holds(30*time.Second, func() bool {
		e.must(t, "eth_getTransactionReceipt", &receipt, hash)
		return receipt != nil
	})
	if receipt == nil || receipt.Status != "0x1" {
		t.Fatalf("the transaction %s: %+v", hash, receipt)
	}
}

// The addresses that the registries have here.
var (
	identityRegistry   = erc8004.Address{0x80, 0x04, 0xa1}
	reputationRegistry = erc8004.Address{0x80, 0x04, 0xba}
	validationRegistry = erc8004.Address{0x80, 0x04, 0xca}
)

// install puts the registries there. uris are what tokenURI answers, by agent; to
// change them it is called again.
func (e *evm) install(t testing.TB, uris map[int64]string) {
	t.Helper()
	for _, at := range []erc8004.Address{identityRegistry, reputationRegistry, validationRegistry} {
		e.must(t, "anvil_setCode", nil, at, "0x"+hex.EncodeToString(registryCode(uris)))
	}
}

// registryCode is a contract that emits any log: its input is the number of
// topics in one byte, the topics, and the data. It answers tokenURI for the agents
// that it is made with, and getIdentityRegistry.
func registryCode(uris map[int64]string) []byte {
	a := &assembler{labels: map[string]int{}}
	a.op(push(0), callDataLoad, push(0xf8), shr)
	a.op(dup1, push(4), lt).jumpIf("view")
	a.op(dup1, push(5), shl, push(1), add)  // n, where the data begins
	a.op(dup1, callDataSize, sub)           // n, begin, how long it is
	a.op(dup1, dup3, push(0), callDataCopy) // the data is in memory
	for n := range 5 {
		a.op(dup3, push(byte(n)), eq).jumpIf(fmt.Sprint("log", n))
	}
	a.op(push(0), push(0), revert)
	for n := range 5 {
		a.label(fmt.Sprint("log", n))
		for i := n; i > 0; i-- {
			a.op(push(byte(1+32*(i-1))), callDataLoad)
		}
		a.op(code{dup1[0] + byte(n)}, push(0), code{0xa0 + byte(n)}, stop)
	}
	a.label("view")
	a.op(callDataSize, push(4), eq).jumpIf("identity")
	for id := range uris {
		a.op(push(4), callDataLoad, push32(big.NewInt(id)), eq).jumpIf(fmt.Sprint("uri", id))
	}
	a.op(push(0), push(0), revert)
	for id, uri := range uris {
		a.label(fmt.Sprint("uri", id)).answer(text(uri))
	}
	a.label("identity").answer(append(make([]byte, 12), identityRegistry[:]...))
	return a.bytes()
}

// text is a string as a function returns it.
func text(s string) []byte {
	out := push32(big.NewInt(32))[1:]
	out = append(out, push32(big.NewInt(int64(len(s))))[1:]...)
	return append(out, append([]byte(s), make([]byte, (32-len(s)%32)%32)...)...)
}

type code []byte

var (
	stop, add, sub, lt, eq, shl, shr         = code{0x00}, code{0x01}, code{0x03}, code{0x10}, code{0x14}, code{0x1b}, code{0x1c}
	callDataLoad, callDataSize, callDataCopy = code{0x35}, code{0x36}, code{0x37}
	codeCopy, ret, revert                    = code{0x39}, code{0xf3}, code{0xfd}
	dup1, dup3                               = code{0x80}, code{0x82}
)

func push(b byte) code { return code{0x60, b} }

func push32(n *big.Int) code {
	out := make(code, 33)
	out[0] = 0x7f
	n.FillBytes(out[1:])
	return out
}

// assembler writes code with places to jump to.
type assembler struct {
	out    []byte
	labels map[string]int
	uses   []use
	blobs  [][]byte
}

type use struct {
	at    int
	label string
}

func (a *assembler) op(all ...code) *assembler {
	for _, c := range all {
		a.out = append(a.out, c...)
	}
	return a
}

func (a *assembler) refer(label string) *assembler {
	a.out = append(a.out, 0x61, 0, 0)
	a.uses = append(a.uses, use{len(a.out) - 2, label})
	return a
}

func (a *assembler) jumpIf(label string) *assembler { return a.refer(label).op(code{0x57}) }

func (a *assembler) label(name string) *assembler {
	a.labels[name] = len(a.out)
	return a.op(code{0x5b})
}

// answer returns bytes that stand behind the code.
func (a *assembler) answer(blob []byte) *assembler {
	name := fmt.Sprint("blob", len(a.blobs))
	a.blobs = append(a.blobs, blob)
	length := code{0x61, byte(len(blob) >> 8), byte(len(blob))}
	return a.op(length).refer(name).op(push(0), codeCopy, length, push(0), ret)
}

func (a *assembler) bytes() []byte {
	for i, b := range a.blobs {
		a.labels[fmt.Sprint("blob", i)] = len(a.out)
		a.out = append(a.out, b...)
	}
	for _, u := range a.uses {
		at := a.labels[u.label]
		a.out[u.at], a.out[u.at+1] = byte(at>>8), byte(at)
	}
	return a.out
}
