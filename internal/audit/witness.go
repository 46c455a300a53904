package audit

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"
)

// Witness is a Shipper that also remembers how far a replica's chain was, outside
// the journal's own folders. An attacker who replaces segments and heads with an
// older copy does not reach it, so the journal and Verify ask it.
//
// A witness never knows more than the journal has on disk: a head is kept, and a
// record is copied, only after the sync that covers it. So neither kill -9 nor a
// power cut makes it look as if records were missing.
type Witness interface {
	// Known returns the last record that the copy has of a replica, and the highest
	// head that was kept.
	LoadKnown(ctx context.Context, replica string) (KnownChain, error)
	// KeepHead keeps a head, unless it keeps a higher one of the same replica. With
	// replace it keeps the head in any case, because the kept one is invalid.
	KeepHead(ctx context.Context, head Head, replace bool) error
}

// KnownChain describes what a Witness knows of a replica's chain.
type KnownChain struct {
	// Number of the last record of the copy; 0 for none.
	CopiedSeq  uint64
	CopiedHash string // its hash
	Head       *Head  // the highest head; nil for none
}

// witnessTimeout bounds how long the journal waits for the witness.
const witnessTimeout = 10 * time.Second

// signedBy reports whether key signed the head, and the head is of the replica.
func (h *Head) signedBy(replica string, key ed25519.PublicKey) bool {
	return h.Replica == replica && len(key) == ed25519.PublicKeySize && ed25519.Verify(key, h.signedBytes(), h.Signature)
}

// highestRecord returns the last known record: its number, its hash and a
// description of the source that knows it.
func (k KnownChain) highestRecord() (seq uint64, hash [sha256.Size]byte, who string) {
	text := ""
	if k.CopiedSeq > 0 {
		seq, text, who = k.CopiedSeq, k.CopiedHash, "the copy in the database"
	}
	if h := k.Head; h != nil && h.Seq > seq {
		seq, text, who = h.Seq, h.Hash, "the highest signed head in the database"
	}
	parseHash(&hash, text) // an unreadable hash stays zero, and the comparison fails
	return seq, hash, who
}

// missingTail describes the known records that are missing from a journal that
// ends at last; "" for none.
func (k KnownChain) missingTail(last uint64) string {
	seq, _, who := k.highestRecord()
	if seq <= last {
		return ""
	}
	return fmt.Sprintf("records %d to %d were lost or removed: %s has record %d, the journal ends at %d", last+1, seq, who, seq, last)
}

// asWitness returns the witness that keeps the journal's heads; nil if there is
// none.
func (j *Journal) asWitness() Witness {
	w, _ := j.options.Shipper.(Witness)
	return w
}

// loadKnown asks the witness how far the chain was. If the witness is
// unreachable, the journal is written all the same: calls must be recorded during
// an outage of the database. compareLate then compares before the database
// receives anything from this journal.
func (j *Journal) loadKnown(ctx context.Context) (k KnownChain, problem string) {
	k, problem, err := j.askWitness(ctx)
	if err != nil {
		j.uncompared = true
		j.options.Logger.Warn("cannot read the journal's position from the database; retrying before records are copied", "error", err)
		return KnownChain{}, ""
	}
	return k, problem
}

