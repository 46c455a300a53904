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

// Options configure a Journal. Dir and Replica are required; every other field has a
// usable zero value.
type Options struct {
	Dir string // folder of the segments
	// Folder of signed heads, checkpoints and the signing key; default: heads
	// beside Dir.
	HeadsDir string
	// Names the chain: letters, digits, dot, dash, underscore.
	Replica string
	// Append waits until the record is on disk.
	Strict bool
	// How long closed segments are kept; 0 keeps them for ever.
	Retention time.Duration
	// How many calls Calls can list from memory; default 1000.
	RecentCalls int
	// Receives a copy of the records; nil for no copy. A Witness is also asked
	// how far the chain was.
	Shipper Shipper

	// Restored describes the backup that the journal was restored from. If it is
	// not empty, Open records it.
	RestoredFrom string

	// A segment closes at this size; default 64 MiB.
	SegmentBytes int64
	// How often a head is signed while records arrive; default 5 s.
	HeadInterval time.Duration
	// A head is signed after this many records at the latest; default 10000.
	HeadRecords uint64

	Now    func() time.Time
	Logger *slog.Logger

	openSegment func(path string, fresh bool) (segmentFile, error) // tests inject faults here
}

// segmentFile is the part of os.File that the journal uses to write a segment.
type segmentFile interface {
	io.ReaderAt
	io.WriterAt
	Truncate(size int64) error
	Sync() error
	Close() error
}

// openSegmentFile opens a segment for writing. If fresh is set, the file must not
// exist yet.
func openSegmentFile(path string, fresh bool) (segmentFile, error) {
	flags := os.O_RDWR
	if fresh {
		flags |= os.O_CREATE | os.O_EXCL
	}
	return os.OpenFile(path, flags, 0o600)
}

// Journal is the durable record of one replica's calls. All methods may be called
// from any goroutine.
//
// The journal refuses rather than loses: while a record cannot be written, Append
// returns an error and the pipeline refuses the call. Every failure of writing is
// temporary. The next Append, or the maintenance goroutine, tries again, and a
// PhaseLost record then says how many records are missing.
type Journal struct {
	options    Options
	recent     *RecentCalls
	signingKey ed25519.PrivateKey
	folderLock io.Closer

	recordPool sync.Pool // of *pendingRecord
	// Elects the caller that writes for all others.
	writeQueue writeQueue

	// Guards the fields below, up to closed; the order of the chain is the order
	// of this lock.
	mu         sync.Mutex
	encoder    *encoder
	lineBuffer []byte // lines that are written together
	file       segmentFile
	path       string // of file
	offset     int64  // where the next line goes
	// Number of the last record that was written.
	seq uint64
	// Hash of the last record that was written.
	prevHash [sha256.Size]byte
	// Bytes of a failed write may follow offset.
	hasTornTail bool
	// Why the last write failed; nil if it succeeded.
	writeErr error
	// Starts lost since writeErr was set: calls that were refused.
	lostStarts int64
	// Ends and refusals lost since writeErr was set.
	lostEnds      int64
	lostEndsTotal uint64 // ends and refusals lost since Open
	// Closed segments that were not synced yet.
	unsyncedSegments []fileExtent
	// Why the current segment must not be written any more; "" if it may.
	abandonReason string
	// When to try again after a new segment could not be begun.
	nextRollAttempt time.Time
	problems        problems
	closed          bool

	// Guards the fields below, up to syncedExtent: one flush runs at a time.
	flushGate flushGate
	// Of the running flush; kept to reuse its memory.
	extentsToSync []fileExtent
	// A sync failed: the unsynced bytes must be written again first.
	rewriteBeforeSync bool
	// The part on disk of the segment that was synced last.
	syncedExtent fileExtent

	// All records up to this one are on disk.
	syncedSeq atomic.Uint64

	// Guards the fields below, up to checkpoints: one head is signed at a time.
	headMu         sync.Mutex
	head           Head // the last head that was written
	headSignedHere bool // this process signed head
	// replaceKept says that the signature of the head that the witness keeps is
	// invalid, so the next head must replace it even if its number is lower.
	replaceKept bool
	checkpoints []Checkpoint

	// Guards the fields below, up to resumedAt: one late comparison runs at a
	// time.
	compareMu sync.Mutex
	// The witness was not reachable when the journal was opened.
	uncompared bool
	// Number of the last record when the journal was opened.
	resumedAt uint64

	headSeq atomic.Uint64 // number of head, for State
	// Number of the last checkpoint, for State.
	checkpointSeq atomic.Uint64

	// Number of the last record that the copy has.
	shippedSeq atomic.Uint64
	// The copy has answered, so shippedSeq is true.
	shippedKnown  atomic.Bool
	shipWake      chan struct{} // there are records to copy
	feed          callFeed      // ended calls for a follower
	headRequested chan struct{} // a head should be signed now
	// There is a head for the witness to keep.
	headSigned chan struct{}
	// Context of the goroutines: ends with Close.
	lifeCtx    context.Context
	cancelLife context.CancelFunc
	goroutines sync.WaitGroup
}

