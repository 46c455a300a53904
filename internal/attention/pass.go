package attention

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/telemetry"
)

// sharedScope is the scope of what the leader finds for all replicas.
const sharedScope = "shared"

// localPrefix begins the scope of what one replica finds for itself.
const localPrefix = "replica:"

// localScope returns the scope of this replica.
func (w *Watcher) localScope() string { return localPrefix + w.o.Replica }

// difference is what a pass changes in the rows of its scope.
type difference struct{ raised, updated, cleared []row }

// pass asks the sources of a scope and stores the difference to the rows that the scope has.
// What cannot be stored is kept in memory and shown nevertheless: a full disk is the reason for
// both.
func (w *Watcher) pass(ctx context.Context, scope string, sources []Source) {
	found, keeps := w.askSources(ctx, scope, sources)
	if ctx.Err() != nil {
		return
	}
	now := w.o.Now()
	stored, err := readScope(ctx, w.o.DB, scope)
	if err == nil {
		diff := compare(stored, found, keeps, now)
		err = w.store(ctx, scope, now, &diff)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.checked[scope] = now
	if err == nil {
		delete(w.unstored, scope)
		return
	}
	if ctx.Err() == nil {
		w.o.Log.WarnContext(ctx, "cannot store what needs attention; retrying", slog.String("scope", scope), telemetry.ErrorAttr(err))
	}
	former := map[string]time.Time{}
	for _, r := range slices.Concat(w.unstored[scope], stored) {
		former[r.key()] = r.item.Since
	}
	for i := range found {
		if since, ok := former[found[i].key()]; ok && found[i].item.Since.IsZero() {
			found[i].item.Since = since
		} else {
			complete(&found[i], now)
		}
	}
	w.unstored[scope] = found
}

// askSources returns what the sources of a scope find. A source that fails is an item, and its
// former items stay. keeps decides about stored rows that were not found.
func (w *Watcher) askSources(ctx context.Context, scope string, sources []Source) (found []row, keeps map[string]func(*junctor.AttentionItem) bool) {
	keeps = map[string]func(*junctor.AttentionItem) bool{}
	for i := range sources {
		s := &sources[i]
		report, err := s.List(ctx)
		if err != nil {
			keeps[s.Name] = func(*junctor.AttentionItem) bool { return true }
			report.Findings = append(report.Findings, failedCheck(s, err))
		} else {
			keeps[s.Name] = report.Keeps
		}
		for _, f := range report.Findings {
			found = append(found, newRow(scope, s.Name, f))
		}
	}
	return found, keeps
}

// failedCheck returns the item for a source that cannot be read.
func failedCheck(s *Source, err error) Finding {
	return Finding{Key: s.Name, AttentionItem: junctor.AttentionItem{
		Kind: junctor.AttentionCheck, Severity: junctor.SeverityCritical, Object: junctor.AttentionObject{Kind: "check", ID: s.Name, Name: s.Title},
		Problem: "cannot check " + s.Title + ": " + junctor.AsError(err).Message, Command: "junctor doctor",
		Advice: "Until it can be checked again, problems of this kind are not noticed.", Console: "/settings",
	}}
}

// newRow returns the row of a finding, without its times.
func newRow(scope, source string, f Finding) row {
	item := f.AttentionItem
	item.Instance = item.Tenant == ""
	if name, local := strings.CutPrefix(scope, localPrefix); local {
		item.Replica = name
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{string(item.Tenant), string(item.Kind), item.Replica, f.Key}, "\x00")))
	item.ID = hex.EncodeToString(sum[:8])
	return row{scope: scope, source: source, owner: f.Owner, server: f.Server, item: item}
}

