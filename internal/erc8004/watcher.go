package erc8004

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Limits of a watcher.
const (
	rememberedBlocks = 256   // blocks that are searched for the begin of a fork
	maxWidth         = 5_000 // most blocks in one request for logs
	maxPause         = time.Minute
	pollTimeout      = 2 * time.Minute
	defaultPause     = 2 * time.Second
	idlePause        = time.Second // between checks of the leader lease
)

// Chain is the configuration of a chain that is followed.
type Chain struct {
	ID            uint64
	Registries    []Registry
	Start         uint64        // the first block that is read
	Confirmations uint64        // blocks on top of a block before its events count
	Finalized     bool          // instead of Confirmations: events count when the chain calls their block final
	Pause         time.Duration // between two polls; 0 means two seconds
}

// Registry is an identity registry with its reputation and validation
// registries. A log of the latter does not name the identity registry, so the
// operator configures them together.
type Registry struct {
	Identity   Address
	Reputation Address // zero: none
	Validation Address // zero: none
}

// contractAddresses returns all addresses whose logs are read.
func (c Chain) contractAddresses() []Address {
	var out []Address
	for _, r := range c.Registries {
		for _, a := range []Address{r.Identity, r.Reputation, r.Validation} {
			if !a.IsZero() && !slices.Contains(out, a) {
				out = append(out, a)
			}
		}
	}
	return out
}

// identityFor returns the identity registry that a contract belongs to.
func (c Chain) identityFor(contract Address) (Address, bool) {
	for _, r := range c.Registries {
		if contract == r.Identity || contract == r.Reputation || contract == r.Validation {
			return r.Identity, true
		}
	}
	return Address{}, false
}

// emitsKind reports whether a contract is the registry that emits such events.
// An event of one registry from the address of another is ignored.
func (c Chain) emitsKind(contract Address, k Kind) bool {
	for _, r := range c.Registries {
		switch k {
		case KindFeedback, KindFeedbackRevoked, KindFeedbackResponse:
			if contract == r.Reputation {
				return true
			}
		case KindValidationRequest, KindValidationResponse:
			if contract == r.Validation {
				return true
			}
		default:
			if contract == r.Identity {
				return true
			}
		}
	}
	return false
}

// Seen is an event with its position on the chain.
type Seen struct {
	Event
	Chain       uint64  `json:"chain"`
	Registry    Address `json:"registry"` // the identity registry of the agent
	Contract    Address `json:"contract"`
	Block       uint64  `json:"block"`
	BlockHash   Word    `json:"block_hash"`
	Transaction Word    `json:"transaction"`
	LogIndex    uint64  `json:"log_index"`
	Time        uint64  `json:"time,omitempty"` // of the block, if known
}

// Step is one step along the chain. The ledger applies it as a whole or not at
// all.
type Step struct {
	Chain  uint64
	After  Block  // the newest remembered block at the begin of the step; zero if there was none
	Keep   uint64 // blocks above this one are no longer part of the chain
	Forked bool   // blocks above Keep were remembered
	// Rewound is set if blocks above Keep are discarded in order to be read
	// again. Their events stay as they are until then.
	Rewound  bool
	From, To uint64  // the blocks that were read, both ends included; none if From > To
	Blocks   []Block // to be remembered, oldest first
	Events   []Seen  // of the blocks above Keep, in the chain's order
	Final    uint64  // events up to this block are final
}

// Ledger stores the position in a chain and the events that were read.
type Ledger interface {
	// Blocks returns the newest remembered blocks, oldest first, at most limit.
	Blocks(ctx context.Context, chain uint64, limit int) ([]Block, error)
	// Take applies a step in one transaction. It refuses the step if After is not the
	// newest block, since another replica has read further then. Events above Keep
	// are orphaned, and those that counted already are retracted. If Rewound is set,
	// that holds only for events that are not found again between From and To. An
	// event that exists (by chain, block hash and log index) is not added again.
	// Events up to Final count from now on, in the chain's order.
	Take(ctx context.Context, step Step) error
}

