package attention

import (
	"context"
	"slices"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Filter selects items. Zero members do not filter.
type Filter struct {
	Severity junctor.AttentionSeverity
	Kind     junctor.AttentionKind
	Limit    int // 0 is all
}

// List is what needs attention, as one principal may see it.
type List struct {
	Items []junctor.AttentionItem
	// Total counts the items that match the filter, and Counts and Kinds all that the principal
	// may see.
	Total  int
	Counts map[junctor.AttentionSeverity]int
	Kinds  map[junctor.AttentionKind]int
	// CheckedAt is when the sources that all replicas share were asked last.
	CheckedAt time.Time
}

// List asks the sources, so that it knows of everything that happened before, and returns the
// items that a principal may see, the most urgent first. It does not fail if the database does not answer:
// that is an item.
func (w *Watcher) List(ctx context.Context, p *junctor.Principal, f Filter) (List, error) {
	w.lookSince(ctx, time.Now(), passGap)
	return w.listCurrent(ctx, p, f)
}

// Peek is List without asking the sources.
func (w *Watcher) Peek(ctx context.Context, p *junctor.Principal, f Filter) (List, error) {
	return w.listCurrent(ctx, p, f)
}

func (w *Watcher) listCurrent(ctx context.Context, p *junctor.Principal, f Filter) (List, error) {
	out := List{Items: []junctor.AttentionItem{}, Counts: map[junctor.AttentionSeverity]int{}, Kinds: map[junctor.AttentionKind]int{}}
	rows, err := w.readRows(ctx)
	if ctx.Err() != nil {
		return out, junctor.Errorf(junctor.CodeCanceled, "the request ended")
	}
	now := w.o.Now()
	if err != nil {
		rows = append(w.lastRows(), w.unknownRow("database", "the database", junctor.AsError(err).Message, now))
	} else {
		var checks map[string]time.Time
		if checks, err = readChecks(ctx, w.o.DB); err == nil {
			out.CheckedAt = checks[sharedScope]
			rows = append(rows, w.staleRows(checks, now)...)
		} else {
			rows = append(rows, w.unknownRow("database", "the database", junctor.AsError(err).Message, now))
		}
	}
	visible, err := w.visibleTo(ctx, p)
	if err != nil {
		return out, err
	}
	for i := range rows {
		item, ok := visible(&rows[i])
		if !ok {
			continue
		}
		out.Counts[item.Severity]++
		out.Kinds[item.Kind]++
		if (f.Severity == "" || f.Severity == item.Severity) && (f.Kind == "" || f.Kind == item.Kind) {
			out.Items = append(out.Items, item)
		}
	}
	slices.SortFunc(out.Items, junctor.CompareAttention)
	if out.Total = len(out.Items); f.Limit > 0 && len(out.Items) > f.Limit {
		out.Items = out.Items[:f.Limit]
	}
	return out, nil
}

// visibleTo returns which rows a principal may see, and how much of them. Items of the whole
// instance are for its admins; those of a tenant for the tenant's admins and for whom they
// concern.
func (w *Watcher) visibleTo(ctx context.Context, p *junctor.Principal) (func(*row) (junctor.AttentionItem, bool), error) {
	if p.Agent == "" && p.Has(junctor.ScopeAdmin) {
		return func(r *row) (junctor.AttentionItem, bool) {
			return r.item, r.item.Tenant == p.Tenant || r.item.Tenant == "" && p.Operator()
		}, nil
	}
	sees, err := w.o.Visible(ctx, p)
	if err != nil {
		return nil, err
	}
	return func(r *row) (junctor.AttentionItem, bool) {
		if r.item.Tenant != p.Tenant || !sees(r.owner, r.server, &r.item) {
			return junctor.AttentionItem{}, false
		}
		item := r.item
		if quotesErrors(item.Kind) && (p.Agent != "" || !p.Is(r.owner)) {
			item.Problem, item.Advice = hiddenProblem, ""
		}
		return item, true
	}, nil
}

// hiddenProblem is the text for those who may know that something does not work, and not why.
const hiddenProblem = "it does not work; its owner and admins see the reason"

// quotesErrors reports whether items of a kind quote errors, which may have addresses and more.
func quotesErrors(kind junctor.AttentionKind) bool {
	return kind != junctor.AttentionApproval && kind != junctor.AttentionTools && kind != junctor.AttentionKey
}

// readRows reads the stored rows, adds what this replica could not store, and notifies those
// who wait for changes.
func (w *Watcher) readRows(ctx context.Context) ([]row, error) {
	stored, err := readAll(ctx, w.o.DB)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.setCurrent(w.addUnstored(stored))
	return slices.Clone(w.current), nil
}

// lastRows returns the rows as they were read last, with those that could not be stored.
func (w *Watcher) lastRows() []row {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.addUnstored(slices.Clone(w.current))
}

// addUnstored puts the rows that could not be stored in the place of those of their scope. The
// caller holds mu.
func (w *Watcher) addUnstored(rows []row) []row {
	for scope, unstored := range w.unstored {
		had := map[string]bool{}
		for i := range unstored {
			had[unstored[i].key()] = true
		}
		rows = slices.DeleteFunc(rows, func(r row) bool { return r.scope == scope && had[r.key()] })
		rows = append(rows, unstored...)
	}
	return rows
}

// setCurrent replaces the rows. The caller holds mu.
func (w *Watcher) setCurrent(rows []row) {
	slices.SortFunc(rows, func(a, b row) int { return junctor.CompareAttention(a.item, b.item) })
	same := slices.EqualFunc(rows, w.current, func(a, b row) bool { return a.equals(&b) })
	w.current = rows
	if !same {
		close(w.changed)
		w.changed = make(chan struct{})
	}
}

// staleRows returns an item for each scope that should have been looked through and was not:
// the one of all replicas, and that of this replica. Otherwise an empty list would say that
// all is well.
func (w *Watcher) staleRows(checks map[string]time.Time, now time.Time) (out []row) {
	w.mu.Lock()
	shared, local, unstored := w.checked[sharedScope], w.checked[w.localScope()], len(w.unstored)
	w.mu.Unlock()
	if at := checks[sharedScope]; at.After(shared) {
		shared = at
	}
	if now.Sub(shared) > staleAfter {
		out = append(out, w.unknownRow("leader", "servers, deliveries, keys and approvals", "the last check was "+formatSince(shared), shared))
	}
	if now.Sub(local) > staleAfter {
		out = append(out, w.unknownRow("replica", "the disk, the journal and the settings file of this replica", "the last check was "+formatSince(local), local))
	}
	if unstored > 0 {
		out = append(out, w.unknownRow("store", "what changes", "the database stores nothing, so that triggers receive no events", now))
	}
	return out
}

// formatSince completes "the last check was".
func formatSince(at time.Time) string {
	if at.IsZero() {
		return "never made"
	}
	return "at " + at.UTC().Format(time.RFC3339)
}

// unknownRow returns the item for a check that is not made. It is made for the one who asks
// and is not stored.
func (w *Watcher) unknownRow(name, title, reason string, since time.Time) row {
	r := newRow(w.localScope(), name, failedCheck(&Source{Name: name, Title: title}, junctor.Errorf(junctor.CodeUnavailable, "%s", reason)))
	if r.item.Since = since.UTC(); since.IsZero() {
		r.item.Since = w.o.Now().UTC()
	}
	return r
}
