package visit

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/credential"
	"github.com/junctor-mcp/junctor/internal/oauth"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// logins are the logins at one server: everybody's, or each user's own. There is
// no way from one user's to another's.
type logins struct {
	d      *Desk
	row    junctor.Server
	source *credential.Source
	client *oauth.Client

	mu     sync.Mutex
	all    map[string]*oauth.Login // by user; "" is everybody's
	wanted oauth.Challenge         // what the server said last, when it refused a call
}

func (d *Desk) newLogins(row *junctor.Server, source *credential.Source) *logins {
	return &logins{d: d, row: *row, source: source, client: d.oauthClient(d.Web.For(row)), all: map[string]*oauth.Login{}}
}

func (d *Desk) oauthClient(out *http.Client) *oauth.Client {
	return &oauth.Client{HTTP: out, Name: "Junctor", MetadataURL: d.DocumentURL, Now: time.Now}
}

// asker gets the tokens of a server's OAuth client, for the server itself or for
// a user who has one of their own.
func (d *Desk) asker(row *junctor.Server, user string, out *http.Client) credential.Asker {
	address, _, _ := strings.Cut(row.URL, "?")
	pins := d.operatorPins(row)
	if user != "" {
		pins = d.userPins(row, user)
	}
	ask := d.oauthClient(out).Machine(address, func(ctx context.Context, t *junctor.Trace) { d.traced(ctx, row, user, t) }, pins)
	return func(ctx context.Context, auth junctor.Auth, with credential.Proof) (seal.Secret, time.Duration, error) {
		token, life, err := ask(ctx, auth, with)
		if err != nil {
			e := *junctor.AsError(err)
			e.Message = "server " + row.ID + ": " + e.Message
			err = &e
		}
		return token, life, err
	}
}

// of gives the login of a user; of "" everybody's.
func (l *logins) of(user string) *oauth.Login {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.all[user]
	if one == nil {
		one = oauth.NewLogin(l.client, l.keep(user), l.server, func(ctx context.Context, t *junctor.Trace) { l.d.traced(ctx, &l.row, user, t) })
		l.all[user] = one
	}
	return one
}

// user says whose login the calls of p are made with; ok is false where p is
// nobody who could have one.
func (l *logins) user(p *junctor.Principal) (user string, ok bool) {
	if p == nil || !l.row.PerUser() {
		return "", true
	}
	return p.User, p.User != ""
}

// server is what the row says about logging in.
func (l *logins) server(ctx context.Context) (oauth.Server, error) {
	address, _, _ := strings.Cut(l.row.URL, "?") // the query is kept like a credential
	out := oauth.Server{URL: address, Issuer: l.row.Auth.Issuer, ClientID: l.row.Auth.ClientID, Scopes: strings.Fields(l.row.Auth.Scope), ClientAuth: oauth.ProofOf(l.row.Auth.ClientAuth)}
	if l.row.API != nil {
		out.Page, out.Token = l.row.API.LoginURL, l.row.API.TokenURL
	}
	var err error
	if out.Pinned, err = l.d.operatorPins(&l.row).Pin(ctx, out.ClientID); err != nil {
		return out, err
	}
	if l.row.Auth.Secret != "" {
		out.Secret, err = l.source.Secret(ctx)
	}
	return out, err
}

// header gives what a request carries: the token of the login, and where that is
// everybody's, or nobody's, the server's own headers.
func (l *logins) header(ctx context.Context, p *junctor.Principal) (h http.Header, name string, number uint64, err error) {
	h = http.Header{}
	if !l.row.PerUser() || p == nil {
		own, err := l.source.Header(ctx)
		if err != nil {
			return nil, "", 0, err
		}
		h = own.Clone()
	}
	user, ok := l.user(p)
	if !ok {
		return h, "", 0, nil
	}
	token, name, number, err := l.of(user).Held(ctx)
	if err != nil {
		return nil, "", 0, err
	}
	if token != "" {
		h.Set("Authorization", "Bearer "+token)
	}
	return h, name, number, nil
}

// do runs an operation with the login of its caller. Where there is none that
// the server takes, the caller is told how to log in.
func (l *logins) do(ctx context.Context, b Backend, req *catalog.Request, sink catalog.Sink) (catalog.Result, error) {
	user, ok := l.user(req.Principal)
	if !ok {
		res, err := b.Do(ctx, req, sink)
		if _, refused := l.d.Refusal(err); refused {
			return catalog.Result{}, l.nobody(req.Principal)
		}
		return res, err
	}
	if strings.HasPrefix(req.Input.State, stateLogin) {
		if err := l.returned(ctx, req, user); err != nil {
			return catalog.Result{}, err
		}
		again := *req
		again.Input = catalog.Input{}
		req = &again
	}
	var res catalog.Result
	wants, err := l.of(user).Through(ctx, l.d.Refusal, func() (err error) {
		res, err = b.Do(ctx, req, sink)
		return err
	})
	if wants == nil {
		return res, err
	}
	return l.required(ctx, req, user, *wants)
}

// tokens are those that were given out last, of one user.
func (l *logins) tokens(user string) []string {
	l.mu.Lock()
	one := l.all[user]
	l.mu.Unlock()
	if one == nil {
		return nil
	}
	return one.Secrets()
}

// scrub takes the tokens of all users away from a text.
func (l *logins) scrub(text string) string {
	l.mu.Lock()
	var all []string
	for _, one := range l.all {
		all = append(all, one.Secrets()...)
	}
	l.mu.Unlock()
	if len(all) == 0 {
		return text
	}
	return credential.NewScrubber(all...).Scrub(text)
}

// carried is what the calls of somebody are made with.
type carried []string

// Secrets implements junctor.Keeper.
func (c carried) Secrets() []string { return c }

func (l *logins) keeperOf(p *junctor.Principal) junctor.Keeper {
	user, ok := l.user(p)
	if !ok {
		return nil
	}
	all := l.tokens(user)
	if user == "" {
		all = append(all, l.source.Secrets()...)
	}
	return carried(all)
}
