package app

import (
	"context"
	"io"
	"iter"
	"path/filepath"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/audit"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/store"
)

// VerifyJournal verifies the journal of the node that the settings name. A node
// that has run has one: where it is gone, with all that was signed, that is
// what is found.
func VerifyJournal(ctx context.Context, cfg *config.Config, o audit.VerifyOptions) (audit.Report, error) {
	node, err := readNode(filepath.Join(cfg.DataDir, nodeFile))
	if err != nil {
		return audit.Report{}, err
	}
	r, err := audit.Verify(ctx, filepath.Join(cfg.DataDir, JournalDir), o)
	if err == nil && r.OK && r.Records == 0 && node != "" {
		r.Node, r.OK, r.Bad = node, false, &audit.Bad{Seq: 1, Reason: "the journal is gone: this node has run, and there is no record and no signed head of it"}
	}
	return r, err
}

// VerifyCopy holds the journal's copy in the database against the journal of
// this node and what it signed. The instance may be running.
func VerifyCopy(ctx context.Context, cfg *config.Config, o audit.VerifyOptions) (report audit.Report, err error) {
	a := &App{cfg: cfg}
	st, err := a.database(ctx)
	if err != nil {
		return report, err
	}
	defer func() { //nolint:contextcheck // closing has its own limit: ctx may have ended
		if cerr := st.Close(); err == nil {
			err = cerr
		}
	}()
	o.Node, err = readNode(filepath.Join(cfg.DataDir, nodeFile))
	if err != nil {
		return report, err
	}
	if o.Node == "" {
		return report, junctor.Errorf(junctor.CodeNotFound, "no instance has run on the data directory %s yet", cfg.DataDir)
	}
	o.Dir = filepath.Join(cfg.DataDir, JournalDir)
	return audit.VerifyRecords(ctx, copied(st.AuditRecords(ctx, o.Node, 0)), o)
}

// proof is the journal for people who want it proved. One verification reads
// at a time: it reads the whole journal.
type proof struct {
	app  *App
	busy *sync.Mutex
}

// Verify verifies the journal of this node, while it is written.
func (p proof) Verify(ctx context.Context, tell func(audit.Progress)) (audit.Report, error) {
	if !p.busy.TryLock() {
		return audit.Report{}, junctor.Errorf(junctor.CodeConflict, "the journal is being verified already: wait until that is done")
	}
	defer p.busy.Unlock()
	return VerifyJournal(ctx, p.app.cfg, audit.VerifyOptions{Progress: tell})
}

// Export writes the journal of this node.
func (p proof) Export(ctx context.Context, w io.Writer, since, until time.Time) error {
	return audit.Export(ctx, w, filepath.Join(p.app.cfg.DataDir, JournalDir), since, until)
}

// copied gives stored records as the journal knows them.
func copied(rows iter.Seq2[store.AuditRecord, error]) iter.Seq2[audit.Record, error] {
	return func(yield func(audit.Record, error) bool) {
		for r, err := range rows {
			if !yield(audit.Record{Node: r.Node, Seq: r.Seq, Hash: r.Hash, Line: r.Line}, err) {
				return
			}
		}
	}
}
