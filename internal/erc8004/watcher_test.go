package erc8004

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

var (
	identityAt   = Address{1}
	reputationAt = Address{2}
)

func testChain(confirmations uint64) Chain {
	return Chain{ID: 31337, Registries: []Registry{{Identity: identityAt, Reputation: reputationAt}}, Confirmations: confirmations}
}

// modelChain is a chain that forks, and a node of it that fails.
type modelChain struct {
	blocks []Block
	logs   map[Word][]Log // by block hash
	made   uint64
	before func(c *modelChain) // called at the start of each question
	refuse func(from, to uint64) error
	id     uint64
	lag    uint64 // blocks that the node does not know yet
}

func newModelChain() *modelChain {
	c := &modelChain{logs: map[Word][]Log{}, id: 31337}
	c.mine(0)
	return c
}

// mine adds a block with so many events.
func (c *modelChain) mine(events int) {
	c.made++
	b := Block{Number: uint64(len(c.blocks)), Time: 1000 + c.made}
	if n := len(c.blocks); n > 0 {
		b.Parent = c.blocks[n-1].Hash
	}
	b.Hash = Keccak(fmt.Appendf(nil, "block %d of %s, try %d", b.Number, b.Parent, c.made))
	l := eventVersions()[5].parseLayout()
	for i := range events {
		topics, data := encode(l, map[string]any{
			"agent": big.NewInt(int64(c.made % 3)), "client": Address{9}, "index": new(big.Int).SetUint64(c.made), "value": big.NewInt(80),
			"decimals": big.NewInt(0), "-": "starred", "tag1": "starred", "tag2": "", "endpoint": "", "uri": "", "hash": Word{},
		})
		c.logs[b.Hash] = append(c.logs[b.Hash], Log{
			Address: reputationAt, Topics: topics, Data: data, Block: b.Number, BlockHash: b.Hash, Index: uint64(i),
			Transaction: Keccak(fmt.Appendf(nil, "tx %d", c.made)),
		})
	}
	c.blocks = append(c.blocks, b)
}

// reorg replaces the newest blocks by as many others, and one more.
func (c *modelChain) reorg(depth int, events func() int) {
	depth = min(depth, len(c.blocks)-1)
	c.blocks = c.blocks[:len(c.blocks)-depth]
	for range depth + 1 {
		c.mine(events())
	}
}

func (c *modelChain) ask() {
	if c.before != nil {
		c.before(c)
	}
}

func (c *modelChain) top() uint64 {
	return uint64(len(c.blocks)) - 1 - min(c.lag, uint64(len(c.blocks))-1)
}

func (c *modelChain) Head(context.Context) (Block, error) { c.ask(); return c.blocks[c.top()], nil }

func (c *modelChain) Finalized(context.Context) (uint64, bool, error) {
	c.ask()
	return c.top() / 2, c.top() > 1, nil
}

func (c *modelChain) At(_ context.Context, n uint64) (*Block, error) {
	c.ask()
	if n > c.top() {
		return nil, nil
	}
	b := c.blocks[n]
	return &b, nil
}

func (c *modelChain) Logs(_ context.Context, from, to uint64, _ []Address, _ []Word) ([]Log, error) {
	c.ask()
	if c.refuse != nil {
		if err := c.refuse(from, to); err != nil {
			return nil, err
		}
	}
	var out []Log
	for n := from; n <= min(to, c.top()); n++ {
		out = append(out, c.logs[c.blocks[n].Hash]...)
	}
	return out, nil
}

func (c *modelChain) Chain(context.Context) (uint64, error) { return c.id, nil }
func (c *modelChain) IdentityOf(context.Context, Address) (Address, error) {
	return identityAt, nil
}

// Count, Others and All are those of a node that is alone.
func (c *modelChain) Count() int                              { return 1 }
func (c *modelChain) Others(context.Context, uint64) []Answer { return nil }
func (c *modelChain) OtherHeads(context.Context) []Answer     { return nil }
func (c *modelChain) All(ctx context.Context, n uint64) []Answer {
	b, err := c.At(ctx, n)
	return []Answer{{Block: b, Err: err}}
}
func (c *modelChain) Name() string { return "model" }
func (c *modelChain) Next()        {}

// modelLedger is the ledger's contract in memory.
type modelLedger struct {
	blocks  []Block
	rows    []*row
	lost    func() bool // whether a step is lost in mid-air
	counted func(Seen)
}

