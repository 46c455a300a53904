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

// Bad is the first record that does not hold.
type Bad struct {
	Segment string `json:"segment,omitempty"` // the file; "" where the record is missing or a copy is read
	Line    int    `json:"line,omitempty"`    // in the file, from 1
	Seq     uint64 `json:"seq"`               // the number of the record that should be here
	Reason  string `json:"reason"`
}

func (b *Bad) String() string {
	where := fmt.Sprintf("record %d", b.Seq)
	if b.Segment != "" && b.Line > 0 {
		where += fmt.Sprintf(" (%s, line %d)", b.Segment, b.Line)
	} else if b.Segment != "" {
		where += fmt.Sprintf(" (%s)", b.Segment)
	}
	return where + ": " + b.Reason
}

// setBack is how far a clock goes back before it is worth a word: records of
// one moment may be a little out of order.
const setBack = time.Second

// chain is where a reading of a node's records has come to.
type chain struct {
	node  string // "" until the first record says it
	next  uint64
	prev  [sha256.Size]byte
	known bool // prev is known; otherwise the next record is believed
	time  time.Time

	records uint64
	first   uint64
	buf     []byte
	back    func(seq uint64, by time.Duration) // told when the clock went back
	breaks  func(reason string)                // told of a break that begins a segment, which is then accepted
}

// accept checks that l comes next, and goes on. The answer is what is wrong.
// l.entry is read on the way.
func (c *chain) accept(l *line) (wrong string) {
	holds := !c.known || c.follow(&c.prev, l.rawJSON) == l.hash
	if l.jsonText == "" { // not looked into yet
		if err := l.parse(); err != nil {
			return err.Error()
		}
	}
	switch {
	case l.Seq != c.next:
		return fmt.Sprintf("record %d stands where record %d should be", l.Seq, c.next)
	case !holds:
		return "the record was changed, or the one before it was"
	case c.node != "" && l.Node != c.node:
		return fmt.Sprintf("the record is of node %q, the chain of %q", l.Node, c.node)
	case l.Phase == PhaseBreak:
		return "the chain did not hold when the journal was opened: " + l.Reason
	}
	c.take(l)
	return ""
}

// follow is the hash of a record that follows prev.
func (c *chain) follow(prev *[sha256.Size]byte, text []byte) [sha256.Size]byte {
	c.buf = append(append(c.buf[:0], prev[:]...), text...)
	return sha256.Sum256(c.buf)
}

func (c *chain) take(l *line) {
	if c.back != nil && c.time.Sub(l.Time) > setBack {
		c.back(l.Seq, c.time.Sub(l.Time))
	}
	if c.records == 0 {
		c.first = l.Seq
	}
	c.records++
	c.node, c.next, c.prev, c.known, c.time = l.Node, l.Seq+1, l.hash, true, l.Time
}

// opening checks the first record of a segment, which names the hash before it.
func (c *chain) opening(l *line) (wrong string) {
	if err := l.parse(); err != nil {
		return err.Error()
	}
	var prev [sha256.Size]byte
	if l.Phase != PhaseSegment && l.Phase != PhaseBreak || !parseHash(&prev, l.Prev) {
		return "a segment must begin with a record that names the hash before it"
	}
	if l.Phase == PhaseBreak && c.breaks != nil {
		if c.follow(&prev, l.rawJSON) != l.hash {
			return "the record was changed"
		}
		c.breaks(l.Reason)
		c.take(l)
		return ""
	}
	if !c.known {
		c.prev, c.known = prev, true
	}
	if l.Phase == PhaseSegment && l.Seq == c.next && prev != c.prev {
		return "the segment does not follow the record before it"
	}
	return c.accept(l)
}

// tellBreak repeats what a segment says that begins with a break; "" for others.
func (c *chain) tellBreak(l *line) string {
	var prev [sha256.Size]byte
	if l.parse() != nil || l.Phase != PhaseBreak || !parseHash(&prev, l.Prev) || c.follow(&prev, l.rawJSON) != l.hash {
		return ""
	}
	return "; it begins by saying why: " + l.Reason
}

// read takes the chain through one segment. visit is told of every good record
// and may object. torn is how many bytes lie after the last whole line, end
// where they begin.
func (c *chain) read(ctx context.Context, s segment, visit func(*line) string) (bad *Bad, end, torn int64, err error) {
	f, err := os.Open(s.path)
	if err != nil {
		return nil, 0, 0, err
	}
	defer f.Close()
	ls := newLineReader(f, 0)
	fault := func(wrong string) *Bad {
		return &Bad{Segment: s.fileName(), Line: ls.lineNumber, Seq: c.next, Reason: wrong}
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
		accept := c.accept
		if ls.lineNumber == 1 {
			if accept = c.opening; s.first != c.next {
				return fault(fmt.Sprintf("segment %s stands where record %d should be%s", s.fileName(), c.next, c.tellBreak(&l))), 0, 0, nil
			}
		}
		if wrong := accept(&l); wrong != "" {
			return fault(wrong), ls.offset, 0, nil
		}
		if visit == nil {
			continue
		}
		if wrong := visit(&l); wrong != "" {
			return &Bad{Segment: s.fileName(), Line: ls.lineNumber, Seq: l.Seq, Reason: wrong}, ls.offset, 0, nil
		}
	}
}
