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
const changeInterval = 2 * time.Second

// listChange is a list that changed, and the ID of the principal whose request changed it; ""
// if it changed otherwise.
type listChange struct{ list, party string }

// ListFeed tells streams which lists have changed on this replica. The zero ListFeed has no
// watchers.
type ListFeed struct {
	mu       sync.Mutex
	watchers map[*changeWatcher]struct{}
}

// changeWatcher collects the changes of one tenant. Equal changes are merged, so a slow
// stream holds few.
type changeWatcher struct {
	feed    *ListFeed
	tenant  junctor.TenantID
	ready   chan struct{}           // holds one
	pending map[listChange]struct{} // guarded by feed.mu
}

// watch starts to collect changes. The caller has to call stop.
func (f *ListFeed) watch(tenant junctor.TenantID) *changeWatcher {
	w := &changeWatcher{feed: f, tenant: tenant, ready: make(chan struct{}, 1), pending: map[listChange]struct{}{}}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.watchers == nil {
		f.watchers = map[*changeWatcher]struct{}{}
	}
	f.watchers[w] = struct{}{}
	return w
}

// NoteForAdmins tells the streams of the admins of a tenant that lists have changed. It does
// not block.
func (f *ListFeed) NoteForAdmins(tenant junctor.TenantID, lists ...string) {
	for _, list := range lists {
		f.note(tenant, listChange{list: list})
	}
}

// note passes a change to the watchers of its tenant. It does not block.
func (f *ListFeed) note(tenant junctor.TenantID, c listChange) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for w := range f.watchers {
		if w.tenant != tenant {
			continue
		}
		w.pending[c] = struct{}{}
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
	w.feed.mu.Lock()
	defer w.feed.mu.Unlock()
	for c := range w.pending {
		if p.Has(junctor.ScopeAdmin) && p.Agent == "" || c.party == p.ID() {
			lists[c.list] = true
		}
	}
	clear(w.pending)
}

// stop ends the collection.
func (w *changeWatcher) stop() {
	w.feed.mu.Lock()
	defer w.feed.mu.Unlock()
	delete(w.feed.watchers, w)
}

// changedList returns the list that a successful request for an operation changes, or "" if
// it changes none.
func changedList(method, operation, path string) string {
	if method == http.MethodGet {
		return ""
	}
	switch requiredScopes()[operation] {
	case junctor.ScopeAdmin, junctor.ScopeServersWrite, junctor.ScopeAgentsWrite, junctor.ScopeKeysWrite, junctor.ScopePolicyWrite, scopeOperator:
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
	requests, catalog := a.ListFeed.watch(callerOf(ctx).Tenant), a.WatchCatalog()
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