type row struct {
	Seen
	state     string
	retracted int
}

func (l *modelLedger) Blocks(_ context.Context, _ uint64, limit int) ([]Block, error) {
	return slices.Clone(l.blocks[max(0, len(l.blocks)-limit):]), nil
}

func (l *modelLedger) Take(_ context.Context, s Step) error {
	if n := len(l.blocks); n > 0 && l.blocks[n-1] != s.After {
		return errors.New("somebody else has gone on")
	}
	if l.lost != nil && l.lost() {
		return errors.New("the database is away")
	}
	if s.Forked || s.Rewound {
		l.blocks = slices.DeleteFunc(l.blocks, func(b Block) bool { return b.Number > s.Keep })
	}
	for _, r := range l.rows {
		found := slices.ContainsFunc(s.Events, func(e Seen) bool { return e.ID() == r.ID() })
		forked := s.Forked && r.Block > s.Keep
		absent := r.Block >= s.From && r.Block <= s.To && !found
		if r.state == "orphaned" || !forked && !absent {
			continue
		}
		if r.state == "counted" {
			r.retracted++
		}
		r.state = "orphaned"
	}
	l.blocks = append(l.blocks, s.Blocks...)
	for _, e := range s.Events {
		i := slices.IndexFunc(l.rows, func(r *row) bool { return r.BlockHash == e.BlockHash && r.LogIndex == e.LogIndex })
		if i < 0 {
			l.rows = append(l.rows, &row{Seen: e, state: "seen"})
		} else if l.rows[i].state == "orphaned" {
			l.rows[i].state = "seen"
		}
	}
	for _, r := range l.rows {
		if r.state == "seen" && r.Block <= s.Final {
			r.state = "counted"
			l.counted(r.Seen)
		}
	}
	return nil
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// However the chain forks, whatever fails and whenever the process dies: what
// counts lies deep enough at that moment, what the chain holds is what the
// ledger holds in the end, and what counted and is gone was retracted.
func TestWatcherFollowsEveryChain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		confirmations := uint64(rapid.IntRange(0, 6).Draw(t, "confirmations"))
		c := newModelChain()
		events := func() int { return rapid.IntRange(0, 2).Draw(t, "events") }
		c.before = func(c *modelChain) {
			switch rapid.IntRange(0, 40).Draw(t, "between") {
			case 0:
				c.mine(events())
			case 1:
				c.reorg(rapid.IntRange(1, 8).Draw(t, "depth"), events)
			}
		}
		c.refuse = func(from, to uint64) error {
			if to-from > 6 {
				return &NodeError{Code: -32005, Message: "block range is too large"}
			}
			return nil
		}
		l := &modelLedger{lost: func() bool { return rapid.IntRange(0, 12).Draw(t, "lost") == 0 }}
		l.counted = func(e Seen) {
			if c.blocks[e.Block].Hash != e.BlockHash && c.before != nil {
				return // it forked after the last question: nobody could know
			}
			if uint64(len(c.blocks))-1 < e.Block+confirmations {
				t.Fatalf("block %d counts at height %d with %d confirmations", e.Block, len(c.blocks)-1, confirmations)
			}
			if e.Time == 0 {
				t.Fatalf("an event of block %d has no time", e.Block)
			}
		}
		w := newWatcher(testChain(confirmations), c, l, quiet())
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				c.reorg(rapid.IntRange(1, 10).Draw(t, "depth"), events)
			case 1:
				for range rapid.IntRange(1, 15).Draw(t, "blocks") {
					c.mine(events())
				}
			case 2:
				w = newWatcher(testChain(confirmations), c, l, quiet())
			case 3:
				c.lag = uint64(rapid.IntRange(0, 5).Draw(t, "lag"))
			default:
				_, _ = w.pollChain(context.Background())
			}
		}
		c.before, l.lost, c.lag = nil, nil, 0
		c.mine(0)
		for tries := 0; ; tries++ {
			more, err := w.pollChain(context.Background())
			if err == nil && !more {
				break
			}
			if tries > 200 {
				t.Fatalf("it does not arrive: %v", err)
			}
		}
		settled(t, c, l, confirmations)
	})
}