// askWitness returns what the witness knows, without a head whose signature is
// invalid. Such a head is the problem.
func (j *Journal) askWitness(ctx context.Context) (k KnownChain, problem string, err error) {
	w := j.asWitness()
	if w == nil {
		return KnownChain{}, "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, witnessTimeout)
	defer cancel()
	if k, err = w.LoadKnown(ctx, j.options.Replica); err != nil {
		return KnownChain{}, "", err
	}
	if pub, _ := j.signingKey.Public().(ed25519.PublicKey); k.Head != nil && !k.Head.signedBy(j.options.Replica, pub) {
		k.Head = nil
		j.headMu.Lock()
		j.replaceKept = true
		j.headMu.Unlock()
		return k, "the highest head in the database is not signed by this journal's key", nil
	}
	return k, "", nil
}

// compareLate makes up for a comparison that failed when the journal was opened.
// It must succeed before the first record is copied and the first head is kept:
// both would overwrite the evidence that an older journal was put in place. An
// error means that it could not compare yet.
//
// The journal may have used numbers again meanwhile. It then continues above all
// known numbers, in a segment that says why, as it does if the comparison at the
// start fails; broke says so.
func (j *Journal) compareLate(ctx context.Context) (broke bool, err error) {
	j.compareMu.Lock()
	defer j.compareMu.Unlock()
	if !j.uncompared {
		return false, nil
	}
	k, problem, err := j.askWitness(ctx)
	if err != nil {
		return false, fmt.Errorf("the journal was not yet compared with the database: %w", err)
	}
	if problem == "" {
		// This process has copied and kept nothing yet, so all known records are older.
		problem = k.missingTail(j.resumedAt)
	}
	if problem == "" {
		if problem, err = j.compareRecords(k, nil); err != nil {
			return false, err
		}
	}
	if problem != "" {
		if err := j.breakAbove(k, problem); err != nil {
			return false, err
		}
	}
	j.uncompared = false
	return problem != "", nil
}

// isUncompared reports whether compareLate still has to compare.
func (j *Journal) isUncompared() bool {
	j.compareMu.Lock()
	defer j.compareMu.Unlock()
	return j.uncompared
}

// breakAbove begins a segment that describes the problem, above all known
// numbers.
func (j *Journal) breakAbove(k KnownChain, problem string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	seq, prev := j.seq, j.prevHash
	if known, hash, _ := k.highestRecord(); known > j.seq {
		j.seq, j.prevHash = known, hash
	}
	if err := j.beginSegment(j.options.Now(), problem); err != nil {
		j.seq, j.prevHash = seq, prev
		return err
	}
	return nil
}

// compareRecords compares the records that the witness knows with the journal's
// own, if the journal still has them. seen holds the numbers that were compared
// already.
func (j *Journal) compareRecords(k KnownChain, seen map[uint64]string) (problem string, err error) {
	for seq, want := range k.hashesBySeq() {
		if _, ok := seen[seq]; ok {
			continue
		}
		t := &recordTail{dir: j.options.Dir, nextSeq: seq}
		mine, err := t.readBatch(seq, 1)
		t.close()
		if err != nil {
			return "", err
		}
		if len(mine) == 1 && mine[0].Seq == seq && mine[0].Hash != want {
			return describeReplacedRecord(seq), nil
		}
	}
	return "", nil
}

// describeReplacedRecord says that the journal and the database have different
// records with this number.
func describeReplacedRecord(seq uint64) string {
	return fmt.Sprintf("record %d is not the one that the database knows: it, or one before it, was replaced", seq)
}

// compareKnown compares the end of the journal with the records that the witness
// knows.
func (e *segmentEnd) compareKnown(k KnownChain, hashes map[uint64]string) string {
	if missing := k.missingTail(e.seq); missing != "" {
		return missing
	}
	for seq, want := range k.hashesBySeq() {
		if got, ok := hashes[seq]; ok && got != want {
			return describeReplacedRecord(seq)
		}
	}
	return ""
}

// hashesBySeq returns the hashes of the known records, by number.
func (k KnownChain) hashesBySeq() map[uint64]string {
	all := map[uint64]string{}
	if k.CopiedSeq > 0 {
		all[k.CopiedSeq] = k.CopiedHash
	}
	if k.Head != nil {
		all[k.Head.Seq] = k.Head.Hash
	}
	return all
}

// keepHeads gives signed heads to the witness until the journal is closed. No
// call waits for that, nor does the next head.
func (j *Journal) keepHeads() {
	for {
		select {
		case <-j.lifeCtx.Done():
			return
		case <-j.headSigned:
			j.keepHead(j.lifeCtx)
		}
	}
}

// keepHead gives the last head to the witness, once the journal was compared with
// it.
func (j *Journal) keepHead(ctx context.Context) {
	w := j.asWitness()
	if w == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, witnessTimeout)
	defer cancel()
	broke, err := j.compareLate(ctx)
	if broke {
		// The next head covers the break and replaces the one that is kept.
		signalChannel(j.headRequested)
		return
	}
	j.headMu.Lock()
	head := j.head
	replace := j.replaceKept
	j.headMu.Unlock()
	if err == nil {
		err = w.KeepHead(ctx, head, replace)
	}
	if j.lifeCtx.Err() != nil && ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return // the journal is being closed, and Close keeps its last head
	}
	if err == nil && replace {
		j.headMu.Lock()
		j.replaceKept = false
		j.headMu.Unlock()
	}
	if j.setProblem(problemWitness, err) && err != nil {
		j.options.Logger.Warn("cannot store the journal's signed head in the database; retrying with the next one", "error", err)
	}
}
