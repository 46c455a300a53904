package audit

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Options of a Journal. Dir and Node are needed.
type Options struct {
	Dir      string        // of the segments
	HeadsDir string        // of signed heads, checkpoints and the signing key; default: heads beside Dir
	Node     string        // names the chain: letters, digits, dot, dash, underscore
	Strict   bool          // Append waits for the disk
	Keep     time.Duration // how long closed segments are kept; 0 is for ever
	Recent   int           // how many calls are kept in memory for Calls; default 1000
	Ship     Shipper       // where records are copied to; nil is nowhere. A Witness is asked, too, how far the chain was

	// Restored says that the journal came from a backup, and of when: the first
	// thing on record. "" for a journal that goes on.
	Restored string

	SegmentBytes int64         // a segment closes at this size; default 64 MiB
	HeadEvery    time.Duration // how often a head is signed when there is something new; default 5 s
	HeadRecords  uint64        // a head is signed after this many records at the latest; default 10000

	Now    func() time.Time
	Logger *slog.Logger

	openSegment func(path string, fresh bool) (segmentFile, error) // tests put faults in here
}

// segmentFile is what the journal needs of a segment that it writes.
type segmentFile interface {
	io.ReaderAt
	io.WriterAt
	Truncate(size int64) error
	Sync() error
	Close() error
}

// openSegmentFile opens a segment for writing. A fresh one must not exist.
func openSegmentFile(path string, fresh bool) (segmentFile, error) {
	flags := os.O_RDWR
	if fresh {
		flags |= os.O_CREATE | os.O_EXCL
	}
	return os.OpenFile(path, flags, 0o600)
}

// Journal is the durable record of one node's calls. All methods may be called
// from any goroutine.
type Journal struct {
	options    Options
	recent     *Recent
	signingKey ed25519.PrivateKey
	folderLock io.Closer

	recordPool sync.Pool  // of *note
	writeQueue writeQueue // of callers: one writes

	mu               sync.Mutex // writing: chain order is lock order
	encoder          *encoder
	lineBuffer       []byte // of records that are written together
	file             segmentFile
	path             string
	offset           int64  // where the next line goes
	seq              uint64 // of the last record that was written
	prevHash         [sha256.Size]byte
	hasTornTail      bool         // bytes may lie behind off
	writeErr         error        // why the last write failed; nil when it did not
	lostStarts       int64        // records lost since err: starts, that is calls refused
	lostEnds         int64        // and ends and refusals
	lostEndsTotal    uint64       // ends and refusals lost since Open
	unsyncedSegments []fileExtent // closed segments that were not synced yet
	abandonReason    string       // why the segment must be left
	nextRollAttempt  time.Time
	problems         problems
	closed           bool

	flushGate         flushGate // and what follows: one flush at a time
	extentsToSync     []fileExtent
	rewriteBeforeSync bool       // a sync failed: what was to be synced must be written again
	syncedExtent      fileExtent // what is synced of the segment that was synced last

	syncedSeq atomic.Uint64 // up to this record all is on disk

	headMu         sync.Mutex // one head at a time
	head           Head       // the last that was written
	headSignedHere bool       // head is of this process
	// replaceKept says that the head that the witness keeps does not hold.
	replaceKept bool
	checkpoints []Checkpoint

	compareMu  sync.Mutex // one late comparison at a time
	uncompared bool       // the witness could not be asked when the journal was opened
	resumedAt  uint64     // where the journal ended then

	headSeq       atomic.Uint64 // of head, for State
	checkpointSeq atomic.Uint64 // the last of cps, for State

	shippedSeq    atomic.Uint64
	shippedKnown  atomic.Bool // the copy has told how far it is
	shipWake      chan struct{}
	headRequested chan struct{}
	headSigned    chan struct{}   // a head is there that the witness may keep
	lifeCtx       context.Context // of the goroutines: from Open to Close
	cancelLife    context.CancelFunc
	goroutines    sync.WaitGroup
}

// Open opens the journal of a node, or begins one. It repairs what a crash can
// leave, and goes on after what a crash cannot have done in a new segment that
// says so; State tells. Close it.
func Open(ctx context.Context, o Options) (*Journal, error) {
	o, err := o.validateWithDefaults()
	if err != nil {
		return nil, err
	}
	for _, dir := range []string{o.Dir, o.HeadsDir} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, openError(o.Dir, err)
		}
	}
	lock, held, err := lockFile(filepath.Join(o.Dir, "lock"))
	switch {
	case held:
		return nil, &junctor.Error{
			Code: junctor.CodeConflict, Cause: err,
			Message: "the journal in " + o.Dir + " is in use by another process: stop that one, or give this one a data directory of its own",
		}
	case err != nil:
		return nil, openError(o.Dir, err)
	}
	j := &Journal{
		options: o, recent: NewRecent(o.Recent), folderLock: lock, encoder: newEncoder(o.Node),
		shipWake: make(chan struct{}, 1), headRequested: make(chan struct{}, 1), headSigned: make(chan struct{}, 1),
	}
	j.lifeCtx, j.cancelLife = context.WithCancel(context.WithoutCancel(ctx))
	j.flushGate.idle.L = &j.flushGate.mu
	if err := j.loadAndSign(ctx); err != nil {
		j.cancelLife()
		if j.file != nil {
			j.file.Close()
		}
		lock.Close()
		return nil, openError(o.Dir, err)
	}
	j.goroutines.Go(j.runMaintenance)
	if o.Ship != nil {
		j.goroutines.Go(j.shipRecords)
	}
	if j.asWitness() != nil {
		j.goroutines.Go(j.keepHeads)
	}
	return j, nil
}

