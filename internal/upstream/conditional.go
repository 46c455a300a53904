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

// anything is what a client declares that can be asked everything.
const anything = `{"roots":{},"sampling":{},"elicitation":{"form":{},"url":{}}}`

// conditional are the tools that the server shows only to some.
type conditional struct {
	mu    sync.Mutex
	tools []catalog.ToolDef // in the server's order, each marked
	plain []catalog.ToolDef // what it shows to everybody; nil is not known
	read  time.Time         // when they were last looked for
}

// due says whether they should be looked for, and counts as having done so.
func (c *conditional) due(now time.Time, ttl time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.read.IsZero() && now.Before(c.read.Add(ttl)) {
		return false
	}
	c.read = now
	return true
}

// saw takes the tools that a link lists. all says that it declared everything:
// what it does not list is no more. Else the others stay, where they are.
func (c *conditional) saw(tools []catalog.ToolDef, all bool) {
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

// complete gives a server's tools with those that it shows only to some at the end.
func (c *conditional) complete(plain []catalog.ToolDef) []catalog.ToolDef {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.plain = plain
	return append(slices.Clip(plain), without(c.tools, plain)...)
}

// among gives a server's tools where they were listed on a link that declares
// more: those that it does not show to everybody, as far as is known, are marked.
func (c *conditional) among(tools []catalog.ToolDef) []catalog.ToolDef {
	c.saw(tools, false)
	c.mu.Lock()
	plain := c.plain
	c.mu.Unlock()
	if plain == nil {
		return marked(tools)
	}
	return c.complete(without(tools, without(tools, plain)))
}

// marked gives tools of which it is not known whether everybody is shown them.
func marked(tools []catalog.ToolDef) []catalog.ToolDef {
	all := slices.Clone(tools)
	for i := range all {
		all[i].Conditional = true
	}
	return all
}

// without gives the tools that are not among others.
func without(tools, others []catalog.ToolDef) (left []catalog.ToolDef) {
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

// lookAround looks for conditional tools on a link that was opened for a caller
// who can be asked something.
func (s *Server) lookAround(ctx context.Context, l link) {
	if l.isModern() || !s.conditional.due(s.opts.Now(), s.opts.TTL) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.Timeouts.List)
	defer cancel()
	var tools []catalog.ToolDef
	p := pager{s: s, l: l, ttl: s.opts.TTL, cancel: cancel}
	err := p.pages(ctx, wire.MethodToolsList, "tools", "name", func(name string, raw []byte) {
		tools = append(tools, catalog.ToolDef{Name: name, JSON: raw})
	})
	if err != nil {
		s.opts.Logger.Debug("the tools that a server shows to this caller could not be read", "server", s.opts.ID, "error", err)
		return
	}
	s.conditional.saw(tools, false)
	if s.completed(ctx) {
		s.tell(catalog.Event{Kind: catalog.EventChanged})
	}
}

// completed puts the conditional tools of the moment into the offer, and says
// whether that changed it.
func (s *Server) completed(ctx context.Context) bool {
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
	next.Tools = s.conditional.complete(slices.DeleteFunc(slices.Clone(old.offer.Tools), func(t catalog.ToolDef) bool { return t.Conditional }))
	if sameOffer(old.offer, &next) {
		return false
	}
	l := newListed(&next, s.opts.Now(), old.ttl)
	l.until = old.until
	s.lastOffer.Store(l)
	return true
}
