package erc8004

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// What a node is believed about the newest block. Growth is measured from the
// newest block that is known.
const (
	// headTolerance is how far a block's time may be ahead of this machine's clock.
	headTolerance = 5 * time.Minute
	// Growth up to usualBurst blocks and usualRate a second is usual. Of several nodes
	// one alone is believed so much while none of the others answers; more needs a
	// second node that knows the block.
	usualBurst, usualRate = 256, 10
	// Growth beyond mostBurst blocks and mostRate a second is believed of nobody: no
	// chain makes so many.
	mostBurst, mostRate = 4096, 100
	// rollbackAfter is how long all nodes must be below the block that was read before
	// the chain is read again from where they are.
	rollbackAfter = 10 * time.Minute
	// placeEvery is how often another node is asked for the block that was read.
	placeEvery = time.Minute
	// doubtAfter is how long the other nodes may not know what the current one says:
	// they may lag some blocks behind, or be on another side of a short fork.
	doubtAfter = time.Minute
	// witnessTimeout is how long the other nodes have to answer. One that never does
	// must not stop the watcher.
	witnessTimeout = 10 * time.Second
)

// believe gives the newest block to read up to, or refuses one that cannot be the
// chain's. A watcher that went where one node alone says the chain is would wait
// there for the chain, and miss what happens until it arrives.
func (w *Watcher) believe(ctx context.Context, head Block) (Block, error) {
	now := w.now()
	if at := time.Unix(int64(head.Time), 0); at.After(now.Add(headTolerance)) { //nolint:gosec // at most maxQuantity
		return Block{}, fmt.Errorf("the node's newest block %d is dated %s, which is in the future: check the node, and the clock of this machine", head.Number, at.UTC().Format(time.RFC3339))
	}
	last, first := w.head, w.head == Block{}
	if n := len(w.known); n > 0 && (first || w.known[n-1].Number > last.Number) {
		last, first = w.known[n-1], false
	}
	if w.growth.at.IsZero() && !first {
		w.growth.begin(last, now)
	}
	if first || head.Number > last.Number {
		var err error
		if head, err = w.believeGrowth(ctx, head, last, first); err != nil {
			return Block{}, err
		}
	}
	return head, w.checkPlace(ctx, head)
}

// believeGrowth gives the newest block up to head that is believed.
func (w *Watcher) believeGrowth(ctx context.Context, head, last Block, first bool) (Block, error) {
	now := w.now()
	grown := head.Number - last.Number
	elapsed := head.Time - min(last.Time, head.Time)
	if grown > mostBurst+mostRate*elapsed {
		return Block{}, fmt.Errorf("the node's newest block is %d, which is %d blocks above the last one known and dated %ds later: no chain grows so fast; check the node", head.Number, grown, elapsed)
	}
	switch {
	case w.node.Count() < 2:
		if !first && !w.growth.allows(head.Number, mostBurst, mostRate, now) {
			return Block{}, fmt.Errorf("the node's newest block is %d, which is %d blocks above the last one known, after growth that no chain has: check the node, or wait", head.Number, grown)
		}
		return head, nil
	case first || grown > usualBurst+usualRate*elapsed:
		if err := w.witness(ctx, head); err != nil {
			return Block{}, err
		}
		w.unconfirmed, w.growth = doubt{}, growth{line: head.Number, at: now}
		return head, nil
	}
	newest, answered := w.confirm(ctx, head)
	switch {
	case !answered:
		if !w.growth.allows(head.Number, usualBurst, usualRate, now) {
			return Block{}, fmt.Errorf("the node's newest block is %d, and none of the other nodes answers whether they know it", head.Number)
		}
		return head, nil
	case newest != nil && newest.Number > last.Number:
		w.unconfirmed, w.growth = doubt{}, growth{line: newest.Number, at: now}
		return *newest, nil
	}
	err := fmt.Errorf("the node's newest block is %d, and none of the other nodes knows a block above %d: a node lags behind, or this one is wrong; check the nodes", head.Number, last.Number)
	if err := w.unconfirmed.note(err, now); err != nil {
		return Block{}, err
	}
	// They may know it soon. Until then the chain ends where it was read to.
	if n := len(w.known); n > 0 {
		last = w.known[n-1]
	}
	if newest != nil && newest.Number >= last.Number {
		return *newest, nil
	}
	b, err := w.node.At(ctx, last.Number)
	if err == nil && b == nil {
		err = errChanged
	}
	if err != nil {
		return Block{}, err
	}
	return *b, nil
}