// Open opens the journal of a replica, or creates one. The caller must call Close.
//
// Open takes a lock on the folder. If another process holds it, the error has the
// code CodeConflict; every other error has CodeUnavailable or, for invalid
// options, CodeInvalid. Open repairs the damage that a crash can leave. If it
// finds damage that a crash cannot explain, it continues in a new segment whose
// first record says why, and State reports it.
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
		options: o, recent: NewRecentCalls(o.RecentCalls), folderLock: lock, encoder: newEncoder(o.Replica),
		feed: callFeed{halfFull: make(chan struct{}, 1)}, shipWake: make(chan struct{}, 1), headRequested: make(chan struct{}, 1), headSigned: make(chan struct{}, 1),
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
	if o.Shipper != nil {
		j.goroutines.Go(j.shipRecords)
	}
	if j.asWitness() != nil {
		j.goroutines.Go(j.keepHeads)
	}
	return j, nil
}

// loadAndSign reads the signing key, resumes the chain and signs a first head. It
// runs before any other goroutine knows the journal.
func (j *Journal) loadAndSign(ctx context.Context) (err error) {
	if j.signingKey, err = loadSigningKey(j.options.HeadsDir); err != nil {
		return err
	}
	if err := j.resumeChain(ctx); err != nil {
		return err
	}
	if j.options.RestoredFrom != "" {
		j.encoder.beginRecord(j.seq+1, j.options.Now(), PhaseRestore)
		j.encoder.addText("reason", j.options.RestoredFrom, maxReason)
		if err := j.writeEncoded(); err != nil {
			return err
		}
	}
	syncDir(j.options.Dir)
	if err := j.loadRecentCalls(ctx); err != nil {
		j.options.Logger.Warn("cannot read the newest calls from the journal", "error", err)
	}
	// From here on a head always exists, so a missing one is evidence that it was removed.
	return j.signHead(false)
}

// validateWithDefaults returns the options with the default of every empty field,
// or CodeInvalid.
func (o Options) validateWithDefaults() (Options, error) {
	if o.Dir == "" {
		return o, junctor.Errorf(junctor.CodeInvalid, "the journal requires a directory")
	}
	if !isValidReplica(o.Replica) {
		return o, junctor.Errorf(junctor.CodeInvalid, "%q is not a valid replica name: use up to 64 letters, digits, dots, dashes and underscores", o.Replica)
	}
	o.HeadsDir = resolveHeadsDir(o.Dir, o.HeadsDir)
	if o.SegmentBytes <= 0 {
		o.SegmentBytes = 64 << 20
	}
	if o.HeadInterval <= 0 {
		o.HeadInterval = 5 * time.Second
	}
	if o.HeadRecords == 0 {
		o.HeadRecords = 10_000
	}
	if o.RecentCalls <= 0 {
		// More than wait to be written to the history: a call that is no longer here is
		// there.
		o.RecentCalls = 1536
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

// isValidReplica reports whether a replica's name can be part of a file name and needs
// no escape in JSON.
func isValidReplica(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' && (c != '.' || i == 0) {
			return false
		}
	}
	return s != "" && len(s) <= 64
}

// resolveHeadsDir returns the folder of the heads: heads if it is set, otherwise
// the folder "heads" beside the journal's.
func resolveHeadsDir(dir, heads string) string {
	if heads != "" {
		return heads
	}
	return filepath.Join(filepath.Dir(filepath.Clean(dir)), "heads")
}

// openError wraps the reason why the journal in dir could not be opened.
func openError(dir string, err error) error {
	return &junctor.Error{
		Code: junctor.CodeUnavailable, Cause: err,
		Message: "the journal in " + dir + " cannot be opened: " + err.Error(),
	}
}

// Append records the start or the end of a call, or a refusal. If it returns nil,
// the record survives the death of the process, and in strict mode a power cut.
// Every error has the code CodeUnavailable: the record was not written or, in
// strict mode, may not be on disk. A later Append tries again by itself.
func (j *Journal) Append(ctx context.Context, c *junctor.Call) error {
	n, ok := j.recordPool.Get().(*pendingRecord)
	if !ok {
		n = &pendingRecord{written: make(chan bool, 1)}
	}
	n.call, n.body.buf = c, n.body.buf[:0]
	n.body.addCall(c) // before the queue, since the journal is shared
	j.writeRecord(n)
	seq, err := n.seq, n.err
	n.call = nil
	j.recordPool.Put(n)
	if err == nil && j.options.Strict && c.Kind != junctor.KindToolList { // nothing depends on the record of a list
		err = j.waitSynced(seq)
	}
	// A start that was not recorded is refused, so the call never runs and is not
	// listed. A call that ended is listed in any case.
	if err == nil || c.Status != junctor.StatusRunning {
		_ = j.recent.Append(ctx, c) // it cannot fail
	}
	return err
}

// Calls returns the matching calls among the newest, newest first. next is the id
// to continue after; it is "" if there are no more.
func (j *Journal) Calls(q Query) (calls []junctor.Call, more bool) { return j.recent.Calls(q) }

// Close stops the goroutines, ships the remaining records until ctx ends, signs
// the last head and releases the folder. Later calls of Close do nothing, and
// later Appends fail.
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
	if j.options.Shipper != nil {
		j.shipRemaining(ctx)
	}
	j.mu.Lock()
	if j.hasTornTail {
		j.hasTornTail = j.file.Truncate(j.offset) != nil
	}
	whole := !j.hasTornTail
	j.mu.Unlock()
	err := j.signHead(whole) // with a torn tail the journal is not closed properly
	// A comparison could add a record to the closed journal. The next start compares.
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
