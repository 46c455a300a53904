package upstream

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"maps"
	"net/http"
	"slices"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// linkAccess is with what a link is opened.
type linkAccess struct {
	header            http.Header
	credentialsDigest string // digest of header, or of the login, and whose they are
	login             Login
	credentialsOwner  string // the user whose credentials they are; "" where they are everybody's
	capabilities      []byte // as a legacy handshake declares them
	holder            string // whose the link is; "" is everybody's
	clientSession     string // of which client session; "" is of none
	clientKey         string // who would have it to himself; "" is nobody; once name was called
	principalID       string // the principal, as it is called; likewise

	principal    *junctor.Principal
	clientInfo   []byte // what the client calls itself; the call's own
	singleClient bool   // all who use the link are surely one client
	forListing   bool   // for listing and listening
	existingOnly bool   // only on a link that is there: none is opened for it
	ownProcess   bool   // a modern link is somebody's own, too: it is a process
}

func (s *Server) resolveAccess(ctx context.Context, p *junctor.Principal, c *catalog.Caller) (linkAccess, error) {
	a := linkAccess{forListing: c == nil, ownProcess: s.opts.Transport == TransportStdio}
	if c == nil {
		c = &catalog.Caller{}
	}
	a.capabilities = handshakeCapabilities(c.Capabilities, c.Session != "" && !wire.IsModern(c.Protocol))
	if err := s.fillCredentials(ctx, p, &a); err != nil {
		return linkAccess{}, err
	}
	if s.opts.Own != nil && p != nil {
		a.credentialsOwner = p.User
		a.credentialsDigest += "\x00" + p.User
	}
	if a.forListing {
		return a, nil
	}
	a.principal, a.clientSession, a.clientInfo = p, c.Session, c.Info
	switch s.effectiveIsolation() {
	case junctor.IsolationUser:
		a.holder = principalKey(p)
	case junctor.IsolationSession:
		a.fillClientKey()
		a = a.forSingleClient()
	default:
	}
	return a, nil
}

// fillCredentials fills in what the calls of p carry.
func (s *Server) fillCredentials(ctx context.Context, p *junctor.Principal, a *linkAccess) (err error) {
	switch {
	case s.opts.Login != nil:
		if a.login, err = s.opts.Login(ctx, p); err != nil {
			return err
		}
		a.header = a.login.Header
		if a.login.Name != "" { // the token comes and goes, beside the rest
			rest := maps.Clone(a.header)
			delete(rest, "Authorization")
			a.credentialsDigest = "login\x00" + a.login.Name + "\x00" + s.digestHeader(rest)
			return nil
		}
	case s.opts.Header != nil:
		if a.header, err = s.opts.Header(ctx, p); err != nil {
			return err
		}
	default:
		return nil
	}
	a.credentialsDigest = s.digestHeader(a.header)
	return nil
}

// fillClientKey fills in what the user of the link is called. Most calls need not know.
func (a *linkAccess) fillClientKey() {
	if a.clientKey != "" || a.forListing {
		return
	}
	a.clientKey = principalKey(a.principal) + clientSuffix(a.clientSession, a.clientInfo)
	if a.principal != nil {
		a.principalID = a.principal.ID()
	}
}

// copyForKeeping is the access for longer than the call that it was made for.
func (a linkAccess) copyForKeeping() linkAccess {
	a.fillClientKey()
	a.capabilities, a.clientInfo = bytes.Clone(a.capabilities), bytes.Clone(a.clientInfo)
	return a
}

// forSingleClient is the access of one client alone. Clients without a session that call
// themselves the same share it: nobody can tell whether they are one, so what a
// server asks while several of their calls are under way is asked of none.
func (a linkAccess) forSingleClient() linkAccess {
	a.holder, a.singleClient = a.clientKey, a.clientSession != ""
	return a
}

func principalKey(p *junctor.Principal) string {
	if p == nil {
		return ""
	}
	return string(p.Tenant) + "\x00" + p.Issuer + "\x00" + p.Subject
}

// clientSuffix tells the clients of one principal apart: by their session, or, where
// a modern client has none, by what it calls itself. That is hearsay, but a
// caller can only make up clients of its own.
func clientSuffix(session string, info []byte) string {
	if session != "" {
		return "\x00s" + session
	}
	return "\x00c" + string(info)
}

// headerDigest is a header and its digest.
type headerDigest struct {
	header http.Header
	digest string
}

// digestHeader names credentials without showing them. Nearly always they are those
// of the call before.
func (s *Server) digestHeader(h http.Header) string {
	if last := s.lastDigest.Load(); last != nil && maps.EqualFunc(last.header, h, slices.Equal) {
		return last.digest
	}
	d := computeDigest(h)
	s.lastDigest.Store(&headerDigest{h, d})
	return d
}

func computeDigest(h http.Header) string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, v := range h[name] {
			_, _ = io.WriteString(sum, name+"\x00"+v+"\x00")
		}
	}
	return string(sum.Sum(nil))
}

// linkKey names the link: a modern one carries capabilities in each request.
func (a *linkAccess) linkKey(modern bool) string {
	switch {
	case !modern:
		return a.credentialsDigest + "\x00" + a.holder + "\x00" + string(a.capabilities)
	case a.ownProcess:
		return a.credentialsDigest + "\x00" + a.holder
	default:
		return a.credentialsDigest
	}
}
