package erc8004

import (
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
	remembered   = 256 // blocks that a fork is looked for in
	widest       = 5_000
	maxPause     = time.Minute
	lookTimeout  = 2 * time.Minute
	defaultPause = 2 * time.Second
	idlePause    = time.Second // until it is asked again whose turn it is
)

// Chain is what is followed.
type Chain struct {
	ID            uint64
	Registries    []Registry
	Start         uint64        // the first block that is read
	Confirmations uint64        // blocks on top of one before its events count
	Finalized     bool          // instead: events count when the chain calls their block final
	Pause         time.Duration // between two looks; 0 is two seconds
}

// Registry is one identity registry and those that speak of its agents. A log of
// a reputation or validation registry does not say whose agents it means, so the
// operator pairs them.
type Registry struct {
	Identity   Address
	Reputation Address // zero: none
	Validation Address // zero: none
}

// contracts are all addresses to listen to.
func (c Chain) contracts() []Address {
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

// identity is the registry whose agents a contract speaks of.
func (c Chain) identity(contract Address) (Address, bool) {
	for _, r := range c.Registries {
		if contract == r.Identity || contract == r.Reputation || contract == r.Validation {
			return r.Identity, true
		}
	}
	return Address{}, false
}

// fits says whether a contract is the one that emits such events: a stranger's
// contract cannot be among them, but one registry's events from another's
// address mean nothing.
func (c Chain) fits(contract Address, k Kind) bool {
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

// Seen is an event where it was seen.
type Seen struct {
	Event
	Chain       uint64  `json:"chain"`
	Registry    Address `json:"registry"` // the identity registry of the agent
	Contract    Address `json:"contract"`
	Block       uint64  `json:"block"`
	BlockHash   Word    `json:"block_hash"`
	Transaction Word    `json:"transaction"`
	LogIndex    uint64  `json:"log_index"`
	Time        uint64  `json:"time,omitempty"` // of the block, where it is known
}

// Step is one step along the chain, to be taken whole or not at all.
type Step struct {
	Chain  uint64
	After  Block  // the newest that was remembered when it was begun; zero: none
	Keep   uint64 // what stands above this block is no longer part of the chain
	Forked bool   // whether anything may stand there
	// Rewound says that blocks above Keep are forgotten so that they are read again.
	// Their events stay as they are until the blocks were read.
	Rewound  bool
	From, To uint64  // the blocks that were read, both ends included; none where From is greater
	Blocks   []Block // to be remembered, oldest first
	Events   []Seen  // of the blocks above Keep, in the chain's order
	Final    uint64  // events up to this block count from now on
}

// Ledger remembers where a chain was read to, and what was read.
type Ledger interface {
	// Blocks are the newest that were remembered, oldest first, at most limit.
	Blocks(ctx context.Context, chain uint64, limit int) ([]Block, error)
	// Take takes a step in one transaction, or refuses it: where After is not the
	// newest block, somebody else has gone on. Events that stood above Keep are
	// orphaned: those that counted already are retracted; where Rewound is set, only
	// those that are not found again between From and To. An event that is there (by its chain, block hash and log index) is not added again. Events up to
	// Final that did not count yet do from now on, in the chain's order.
	Take(ctx context.Context, step Step) error
}

// source is what a watcher asks of a node.
type source interface {
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

// Status is how a watcher is doing.
type Status struct {
	Head    uint64    `json:"head"`  // the newest block that the node told of
	Read    uint64    `json:"read"`  // the newest that was read
	Final   uint64    `json:"final"` // the newest whose events count
	Reorgs  uint64    `json:"reorgs"`
	Deepest uint64    `json:"deepest_reorg"`
	Skipped uint64    `json:"skipped_logs"` // malformed, or from a contract that does not emit such events
	Node    string    `json:"node"`
	Error   string    `json:"error,omitempty"`
	At      time.Time `json:"at"` // of the last look that went well
}

// Watcher follows one chain.
type Watcher struct {
	chain   Chain
	node    source
	ledger  Ledger
	decoder *Decoder
	log     *slog.Logger
	turn    func() bool // whether the chain is this watcher's to follow now; nil is always
	now     func() time.Time

	checked  bool // the node follows the chain that it should
	loaded   bool
	known    []Block // oldest first
	width    uint64
	head     Block         // the newest that was believed
	behind   behind        // nodes that do not know what was read
	patience time.Duration // that the other nodes have to answer
	growth   growth        // how far one node alone may move the head

	unconfirmed doubt     // a head that no other node knows
	misplaced   doubt     // the block that was read, which no other node knows
	placeDue    time.Time // when the others are next asked for it

	mu     sync.Mutex
	status Status
}

// NewWatcher makes a watcher; Run makes it follow. turn says whether the chain is
// its to follow now: of several that share a ledger, one does at a time.
func NewWatcher(chain Chain, node *Node, ledger Ledger, turn func() bool, log *slog.Logger) *Watcher {
	w := newWatcher(chain, node, ledger, log)
	w.turn = turn
	return w
}

func newWatcher(chain Chain, node source, ledger Ledger, log *slog.Logger) *Watcher {
	return &Watcher{chain: chain, node: node, ledger: ledger, decoder: NewDecoder(), log: log.With("chain", chain.ID), now: time.Now, width: widest, patience: witnessTimeout}
}

// Status tells how it is doing.
func (w *Watcher) Status() Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.status
}

// Run follows the chain until ctx ends. What fails is tried again, with the next
// node and longer pauses. While it is another's turn nothing is asked of a node.
func (w *Watcher) Run(ctx context.Context) {
	usual := w.chain.Pause
	if usual <= 0 {
		usual = defaultPause
	}
	pause := usual
	for ctx.Err() == nil {
		if w.turn != nil && !w.turn() {
			w.idle(ctx)
			if !rest(ctx, min(usual, idlePause)) {
				return
			}
			continue
		}
		more, err := w.look(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, errChanged), errors.Is(err, errWide):
			w.log.DebugContext(ctx, "a look at the chain is repeated", "err", err)
			pause = min(usual, 100*time.Millisecond)
		case err != nil:
			w.log.WarnContext(ctx, "a look at the chain failed", "node", w.node.Name(), "err", err)
			w.node.Next()
			w.checked = false
			pause = min(2*pause, maxPause)
		case more:
			pause = usual
			continue
		default:
			pause = usual
		}
		if !rest(ctx, pause) {
			return
		}
	}
}

// rest lets a while pass; false where ctx ends before.
func rest(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// idle tells how far somebody else has read, and forgets what was known: it goes
// on from there when its turn comes.
func (w *Watcher) idle(ctx context.Context) {
	w.loaded, w.checked = false, false
	w.head, w.behind, w.growth = Block{}, behind{}, growth{}
	w.unconfirmed, w.misplaced, w.placeDue = doubt{}, doubt{}, time.Time{}
	known, err := w.ledger.Blocks(ctx, w.chain.ID, 1)
	if err != nil || len(known) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.status.Read = known[0].Number
	w.status.Head, w.status.Node, w.status.Error = w.status.Read, "", ""
}

// look takes one step. more says that the chain goes on beyond it.
func (w *Watcher) look(ctx context.Context) (more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	defer func() { w.note(err); w.behind.note(err) }()
	if err := w.prepare(ctx); err != nil {
		return false, err
	}
	head, err := w.node.Head(ctx)
	if err != nil {
		return false, err
	}
	if head, err = w.believe(ctx, head); err != nil {
		return false, err
	}
	step := Step{Chain: w.chain.ID}
	kept, err := w.fork(ctx, head, &step)
	if err != nil {
		return false, err
	}
	if n := len(w.known); n > 0 {
		step.After = w.known[n-1]
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
	if head.Number >= from {
		to = min(head.Number, from+w.width-1)
		step.To = to
		if err := w.read(ctx, &step, from, to); err != nil {
			return false, err
		}
	}
	if step.Final, err = w.final(ctx, head, to); err != nil {
		return false, err
	}
	// What counts was counted from the head: it must still be part of the chain.
	if still, err := w.node.At(ctx, head.Number); err != nil {
		return false, err
	} else if still == nil || still.Hash != head.Hash {
		return false, errChanged
	}
	if err := w.ledger.Take(ctx, step); err != nil {
		// What was taken is unknown: the ledger is asked again.
		w.loaded = false
		return false, fmt.Errorf("ledger: %w", err)
	}
	w.taken(step, kept, head, to)
	return to < head.Number, nil
}

// prepare makes sure of the chain, and reads what is remembered.
func (w *Watcher) prepare(ctx context.Context) error {
	if !w.checked {
		id, err := w.node.Chain(ctx)
		if err != nil {
			return err
		}
		if id != w.chain.ID {
			return fmt.Errorf("the node follows chain %d, not %d: change the URL or the number", id, w.chain.ID)
		}
		if err := w.pairs(ctx); err != nil {
			return err
		}
		w.checked = true
	}
	if !w.loaded {
		known, err := w.ledger.Blocks(ctx, w.chain.ID, remembered)
		if err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
		w.known, w.loaded = known, true
	}
	return nil
}

// pairs asks the registries whose agents they speak of. The first versions do
// not say; what they would say wrongly is an error of the settings.
func (w *Watcher) pairs(ctx context.Context) error {
	for _, r := range w.chain.Registries {
		for _, at := range []Address{r.Reputation, r.Validation} {
			if at.IsZero() {
				continue
			}
			is, err := w.node.IdentityOf(ctx, at)
			if _, silent := errors.AsType[*NodeError](err); silent || errors.Is(err, errShort) {
				w.log.Debug("a registry does not say whose agents it speaks of", "registry", at)
				continue
			}
			if err != nil {
				return err
			}
			if is != r.Identity {
				return fmt.Errorf("the registry %s speaks of the agents of %s, not of %s: change the pair", at, is, r.Identity)
			}
		}
	}
	return nil
}

// fork gives the remembered blocks that are still part of the chain, and notes in
// the step what becomes of the others. What stands above the head says nothing: a
// node that lags behind has no block there yet, and the chain is waited for rather
// than taken back, for a while.
func (w *Watcher) fork(ctx context.Context, head Block, step *Step) (kept []Block, err error) {
	kept = w.known
	for len(kept) > 0 && kept[len(kept)-1].Number > head.Number {
		kept = kept[:len(kept)-1]
	}
	above := len(kept) < len(w.known)
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
		// Where the fork began is not remembered: blocks are read again from the start,
		// and only what is not found again is taken back.
		step.Forked, step.Rewound = false, true
	case step.Forked:
		return kept, w.witnessFork(ctx, head, kept)
	case above:
		if err := w.behind.wait(w.now(), w.node.Count(), head.Number, w.known[len(w.known)-1].Number); err != nil {
			return nil, err
		}
		w.log.WarnContext(ctx, "no node knows the block that the chain was read to: it is read again from where they are", "read", w.known[len(w.known)-1].Number, "head", head.Number)
		step.Rewound = true
		return w.agreed(ctx, kept), nil
	}
	return kept, nil
}

// read fills a step with what a range of blocks holds. The range's last block is
// looked at before and after: if it stayed, so did everything below it, and the
// logs between are of one chain.
func (w *Watcher) read(ctx context.Context, step *Step, from, to uint64) error {
	before, err := w.node.At(ctx, to)
	if err != nil {
		return err
	}
	if before == nil {
		return errChanged
	}
	logs, err := w.node.Logs(ctx, from, to, w.chain.contracts(), w.decoder.Topics())
	var fault *NodeError
	if errors.As(err, &fault) && fault.tooWide() && w.width > 1 && to > from {
		w.width = max(1, (to-from+1)/2)
		return fmt.Errorf("%w: %d blocks; %d are asked for next: %w", errWide, to-from+1, w.width, err)
	}
	if err != nil {
		return err
	}
	after, err := w.node.At(ctx, to)
	if err != nil {
		return err
	}
	if after == nil || after.Hash != before.Hash {
		return errChanged
	}
	w.decode(step, logs)
	if err := w.date(ctx, step, *after); err != nil {
		return err
	}
	step.Blocks = append(step.Blocks, *after)
	w.width = min(widest, w.width+w.width/4+1)
	return nil
}

// What is no fault of the node: the same is asked again.
var (
	errChanged = errors.New("the chain changed while it was read")
	errWide    = errors.New("the range is too wide for the node")
)

// date remembers the blocks that have events, gives the events their time, and
// makes sure that they are of the chain that last is the end of.
func (w *Watcher) date(ctx context.Context, step *Step, last Block) error {
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
					return errChanged
				}
				at = *b
				step.Blocks = append(step.Blocks, at)
			}
		}
		if at.Hash != e.BlockHash {
			return errChanged
		}
		step.Events[i].Time = at.Time
	}
	return nil
}

