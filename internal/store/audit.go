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

// AuditRecord is one record of a node's journal, as the copy in SQL keeps it.
type AuditRecord struct {
	Node string
	Seq  uint64
	Hash string
	Line string // the text that Hash covers; it comes back byte for byte
}

// The copy is kept in pages: a row for many records, a line for each, because a
// row for each would cost more than the call that it records.
const (
	auditKeep  = 1 << 20   // bytes of a page's memory that are used again
	auditBytes = 256 << 10 // of a page; the last record may exceed it
	auditRead  = 8         // pages read at a time
	auditPrune = 64        // pages deleted in one transaction
)

// AddAudit stores records of one node, in the order of their numbers: all or
// none. Records that are there already are passed over, so that a batch can be
// sent again; conflict when one is there and says something else.
func (s *Store) AddAudit(ctx context.Context, records []AuditRecord) error {
	if len(records) == 0 {
		return nil
	}
	if err := checkAudit(records); err != nil {
		return err
	}
	buf := s.auditPage.Swap(nil)
	if buf == nil {
		buf = new([]byte)
	}
	err := s.tx(ctx, func(tx *sql.Tx) error {
		rest, err := s.passOver(ctx, tx, records)
		for err == nil && len(rest) > 0 {
			var n int
			if *buf, n = appendPage((*buf)[:0], rest); n > 0 {
				// Not copied: who ran the statement has kept nothing of it.
				err = s.addPage(ctx, tx, rest[:n], unsafe.String(unsafe.SliceData(*buf), len(*buf))) //nolint:gosec // it does not change before that
			}
			rest = rest[n:]
		}
		return err
	})
	if cap(*buf) <= auditKeep {
		s.auditPage.Store(buf)
	}
	if err != nil {
		return s.fail(ctx, err, "store %d records of the journal", len(records))
	}
	return nil
}

// checkAudit refuses what could not be read back as it was.
func checkAudit(records []AuditRecord) error {
	last := uint64(0)
	for i := range records {
		r := &records[i]
		if r.Node != records[0].Node || r.Seq <= last || strings.IndexByte(r.Line, '\n') >= 0 || strings.ContainsAny(r.Hash, " \n") {
			return junctor.Errorf(junctor.CodeInvalid, "record %d of node %q is out of order, or is no line: records come by node and number, without line ends", r.Seq, r.Node)
		}
		last = r.Seq
	}
	return nil
}

// passOver gives the records that are not there yet.
func (s *Store) passOver(ctx context.Context, tx *sql.Tx, records []AuditRecord) ([]AuditRecord, error) {
	node, have := records[0].Node, int64(0)
	err := tx.QueryRowContext(ctx, s.dialect.Bind(`SELECT COALESCE(MAX(last), 0) FROM audit_pages WHERE node = ?`), node).Scan(&have)
	if err != nil || int64(records[0].Seq) > have { //nolint:gosec // counts from 1
		return records, err
	}
	rows, err := tx.QueryContext(ctx, s.dialect.Bind(`SELECT records FROM audit_pages WHERE node = ? AND last >= ? ORDER BY last`), node, int64(records[0].Seq)) //nolint:gosec // counts from 1
	if err != nil {
		return nil, err
	}
	defer rows.Close() // rows.Err tells what went wrong
	for rows.Next() && len(records) > 0 {
		var page string
		if err := rows.Scan(&page); err != nil {
			return nil, err
		}
		for r := range auditLines(node, 0, page) {
			if len(records) == 0 || r.Seq < records[0].Seq {
				continue
			}
			if r != records[0] {
				return nil, junctor.Errorf(junctor.CodeConflict, "record %d of node %q is in the database already, and says something else; run junctor audit verify", records[0].Seq, node)
			}
			records = records[1:]
		}
	}
	return records, rows.Err()
}

// appendPage writes records down until the page is full, and says how many.
func appendPage(dst []byte, records []AuditRecord) ([]byte, int) {
	for i := range records {
		if len(dst) >= auditBytes {
			return dst, i
		}
		r := &records[i]
		dst = strconv.AppendUint(dst, r.Seq, 10)
		dst = append(append(append(dst, ' '), r.Hash...), ' ')
		dst = append(append(dst, r.Line...), '\n')
	}
	return dst, len(records)
}

func (s *Store) addPage(ctx context.Context, tx *sql.Tx, records []AuditRecord, page string) error {
	if !utf8.ValidString(page) { // asked first, since it is much cheaper than to look for what is to be replaced
		page = strings.ToValidUTF8(page, "\ufffd")
	}
	_, err := tx.ExecContext(ctx, s.dialect.Bind(`INSERT INTO audit_pages (node, last, first, held, records) VALUES (?, ?, ?, ?, ?)`),
		records[0].Node, int64(records[len(records)-1].Seq), int64(records[0].Seq), len(records), page) //nolint:gosec // counts from 1
	return err
}

