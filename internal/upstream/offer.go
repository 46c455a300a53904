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
	maxPages = 1000
	maxItems = 50_000 // of one list
	minTTL   = 10 * time.Second
)

// listedOffer is what the server offered when it was last asked.
type listedOffer struct {
	offer      *catalog.Offer
	freshUntil time.Time // it is fresh until then
	ttl        time.Duration
	tools      map[string]toolTraits
}

// toolTraits is what calling one takes to know.
type toolTraits struct {
	paramHeaders []wire.ParamHeader // arguments that a modern server wants in headers
	taskSupport  string             // optional or required: runs as a task; "" does not
}

func newListedOffer(o *catalog.Offer, at time.Time, ttl time.Duration) *listedOffer {
	l := &listedOffer{offer: o, freshUntil: at.Add(ttl), ttl: ttl, tools: make(map[string]toolTraits, len(o.Tools))}
	for i := range o.Tools {
		def := &o.Tools[i]
		if def.Version != "" && !def.Default {
			continue // its definition is not known
		}
		headers, _ := wire.ParamHeaders(wire.Get(def.JSON, "inputSchema")) // the catalog leaves out those that break the rules
		support, _ := wire.String(wire.Get(wire.Get(def.JSON, "execution"), "taskSupport"))
		if support != "optional" && support != "required" {
			support = ""
		}
		l.tools[def.Name] = toolTraits{paramHeaders: headers, taskSupport: support}
	}
	return l
}

// knownTools are those of the last list.
func (s *Server) knownTools() map[string]toolTraits {
	if l := s.lastOffer.Load(); l != nil {
		return l.tools
	}
	return nil
}

func (s *Server) knownOffer() *catalog.Offer {
	if l := s.lastOffer.Load(); l != nil {
		return l.offer
	}
	return nil
}

// Offer implements catalog.Backend. Once the server has been listed it answers
// at once; the list is read again in the background, and a server that is away
// keeps its last one.
func (s *Server) Offer(ctx context.Context) (*catalog.Offer, error) {
	if l := s.lastOffer.Load(); l != nil {
		if !s.opts.Now().Before(l.freshUntil) && (s.opts.Transport != TransportStdio || len(l.tools) == 0) {
			s.wakeUp() // a command whose tools are known is started by its first call
		}
		return l.offer, nil
	}
	if _, err := s.refreshOffer(ctx, true); err != nil {
		return nil, s.callError(&catalog.Request{}, err)
	}
	s.wakeUp()
	return s.knownOffer(), nil
}

func (s *Server) isOfferFresh() bool {
	l := s.lastOffer.Load()
	return l != nil && s.opts.Now().Before(l.freshUntil)
}

// refreshOffer reads what the server offers, and says whether that has changed. With
// ifStale it leaves a list that somebody else has just read.
func (s *Server) refreshOffer(ctx context.Context, ifStale bool) (changed bool, err error) {
	return s.refreshOfferOn(ctx, ifStale, false)
}

// refreshOfferOn is refresh, lazily or not: see access.
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
	switch {
	case sess.link.isModern():
	case sess.mayAsk:
		offer.Tools = s.conditional.markAmong(offer.Tools)
	default:
		offer.Tools = s.conditional.appendTo(offer.Tools)
	}
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

func sameOffer(a, b *catalog.Offer) bool { return reflect.DeepEqual(a, b) }

// readOffer reads all that a server declares to have, all lists at once.
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
				// What a legacy client has to read to ask for a task.
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

// listReader reads lists page by page.
type listReader struct {
	server *Server
	link   link
	cancel context.CancelFunc
	group  sync.WaitGroup

	mu  sync.Mutex
	err error // the first
	ttl time.Duration
}

// startList reads one list and hands its items to add, in the server's order.
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

func (p *listReader) readPages(ctx context.Context, method, list, key string, add func(string, []byte)) error {
	seen := map[string]struct{}{}
	var cursor []byte
	for range maxPages {
		result, err := p.link.roundTrip(ctx, method, p.pageParams(cursor), nil)
		if isMethodMissing(err) {
			return nil // declared, and not there: nothing is
		}
		if err != nil {
			return err
		}
		p.shortenTTL(result)
		items := wire.Get(result, list)
		if len(items) > 0 && items[0] != '[' && !wire.IsNull(items) { // absent and null are what some make of none
			return junctor.Errorf(junctor.CodeUpstream, "server %s answers %s with %q that are no list", p.server.opts.ID, method, list)
		}
		for raw := range wire.Elements(items) {
			name, ok := wire.String(wire.Get(raw, key))
			if _, twice := seen[name]; !ok || name == "" || twice {
				p.server.opts.limits.warnOnce(p.server.opts.Logger, "an item of a server's list was left out: it has no name, or another's", "server", p.server.opts.ID, "list", list, "name", p.server.opts.quoteText(name))
				continue
			}
			seen[name] = struct{}{}
			if raw, ok = p.server.scrubItem(raw, key, name); !ok {
				p.server.opts.limits.warnOnce(p.server.opts.Logger, "an item of a server's list was left out: its name holds a credential of the server", "server", p.server.opts.ID, "list", list)
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
			return junctor.Errorf(junctor.CodeUpstream, "server %s gives the same page of its %s again and again", p.server.opts.ID, list)
		}
		cursor = slices.Clone(next)
	}
	return junctor.Errorf(junctor.CodeTooLarge, "server %s has more than %d pages of %s", p.server.opts.ID, maxPages, list)
}

// scrubItem takes what is secret about the server out of an item of its lists, which
// are kept and shown to everybody. It cannot where the item's name has it: by
// that the server is asked.
func (s *Server) scrubItem(raw []byte, key, name string) ([]byte, bool) {
	text := string(raw)
	scrubbed := s.opts.Scrub(text)
	if scrubbed == text {
		return raw, true
	}
	same, _ := wire.String(wire.Get([]byte(scrubbed), key))
	return []byte(scrubbed), same == name && wire.Check([]byte(scrubbed)) == nil
}

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

// shortenTTL takes the shortest time that any page counts for.
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
