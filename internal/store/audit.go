package store

import (
	"context"
	"database/sql"
	"iter"
	"slices"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// AuditRecord is one record of a node's journal, as the copy in SQL keeps it.
// Times have whole microseconds.
type AuditRecord struct {
	Node    string
	Seq     uint64
	Hash    string
	Line    string // the text that Hash covers; it comes back byte for byte
	Time    time.Time
	Phase   string
	Tenant  junctor.TenantID // "" on what a journal says about itself
	Call    string
	Server  string
	Name    string
	Subject string
	Status  junctor.Status
}

const auditColumns = `node, seq, hash, line, at, phase, tenant_id, call_id, server, name, subject, status`

const (
	auditChunk = 128     // records in one INSERT
	auditKeep  = 1 << 20 // bytes of rows that are used again
	auditPage  = 512     // records read at a time
	auditPrune = 1024    // records deleted in one transaction
)

// AddAudit stores records, all or none. Records that are there already are
// passed over, so that a batch can be sent again; conflict when one is there
// and says something else.
func (s *Store) AddAudit(ctx context.Context, records []AuditRecord) error {
	if len(records) == 0 {
		return nil
	}
	rows := s.auditRows.Swap(nil)
	if rows == nil {
		rows = NewRows(0)
	}
	err := s.tx(ctx, func(tx *sql.Tx) error {
		for part := range slices.Chunk(records, auditChunk) {
			if err := s.insertAudit(ctx, tx, part, rows); err != nil {
				return err
			}
		}
		return nil
	})
	if cap(rows.b) <= auditKeep {
		s.auditRows.Store(rows)
	}
	if err != nil {
		return s.fail(ctx, err, "store %d records of the journal", len(records))
	}
	return nil
}

// addAudit is the statement that stores records.
func addAudit(dialect Dialect) string {
	return dialect.Bind(`INSERT INTO audit_records (` + auditColumns + `) ` + dialect.SelectRows("tittittttttt") + ` ON CONFLICT (node, seq) DO NOTHING`)
}

func (s *Store) insertAudit(ctx context.Context, tx *sql.Tx, records []AuditRecord, rows *Rows) error {
	rows.Reset()
	for i := range records {
		r := &records[i]
		rows.Text(r.Node).Int(int64(r.Seq)) //nolint:gosec // counts from 1
		rows.Text(r.Hash).Text(r.Line).Int(micros(r.Time)).Text(r.Phase).Text(string(r.Tenant)).Text(r.Call)
		rows.Text(r.Server).Text(r.Name).Text(r.Subject).Text(string(r.Status)).End()
	}
	res, err := tx.ExecContext(ctx, s.addAudit, rows.String())
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	if err != nil || n == int64(len(records)) {
		return err
	}
	for _, r := range records {
		var hash, line string
		err := tx.QueryRowContext(ctx, s.dialect.Bind(`SELECT hash, line FROM audit_records WHERE node = ? AND seq = ?`),
			r.Node, int64(r.Seq)).Scan(&hash, &line) //nolint:gosec // counts from 1
		if err != nil {
			return err
		}
		if hash != r.Hash || line != r.Line {
			return junctor.Errorf(junctor.CodeConflict, "record %d of node %q is in the database already, and says something else; run junctor audit verify", r.Seq, r.Node)
		}
	}
	return nil
}

// AuditShipped is the highest number that is stored of a node; 0 when there is
// none.
func (s *Store) AuditShipped(ctx context.Context, node string) (uint64, error) {
	n, err := one(ctx, s, scanCount, `SELECT COALESCE(MAX(seq), 0) FROM audit_records WHERE node = ?`, node)
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
	}, `SELECT DISTINCT node FROM audit_records ORDER BY node`)
	if err != nil {
		return nil, s.fail(ctx, err, "list the nodes of the journal")
	}
	return list, nil
}

// AuditRecords gives a node's records with numbers above after, in order. It
// ends after the first error. Between pages no connection is held.
func (s *Store) AuditRecords(ctx context.Context, node string, after uint64) iter.Seq2[AuditRecord, error] {
	return func(yield func(AuditRecord, error) bool) {
		for {
			page, err := all(ctx, s, scanAudit, `SELECT `+auditColumns+` FROM audit_records WHERE node = ? AND seq > ? ORDER BY seq LIMIT ?`,
				node, int64(after), auditPage) //nolint:gosec // counts from 1
			if err != nil {
				yield(AuditRecord{}, s.fail(ctx, err, "read the stored journal"))
				return
			}
			for _, r := range page {
				if !yield(r, nil) {
					return
				}
				after = r.Seq
			}
			if len(page) < auditPage {
				return
			}
		}
	}
}

// PruneAudit deletes a node's records up to and with a number, oldest first, in
// transactions of bounded size, and says how many they were.
func (s *Store) PruneAudit(ctx context.Context, node string, through uint64) (int64, error) {
	var pruned int64
	for {
		n, err := s.do(ctx, `DELETE FROM audit_records WHERE node = ? AND seq <= ?
			AND seq < (SELECT MIN(seq) FROM audit_records WHERE node = ?) + ?`,
			node, int64(through), node, auditPrune) //nolint:gosec // counts from 1
		if err != nil {
			return pruned, s.fail(ctx, err, "prune the stored journal")
		}
		if pruned += n; n == 0 {
			return pruned, nil
		}
	}
}

func scanAudit(row scanner) (AuditRecord, error) {
	var r AuditRecord
	var at int64
	err := row.Scan(&r.Node, &r.Seq, &r.Hash, &r.Line, &at, &r.Phase, &r.Tenant, &r.Call, &r.Server, &r.Name, &r.Subject, &r.Status)
	r.Time = fromMicros(at)
	return r, err
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
