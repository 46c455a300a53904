package visit

import (
	"context"
	"net/http"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admission"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/credential"
	"github.com/junctor-mcp/junctor/internal/oauth"
)

// Server is what the calls to one server are made with.
type Server struct {
	*credential.Source         // the server's own
	purse              *purse  // of a server whose users have credentials of their own; else nil
	logins             *logins // of a server that people log in to; else nil
	refusal            func(error) (oauth.Challenge, bool)
}

// Literals opens the credentials that were entered for a server.
type Literals = func(context.Context) (credential.Set, error)

// Server gives what the calls to a server are made with that somebody was allowed
// to bring.
func (d *Desk) Server(admitted admission.Server, literals Literals) *Server {
	of := admitted.Row()
	row := &of
	s := &Server{refusal: d.Refusal, Source: credential.NewSource(admitted.Connection(), literals, d.Reader, d.asker(row, "", d.Web.For(row)))}
	if row.PerUser() {
		s.purse = newPurse(d, row)
	}
	if row.LogsIn() {
		s.logins = d.newLogins(row, s.Source)
	}
	return s
}

// SecretPrefix begins the names of the secrets that hold a server's own
// credentials.
const SecretPrefix = "conn-"

// Stored opens what is sealed of a row's credentials.
func (d *Desk) Stored(row junctor.Server) Literals {
	return func(ctx context.Context) (credential.Set, error) {
		if row.Credential == "" {
			return credential.Set{}, nil
		}
		packed, ok, err := d.Vault.Get(ctx, row.Tenant, row.ID, row.Credential)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, junctor.Errorf(junctor.CodeUnavailable, "the credentials of the server %s are not stored any more: enter them again", row.ID)
		}
		return credential.Unpack(packed, row.Connection)
	}
}

// LogsIn says whether people log in to the server.
func (s *Server) LogsIn() bool { return s.logins != nil }

// Header gives the credentials of a call to a server that nobody logs in to; of
// what nobody calls for, and where everybody has the same, the server's own.
func (s *Server) Header(ctx context.Context, p *junctor.Principal) (http.Header, error) {
	if s.purse == nil || p == nil {
		return s.Source.Header(ctx)
	}
	return s.purse.header(ctx, p)
}

// Login is Header for a server that people log in to. It names the login too,
// which may get another token, and says how many it has had; without a login the
// name is "".
func (s *Server) Login(ctx context.Context, p *junctor.Principal) (h http.Header, name string, number uint64, err error) {
	return s.logins.header(ctx, p)
}

// Own gives the HTTP clients of a user; nil where all have the same.
func (s *Server) Own() func(user string) (client, stream *http.Client) {
	if s.purse == nil {
		return nil
	}
	return s.purse.own
}

// Refused has the credentials of a user read anew, or the server's own, whose
// user is "".
func (s *Server) Refused(user string) {
	if user == "" {
		s.Forget()
		return
	}
	s.purse.refused(user)
}

// Changed is called when what is stored of a user has changed, or of the server
// itself, who is "".
func (s *Server) Changed(user string) {
	if user != "" && s.purse == nil {
		return
	}
	if s.logins != nil {
		s.logins.of(user).Changed()
	}
	if user != "" {
		s.purse.changed(user)
	}
}

// After makes a Server know what the one before it gave out: calls with that may
// be under way. There may be none.
func (s *Server) After(former *Server) {
	if former != nil {
		s.purse.after(former.purse)
	}
}

// Backend is a server without what it is called with.
type Backend interface {
	Do(ctx context.Context, req *catalog.Request, sink catalog.Sink) (catalog.Result, error)
	Offer(ctx context.Context) (*catalog.Offer, error)
}

// Do runs an operation, with a login where the server wants one.
func (s *Server) Do(ctx context.Context, b Backend, req *catalog.Request, sink catalog.Sink) (catalog.Result, error) {
	if s.logins != nil {
		return s.logins.do(ctx, b, req, sink)
	}
	res, err := b.Do(ctx, req, sink)
	if c, refused := s.refusal(err); refused && c.Status == http.StatusUnauthorized && s.renews(req.Principal) {
		return b.Do(ctx, req, sink) // it cannot have run; its token may have been revoked
	}
	return res, err
}

// renews says whether there may be another token for the calls of p.
func (s *Server) renews(p *junctor.Principal) bool {
	if s.purse != nil && p != nil {
		return s.purse.renews(p.User)
	}
	return s.Renews()
}

// Offer asks what the server offers, with its own login where there is one.
func (s *Server) Offer(ctx context.Context, b Backend) (offer *catalog.Offer, err error) {
	if s.logins == nil {
		return b.Offer(ctx)
	}
	_, err = s.logins.of("").Through(ctx, s.refusal, func() error {
		offer, err = b.Offer(ctx)
		return err
	})
	return offer, err
}

// Scrub takes all credentials of the server away from a text.
func (s *Server) Scrub(text string) string {
	text = s.Source.Scrub(text)
	if s.purse != nil {
		text = s.purse.scrub(text)
	}
	if s.logins != nil {
		text = s.logins.scrub(text)
	}
	return text
}

// KeeperOf knows what the calls of a principal are made with; nil where there is
// nothing.
func (s *Server) KeeperOf(p *junctor.Principal) junctor.Keeper {
	switch {
	case s.logins != nil:
		return s.logins.keeperOf(p)
	case s.purse != nil:
		return s.purse.keeperOf(p)
	}
	return s.Source
}

// Close ends the connections of all users.
func (s *Server) Close() {
	if s.purse != nil {
		s.purse.close()
	}
}
