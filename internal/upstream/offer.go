package upstream

import (
	"bytes"
	"context"
	"reflect"
	"slices"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

const (
	maxPages = 1000   // of one list
	maxItems = 50_000 // of one list
	// minTTL is the shortest lifetime of a list that a server can ask for. A server that
	// names less would be listed without end.
	minTTL = 10 * time.Second
)

// listedOffer is the offer of the server when it was last listed. It is not changed after
// it was stored; a newer one replaces it.
type listedOffer struct {
	offer      *catalog.Offer
	freshUntil time.Time             // it is read again after that
	ttl        time.Duration         // lifetime that freshUntil was computed with
	tools      map[string]toolTraits // by the server's own name
}

// toolTraits are the facts about a tool that its calls depend on.
type toolTraits struct {
	paramHeaders []wire.ParamHeader // arguments that a modern server wants in headers
	taskSupport  string             // optional or required; "" if it cannot run as a task
}

// newListedOffer makes the entry for an offer that was read at a time.
func newListedOffer(o *catalog.Offer, at time.Time, ttl time.Duration) *listedOffer {
	l := &listedOffer{offer: o, freshUntil: at.Add(ttl), ttl: ttl, tools: make(map[string]toolTraits, len(o.Tools))}
	for i := range o.Tools {
		def := &o.Tools[i]
		if def.Version != "" && !def.Default {
			continue // only the default version has a known definition
		}
		headers, _ := wire.ParamHeaders(wire.Get(def.JSON, "inputSchema")) // the catalog leaves out tools with invalid ones
		support, _ := wire.String(wire.Get(wire.Get(def.JSON, "execution"), "taskSupport"))
		if support != "optional" && support != "required" {
			support = ""
		}
		l.tools[def.Name] = toolTraits{paramHeaders: headers, taskSupport: support}
	}
	return l
}

// knownTools gives the tools of the last offer; nil if there is none.
func (s *Server) knownTools() map[string]toolTraits {
	if l := s.lastOffer.Load(); l != nil {
		return l.tools
	}
	return nil
}

// knownOffer gives the last offer; nil if there is none.
func (s *Server) knownOffer() *catalog.Offer {
	if l := s.lastOffer.Load(); l != nil {
		return l.offer
	}
	return nil
}

// Offer implements catalog.Backend. Only the first call waits for the server. After that
// it answers at once with the last offer, which is refreshed in the background and stays
// if the server is unreachable.
func (s *Server) Offer(ctx context.Context) (*catalog.Offer, error) {
	if l := s.lastOffer.Load(); l != nil {
		if !s.opts.Now().Before(l.freshUntil) && (s.opts.Transport != TransportStdio || len(l.tools) == 0) {
			s.wakeUp() // a command with known tools is not started just to be listed
		}
		return l.offer, nil
	}
	if _, err := s.refreshOffer(ctx, true); err != nil {
		return nil, s.callError(&catalog.Request{}, err)
	}
	s.wakeUp()
	return s.knownOffer(), nil
}

// isOfferFresh reports whether the last offer need not be read again yet.
func (s *Server) isOfferFresh() bool {
	l := s.lastOffer.Load()
	return l != nil && s.opts.Now().Before(l.freshUntil)
}

// refreshOffer lists the server, and reports whether the offer changed. With ifStale it
// does nothing if the offer is fresh, such as after another goroutine has just read it.
func (s *Server) refreshOffer(ctx context.Context, ifStale bool) (changed bool, err error) {
	return s.refreshOfferOn(ctx, ifStale, false)
}

// refreshOfferOn is refreshOffer; existingOnly means that no link is opened for it. It
// repeats a listing once whose link ended meanwhile.
func (s *Server) refreshOfferOn(ctx context.Context, ifStale, lazy bool) (changed bool, err error) {
	select {
	case s.listing <- struct{}{}:
		defer func() { <-s.listing }()
	case <-ctx.Done():
		return false, junctor.AsError(ctx.Err())
	}
	if ifStale && s.isOfferFresh() {
		return false, nil
	}
	a, err := s.resolveAccess(ctx, nil, nil)
	if err != nil {
		return false, err
	}
	a.existingOnly = lazy
	for try := 1; ; try++ {
		if changed, err = s.refreshOfferOnce(ctx, a); err == nil || try > 1 || ctx.Err() != nil || !isLinkOver(err) {
			return changed, err
		}
	}
}

// refreshOfferOnce lists the server over one session and stores the offer. s.listing is
// held, so the old offer cannot change meanwhile.
func (s *Server) refreshOfferOnce(ctx context.Context, a linkAccess) (bool, error) {
	sess, err := s.acquireSession(ctx, a)
	if err != nil {
		return false, err
	}
	defer s.releaseSession(sess)
	ctx, cancel := context.WithTimeout(ctx, s.opts.Timeouts.List)
	defer cancel()
	begun := time.Now()
	offer, ttl, err := s.readOffer(ctx, sess.link)
	s.recordOutcome(sess, time.Since(begun), err)
	if err != nil {
		return false, err
	}
	// Only a legacy server may show other tools to other clients.
	switch {
	case sess.link.isModern():
	case sess.mayAsk:
		offer.Tools = s.conditional.markAmong(offer.Tools)
	default:
		offer.Tools = s.conditional.appendTo(offer.Tools)
	}
	// An equal offer counts as unchanged, so that the catalog need not rebuild its lists.
	old := s.lastOffer.Load()
	if old != nil && sameOffer(old.offer, offer) {
		s.lastOffer.Store(&listedOffer{offer: old.offer, tools: old.tools, freshUntil: s.opts.Now().Add(ttl), ttl: ttl})
		return false, nil
	}
	s.lastOffer.Store(newListedOffer(offer, s.opts.Now(), ttl))
	if old != nil && !sameItems(old.offer, offer) {
		s.pageCache.dropAll()
	}
	return true, nil
}

// sameOffer reports whether two offers are equal.
func sameOffer(a, b *catalog.Offer) bool { return reflect.DeepEqual(a, b) }

// readOffer reads all lists that the server declares, at the same time. It returns the
// offer and its lifetime. One failing list fails all: half an offer would make tools
// disappear.
func (s *Server) readOffer(ctx context.Context, l link) (*catalog.Offer, time.Duration, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	caps := l.serverCapabilities()
	has := func(key string) bool { v := wire.Get(caps, key); return v != nil && !wire.IsNull(v) }
	offer := &catalog.Offer{
		Instructions: s.opts.Scrub(l.serverInstructions()), Completions: has("completions"), Logging: has("logging"),
		Tasks: supportsTasks(l), Subscribe: string(wire.Get(wire.Get(caps, "resources"), "subscribe")) == "true",
	}
	p := listReader{server: s, link: l, ttl: s.opts.TTL, cancel: cancel}
	if has("tools") {
		p.startList(ctx, wire.MethodToolsList, "tools", "name", func(name string, raw []byte) {
			if l.isModern() && offer.Tasks && wire.Get(raw, "execution") == nil {
				// Legacy clients ask for a task only if the tool declares this.
				raw = wire.AppendObject(nil, raw, nil, wire.Member{Key: "execution", Value: []byte(`{"taskSupport":"optional"}`)})
			}
			offer.Tools = append(offer.Tools, toolVersions(name, raw)...)
		})
	}
	if has("resources") {
		p.startList(ctx, wire.MethodResourcesList, "resources", "uri", func(uri string, raw []byte) {
			offer.Resources = append(offer.Resources, catalog.ResourceDef{URI: uri, JSON: raw})
		})
		p.startList(ctx, wire.MethodResourcesTemplatesList, "resourceTemplates", "uriTemplate", func(uri string, raw []byte) {
			offer.Templates = append(offer.Templates, catalog.ResourceDef{URI: uri, JSON: raw})
		})
	}
	if has("prompts") {
		p.startList(ctx, wire.MethodPromptsList, "prompts", "name", func(name string, raw []byte) {
			offer.Prompts = append(offer.Prompts, catalog.PromptDef{Name: name, JSON: raw})
		})
	}
	p.group.Wait()
	if p.err != nil {
		return nil, 0, p.err
	}
	return offer, max(p.ttl, min(minTTL, s.opts.TTL)), nil
}

// listReader reads lists page by page, several at a time. The first error cancels the
// others.
type listReader struct {
	server *Server
	link   link
	cancel context.CancelFunc
	group  sync.WaitGroup

	mu  sync.Mutex
	err error         // the first one
	ttl time.Duration // shortest of all pages so far
}

// startList reads one list in the background and hands its items to add, in the server's
// order. group.Wait waits for it.
func (p *listReader) startList(ctx context.Context, method, list, key string, add func(name string, raw []byte)) {
	p.group.Go(func() {
		if err := p.readPages(ctx, method, list, key, add); err != nil {
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.err == nil {
				p.err = err
				p.cancel()
			}
		}
	})
}

// readPages reads all pages of one list. It leaves out items without a name or with the
// name of an earlier one, and bounds the number of pages and items. A server that repeats
// a cursor is an error: it would never end.
func (p *listReader) readPages(ctx context.Context, method, list, key string, add func(string, []byte)) error {
	seen := map[string]struct{}{}
	var cursor []byte
	for range maxPages {
		result, err := p.link.roundTrip(ctx, method, p.pageParams(cursor), nil)
		if isMethodMissing(err) {
			return nil // the capability is declared but the method is missing: the list is empty
		}
		if err != nil {
			return err
		}
		// All lists share one lifetime: that of the page that expires first.
		p.shortenTTL(result)
		items := wire.Get(result, list)
		if len(items) > 0 && items[0] != '[' && !wire.IsNull(items) { // some servers omit an empty list or write null
			return junctor.Errorf(junctor.CodeUpstream, "server %s answers %s, but %q is not a list", p.server.opts.ID, method, list)
		}
		for raw := range wire.Elements(items) {
			name, ok := wire.String(wire.Get(raw, key))
			if _, twice := seen[name]; !ok || name == "" || twice {
				p.server.opts.limits.warnOnce(p.server.opts.Logger, "list item of a server left out: its name is empty or a duplicate", "server", p.server.opts.ID, "list", list, "name", p.server.opts.quoteText(name))
				continue
			}
			seen[name] = struct{}{}
			if raw, ok = p.server.scrubItem(raw, key, name); !ok {
				p.server.opts.limits.warnOnce(p.server.opts.Logger, "list item of a server left out: its name contains a credential of the server", "server", p.server.opts.ID, "list", list)
				continue
			}
			if len(seen) > maxItems {
				return junctor.Errorf(junctor.CodeTooLarge, "server %s lists more than %d %s", p.server.opts.ID, maxItems, list)
			}
			add(name, raw)
		}
		next := wire.Get(result, "nextCursor")
		if next == nil || wire.IsNull(next) || string(next) == `""` {
			return nil
		}
		if bytes.Equal(next, cursor) {
			return junctor.Errorf(junctor.CodeUpstream, "server %s returns the same page of its %s again (nextCursor does not change)", p.server.opts.ID, list)
		}
		cursor = slices.Clone(next)
	}
	return junctor.Errorf(junctor.CodeTooLarge, "server %s returns more than %d pages of %s", p.server.opts.ID, maxPages, list)
}

// scrubItem removes the server's secrets from an item of its lists, which are stored and
// shown to all. It returns false if the item's name has one: the name must reach the
// server unchanged.
func (s *Server) scrubItem(raw []byte, key, name string) ([]byte, bool) {
	text := string(raw)
	scrubbed := s.opts.Scrub(text)
	if scrubbed == text {
		return raw, true
	}
	same, _ := wire.String(wire.Get([]byte(scrubbed), key))
	return []byte(scrubbed), same == name && wire.CheckJSON([]byte(scrubbed)) == nil
}

// pageParams are the params of the request for one page.
func (p *listReader) pageParams(cursor []byte) []byte {
	var members []wire.Member
	if cursor != nil {
		members = append(members, wire.Member{Key: "cursor", Value: cursor})
	}
	if p.link.isModern() {
		return p.server.opts.baseParams(members...)
	}
	return wire.AppendObject(nil, nil, nil, members...)
}

// shortenTTL takes the lifetime of a page, if it is shorter than that of those before.
func (p *listReader) shortenTTL(result []byte) {
	if !p.link.isModern() {
		return
	}
	if ms, ok := wire.Int(wire.Get(result, "ttlMs")); ok && ms > 0 {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.ttl = min(p.ttl, time.Duration(min(ms, maxTTL.Milliseconds()))*time.Millisecond)
	}
}
