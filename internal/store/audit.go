package store

import (
	"context"
	"database/sql"
	"iter"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"

	junctor "github.com/junctor-mcp/junctor"
)

// AuditRecord is one record of a replica's journal, as the copy in SQL keeps it.
type AuditRecord struct {
	Replica string
	Seq     uint64
	Hash    string
	Line    string // the text that Hash covers; it comes back byte for byte
}

// The copy is kept in pages: one row holds many records, a line for each. A row for each
// record would cost more than the call that it records.
const (
	auditBufferMax     = 1 << 20   // bytes of a page's memory that are used again
	auditPageBytes     = 256 << 10 // of a page; the last record may exceed it
	auditPagesPerRead  = 8         // pages read at a time
	auditPagesPerPrune = 64        // pages deleted in one transaction
)

// AddAudit stores records of one replica, in the order of their numbers, all or none.
// Records that are stored already are skipped, so that a batch can be sent again. It is a
// conflict if a stored record differs.
func (s *Store) AddAudit(ctx context.Context, records []AuditRecord) error {
	if len(records) == 0 {
		return nil
	}
	if err := checkAuditRecords(records); err != nil {
		return err
	}
	buf := s.auditBuffer.Swap(nil)
	if buf == nil {
		buf = new([]byte)
	}
	err := s.runTx(ctx, func(tx *sql.Tx) error {
		rest, err := s.skipStored(ctx, tx, records)
		for err == nil && len(rest) > 0 {
			var n int
			if *buf, n = appendAuditPage((*buf)[:0], rest); n > 0 {
				// Not copied: the driver keeps nothing of the text after the statement.
				err = s.insertAuditPage(ctx, tx, rest[:n], unsafe.String(unsafe.SliceData(*buf), len(*buf))) //nolint:gosec // it does not change before that
			}
			rest = rest[n:]
		}
		return err
	})
	if cap(*buf) <= auditBufferMax {
		s.auditBuffer.Store(buf)
	}
	if err != nil {
		return s.wrapError(ctx, err, "store %d records of the journal", len(records))
	}
	return nil
}

// checkAuditRecords refuses records that could not be read back from a page unchanged: out
// of order, or with characters that separate records or their parts.
func checkAuditRecords(records []AuditRecord) error {
	last := uint64(0)
	for i := range records {
		r := &records[i]
		if r.Replica != records[0].Replica || r.Seq <= last || strings.IndexByte(r.Line, '\n') >= 0 || strings.ContainsAny(r.Hash, " \n") {
			return junctor.Errorf(junctor.CodeInvalid, "record %d of replica %q is out of order or contains a line end", r.Seq, r.Replica)
		}
		last = r.Seq
	}
	return nil
}

// skipStored returns the records that are not stored yet, and compares the others with the
// stored ones.
func (s *Store) skipStored(ctx context.Context, tx *sql.Tx, records []AuditRecord) ([]AuditRecord, error) {
	replica, have := records[0].Replica, int64(0)
	err := tx.QueryRowContext(ctx, s.dialect.Bind(`SELECT COALESCE(MAX(last), 0) FROM audit_pages WHERE replica = ?`), replica).Scan(&have)
	if err != nil || int64(records[0].Seq) > have { //nolint:gosec // counts from 1
		return records, err
	}
	rows, err := tx.QueryContext(ctx, s.dialect.Bind(`SELECT records FROM audit_pages WHERE replica = ? AND last >= ? ORDER BY last`), replica, int64(records[0].Seq)) //nolint:gosec // counts from 1
	if err != nil {
		return nil, err
	}
	defer rows.Close() // rows.Err tells what went wrong
	for rows.Next() && len(records) > 0 {
		var page string
		if err := rows.Scan(&page); err != nil {
			return nil, err
		}
		for r := range parseAuditPage(replica, 0, page) {
			if len(records) == 0 || r.Seq < records[0].Seq {
				continue
			}
			if r != records[0] {
				return nil, junctor.Errorf(junctor.CodeConflict, "record %d of replica %q is already in the database with other content; run junctor audit verify", records[0].Seq, replica)
			}
			records = records[1:]
		}
	}
	return records, rows.Err()
}

