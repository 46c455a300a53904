package admin

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// CatalogChanges collects changes of the catalog for one stream.
type CatalogChanges interface {
	// Ready returns a channel that has a value when Take may return true.
	Ready() <-chan struct{}
	// Take reports whether lists that the principal sees have changed since the former Take.
	Take(p *junctor.Principal) bool
	// Stop ends the collection.
	Stop()
}

// ListChanges names lists that have changed, so that a client reads only those again.
type ListChanges struct {
	Lists []string `json:"lists" nullable:"false" doc:"Names of lists, such as servers for GET /servers and what is below it. The name * stands for all lists."`
}

// allLists is the name that stands for all lists.
const allLists = "*"

// changeInterval is the minimum time between two notices of changes on a stream.
const changeInterval = 500 * time.Millisecond

// listChange is a list that a request changed, and the ID of the principal who did it.
type listChange struct{ list, party string }

// changeHub tells streams which lists the requests of this replica have changed. The zero
// changeHub has no watchers.
type changeHub struct {
	mu       sync.Mutex
	watchers map[*changeWatcher]struct{}
}

// changeWatcher collects the changes of one tenant. Equal changes are merged, so a slow
// stream holds few.
type changeWatcher struct {
	hub     *changeHub
	tenant  junctor.TenantID
	ready   chan struct{}           // holds one
	pending map[listChange]struct{} // guarded by hub.mu
}

// watch starts to collect changes. The caller has to call stop.
func (h *changeHub) watch(tenant junctor.TenantID) *changeWatcher {
	w := &changeWatcher{hub: h, tenant: tenant, ready: make(chan struct{}, 1), pending: map[listChange]struct{}{}}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watchers == nil {
		h.watchers = map[*changeWatcher]struct{}{}
	}
	h.watchers[w] = struct{}{}
	return w
}

// note passes a change to the watchers of its tenant. It does not block.
func (h *changeHub) note(p *junctor.Principal, list string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watchers {
		if w.tenant != p.Tenant {
			continue
		}
		w.pending[listChange{list, p.ID()}] = struct{}{}
		select {
		case w.ready <- struct{}{}:
		default:
		}
	}
}

// take returns the lists that changed since the former take, as far as a principal may know
// of it: admins all, others what they changed themselves. So nobody learns from a notice
// that something changed which they may not see.
func (w *changeWatcher) take(p *junctor.Principal, lists map[string]bool) {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	for c := range w.pending {
		if p.Has(junctor.ScopeAdmin) && p.Agent == "" || c.party == p.ID() {
			lists[c.list] = true
		}
	}
	clear(w.pending)
}

// stop ends the collection.
func (w *changeWatcher) stop() {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	delete(w.hub.watchers, w)
}

// changedList returns the list that a successful request for an operation changes, or "" if
// it changes none.
func changedList(method, operation, path string) string {
	if method == http.MethodGet {
		return ""
	}
	switch requiredScopes()[operation] {
	case junctor.ScopeAdmin, junctor.ScopeServersWrite, junctor.ScopeAgentsWrite, junctor.ScopeKeysWrite, scopeOperator:
	default: // calls, conversations, and what concerns the caller alone
		return ""
	}
	list, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if list == "apply" || list == "packs" {
		return allLists
	}
	return list
}

// pushChanges sends events named changed on a stream: lists that have changed, as far as the
// caller sees them. stop ends it and waits until nothing is written any more. It
// authenticates the request again for each event.
func (a *api) pushChanges(ctx context.Context, r *http.Request, out *eventStream) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	requests, catalog := a.changes.watch(callerOf(ctx).Tenant), a.WatchCatalog()
	var work sync.WaitGroup
	work.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-requests.ready:
			case <-catalog.Ready():
			}
			a.sendChanges(r, requests, catalog, out)
			select {
			case <-ctx.Done():
				return
			case <-time.After(changeInterval):
			}
		}
	})
	return func() {
		cancel()
		work.Wait()
		requests.stop()
		catalog.Stop()
	}
}

// sendChanges sends the lists that changed since it was called last.
func (a *api) sendChanges(r *http.Request, requests *changeWatcher, catalog CatalogChanges, out *eventStream) {
	p, err := a.Authenticate(r)
	if err != nil || p.Tenant != requests.tenant {
		return
	}
	lists := map[string]bool{}
	requests.take(p, lists)
	if catalog.Take(p) {
		lists["servers"], lists["tools"], lists["apps"] = true, true, true
	}
	if len(lists) > 0 {
		out.sendEvent("changed", ListChanges{Lists: slices.Sorted(maps.Keys(lists))})
	}
}
