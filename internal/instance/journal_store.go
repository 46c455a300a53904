package instance

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/junctor-mcp/junctor/internal/audit"
	"github.com/junctor-mcp/junctor/internal/store"
)

// JournalStore keeps the copy of journals in the database. It implements
// audit.Shipper and audit.Witness.
type JournalStore struct {
	store *store.Store
	rows  []store.AuditRecord // buffer of the batch that is being written
}

// NewJournalStore returns a JournalStore in st. Only one batch may be shipped at a
// time.
func NewJournalStore(st *store.Store) *JournalStore { return &JournalStore{store: st} }

// LastShipped returns the number of the last record of a replica that was copied.
func (s *JournalStore) LastShipped(ctx context.Context, replica string) (uint64, error) {
	return s.store.AuditShipped(ctx, replica)
}

// Ship copies records.
func (s *JournalStore) Ship(ctx context.Context, records []audit.Record) error {
	s.rows = s.rows[:0]
	for i := range records {
		r := &records[i]
		s.rows = append(s.rows, store.AuditRecord{Replica: r.Replica, Seq: r.Seq, Hash: r.Hash, Line: r.JSON})
	}
	return s.store.AddAudit(ctx, s.rows)
}

// Prune removes the copied records of a replica up to a number.
func (s *JournalStore) Prune(ctx context.Context, replica string, upTo uint64) error {
	_, err := s.store.PruneAudit(ctx, replica, upTo)
	return errors.Join(err, s.store.PruneAdminChanges(ctx, replica, upTo))
}

// LoadKnown implements audit.Witness.
func (s *JournalStore) LoadKnown(ctx context.Context, replica string) (audit.KnownChain, error) {
	return loadKnownChain(ctx, s.store, replica)
}

// KeepHead implements audit.Witness.
func (s *JournalStore) KeepHead(ctx context.Context, head audit.Head, replace bool) error {
	text, err := json.Marshal(head)
	if err != nil {
		return err
	}
	return s.store.KeepAuditHead(ctx, head.Replica, head.Seq, string(text), replace)
}

// loadKnownChain returns what the database knows of a replica's journal: the last copied
// record and the highest signed head.
func loadKnownChain(ctx context.Context, st *store.Store, replica string) (k audit.KnownChain, err error) {
	if k.CopiedSeq, k.CopiedHash, err = st.AuditLast(ctx, replica); err != nil {
		return k, err
	}
	text, err := st.AuditHead(ctx, replica)
	if err != nil || text == "" {
		return k, err
	}
	k.Head = new(audit.Head)
	if err := json.Unmarshal([]byte(text), k.Head); err != nil {
		k.Head = &audit.Head{Replica: replica} // not a signed head: the verification reports it
	}
	return k, nil
}
