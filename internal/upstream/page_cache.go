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

// Pages of MCP Apps are large, rarely change, and are read whenever a tool is shown. They
// are cached, so that each version is fetched once for all callers that the server cannot
// tell apart. An entry is dropped when the server announces a change of a list or of the
// page, when its lists are read and differ, or when its lifetime ends.

// Bounds of the cache of one server, in bytes.
const (
	maxKeptPage  = 16 << 20
	maxKeptPages = 64 << 20
)

// pageCache holds the pages of one server. The zero value is ready.
type pageCache struct {
	mu    sync.Mutex
	kept  map[pageKey]*cachedPage
	bytes int // of all entries; equal bodies are shared and count once
	// generation rises when entries are dropped. A page that was requested in an older
	// generation may be outdated, and is not kept.
	generation uint64
}

// pageKey names a page as one party gets it.
type pageKey struct {
	credentialsDigest, holder string // as in linkAccess, like holder
	principalKey              string // set if the server said that the page is private
	uri                       string
}

// cachedPage is one entry of the cache.
type cachedPage struct {
	result           catalog.Result
	digest           [sha256.Size]byte
	expiresAt        time.Time
	lastUsed         time.Time
	credentialsOwner string // user whose credentials read it; "" if they are shared
}

// isPageRead reports whether a request reads a page, so that the cache may answer it.
func isPageRead(req *catalog.Request) bool {
	return req.Kind == junctor.KindResource && strings.HasPrefix(req.Name, mcpapps.URIScheme) && req.Input.Responses == nil && req.Input.State == ""
}

// findPage gives the page of a request if it is cached. Otherwise it gives the
// generation, which keepPage needs later. It prefers the entry for all principals.
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

// keepPage adds a page that was requested in a generation, unless entries were dropped
// since. private means that only the same principal may get it. If the cache is too large,
// the least recently used pages go.
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
			next.result.Body = other.result.Body // equal bodies share their memory
			break
		}
	}
	if next.result.Body == nil {
		next.result.Body = bytes.Clone(res.Body) // the caller reuses its memory
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

// findOldest gives the key of the page that was not used for longest; mu is held.
func (p *pageCache) findOldest() (key pageKey) {
	var least *cachedPage
	for k, v := range p.kept {
		if least == nil || v.lastUsed.Before(least.lastUsed) {
			key, least = k, v
		}
	}
	return key
}

// removePage removes one entry, if it exists; mu is held.
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

// dropPages removes the entries that meant selects. Pages that are being read at the
// moment are not kept either.
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

// dropAll removes all entries.
func (p *pageCache) dropAll() { p.dropPages(func(pageKey, *cachedPage) bool { return true }) }

// dropURI removes the entries of one URI.
func (p *pageCache) dropURI(uri string) {
	if strings.HasPrefix(uri, mcpapps.URIScheme) {
		p.dropPages(func(key pageKey, _ *cachedPage) bool { return key.uri == uri })
	}
}

// sameItems reports whether two offers have the same tools and resources as the server
// lists them. If they differ only in what we know beyond that, cached pages stay valid.
func sameItems(a, b *catalog.Offer) bool {
	return slices.EqualFunc(a.Tools, b.Tools, func(x, y catalog.ToolDef) bool { return x.Name == y.Name && bytes.Equal(x.JSON, y.JSON) }) &&
		slices.EqualFunc(a.Resources, b.Resources, func(x, y catalog.ResourceDef) bool { return x.URI == y.URI && bytes.Equal(x.JSON, y.JSON) })
}

// readPage answers the read of a page from the cache, or calls send and keeps the result.
func (s *Server) readPage(req *catalog.Request, a linkAccess, send func() (catalog.Result, error)) (catalog.Result, error) {
	kept, round, ok := s.pageCache.findPage(req, &a, s.opts.Now())
	if ok {
		return kept, nil
	}
	res, err := send()
	if err != nil {
		return res, err
	}
	// A modern server says how long its answers are valid and for whom. A legacy one
	// cannot: its pages are valid as long as its lists.
	ttl, private := s.opts.TTL, false
	if known, _ := s.linkOpener.knownEra(); known == eraModern {
		ttl, private = res.TTL, !res.Public
	}
	s.pageCache.keepPage(req, &a, res, round, s.opts.Now(), ttl, private)
	return res, nil
}
