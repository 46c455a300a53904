package app

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

// journalSetting begins the names of settings in which nodes state how far the copy
// of their journal was: the others know by it that there is one, and what it had.
const journalSetting = "journal/"

// statement is what a node says of its journal, signed by its own key.
type statement struct {
	Key  ed25519.PublicKey `json:"key"`
	Head audit.Head        `json:"head"`
}

// stateJournal tells those who share the database how far this node's journal is
// copied. What is not told now is told later.
func (a *App) stateJournal(ctx context.Context) {
	if a.peers == nil {
		return
	}
	if err := writeStatement(ctx, a.store, a.journal); err != nil && ctx.Err() == nil {
		a.log.Warn("the others could not be told how far the journal is copied; it is tried again", telemetry.Err(err))
	}
}

func writeStatement(ctx context.Context, st *store.Store, j *audit.Journal) error {
	head, key := j.Signed()
	text, err := json.Marshal(statement{Key: key, Head: head})
	if err != nil {
		return err
	}
	return st.For(junctor.DefaultTenant).PutSetting(ctx, journalSetting+head.Node, text)
}

// statements reads what all nodes said last.
func statements(ctx context.Context, st *store.Store) (map[string]statement, error) {
	all, err := st.For(junctor.DefaultTenant).Settings(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]statement{}
	for _, set := range all {
		node, ok := strings.CutPrefix(set.Key, journalSetting)
		if !ok {
			continue
		}
		var s statement
		if err := json.Unmarshal(set.Value, &s); err != nil || len(s.Key) != ed25519.PublicKeySize {
			return nil, junctor.Errorf(junctor.CodeConflict, "what the node %s says of its journal cannot be read: the setting %s was changed", node, set.Key)
		}
		out[node] = s
	}
	return out, nil
}

// JournalReport is what was found of one node's journal, or of its copy.
type JournalReport struct {
	Copy bool `json:"copy"` // the records in the database; otherwise the files of this node
	audit.Report
}

// VerifyAll verifies the journal of this node, and the copies of all nodes: against
// the journal where it is here, against what its node said last where it is not.
func VerifyAll(ctx context.Context, cfg *config.Config) (reports []JournalReport, err error) {
	node, err := readNode(filepath.Join(cfg.DataDir, nodeFile))
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
	own, err := verifyKnown(ctx, cfg, st, node, audit.VerifyOptions{})
	if err != nil {
		return nil, err
	}
	reports = append(reports, JournalReport{Report: own})
	said, err := statements(ctx, st)
	if err != nil {
		return nil, err
	}
	stored, err := st.AuditNodes(ctx)
	if err != nil {
		return nil, err
	}
	nodes := slices.Concat(stored, slices.Collect(maps.Keys(said)))
	slices.Sort(nodes)
	for _, node := range slices.Compact(nodes) {
		o := audit.VerifyOptions{Node: node, Foreign: true}
		if s, ok := said[node]; ok {
			o.Key, o.Heads = s.Key, []audit.Head{s.Head}
		}
		if node == own.Node {
			o = audit.VerifyOptions{Node: node, Dir: filepath.Join(cfg.DataDir, JournalDir)}
		}
		r, err := audit.VerifyRecords(ctx, copied(st.AuditRecords(ctx, node, 0)), o)
		if err != nil {
			return nil, err
		}
		reports = append(reports, JournalReport{Copy: true, Report: r})
	}
	return reports, nil
}

// Shipped is what came of copying a journal.
type Shipped struct {
	Node   string `json:"node"`
	Had    uint64 `json:"had"`    // the last record that the database had
	Copied uint64 `json:"copied"` // and the one it has now: the journal's last
}

// ShipJournal copies what the database lacks of the journal in a data directory
// whose node does not run: its machine is gone, and its disk is here.
func ShipJournal(ctx context.Context, cfg *config.Config) (out Shipped, err error) {
	a := &App{cfg: cfg}
	if a.log, err = telemetry.NewLogger(os.Stderr, cfg.LogLevel, cfg.LogFormat); err != nil {
		return out, err
	}
	if out.Node, err = readNode(filepath.Join(cfg.DataDir, nodeFile)); err != nil {
		return out, err
	}
	if out.Node == "" {
		return out, junctor.Errorf(junctor.CodeNotFound, "no instance has run on the data directory %s: name the one whose journal is to be copied with --data-dir", cfg.DataDir)
	}
	st, err := a.database(ctx)
	if err != nil {
		return out, err
	}
	defer func() { //nolint:contextcheck // closing has its own limit: ctx may have ended
		if cerr := st.Close(); err == nil {
			err = cerr
		}
	}()
	if out.Had, err = st.AuditShipped(ctx, out.Node); err != nil {
		return out, err
	}
	j, err := audit.Open(ctx, audit.Options{
		Dir: filepath.Join(cfg.DataDir, JournalDir), Node: out.Node, Ship: &shipper{store: st}, Logger: a.log,
	})
	if err != nil {
		return out, err
	}
	if err := j.Close(ctx); err != nil { // which copies all that is left
		return out, err
	}
	head, _ := j.Signed()
	if out.Copied, err = st.AuditShipped(ctx, out.Node); err != nil {
		return out, err
	}
	if out.Copied < head.Seq {
		return out, junctor.Errorf(junctor.CodeUnavailable, "the database has %d records of the node %s, and the journal %d; the log says why", out.Copied, out.Node, head.Seq)
	}
	return out, writeStatement(ctx, st, j)
}
