package audit

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"
)

// Witness is a Shipper that also remembers how far a node's chain was, apart from
// the journal's own folders. Somebody who puts an older copy of segments and heads
// in their place does not reach it, so the journal and Verify ask it.
//
// A witness never knows more than the journal has on disk: a head is kept, and a
// record is copied, only after the sync that covers it. So neither kill -9 nor a
// power cut makes it look as if records were missing.
type Witness interface {
	// Known tells the last record that the copy has and the highest head that was
	// kept of a node.
	Known(ctx context.Context, node string) (Known, error)
	// KeepHead keeps a head unless a higher one of its node is kept. replace keeps
	// it whatever there is: what is there does not hold.
	KeepHead(ctx context.Context, head Head, replace bool) error
}

// Known is what a Witness knows of a node's chain.
type Known struct {
	Copied     uint64 // the last record of the copy; 0 is none
	CopiedHash string // its hash
	Head       *Head  // the highest head; nil is none
}

// witnessTimeout bounds how long the witness is waited for.
const witnessTimeout = 10 * time.Second

// signedBy says whether a node's key signed the head.
func (h *Head) signedBy(node string, key ed25519.PublicKey) bool {
	return h.Node == node && len(key) == ed25519.PublicKeySize && ed25519.Verify(key, h.signedBytes(), h.Signature)
}

// highestRecord is the last record that is known: its number, its hash and who knows it.
func (k Known) highestRecord() (seq uint64, hash [sha256.Size]byte, who string) {
	text := ""
	if k.Copied > 0 {
		seq, text, who = k.Copied, k.CopiedHash, "the copy in the database"
	}
	if h := k.Head; h != nil && h.Seq > seq {
		seq, text, who = h.Seq, h.Hash, "the highest signed head in the database"
	}
	parseHash(&hash, text) // one that cannot be read is told by who compares it
	return seq, hash, who
}

// missingTail says which records are known and not in a journal that ends at last;
// "" when none is missing.
func (k Known) missingTail(last uint64) string {
	seq, _, who := k.highestRecord()
	if seq <= last {
		return ""
	}
	return fmt.Sprintf("records %d to %d were lost or removed: %s has record %d, the journal ends at %d", last+1, seq, who, seq, last)
}

// asWitness is where the journal's heads are remembered; nil for nowhere.
func (j *Journal) asWitness() Witness {
	w, _ := j.options.Ship.(Witness)
	return w
}

// loadKnown asks the witness how far the chain was. Where it cannot be asked, the
// journal is written all the same: calls must be on record while a database is away.
// compareLate then compares before the database is told anything of this journal.
func (j *Journal) loadKnown(ctx context.Context) (k Known, problem string) {
	k, problem, err := j.askWitness(ctx)
	if err != nil {
		j.uncompared = true
		j.options.Logger.Warn("the database cannot say how far the journal was; it is asked again before records are copied or heads are kept", "error", err)
		return Known{}, ""
	}
	return k, problem
}

// askWitness gives what the witness knows, without a head that does not hold.
func (j *Journal) askWitness(ctx context.Context) (k Known, problem string, err error) {
	w := j.asWitness()
	if w == nil {
		return Known{}, "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, witnessTimeout)
	defer cancel()
	if k, err = w.Known(ctx, j.options.Node); err != nil {
		return Known{}, "", err
	}
	if pub, _ := j.signingKey.Public().(ed25519.PublicKey); k.Head != nil && !k.Head.signedBy(j.options.Node, pub) {
		k.Head = nil
		j.headMu.Lock()
		j.replaceKept = true
		j.headMu.Unlock()
		return k, "the highest head in the database is not signed by this journal's key", nil
	}
	return k, "", nil
}

// compareLate makes up for a recall that failed when the journal was opened, before
// the first record is copied and the first head is kept: both would hide what was
// known of a journal that was put back. An error means that it was not compared.
//
// The journal may have used numbers again meanwhile. It then goes on above all that
// is known, in a segment that says why, as it does when the comparison at the start
// fails; broke says so.
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
		// Nothing of this process was copied or kept: all that is known was there before.
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

// isUncompared says whether compareLate has still to compare.
func (j *Journal) isUncompared() bool {
	j.compareMu.Lock()
	defer j.compareMu.Unlock()
	return j.uncompared
}

// breakAbove begins a segment that says what is wrong, above all known numbers.
func (j *Journal) breakAbove(k Known, problem string) error {
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

// compareRecords holds records that are known elsewhere against the journal's own,
// as far as those are still here. seen are records that were compared.
func (j *Journal) compareRecords(k Known, seen map[uint64]string) (problem string, err error) {
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

func describeReplacedRecord(seq uint64) string {
	return fmt.Sprintf("record %d is not the one that the database knows: it, or one before it, was replaced", seq)
}

// compareKnown holds the end of the journal against what is known elsewhere.
func (e *segmentEnd) compareKnown(k Known, hashes map[uint64]string) string {
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

// hashesBySeq is what is known, by number.
func (k Known) hashesBySeq() map[uint64]string {
	all := map[uint64]string{}
	if k.Copied > 0 {
		all[k.Copied] = k.CopiedHash
	}
	if k.Head != nil {
		all[k.Head.Seq] = k.Head.Hash
	}
	return all
}

// keepHeads gives signed heads to the witness as long as the journal is open. No
// call waits for that, and neither does the next head.
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

func (j *Journal) keepHead(ctx context.Context) {
	w := j.asWitness()
	if w == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, witnessTimeout)
	defer cancel()
	broke, err := j.compareLate(ctx)
	if broke {
		// The head that tells of the break takes the place of the one that is kept.
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
		return // the journal is being closed: its last head is kept then
	}
	if err == nil && replace {
		j.headMu.Lock()
		j.replaceKept = false
		j.headMu.Unlock()
	}
	if j.setProblem(problemWitness, err) && err != nil {
		j.options.Logger.Warn("the database does not take the journal's signed head; the next one is tried", "error", err)
	}
}