// compare returns what has to change so that the stored rows become what was found. An item
// that becomes more urgent is raised again.
func compare(stored, found []row, keeps map[string]func(*junctor.AttentionItem) bool, now time.Time) (d difference) {
	former := make(map[string]*row, len(stored))
	for i := range stored {
		former[stored[i].key()] = &stored[i]
	}
	seen := map[string]bool{}
	for i := range found {
		r := found[i]
		if seen[r.key()] {
			continue
		}
		seen[r.key()] = true
		was := former[r.key()]
		if was == nil {
			complete(&r, now)
			d.raised = append(d.raised, r)
			continue
		}
		r.raisedAt = was.raisedAt
		if r.item.Since.IsZero() {
			r.item.Since = was.item.Since
		}
		if !r.equals(was) {
			r.moreUrgent = junctor.CompareAttention(junctor.AttentionItem{Severity: r.item.Severity}, junctor.AttentionItem{Severity: was.item.Severity}) < 0
			d.updated = append(d.updated, r)
		}
	}
	for i := range stored {
		r := &stored[i]
		if keep := keeps[r.source]; !seen[r.key()] && (r.item.Kind == junctor.AttentionCheck || keep == nil || !keep(&r.item)) {
			d.cleared = append(d.cleared, *r)
		}
	}
	return d
}

// complete sets the times of a row that appears now. Times are stored in microseconds.
func complete(r *row, now time.Time) {
	if r.item.Since.IsZero() || r.item.Since.After(now) {
		r.item.Since = now
	}
	r.item.Since = r.item.Since.UTC().Truncate(time.Microsecond)
	r.raisedAt = now.UTC().Truncate(time.Microsecond)
}

// store stores a difference with its events, and that the scope was looked through. Two
// replicas may store the same difference: the rows decide who changes something, and only who
// does stores the event.
func (w *Watcher) store(ctx context.Context, scope string, now time.Time, d *difference) error {
	if len(d.raised)+len(d.updated)+len(d.cleared) == 0 {
		return noteCheck(ctx, w.o.DB, scope, now)
	}
	err := w.o.Write(ctx, func(ctx context.Context, tx Transaction) error {
		for i := range d.raised {
			if err := storeAndRaise(ctx, tx, insertRow, &d.raised[i], junctor.EventAttentionRaised); err != nil {
				return err
			}
		}
		for i := range d.updated {
			event := ""
			if d.updated[i].moreUrgent {
				event = junctor.EventAttentionRaised
			}
			if err := storeAndRaise(ctx, tx, updateRow, &d.updated[i], event); err != nil {
				return err
			}
		}
		for i := range d.cleared {
			if err := storeAndRaise(ctx, tx, deleteRow, &d.cleared[i], junctor.EventAttentionCleared); err != nil {
				return err
			}
		}
		return nil
	})
	return errors.Join(err, noteCheck(ctx, w.o.DB, scope, now))
}

// storeAndRaise changes a row, and stores an event of the given type if the row was not as it
// has to be already.
func storeAndRaise(ctx context.Context, tx Transaction, change func(context.Context, Transaction, *row) (bool, error), r *row, event string) error {
	changed, err := change(ctx, tx, r)
	if err != nil || !changed || event == "" {
		return err
	}
	data, err := json.Marshal(r.item)
	if err != nil {
		return err
	}
	return tx.Raise(ctx, cmp.Or(r.item.Tenant, junctor.DefaultTenant), junctor.RaisedEvent{
		Source: junctor.AttentionSource(r.item.Kind), Type: event, Data: data,
		Dedupe: strings.Join([]string{event, r.item.ID, string(r.item.Severity), strconv.FormatInt(r.raisedAt.UnixMicro(), 36)}, ":"),
	})
}

// forgetReplicas clears the items of replicas that have not looked for a while.
func (w *Watcher) forgetReplicas(ctx context.Context) {
	scopes, err := readChecks(ctx, w.o.DB)
	now := w.o.Now()
	for scope, at := range scopes {
		if err != nil || scope == sharedScope || scope == w.localScope() || now.Sub(at) < forgetReplicaAfter {
			continue
		}
		var rows []row
		if rows, err = readScope(ctx, w.o.DB, scope); err != nil {
			break
		}
		if err = w.store(ctx, scope, at, &difference{cleared: rows}); err == nil {
			err = forgetCheck(ctx, w.o.DB, scope)
		}
	}
	if err != nil && ctx.Err() == nil {
		w.o.Log.WarnContext(ctx, "cannot clear what former replicas found; retrying", telemetry.ErrorAttr(err))
	}
}