func (j *Journal) loadAndSign(ctx context.Context) (err error) {
	if j.signingKey, err = loadSigningKey(j.options.HeadsDir); err != nil {
		return err
	}
	if err := j.resumeChain(ctx); err != nil {
		return err
	}
	if j.options.Restored != "" {
		j.encoder.beginRecord(j.seq+1, j.options.Now(), PhaseRestore)
		j.encoder.addText("reason", j.options.Restored, maxReason)
		if err := j.writeEncoded(); err != nil {
			return err
		}
	}
	syncDir(j.options.Dir)
	if err := j.loadRecentCalls(ctx); err != nil {
		j.options.Logger.Warn("the newest calls could not be read from the journal", "error", err)
	}
	// From here on a head exists, so that a missing one means something.
	return j.signHead(false)
}

func (o Options) validateWithDefaults() (Options, error) {
	if o.Dir == "" {
		return o, junctor.Errorf(junctor.CodeInvalid, "the journal needs a folder")
	}
	if !isValidNode(o.Node) {
		return o, junctor.Errorf(junctor.CodeInvalid, "%q cannot name a node: use up to 64 letters, digits, dots, dashes and underscores", o.Node)
	}
	o.HeadsDir = resolveHeadsDir(o.Dir, o.HeadsDir)
	if o.SegmentBytes <= 0 {
		o.SegmentBytes = 64 << 20
	}
	if o.HeadEvery <= 0 {
		o.HeadEvery = 5 * time.Second
	}
	if o.HeadRecords == 0 {
		o.HeadRecords = 10_000
	}
	if o.Recent <= 0 {
		o.Recent = 1000
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.openSegment == nil {
		o.openSegment = openSegmentFile
	}
	return o, nil
}

// isValidNode says whether a name is good for files and needs no escape in JSON.
func isValidNode(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' && (c != '.' || i == 0) {
			return false
		}
	}
	return s != "" && len(s) <= 64
}

func resolveHeadsDir(dir, heads string) string {
	if heads != "" {
		return heads
	}
	return filepath.Join(filepath.Dir(filepath.Clean(dir)), "heads")
}

func openError(dir string, err error) error {
	return &junctor.Error{
		Code: junctor.CodeUnavailable, Cause: err,
		Message: "the journal in " + dir + " cannot be opened: " + err.Error(),
	}
}

// Append records the beginning or the end of a call, or a refusal. When it
// returns nil the record survives the death of the process, and in strict mode
// a power cut. An error is CodeUnavailable: nothing was recorded, or, in strict
// mode, not safely. Every Append tries again by itself.
func (j *Journal) Append(ctx context.Context, c *junctor.Call) error {
	n, ok := j.recordPool.Get().(*pendingRecord)
	if !ok {
		n = &pendingRecord{written: make(chan bool, 1)}
	}
	n.call, n.body.buf = c, n.body.buf[:0]
	n.body.addCall(c) // by now, since the journal is shared
	j.writeRecord(n)
	seq, err := n.seq, n.err
	n.call = nil
	j.recordPool.Put(n)
	if err == nil && j.options.Strict {
		err = j.waitSynced(seq)
	}
	// A call that is refused for this has not begun. What has ended is shown,
	// recorded or not.
	if err == nil || c.Status != junctor.StatusRunning {
		_ = j.recent.Append(ctx, c) // it cannot fail
	}
	return err
}

// Calls gives matching calls of the newest, newest first, and the number to
// continue before; 0 when there are no more.
func (j *Journal) Calls(q Query) (calls []junctor.Call, next string) { return j.recent.Calls(q) }

// Close ships what can be shipped before ctx ends, signs the last head and
// gives the folder free.
func (j *Journal) Close(ctx context.Context) error {
	j.mu.Lock()
	if j.closed {
		j.mu.Unlock()
		return nil
	}
	j.closed = true
	j.mu.Unlock()
	j.cancelLife()
	j.goroutines.Wait()
	if j.options.Ship != nil {
		j.shipRemaining(ctx)
	}
	j.mu.Lock()
	if j.hasTornTail {
		j.hasTornTail = j.file.Truncate(j.offset) != nil
	}
	whole := !j.hasTornTail
	j.mu.Unlock()
	err := j.signHead(whole) // half a line at the end is not closed in order
	// Comparing now could add to a journal that is closed. The next start compares.
	if err == nil && !j.isUncompared() {
		j.keepHead(ctx)
	}
	if cerr := j.file.Close(); err == nil {
		err = cerr
	}
	if cerr := j.folderLock.Close(); err == nil {
		err = cerr
	}
	return err
}
