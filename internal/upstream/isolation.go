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

// Who shares a link. A modern server at a URL keeps nothing between requests, so
// all callers with one credential share its link whatever is set. Of all others
// the setting decides: one link for everybody who declares the same abilities,
// one for each principal, or one for each client.

// How many links a server may have at a time where nothing is set.
const (
	defaultSessions        = 128
	defaultSharedProcesses = 16 // processes that callers share
	defaultOwnProcesses    = 64 // processes that are somebody's own
)

// access is with what a link is opened.
type access struct {
	header      http.Header
	credentials string // digest of header, or of the login, and whose they are
	login       Login
	owner       string // the user whose credentials they are; "" where they are everybody's
	caps        []byte // as a legacy handshake declares them
	who         string // whose the link is; "" is everybody's
	client      string // of which client session; "" is of none
	user        string // who would have it to himself; "" is nobody; once name was called
	party       string // the principal, as it is called; likewise

	principal *junctor.Principal
	info      []byte // what the client calls itself; the call's own
	sole      bool   // all who use the link are surely one client
	nobody    bool   // for listing and listening
	lazy      bool   // only on a link that is there: none is opened for it
	apart     bool   // a modern link is somebody's own, too: it is a process
}

func (s *Server) access(ctx context.Context, p *junctor.Principal, c *catalog.Caller) (access, error) {
	a := access{nobody: c == nil, apart: s.o.Transport == TransportStdio}
	if c == nil {
		c = &catalog.Caller{}
	}
	a.caps = handshakeCaps(c.Capabilities, c.Session != "" && !wire.IsModern(c.Protocol))
	if err := s.carries(ctx, p, &a); err != nil {
		return access{}, err
	}
	if s.o.Own != nil && p != nil {
		a.owner = p.User
		a.credentials += "\x00" + p.User
	}
	if a.nobody {
		return a, nil
	}
	a.principal, a.client, a.info = p, c.Session, c.Info
	switch s.isolation() {
	case junctor.IsolationUser:
		a.who = partyOf(p)
	case junctor.IsolationSession:
		a.name()
		a = a.own()
	default:
	}
	return a, nil
}

// carries fills in what the calls of p carry.
func (s *Server) carries(ctx context.Context, p *junctor.Principal, a *access) (err error) {
	switch {
	case s.o.Login != nil:
		if a.login, err = s.o.Login(ctx, p); err != nil {
			return err
		}
		a.header = a.login.Header
		if a.login.Name != "" { // the token comes and goes, beside the rest
			rest := maps.Clone(a.header)
			delete(rest, "Authorization")
			a.credentials = "login\x00" + a.login.Name + "\x00" + s.digest(rest)
			return nil
		}
	case s.o.Header != nil:
		if a.header, err = s.o.Header(ctx, p); err != nil {
			return err
		}
	default:
		return nil
	}
	a.credentials = s.digest(a.header)
	return nil
}

// name fills in what the user of the link is called. Most calls need not know.
func (a *access) name() {
	if a.user != "" || a.nobody {
		return
	}
	a.user = partyOf(a.principal) + clientOf(a.client, a.info)
	if a.principal != nil {
		a.party = a.principal.ID()
	}
}

// kept is the access for longer than the call that it was made for.
func (a access) kept() access {
	a.name()
	a.caps, a.info = bytes.Clone(a.caps), bytes.Clone(a.info)
	return a
}

// own is the access of one client alone. Clients without a session that call
// themselves the same share it: nobody can tell whether they are one, so what a
// server asks while several of their calls are under way is asked of none.
func (a access) own() access {
	a.who, a.sole = a.user, a.client != ""
	return a
}

func partyOf(p *junctor.Principal) string {
	if p == nil {
		return ""
	}
	return string(p.Tenant) + "\x00" + p.Issuer + "\x00" + p.Subject
}

// clientOf tells the clients of one principal apart: by their session, or, where
// a modern client has none, by what it calls itself. That is hearsay, but a
// caller can only make up clients of its own.
func clientOf(session string, info []byte) string {
	if session != "" {
		return "\x00s" + session
	}
	return "\x00c" + string(info)
}

