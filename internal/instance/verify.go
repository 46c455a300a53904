package instance

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/audit"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/store"
)

// noteBothRolledBack names the one manipulation that no verification on this machine
// can show.
const noteBothRolledBack = "this check cannot see that the journal and the database were both restored from the same older copy: compare with an earlier export (junctor audit export) that you kept on another machine: --against FILE"

// VerifyJournal verifies the journal of the replica that the settings name: its chain and
// signatures, and what the database knows of it, which is the last copied record and
// the highest signed head. For a replica that has run, a missing journal is a finding.
// The instance may run.
func VerifyJournal(ctx context.Context, cfg *config.Config, o audit.VerifyOptions) (report audit.Report, err error) {
	replica, err := readReplicaName(cfg.DataDir)
	if err != nil {
		return report, err
	}
	if replica == "" { // nothing has run here, or only its files are left
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
	return verifyWithDatabase(ctx, cfg, st, replica, o)
}

// openToVerify opens the database that the settings name. It does not create a missing
// one, because a verification must not change anything.
func openToVerify(ctx context.Context, cfg *config.Config) (*store.Store, error) {
	if path := missingDatabase(cfg); path != "" {
		return nil, junctor.Errorf(junctor.CodeNotFound,
			"cannot compare the journal with its copy: no database at %s; name the instance's database with --db, or verify only the files with --files-only", path)
	}
	st, err := OpenDatabase(ctx, cfg)
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeOf(err), "cannot compare the journal with its copy; use --files-only to verify only the files: %w", err)
	}
	return st, nil
}

// missingDatabase returns the path of the SQLite file that the settings name if there is
// none. OpenDatabase would create it.
func missingDatabase(cfg *config.Config) string {
	path := filepath.Join(cfg.DataDir, "junctor.db")
	if _, err := os.Stat(path); cfg.DB == nil && errors.Is(err, fs.ErrNotExist) {
		return path
	}
	return ""
}

// verifyWithDatabase verifies the journal of a replica against the database.
func verifyWithDatabase(ctx context.Context, cfg *config.Config, st *store.Store, replica string, o audit.VerifyOptions) (r audit.Report, err error) {
	// Read first: while the journal grows it has more records than the database, never fewer.
	if o.Known, err = loadKnownChain(ctx, st, replica); err != nil {
		return r, err
	}
	o.Replica = replica
	exported := len(o.Heads) > 0
	if r, err = verifyFiles(ctx, cfg, replica, o); err != nil || !r.OK {
		return r, err
	}
	if err := compareChanges(ctx, cfg, st, replica, &r); err != nil {
		return r, err
	}
	if r.OK && !exported {
		r.Notes = append(r.Notes, noteBothRolledBack)
	}
	return r, err
}

// compareChanges compares the changes in the database with the records of this replica.
func compareChanges(ctx context.Context, cfg *config.Config, st *store.Store, replica string, r *audit.Report) error {
	records, err := audit.ListRecords(ctx, filepath.Join(cfg.DataDir, JournalDir), audit.Filter{Phase: audit.PhaseChange, Before: r.Last + 1})
	if err != nil {
		return err
	}
	rows, err := st.ReplicaAdminChanges(ctx, replica)
	if err != nil {
		return err
	}
	r.CompareChanges(records, rows)
	return nil
}

// VerifyFiles verifies only the files of the journal, if there is no database to
// compare them with.
func VerifyFiles(ctx context.Context, cfg *config.Config, o audit.VerifyOptions) (audit.Report, error) {
	replica, err := readReplicaName(cfg.DataDir)
	if err != nil {
		return audit.Report{}, err
	}
	r, err := verifyFiles(ctx, cfg, replica, o)
	if err == nil && r.OK && r.Records > 0 {
		r.Notes = append(r.Notes, "the files were not compared with the database, so a journal that was restored to an older state with its older head is not detected")
	}
	return r, err
}

func verifyFiles(ctx context.Context, cfg *config.Config, replica string, o audit.VerifyOptions) (audit.Report, error) {
	r, err := audit.Verify(ctx, filepath.Join(cfg.DataDir, JournalDir), o)
	if err == nil && r.OK && r.Records == 0 && replica != "" {
		r.Replica, r.OK, r.FirstBad = replica, false, &audit.BadRecord{Seq: 1, Reason: "the journal is missing: this replica has run, but it has no record and no signed head"}
	}
	return r, err
}

// VerifyCopy compares the copy of the journal in the database with the journal of this
// replica and its signed heads. The instance may run.
func VerifyCopy(ctx context.Context, cfg *config.Config, o audit.VerifyOptions) (report audit.Report, err error) {
	st, err := openToVerify(ctx, cfg)
	if err != nil {
		return report, err
	}
	defer func() { //nolint:contextcheck // closing has its own limit: ctx may have ended
		if cerr := st.Close(); err == nil {
			err = cerr
		}
	}()
	o.Replica, err = readReplicaName(cfg.DataDir)
	if err != nil {
		return report, err
	}
	if o.Replica == "" {
		return report, junctor.Errorf(junctor.CodeNotFound, "no instance has used the data directory %s yet", cfg.DataDir)
	}
	o.Dir = filepath.Join(cfg.DataDir, JournalDir)
	return audit.VerifyRecords(ctx, convertRecords(st.AuditRecords(ctx, o.Replica, 0)), o)
}

// JournalVerifier verifies and exports the journal of a running instance. It
// implements admin.Journal. Because a verification reads the whole journal, only one
// runs at a time.
type JournalVerifier struct {
	Config  *config.Config
	Store   *store.Store
	Journal *audit.Journal
	Replica string

	busy sync.Mutex
}

// Verify verifies the journal of this replica while it is being written.
func (p *JournalVerifier) Verify(ctx context.Context, tell func(audit.Progress)) (audit.Report, error) {
	if !p.busy.TryLock() {
		return audit.Report{}, junctor.Errorf(junctor.CodeConflict, "a verification of the journal is already running; wait until it ends")
	}
	defer p.busy.Unlock()
	// The head that this process signed counts too, even if the files were replaced.
	head, key := p.Journal.SignedHead()
	exported := audit.VerifyOptions{Progress: tell, Key: key, Heads: []audit.Head{head}}
	r, err := verifyWithDatabase(ctx, p.Config, p.Store, p.Replica, exported)
	if err == nil && r.OK {
		r.Notes = append(r.Notes, noteBothRolledBack)
	}
	return r, err
}

// Export writes the journal of this replica.
func (p *JournalVerifier) Export(ctx context.Context, w io.Writer, since, until time.Time) error {
	return audit.ExportRecords(ctx, w, filepath.Join(p.Config.DataDir, JournalDir), since, until)
}

// collectChanges yields records, and appends those of changes to a list.
func collectChanges(records iter.Seq2[audit.Record, error], changes *[]audit.Record) iter.Seq2[audit.Record, error] {
	return func(yield func(audit.Record, error) bool) {
		for r, err := range records {
			if strings.Contains(r.JSON, `"phase":"`+string(audit.PhaseChange)+`"`) {
				*changes = append(*changes, r)
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// convertRecords converts stored records into records of the journal.
func convertRecords(rows iter.Seq2[store.AuditRecord, error]) iter.Seq2[audit.Record, error] {
	return func(yield func(audit.Record, error) bool) {
		for r, err := range rows {
			if !yield(audit.Record{Replica: r.Replica, Seq: r.Seq, Hash: r.Hash, JSON: r.Line}, err) {
				return
			}
		}
	}
}
