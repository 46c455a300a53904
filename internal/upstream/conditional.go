package upstream

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Some legacy servers have tools for those clients only that can be asked
// something. What is offered is read on a link that can be asked nothing, so such
// tools are looked for where a link that declares more is opened anyway: by a
// probe, and for callers. They are offered to all, since all see one list; to a
// caller that cannot be asked the server says that it has no such tool.

// allCapabilities is what a client declares that can be asked everything.
const allCapabilities = `{"roots":{},"sampling":{},"elicitation":{"form":{},"url":{}}}`

// conditionalTools are the tools that the server shows only to some.
type conditionalTools struct {
	mu            sync.Mutex
	tools         []catalog.ToolDef // in the server's order, each marked
	unconditional []catalog.ToolDef // what it shows to everybody; nil is not known
	lastRead      time.Time         // when they were last looked for
}

// claimSearch says whether they should be looked for, and counts as having done so.
func (c *conditionalTools) claimSearch(now time.Time, ttl time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.lastRead.IsZero() && now.Before(c.lastRead.Add(ttl)) {
		return false
	}
	c.lastRead = now
	return true
}

// recordTools takes the tools that a link lists. all says that it declared everything:
// what it does not list is no more. Else the others stay, where they are.
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

// appendTo gives a server's tools with those that it shows only to some at the end.
func (c *conditionalTools) appendTo(plain []catalog.ToolDef) []catalog.ToolDef {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unconditional = plain
	return append(slices.Clip(plain), excludeTools(c.tools, plain)...)
}

// markAmong gives a server's tools where they were listed on a link that declares
// more: those that it does not show to everybody, as far as is known, are marked.
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

// markConditional gives tools of which it is not known whether everybody is shown them.
func markConditional(tools []catalog.ToolDef) []catalog.ToolDef {
	all := slices.Clone(tools)
	for i := range all {
		all[i].Conditional = true
	}
	return all
}

// excludeTools gives the tools that are not among others.
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

// findConditionalTools looks for conditional tools on a link that was opened for a caller
// who can be asked something.
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
		s.opts.Logger.Debug("the tools that a server shows to this caller could not be read", "server", s.opts.ID, "error", err)
		return
	}
	s.conditional.recordTools(tools, false)
	if s.mergeConditionalTools(ctx) {
		s.publishEvent(catalog.Event{Kind: catalog.EventChanged})
	}
}

// mergeConditionalTools puts the conditional tools of the moment into the offer, and says
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