// auditLines reads a page. A line that was made unreadable counts as the record
// that should stand there, so that whoever verifies can name it.
func auditLines(node string, before uint64, page string) iter.Seq[AuditRecord] {
	return func(yield func(AuditRecord) bool) {
		for line := range strings.Lines(page) {
			seq, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			r := AuditRecord{Node: node}
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

// AuditShipped is the highest number that is stored of a node; 0 when there is
// none.
func (s *Store) AuditShipped(ctx context.Context, node string) (uint64, error) {
	n, err := one(ctx, s, scanCount, `SELECT COALESCE(MAX(last), 0) FROM audit_pages WHERE node = ?`, node)
	if err != nil {
		return 0, s.fail(ctx, err, "read how much of the journal is stored")
	}
	return uint64(n), nil //nolint:gosec // the schema wants it above 0
}

// AuditNodes lists the nodes of which records are stored.
func (s *Store) AuditNodes(ctx context.Context) ([]string, error) {
	list, err := all(ctx, s, func(row scanner) (string, error) {
		var node string
		err := row.Scan(&node)
		return node, err
	}, `SELECT DISTINCT node FROM audit_pages ORDER BY node`)
	if err != nil {
		return nil, s.fail(ctx, err, "list the nodes of the journal")
	}
	return list, nil
}

// auditPage is one row.
type auditPage struct {
	last    uint64
	records string
}

func scanPage(row scanner) (p auditPage, err error) {
	err = row.Scan(&p.last, &p.records)
	return p, err
}

// AuditRecords gives a node's records with numbers above after, as they stand in
// their pages. It ends after the first error. Between reads no connection is held.
func (s *Store) AuditRecords(ctx context.Context, node string, after uint64) iter.Seq2[AuditRecord, error] {
	return func(yield func(AuditRecord, error) bool) {
		read := after
		for before := after; ; {
			pages, err := all(ctx, s, scanPage, `SELECT last, records FROM audit_pages WHERE node = ? AND last > ? ORDER BY last LIMIT ?`,
				node, int64(read), auditRead) //nolint:gosec // counts from 1
			if err != nil {
				yield(AuditRecord{}, s.fail(ctx, err, "read the stored journal"))
				return
			}
			for _, p := range pages {
				for r := range auditLines(node, before, p.records) {
					if before = r.Seq; r.Seq > after && !yield(r, nil) {
						return
					}
				}
				read = p.last
			}
			if len(pages) < auditRead {
				return
			}
		}
	}
}

// PruneAudit deletes a node's records up to and with a number, oldest first, in
// transactions of bounded size, and says how many they were.
func (s *Store) PruneAudit(ctx context.Context, node string, through uint64) (pruned int64, err error) {
	for more := true; more && err == nil; {
		var n int64
		err = s.tx(ctx, func(tx *sql.Tx) error {
			n, more, err = s.prunePages(ctx, tx, node, through)
			return err
		})
		pruned += n
	}
	if err != nil {
		return pruned, s.fail(ctx, err, "prune the stored journal")
	}
	return pruned, nil
}

// prunePages deletes the oldest pages, and cuts the one through which the number
// goes.
func (s *Store) prunePages(ctx context.Context, tx *sql.Tx, node string, through uint64) (n int64, more bool, err error) {
	upTo := int64(through) //nolint:gosec // counts from 1
	rows, err := tx.QueryContext(ctx, s.dialect.Bind(`SELECT last, held, records FROM audit_pages WHERE node = ? AND first <= ? ORDER BY last LIMIT ?`), node, upTo, auditPrune)
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
		if _, err := tx.ExecContext(ctx, s.dialect.Bind(`DELETE FROM audit_pages WHERE node = ? AND last <= ?`), node, whole); err != nil {
			return 0, false, err
		}
	}
	if cut.last > 0 {
		gone, err := s.cutPage(ctx, tx, node, cut, through)
		return n + gone, false, err
	}
	return n, seen == auditPrune, nil
}

// cutPage takes the records up to a number from a page, and says how many.
func (s *Store) cutPage(ctx context.Context, tx *sql.Tx, node string, p auditPage, through uint64) (gone int64, err error) {
	var kept []AuditRecord
	for r := range auditLines(node, 0, p.records) {
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
		more, n := appendPage(nil, rest)
		page, rest = append(page, more...), rest[n:]
	}
	_, err = tx.ExecContext(ctx, s.dialect.Bind(`UPDATE audit_pages SET first = ?, held = ?, records = ? WHERE node = ? AND last = ?`),
		int64(kept[0].Seq), len(kept), string(page), node, int64(p.last)) //nolint:gosec // counts from 1
	return gone, err
}

// chunk is how many of n rows go into the next statement: a power of two, so
// that statements come in a few shapes, which databases keep prepared.
func chunk(n, most int) int {
	for most > n {
		most /= 2
	}
	return most
}

// rowsOf is the VALUES of an INSERT of so many rows and columns.
func rowsOf(columns, rows int) string {
	row := "(?" + strings.Repeat(", ?", columns-1) + ")"
	return row + strings.Repeat(", "+row, rows-1)
}
