package erc8004

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/junctor-mcp/junctor/internal/ipfs"
)

// maxResponseBytes bounds a node's answer. A range of blocks can be long.
const maxResponseBytes = 32 << 20

// Doer sends requests. It is an HTTP client of egress.
type Doer interface {
	Do(*http.Request) (*http.Response, error)
}

// Node speaks JSON-RPC with the nodes of one chain, which should all give the
// same answers. One node is asked until it fails, then the next. It is safe for
// concurrent use.
type Node struct {
	urls     []string
	client   Doer
	failures atomic.Uint64 // modulo the number of nodes, the index of the current one
	lastID   atomic.Uint64
}

// NewNode makes a Node of one or more URLs.
func NewNode(client Doer, urls []string) (*Node, error) {
	if len(urls) == 0 {
		return nil, errors.New("a chain needs the URL of at least one node")
	}
	return &Node{urls: urls, client: client}, nil
}

// Block identifies a block of a chain.
type Block struct {
	Number uint64 `json:"number"`
	Hash   Word   `json:"hash"`
	Parent Word   `json:"parent"`
	Time   uint64 `json:"time"` // seconds since 1970
}

// Log is an event as a node returns it.
type Log struct {
	Address     Address
	Topics      []Word
	Data        []byte
	Block       uint64
	BlockHash   Word
	Transaction Word
	Index       uint64
}

// NodeError is a JSON-RPC error of a node.
type NodeError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Error implements error.
func (f *NodeError) Error() string {
	return fmt.Sprintf("the node answered with error %d: %s", f.Code, ipfs.Shorten(f.Message))
}

// isRangeTooWide reports whether a node refused a range of blocks for its size.
// There is no code for that: each kind of node has its own message.
func (f *NodeError) isRangeTooWide() bool {
	m := strings.ToLower(f.Message)
	for _, words := range []string{
		"range", "too large", "too many", "more than", "exceed", "limit", "response size", "query timeout", "timed out",
	} {
		if strings.Contains(m, words) {
			return true
		}
	}
	return false
}

// Name returns the current URL without path and user, which may contain a key.
func (n *Node) Name() string {
	u := n.urls[n.currentIndex()]
	scheme, rest, _ := strings.Cut(u, "://")
	host, _, _ := strings.Cut(rest, "/")
	if _, bare, ok := strings.Cut(host, "@"); ok {
		host = bare
	}
	return scheme + "://" + host
}

// Next switches to the next node, after the current one failed.
func (n *Node) Next() { n.failures.Add(1) }

// Count returns the number of nodes.
func (n *Node) Count() int { return len(n.urls) }

// currentIndex is the index of the current node.
func (n *Node) currentIndex() int { return int(n.failures.Load() % uint64(len(n.urls))) } //nolint:gosec // below the number of nodes

// callCurrent calls the current node once. The caller decides about failover,
// since one poll of the chain must not mix the answers of two nodes.
func (n *Node) callCurrent(ctx context.Context, method string, out any, params ...any) error {
	return n.callAt(ctx, n.currentIndex(), method, out, params...)
}