// decode adds what logs say, in the chain's order.
func (w *Watcher) decode(step *Step, logs []Log) {
	slices.SortStableFunc(logs, func(a, b Log) int {
		if a.Block != b.Block {
			return compare(a.Block, b.Block)
		}
		return compare(a.Index, b.Index)
	})
	for _, l := range logs {
		e, ok, err := w.decoder.Decode(l.Topics, l.Data)
		identity, ours := w.chain.identity(l.Address)
		if !ok || err != nil || !ours || !w.chain.fits(l.Address, e.Kind) {
			w.log.Warn("a log is not understood", "contract", l.Address, "transaction", l.Transaction, "index", l.Index, "err", err)
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

func compare(a, b uint64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// final is the newest block whose events count, of those that were read.
func (w *Watcher) final(ctx context.Context, head Block, read uint64) (uint64, error) {
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

// taken remembers a step that the ledger took.
func (w *Watcher) taken(step Step, kept []Block, head Block, to uint64) {
	var depth uint64
	forked := step.Forked || step.Rewound
	if n := len(w.known); forked && n > 0 && w.known[n-1].Number > step.Keep {
		depth = w.known[n-1].Number - step.Keep
	}
	rate := uint64(mostRate)
	if w.node.Count() > 1 {
		rate = usualRate
	}
	w.head = head
	w.growth.note(head.Number, rate, w.now())
	w.known = slices.Concat(kept, step.Blocks)
	if n := len(w.known); n > remembered {
		w.known = slices.Clone(w.known[n-remembered:])
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.status.Head, w.status.Read, w.status.Final = head.Number, to, step.Final
	if forked {
		w.status.Reorgs++
		w.status.Deepest = max(w.status.Deepest, depth)
		w.log.Info("the chain was reorganised", "from", step.Keep+1, "depth", depth)
	}
}

func (w *Watcher) note(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.status.Node, w.status.Error = w.node.Name(), ""
	if err != nil {
		w.status.Error = err.Error()
		return
	}
	// A look that goes well at a node which does not move says nothing of the head
	// that another node has and nobody confirms.
	if err := w.unconfirmed.lasting(w.now()); err != nil {
		w.status.Error = err.Error()
	}
	w.status.At = time.Now()
}
