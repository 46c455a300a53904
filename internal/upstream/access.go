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

// linkAccess describes the link that a caller needs: the credentials to open it with, the
// capabilities to declare, and who may share it. Callers with the same linkKey share a
// link.
type linkAccess struct {
	header http.Header
	// credentialsDigest names the credentials without showing them: a digest of header or
	// the name of the login, and the user whose they are.
	credentialsDigest string
	login             Login
	credentialsOwner  string // user whose credentials they are; "" if they are shared
	capabilities      []byte // for a legacy handshake
	// holder is the principal or client that has the link alone; "" if all callers share
	// it.
	holder        string
	clientSession string // of the client; "" if it has none
	// clientKey names the one client of the call. It is empty before fillClientKey, which
	// most calls need not pay for. So is principalID.
	clientKey   string
	principalID string

	principal    *junctor.Principal
	clientInfo   []byte // name and version of the client, from its request; the memory is the call's
	singleClient bool   // all users of the link are surely one client
	forListing   bool   // nobody's call: for reading lists and listening
	existingOnly bool   // use a link that is open, and open none
	ownProcess   bool   // the link is a process, which is not shared across holders even if it is modern
}

// resolveAccess makes the access of a call by p with the client c. A nil c is for reading
// lists and listening. The result refers to memory of the call: copyForKeeping makes it
// last longer. Errors come from Options.Header and Options.Login.
func (s *Server) resolveAccess(ctx context.Context, p *junctor.Principal, c *catalog.Caller) (linkAccess, error) {
	a := linkAccess{forListing: c == nil, ownProcess: s.opts.Transport == TransportStdio}
	if c == nil {
		c = &catalog.Caller{}
	}
	a.capabilities = handshakeCapabilities(c.Capabilities, c.Session != "" && !wire.IsModern(c.Protocol))
	if err := s.fillCredentials(ctx, p, &a); err != nil {
		return linkAccess{}, err
	}
	if s.opts.UserClients != nil && p != nil {
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

// fillCredentials fills in the headers of p's calls and their digest.
func (s *Server) fillCredentials(ctx context.Context, p *junctor.Principal, a *linkAccess) (err error) {
	switch {
	case s.opts.Login != nil:
		if a.login, err = s.opts.Login(ctx, p); err != nil {
			return err
		}
		a.header = a.login.Header
		if a.login.Name != "" { // tokens are renewed while the link stays: they are no part of its name
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

// fillClientKey fills in clientKey and principalID, unless that was done.
func (a *linkAccess) fillClientKey() {
	if a.clientKey != "" || a.forListing {
		return
	}
	a.clientKey = principalKey(a.principal) + clientSuffix(a.clientSession, a.clientInfo)
	if a.principal != nil {
		a.principalID = a.principal.ID()
	}
}

// copyForKeeping gives an access that is valid for longer than the call it was made for.
func (a linkAccess) copyForKeeping() linkAccess {
	a.fillClientKey()
	a.capabilities, a.clientInfo = bytes.Clone(a.capabilities), bytes.Clone(a.clientInfo)
	return a
}

// forSingleClient gives the access of one client alone. Clients without a session that
// have the same name share it, since nobody can tell them apart. So a question of the
// server while several of their calls are pending goes to none of them.
func (a linkAccess) forSingleClient() linkAccess {
	a.holder, a.singleClient = a.clientKey, a.clientSession != ""
	return a
}

// principalKey names a principal as a key of tables; "" for nil.
func principalKey(p *junctor.Principal) string {
	if p == nil {
		return ""
	}
	return string(p.Tenant) + "\x00" + p.Issuer + "\x00" + p.Subject
}

// clientSuffix tells the clients of one principal apart: by session, or by name if a
// modern client has none. The name is not verified, but a caller can only invent clients
// of its own principal.
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

// digestHeader gives the digest of credentials. It remembers the last one, since most
// calls repeat it.
func (s *Server) digestHeader(h http.Header) string {
	if last := s.lastDigest.Load(); last != nil && maps.EqualFunc(last.header, h, slices.Equal) {
		return last.digest
	}
	d := computeDigest(h)
	s.lastDigest.Store(&headerDigest{h, d})
	return d
}

// computeDigest hashes the fields of a header in a fixed order.
func computeDigest(h http.Header) string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, v := range h[name] {
			_, _ = io.WriteString(sum, name+"\x00"+v+"\x00")
		}
	}
	return string(sum.Sum(nil))
}

// linkKey is the key of the link in the table. A modern link declares capabilities in
// each request, so they are part of legacy keys alone.
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