// appendAuditPage appends records to dst until the page is full, and returns how many it
// appended. At least one is appended to an empty page, however long it is.
func appendAuditPage(dst []byte, records []AuditRecord) ([]byte, int) {
	for i := range records {
		if len(dst) >= auditPageBytes {
			return dst, i
		}
		r := &records[i]
		dst = strconv.AppendUint(dst, r.Seq, 10)
		dst = append(append(append(dst, ' '), r.Hash...), ' ')
		dst = append(append(dst, r.Line...), '\n')
	}
	return dst, len(records)
}

// insertAuditPage stores one page. Invalid UTF-8 is replaced, which a database could not
// keep; verifying the copy then reports the record.
func (s *Store) insertAuditPage(ctx context.Context, tx *sql.Tx, records []AuditRecord, page string) error {
	if !utf8.ValidString(page) { // checked first, because it is much faster than replacing
		page = strings.ToValidUTF8(page, "\ufffd")
	}
	_, err := tx.ExecContext(ctx, s.dialect.Bind(`INSERT INTO audit_pages (replica, last, first, held, records) VALUES (?, ?, ?, ?, ?)`),
		records[0].Replica, int64(records[len(records)-1].Seq), int64(records[0].Seq), len(records), page) //nolint:gosec // counts from 1
	return err
}

// parseAuditPage reads the records of a page. before is the number of the record before
// it. A line without a valid number counts as the record that should be there, so that a
// verification can name it.
func parseAuditPage(replica string, before uint64, page string) iter.Seq[AuditRecord] {
	return func(yield func(AuditRecord) bool) {
		for line := range strings.Lines(page) {
			seq, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			r := AuditRecord{Replica: replica}
			var err error
			if r.Seq, err = strconv.ParseUint(seq, 10, 63); err != nil {
				r.Seq = before + 1
			}
			r.Hash, r.Line, _ = strings.Cut(rest, " ")
			if !yield(r) {
				return
			}
			before = r.Seq
		}
	}
}

// AuditShipped returns the highest record number that is stored for a replica; 0 if there
// is none.
func (s *Store) AuditShipped(ctx context.Context, replica string) (uint64, error) {
	n, err := readOne(ctx, s, scanCount, `SELECT COALESCE(MAX(last), 0) FROM audit_pages WHERE replica = ?`, replica)
	if err != nil {
		return 0, s.wrapError(ctx, err, "read the number of the last stored journal record")
	}
	return uint64(n), nil //nolint:gosec // the schema wants it above 0
}

// AuditReplicas lists the replicas that have stored records, by the name of their journal.
func (s *Store) AuditReplicas(ctx context.Context) ([]string, error) {
	list, err := readAll(ctx, s, func(row scanner) (string, error) {
		var replica string
		err := row.Scan(&replica)
		return replica, err
	}, `SELECT DISTINCT replica FROM audit_pages ORDER BY replica`)
	if err != nil {
		return nil, s.wrapError(ctx, err, "list the replicas of the journal")
	}
	return list, nil
}

// auditPage is one row of audit_pages.
type auditPage struct {
	last    uint64
	records string
}

// scanAuditPage reads the columns last and records.
func scanAuditPage(row scanner) (p auditPage, err error) {
	err = row.Scan(&p.last, &p.records)
	return p, err
}

// AuditRecords returns a replica's records with numbers above after, as they are in their
// pages. The sequence ends after the first error. It holds no connection between reads, so
// that a slow reader blocks nobody.
func (s *Store) AuditRecords(ctx context.Context, replica string, after uint64) iter.Seq2[AuditRecord, error] {
	return func(yield func(AuditRecord, error) bool) {
		read := after
		for before := after; ; {
			pages, err := readAll(ctx, s, scanAuditPage, `SELECT last, records FROM audit_pages WHERE replica = ? AND last > ? ORDER BY last LIMIT ?`,
				replica, int64(read), auditPagesPerRead) //nolint:gosec // counts from 1
			if err != nil {
				yield(AuditRecord{}, s.wrapError(ctx, err, "read the stored journal"))
				return
			}
			for _, p := range pages {
				for r := range parseAuditPage(replica, before, p.records) {
					if before = r.Seq; r.Seq > after && !yield(r, nil) {
						return
					}
				}
				read = p.last
			}
			if len(pages) < auditPagesPerRead {
				return
			}
		}
	}
}

