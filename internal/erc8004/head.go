package erc8004

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// How far the watcher trusts a node about the newest block. Growth is measured from
// the newest block that is known.
const (
	// headTolerance is how far the time of a block may be ahead of the local clock.
	headTolerance = 5 * time.Minute
	// Growth up to usualBurst blocks plus usualRate per second is usual. If none of
	// the other nodes answers, one node alone is trusted that far. More growth needs a
	// second node that knows the block.
	usualBurst, usualRate = 256, 10
	// Growth beyond maxBurst blocks plus maxRate per second is never accepted: no
	// chain grows so fast.
	maxBurst, maxRate = 4096, 100
	// rollbackAfter is how long all nodes must be below the block that was read,
	// before the chain is read again from the block that they have.
	rollbackAfter = 10 * time.Minute
	// positionCheckInterval is how often other nodes are asked for the last block
	// that was read.
	positionCheckInterval = time.Minute
	// doubtAfter is how long the other nodes may not know the current node's block.
	// They may lag behind, or be on another side of a short fork.
	doubtAfter = time.Minute
	// defaultWitnessTimeout is how long the other nodes have to answer. A node that
	// never answers must not stop the watcher.
	defaultWitnessTimeout = 10 * time.Second
)

// acceptHead returns the newest block to read up to, or an error if the node's
// head cannot belong to the chain. A watcher that followed one faulty node far
// ahead would wait there for the chain, and miss all events until the chain
// arrives.
func (w *Watcher) acceptHead(ctx context.Context, head Block) (Block, error) {
	now := w.now()
	if at := time.Unix(int64(head.Time), 0); at.After(now.Add(headTolerance)) { //nolint:gosec // at most maxQuantity
		return Block{}, fmt.Errorf("the node's newest block %d is dated %s, which is in the future: check the node, and the clock of this machine", head.Number, at.UTC().Format(time.RFC3339))
	}
	// Start from the newest block that is known, from this run or from the
	// ledger.
	last, first := w.head, w.head == Block{}
	if n := len(w.knownBlocks); n > 0 && (first || w.knownBlocks[n-1].Number > last.Number) {
		last, first = w.knownBlocks[n-1], false
	}
	if w.growth.at.IsZero() && !first {
		w.growth.startAt(last, now)
	}
	if first || head.Number > last.Number {
		var err error
		if head, err = w.acceptGrowth(ctx, head, last, first); err != nil {
			return Block{}, err
		}
	}
	return head, w.checkPosition(ctx, head)
}

// acceptGrowth returns the newest block up to head that is trusted. last is the
// newest known block; first means that there is none. With several nodes,
// unusual growth needs a witness, and usual growth the confirmation of another
// node if any answers.
func (w *Watcher) acceptGrowth(ctx context.Context, head, last Block, first bool) (Block, error) {
	now := w.now()
	// Compare the growth with the time between the blocks, not with the local
	// clock: after a long pause the chain may have grown by much.
	grown := head.Number - last.Number
	elapsed := head.Time - min(last.Time, head.Time)
	if grown > maxBurst+maxRate*elapsed {
		return Block{}, fmt.Errorf("the node's newest block is %d, which is %d blocks above the last one known and dated %ds later, faster than any chain grows: check the node", head.Number, grown, elapsed)
	}
	switch {
	// With a single node nobody can confirm: only the hard limits apply.
	case w.node.Count() < 2:
		if !first && !w.growth.allowsHead(head.Number, maxBurst, maxRate, now) {
			return Block{}, fmt.Errorf("the node's newest block is %d, which is %d blocks above the last one known, after faster growth than any chain has: check the node, or wait", head.Number, grown)
		}
		return head, nil
	case first || grown > usualBurst+usualRate*elapsed:
		if err := w.requireWitness(ctx, head); err != nil {
			return Block{}, err
		}
		w.unconfirmed, w.growth = pendingError{}, growthLimit{block: head.Number, at: now}
		return head, nil
	}
	newest, answered := w.confirmHead(ctx, head)
	switch {
	case !answered:
		if !w.growth.allowsHead(head.Number, usualBurst, usualRate, now) {
			return Block{}, fmt.Errorf("the node's newest block is %d, and no other node answered whether it knows this block", head.Number)
		}
		return head, nil
	case newest != nil && newest.Number > last.Number:
		w.unconfirmed, w.growth = pendingError{}, growthLimit{block: newest.Number, at: now}
		return *newest, nil
	}
	err := fmt.Errorf("the node's newest block is %d, and none of the other nodes knows a block above %d: a node lags behind, or this one is wrong; check the nodes", head.Number, last.Number)
	if err := w.unconfirmed.noteError(err, now); err != nil {
		return Block{}, err
	}
	// They may know it soon. Until then, treat the last block that was read as the head.
	if n := len(w.knownBlocks); n > 0 {
		last = w.knownBlocks[n-1]
	}
	if newest != nil && newest.Number >= last.Number {
		return *newest, nil
	}
	b, err := w.node.At(ctx, last.Number)
	if err == nil && b == nil {
		err = errChainChanged
	}
	if err != nil {
		return Block{}, err
	}
	return *b, nil
}