// confirm gives the newest block up to head that another node knows too, which is
// head itself unless the others lag; nil where there is none. answered is false
// where none of the others says anything.
func (w *Watcher) confirm(ctx context.Context, head Block) (newest *Block, answered bool) {
	for _, a := range w.others(ctx, head.Number) {
		if a.Block != nil && a.Block.Hash == head.Hash {
			return &head, true
		}
		answered = answered || a.Err == nil
	}
	if !answered {
		return nil, false
	}
	ctx, cancel := context.WithTimeout(ctx, w.patience)
	defer cancel()
	for _, a := range w.node.OtherHeads(ctx) {
		if a.Block == nil || a.Block.Number >= head.Number || newest != nil && a.Block.Number <= newest.Number {
			continue
		}
		if b, err := w.node.At(ctx, a.Block.Number); err == nil && b != nil && b.Hash == a.Block.Hash {
			newest = b
		}
	}
	return newest, true
}

// checkPlace asks another node now and then for the block that was read. A node
// that has led the watcher to a block that the chain does not have, and repeats
// it, would else keep it there for good.
func (w *Watcher) checkPlace(ctx context.Context, head Block) error {
	n, now := len(w.known), w.now()
	if n == 0 || w.node.Count() < 2 || now.Before(w.placeDue) {
		return nil
	}
	top := w.known[n-1]
	if head.Number < top.Number {
		return nil // the current node does not claim to know it: see behind
	}
	var denied, other bool
	for _, a := range w.others(ctx, top.Number) {
		if a.Block != nil && a.Block.Hash == top.Hash {
			w.placeDue, w.misplaced = now.Add(placeEvery), doubt{}
			return nil
		}
		denied, other = denied || a.Err == nil, other || a.Block != nil
	}
	if !denied { // nobody answers
		w.placeDue = now.Add(placeEvery)
		return nil
	}
	err := fmt.Errorf("the chain was read to block %d (%s), and none of the other nodes knows it: check the nodes", top.Number, top.Hash)
	if other { // the node that has another block there is asked next, as after a fork
		return err
	}
	return w.misplaced.note(err, now)
}

// others asks the other nodes for a block. One that does not answer in time has
// failed.
func (w *Watcher) others(ctx context.Context, number uint64) []Answer {
	ctx, cancel := context.WithTimeout(ctx, w.patience)
	defer cancel()
	return w.node.Others(ctx, number)
}

// witness refuses a block that no second node knows, where there are several.
func (w *Watcher) witness(ctx context.Context, b Block) error {
	if w.node.Count() < 2 {
		return nil
	}
	var failed []error
	for _, a := range w.others(ctx, b.Number) {
		if a.Block != nil && a.Block.Hash == b.Hash {
			return nil
		}
		failed = append(failed, a.Err)
	}
	err := fmt.Errorf("the node's newest block %d (%s) is not what was expected, and none of the other nodes knows it", b.Number, b.Hash)
	return errors.Join(append([]error{err}, failed...)...)
}

// growth bounds how far one node alone moves the newest block, over this machine's
// time: what one look may believe must not be there again for the next one.
type growth struct {
	line uint64    // where the head may be without using up the burst
	at   time.Time // when that was
}

// begin counts from a block that is known.
func (g *growth) begin(b Block, now time.Time) {
	at := time.Unix(int64(b.Time), 0) //nolint:gosec // at most maxQuantity
	if at.After(now) {
		at = now
	}
	*g = growth{line: b.Number, at: at}
}

// allows says whether the head may be there by now.
func (g *growth) allows(number, burst, rate uint64, now time.Time) bool {
	return number <= g.reached(rate, now)+burst
}

func (g *growth) reached(rate uint64, now time.Time) uint64 {
	elapsed := max(0, now.Sub(g.at)) / time.Second
	return g.line + rate*uint64(elapsed)
}

// note is told of the head that was believed. The line does not pass it.
func (g *growth) note(number, rate uint64, now time.Time) {
	if number <= g.reached(rate, now) {
		*g = growth{line: number, at: now}
	}
}

// doubt is what the other nodes have not known since some time.
type doubt struct {
	since time.Time
	why   error
}

// note gives the error back when it has lasted for long.
func (d *doubt) note(why error, now time.Time) error {
	if d.since.IsZero() {
		d.since = now
	}
	d.why = why
	return d.lasting(now)
}

func (d *doubt) lasting(now time.Time) error {
	if d.since.IsZero() || now.Before(d.since.Add(doubtAfter)) {
		return nil
	}
	return d.why
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
