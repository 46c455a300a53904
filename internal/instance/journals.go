package instance

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/audit"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/telemetry"
)

// journalSetting is the prefix of the settings in which replicas announce how far their
// journal is copied. It tells other replicas that the journal exists.
const journalSetting = "journal/"

// announcement is what a replica announces of its journal, signed by its own key.
type announcement struct {
	Key  ed25519.PublicKey `json:"key"`
	Head audit.Head        `json:"head"`
}

// AnnounceJournal stores how far the journal is copied, signed, for the replicas that
// share the database.
func AnnounceJournal(ctx context.Context, st *store.Store, j *audit.Journal) error {
	head, key := j.SignedHead()
	text, err := json.Marshal(announcement{Key: key, Head: head})
	if err != nil {
		return err
	}
	return st.For(junctor.DefaultTenant).PutSetting(ctx, journalSetting+head.Replica, text)
}

// loadAnnouncements returns the last announcement of each replica.
func loadAnnouncements(ctx context.Context, st *store.Store) (map[string]announcement, error) {
	all, err := st.For(junctor.DefaultTenant).Settings(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]announcement{}
	for _, set := range all {
		replica, ok := strings.CutPrefix(set.Key, journalSetting)
		if !ok {
			continue
		}
		var s announcement
		if err := json.Unmarshal(set.Value, &s); err != nil || len(s.Key) != ed25519.PublicKeySize {
			return nil, junctor.Errorf(junctor.CodeConflict, "cannot read the journal status of the replica %s, because the setting %s was changed", replica, set.Key)
		}
		out[replica] = s
	}
	return out, nil
}

// JournalReport is the result for one replica's journal, or for its copy.
type JournalReport struct {
	Copy bool `json:"copy"` // the records in the database; otherwise the files of this replica
	audit.Report
}

// VerifyAll verifies the journal of this replica and the copies of all replicas. The copy of
// this replica is compared with its journal, the others with their last announcement.
func VerifyAll(ctx context.Context, cfg *config.Config) (reports []JournalReport, err error) {
	replica, err := readReplicaName(cfg.DataDir)
	if err != nil {
		return nil, err
	}
	st, err := openToVerify(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer func() { //nolint:contextcheck // closing has its own limit: ctx may have ended
		if cerr := st.Close(); err == nil {
			err = cerr
		}
	}()
	own, err := verifyWithDatabase(ctx, cfg, st, replica, audit.VerifyOptions{})
	if err != nil {
		return nil, err
	}
	reports = append(reports, JournalReport{Report: own})
	announced, err := loadAnnouncements(ctx, st)
	if err != nil {
		return nil, err
	}
	stored, err := st.AuditReplicas(ctx)
	if err != nil {
		return nil, err
	}
	replicas := slices.Concat(stored, slices.Collect(maps.Keys(announced)))
	slices.Sort(replicas)
	for _, replica := range slices.Compact(replicas) {
		o := audit.VerifyOptions{Replica: replica, RemoteReplica: true}
		if s, ok := announced[replica]; ok {
			o.Key, o.Heads = s.Key, []audit.Head{s.Head}
		}
		if replica == own.Replica {
			o = audit.VerifyOptions{Replica: replica, Dir: filepath.Join(cfg.DataDir, JournalDir)}
		}
		var changes []audit.Record
		r, err := audit.VerifyRecords(ctx, collectChanges(convertRecords(st.AuditRecords(ctx, replica, 0)), &changes), o)
		if err == nil && r.OK && replica != own.Replica {
			var rows []junctor.AdminChange
			if rows, err = st.ReplicaAdminChanges(ctx, replica); err == nil {
				r.CompareChanges(changes, rows)
			}
		}
		if err != nil {
			return nil, err
		}
		reports = append(reports, JournalReport{Copy: true, Report: r})
	}
	return reports, nil
}

// ShipResult is the result of ShipJournal.
type ShipResult struct {
	Replica string `json:"replica"`
	Had     uint64 `json:"had"`    // number of the last record that the database had
	Copied  uint64 `json:"copied"` // number of the last record that it has now
}

// ShipJournal copies the records that the database lacks from the journal in a data
// directory. It is for a replica that no longer runs and whose disk was recovered.
func ShipJournal(ctx context.Context, cfg *config.Config) (out ShipResult, err error) {
	log, err := telemetry.NewLogger(os.Stderr, cfg.LogLevel, cfg.LogFormat)
	if err != nil {
		return out, err
	}
	if out.Replica, err = readReplicaName(cfg.DataDir); err != nil {
		return out, err
	}
	if out.Replica == "" {
		return out, junctor.Errorf(junctor.CodeNotFound, "no instance has used the data directory %s; set --data-dir to the directory of the instance whose journal you want to copy", cfg.DataDir)
	}
	if path := missingDatabase(cfg); path != "" {
		return out, junctor.Errorf(junctor.CodeNotFound, "the journal cannot be copied: there is no database at %s; name the instance's database with --db", path)
	}
	st, err := OpenDatabase(ctx, cfg)
	if err != nil {
		return out, err
	}
	defer func() { //nolint:contextcheck // closing has its own limit: ctx may have ended
		if cerr := st.Close(); err == nil {
			err = cerr
		}
	}()
	if out.Had, err = st.AuditShipped(ctx, out.Replica); err != nil {
		return out, err
	}
	j, err := audit.Open(ctx, audit.Options{
		Dir: filepath.Join(cfg.DataDir, JournalDir), Replica: out.Replica, Shipper: NewJournalStore(st), Logger: log,
	})
	if err != nil {
		return out, err
	}
	if err := j.Close(ctx); err != nil { // copies the remaining records
		return out, err
	}
	head, _ := j.SignedHead()
	if out.Copied, err = st.AuditShipped(ctx, out.Replica); err != nil {
		return out, err
	}
	if out.Copied < head.Seq {
		return out, junctor.Errorf(junctor.CodeUnavailable, "the database has %d records of the replica %s, but the journal has %d; see the log for the reason", out.Copied, out.Replica, head.Seq)
	}
	return out, AnnounceJournal(ctx, st, j)
}
