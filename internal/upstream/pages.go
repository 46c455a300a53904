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

// pages are those of one server.
type pages struct {
	mu    sync.Mutex
	kept  map[pageKey]*page
	bytes int    // of all, those that are the same counted once each
	round uint64 // rises when what is kept is no longer true
}

// pageKey names a page as one party gets it.
type pageKey struct {
	credentials, who string // as in access
	party            string // the principal, where the server said that it is theirs alone
	uri              string
}

type page struct {
	result catalog.Result
	digest [sha256.Size]byte
	until  time.Time
	used   time.Time
	owner  string // whose credentials it was read with; "" is everybody's
}

// isPage says whether a request is one that may be answered with what is kept.
func isPage(req *catalog.Request) bool {
	return req.Kind == junctor.KindResource && strings.HasPrefix(req.Name, mcpapps.Scheme) && req.Input.Responses == nil && req.Input.State == ""
}

// find gives the page that a request is for, as it is kept, and the round in which
// it has to be read where it is not.
func (p *pages) find(req *catalog.Request, a *linkAccess, now time.Time) (res catalog.Result, round uint64, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if req.Fresh {
		return res, p.round, false
	}
	for _, party := range []string{"", principalKey(req.Principal)} {
		key := pageKey{a.credentialsDigest, a.holder, party, req.Name}
		found := p.kept[key]
		if found == nil {
			continue
		}
		if !now.Before(found.until) {
			p.forget(key)
			continue
		}
		found.used = now
		res = found.result
		if res.TTL > 0 {
			res.TTL = found.until.Sub(now)
		}
		return res, p.round, true
	}
	return res, p.round, false
}

// keep keeps a page that was asked for in a round, unless that is over.
func (p *pages) keep(req *catalog.Request, a *linkAccess, res catalog.Result, round uint64, now time.Time, ttl time.Duration, private bool) {
	if res.Input || ttl <= 0 || len(res.Body) > maxKeptPage {
		return
	}
	key := pageKey{a.credentialsDigest, a.holder, "", req.Name}
	if private {
		key.party = principalKey(req.Principal)
	}
	next := &page{result: res, digest: sha256.Sum256(res.Body), until: now.Add(ttl), used: now, owner: a.credentialsOwner}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.round != round {
		return
	}
	p.forget(key)
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
		p.kept = map[pageKey]*page{}
	}
	p.kept[key] = next
	for p.bytes > maxKeptPages {
		p.forget(p.oldest())
	}
}

// oldest is the page that was not asked for for longest; mu is held.
func (p *pages) oldest() (key pageKey) {
	var least *page
	for k, v := range p.kept {
		if least == nil || v.used.Before(least.used) {
			key, least = k, v
		}
	}
	return key
}

// forget drops one page; mu is held.
func (p *pages) forget(key pageKey) {
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

// drop forgets the pages that are meant, and what is being read at the moment.
func (p *pages) drop(meant func(pageKey, *page) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.round++
	for key, one := range p.kept {
		if meant(key, one) {
			p.forget(key)
		}
	}
}

// dropAll forgets every page.
func (p *pages) dropAll() { p.drop(func(pageKey, *page) bool { return true }) }

// dropURI forgets what is at an address.
func (p *pages) dropURI(uri string) {
	if strings.HasPrefix(uri, mcpapps.Scheme) {
		p.drop(func(key pageKey, _ *page) bool { return key.uri == uri })
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
	kept, round, ok := s.pageCache.find(req, &a, s.opts.Now())
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
	s.pageCache.keep(req, &a, res, round, s.opts.Now(), ttl, private)
	return res, nil
}
