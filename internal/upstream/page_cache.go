package upstream

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"strings"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/mcpapps"
)

// Pages of MCP Apps are large, the same for a long time, and read whenever a tool
// is shown. They are kept, so that each version is fetched once: for callers that
// the server cannot tell apart, until it says that a list or the page changed, its
// lists are read and differ, or their time is over.

// What is kept of one server.
const (
	maxKeptPage  = 16 << 20
	maxKeptPages = 64 << 20
)

// pageCache are those of one server.
type pageCache struct {
	mu         sync.Mutex
	kept       map[pageKey]*cachedPage
	bytes      int    // of all, those that are the same counted once each
	generation uint64 // rises when what is kept is no longer true
}

// pageKey names a page as one party gets it.
type pageKey struct {
	credentialsDigest, holder string // as in access
	principalKey              string // the principal, where the server said that it is theirs alone
	uri                       string
}

type cachedPage struct {
	result           catalog.Result
	digest           [sha256.Size]byte
	expiresAt        time.Time
	lastUsed         time.Time
	credentialsOwner string // whose credentials it was read with; "" is everybody's
}

// isPageRead says whether a request is one that may be answered with what is kept.
func isPageRead(req *catalog.Request) bool {
	return req.Kind == junctor.KindResource && strings.HasPrefix(req.Name, mcpapps.Scheme) && req.Input.Responses == nil && req.Input.State == ""
}

// findPage gives the page that a request is for, as it is kept, and the round in which
// it has to be read where it is not.
func (p *pageCache) findPage(req *catalog.Request, a *linkAccess, now time.Time) (res catalog.Result, round uint64, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if req.Fresh {
		return res, p.generation, false
	}
	for _, party := range []string{"", principalKey(req.Principal)} {
		key := pageKey{a.credentialsDigest, a.holder, party, req.Name}
		found := p.kept[key]
		if found == nil {
			continue
		}
		if !now.Before(found.expiresAt) {
			p.removePage(key)
			continue
		}
		found.lastUsed = now
		res = found.result
		if res.TTL > 0 {
			res.TTL = found.expiresAt.Sub(now)
		}
		return res, p.generation, true
	}
	return res, p.generation, false
}

// keepPage keeps a page that was asked for in a round, unless that is over.
func (p *pageCache) keepPage(req *catalog.Request, a *linkAccess, res catalog.Result, round uint64, now time.Time, ttl time.Duration, private bool) {
	if res.Input || ttl <= 0 || len(res.Body) > maxKeptPage {
		return
	}
	key := pageKey{a.credentialsDigest, a.holder, "", req.Name}
	if private {
		key.principalKey = principalKey(req.Principal)
	}
	next := &cachedPage{result: res, digest: sha256.Sum256(res.Body), expiresAt: now.Add(ttl), lastUsed: now, credentialsOwner: a.credentialsOwner}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.generation != round {
		return
	}
	p.removePage(key)
	next.result.Body = nil
	for _, other := range p.kept {
		if other.digest == next.digest {
			next.result.Body = other.result.Body // the same text is held once
			break
		}
	}
	if next.result.Body == nil {
		next.result.Body = bytes.Clone(res.Body) // the caller's memory is used again
		p.bytes += len(res.Body)
	}
	if p.kept == nil {
		p.kept = map[pageKey]*cachedPage{}
	}
	p.kept[key] = next
	for p.bytes > maxKeptPages {
		p.removePage(p.findOldest())
	}
}

// findOldest is the page that was not asked for for longest; mu is held.
func (p *pageCache) findOldest() (key pageKey) {
	var least *cachedPage
	for k, v := range p.kept {
		if least == nil || v.lastUsed.Before(least.lastUsed) {
			key, least = k, v
		}
	}
	return key
}

// removePage drops one page; mu is held.
func (p *pageCache) removePage(key pageKey) {
	gone := p.kept[key]
	if gone == nil {
		return
	}
	delete(p.kept, key)
	for _, other := range p.kept {
		if other.digest == gone.digest {
			return
		}
	}
	p.bytes -= len(gone.result.Body)
}

// dropPages forgets the pages that are meant, and what is being read at the moment.
func (p *pageCache) dropPages(meant func(pageKey, *cachedPage) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.generation++
	for key, one := range p.kept {
		if meant(key, one) {
			p.removePage(key)
		}
	}
}

// dropAll forgets every page.
func (p *pageCache) dropAll() { p.dropPages(func(pageKey, *cachedPage) bool { return true }) }

// dropURI forgets what is at an address.
func (p *pageCache) dropURI(uri string) {
	if strings.HasPrefix(uri, mcpapps.Scheme) {
		p.dropPages(func(key pageKey, _ *cachedPage) bool { return key.uri == uri })
	}
}

// sameItems says whether two offers have the same tools and resources: where they
// differ in nothing else than what is known of them here, pages are as they were.
func sameItems(a, b *catalog.Offer) bool {
	return slices.EqualFunc(a.Tools, b.Tools, func(x, y catalog.ToolDef) bool { return x.Name == y.Name && bytes.Equal(x.JSON, y.JSON) }) &&
		slices.EqualFunc(a.Resources, b.Resources, func(x, y catalog.ResourceDef) bool { return x.URI == y.URI && bytes.Equal(x.JSON, y.JSON) })
}

// readPage is send for a page: what is kept of it counts.
func (s *Server) readPage(req *catalog.Request, a linkAccess, send func() (catalog.Result, error)) (catalog.Result, error) {
	kept, round, ok := s.pageCache.findPage(req, &a, s.opts.Now())
	if ok {
		return kept, nil
	}
	res, err := send()
	if err != nil {
		return res, err
	}
	// A server of the modern era says how long its answers count and for whom. One
	// of the older era cannot; its pages count as long as its lists.
	ttl, private := s.opts.TTL, false
	if known, _ := s.linkOpener.knownEra(); known == eraModern {
		ttl, private = res.TTL, !res.Public
	}
	s.pageCache.keepPage(req, &a, res, round, s.opts.Now(), ttl, private)
	return res, nil
}
