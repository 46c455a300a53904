package catalog

import (
	"bytes"
	"slices"
	"sync"

	junctor "github.com/junctor-mcp/junctor"
)

// Change is a notification: lists of a tenant changed, a resource has new
// content, or a task has another state. A change of access rules names the
// agent or user that it concerns.
type Change struct {
	Tenant                    junctor.TenantID
	Server                    string
	Tools, Prompts, Resources bool
	URI                       string // the server's own; set for an updated resource only
	Party                     string // the Principal.ID that the resource or task concerns; "" means everybody
	Task                      TaskState

	Agent string // only for this agent, by name
	User  string // only for this user, by id

	Far bool // another replica with the same servers reported it
}

// Concerns reports whether a change is about something that p sees in the
// scope. Call it on the shelf after the change, of the same tenant.
func (sh *Shelf) Concerns(p *junctor.Principal, scope Scope, ch Change) bool {
	switch {
	case ch.Party != "" && ch.Party != p.ID():
		return false
	case ch.Agent != "":
		return p.Agent == ch.Agent
	// A choice of sources matters only in scopes that join servers.
	case ch.User != "":
		return p.Agent == "" && p.User == ch.User && scope.Server == ""
	case scope.Server != "" && scope.Server != ch.Server:
		return false
	}
	s := sh.byID[ch.Server]
	switch {
	case s == nil: // the server is detached, and nobody knows any more who saw it
		return canReadCatalog(p)
	case ch.URI != "":
		return sh.Visible(p, scope, s, junctor.KindResource, ch.URI) == ""
	}
	return sh.Visible(p, scope, s, "", "") == ""
}

// Watcher collects changes for one listener. A slow listener loses nothing and
// delays nobody: until it takes them, equal changes are merged, and only the
// last state of each task is kept.
type Watcher struct {
	hub    *changeHub
	signal chan struct{}

	mu      sync.Mutex
	pending []Change
}

// changeHub passes changes to all watchers.
type changeHub struct {
	mu       sync.Mutex
	watchers map[*Watcher]struct{}
}

// Watch starts to collect changes. The caller must call Stop when done.
func (c *Catalog) Watch() *Watcher {
	w := &Watcher{hub: &c.hub, signal: make(chan struct{}, 1)}
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	if c.hub.watchers == nil {
		c.hub.watchers = map[*Watcher]struct{}{}
	}
	c.hub.watchers[w] = struct{}{}
	return w
}

// Tell announces a change that another replica with the same servers has
// received from one of them: new content of a resource, or the state of a task.
func (c *Catalog) Tell(ch Change) {
	ch.Far = true
	c.mu.Lock()
	defer c.mu.Unlock()
	c.announceChange(ch)
}

// Ready returns a channel that has a value when Take may return something.
func (w *Watcher) Ready() <-chan struct{} { return w.signal }

// Take returns the changes since the last call.
func (w *Watcher) Take() []Change {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.pending
	w.pending = nil
	return p
}

// Stop ends the watch. Ready is not closed.
func (w *Watcher) Stop() {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	delete(w.hub.watchers, w)
}

// sendChange passes a change to every watcher. It does not block.
func (h *changeHub) sendChange(ch Change) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watchers {
		w.addChange(ch)
	}
}

// addChange merges a change into the pending ones and signals the listener.
func (w *Watcher) addChange(ch Change) {
	w.mu.Lock()
	if ch.Task.ID != "" {
		w.pending = slices.DeleteFunc(w.pending, func(old Change) bool { return old.Task.ID == ch.Task.ID })
	}
	if !slices.Contains(w.pending, ch) {
		w.pending = append(w.pending, ch)
	}
	w.mu.Unlock()
	// One pending signal is enough: Take returns all changes.
	select {
	case w.signal <- struct{}{}:
	default:
	}
}

// compareOffers returns which lists differ between two offers of one server. What an
// operator states of a tool, and trust in the server's annotations, are part of the tools:
// rules may hide a tool because of them.
func compareOffers(a, b *Offer) Change {
	sameResource := func(x, y ResourceDef) bool { return x.URI == y.URI && bytes.Equal(x.JSON, y.JSON) }
	return Change{
		Tools: a.Believed != b.Believed || !slices.EqualFunc(a.Tools, b.Tools, func(x, y ToolDef) bool {
			return x.Name == y.Name && x.Version == y.Version && x.Default == y.Default && x.Limits == y.Limits && x.Page == y.Page &&
				x.Operator == y.Operator && slices.Equal(x.Tags, y.Tags) && bytes.Equal(x.JSON, y.JSON)
		}),
		Prompts: !slices.EqualFunc(a.Prompts, b.Prompts, func(x, y PromptDef) bool { return x.Name == y.Name && bytes.Equal(x.JSON, y.JSON) }),
		Resources: !slices.EqualFunc(a.Resources, b.Resources, sameResource) ||
			!slices.EqualFunc(a.Templates, b.Templates, sameResource),
	}
}

// hasSameAbilities compares what no list shows of two offers: capabilities, instructions
// and limits of time.
func hasSameAbilities(a, b *Offer) bool {
	return a.Instructions == b.Instructions && a.Completions == b.Completions && a.Subscribe == b.Subscribe && a.Logging == b.Logging && a.Tasks == b.Tasks && a.Limits == b.Limits
}