// chainSource is the part of Node that a watcher uses.
type chainSource interface {
	Head(ctx context.Context) (Block, error)
	Finalized(ctx context.Context) (uint64, bool, error)
	At(ctx context.Context, number uint64) (*Block, error)
	Logs(ctx context.Context, from, to uint64, contracts []Address, topics []Word) ([]Log, error)
	Chain(ctx context.Context) (uint64, error)
	IdentityOf(ctx context.Context, registry Address) (Address, error)
	Count() int
	Others(ctx context.Context, number uint64) []Answer
	OtherHeads(ctx context.Context) []Answer
	All(ctx context.Context, number uint64) []Answer
	Name() string
	Next()
}

// Status is the state of a watcher, for the admin API.
type Status struct {
	Head    uint64    `json:"head"`  // the newest block of the node
	Read    uint64    `json:"read"`  // the newest block that was read
	Final   uint64    `json:"final"` // the newest block whose events count
	Reorgs  uint64    `json:"reorgs"`
	Deepest uint64    `json:"deepest_reorg"`
	Skipped uint64    `json:"skipped_logs"` // malformed, or from a contract that does not emit such events
	Node    string    `json:"node"`
	Error   string    `json:"error,omitempty"`
	At      time.Time `json:"at"` // of the last successful poll
}

// Watcher follows one chain. Run uses all fields without a lock; mu guards only
// status.
type Watcher struct {
	chain      Chain
	node       chainSource
	ledger     Ledger
	decoder    *Decoder
	log        *slog.Logger
	holdsLease func() bool // whether this replica follows the chain now; nil means always
	now        func() time.Time

	nodeChecked    bool // the current node follows the right chain
	blocksLoaded   bool
	knownBlocks    []Block // oldest first
	width          uint64
	head           Block         // the newest accepted head
	lag            nodeLag       // of nodes that do not know the block that was read
	witnessTimeout time.Duration // for answers of the other nodes
	growth         growthLimit   // how far one node alone may move the head

	unconfirmed      pendingError // a head that no other node knows
	misplaced        pendingError // the last block that was read, if no other node knows it
	positionCheckDue time.Time    // when the others are asked for it next

	mu     sync.Mutex
	status Status
}

// NewWatcher makes a watcher; Run makes it follow the chain. turn reports
// whether this replica holds the leader lease of the chain: of several replicas
// with one ledger, one follows it at a time.
func NewWatcher(chain Chain, node *Node, ledger Ledger, turn func() bool, log *slog.Logger) *Watcher {
	w := newWatcher(chain, node, ledger, log)
	w.holdsLease = turn
	return w
}

// newWatcher makes a watcher without a lease, for any source.
func newWatcher(chain Chain, node chainSource, ledger Ledger, log *slog.Logger) *Watcher {
	return &Watcher{chain: chain, node: node, ledger: ledger, decoder: NewDecoder(), log: log.With("chain", chain.ID), now: time.Now, width: maxWidth, witnessTimeout: defaultWitnessTimeout}
}

// Status returns the current state.
func (w *Watcher) Status() Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.status
}

// Run follows the chain until ctx ends. After a failure it tries again with the
// next node and a longer pause. While another replica holds the lease, it asks
// no node.
func (w *Watcher) Run(ctx context.Context) {
	usual := w.chain.Pause
	if usual <= 0 {
		usual = defaultPause
	}
	pause := usual
	for ctx.Err() == nil {
		if w.holdsLease != nil && !w.holdsLease() {
			w.resetState(ctx)
			if !waitFor(ctx, min(usual, idlePause)) {
				return
			}
			continue
		}
		more, err := w.pollChain(ctx)
		switch {
		case ctx.Err() != nil:
			return
		// The node is fine: ask the same one again soon.
		case errors.Is(err, errChainChanged), errors.Is(err, errRangeTooWide):
			w.log.DebugContext(ctx, "reading the chain is retried", "error", err)
			pause = min(usual, 100*time.Millisecond)
		case err != nil:
			w.log.WarnContext(ctx, "cannot read the chain", "node", w.node.Name(), "error", err)
			w.node.Next()
			w.nodeChecked = false
			pause = min(2*pause, maxPause)
		case more:
			pause = usual
			continue
		default:
			pause = usual
		}
		if !waitFor(ctx, pause) {
			return
		}
	}
}

