package audit

import (
	"context"
	"errors"
	"fmt"
	"iter"

	junctor "github.com/junctor-mcp/junctor"
)

// VerifyRecords verifies a copy of a replica's records, which must come in order. It
// checks the chain, the columns, the signed statements and, if o.Dir names the
// journal, the journal's own lines. o.HeadsDir or o.Dir is required, unless
// o.Foreign is set. A copy may lag behind the journal, but not behind the number
// that the head says it had.
func VerifyRecords(ctx context.Context, records iter.Seq2[Record, error], o VerifyOptions) (Report, error) {
	r := Report{Replica: o.Replica}
	if o.HeadsDir == "" && o.Dir == "" && !o.RemoteReplica {
		return r, junctor.Errorf(junctor.CodeInvalid, "a copy is verified against signed heads: say where they are")
	}
	heads := resolveHeadsDir(o.Dir, o.HeadsDir)
	var mine *journalComparer
	if o.Dir != "" {
		var err error
		if mine, err = newJournalComparer(o.Dir); err != nil {
			return r, readError(o.Dir, err)
		}
		if mine != nil {
			defer mine.tail.close()
		}
	}
	var p *signedProofs
	if r.Replica != "" { // before the records, so that a growing copy is never behind the head
		var err error
		if p, err = readProofs(heads, r.Replica, o); err != nil {
			return r, err
		}
	}
	var c chainVerifier
	begun := false
	for rec, err := range records {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return r, err
		}
		if p == nil {
			r.Replica = rec.Replica
			if p, err = readProofs(heads, r.Replica, o); err != nil {
				return r, err
			}
		}
		if !begun {
			begun = true
			if c, r.FirstBad = p.beginChain(max(rec.Seq, 1)); r.FirstBad != nil {
				return r, nil
			}
		}
		want := c.nextSeq
		wrong := checkCopiedRecord(&c, p, rec)
		if wrong == "" && mine != nil {
			if wrong, err = mine.compareRecord(rec); err != nil {
				return r, readError(o.Dir, err)
			}
		}
		if wrong != "" {
			r.FirstBad = &BadRecord{Seq: want, Reason: wrong}
			break
		}
	}
	if !begun {
		return r, r.reportNoRecords(heads, o)
	}
	r.Records, r.First = c.recordCount, c.firstSeq
	if c.recordCount > 0 {
		r.Last = c.nextSeq - 1
	}
	if r.FirstBad == nil {
		r.FirstBad = p.checkCopyEnd(r.Last)
	}
	switch {
	case o.RemoteReplica && p.head == nil:
		r.addNote("the replica's signed heads are on another machine: a missing beginning or end would not show")
	case o.RemoteReplica:
		r.addNote("the replica's journal is on another machine: records after %d could be missing, because its signed head confirms the copy only up to there", p.head.Shipped)
	}
	r.OK = r.FirstBad == nil
	return r, nil
}

// reportNoRecords fills in the report on an empty copy: it is valid only if the
// head says that the copy never had a record.
func (r *Report) reportNoRecords(heads string, o VerifyOptions) error {
	if r.Replica == "" {
		replica, err := findReplica(o.Dir, heads)
		if err != nil {
			return err
		}
		r.Replica = replica
	}
	if r.Replica != "" {
		p, err := readProofs(heads, r.Replica, o)
		if err != nil {
			return err
		}
		if !errors.Is(p.headErr, errNoHead) {
			r.FirstBad = p.checkCopyEnd(p.lastCheckpoint.UpTo)
		}
	}
	r.OK = r.FirstBad == nil
	r.addNote("there are no records")
	return nil
}

// checkCopyEnd compares the end of a copy with the head.
func (p *signedProofs) checkCopyEnd(last uint64) *BadRecord {
	switch {
	case p.foreign && p.head == nil:
		return nil
	case p.badCheckpoint != nil:
		return p.badCheckpoint
	case p.headErr != nil:
		return &BadRecord{Seq: last, Reason: "the signed head: " + p.headErr.Error()}
	case p.head.Shipped > last:
		return &BadRecord{Seq: last + 1, Reason: fmt.Sprintf("the tail is missing: the copy had record %d", p.head.Shipped)}
	case p.head.Closed && last > p.head.Seq:
		return &BadRecord{Seq: p.head.Seq + 1, Reason: fmt.Sprintf("added after record %d, with which the journal was closed", p.head.Seq)}
	}
	return nil
}

// checkCopiedRecord checks that a record of a copy is the next one of the chain,
// and that its columns repeat its line. It returns what is wrong, or "".
func checkCopiedRecord(c *chainVerifier, p *signedProofs, rec Record) string {
	l := line{rawJSON: []byte(rec.JSON)}
	if !parseHash(&l.hash, rec.Hash) {
		return errMalformedLine.Error()
	}
	if wrong := c.acceptRecord(&l); wrong != "" {
		return wrong
	}
	want := l.toRecord()
	if rec.hasNoColumns() {
		want = Record{Replica: want.Replica, Seq: want.Seq, Hash: want.Hash, JSON: want.JSON}
	} else if !want.Time.Equal(rec.Time) {
		return "the column of the time differs from the record"
	}
	want.Time = rec.Time
	if want != rec {
		return "the columns differ from the record"
	}
	return p.checkSigned(&l)
}

// journalComparer reads the journal beside a copy, to compare them.
type journalComparer struct {
	tail recordTail
	// Earlier records were removed by retention.
	first uint64
}

// newJournalComparer returns nil if the journal has no segments. The caller
// closes its tail.
func newJournalComparer(dir string) (*journalComparer, error) {
	segs, err := listSegments(dir)
	if err != nil || len(segs) == 0 {
		return nil, err
	}
	return &journalComparer{tail: recordTail{dir: dir}, first: segs[0].first}, nil
}

// compareRecord compares a record of the copy with the journal's record of the
// same number.
func (o *journalComparer) compareRecord(rec Record) (wrong string, err error) {
	if rec.Seq < o.first {
		return "", nil
	}
	o.tail.nextSeq = rec.Seq
	mine, err := o.tail.readBatch(rec.Seq, 1)
	switch {
	case err != nil:
		return "", err
	case len(mine) == 0:
		return "the journal does not have this record", nil
	case mine[0].JSON != rec.JSON || mine[0].Hash != rec.Hash:
		return "the record differs from the journal", nil
	}
	return "", nil
}
