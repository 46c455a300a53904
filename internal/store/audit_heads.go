package store

import (
	"context"
	"database/sql"
	"errors"

	junctor "github.com/junctor-mcp/junctor"
)

// AuditHead gives the highest signed head that is kept of a node's journal, as it
// was given; "" when there is none.
func (s *Store) AuditHead(ctx context.Context, node string) (string, error) {
	head, err := one(ctx, s, func(row scanner) (text string, err error) { return text, row.Scan(&text) },
		`SELECT head FROM audit_heads WHERE node = ?`, node)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", s.fail(ctx, err, "read the journal's highest head")
	}
	return head, nil
}

// KeepAuditHead keeps a signed head of a node's journal that names the record seq,
// unless one of a higher record is kept. replace keeps it whatever there is.
func (s *Store) KeepAuditHead(ctx context.Context, node string, seq uint64, head string, replace bool) error {
	if node == "" || seq == 0 || head == "" {
		return junctor.Errorf(junctor.CodeInvalid, "a head of the journal names a node and a record")
	}
	query := `INSERT INTO audit_heads (node, seq, head) VALUES (?, ?, ?)
		ON CONFLICT (node) DO UPDATE SET seq = excluded.seq, head = excluded.head`
	if !replace {
		query += ` WHERE excluded.seq > audit_heads.seq`
	}
	if _, err := s.do(ctx, query, node, int64(seq), head); err != nil { //nolint:gosec // counts from 1
		return s.fail(ctx, err, "keep the journal's highest head")
	}
	return nil
}

// AuditLast gives the last stored record of a node: its number, and its hash where
// it can be read. The number is 0 when nothing is stored.
func (s *Store) AuditLast(ctx context.Context, node string) (seq uint64, hash string, err error) {
	page, err := one(ctx, s, scanPage, `SELECT last, records FROM audit_pages WHERE node = ? ORDER BY last DESC LIMIT 1`, node)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, "", nil
	}
	if err != nil {
		return 0, "", s.fail(ctx, err, "read the last stored record of the journal")
	}
	for r := range auditLines(node, 0, page.records) {
		if r.Seq == page.last {
			hash = r.Hash
		}
	}
	return page.last, hash, nil
}