// confirmHead returns the newest block up to head that another node knows too;
// nil if there is none. It is head itself unless the others lag. answered is
// false if none of the others answers.
func (w *Watcher) confirmHead(ctx context.Context, head Block) (newest *Block, answered bool) {
	for _, a := range w.askOthers(ctx, head.Number) {
		if a.Block != nil && a.Block.Hash == head.Hash {
			return &head, true
		}
		answered = answered || a.Err == nil
	}
	if !answered {
		return nil, false
	}
	ctx, cancel := context.WithTimeout(ctx, w.witnessTimeout)
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

// checkPosition asks other nodes now and then for the last block that was read.
// Otherwise a node that led the watcher to a block outside the chain, and
// insists on it, would keep the watcher there forever.
func (w *Watcher) checkPosition(ctx context.Context, head Block) error {
	n, now := len(w.knownBlocks), w.now()
	if n == 0 || w.node.Count() < 2 || now.Before(w.positionCheckDue) {
		return nil
	}
	top := w.knownBlocks[n-1]
	if head.Number < top.Number {
		return nil // the current node does not claim to know it: see nodeLag
	}
	var denied, other bool
	for _, a := range w.askOthers(ctx, top.Number) {
		if a.Block != nil && a.Block.Hash == top.Hash {
			w.positionCheckDue, w.misplaced = now.Add(positionCheckInterval), pendingError{}
			return nil
		}
		denied, other = denied || a.Err == nil, other || a.Block != nil
	}
	if !denied { // no node answers
		w.positionCheckDue = now.Add(positionCheckInterval)
		return nil
	}
	err := fmt.Errorf("the chain was read to block %d (%s), and none of the other nodes knows it: check the nodes", top.Number, top.Hash)
	if other { // a node has another block there and is asked next, as after a fork
		return err
	}
	return w.misplaced.noteError(err, now)
}

// askOthers asks the other nodes for a block. A node that does not answer in
// time has failed.
func (w *Watcher) askOthers(ctx context.Context, number uint64) []Answer {
	ctx, cancel := context.WithTimeout(ctx, w.witnessTimeout)
	defer cancel()
	return w.node.Others(ctx, number)
}

// requireWitness returns an error if there are several nodes and no second one
// knows the block.
func (w *Watcher) requireWitness(ctx context.Context, b Block) error {
	if w.node.Count() < 2 {
		return nil
	}
	var failed []error
	for _, a := range w.askOthers(ctx, b.Number) {
		if a.Block != nil && a.Block.Hash == b.Hash {
			return nil
		}
		failed = append(failed, a.Err)
	}
	err := fmt.Errorf("the node's newest block %d (%s) is not what was expected, and none of the other nodes knows it", b.Number, b.Hash)
	return errors.Join(append([]error{err}, failed...)...)
}

// growthLimit bounds how far one node alone may move the head, as a rate over
// local time. Without it, a node could use the allowance of a single poll again
// in the next.
type growthLimit struct {
	block uint64 // the head that is allowed at that time without using the burst
	at    time.Time
}

// startAt starts from a known block and its time.
func (g *growthLimit) startAt(b Block, now time.Time) {
	at := time.Unix(int64(b.Time), 0) //nolint:gosec // at most maxQuantity
	if at.After(now) {
		at = now
	}
	*g = growthLimit{block: b.Number, at: at}
}

// allowsHead reports whether the head may have this number by now.
func (g *growthLimit) allowsHead(number, burst, rate uint64, now time.Time) bool {
	return number <= g.expectedHead(rate, now)+burst
}

// expectedHead returns the largest head by now without using the burst.
func (g *growthLimit) expectedHead(rate uint64, now time.Time) uint64 {
	elapsed := max(0, now.Sub(g.at)) / time.Second
	return g.block + rate*uint64(elapsed)
}

// noteHead lowers the limit to a head that was accepted: time without growth is
// not saved up.
func (g *growthLimit) noteHead(number, rate uint64, now time.Time) {
	if number <= g.expectedHead(rate, now) {
		*g = growthLimit{block: number, at: now}
	}
}

// pendingError is a problem that counts only if it lasts.
type pendingError struct {
	since time.Time
	err   error
}

// noteError notes the problem, and returns it if it has lasted for doubtAfter.
func (d *pendingError) noteError(why error, now time.Time) error {
	if d.since.IsZero() {
		d.since = now
	}
	d.err = why
	return d.lastingError(now)
}

// lastingError returns the problem if it has lasted for doubtAfter.
func (d *pendingError) lastingError(now time.Time) error {
	if d.since.IsZero() || now.Before(d.since.Add(doubtAfter)) {
		return nil
	}
	return d.err
}

// witnessFork requires a witness for a fork that retracts events which already
// count.
func (w *Watcher) witnessFork(ctx context.Context, head Block, kept []Block) error {
	depth := w.knownBlocks[len(w.knownBlocks)-1].Number - kept[len(kept)-1].Number
	if depth <= max(w.chain.Confirmations, 1) {
		return nil
	}
	return w.requireWitness(ctx, head)
}

// agreedBlocks returns the remembered blocks up to the newest that no node
// contradicts.
func (w *Watcher) agreedBlocks(ctx context.Context, kept []Block) []Block {
	for ; len(kept) > 0; kept = kept[:len(kept)-1] {
		top := kept[len(kept)-1]
		if !isContradicted(w.node.Others(ctx, top.Number), top) {
			break
		}
	}
	return kept
}

// isContradicted reports whether a node that answers does not have the block.
func isContradicted(answers []Answer, b Block) bool {
	for _, a := range answers {
		if a.Err == nil && (a.Block == nil || a.Block.Hash != b.Hash) {
			return true
		}
	}
	return false
}

// nodeLag measures how long nodes have not known the block that was read. It
// ends when one of them does.
type nodeLag struct {
	since       time.Time
	failedPolls int // failed polls since then, each with the next node
}

// errNodeLags is the error of a poll of a node that lags behind.
var errNodeLags = errors.New("the node lags behind")

// waitForNodes returns nil when the lag has lasted long enough and every node
// was asked.
func (b *nodeLag) waitForNodes(now time.Time, nodes int, head, read uint64) error {
	if b.since.IsZero() {
		b.since = now
	}
	until := b.since.Add(rollbackAfter)
	if b.failedPolls >= nodes && !now.Before(until) {
		return nil
	}
	return fmt.Errorf("the node is at block %d, but the chain was read to block %d: %w; if no node knows that block by %s, the chain is read again from the nodes' head", head, read, errNodeLags, until.UTC().Format(time.RFC3339))
}

// notePoll records the end of each poll.
func (b *nodeLag) notePoll(err error) {
	switch {
	case err == nil:
		*b = nodeLag{}
	case errors.Is(err, errChainChanged), errors.Is(err, errRangeTooWide): // the same node is asked again, so the poll does not count
	case !b.since.IsZero():
		b.failedPolls++
	}
}

// Block returns a block that all answering nodes agree on, as a position to
// read the chain again from.
func (w *Watcher) Block(ctx context.Context, number uint64) (Block, error) {
	answers := w.node.All(ctx, number)
	var failed []error
	for _, a := range answers {
		if a.Block != nil {
			if isContradicted(answers, *a.Block) {
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
