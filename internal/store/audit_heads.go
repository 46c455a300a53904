package store

import (
	"context"
	"database/sql"
	"errors"

	junctor "github.com/junctor-mcp/junctor"
)

// AuditHead returns the highest signed head that is stored for a replica's journal,
// unchanged; "" if there is none.
func (s *Store) AuditHead(ctx context.Context, replica string) (string, error) {
	head, err := readOne(ctx, s, func(row scanner) (text string, err error) { return text, row.Scan(&text) },
		`SELECT head FROM audit_heads WHERE replica = ?`, replica)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", s.wrapError(ctx, err, "read the journal's highest head")
	}
	return head, nil
}

// KeepAuditHead stores a signed head of a replica's journal that names the record seq,
// unless the stored head names a higher record. With replace it stores the head in any
// case. The stored head shows whether the files of a journal were put back to an older
// state.
func (s *Store) KeepAuditHead(ctx context.Context, replica string, seq uint64, head string, replace bool) error {
	if replica == "" || seq == 0 || head == "" {
		return junctor.Errorf(junctor.CodeInvalid, "a head of the journal must name a replica and a record")
	}
	query := `INSERT INTO audit_heads (replica, seq, head) VALUES (?, ?, ?)
		ON CONFLICT (replica) DO UPDATE SET seq = excluded.seq, head = excluded.head`
	if !replace {
		query += ` WHERE excluded.seq > audit_heads.seq`
	}
	if _, err := s.execWrite(ctx, query, replica, int64(seq), head); err != nil { //nolint:gosec // counts from 1
		return s.wrapError(ctx, err, "keep the journal's highest head")
	}
	return nil
}

// AuditLast returns the number of the last stored record of a replica, and its hash if it
// can be read. The number is 0 if nothing is stored.
func (s *Store) AuditLast(ctx context.Context, replica string) (seq uint64, hash string, err error) {
	page, err := readOne(ctx, s, scanAuditPage, `SELECT last, records FROM audit_pages WHERE replica = ? ORDER BY last DESC LIMIT 1`, replica)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, "", nil
	}
	if err != nil {
		return 0, "", s.wrapError(ctx, err, "read the last stored record of the journal")
	}
	for r := range parseAuditPage(replica, 0, page.records) {
		if r.Seq == page.last {
			hash = r.Hash
		}
	}
	return page.last, hash, nil
}
