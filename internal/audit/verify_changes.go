package audit

import (
	"fmt"

	junctor "github.com/junctor-mcp/junctor"
)

// BadChange is a stored change that differs from its record, or that misses it.
type BadChange struct {
	Change string `json:"change"`
	Seq    uint64 `json:"seq,omitempty"` // number of its record
	Reason string `json:"reason"`
}

// String returns the fault as a sentence.
func (b *BadChange) String() string {
	if b.Seq == 0 {
		return fmt.Sprintf("change %s: %s", b.Change, b.Reason)
	}
	return fmt.Sprintf("change %s (record %d): %s", b.Change, b.Seq, b.Reason)
}

// maxBadChanges bounds Report.BadChanges.
const maxBadChanges = 100

// CompareChanges compares the changes in the database with their records, and adds what
// differs to the report of the journal that has the records. rows has to have been read after
// the records: while the instance runs, a change is stored before it has a record. A change
// may have two records that say the same, if the process was killed between them.
func (r *Report) CompareChanges(records []Record, rows []junctor.AdminChange) {
	lines := map[string][]line{}
	bad := func(change string, seq uint64, format string, args ...any) {
		r.OK = false
		if len(r.BadChanges) < maxBadChanges {
			r.BadChanges = append(r.BadChanges, BadChange{change, seq, fmt.Sprintf(format, args...)})
		}
	}
	for i := range records {
		l := line{rawJSON: []byte(records[i].JSON)}
		if l.parse() == nil && l.Phase == PhaseChange {
			lines[l.Change] = append(lines[l.Change], l)
		}
	}
	for i := range rows {
		c := &rows[i]
		if c.Seq > r.Last || c.Seq > 0 && c.Seq < r.First {
			continue // it is newer than what was verified, or retention removes it next
		}
		found := c.Seq == 0 // it is recorded soon
		for _, l := range lines[c.ID] {
			found = found || l.Seq == c.Seq
			if member := l.compareChange(c); member != "" {
				bad(c.ID, l.Seq, "%s in the database is not what the journal has recorded", member)
				break
			}
		}
		if !found {
			bad(c.ID, c.Seq, "the database has the change, but the journal has no such record")
		}
		if lines[c.ID] != nil {
			r.Changes++
			delete(lines, c.ID)
		}
	}
	for i := range records {
		for _, l := range lines[changeOf(&records[i])] {
			bad(l.Change, l.Seq, "the journal has the record, but the database has no such change")
			delete(lines, l.Change)
			break
		}
	}
}

// changeOf returns the ID of the change that a record is about; "" if it is about none.
func changeOf(r *Record) string {
	l := line{rawJSON: []byte(r.JSON)}
	if l.parse() != nil {
		return ""
	}
	return l.Change
}
