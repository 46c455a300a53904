package app

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/audit"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/store"
)

// noteBothRolledBack says what no verification on this machine can show.
const noteBothRolledBack = "a journal and a database that were put back together to the same older state would not show here: keep exports elsewhere (junctor audit export) and give them with --against"

// VerifyJournal verifies the journal of the node that the settings name, against
// its own chain and signatures and against what the database knows of it: the last
// copied record and the highest signed head. A node that has run has a journal:
// where it is gone, with all that was signed, that is what is found. The instance
// may be running.
func VerifyJournal(ctx context.Context, cfg *config.Config, o audit.VerifyOptions) (report audit.Report, err error) {
	node, err := readNode(filepath.Join(cfg.DataDir, nodeFile))
	if err != nil {
		return report, err
	}
	if node == "" { // nothing has run here, or only its files are left
		return VerifyFiles(ctx, cfg, o)
	}
	st, err := openToVerify(ctx, cfg)
	if err != nil {
		return report, err
	}
	defer func() { //nolint:contextcheck // closing has its own limit: ctx may have ended
		if cerr := st.Close(); err == nil {
			err = cerr
		}
	}()
	return verifyKnown(ctx, cfg, st, node, o)
}

// openToVerify opens the database that the settings name. One that is not there is
// not made: to verify changes nothing.
func openToVerify(ctx context.Context, cfg *config.Config) (*store.Store, error) {
	path := filepath.Join(cfg.DataDir, "junctor.db")
	if _, err := os.Stat(path); cfg.DB == nil && errors.Is(err, fs.ErrNotExist) {
		return nil, junctor.Errorf(junctor.CodeNotFound,
			"the journal cannot be compared with its copy: there is no database at %s; name the instance's database with --db, or verify the files alone with --files-only", path)
	}
	st, err := (&App{cfg: cfg}).database(ctx)
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeOf(err), "the journal cannot be compared with its copy; --files-only verifies the files alone: %w", err)
	}
	return st, nil
}

// verifyKnown verifies the journal of a node against a database.
func verifyKnown(ctx context.Context, cfg *config.Config, st *store.Store, node string, o audit.VerifyOptions) (r audit.Report, err error) {
	// First, since the journal may be growing: it has more than the database, never less.
	if o.Known, err = knownOf(ctx, st, node); err != nil {
		return r, err
	}
	o.Node = node
	exported := len(o.Heads) > 0
	if r, err = verifyFiles(ctx, cfg, node, o); err == nil && r.OK && !exported {
		r.Notes = append(r.Notes, noteBothRolledBack)
	}
	return r, err
}

// VerifyFiles verifies the files of the journal alone, for when there is no
// database to compare them with.
func VerifyFiles(ctx context.Context, cfg *config.Config, o audit.VerifyOptions) (audit.Report, error) {
	node, err := readNode(filepath.Join(cfg.DataDir, nodeFile))
	if err != nil {
		return audit.Report{}, err
	}
	r, err := verifyFiles(ctx, cfg, node, o)
	if err == nil && r.OK && r.Records > 0 {
		r.Notes = append(r.Notes, "the files were not compared with the database: a journal that was put back to an older state, with the head of then, would not show")
	}
	return r, err
}

func verifyFiles(ctx context.Context, cfg *config.Config, node string, o audit.VerifyOptions) (audit.Report, error) {
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

// JournalProblems is what is wrong with the journal while records are being
// written: a chain that did not hold, or records that the database knows and the
// journal does not have.
func (a *App) JournalProblems() []string { return a.journal.State().Problems }

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
	// What this process signed counts too, whatever has become of the files since.
	head, key := p.app.journal.Signed()
	exported := audit.VerifyOptions{Progress: tell, Key: key, Heads: []audit.Head{head}}
	r, err := verifyKnown(ctx, p.app.cfg, p.app.store, p.app.node, exported)
	if err == nil && r.OK {
		r.Notes = append(r.Notes, noteBothRolledBack)
	}
	return r, err
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
