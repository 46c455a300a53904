package upstream

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Some legacy servers show certain tools only to clients that can answer questions. The
// offer is read on a link that can answer none, so these conditional tools are searched
// where a link with more capabilities is opened anyway: by a probe, and for callers. They
// are offered to all, since all clients share one list. A caller that cannot be asked
// gets the server's error for them.

// allCapabilities are the capabilities of a client that can answer every kind of
// question.
const allCapabilities = `{"roots":{},"sampling":{},"elicitation":{"form":{},"url":{}}}`

// conditionalTools are the tools that a server shows only to some clients.
type conditionalTools struct {
	mu            sync.Mutex
	tools         []catalog.ToolDef // in the server's order, each marked as conditional
	unconditional []catalog.ToolDef // tools that all clients see; nil if not known yet
	lastRead      time.Time         // when they were last searched
}

// claimSearch reports whether the tools should be searched again. If so, it counts as a
// search, so that only one caller does it.
func (c *conditionalTools) claimSearch(now time.Time, ttl time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.lastRead.IsZero() && now.Before(c.lastRead.Add(ttl)) {
		return false
	}
	c.lastRead = now
	return true
}

// recordTools takes the tools that a link lists. all means that the link declared every
// capability: tools that it does not list no longer exist. Otherwise the others stay.
func (c *conditionalTools) recordTools(tools []catalog.ToolDef, all bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := []catalog.ToolDef(nil)
	if !all {
		next = slices.Clone(c.tools)
	}
	for _, t := range tools {
		t.Conditional = true
		if i := slices.IndexFunc(next, func(other catalog.ToolDef) bool { return other.Name == t.Name }); i >= 0 {
			next[i] = t
		} else {
			next = append(next, t)
		}
	}
	c.tools = next
}

// appendTo gives the unconditional tools, followed by the conditional ones, and remembers
// which are unconditional.
func (c *conditionalTools) appendTo(plain []catalog.ToolDef) []catalog.ToolDef {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unconditional = plain
	return append(slices.Clip(plain), excludeTools(c.tools, plain)...)
}

// markAmong gives the tools that a link with more capabilities listed. Those that not all
// clients see, as far as is known, are marked.
func (c *conditionalTools) markAmong(tools []catalog.ToolDef) []catalog.ToolDef {
	c.recordTools(tools, false)
	c.mu.Lock()
	plain := c.unconditional
	c.mu.Unlock()
	if plain == nil {
		return markConditional(tools)
	}
	return c.appendTo(excludeTools(tools, excludeTools(tools, plain)))
}

// markConditional gives copies of tools that are marked as conditional.
func markConditional(tools []catalog.ToolDef) []catalog.ToolDef {
	all := slices.Clone(tools)
	for i := range all {
		all[i].Conditional = true
	}
	return all
}

// excludeTools gives the tools whose names are not among others.
func excludeTools(tools, others []catalog.ToolDef) (left []catalog.ToolDef) {
	names := make(map[string]struct{}, len(others))
	for i := range others {
		names[others[i].Name] = struct{}{}
	}
	for _, t := range tools {
		if _, there := names[t.Name]; !there {
			left = append(left, t)
		}
	}
	return left
}

// findConditionalTools searches conditional tools on a link that was opened for a caller
// who can answer questions. Failures are only logged: no call depends on it.
func (s *Server) findConditionalTools(ctx context.Context, l link) {
	if l.isModern() || !s.conditional.claimSearch(s.opts.Now(), s.opts.TTL) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.Timeouts.List)
	defer cancel()
	var tools []catalog.ToolDef
	p := listReader{server: s, link: l, ttl: s.opts.TTL, cancel: cancel}
	err := p.readPages(ctx, wire.MethodToolsList, "tools", "name", func(name string, raw []byte) {
		tools = append(tools, catalog.ToolDef{Name: name, JSON: raw})
	})
	if err != nil {
		s.opts.Logger.Debug("cannot read the tools that a server shows to this caller", "server", s.opts.ID, "error", err)
		return
	}
	s.conditional.recordTools(tools, false)
	if s.mergeConditionalTools(ctx) {
		s.publishEvent(catalog.Event{Kind: catalog.EventChanged})
	}
}

// mergeConditionalTools puts the current conditional tools into the offer, and reports
// whether that changed it.
func (s *Server) mergeConditionalTools(ctx context.Context) bool {
	select {
	case s.listing <- struct{}{}:
		defer func() { <-s.listing }()
	case <-ctx.Done():
		return false
	}
	old := s.lastOffer.Load()
	if old == nil {
		return false
	}
	// The stored offer must not change: readers use it without a lock.
	next := *old.offer
	next.Tools = s.conditional.appendTo(slices.DeleteFunc(slices.Clone(old.offer.Tools), func(t catalog.ToolDef) bool { return t.Conditional }))
	if sameOffer(old.offer, &next) {
		return false
	}
	l := newListedOffer(&next, s.opts.Now(), old.ttl)
	l.freshUntil = old.freshUntil
	s.lastOffer.Store(l)
	return true
}