// PruneAudit deletes a replica's records up to and including a number, oldest first, in
// transactions of bounded size. It returns how many it deleted, also with an error.
func (s *Store) PruneAudit(ctx context.Context, replica string, through uint64) (pruned int64, err error) {
	for more := true; more && err == nil; {
		var n int64
		err = s.runTx(ctx, func(tx *sql.Tx) error {
			n, more, err = s.pruneAuditPages(ctx, tx, replica, through)
			return err
		})
		pruned += n
	}
	if err != nil {
		return pruned, s.wrapError(ctx, err, "prune the stored journal")
	}
	return pruned, nil
}

// pruneAuditPages deletes the oldest pages, and trims the page that contains the number.
// more reports that there may be more pages to delete.
func (s *Store) pruneAuditPages(ctx context.Context, tx *sql.Tx, replica string, through uint64) (n int64, more bool, err error) {
	upTo := int64(through) //nolint:gosec // counts from 1
	rows, err := tx.QueryContext(ctx, s.dialect.Bind(`SELECT last, held, records FROM audit_pages WHERE replica = ? AND first <= ? ORDER BY last LIMIT ?`), replica, upTo, auditPagesPerPrune)
	if err != nil {
		return 0, false, err
	}
	defer rows.Close() // rows.Err tells what went wrong
	whole, cut := int64(0), auditPage{}
	seen := 0
	for ; rows.Next(); seen++ {
		var p auditPage
		var held int64
		if err := rows.Scan(&p.last, &held, &p.records); err != nil {
			return 0, false, err
		}
		if p.last > through {
			cut = p
			continue
		}
		whole = int64(p.last) //nolint:gosec // counts from 1
		n += held
	}
	if err := rows.Err(); err != nil {
		return 0, false, err
	}
	if err := rows.Close(); err != nil {
		return 0, false, err
	}
	if whole > 0 {
		if _, err := tx.ExecContext(ctx, s.dialect.Bind(`DELETE FROM audit_pages WHERE replica = ? AND last <= ?`), replica, whole); err != nil {
			return 0, false, err
		}
	}
	if cut.last > 0 {
		gone, err := s.trimAuditPage(ctx, tx, replica, cut, through)
		return n + gone, false, err
	}
	return n, seen == auditPagesPerPrune, nil
}

// trimAuditPage removes the records up to a number from a page and returns how many it
// removed. The trimmed page may exceed auditPageBytes no more than the stored one did.
func (s *Store) trimAuditPage(ctx context.Context, tx *sql.Tx, replica string, p auditPage, through uint64) (gone int64, err error) {
	var kept []AuditRecord
	for r := range parseAuditPage(replica, 0, p.records) {
		if r.Seq > through {
			kept = append(kept, r)
		} else {
			gone++
		}
	}
	if len(kept) == 0 || gone == 0 {
		return 0, nil // its numbers were changed: verifying tells
	}
	var page []byte
	for rest := kept; len(rest) > 0; {
		var n int
		more, n := appendAuditPage(nil, rest)
		page, rest = append(page, more...), rest[n:]
	}
	_, err = tx.ExecContext(ctx, s.dialect.Bind(`UPDATE audit_pages SET first = ?, held = ?, records = ? WHERE replica = ? AND last = ?`),
		int64(kept[0].Seq), len(kept), string(page), replica, int64(p.last)) //nolint:gosec // counts from 1
	return gone, err
}

// chunkSize returns how many of n rows go into the next statement: most, halved until it
// fits. So there are few different statements, which databases keep prepared.
func chunkSize(n, most int) int {
	for most > n {
		most /= 2
	}
	return most
}

// valuesClause returns the VALUES of an INSERT with that many columns and rows.
func valuesClause(columns, rows int) string {
	row := "(?" + strings.Repeat(", ?", columns-1) + ")"
	return row + strings.Repeat(", "+row, rows-1)
}