func settled(t *rapid.T, c *modelChain, l *modelLedger, confirmations uint64) {
	onChain := map[string]bool{}
	for _, b := range c.blocks {
		for _, e := range c.logs[b.Hash] {
			onChain[fmt.Sprint(e.BlockHash, e.Index)] = true
		}
	}
	for _, r := range l.rows {
		id := fmt.Sprint(r.BlockHash, r.LogIndex)
		deep := uint64(len(c.blocks))-1 >= r.Block+confirmations
		switch {
		case !onChain[id] && r.state != "orphaned":
			t.Fatalf("an event of a block that is gone is %s", r.state)
		case onChain[id] && deep && r.state != "counted", onChain[id] && !deep && r.state != "seen":
			t.Fatalf("an event of block %d at height %d is %s", r.Block, len(c.blocks)-1, r.state)
		}
		delete(onChain, id)
	}
	if len(onChain) > 0 {
		t.Fatalf("%d events were never read", len(onChain))
	}
}

func TestWatcherRefusesAnotherChain(t *testing.T) {
	c := testChain(0)
	c.ID = 1
	w := newWatcher(c, newModelChain(), &modelLedger{}, quiet())
	if _, err := w.pollChain(t.Context()); err == nil || w.Status().Error == "" {
		t.Errorf("%v, %+v", err, w.Status())
	}
}

func TestWatcherRefusesAPairThatIsNone(t *testing.T) {
	c := testChain(0)
	c.Registries[0].Identity = Address{7}
	if _, err := newWatcher(c, newModelChain(), &modelLedger{}, quiet()).pollChain(t.Context()); err == nil || !strings.Contains(err.Error(), "correct the pair") {
		t.Errorf("%v", err)
	}
}

func TestFinalizedBlocksCount(t *testing.T) {
	c := newModelChain()
	for range 20 {
		c.mine(1)
	}
	chain := testChain(0)
	chain.Finalized = true
	counted := 0
	l := &modelLedger{counted: func(Seen) { counted++ }}
	if _, err := newWatcher(chain, c, l, quiet()).pollChain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if counted != 10 {
		t.Errorf("%d events count, of 10 in final blocks", counted)
	}
}

// An event of one registry from the address of another is nobody's.
func TestEventsOfTheWrongContractAreSkipped(t *testing.T) {
	c := newModelChain()
	c.mine(2)
	c.logs[c.blocks[1].Hash][0].Address = identityAt
	l := &modelLedger{counted: func(Seen) {}}
	w := newWatcher(testChain(0), c, l, quiet())
	if _, err := w.pollChain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(l.rows) != 1 || w.Status().Skipped != 1 {
		t.Errorf("%d events, %d skipped", len(l.rows), w.Status().Skipped)
	}
}

// A node that is behind the one before it has no blocks there yet: nothing is
// taken back for that.
func TestLaggingNodeRetractsNothing(t *testing.T) {
	c := newModelChain()
	for range 10 {
		c.mine(1)
	}
	l := &modelLedger{counted: func(Seen) {}}
	w := newWatcher(testChain(0), c, l, quiet())
	if _, err := w.pollChain(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.lag = 4
	if _, err := w.pollChain(t.Context()); err == nil {
		t.Error("the lag is not told")
	}
	for _, r := range l.rows {
		if r.state != "counted" || r.retracted > 0 {
			t.Errorf("an event of block %d is %s", r.Block, r.state)
		}
	}
}

// A watcher whose turn it is not asks nothing of a node, tells how far another has
// read, and goes on from there when its turn comes.
func TestOneOfTwoFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newModelChain()
		for range 5 {
			c.mine(1)
		}
		var asked atomic.Int32
		c.before = func(*modelChain) { asked.Add(1) }
		l := &modelLedger{counted: func(Seen) {}}
		if _, err := newWatcher(testChain(0), c, l, quiet()).pollChain(t.Context()); err != nil {
			t.Fatal(err)
		}
		asked.Store(0)
		var mine atomic.Bool
		w := newWatcher(testChain(0), c, l, quiet())
		w.holdsLease = mine.Load
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			w.Run(ctx)
		}()
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := asked.Load(); n != 0 {
			t.Errorf("a node was asked %d times", n)
		}
		if s := w.Status(); s.Read != 5 || s.Head != 5 {
			t.Errorf("it tells %+v", s)
		}
		c.mine(1)
		mine.Store(true)
		time.Sleep(time.Minute)
		synctest.Wait()
		if s := w.Status(); s.Read != 6 || len(l.rows) != 6 {
			t.Errorf("it went on to %+v, with %d events", s, len(l.rows))
		}
		cancel()
		<-ended
	})
}