// callAt calls one node and decodes the result into out.
func (n *Node) callAt(ctx context.Context, index int, method string, out any, params ...any) error {
	if params == nil {
		params = []any{}
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": n.lastID.Add(1), "method": method, "params": params})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, n.urls[index], bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := n.client.Do(req)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxResponseBytes+1))
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	if len(raw) > maxResponseBytes {
		return &NodeError{Code: -32005, Message: "response size exceeds the limit of this client"}
	}
	var answer struct {
		Result json.RawMessage `json:"result"`
		Error  *NodeError      `json:"error"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return fmt.Errorf("%s: HTTP %d without a JSON-RPC response", method, resp.StatusCode)
	}
	if answer.Error != nil {
		return answer.Error
	}
	// Some nodes send a JSON-RPC error with a status of 4xx or 5xx; that error
	// says more, so it was checked first.
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: HTTP %d", method, resp.StatusCode)
	}
	if err := json.Unmarshal(answer.Result, out); err != nil {
		return fmt.Errorf("%s: invalid JSON-RPC response: %w", method, err)
	}
	return nil
}

// Chain returns the id of the chain that the node follows.
func (n *Node) Chain(ctx context.Context) (uint64, error) {
	var id quantity
	err := n.callCurrent(ctx, "eth_chainId", &id)
	return uint64(id), err
}

// Head returns the newest block.
func (n *Node) Head(ctx context.Context) (Block, error) {
	b, err := n.currentBlock(ctx, "latest")
	if err == nil && b == nil {
		err = errors.New("the node has no newest block")
	}
	if err != nil {
		return Block{}, err
	}
	return *b, nil
}

// Finalized returns the number of the newest block that the chain itself calls
// final; ok is false if it has none.
func (n *Node) Finalized(ctx context.Context) (number uint64, ok bool, err error) {
	b, err := n.currentBlock(ctx, "finalized")
	if err != nil || b == nil {
		return 0, false, err
	}
	return b.Number, true, nil
}

// At returns a block by its number; nil if the chain is shorter.
func (n *Node) At(ctx context.Context, number uint64) (*Block, error) {
	return n.blockByNumber(ctx, n.currentIndex(), number)
}

// Answer is the answer of one node about a block. Block is nil if the node has
// none.
type Answer struct {
	Block *Block
	Err   error
}

// Others asks all nodes but the current one for a block, in parallel.
func (n *Node) Others(ctx context.Context, number uint64) []Answer {
	return n.askAll(n.currentIndex(), func(i int) (*Block, error) { return n.blockByNumber(ctx, i, number) })
}

// OtherHeads asks all nodes but the current one for their newest block.
func (n *Node) OtherHeads(ctx context.Context) []Answer {
	return n.askAll(n.currentIndex(), func(i int) (*Block, error) { return n.fetchBlock(ctx, i, "latest") })
}

// All asks every node for a block.
func (n *Node) All(ctx context.Context, number uint64) []Answer {
	return n.askAll(-1, func(i int) (*Block, error) { return n.blockByNumber(ctx, i, number) })
}

// askAll asks all nodes, except the one with the index but, in parallel; -1
// excepts none.
func (n *Node) askAll(but int, ask func(index int) (*Block, error)) []Answer {
	answers := make([]Answer, len(n.urls))
	var asked sync.WaitGroup
	for i := range n.urls {
		if i != but {
			asked.Go(func() { answers[i].Block, answers[i].Err = ask(i) })
		}
	}
	asked.Wait()
	if but >= 0 {
		answers = append(answers[:but], answers[but+1:]...)
	}
	return answers
}

// blockByNumber fetches a block of one node, and refuses a block with another
// number: the position to read on from would follow it.
func (n *Node) blockByNumber(ctx context.Context, index int, number uint64) (*Block, error) {
	b, err := n.fetchBlock(ctx, index, quantity(number).String())
	if err == nil && b != nil && b.Number != number {
		return nil, fmt.Errorf("the node was asked for block %d and answered with block %d", number, b.Number)
	}
	return b, err
}

// currentBlock fetches a block of the current node by tag or number.
func (n *Node) currentBlock(ctx context.Context, which string) (*Block, error) {
	return n.fetchBlock(ctx, n.currentIndex(), which)
}

// fetchBlock fetches a block of one node; nil if it has none.
func (n *Node) fetchBlock(ctx context.Context, index int, which string) (*Block, error) {
	var b *struct {
		Number     quantity `json:"number"`
		Hash       Word     `json:"hash"`
		ParentHash Word     `json:"parentHash"`
		Timestamp  quantity `json:"timestamp"`
	}
	if err := n.callAt(ctx, index, "eth_getBlockByNumber", &b, which, false); err != nil || b == nil {
		return nil, err
	}
	return &Block{Number: uint64(b.Number), Hash: b.Hash, Parent: b.ParentHash, Time: uint64(b.Timestamp)}, nil
}

// Logs returns the events of contracts in a range of blocks, both ends
// included. Logs outside the range, or removed by a reorganisation, are left
// out.
func (n *Node) Logs(ctx context.Context, from, to uint64, contracts []Address, topics []Word) ([]Log, error) {
	var raw []struct {
		Address     Address  `json:"address"`
		Topics      []Word   `json:"topics"`
		Data        hexBytes `json:"data"`
		BlockNumber quantity `json:"blockNumber"`
		BlockHash   Word     `json:"blockHash"`
		TxHash      Word     `json:"transactionHash"`
		LogIndex    quantity `json:"logIndex"`
		Removed     bool     `json:"removed"`
	}
	err := n.callCurrent(ctx, "eth_getLogs", &raw, map[string]any{
		"fromBlock": quantity(from).String(), "toBlock": quantity(to).String(), "address": contracts, "topics": []any{topics},
	})
	if err != nil {
		return nil, err
	}
	out := make([]Log, 0, len(raw))
	for _, l := range raw {
		// Do not trust the node to respect the range.
		if l.Removed || uint64(l.BlockNumber) < from || uint64(l.BlockNumber) > to {
			continue
		}
		out = append(out, Log{
			Address: l.Address, Topics: l.Topics, Data: l.Data, Block: uint64(l.BlockNumber), BlockHash: l.BlockHash,
			Transaction: l.TxHash, Index: uint64(l.LogIndex),
		})
	}
	return out, nil
}

// TokenURI asks an identity registry for the URI of an agent's registration.
func (n *Node) TokenURI(ctx context.Context, registry Address, agent string) (string, error) {
	id, ok := new(big.Int).SetString(agent, 10)
	if !ok || id.Sign() < 0 || id.BitLen() > 256 {
		return "", fmt.Errorf("%q is not the number of an agent", ipfs.Shorten(agent))
	}
	var w Word
	id.FillBytes(w[:])
	raw, err := n.readContract(ctx, registry, "tokenURI(uint256)", w[:])
	if err != nil {
		return "", err
	}
	at, err := readSlot(raw, 0)
	if err != nil {
		return "", fmt.Errorf("tokenURI: %w", err)
	}
	text, err := readTail(raw, at)
	if err != nil {
		return "", fmt.Errorf("tokenURI: %w", err)
	}
	return strings.ToValidUTF8(string(text), "\uFFFD"), nil
}

// IdentityOf asks a reputation or validation registry for its identity
// registry.
func (n *Node) IdentityOf(ctx context.Context, registry Address) (Address, error) {
	raw, err := n.readContract(ctx, registry, "getIdentityRegistry()", nil)
	if err != nil {
		return Address{}, err
	}
	w, err := readSlot(raw, 0)
	if err != nil {
		return Address{}, fmt.Errorf("getIdentityRegistry: %w", err)
	}
	return toAddress(w)
}

// readContract calls a contract function that changes nothing.
func (n *Node) readContract(ctx context.Context, contract Address, function string, args []byte) ([]byte, error) {
	selector := Keccak([]byte(function))
	var out hexBytes
	err := n.callCurrent(ctx, "eth_call", &out, map[string]any{
		"to": contract, "data": "0x" + hex.EncodeToString(append(selector[:4:4], args...)),
	}, "latest")
	return out, err
}

// quantity is a number of JSON-RPC: 0x and digits. A number above maxQuantity
// is refused, so that the sum of two fits and the database can store each.
type quantity uint64

// maxQuantity is the largest quantity that is accepted.
const maxQuantity = 1 << 62

// String returns the form of JSON-RPC.
func (q quantity) String() string { return "0x" + strconv.FormatUint(uint64(q), 16) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (q *quantity) UnmarshalText(b []byte) error {
	digits, ok := strings.CutPrefix(string(b), "0x")
	v, err := strconv.ParseUint(digits, 16, 64)
	if !ok || err != nil {
		return fmt.Errorf("%q is not a number", ipfs.Shorten(string(b)))
	}
	if v > maxQuantity {
		return fmt.Errorf("%s is too large a number", ipfs.Shorten(string(b)))
	}
	*q = quantity(v)
	return nil
}

// hexBytes are bytes of JSON-RPC.
type hexBytes []byte

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *hexBytes) UnmarshalText(b []byte) (err error) {
	digits, ok := strings.CutPrefix(string(b), "0x")
	if !ok {
		return fmt.Errorf("%q is not a byte string", ipfs.Shorten(string(b)))
	}
	*h, err = hex.DecodeString(digits)
	return err
}
