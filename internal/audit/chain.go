package audit

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// BadRecord is the first record that breaks the chain.
type BadRecord struct {
	// The file; "" if the record is missing or a copy is read.
	Segment string `json:"segment,omitempty"`
	Line    int    `json:"line,omitempty"` // in the file; the first is 1
	// The number of the record that should be here.
	Seq    uint64 `json:"seq"`
	Reason string `json:"reason"`
}

// String describes the record and what is wrong with it, for people.
func (b *BadRecord) String() string {
	where := fmt.Sprintf("record %d", b.Seq)
	if b.Segment != "" && b.Line > 0 {
		where += fmt.Sprintf(" (%s, line %d)", b.Segment, b.Line)
	} else if b.Segment != "" {
		where += fmt.Sprintf(" (%s)", b.Segment)
	}
	return where + ": " + b.Reason
}

// clockTolerance is how far a clock must go back before it is reported: records
// of one moment may be slightly out of order.
const clockTolerance = time.Second

// chainVerifier checks the records of one replica in order. It remembers how far it
// is.
type chainVerifier struct {
	// "" until the first record names it.
	replica  string
	nextSeq  uint64            // number of the next record
	prevHash [sha256.Size]byte // hash of the last record
	// prevHash is known; otherwise the next record is trusted.
	prevKnown bool
	lastTime  time.Time // time of the last record

	recordCount uint64
	firstSeq    uint64
	buf         []byte
	// Called if the clock went back; may be nil.
	onClockBack func(seq uint64, by time.Duration)
	// Called for a break that begins a segment, which is then accepted; if nil,
	// a break is an error.
	onBreak func(reason string)
}

// acceptRecord checks that l is the next record, and moves on to it. It returns
// what is wrong, or "". It parses l if that was not done yet.
func (c *chainVerifier) acceptRecord(l *line) (wrong string) {
	holds := !c.prevKnown || c.hashRecord(&c.prevHash, l.rawJSON) == l.hash
	if l.jsonText == "" { // not parsed yet
		if err := l.parse(); err != nil {
			return err.Error()
		}
	}
	switch {
	case l.Seq != c.nextSeq:
		return fmt.Sprintf("record %d is in the place of record %d", l.Seq, c.nextSeq)
	case !holds:
		return "the record was changed, or the one before it was"
	case c.replica != "" && l.Replica != c.replica:
		return fmt.Sprintf("the record belongs to replica %q, but the chain to replica %q", l.Replica, c.replica)
	case l.Phase == PhaseBreak:
		return "the chain was broken when the journal was opened: " + l.Reason
	}
	c.moveTo(l)
	return ""
}

// hashRecord returns the hash of a record that follows prev.
func (c *chainVerifier) hashRecord(prev *[sha256.Size]byte, text []byte) [sha256.Size]byte {
	c.buf = append(append(c.buf[:0], prev[:]...), text...)
	return sha256.Sum256(c.buf)
}

// moveTo makes l the last record that was accepted.
func (c *chainVerifier) moveTo(l *line) {
	if c.onClockBack != nil && c.lastTime.Sub(l.Time) > clockTolerance {
		c.onClockBack(l.Seq, c.lastTime.Sub(l.Time))
	}
	if c.recordCount == 0 {
		c.firstSeq = l.Seq
	}
	c.recordCount++
	c.replica, c.nextSeq, c.prevHash, c.prevKnown, c.lastTime = l.Replica, l.Seq+1, l.hash, true, l.Time
}

// acceptFirstRecord checks the first record of a segment, which names the hash
// before it.
func (c *chainVerifier) acceptFirstRecord(l *line) (wrong string) {
	if err := l.parse(); err != nil {
		return err.Error()
	}
	var prev [sha256.Size]byte
	if l.Phase != PhaseSegment && l.Phase != PhaseBreak || !parseHash(&prev, l.Prev) {
		return "a segment must begin with a record that names the hash before it"
	}
	if l.Phase == PhaseBreak && c.onBreak != nil {
		if c.hashRecord(&prev, l.rawJSON) != l.hash {
			return "the record was changed"
		}
		c.onBreak(l.Reason)
		c.moveTo(l)
		return ""
	}
	if !c.prevKnown {
		c.prevHash, c.prevKnown = prev, true
	}
	if l.Phase == PhaseSegment && l.Seq == c.nextSeq && prev != c.prevHash {
		return "the segment does not follow the record before it"
	}
	return c.acceptRecord(l)
}

// describeBreak repeats the reason of a segment that begins with a break; it
// returns "" for others.
func (c *chainVerifier) describeBreak(l *line) string {
	var prev [sha256.Size]byte
	if l.parse() != nil || l.Phase != PhaseBreak || !parseHash(&prev, l.Prev) || c.hashRecord(&prev, l.rawJSON) != l.hash {
		return ""
	}
	return "; its first record gives the reason: " + l.Reason
}

// readSegment verifies one segment. It calls visit for every valid record, and
// visit may object. end is where the complete lines end, and torn is how many
// bytes follow them. The error says that the file could not be read; a record
// that is wrong is in bad.
func (c *chainVerifier) readSegment(ctx context.Context, s segment, visit func(*line) string) (bad *BadRecord, end, torn int64, err error) {
	f, err := os.Open(s.path)
	if err != nil {
		return nil, 0, 0, err
	}
	defer f.Close()
	ls := newLineReader(f, 0)
	fault := func(wrong string) *BadRecord {
		return &BadRecord{Segment: s.fileName(), Line: ls.lineNumber, Seq: c.nextSeq, Reason: wrong}
	}
	for {
		b, err := ls.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil, ls.offset, 0, nil
		case errors.Is(err, errTornLine):
			return nil, ls.offset, ls.tornBytes, nil
		case errors.Is(err, errMalformedLine):
			return fault(err.Error()), ls.offset, 0, nil
		case err != nil:
			return nil, ls.offset, 0, err
		}
		if ls.lineNumber%1024 == 0 && ctx.Err() != nil {
			return nil, ls.offset, 0, ctx.Err()
		}
		l, err := splitLine(b)
		if err != nil {
			return fault(err.Error()), ls.offset, 0, nil
		}
		accept := c.acceptRecord
		if ls.lineNumber == 1 {
			if accept = c.acceptFirstRecord; s.first != c.nextSeq {
				return fault(fmt.Sprintf("segment %s is in the place of record %d%s", s.fileName(), c.nextSeq, c.describeBreak(&l))), 0, 0, nil
			}
		}
		if wrong := accept(&l); wrong != "" {
			return fault(wrong), ls.offset, 0, nil
		}
		if visit == nil {
			continue
		}
		if wrong := visit(&l); wrong != "" {
			return &BadRecord{Segment: s.fileName(), Line: ls.lineNumber, Seq: l.Seq, Reason: wrong}, ls.offset, 0, nil
		}
	}
}