// waitFor waits for a duration; false if ctx ends before.
func waitFor(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// resetState updates the status from the ledger, and forgets everything else:
// another replica follows the chain, and this one will continue from there.
func (w *Watcher) resetState(ctx context.Context) {
	w.blocksLoaded, w.nodeChecked = false, false
	w.head, w.lag, w.growth = Block{}, nodeLag{}, growthLimit{}
	w.unconfirmed, w.misplaced, w.positionCheckDue = pendingError{}, pendingError{}, time.Time{}
	known, err := w.ledger.Blocks(ctx, w.chain.ID, 1)
	if err != nil || len(known) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.status.Read = known[0].Number
	w.status.Head, w.status.Node, w.status.Error = w.status.Read, "", ""
}

// pollChain takes one step along the chain. more means that the chain continues
// beyond it. All answers of a poll come from the same node.
func (w *Watcher) pollChain(ctx context.Context) (more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	defer func() { w.noteStatus(err); w.lag.notePoll(err) }()
	if err := w.checkNode(ctx); err != nil {
		return false, err
	}
	head, err := w.node.Head(ctx)
	if err != nil {
		return false, err
	}
	if head, err = w.acceptHead(ctx, head); err != nil {
		return false, err
	}
	step := Step{Chain: w.chain.ID}
	kept, err := w.findFork(ctx, head, &step)
	if err != nil {
		return false, err
	}
	if n := len(w.knownBlocks); n > 0 {
		step.After = w.knownBlocks[n-1]
	}
	from := w.chain.Start
	if len(kept) > 0 {
		step.Keep = kept[len(kept)-1].Number
		from = step.Keep + 1
	} else if from > 0 {
		step.Keep = from - 1
	}
	to := step.Keep
	step.From, step.To = from, to
	// There are blocks to read. Otherwise the step only makes events final.
	if head.Number >= from {
		to = min(head.Number, from+w.width-1)
		step.To = to
		if err := w.readRange(ctx, &step, from, to); err != nil {
			return false, err
		}
	}
	if step.Final, err = w.finalBlock(ctx, head, to); err != nil {
		return false, err
	}
	// Finality was counted from the head: the head must still be part of the chain.
	if still, err := w.node.At(ctx, head.Number); err != nil {
		return false, err
	} else if still == nil || still.Hash != head.Hash {
		return false, errChainChanged
	}
	if err := w.ledger.Take(ctx, step); err != nil {
		// Whether the step was stored is unknown: load the blocks again.
		w.blocksLoaded = false
		return false, fmt.Errorf("ledger: %w", err)
	}
	w.applyStep(step, kept, head, to)
	return to < head.Number, nil
}

// checkNode checks that the node follows the right chain, and loads the
// remembered blocks. Both happen once per node or load.
func (w *Watcher) checkNode(ctx context.Context) error {
	if !w.nodeChecked {
		id, err := w.node.Chain(ctx)
		if err != nil {
			return err
		}
		if id != w.chain.ID {
			return fmt.Errorf("the node follows chain %d, not %d: correct the node's URL or the chain ID", id, w.chain.ID)
		}
		if err := w.checkRegistryPairs(ctx); err != nil {
			return err
		}
		w.nodeChecked = true
	}
	if !w.blocksLoaded {
		known, err := w.ledger.Blocks(ctx, w.chain.ID, rememberedBlocks)
		if err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
		w.knownBlocks, w.blocksLoaded = known, true
	}
	return nil
}

// checkRegistryPairs asks the registries for their identity registry. The first
// contract versions cannot tell. A different answer is a mistake in the
// settings.
func (w *Watcher) checkRegistryPairs(ctx context.Context) error {
	for _, r := range w.chain.Registries {
		for _, at := range []Address{r.Reputation, r.Validation} {
			if at.IsZero() {
				continue
			}
			is, err := w.node.IdentityOf(ctx, at)
			if _, silent := errors.AsType[*NodeError](err); silent || errors.Is(err, errDataTooShort) {
				w.log.Debug("reputation registry names no identity registry", "registry", at)
				continue
			}
			if err != nil {
				return err
			}
			if is != r.Identity {
				return fmt.Errorf("the reputation or validation registry %s belongs to the identity registry %s, not to %s: correct the pair", at, is, r.Identity)
			}
		}
	}
	return nil
}

// findFork returns the remembered blocks that are still part of the chain, and
// notes in the step what happens to the others. Remembered blocks above the
// head prove nothing: a node that lags does not have them yet. The watcher
// waits for the node for a while before it goes back.
func (w *Watcher) findFork(ctx context.Context, head Block, step *Step) (kept []Block, err error) {
	kept = w.knownBlocks
	for len(kept) > 0 && kept[len(kept)-1].Number > head.Number {
		kept = kept[:len(kept)-1]
	}
	above := len(kept) < len(w.knownBlocks)
	for len(kept) > 0 {
		top := kept[len(kept)-1]
		b, err := w.node.At(ctx, top.Number)
		if err != nil {
			return nil, err
		}
		if b != nil && b.Hash == top.Hash {
			break
		}
		kept, step.Forked = kept[:len(kept)-1], true
	}
	switch {
	case step.Forked && len(kept) == 0:
		// The begin of the fork is not remembered. Blocks are read again from the start,
		// and only events that are not found again are retracted.
		step.Forked, step.Rewound = false, true
	case step.Forked:
		return kept, w.witnessFork(ctx, head, kept)
	case above:
		if err := w.lag.waitForNodes(w.now(), w.node.Count(), head.Number, w.knownBlocks[len(w.knownBlocks)-1].Number); err != nil {
			return nil, err
		}
		w.log.WarnContext(ctx, "no node knows the last block that was read: reading the chain again from the nodes' head", "read", w.knownBlocks[len(w.knownBlocks)-1].Number, "head", head.Number)
		step.Rewound = true
		return w.agreedBlocks(ctx, kept), nil
	}
	return kept, nil
}

// readRange adds the events of a range of blocks to a step. It fetches the last
// block of the range before and after the logs: if the block stayed the same,
// so did all blocks below, and the logs belong to one chain.
func (w *Watcher) readRange(ctx context.Context, step *Step, from, to uint64) error {
	before, err := w.node.At(ctx, to)
	if err != nil {
		return err
	}
	if before == nil {
		return errChainChanged
	}
	logs, err := w.node.Logs(ctx, from, to, w.chain.contractAddresses(), w.decoder.Topics())
	var fault *NodeError
	if errors.As(err, &fault) && fault.isRangeTooWide() && w.width > 1 && to > from {
		w.width = max(1, (to-from+1)/2)
		return fmt.Errorf("%w: %d blocks; the next request asks for %d: %w", errRangeTooWide, to-from+1, w.width, err)
	}
	if err != nil {
		return err
	}
	after, err := w.node.At(ctx, to)
	if err != nil {
		return err
	}
	if after == nil || after.Hash != before.Hash {
		return errChainChanged
	}
	w.decodeLogs(step, logs)
	if err := w.dateEvents(ctx, step, *after); err != nil {
		return err
	}
	step.Blocks = append(step.Blocks, *after)
	// Widen the range again slowly after a node refused a wide one.
	w.width = min(maxWidth, w.width+w.width/4+1)
	return nil
}

// Errors that are not the fault of the node: the same node is asked again.
var (
	errChainChanged = errors.New("the chain changed while it was read")
	errRangeTooWide = errors.New("the range is too wide for the node")
)

// dateEvents sets the time of the events, adds their blocks to the step, and
// checks that they belong to the chain that ends with last.
func (w *Watcher) dateEvents(ctx context.Context, step *Step, last Block) error {
	at := last
	for i, e := range step.Events {
		if i == 0 || at.Number != e.Block {
			at = last
			if e.Block != last.Number {
				b, err := w.node.At(ctx, e.Block)
				if err != nil {
					return err
				}
				if b == nil {
					return errChainChanged
				}
				at = *b
				step.Blocks = append(step.Blocks, at)
			}
		}
		if at.Hash != e.BlockHash {
			return errChainChanged
		}
		step.Events[i].Time = at.Time
	}
	return nil
}

// decodeLogs adds the events of logs to a step, in the chain's order. Logs that
// cannot be decoded are counted and skipped.
func (w *Watcher) decodeLogs(step *Step, logs []Log) {
	slices.SortStableFunc(logs, func(a, b Log) int {
		if a.Block != b.Block {
			return cmp.Compare(a.Block, b.Block)
		}
		return cmp.Compare(a.Index, b.Index)
	})
	for _, l := range logs {
		e, ok, err := w.decoder.Decode(l.Topics, l.Data)
		identity, ours := w.chain.identityFor(l.Address)
		if !ok || err != nil || !ours || !w.chain.emitsKind(l.Address, e.Kind) {
			w.log.Warn("cannot decode a log of the chain", "contract", l.Address, "transaction", l.Transaction, "index", l.Index, "error", err)
			w.mu.Lock()
			w.status.Skipped++
			w.mu.Unlock()
			continue
		}
		step.Events = append(step.Events, Seen{
			Event: e, Chain: w.chain.ID, Registry: identity, Contract: l.Address, Block: l.Block, BlockHash: l.BlockHash,
			Transaction: l.Transaction, LogIndex: l.Index,
		})
	}
}

// finalBlock returns the newest block that was read and whose events count.
func (w *Watcher) finalBlock(ctx context.Context, head Block, read uint64) (uint64, error) {
	// A chain with its own finality needs no count of confirmations.
	if w.chain.Finalized {
		number, ok, err := w.node.Finalized(ctx)
		if err != nil || !ok {
			return 0, err
		}
		return min(number, read), nil
	}
	if head.Number < w.chain.Confirmations {
		return 0, nil
	}
	return min(head.Number-w.chain.Confirmations, read), nil
}

// applyStep updates the watcher after the ledger has stored a step.
func (w *Watcher) applyStep(step Step, kept []Block, head Block, to uint64) {
	var depth uint64
	forked := step.Forked || step.Rewound
	if n := len(w.knownBlocks); forked && n > 0 && w.knownBlocks[n-1].Number > step.Keep {
		depth = w.knownBlocks[n-1].Number - step.Keep
	}
	rate := uint64(maxRate)
	if w.node.Count() > 1 {
		rate = usualRate
	}
	w.head = head
	w.growth.noteHead(head.Number, rate, w.now())
	w.knownBlocks = slices.Concat(kept, step.Blocks)
	if n := len(w.knownBlocks); n > rememberedBlocks {
		w.knownBlocks = slices.Clone(w.knownBlocks[n-rememberedBlocks:])
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.status.Head, w.status.Read, w.status.Final = head.Number, to, step.Final
	if forked {
		w.status.Reorgs++
		w.status.Deepest = max(w.status.Deepest, depth)
		w.log.Info("chain reorganization", "from", step.Keep+1, "depth", depth)
	}
}

// noteStatus records the end of a poll in the status.
func (w *Watcher) noteStatus(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.status.Node, w.status.Error = w.node.Name(), ""
	if err != nil {
		w.status.Error = err.Error()
		return
	}
	// A successful poll of a node that does not advance says nothing about the
	// unconfirmed head of another node.
	if err := w.unconfirmed.lastingError(w.now()); err != nil {
		w.status.Error = err.Error()
	}
	w.status.At = time.Now()
}
