package erc8004

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/store"
)

// httpNode is a node of a model chain that speaks JSON-RPC over HTTP.
type httpNode struct {
	*modelChain
	url string

	mu    sync.Mutex
	lie   func(method, which string) (result string, lies bool) // what it says instead of the truth; nil: nothing
	asked int
}

func serveChain(t *testing.T, c *modelChain) *httpNode {
	t.Helper()
	n := &httpNode{modelChain: c}
	s := httptest.NewServer(n)
	t.Cleanup(s.Close)
	n.url = s.URL
	return n
}

func (n *httpNode) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked++
	var q struct {
		Method string            `json:"method"`
		Params []json.RawMessage `json:"params"`
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var which string
	if len(q.Params) > 0 {
		_ = json.Unmarshal(q.Params[0], &which)
	}
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,%s}`, n.answer(q.Method, which, q.Params))
}

func (n *httpNode) answer(method, which string, params []json.RawMessage) string {
	if n.lie != nil {
		if result, lies := n.lie(method, which); lies {
			return result
		}
	}
	switch method {
	case "eth_chainId":
		return `"result":"0x7a69"`
	case "eth_call":
		return `"error":{"code":3,"message":"execution reverted"}`
	case "eth_getBlockByNumber":
		number := n.top()
		if which != "latest" {
			number, _ = strconv.ParseUint(strings.TrimPrefix(which, "0x"), 16, 64)
		}
		if number > n.top() {
			return `"result":null`
		}
		return blockResult(n.blocks[number])
	case "eth_getLogs":
		var f struct{ FromBlock, ToBlock quantity }
		if err := json.Unmarshal(params[0], &f); err != nil {
			return `"error":{"code":-32602,"message":"` + err.Error() + `"}`
		}
		return n.logResult(uint64(f.FromBlock), uint64(f.ToBlock))
	}
	return `"error":{"code":-32601,"message":"no such method"}`
}

func (n *httpNode) logResult(from, to uint64) string {
	list := []map[string]any{}
	for number := from; number <= min(to, n.top()); number++ {
		for _, l := range n.logs[n.blocks[number].Hash] {
			list = append(list, map[string]any{
				"address": l.Address, "topics": l.Topics, "data": fmt.Sprintf("0x%x", l.Data), "blockNumber": quantity(l.Block).String(), "blockHash": l.BlockHash,
				"transactionHash": l.Transaction, "logIndex": quantity(l.Index).String(),
			})
		}
	}
	b, _ := json.Marshal(list) // nothing in it that cannot
	return `"result":` + string(b)
}

func blockResult(b Block) string {
	return fmt.Sprintf(`"result":{"number":"0x%x","hash":%q,"parentHash":%q,"timestamp":"0x%x"}`, b.Number, b.Hash, b.Parent, b.Time)
}

// lieAbout has the node say that its newest block is another, and that it has all
// blocks up to there.
func (n *httpNode) lieAbout(head Block) {
	n.set(func(method, which string) (string, bool) {
		if method == "eth_getLogs" {
			return `"result":[]`, true
		}
		if method != "eth_getBlockByNumber" {
			return "", false
		}
		number, err := strconv.ParseUint(strings.TrimPrefix(which, "0x"), 16, 64)
		if err == nil && number <= n.top() {
			return "", false
		}
		b := head
		if err == nil {
			b.Number = number
		}
		b.Hash = Keccak(fmt.Appendf(nil, "false %d", b.Number))
		return blockResult(b), true
	})
}

func (n *httpNode) set(lie func(method, which string) (string, bool)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lie = lie
}

// change does something to the chain while nobody reads it.
func (n *httpNode) change(fn func(c *modelChain)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	fn(n.modelChain)
}

// datedChain is a model chain whose blocks were made in the last minutes.
func datedChain(blocks int) *modelChain {
	c := newModelChain()
	c.made = uint64(time.Now().Add(-time.Hour).Unix()) - 1000
	c.blocks, c.logs = nil, map[Word][]Log{}
	c.mine(0)
	for range blocks {
		c.mine(1)
	}
	return c
}

// watchNodes makes a watcher of nodes over HTTP, and gives what moves its clock.
func watchNodes(t *testing.T, l Ledger, confirmations uint64, nodes ...*httpNode) (*Watcher, func(time.Duration)) {
	t.Helper()
	var urls []string
	for _, n := range nodes {
		urls = append(urls, n.url)
	}
	node, err := NewNode(http.DefaultClient, urls)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	w := NewWatcher(testChain(confirmations), node, l, nil, quiet())
	w.now = func() time.Time { return now }
	return w, func(d time.Duration) { now = now.Add(d) }
}

// follow looks as Run does, and fails where it does not arrive at the head.
func follow(t *testing.T, w *Watcher) {
	t.Helper()
	var err error
	for range 20 {
		var more bool
		if more, err = w.pollChain(t.Context()); err == nil && !more {
			return
		}
		if err != nil {
			w.node.Next()
			w.nodeChecked = false
		}
	}
	t.Fatalf("the chain is not followed: %v", err)
}

// A node that names a newest block that the chain cannot have is not believed,
// and what happens after that is read.
func TestFalseHeadIsRefused(t *testing.T) {
	now := uint64(time.Now().Unix())
	for name, head := range map[string]Block{
		"the greatest number":             {Number: 1<<64 - 1, Time: now},
		"the greatest signed number":      {Number: 1<<63 - 1, Time: now},
		"the greatest number of a node":   {Number: maxQuantity, Time: now},
		"the greatest time":               {Number: 20, Time: 1<<64 - 1},
		"the greatest signed time":        {Number: 20, Time: 1<<63 - 1},
		"a time an hour ahead":            {Number: 20, Time: now + 3600},
		"more blocks than a chain makes":  {Number: 1_000_000, Time: now},
		"an older time and a higher head": {Number: 100_000, Time: 1},
	} {
		t.Run(name, func(t *testing.T) {
			n := serveChain(t, datedChain(10))
			l := &modelLedger{counted: func(Seen) {}}
			w, _ := watchNodes(t, l, 0, n)
			follow(t, w)
			n.lieAbout(head)
			for range 3 {
				if _, err := w.pollChain(t.Context()); err == nil {
					t.Error("it is believed")
				}
			}
			n.set(nil)
			n.change(func(c *modelChain) { c.mine(1) })
			follow(t, w)
			if len(l.rows) != 11 || w.Status().Read != 11 {
				t.Errorf("%d events of 11, read to %d", len(l.rows), w.Status().Read)
			}
		})
	}
}

// A node that has no other beside it is believed about a first head, and about
// one after a long pause.
func TestHeadAfterAPauseIsBelieved(t *testing.T) {
	c := datedChain(10)
	n := serveChain(t, c)
	l := &modelLedger{counted: func(Seen) {}}
	w, pass := watchNodes(t, l, 0, n)
	follow(t, w)
	pass(10 * 24 * time.Hour)
	n.change(func(c *modelChain) {
		c.made += 9 * 24 * 3600
		for range 20_000 {
			c.mine(0)
		}
		c.mine(1)
	})
	follow(t, w)
	if len(l.rows) != 11 {
		t.Errorf("%d events of 11", len(l.rows))
	}
}

// Of several nodes a second one must know a head that surprises.
func TestSecondNodeConfirmsASurprisingHead(t *testing.T) {
	c := datedChain(10)
	honest, liar := serveChain(t, c), serveChain(t, c)
	last := c.blocks[10]
	liar.lieAbout(Block{Number: last.Number + 3000, Time: last.Time + 100})
	for name, known := range map[string]bool{"a first head": false, "a jump": true} {
		t.Run(name, func(t *testing.T) {
			l := &modelLedger{counted: func(Seen) {}}
			w, _ := watchNodes(t, l, 0, liar, honest)
			if known {
				l.blocks = []Block{c.blocks[9]}
			}
			if _, err := w.pollChain(t.Context()); err == nil || !strings.Contains(err.Error(), "none of the other nodes knows it") {
				t.Errorf("the liar is believed: %v", err)
			}
			follow(t, w)
			if w.Status().Read != 10 {
				t.Errorf("read to %d", w.Status().Read)
			}
		})
	}
	w, _ := watchNodes(t, &modelLedger{counted: func(Seen) {}}, 0, honest, serveChain(t, c))
	if _, err := w.pollChain(t.Context()); err != nil {
		t.Errorf("a head that two nodes know: %v", err)
	}
}

// A fork that takes back what counts is believed of several nodes when a second
// one knows it.
func TestSecondNodeConfirmsADeepFork(t *testing.T) {
	c := datedChain(10)
	other := &modelChain{blocks: slices.Clone(c.blocks[:2]), logs: map[Word][]Log{}, made: c.made + 7}
	for range 11 {
		other.mine(0)
	}
	a, b := serveChain(t, c), serveChain(t, c)
	l := &modelLedger{counted: func(Seen) {}}
	w, _ := watchNodes(t, l, 2, a, b)
	follow(t, w)
	a.set(func(method, which string) (string, bool) {
		if method != "eth_getBlockByNumber" {
			return `"result":[]`, method == "eth_getLogs"
		}
		number := other.top()
		if which != "latest" {
			number, _ = strconv.ParseUint(strings.TrimPrefix(which, "0x"), 16, 64)
		}
		return blockResult(other.blocks[number]), true
	})
	for range 2 {
		if _, err := w.pollChain(t.Context()); err == nil {
			t.Error("one node takes back what counts")
		}
	}
	for _, r := range l.rows {
		if r.retracted > 0 {
			t.Errorf("an event of block %d was retracted", r.Block)
		}
	}
}

// A block under another number than the one that was asked for would move the
// place that is read on from.
func TestBlockOfAnotherNumberIsRefused(t *testing.T) {
	c := datedChain(10)
	n := serveChain(t, c)
	l := &modelLedger{counted: func(Seen) {}}
	w, _ := watchNodes(t, l, 0, n)
	n.set(func(method, which string) (string, bool) {
		if method == "eth_getBlockByNumber" && which != "latest" {
			b := c.blocks[10]
			b.Number = 5_000_000
			return blockResult(b), true
		}
		return `"result":[]`, method == "eth_getLogs"
	})
	if _, err := w.pollChain(t.Context()); err == nil || len(l.blocks) != 0 {
		t.Errorf("%v, with %d blocks", err, len(l.blocks))
	}
}

// A place that no node knows, which an earlier version or a lie within bounds has
// stored, is left after a while. Nothing is lost, nothing is raised twice, and
// what the chain does not have is taken back.
func TestPlaceThatNoNodeKnowsIsLeft(t *testing.T) {
	onBoth(t, func(t *testing.T, db store.Database) {
		t.Helper()
		c := datedChain(10)
		a, b := serveChain(t, c), serveChain(t, c)
		r, got := records(t, db)
		w, _ := watchNodes(t, r, 2, a, b)
		follow(t, w)
		before := slices.Clone(got.order)
		if len(before) != 8 {
			t.Fatalf("%d events count", len(before))
		}
		// One look at a node that lies, as it could be taken before.
		top := c.blocks[10]
		far := Block{Number: 1 << 40, Hash: Word{1}, Time: top.Time}
		ghost := Seen{Event: Event{Kind: KindFeedback, Agent: "1"}, Chain: 31337, Registry: identityAt, Block: 12, BlockHash: Word{9}}
		if err := r.Take(t.Context(), Step{Chain: 31337, After: top, Keep: 10, From: 11, To: far.Number, Blocks: []Block{far}, Events: []Seen{ghost}, Final: 12}); err != nil {
			t.Fatal(err)
		}
		if len(got.order) != 11 { // the two that were not deep enough, and the ghost
			t.Fatalf("%d events count", len(got.order))
		}
		a.change(func(c *modelChain) {
			for range 5 {
				c.mine(1)
			}
		})
		w, pass := watchNodes(t, r, 2, a, b) // a restart does not help
		for range 5 {
			if _, err := w.pollChain(t.Context()); err == nil || !strings.Contains(err.Error(), "lags behind") {
				t.Fatalf("%v", err)
			}
			w.node.Next()
			pass(rollbackAfter / 6)
		}
		pass(rollbackAfter / 6)
		follow(t, w)
		all, err := r.List(t.Context(), Filter{Chain: 31337, Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		states := map[string]int{}
		for _, e := range all {
			states[e.State]++
			if e.Counted > 1 {
				t.Errorf("an event of block %d counts %d times", e.Block, e.Counted)
			}
		}
		if states["counted"] != 13 || states["seen"] != 2 || states["orphaned"] != 1 {
			t.Errorf("events: %v", states)
		}
		if n := len(got.order); n != 15 { // 10, the ghost and its end, and 3 that were missed
			t.Errorf("%d events were raised: %v", n, got.order)
		}
	})
}

// A chain that is rewound is read again: what was raised is not raised again, and
// nobody is told of it again.
func TestRewind(t *testing.T) {
	onBoth(t, func(t *testing.T, db store.Database) {
		t.Helper()
		c := datedChain(20)
		n := serveChain(t, c)
		r, got := records(t, db)
		var told int
		r.Notify = func(Seen) { told++ }
		w, _ := watchNodes(t, r, 2, n)
		follow(t, w)
		raisedBefore := len(got.order)
		to, err := w.Block(t.Context(), 4)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Rewind(t.Context(), 31337, to); err != nil {
			t.Fatal(err)
		}
		if known, err := r.Blocks(t.Context(), 31337, rememberedBlocks); err != nil || known[len(known)-1] != c.blocks[4] {
			t.Fatalf("%v, %v", known, err)
		}
		n.change(func(c *modelChain) { c.mine(1) })
		follow(t, w)
		if len(got.order) != raisedBefore+1 || told != 21 {
			t.Errorf("%d events raised, %d told; before: %d and 20", len(got.order), told, raisedBefore)
		}
		if err := r.Rewind(t.Context(), 31337, Block{Number: 21}); err == nil {
			t.Error("a chain is rewound to where it was read to")
		}
		if _, err := w.Block(t.Context(), 999); err == nil {
			t.Error("a block that there is not")
		}
	})
}

// A place below zero, as the greatest numbers were stored once, is not in the way.
func TestPlaceBelowZeroIsForgotten(t *testing.T) {
	onBoth(t, func(t *testing.T, db store.Database) {
		t.Helper()
		c := datedChain(10)
		r, _ := records(t, db)
		w, _ := watchNodes(t, r, 2, serveChain(t, c))
		follow(t, w)
		if _, err := db.Write.ExecContext(t.Context(), db.Dialect.Bind(`INSERT INTO chain_blocks (tenant_id, chain, number, hash, parent, mined_at) VALUES (?, 31337, -1, ?, ?, -1)`),
			"default", Word{}.String(), Word{}.String()); err != nil {
			t.Fatal(err)
		}
		w, _ = watchNodes(t, r, 2, serveChain(t, c))
		follow(t, w)
	})
}
