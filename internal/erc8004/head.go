package erc8004

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// What a node is believed about the newest block. Growth is measured from the
// newest block that is known, in the time between the two blocks.
const (
	// headTolerance is how far a block's time may be ahead of this machine's clock.
	headTolerance = 5 * time.Minute
	// Growth up to usualBurst blocks and usualRate a second is believed of one node.
	// More is believed when a second node, where there is one, knows the block.
	usualBurst, usualRate = 256, 10
	// Growth beyond mostBurst blocks and mostRate a second is believed of nobody: no
	// chain makes so many.
	mostBurst, mostRate = 4096, 100
	// rollbackAfter is how long all nodes must be below the block that was read before
	// the chain is read again from where they are.
	rollbackAfter = 10 * time.Minute
)

// believe refuses a newest block that cannot be the chain's. A watcher that went
// where one node alone says the chain is would wait there for the chain, and miss
// what happens until it arrives.
func (w *Watcher) believe(ctx context.Context, head Block) error {
	if at, now := time.Unix(int64(head.Time), 0), w.now(); at.After(now.Add(headTolerance)) { //nolint:gosec // at most maxQuantity
		return fmt.Errorf("the node's newest block %d is dated %s, which is in the future: check the node, and the clock of this machine", head.Number, at.UTC().Format(time.RFC3339))
	}
	last, first := w.head, w.head == Block{}
	if n := len(w.known); n > 0 && (first || w.known[n-1].Number > last.Number) {
		last, first = w.known[n-1], false
	}
	if !first && head.Number <= last.Number {
		return nil
	}
	grown := head.Number - last.Number
	elapsed := head.Time - min(last.Time, head.Time)
	if grown > mostBurst+mostRate*elapsed {
		return fmt.Errorf("the node's newest block is %d, which is %d blocks above the last one known and dated %ds later: no chain grows so fast; check the node", head.Number, grown, elapsed)
	}
	if !first && grown <= usualBurst+usualRate*elapsed {
		return nil
	}
	return w.witness(ctx, head)
}

// witness refuses a block that no second node knows, where there are several.
func (w *Watcher) witness(ctx context.Context, b Block) error {
	if w.node.Count() < 2 {
		return nil
	}
	var failed []error
	for _, a := range w.node.Others(ctx, b.Number) {
		if a.Block != nil && a.Block.Hash == b.Hash {
			return nil
		}
		failed = append(failed, a.Err)
	}
	err := fmt.Errorf("the node's newest block %d (%s) is not what was expected, and none of the other nodes knows it", b.Number, b.Hash)
	return errors.Join(append([]error{err}, failed...)...)
}

// witnessFork has a second node confirm a fork that takes back events that count.
func (w *Watcher) witnessFork(ctx context.Context, head Block, kept []Block) error {
	depth := w.known[len(w.known)-1].Number - kept[len(kept)-1].Number
	if depth <= max(w.chain.Confirmations, 1) {
		return nil
	}
	return w.witness(ctx, head)
}

// agreed gives the remembered blocks up to the newest that no node contradicts.
func (w *Watcher) agreed(ctx context.Context, kept []Block) []Block {
	for ; len(kept) > 0; kept = kept[:len(kept)-1] {
		top := kept[len(kept)-1]
		if !contradicted(w.node.Others(ctx, top.Number), top) {
			break
		}
	}
	return kept
}

// contradicted says whether a node that answers does not have the block.
func contradicted(answers []Answer, b Block) bool {
	for _, a := range answers {
		if a.Err == nil && (a.Block == nil || a.Block.Hash != b.Hash) {
			return true
		}
	}
	return false
}

// behind is how long nodes have not known the block that was read. It ends when
// one of them does.
type behind struct {
	since time.Time
	looks int // that went wrong since, each at the next node
}

// errBehind is what a look at a node that is behind ends with.
var errBehind = errors.New("it lags behind")

// wait answers nil when it has lasted long enough and every node was asked.
func (b *behind) wait(now time.Time, nodes int, head, read uint64) error {
	if b.since.IsZero() {
		b.since = now
	}
	until := b.since.Add(rollbackAfter)
	if b.looks >= nodes && !now.Before(until) {
		return nil
	}
	return fmt.Errorf("the node is at block %d, and %d was read: %w; if no node knows that block by %s, the chain is read again from where they are", head, read, errBehind, until.UTC().Format(time.RFC3339))
}

// note is told how each look ended.
func (b *behind) note(err error) {
	switch {
	case err == nil:
		*b = behind{}
	case errors.Is(err, errChanged), errors.Is(err, errWide): // the same node is asked again
	case !b.since.IsZero():
		b.looks++
	}
}

// Block finds a block that the nodes agree on, to read the chain again from there.
func (w *Watcher) Block(ctx context.Context, number uint64) (Block, error) {
	answers := w.node.All(ctx, number)
	var failed []error
	for _, a := range answers {
		if a.Block != nil {
			if contradicted(answers, *a.Block) {
				return Block{}, fmt.Errorf("the nodes do not agree on block %d", number)
			}
			return *a.Block, nil
		}
		failed = append(failed, a.Err)
	}
	if err := errors.Join(failed...); err != nil {
		return Block{}, fmt.Errorf("no node answers for block %d: %w", number, err)
	}
	return Block{}, fmt.Errorf("the chain has no block %d", number)
}