// digested is a header and its digest.
type digested struct {
	header http.Header
	digest string
}

// digest names credentials without showing them. Nearly always they are those
// of the call before.
func (s *Server) digest(h http.Header) string {
	if last := s.lastDigest.Load(); last != nil && maps.EqualFunc(last.header, h, slices.Equal) {
		return last.digest
	}
	d := digestOf(h)
	s.lastDigest.Store(&digested{h, d})
	return d
}

func digestOf(h http.Header) string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, v := range h[name] {
			_, _ = io.WriteString(sum, name+"\x00"+v+"\x00")
		}
	}
	return string(sum.Sum(nil))
}

// key names the link: a modern one carries capabilities in each request.
func (a *access) key(modern bool) string {
	switch {
	case !modern:
		return a.credentials + "\x00" + a.who + "\x00" + string(a.caps)
	case a.apart:
		return a.credentials + "\x00" + a.who
	default:
		return a.credentials
	}
}

// isolation is the setting, or what the server has made of it.
func (s *Server) isolation() junctor.Isolation {
	if s.isolated.Load() != nil {
		return junctor.IsolationSession
	}
	return s.o.Isolation
}

// most is how many links the server may have at a time.
func (s *Server) most() int {
	switch {
	case s.o.MaxSessions > 0:
		return s.o.MaxSessions
	case s.o.Transport != TransportStdio:
		return defaultSessions
	case s.isolation() == junctor.IsolationShared:
		return defaultSharedProcesses
	default:
		return defaultOwnProcesses
	}
}

// Why a server is isolated.
const (
	askedSeveral = "it asked its client something without saying for which call, while none or several were under way"
	askedRoots   = "it asked for its client's roots, and may hold later calls to them"
	askedFirst   = "it asked its client something before the first call, and holds the calls that follow to the answer"
)

// ambiguous is what a link with this access does when its server asks what none
// or any of several calls could answer. It says whether any of them may. It is
// nil where nobody can be asked anything.
func (s *Server) ambiguous(sess *session, a access) func() bool {
	if !abilitiesOf(a.caps).any() {
		return nil
	}
	return func() bool {
		s.mu.Lock()
		sole := sess.access.sole
		s.mu.Unlock()
		if !sole {
			s.isolate(askedSeveral)
		}
		return sole
	}
}

// isolate gives each client links of its own from now on.
func (s *Server) isolate(why string) {
	if !s.isolated.CompareAndSwap(nil, &why) {
		return
	}
	s.o.Logger.Warn("clients of a server no longer share sessions", "server", s.o.ID, "reason", why)
	s.mu.Lock()
	for sess := range s.live {
		if !s.handOver(sess) && s.o.Transport == TransportStdio && !sess.gone && !s.works(sess) {
			s.retire(sess) // its processes are somebody's own from now on
		}
	}
	s.mu.Unlock()
	if s.o.OnIsolated != nil {
		s.jobs.start(func() { s.o.OnIsolated(why) })
	}
}

// EndSession ends the links of a client that is gone. Calls on them that still
// run come to their end first.
func (s *Server) EndSession(client string) {
	if client == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sess := range s.sessions {
		if sess.access.sole && sess.access.client == client {
			delete(s.own, sess.keys[0])
			s.retire(sess)
		}
	}
}

// EndUser ends the links that were opened with a user's own credentials: they
// are others now, or none. Calls on them that still run come to their end first.
func (s *Server) EndUser(user string) {
	s.pages.drop(func(_ pageKey, p *page) bool { return user != "" && p.owner == user })
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sess := range s.sessions {
		if user != "" && sess.owner == user {
			delete(s.own, sess.keys[0])
			s.retire(sess)
		}
	}
}

// retire is drop with mu held.
func (s *Server) retire(sess *session) {
	s.remove(sess)
	if sess.calls == 0 {
		s.shut(sess)
	}
}
