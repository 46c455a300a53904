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

// keepLimit bounds how long the witness is waited for.
const keepLimit = 10 * time.Second

// signedBy says whether a node's key signed the head.
func (h *Head) signedBy(node string, key ed25519.PublicKey) bool {
	return h.Node == node && len(key) == ed25519.PublicKeySize && ed25519.Verify(key, h.signed(), h.Signature)
}

// highest is the last record that is known: its number, its hash and who knows it.
func (k Known) highest() (seq uint64, hash [sha256.Size]byte, who string) {
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
	seq, _, who := k.highest()
	if seq <= last {
		return ""
	}
	return fmt.Sprintf("records %d to %d were lost or removed: %s has record %d, the journal ends at %d", last+1, seq, who, seq, last)
}

// asWitness is where the journal's heads are remembered; nil for nowhere.
func (j *Journal) asWitness() Witness {
	w, _ := j.o.Ship.(Witness)
	return w
}

// recall asks the witness how far the chain was. Where it cannot be asked, the
// journal is written all the same: calls must be on record while a database is away,
// and the copy is compared when it is back.
func (j *Journal) recall(ctx context.Context) (k Known, problem string) {
	w := j.asWitness()
	if w == nil {
		return Known{}, ""
	}
	ctx, cancel := context.WithTimeout(ctx, keepLimit)
	defer cancel()
	k, err := w.Known(ctx, j.o.Node)
	if err != nil {
		j.o.Logger.Warn("the database cannot say how far the journal was; a journal that was put back to an older state would not be noticed now", "error", err)
		return Known{}, ""
	}
	if pub, _ := j.key.Public().(ed25519.PublicKey); k.Head != nil && !k.Head.signedBy(j.o.Node, pub) {
		k.Head, j.replaceKept = nil, true
		return k, "the highest head in the database is not signed by this journal's key"
	}
	return k, ""
}

// compareKnown holds the end of the journal against what is known elsewhere.
func (e *ending) compareKnown(k Known, hashes map[uint64]string) string {
	if missing := k.missingTail(e.seq); missing != "" {
		return missing
	}
	for seq, want := range k.hashes() {
		if got, ok := hashes[seq]; ok && got != want {
			return fmt.Sprintf("record %d is not the one that the database knows: it, or one before it, was replaced", seq)
		}
	}
	return ""
}

// hashes is what is known, by number.
func (k Known) hashes() map[uint64]string {
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
		case <-j.life.Done():
			return
		case <-j.headSigned:
			j.keepHead(j.life)
		}
	}
}

func (j *Journal) keepHead(ctx context.Context) {
	w := j.asWitness()
	if w == nil {
		return
	}
	j.heading.Lock()
	head := j.head
	replace := j.replaceKept
	j.heading.Unlock()
	ctx, cancel := context.WithTimeout(ctx, keepLimit)
	defer cancel()
	err := w.KeepHead(ctx, head, replace)
	if j.life.Err() != nil && ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return // the journal is being closed: its last head is kept then
	}
	if err == nil && replace {
		j.heading.Lock()
		j.replaceKept = false
		j.heading.Unlock()
	}
	if j.report(problemWitness, err) && err != nil {
		j.o.Logger.Warn("the database does not take the journal's signed head; the next one is tried", "error", err)
	}
}
