package catalog

import (
	"bytes"
	"slices"
	"sync"

	junctor "github.com/junctor-mcp/junctor"
)

// Change says which lists of a tenant changed, or which resource has new
// content, or how a task is doing. Where who may see what has changed, it says for whom.
type Change struct {
	Tenant                    junctor.TenantID
	Server                    string
	Tools, Prompts, Resources bool
	URI                       string // the server's own; set for an updated resource only
	Party                     string // whom that, or the task, concerns, a Principal's ID; "" is everybody
	Task                      TaskState

	Agent string // for this agent alone, by name
	User  string // for this person alone, by id
	Tags  bool   // what the server's tools are for: agents alone see a difference

	Far bool // another process told of it, whose servers they are too
}

// Concerns says whether a change is of something that p sees through the view.
// It is asked on the shelf after the change, of the same tenant.
func (sh *Shelf) Concerns(p *junctor.Principal, v View, ch Change) bool {
	switch {
	case ch.Party != "" && ch.Party != p.ID():
		return false
	case ch.Agent != "":
		return p.Agent == ch.Agent
	case ch.User != "":
		return p.Agent == "" && p.User == ch.User && v.Server == ""
	case ch.Tags && p.Agent == "", v.Server != "" && v.Server != ch.Server:
		return false
	}
	s := sh.byID[ch.Server]
	switch {
	case s == nil: // it is gone, and who saw it is not known any more
		return mayLook(p)
	case ch.URI != "":
		return sh.Visible(p, v, s, junctor.KindResource, ch.URI) == ""
	}
	return sh.Visible(p, v, s, "", "") == ""
}

// Watcher gathers changes for one listener. A slow listener loses nothing and
// holds nobody up: until it takes them, equal changes are joined, and of a task it
// is the last that counts.
type Watcher struct {
	hub    *hub
	signal chan struct{}

	mu      sync.Mutex
	pending []Change
}

type hub struct {
	mu       sync.Mutex
	watchers map[*Watcher]struct{}
}

// Watch starts to gather changes. Call Stop when done.
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

// Tell passes on what another process with the same servers has heard of one of
// them: a resource with new content, or how a task is doing.
func (c *Catalog) Tell(ch Change) {
	ch.Far = true
	c.mu.Lock()
	defer c.mu.Unlock()
	c.announce(ch)
}

// Ready is signalled when Take has something to give.
func (w *Watcher) Ready() <-chan struct{} { return w.signal }

// Take gives what changed since the last call.
func (w *Watcher) Take() []Change {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.pending
	w.pending = nil
	return p
}

// Stop ends the watch.
func (w *Watcher) Stop() {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	delete(w.hub.watchers, w)
}

func (h *hub) send(ch Change) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watchers {
		w.add(ch)
	}
}

func (w *Watcher) add(ch Change) {
	w.mu.Lock()
	if ch.Task.ID != "" {
		w.pending = slices.DeleteFunc(w.pending, func(old Change) bool { return old.Task.ID == ch.Task.ID })
	}
	if !slices.Contains(w.pending, ch) {
		w.pending = append(w.pending, ch)
	}
	w.mu.Unlock()
	select {
	case w.signal <- struct{}{}:
	default:
	}
}

// difference says which lists differ between two offers of one server.
func difference(a, b *Offer) Change {
	sameResource := func(x, y ResourceDef) bool { return x.URI == y.URI && bytes.Equal(x.JSON, y.JSON) }
	return Change{
		Tools: !slices.EqualFunc(a.Tools, b.Tools, func(x, y ToolDef) bool {
			return x.Name == y.Name && x.Version == y.Version && x.Default == y.Default && x.Timeout == y.Timeout && x.Page == y.Page && bytes.Equal(x.JSON, y.JSON)
		}),
		Prompts: !slices.EqualFunc(a.Prompts, b.Prompts, func(x, y PromptDef) bool { return x.Name == y.Name && bytes.Equal(x.JSON, y.JSON) }),
		Resources: !slices.EqualFunc(a.Resources, b.Resources, sameResource) ||
			!slices.EqualFunc(a.Templates, b.Templates, sameResource),
	}
}

// sameAbilities compares what offers say beside their lists.
func sameAbilities(a, b *Offer) bool {
	return a.Instructions == b.Instructions && a.Completions == b.Completions && a.Subscribe == b.Subscribe && a.Logging == b.Logging && a.Tasks == b.Tasks
}
