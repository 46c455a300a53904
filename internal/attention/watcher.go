package attention

import (
	"context"
	"log/slog"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"
)

const (
	// interval is how often the sources are asked.
	interval = 15 * time.Second
	// passGap is the least time between the beginnings of two passes that callers cause.
	passGap = 200 * time.Millisecond
	// passTimeout bounds a pass: a source that hangs must not hide what the others find.
	passTimeout = 30 * time.Second
	// staleAfter is when a scope that was not looked through becomes an item.
	staleAfter = 2 * time.Minute
	// forgetReplicaAfter is when the items of a replica that no longer looks are cleared. The
	// replica itself is an item then, or it left for good.
	forgetReplicaAfter = 10 * time.Minute
)

// Finding is an item as a source finds it.
type Finding struct {
	// Key identifies the item among those of its kind and tenant.
	Key string
	junctor.AttentionItem
	// Owner is the ID of the principal who may see the item beside admins, and Server the
	// server that others must know of to see it. If both are "", only admins see it.
	Owner, Server string
}

// Report is what a source found.
type Report struct {
	Findings []Finding
	// Keeps reports whether an item that was found before and is not found now stays,
	// because the source cannot tell at the moment. nil means never.
	Keeps func(item *junctor.AttentionItem) bool
}

// Source lists what needs attention now.
type Source struct {
	// Name identifies the source. Title completes "cannot check ...".
	Name, Title string
	List        func(ctx context.Context) (Report, error)
}

// Transaction is a transaction in which items are stored together with their events.
type Transaction interface {
	store.Statements
	// Raise stores an event with the deliveries that its triggers make.
	Raise(ctx context.Context, tenant junctor.TenantID, e junctor.RaisedEvent) error
}

// Options configures New. All fields but Visible and Broadcast are required.
type Options struct {
	DB store.Database
	// Write runs fn in a transaction. fn may run more than once.
	Write func(ctx context.Context, fn func(ctx context.Context, tx Transaction) error) error
	// Shared are the sources that the leader asks for all replicas, and Local those that each
	// replica asks for itself.
	Shared, Local []Source
	// IsLeader reports whether this replica asks the shared sources now.
	IsLeader func() bool
	// Visible returns which items of its tenant a principal may see who is no admin.
	Visible func(ctx context.Context, p *junctor.Principal) (func(owner, server string, item *junctor.AttentionItem) bool, error)
	Replica string // lasting name of this replica
	Now     func() time.Time
	Log     *slog.Logger
}

// Watcher keeps the list of items. It is safe for concurrent use.
type Watcher struct {
	o Options

	passing  chan struct{} // holds one while nobody makes a pass
	passedAt time.Time     // beginning of the last pass, by time.Now; for who makes one

	mu       sync.Mutex
	checked  map[string]time.Time // by scope: when this replica looked through it last
	unstored map[string][]row     // by scope: found by the last pass, which could not be stored
	current  []row                // as read last, for metrics and for a database that does not answer
	changed  chan struct{}        // closed when current changes
}

// New returns a Watcher. Run makes it look.
func New(o Options) (*Watcher, error) {
	if o.DB.Read == nil || o.Write == nil || o.IsLeader == nil || o.Visible == nil || o.Now == nil || o.Log == nil || o.Replica == "" {
		return nil, junctor.Errorf(junctor.CodeInternal, "attention: DB, Write, IsLeader, Visible, Replica, Now and Log are required")
	}
	w := &Watcher{o: o, passing: make(chan struct{}, 1), checked: map[string]time.Time{}, unstored: map[string][]row{}, changed: make(chan struct{})}
	w.passing <- struct{}{}
	return w, nil
}

// Run asks the sources until ctx ends.
func (w *Watcher) Run(ctx context.Context) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for ctx.Err() == nil {
		w.lookSince(ctx, time.Now(), 0)
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// Changed returns a channel that is closed when the list changes next.
func (w *Watcher) Changed() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changed
}

// Reload reads the list again after another replica has changed it.
func (w *Watcher) Reload(ctx context.Context) error {
	_, err := w.readRows(ctx)
	return err
}

// CollectGauges sets the numbers of items by severity, for telemetry.Metrics.AddCollector.
func (w *Watcher) CollectGauges(set func(name, help, label, value string, number float64)) {
	counts := map[junctor.AttentionSeverity]int{}
	for _, r := range w.lastRows() {
		counts[r.item.Severity]++
	}
	for _, severity := range junctor.AttentionSeverities() {
		set("junctor_attention_items", "Items that need attention, of all tenants, by severity.", "severity", string(severity), float64(counts[severity]))
	}
}

// lookSince makes a pass, unless one has begun since a time: what happened before that time
// is found. Callers that come together share a pass, and those that come one after another
// wait until gap has passed since the last one began.
func (w *Watcher) lookSince(ctx context.Context, asked time.Time, gap time.Duration) {
	select {
	case <-ctx.Done():
		return
	case <-w.passing:
	}
	defer func() { w.passing <- struct{}{} }()
	if w.passedAt.After(asked) {
		return
	}
	if wait := gap - time.Since(w.passedAt); wait > 0 {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
	w.passedAt = time.Now()
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	w.pass(ctx, w.localScope(), w.o.Local)
	if w.o.IsLeader() {
		w.pass(ctx, sharedScope, w.o.Shared)
		w.forgetReplicas(ctx)
	}
	_, _ = w.readRows(ctx) // a failure is told to those who ask for the list
}
